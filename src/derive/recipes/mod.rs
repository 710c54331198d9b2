//! Lists, for each derivative, its type and the ways in which it is made: the table of derivations.
//!
//! ```text
//! rev   (S, dT) -> dS   from [Dt f]   apply_to dr | apply, simplify values, place | share, tidy, rules
//! ```
//!
//! A derivative has one entry, and an entry has recipes: the first one whose condition holds makes the derivative.
//! A recipe starts from the function, or from another derivative of it, and has steps: lists of passes, some under
//! the heading that `lmc demo` prints. The pipeline runs these rows, the checker types by them, `lmc demo` and
//! `lmc explain rev` print them. To add a derivation is to add rows here, and a file in `figures` for a new pass.
//!
//! Source: working notes, sec. 9, for the order and the headings of the derivation by Jacobians.

mod rows;
mod shown;

pub use shown::{Shown, headings, shown};

use super::pipeline::pass::Pass;
use super::typing::Typing;
use lm::term::Derivative;
use rows::{
    AS_WRITTEN, BOTH_HALVES, COLUMNS, COTANGENT, COTANGENT_BY_HALVES, DENSE_JACOBIAN, FORWARD, GRADIENT, HALVES,
    HESSIAN, HESSIAN_VECTOR, JACOBIAN, OF_EXTERNAL, OF_PART, PART, POLYMORPHIC, RECORDED_HALVES, REVERSE, ROWS, SHAPE,
    SYMMETRIC, SYMMETRIC_WITH_VALUE, TANGENT, THROUGH_CATEGORY, TRANSPOSED, TUPLED, VALUE_AND_COTANGENT,
    VALUE_AND_TANGENT, VALUE_BESIDE_COTANGENT, VALUE_BESIDE_TANGENT, WRITTEN_HALVES, WRITTEN_JACOBIAN,
};

/// A derivative: its type, and how it is made.
#[derive(Debug)]
pub struct Entry {
    /// The rule for the type of the derivative.
    pub typing: Typing,
    /// The derivative in a few words.
    pub title: &'static str,
    /// The ways to it, in the order in which they are tried.
    pub recipes: &'static [&'static Recipe],
}

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

/// A condition on a function f, and on the derivative of it that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// Any function.
    Always,
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
    /// Forward mode of f goes by pairs: its derivation is `tupled` or `polymorphic`.
    Pairs,
}

/// The definition that the first pass of a recipe takes.
#[derive(Clone, Debug)]
pub enum Start {
    /// f itself.
    Function,
    /// f in the form in which it is differentiated: with calls where f keeps records.
    Differentiable,
    /// A derivative of f, before sharing.
    Derivative(Derivative),
    /// A derivative of f that a recipe makes, before sharing.
    Recipe(&'static Recipe, Derivative),
    /// f itself; the passes call these derivatives.
    Calls(&'static [Derivative]),
}

/// Returns the row of a derivative.
#[rustfmt::skip]
pub fn entry(derivative: &Derivative) -> &'static Entry {
    macro_rules! row {
        ($typing:ident, $title:literal, [$($recipe:ident),*]) => {{
            static ENTRY: Entry = Entry { typing: Typing::$typing, title: $title, recipes: &[$(&$recipe),*] };
            &ENTRY
        }};
    }
    match derivative {
        Derivative::D => row!(Jacobian, "the Jacobian, a linear map", [WRITTEN_JACOBIAN, OF_EXTERNAL, JACOBIAN]),
        Derivative::Dt => row!(Transposed, "the transposed Jacobian", [OF_EXTERNAL, TRANSPOSED]),
        Derivative::Tupled => row!(Tupled, "the value with the Jacobian", [OF_EXTERNAL, TUPLED]),
        Derivative::Polymorphic => row!(Polymorphic, "linear map in, linear map out", [OF_EXTERNAL, POLYMORPHIC]),
        Derivative::Fwd => row!(Forward, "the forward derivative",
            [AS_WRITTEN, OF_PART, OF_EXTERNAL, SYMMETRIC, TANGENT, FORWARD]),
        Derivative::Rev => row!(Reverse, "the reverse derivative",
            [AS_WRITTEN, OF_PART, OF_EXTERNAL, WRITTEN_HALVES, SYMMETRIC, COTANGENT_BY_HALVES, COTANGENT, REVERSE]),
        Derivative::Jvp => row!(ForwardWithValue, "the value with the forward derivative",
            [OF_EXTERNAL, SYMMETRIC_WITH_VALUE, VALUE_AND_TANGENT, VALUE_BESIDE_TANGENT]),
        Derivative::Vjp => row!(ReverseWithValue, "the value with the reverse derivative",
            [OF_EXTERNAL, SYMMETRIC_WITH_VALUE, VALUE_AND_COTANGENT, VALUE_BESIDE_COTANGENT]),
        Derivative::SufFwdPass => row!(FirstHalf, "the value with the record B",
            [OF_EXTERNAL, RECORDED_HALVES, HALVES]),
        Derivative::SufRevPass => row!(SecondHalf, "the cotangent from the record B",
            [OF_EXTERNAL, RECORDED_HALVES, HALVES]),
        Derivative::SufRev => row!(Reverse, "the reverse derivative by its two halves", [OF_EXTERNAL, BOTH_HALVES]),
        Derivative::Shape => row!(Shape, "the shape of the value", [OF_EXTERNAL, SHAPE]),
        Derivative::Cl => row!(Same, "the function through the category language and back", [THROUGH_CATEGORY]),
        Derivative::Grad => row!(Gradient, "the gradient", [GRADIENT]),
        Derivative::Hvp => row!(HessianVector, "the product of Hessian and vector", [HESSIAN_VECTOR]),
        Derivative::Hess => row!(Hessian, "the dense Hessian", [HESSIAN]),
        Derivative::Jac => row!(Blocks, "the dense Jacobian, by columns or rows, whichever are fewer",
            [DENSE_JACOBIAN]),
        Derivative::JacFwd => row!(Blocks, "the dense Jacobian, by columns", [COLUMNS]),
        Derivative::JacRev => row!(Blocks, "the dense Jacobian, by rows", [ROWS]),
        Derivative::Wrt(_) => row!(Same, "the function with respect to parts of its argument", [PART]),
    }
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
            When::Written => "where this derivative is written by hand",
            When::External => "where f is implemented elsewhere",
            When::PartOfWritten => "with respect to parts, where the derivative with respect to all is written by hand",
            When::HalvesWritten => "where the two halves are written by hand",
            When::Symmetric => "where f is a reverse derivative, by symmetry",
            When::SymmetricWithValue => "where f is a reverse derivative and all of its point varies, by symmetry",
            When::Records => "where the derivation of f is `tupled` or `split`, with records",
            When::RecordsInHalves => "where the derivation of f is `split`, with records",
            When::Pairs => "where the derivation of f is `tupled` or `polymorphic`",
        }
    }

    /// Returns whether the condition asks for the derivation of f, such as `tupled`.
    pub fn asks_for_derivation(self) -> bool {
        match self {
            When::Records | When::RecordsInHalves | When::Pairs => true,
            When::Always | When::Written | When::External | When::PartOfWritten => false,
            When::HalvesWritten | When::Symmetric | When::SymmetricWithValue => false,
        }
    }
}
