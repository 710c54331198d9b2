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

    /// Returns the choices.
    pub fn choices(&self) -> Choices {
        Choices { derivation: self.derivation, ..self.checkpoint.choices() }
    }
}

/// The states that are kept.
#[derive(clap::Args)]
pub struct CheckpointOption {
    /// How many states of a fold its derivative keeps, unless the program says so itself: none (keep all of them),
    /// sqrt (about two square roots of the number of steps) or a number. Others are computed again.
    #[arg(long, value_name = "STATES", default_value_t)]
    checkpoint: Checkpoint,
}

impl CheckpointOption {
    /// Returns the choices, by the default derivation.
    pub fn choices(&self) -> Choices {
        Choices { checkpoint: self.checkpoint, ..Choices::default() }
    }
}
