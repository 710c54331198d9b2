//! Says how many states of a fold its derivative keeps.

use std::fmt;
use std::str::FromStr;

/// The states that the derivative of a fold keeps, where the program does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Checkpoint {
    /// All states.
    #[default]
    None,
    /// All states up to 256 MB, where these have tensors; about two square roots of the number of steps beyond that.
    Auto,
    /// About two square roots of the number of steps.
    Sqrt,
    /// At most so many states beside the first and the last one.
    States(u32),
}

impl FromStr for Checkpoint {
    type Err = String;

    /// Reads `none`, `auto`, `sqrt` or a number of states.
    fn from_str(given: &str) -> Result<Checkpoint, String> {
        match given {
            "none" => Ok(Checkpoint::None),
            "auto" => Ok(Checkpoint::Auto),
            "sqrt" => Ok(Checkpoint::Sqrt),
            number => match number.parse() {
                Ok(states) if states > 0 => Ok(Checkpoint::States(states)),
                _ => Err("say `none`, `auto`, `sqrt` or a number of states, at least 1".into()),
            },
        }
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Checkpoint::None => f.write_str("none"),
            Checkpoint::Auto => f.write_str("auto"),
            Checkpoint::Sqrt => f.write_str("sqrt"),
            Checkpoint::States(states) => write!(f, "{states}"),
        }
    }
}
