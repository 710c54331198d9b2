//! Defines CL, the category language: terms without variables.
//!
//! ```text
//! c ::= I | K(k) | P[i1..im/n] | F(f) | c1 ; c2 | (c1, .., cn) | IF(c1, c2, c3) | L(x, c, c) | B[p](.., i, c, ..)
//!
//! f (x1 : S1) .. = e     C[e]     f : (S1, ..) => T = c     pruning     c'     t ◇ c'     e
//! ```
//!
//! A term is an arrow S => T. S is an environment: the values of the variables in scope, in order. `P` keeps
//! some of them, by number; `L` and `B` add one to it. The names that they bind are for people, and for the way
//! back.
//!
//! Source: working notes, sec. 6, Figs. 9-11, for the whole language. Here too:
//!
//! * B is the binder of `build` and of every other primitive that takes functions: `B(c, i, e)` is build's,
//!   `B[fold](p, e, c, c)` fold's. Arguments that are functions are written as `i, e`, the others as they are.
//! * `F(f)` is any function or primitive, also projections, assertions, records and the operators on linear maps.
//! * L binds a tuple's components, too: `L((x, y), cr, cb)`.
//! * `K(_)` is a value that is not read.
//!
//! The type system: `typing`. To CL: `convert`. The environment of the free variables only: `prune`. The
//! meaning of a term, which is the way back: `back`. The text for people: `print`. The text that is read back: `write`
//! and `read`.

pub mod back;
pub mod convert;
pub mod print;
pub mod prune;
pub mod read;
pub mod typing;
pub mod write;

pub use back::back;
pub use convert::convert;
pub use prune::prune;

use lm::term::{Constant, Fun, Op, Pattern, Span, Var};
use lm::types::Type;
use std::sync::Arc;

/// A definition `f : S => T = c`.
#[derive(Clone, Debug, PartialEq)]
pub struct Def {
    /// Name and types.
    pub fun: Arc<Fun>,
    /// The variables that the environment of the body starts with.
    pub params: Vec<Var>,
    /// The body.
    pub body: Term,
}

/// A term of CL.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// `I`, the environment.
    Identity,
    /// `K(k)`, of the empty environment.
    Constant(Constant),
    /// `K(_)`, a value of the type that is not read, of the empty environment.
    Dummy(Type),
    /// `P[i1..im/n]`: these of n values, numbered from 1, each at most once.
    Pruning {
        /// The numbers.
        chosen: Vec<usize>,
        /// The number of values.
        of: usize,
    },
    /// `F(f)`, of the tuple of its arguments.
    Function {
        /// The function; no conditional, since that evaluates one branch only.
        op: Op,
        /// The number of arguments.
        arity: usize,
        /// The place of the call.
        span: Span,
    },
    /// `c1 ; c2`: c1, then c2 on its result.
    Compose(Box<Term>, Box<Term>),
    /// `(c1, .., cn)`, each of the same environment.
    Tuple(Vec<Term>),
    /// `IF(c1, c2, c3)`.
    If(Box<Term>, Box<Term>, Box<Term>),
    /// `L(x, cr, cb)`: cb of the environment and what cr gives.
    Let(Pattern, Box<Term>, Box<Term>),
    /// `B[p](..)`.
    Binder {
        /// The operator that takes the functions.
        op: Op,
        /// All its arguments.
        args: Vec<Argument>,
        /// The place of the call.
        span: Span,
    },
}

/// An argument of a binder.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A value.
    Value(Term),
    /// A function of the variable: a term of the environment and that.
    Function(Var, Term),
}

impl Term {
    /// Returns `P[i1..im/n]`; I, if it keeps everything as it is.
    pub fn pruning(chosen: Vec<usize>, of: usize) -> Term {
        match chosen.iter().copied().eq(1..=of) {
            true => Term::Identity,
            false => Term::Pruning { chosen, of },
        }
    }

    /// Returns `self ; after`, where I is left out, and one pruning does what two do.
    pub fn then(self, after: Term) -> Term {
        match (self, after) {
            (Term::Identity, c) | (c, Term::Identity) => c,
            (Term::Pruning { chosen, of }, Term::Pruning { chosen: of_these, .. }) => {
                Term::pruning(of_these.iter().map(|j| chosen[j - 1]).collect(), of)
            }
            (first @ Term::Pruning { .. }, Term::Compose(second, after)) if matches!(*second, Term::Pruning { .. }) => {
                first.then(*second).then(*after)
            }
            (first, after) => Term::Compose(Box::new(first), Box::new(after)),
        }
    }

    /// Returns the number of values that the term gives, of an environment of so many: a value that is a tuple is one.
    pub fn width(&self, of: usize) -> usize {
        match self {
            Term::Identity => of,
            Term::Pruning { chosen, .. } => chosen.len(),
            Term::Tuple(parts) => parts.len(),
            Term::Compose(first, after) => after.width(first.width(of)),
            Term::Constant(_)
            | Term::Dummy(_)
            | Term::Function { .. }
            | Term::If(..)
            | Term::Let(..)
            | Term::Binder { .. } => 1,
        }
    }

    /// Returns the number of combinators, and of the numbers in prunings.
    pub fn size(&self) -> usize {
        let mut size = 0;
        let mut rest = vec![self];
        while let Some(c) = rest.pop() {
            size += 1;
            match c {
                Term::Identity | Term::Constant(_) | Term::Dummy(_) | Term::Function { .. } => {}
                Term::Pruning { chosen, .. } => size += chosen.len(),
                Term::Compose(a, b) | Term::Let(_, a, b) => rest.extend([&**a, b]),
                Term::Tuple(parts) => rest.extend(parts),
                Term::If(c, a, b) => rest.extend([&**c, a, b]),
                Term::Binder { args, .. } => rest.extend(args.iter().map(Argument::term)),
            }
        }
        size
    }
}

impl Argument {
    /// Returns the term, or the function's body.
    pub fn term(&self) -> &Term {
        match self {
            Argument::Value(c) | Argument::Function(_, c) => c,
        }
    }

    /// Returns the variable, of a function.
    pub fn variable(&self) -> Option<&Var> {
        match self {
            Argument::Value(_) => None,
            Argument::Function(x, _) => Some(x),
        }
    }
}
