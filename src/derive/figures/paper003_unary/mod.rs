//! Defines UNF, the unary form: programs as lists of steps, each a function of one argument.
//!
//! ```text
//! p ::= var_i | k | op | if(p.., p..) | op(x. p.., ..) | proj_{n;m;1}          p1; p2; ..  : T => T, B
//! ```
//!
//! A step takes the list T of all values so far and gives it back with one more at its end; `proj` drops m values
//! under the last. Nothing has a name: a step finds a value by its position from the start, which is 1. So the reverse
//! derivative of a list of steps is the list of those of its steps, from last to first, and each needs its own J^T only:
//!
//! ```text
//! F(p) = <p, Y ∘ J^T p>                     Y: the linear map that the rest of the program is to be followed by
//! J^T var_i = 1 + [i]      J^T op = 1 ⋈ (∂op)^T      J^T proj = zeros where values were dropped
//! ```
//!
//! Source: Huot and Shaikhha, *Denotationally correct, purely functional, efficient reverse-mode automatic
//! differentiation*, Figs. 6-10. There T is written at each step (here: counted when it is printed), `pair` takes its
//! components away (here as any operator: it leaves them, and `proj` drops them), and Y is a function, where here it is
//! a linear map. Here too: conditionals, and each primitive that takes functions.
//!
//! Conversion: `convert` (Fig. 9). Types: `typing` (Figs. 6, 7). The way back: `back` (Fig. 10). The reverse derivative,
//! evaluated as far as it goes: `sweep` (sec. 5.1). The text for people: `print`.

pub mod back;
pub mod convert;
pub mod print;
pub mod sweep;
pub mod typing;

pub use back::back;
pub use convert::convert;

use lm::term::{Constant, Fun, Op, Span, Var};
use lm::types::Type;
use std::sync::Arc;

/// A definition `f : T => T, B = p1; p2; ..`.
#[derive(Clone, Debug, PartialEq)]
pub struct Def {
    /// Name and types.
    pub fun: Arc<Fun>,
    /// The variables with which the list begins.
    pub params: Vec<Var>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// A step `T => T, B`.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `var_i`: the value at a position, again.
    Var(usize),
    /// A constant.
    Constant(Constant),
    /// A value of the type that is not read.
    Dummy(Type),
    /// An operator on the last `arity` values, which stay.
    Op {
        /// The operator; it takes no functions, and is no conditional.
        op: Op,
        /// How many values it takes.
        arity: usize,
        /// The name and the place of the result.
        result: Named,
    },
    /// A conditional on the last value, which stays. Both branches start from the whole list.
    If {
        /// The steps where it is true.
        yes: Vec<Step>,
        /// The steps where it is false.
        no: Vec<Step>,
        /// The name and the place of the result.
        result: Named,
    },
    /// An operator that takes functions. Its other arguments are the last values, which stay.
    Binder {
        /// The operator.
        op: Op,
        /// Its arguments, in order.
        args: Vec<Argument>,
        /// The name and the place of the result.
        result: Named,
    },
    /// `proj_{n;m;1}`: keeps the last value, and drops m values under it.
    Proj(usize),
}

/// What people know of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named {
    /// The variable that the program bound to it. It is for people, and for the way back.
    pub name: Option<Var>,
    /// The place in the source.
    pub span: Span,
}

/// An argument of a binder.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// The next of the last values.
    Value,
    /// A function of the variable: steps that start from the list with its value at the end.
    Function(Var, Vec<Step>),
}

impl Argument {
    /// Returns whether the argument is a value.
    fn is_value(&self) -> bool {
        matches!(self, Argument::Value)
    }
}

/// Returns how many values a binder takes.
fn values(args: &[Argument]) -> usize {
    args.iter().filter(|arg| arg.is_value()).count()
}
