//! The combinators that take one strategy: a row each, with a name, the child that is meant, and what is known of steps.

use crate::prim::Prim;
use crate::term::{Expr, Kind, Op};

/// A combinator of one strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combinator {
    /// Never fails.
    Try,
    /// As often as possible.
    Repeat,
    /// At the first child where it succeeds.
    One,
    /// At each child where it succeeds; at least one.
    Some,
    /// At every child.
    All,
    /// At the topmost, leftmost place where it succeeds.
    TopDown,
    /// At the lowest, leftmost place where it succeeds.
    BottomUp,
    /// Everywhere, until nothing changes, from the leaves.
    Innermost,
    /// Everywhere, until nothing changes, from the root.
    Normalize,
    /// At one child.
    At(Place),
}

/// A child of a term. Numbers count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The condition of a conditional.
    Condition,
    /// The first branch of a conditional.
    Then,
    /// The second branch of a conditional.
    Else,
    /// The number of steps of a loop: of `build`, `sumbuild`, `$loop`, `lmFold`.
    Size,
    /// The first argument that is a function: of a loop, of a fold.
    Function,
    /// The body of a function.
    Body,
    /// The k-th argument of an operator or a call.
    Argument(usize),
    /// What the k-th name of a let is bound to.
    Rhs(usize),
    /// The term after the bindings of a let.
    Result,
    /// The k-th component of a tuple.
    Component(usize),
    /// The k-th child, in the order of evaluation.
    Child(usize),
}

/// All combinators. One with a number stands for those with any number.
pub static ALL: [Combinator; 20] = [
    Combinator::Try,
    Combinator::Repeat,
    Combinator::One,
    Combinator::Some,
    Combinator::All,
    Combinator::TopDown,
    Combinator::BottomUp,
    Combinator::Innermost,
    Combinator::Normalize,
    Combinator::At(Place::Condition),
    Combinator::At(Place::Then),
    Combinator::At(Place::Else),
    Combinator::At(Place::Size),
    Combinator::At(Place::Function),
    Combinator::At(Place::Body),
    Combinator::At(Place::Argument(1)),
    Combinator::At(Place::Rhs(1)),
    Combinator::At(Place::Result),
    Combinator::At(Place::Component(1)),
    Combinator::At(Place::Child(1)),
];

impl Combinator {
    /// Returns the combinator of a name; with the number 1, if it takes one.
    pub fn named(name: &str) -> Option<Combinator> {
        ALL.into_iter().find(|combinator| combinator.name() == name)
    }

    /// Returns all of them. One with a number stands for those with any number.
    pub fn all() -> impl Iterator<Item = Combinator> {
        ALL.into_iter()
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Combinator::Try => "try",
            Combinator::Repeat => "repeat",
            Combinator::One => "one",
            Combinator::Some => "some",
            Combinator::All => "all",
            Combinator::TopDown => "topDown",
            Combinator::BottomUp => "bottomUp",
            Combinator::Innermost => "innermost",
            Combinator::Normalize => "normalize",
            Combinator::At(place) => place.name(),
        }
    }

    /// Returns the number, if it has one.
    pub fn number(self) -> Option<usize> {
        match self {
            Combinator::At(Place::Argument(k) | Place::Rhs(k) | Place::Component(k) | Place::Child(k)) => Some(k),
            _ => None,
        }
    }

    /// Returns the same with another number, if it has one.
    pub fn with_number(self, k: usize) -> Combinator {
        Combinator::At(match self {
            Combinator::At(Place::Argument(_)) => Place::Argument(k),
            Combinator::At(Place::Rhs(_)) => Place::Rhs(k),
            Combinator::At(Place::Component(_)) => Place::Component(k),
            Combinator::At(Place::Child(_)) => Place::Child(k),
            other => return other,
        })
    }

    /// Returns whether it goes on for as long as its strategy succeeds.
    pub(super) fn loops(self) -> bool {
        matches!(self, Combinator::Repeat | Combinator::Innermost | Combinator::Normalize)
    }

    /// Returns whether its strategy is applied to children only.
    pub(super) fn descends(self) -> bool {
        matches!(self, Combinator::One | Combinator::Some | Combinator::All | Combinator::At(_))
    }

    /// Returns whether it takes a step where it succeeds, given whether its strategy does. A leaf has no children, so
    /// `all` may take none.
    pub(super) fn moves(self, inner: bool) -> bool {
        match self {
            Combinator::Try | Combinator::Repeat | Combinator::All => false,
            Combinator::Innermost | Combinator::Normalize => false,
            Combinator::One | Combinator::Some | Combinator::At(_) => inner,
            Combinator::TopDown | Combinator::BottomUp => inner,
        }
    }
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Place::Condition => "condition",
            Place::Then => "then",
            Place::Else => "else",
            Place::Size => "size",
            Place::Function => "function",
            Place::Body => "body",
            Place::Argument(_) => "argument",
            Place::Rhs(_) => "rhs",
            Place::Result => "result",
            Place::Component(_) => "component",
            Place::Child(_) => "child",
        }
    }

    /// Returns the number of the child among those of a term, from 0; none where the term has no such child.
    pub(crate) fn of(self, e: &Expr) -> Option<usize> {
        let found = match (self, e.kind()) {
            (Place::Child(k), _) => k.checked_sub(1),
            (Place::Condition, Kind::App(Op::If, _)) | (Place::Body, Kind::Lam(..)) => Some(0),
            (Place::Then, Kind::App(Op::If, _)) => Some(1),
            (Place::Else, Kind::App(Op::If, _)) => Some(2),
            (Place::Size, Kind::App(Op::Prim(Prim::SumBuild), _)) => Some(1),
            (Place::Size, Kind::App(Op::Prim(Prim::Build | Prim::Loop | Prim::LmFold), _)) => Some(0),
            (Place::Function, Kind::App(_, args)) => args.iter().position(|a| matches!(a.kind(), Kind::Lam(..))),
            (Place::Component(k), Kind::App(Op::Tuple, _)) => k.checked_sub(1),
            (Place::Argument(_), Kind::App(Op::Tuple | Op::If, _)) => None,
            (Place::Argument(k), Kind::App(..)) => k.checked_sub(1),
            (Place::Rhs(k), Kind::Let(bindings, _)) => k.checked_sub(1).filter(|k| *k < bindings.len()),
            (Place::Result, Kind::Let(bindings, _)) => Some(bindings.len()),
            _ => None,
        };
        found.filter(|k| *k < e.children().count())
    }
}
