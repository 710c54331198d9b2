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

mod calculus;
mod dual;
mod pass;
mod recipe;
mod rows;
mod shown;

pub use pass::Pass;
pub use recipe::{Recipe, Start, Step, When};
pub use rows::to_cotangent;
pub use shown::{NormalForm, Shown, by_notes, headings, shown, simplified};

use super::typing::Typing;
use dual::{DUAL, DUAL_APART, DUAL_COLUMNS, DUAL_COTANGENT, DUAL_GRADIENT, DUAL_TANGENT};
use lm::term::Derivative;
use rows::{
    AS_WRITTEN, BOTH_HALVES, COLUMNS, COTANGENT, COTANGENT_BY_HALVES, DENSE_JACOBIAN, FORWARD, FORWARD_OF_STATES,
    GRADIENT, HALVES, HESSIAN, HESSIAN_VECTOR, JACOBIAN, OF_EXTERNAL, OF_PART, PART, POLYMORPHIC, POLYMORPHIC_R,
    RECORDED_HALVES, REVERSE, ROWS, SHAPE, SPLIT, SPLIT_HALVES, SYMMETRIC, SYMMETRIC_WITH_VALUE, TANGENT,
    THROUGH_CATEGORY, TRANSPOSED, TUPLED, UNARY, UNARY_COTANGENT, UNARY_HALVES, VALUE_AND_COTANGENT, VALUE_AND_TANGENT,
    VALUE_BESIDE_COTANGENT, VALUE_BESIDE_TANGENT, WRITTEN_HALVES, WRITTEN_JACOBIAN,
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
        Derivative::PolymorphicR => row!(PolymorphicR, "linear map to anywhere in, linear map to there out",
            [OF_EXTERNAL, POLYMORPHIC_R]),
        Derivative::Dual => row!(Dual, "the function on dual numbers", [OF_EXTERNAL, DUAL]),
        Derivative::Fwd => row!(Forward, "the forward derivative",
            [AS_WRITTEN, OF_PART, OF_EXTERNAL, SYMMETRIC, TANGENT, DUAL_TANGENT, FORWARD_OF_STATES, FORWARD]),
        Derivative::Rev => row!(Reverse, "the reverse derivative",
            [AS_WRITTEN, OF_PART, OF_EXTERNAL, WRITTEN_HALVES, SYMMETRIC, COTANGENT_BY_HALVES, COTANGENT, UNARY_COTANGENT,
                DUAL_COTANGENT, REVERSE]),
        Derivative::Jvp => row!(ForwardWithValue, "the value with the forward derivative",
            [OF_EXTERNAL, SYMMETRIC_WITH_VALUE, VALUE_AND_TANGENT, DUAL_APART, VALUE_BESIDE_TANGENT]),
        Derivative::Vjp => row!(ReverseWithValue, "the value with the reverse derivative",
            [OF_EXTERNAL, SYMMETRIC_WITH_VALUE, SPLIT, VALUE_AND_COTANGENT, UNARY, VALUE_BESIDE_COTANGENT]),
        Derivative::SufFwdPass => row!(FirstHalf, "the value with the record B",
            [OF_EXTERNAL, SPLIT_HALVES, RECORDED_HALVES, UNARY_HALVES, HALVES]),
        Derivative::SufRevPass => row!(SecondHalf, "the cotangent from the record B",
            [OF_EXTERNAL, SPLIT_HALVES, RECORDED_HALVES, UNARY_HALVES, HALVES]),
        Derivative::SufRev => row!(Reverse, "the reverse derivative by its two halves", [OF_EXTERNAL, BOTH_HALVES]),
        Derivative::Shape => row!(Shape, "the shape of the value", [OF_EXTERNAL, SHAPE]),
        Derivative::Cl => row!(Same, "the function through the category language and back", [THROUGH_CATEGORY]),
        Derivative::Grad => row!(Gradient, "the gradient", [DUAL_GRADIENT, GRADIENT]),
        Derivative::Hvp => row!(HessianVector, "the product of Hessian and vector", [HESSIAN_VECTOR]),
        Derivative::Hess => row!(Hessian, "the dense Hessian", [HESSIAN]),
        Derivative::Jac => row!(Blocks, "the dense Jacobian, by columns or rows, whichever are fewer",
            [DENSE_JACOBIAN]),
        Derivative::JacFwd => row!(Blocks, "the dense Jacobian, by columns", [DUAL_COLUMNS, COLUMNS]),
        Derivative::JacRev => row!(Blocks, "the dense Jacobian, by rows", [ROWS]),
        Derivative::Wrt(_) => row!(Same, "the function with respect to parts of its argument", [PART]),
    }
}
