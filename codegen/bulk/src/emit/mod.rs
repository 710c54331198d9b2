//! The text of bulk programs in other languages.

mod line;
mod place;
mod python;
pub mod stablehlo;
mod text;

use crate::ir::Function;
use crate::lower::SizesOf;
use crate::refusal::Refusal;
use python::Library;

pub use place::Places;

/// Returns a function as text, for messages about bugs.
pub(crate) fn text(function: &Function) -> String {
    text::function(function)
}

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bulk programs as they are, for people.
    Bulk,
    /// Python, on arrays of NumPy.
    Numpy,
    /// Python, on arrays of JAX.
    Jax,
    /// StableHLO, the input of XLA.
    StableHlo,
}

impl Kind {
    /// Every language.
    pub const ALL: &[Kind] = &[Kind::Bulk, Kind::Numpy, Kind::Jax, Kind::StableHlo];

    /// Returns the name, as the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bulk => "bulk",
            Kind::Numpy => "numpy",
            Kind::Jax => "jax",
            Kind::StableHlo => "stablehlo",
        }
    }

    /// Returns what sizes of arrays may be made of.
    pub fn sizes_of(self) -> SizesOf {
        match self {
            Kind::Bulk | Kind::Numpy => SizesOf::Data,
            Kind::Jax | Kind::StableHlo => SizesOf::Arguments,
        }
    }

    /// Returns the usual end of the names of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Kind::Bulk => "bulk",
            Kind::Numpy | Kind::Jax => "py",
            Kind::StableHlo => "mlir",
        }
    }

    /// Returns the text of functions. `place` tells where in the source a check is; the options are those of StableHLO.
    ///
    /// Errors: the language has no form of a function.
    pub fn text(self, functions: &[Function], place: Places, options: &stablehlo::Options) -> Result<String, Refusal> {
        match self {
            Kind::Bulk => Ok(functions.iter().map(text::function).collect::<Vec<_>>().join("\n")),
            Kind::Numpy => python::module(Library::Numpy, functions, place),
            Kind::Jax => python::module(Library::Jax, functions, place),
            Kind::StableHlo => stablehlo::module(functions, place, options),
        }
    }
}
