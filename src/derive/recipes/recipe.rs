//! Defines recipes: a condition, a start, and steps.

use super::pass::Pass;
use lm::term::Derivative;

/// A way to a derivative.
#[derive(Debug)]
pub struct Recipe {
    /// The functions for which the way is taken.
    pub when: When,
    /// The definition that the first pass takes.
    pub from: Start,
    /// The passes, in order.
    pub steps: &'static [Step],
    /// The text that describes the way.
    pub source: &'static str,
}

/// Passes that follow each other.
#[derive(Debug)]
pub struct Step {
    /// The heading under which `lmc demo` prints the result; none if it does not print it.
    pub heading: Option<&'static str>,
    /// The passes, in order.
    pub passes: &'static [Pass],
}

/// A condition on a function f and the wanted derivative of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// Any function.
    Always,
    /// What `lmc demo` shows; no derivative is compiled in this way.
    Shown,
    /// f computes with linear maps.
    Maps,
    /// The derivative was written by hand.
    Written,
    /// f is implemented elsewhere.
    External,
    /// f is a function g with respect to parts of its argument, and the derivative of g was written by hand.
    PartOfWritten,
    /// The two halves of the reverse derivative were written by hand.
    HalvesWritten,
    /// f is itself a reverse derivative, and symmetry of second derivatives is the way.
    Symmetric,
    /// The condition `Symmetric`, when the whole point of that reverse derivative varies.
    SymmetricWithValue,
    /// Reverse mode of f keeps records: its derivation is `tupled` or `split`.
    Records,
    /// The condition `Records`, when the derivation is `split`: the reverse derivative has two halves.
    RecordsInHalves,
    /// The Jacobian of f keeps states that forward mode does not: f has folds with checkpoints, or carries tensors as
    /// states.
    OwnForward,
    /// Forward mode of f goes by pairs: its derivation is `tupled` or `polymorphic`.
    Pairs,
    /// Reverse mode of f goes through UNF: its derivation is `unary`.
    Unary,
    /// Derivatives of f are those of dual numbers: its derivation is `dual`.
    Dual,
    /// The condition `Dual` in both modes, for f that gives a Float.
    DualToFloat,
}

/// The definition that the first pass of a recipe takes.
#[derive(Clone, Debug)]
pub enum Start {
    /// f as the program has it.
    Written,
    /// f itself.
    Function,
    /// f with the calls that it marks by `$inline`; without linear maps.
    Marked,
    /// f in the form in which it is differentiated: with calls where f keeps records.
    Differentiable,
    /// A derivative of f, before sharing.
    Derivative(Derivative),
    /// A derivative of f that a recipe makes, before sharing.
    Recipe(&'static Recipe, Derivative),
    /// f itself; the passes call these derivatives.
    Calls(&'static [Derivative]),
}

impl Recipe {
    /// Returns the steps before the one that shares and tidies: other derivatives are made from their result.
    pub fn before_sharing(&self) -> &'static [Step] {
        self.split().0
    }

    /// Returns the step that shares and tidies, where there is one.
    pub fn sharing(&self) -> &'static [Step] {
        self.split().1
    }

    fn split(&self) -> (&'static [Step], &'static [Step]) {
        let is_sharing = |step: &Step| step.passes.contains(&Pass::Rules);
        self.steps.split_at(self.steps.iter().position(is_sharing).unwrap_or(self.steps.len()))
    }
}

impl When {
    /// Returns the condition in words.
    pub fn text(self) -> &'static str {
        match self {
            When::Always => "any function",
            When::Shown => "in what `lmc demo` shows",
            When::Maps => "where f computes with linear maps",
            When::Written => "where this derivative is written by hand",
            When::External => "where f is implemented elsewhere",
            When::PartOfWritten => "with respect to parts, where the derivative with respect to all is written by hand",
            When::HalvesWritten => "where the two halves are written by hand",
            When::Symmetric => "where f is a reverse derivative, by symmetry",
            When::SymmetricWithValue => "where f is a reverse derivative and all of its point varies, by symmetry",
            When::Records => "where the derivation of f is `tupled` or `split`, with records",
            When::RecordsInHalves => "where the derivation of f is `split`, with records",
            When::OwnForward => {
                "where f has a fold with checkpoints, or is a forward derivative that carries tensors as states"
            }
            When::Pairs => "where the derivation of f is `tupled` or `polymorphic`",
            When::Unary => "where the derivation of f is `unary`",
            When::Dual => "where the derivation of f is `dual`",
            When::DualToFloat => "where the derivation of f is `dual`, and f gives a Float",
        }
    }

    /// Returns whether the condition asks for the derivation of f, such as `tupled`.
    pub fn asks_for_derivation(self) -> bool {
        match self {
            When::Records | When::RecordsInHalves | When::Pairs | When::Unary => true,
            When::Dual | When::DualToFloat => true,
            When::Always | When::Shown | When::Maps | When::Written | When::External | When::PartOfWritten => false,
            When::OwnForward | When::HalvesWritten | When::Symmetric | When::SymmetricWithValue => false,
        }
    }
}
