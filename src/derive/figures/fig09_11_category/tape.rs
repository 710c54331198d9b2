//! Defines tapes: x, what `revr[c]` reads of `revf[c]`, in the shape of c.
//!
//! Its leaves are maps that read values of the forward half. The record X is these values, a slot for each: those that
//! the reverse half reads, as pruning keeps of an environment what a term reads.

use crate::derive::figures::fig06_arrays::tuple_or_one;
use crate::derive::figures::records::Readers;
use lm::term::{Binding, Expr, Pattern, Span, Var};

/// A cotangent: maps from the cotangent of the result, to be added.
pub(super) type Cotangent = Vec<Expr>;

/// x, what `revr[c]` reads of `revf[c]`, in the shape of c. Its leaves are maps that read values.
pub(super) enum Tape {
    /// Nothing that varies.
    Zero,
    /// I.
    Identity,
    /// P.
    Pruning(Vec<usize>),
    /// The cotangents of some values, each by a map.
    Each(Vec<(usize, Expr)>, Span),
    /// The cotangents of some values, all by one map to a part of a tuple.
    Gathered(Expr, Vec<(usize, Part)>, Span),
    /// IF: its condition, and both branches.
    If(Box<Choice>),
    /// B of a loop whose steps do not depend on each other.
    Loop(Box<Family>),
    /// The sum of what two tapes give.
    Sum(Box<[Tape; 2]>),
    /// `(c1, .., cn)`.
    Tuple(Vec<Tape>),
    /// Terms before a last one: `c1 ; ..` and `L(x, c1, ..)`.
    Block(Vec<Step>, Box<Tape>),
}

/// The body of a branch or of a loop: its tape, and the number of its values, of which its value is the tuple.
pub(super) struct Inner {
    pub(super) tape: Tape,
    pub(super) values: usize,
    /// A witness of the value.
    pub(super) whole: Expr,
    /// The number of values in its environment.
    pub(super) size: usize,
}

/// Where the cotangents of some values of an environment go: its values with these numbers.
pub(super) struct Targets {
    pub(super) numbers: Vec<usize>,
    pub(super) values: Vec<Expr>,
}

/// A conditional.
pub(super) struct Choice {
    pub(super) condition: Expr,
    pub(super) branches: [Inner; 2],
    pub(super) readers: Readers,
    pub(super) targets: Targets,
    pub(super) span: Span,
}

/// A loop over i < n.
pub(super) struct Family {
    pub(super) n: Expr,
    pub(super) i: Var,
    pub(super) step: Inner,
    /// The bindings that read the record of step i.
    pub(super) reads: Vec<Binding>,
    /// The value of the loop.
    pub(super) value: Expr,
    /// Whether a step gives an element of it. Otherwise it is the sum of the steps.
    pub(super) is_tensor: bool,
    pub(super) targets: Targets,
    pub(super) span: Span,
}

impl Targets {
    /// Returns a witness of the tuple of them all, or of the only one.
    pub(super) fn witness(&self) -> Expr {
        Expr::witness(&tuple_or_one(&self.values))
    }

    /// Returns the way to each of the values in the tuple of them all.
    pub(super) fn parts(&self) -> Vec<(usize, Part)> {
        let witness = self.witness();
        let part = |k| if self.numbers.len() == 1 { Part::new() } else { vec![(k + 1, witness.clone())] };
        self.numbers.iter().enumerate().map(|(k, i)| (*i, part(k))).collect()
    }
}

/// A way into a tuple: components, each with a witness of the tuple.
pub(super) type Part = Vec<(usize, Expr)>;

/// A term before others.
pub(super) enum Step {
    /// c1, whose values are the environment of the others.
    Then(Tape, usize),
    /// cr, whose values are bound.
    Let(Tape, Bound),
}

/// What a let binds.
pub(super) struct Bound {
    pub(super) pattern: Pattern,
    /// Which of the variables vary.
    pub(super) varies: Vec<bool>,
    /// The values of cr, as many as it gives.
    pub(super) values: Vec<Expr>,
}
