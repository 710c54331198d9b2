//! The options that say how derivatives are made, shared by several commands.

use crate::derive::{Checkpoint, Derivation};
use crate::ks::front::Choices;

/// The derivation, and the states that are kept.
#[derive(clap::Args)]
pub struct ChoiceOptions {
    /// The derivation of the derivatives.
    #[arg(long, value_enum, default_value_t)]
    derivation: Derivation,
    #[command(flatten)]
    checkpoint: CheckpointOption,
}

impl ChoiceOptions {
    /// Returns the name of the derivation.
    pub fn derivation(&self) -> &'static str {
        self.derivation.name()
    }

    /// Returns the choices of a command that runs derivatives.
    pub fn choices(&self) -> Choices {
        Choices { derivation: self.derivation, ..self.checkpoint.choices() }
    }

    /// Returns the choices of a command that shows derivatives: folds keep all states if nothing else is said.
    pub fn choices_to_show(&self) -> Choices {
        let checkpoint = self.checkpoint.checkpoint.unwrap_or(Checkpoint::None);
        Choices { derivation: self.derivation, checkpoint }
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
    /// Returns the choices, by the default derivation.
    pub fn choices(&self) -> Choices {
        Choices { checkpoint: self.checkpoint.unwrap_or(Checkpoint::Auto), ..Choices::default() }
    }
}
