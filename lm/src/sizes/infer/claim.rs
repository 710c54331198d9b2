//! What inference claims, and whether it holds.

use crate::sizes::sized_type::SizedType;
use crate::term::{Expr, FunName, Span};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// How [`Finding::numbers`] write a number that the program has no term for.
pub const ANY: &str = "..";

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// In every run.
    Proved,
    /// In some runs, perhaps.
    Unknown,
    /// In no run that comes there.
    Refuted,
}

/// What is claimed.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// Two sizes in the arguments of a call are equal.
    Arguments {
        /// The function.
        callee: FunName,
        /// The places of the sizes in its parameters.
        places: [String; 2],
        /// The size that both are there, as it is written.
        size: String,
    },
    /// An argument of a call that is a size is not negative.
    Natural {
        /// The function.
        callee: FunName,
        /// The size variable.
        variable: String,
    },
    /// A number of elements is not negative.
    Count,
    /// The tensors of an operation have one size.
    Operands,
    /// A tensor has the size that its name is annotated with.
    Annotated,
    /// An index is in the range of a tensor.
    Index {
        /// What it is below by its type `(Fin ..)`, if it is a variable of such a type.
        limit: Option<String>,
    },
    /// A number is in the range of a type `(Fin ..)`, in elements of a tensor or by itself.
    Limit {
        /// What it is known to be below.
        limit: Option<String>,
        /// Whether it is in elements.
        is_of_elements: bool,
    },
    /// The result has the size that the definition declares.
    Result,
    /// An index in the result is in the range that the definition declares.
    IndexOfResult,
    /// The result of a derivative that is written by hand has the size that the derivative has.
    Derivative,
    /// A parameter of a derivative that is written by hand has the size that it takes; claimed only where it is refuted.
    Parameter {
        /// The place in the parameters.
        place: String,
    },
}

/// A claim at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The place.
    pub span: Span,
    /// What is claimed.
    pub claim: Claim,
    /// The two numbers that it is about, as text.
    pub numbers: [String; 2],
    /// The same as the program would write them, where it has names for what they are made of.
    pub spelled: [Option<String>; 2],
    /// Whether it holds.
    pub answer: Answer,
}

/// What was found of a definition.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The claims, in the order of evaluation.
    pub findings: Vec<Finding>,
    /// The calls of functions with signatures, by the address of the term: whether each relation is proved.
    pub calls: FxHashMap<usize, Vec<bool>>,
    /// Whether the result has the sizes that the signature says.
    pub result_is_proved: bool,
    /// Whether the result of a derivative that is written by hand has the sizes that the derivative has.
    pub derivative_is_proved: bool,
}

/// The type that a `lam` gives its variable.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// The type.
    pub ty: SizedType,
    /// The names in its sizes, with the Integers that they mean; other names are size variables of the definition.
    pub names: Vec<(Arc<str>, Expr)>,
}
