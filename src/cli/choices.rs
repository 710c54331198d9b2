//! The options that say how derivatives are made, shared by several commands.

use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::shown;
use crate::derive::schedule::Strategies;
use crate::derive::{Checkpoint, Derivation};
use crate::ks::front::Choices;
use crate::ks::source::Source;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use lm::strategy::VARIANTS;
use std::sync::LazyLock;

/// The derivation, and the states that are kept.
#[derive(clap::Args)]
pub struct ChoiceOptions {
    /// The derivation of the derivatives.
    #[arg(long, value_enum, default_value_t)]
    derivation: Derivation,
    #[command(flatten)]
    checkpoint: CheckpointOption,
    #[command(flatten)]
    strategy: StrategyOption,
}

impl ChoiceOptions {
    /// Returns the name of the derivation.
    pub fn derivation(&self) -> &'static str {
        self.derivation.name()
    }

    /// Returns the choices of a command that runs derivatives.
    ///
    /// Errors: those of the file of strategies.
    pub fn choices(&self, format: ErrorFormat) -> Result<Choices, Failure> {
        let strategies = self.strategy.strategies(format)?;
        Ok(Choices {
            derivation: self.derivation,
            checkpoint: self.checkpoint.of_runs(),
            strategies,
            ..Choices::default()
        })
    }

    /// Returns the choices of a command that shows derivatives: folds keep all states if nothing else is said.
    ///
    /// Errors: those of the file of strategies.
    pub fn choices_to_show(&self, format: ErrorFormat) -> Result<Choices, Failure> {
        choices_to_show(self.derivation, &self.checkpoint, &self.strategy, format)
    }
}

fn choices_to_show(
    derivation: Derivation,
    checkpoint: &CheckpointOption,
    strategy: &StrategyOption,
    format: ErrorFormat,
) -> Result<Choices, Failure> {
    let checkpoint = checkpoint.checkpoint.unwrap_or(Checkpoint::None);
    let strategies = strategy.strategies(format)?;
    Ok(Choices { derivation, checkpoint, strategies, ..Choices::default() })
}

/// The derivation that is shown, and the states that are kept.
#[derive(clap::Args)]
pub struct ShownChoiceOptions {
    /// The derivation of the derivatives.
    #[arg(long, value_enum, default_value_t)]
    derivation: Shown,
    #[command(flatten)]
    checkpoint: CheckpointOption,
    #[command(flatten)]
    strategy: StrategyOption,
}

impl ShownChoiceOptions {
    /// Returns the choices, as [`ChoiceOptions::choices_to_show`] does.
    ///
    /// Errors: those of the file of strategies.
    pub fn choices(&self, format: ErrorFormat) -> Result<Choices, Failure> {
        let derivation = match self.derivation {
            Shown::Derivation(derivation) => derivation,
            Shown::Delta => Derivation::default(),
        };
        choices_to_show(derivation, &self.checkpoint, &self.strategy, format)
    }

    /// Returns whether a trace is to be shown.
    pub fn is_delta(&self) -> bool {
        self.derivation == Shown::Delta
    }
}

/// What can be shown of derivatives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// The stages of a derivation.
    Derivation(Derivation),
    /// A run on dual numbers, which is no program.
    Delta,
}

impl Default for Shown {
    fn default() -> Shown {
        Shown::Derivation(Derivation::default())
    }
}

impl ValueEnum for Shown {
    fn value_variants<'a>() -> &'a [Shown] {
        static ALL: LazyLock<Vec<Shown>> =
            LazyLock::new(|| Derivation::ALL.into_iter().map(Shown::Derivation).chain([Shown::Delta]).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Shown::Derivation(derivation) => derivation.to_possible_value(),
            Shown::Delta => Some(PossibleValue::new("delta").help(
                "Dual numbers with Delta terms: a trace of a run at the point `--at`, and a sweep back over it \
                 (*Dual-numbers reverse AD for arrays*, Figs. 1-5). No other command takes it, since it makes no code",
            )),
        }
    }
}

/// The derivations that a command compares, and the states that are kept.
#[derive(clap::Args)]
pub struct SeveralChoicesOptions {
    /// The derivations of the derivatives, each measured by itself.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Chosen::One(Derivation::default())])]
    derivation: Vec<Chosen>,
    #[command(flatten)]
    checkpoint: CheckpointOption,
    #[command(flatten)]
    strategy: StrategyOption,
}

impl SeveralChoicesOptions {
    /// Returns the choices, one for each derivation, in the order of [`Derivation::ALL`]; at least one.
    ///
    /// Errors: those of the file of strategies.
    pub fn choices(&self, format: ErrorFormat) -> Result<Vec<Choices>, Failure> {
        let strategies = self.strategy.strategies(format)?;
        let is_chosen = |derivation: &Derivation| {
            self.derivation.iter().any(|chosen| match chosen {
                Chosen::All => Derivation::OF_ALL_PROGRAMS.contains(derivation),
                Chosen::One(one) => one == derivation,
            })
        };
        let of = |derivation| Choices {
            derivation,
            checkpoint: self.checkpoint.of_runs(),
            strategies: strategies.clone(),
            ..Choices::default()
        };
        Ok(Derivation::ALL.into_iter().filter(is_chosen).map(of).collect())
    }
}

/// A value of an option that takes several derivations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chosen {
    All,
    One(Derivation),
}

impl Chosen {
    /// `all` (that take every program), then each derivation there is.
    const VALUES: [Chosen; Derivation::ALL.len() + 1] = {
        let mut values = [Chosen::All; Derivation::ALL.len() + 1];
        let mut i = 0;
        while i < Derivation::ALL.len() {
            values[i + 1] = Chosen::One(Derivation::ALL[i]);
            i += 1;
        }
        values
    };
}

impl ValueEnum for Chosen {
    fn value_variants<'a>() -> &'a [Chosen] {
        &Chosen::VALUES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Chosen::All => {
                Some(PossibleValue::new("all").help("All of these that take every program: not `dual-arrays`"))
            }
            Chosen::One(derivation) => derivation.to_possible_value(),
        }
    }
}

/// The states that are kept.
#[derive(clap::Args)]
pub struct CheckpointOption {
    /// How many states of a fold its derivative keeps, unless the program says so itself: a number, sqrt (about two
    /// square roots of the number of steps), auto (sqrt where all states would take more than 256 MB), or none (keep
    /// all of them). Other states are computed again. Default: none for `lmc demo`, auto for other commands.
    #[arg(long, value_name = "STATES")]
    checkpoint: Option<Checkpoint>,
}

impl CheckpointOption {
    /// Returns the states that commands keep which run derivatives.
    pub fn of_runs(&self) -> Checkpoint {
        self.checkpoint.unwrap_or(Checkpoint::Auto)
    }
}

/// The strategies.
#[derive(clap::Args)]
pub struct StrategyOption {
    /// A file of strategies, whose definitions take the place of those of lmc of the same name; or one that comes with
    /// lmc: `outermost`, `paper`, `sum001` or `none`. `lmc laws --schedule` prints those that lmc applies otherwise.
    #[arg(long, value_name = "FILE")]
    strategy: Option<String>,
}

impl StrategyOption {
    /// Returns the strategies.
    ///
    /// Errors: the file cannot be read, or has mistakes, which are shown.
    pub fn strategies(&self, format: ErrorFormat) -> Result<Strategies, Failure> {
        let Some(given) = &self.strategy else { return Ok(Strategies::default()) };
        let source = match VARIANTS.iter().find(|(name, _)| name == given) {
            Some((name, text)) => Source::new(&format!("{name}.strategy"), text),
            None => Source::read(given).map_err(|bad| shown(&bad.source, &[bad.diagnostic], format))?,
        };
        let made = Strategies::with(source.name(), source.text());
        made.map_err(|(source, mistakes)| shown(&source, &mistakes, format))
    }
}
