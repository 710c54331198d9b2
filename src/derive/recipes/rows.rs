//! Holds the ways to derivatives, a row each: a condition, a start, passes, and a source.

use super::pass::Pass;
use super::recipe::{Recipe, Start, Step, When};
use crate::derive::figures::fig07_08_pairs::Partner;
use lm::term::{Derivative, Mode};

pub(super) const fn step(heading: &'static str, passes: &'static [Pass]) -> Step {
    Step { heading: Some(heading), passes }
}

pub(super) const fn quiet(passes: &'static [Pass]) -> Step {
    Step { heading: None, passes }
}

/// Shares work, makes the form that a person would write, and applies the rules of the program.
pub(super) const FINISH: &[Pass] = &[Pass::Share, Pass::Tidy, Pass::Rules];
/// The passes of `FINISH`, for forward mode.
pub(super) const FINISH_FORWARD: &[Pass] = &[Pass::Share, Pass::CarryStates, Pass::Tidy, Pass::Rules];
/// The passes of `FINISH`, for a definition whose work is shared already.
const TIDY: &[Pass] = &[Pass::Refresh, Pass::Tidy, Pass::Rules];
/// Leaves no linear map, and simple values.
const APPLY: &[Pass] = &[Pass::Apply, Pass::Simplify("values"), Pass::Place];

/// The function in normal form.
pub(super) static NORMAL: Recipe = Recipe {
    when: When::Always,
    from: Start::Marked,
    steps: &[step("Anf-ised original definition", &[Pass::Prepare, Pass::Normal])],
    source: "working notes, sec. 5.1",
};

pub(super) static OF_EXTERNAL: Recipe = Recipe {
    when: When::External,
    from: Start::Function,
    steps: &[quiet(&[Pass::OfExternal])],
    source: "the user's [fwd f] and [rev f]",
};

pub(super) static AS_WRITTEN: Recipe = Recipe {
    when: When::Written,
    from: Start::Function,
    steps: &[quiet(&[Pass::AsWritten])],
    source: "the user's definition",
};

pub(super) static OF_PART: Recipe = Recipe {
    when: When::PartOfWritten,
    from: Start::Function,
    steps: &[quiet(&[Pass::PartOfWritten]), quiet(FINISH)],
    source: "the user's definition",
};

pub(super) static WRITTEN_JACOBIAN: Recipe = Recipe {
    when: When::Written,
    from: Start::Function,
    steps: &[quiet(&[Pass::WrittenJacobian, Pass::Simplify("jacobian")])],
    source: "the user's definition",
};

/// The full Jacobian.
pub(super) static JACOBIAN: Recipe = Recipe {
    when: When::Always,
    from: Start::Differentiable,
    steps: &[
        step("The full Jacobian (unoptimised)", &[Pass::Normal, Pass::Jacobian]),
        step("The full Jacobian (optimised)", &[Pass::Simplify("jacobian")]),
    ],
    source: "working notes, Fig. 6",
};

/// The function on whole arrays.
pub(super) static IN_ARRAYS: Recipe = Recipe {
    when: When::Always,
    from: Start::Differentiable,
    steps: &[step("Bulk operations as loops", &[])],
    source: "paper 004, Figs. 9 to 11",
};

/// The full Jacobian of a function on whole arrays.
pub(super) static DUAL_ARRAYS: Recipe = Recipe {
    when: When::Always,
    from: Start::Differentiable,
    steps: &[
        step("Dual arrays: values, then maps (unoptimised)", &[Pass::Normal, Pass::Jacobian]),
        step("Dual arrays: values, then maps", &[Pass::Simplify("jacobian")]),
    ],
    source: "paper 004, Figs. 14 and 18",
};

/// The transposed Jacobian.
pub(super) static TRANSPOSED: Recipe = Recipe {
    when: When::Always,
    from: Start::Derivative(Derivative::D),
    steps: &[
        step("Transposed Jacobian", &[Pass::TransposeLater]),
        step("Optimised transposed Jacobian", &[Pass::Transpose, Pass::Simplify("transpose")]),
    ],
    source: "working notes, Fig. 5",
};

/// Forward mode by the Jacobian.
pub(super) static FORWARD: Recipe = Recipe {
    when: When::Always,
    from: Start::Derivative(Derivative::D),
    steps: &[
        step("Forward derivative (unoptimised)", &[Pass::ApplyTo(Mode::Forward)]),
        step("Forward-mode derivative (optimised)", APPLY),
        step("Forward-mode derivative (CSE'd)", FINISH_FORWARD),
    ],
    source: "working notes, Figs. 6 and 14",
};

/// Forward mode by a Jacobian of its own, where that of reverse mode keeps states in another way.
pub(super) static FORWARD_OF_STATES: Recipe = Recipe {
    when: When::OwnForward,
    from: Start::Differentiable,
    steps: &[
        step("The full Jacobian without checkpoints (unoptimised)", &[Pass::Normal, Pass::JacobianOfStates]),
        step("The full Jacobian without checkpoints (optimised)", &[Pass::Simplify("jacobian")]),
        step("Forward derivative (unoptimised)", &[Pass::ApplyTo(Mode::Forward)]),
        step("Forward-mode derivative (optimised)", APPLY),
        step("Forward-mode derivative (CSE'd)", FINISH_FORWARD),
    ],
    source: "working notes, Figs. 6 and 14",
};

/// Reverse mode by the Jacobian.
pub(super) static REVERSE: Recipe = Recipe {
    when: When::Always,
    from: Start::Derivative(Derivative::Dt),
    steps: &[
        step("Reverse-mode derivative (unoptimised)", &[Pass::ApplyTo(Mode::Reverse)]),
        step("Reverse-mode derivative (optimised)", APPLY),
        step("Reverse-mode derivative (CSE'd)", FINISH),
    ],
    source: "working notes, Fig. 6",
};

/// Values paired with their maps from the function's argument.
pub(super) static TUPLED: Recipe = Recipe {
    when: When::Always,
    from: Start::Differentiable,
    steps: &[
        step("The tupled Jacobian (unoptimised)", &[Pass::Normal, Pass::Pair(Partner::Tupled)]),
        step("The tupled Jacobian (optimised)", &[Pass::Simplify("jacobian")]),
    ],
    source: "working notes, Fig. 7",
};

/// Values paired with their maps from anywhere.
pub(super) static POLYMORPHIC: Recipe = Recipe {
    when: When::Always,
    from: Start::Differentiable,
    steps: &[
        step("The polymorphic Jacobian (unoptimised)", &[Pass::Normal, Pass::Pair(Partner::Polymorphic)]),
        step("The polymorphic Jacobian (optimised)", &[Pass::Simplify("jacobian")]),
    ],
    source: "working notes, Fig. 8",
};

/// Values paired with their maps to anywhere.
pub(super) static POLYMORPHIC_R: Recipe = Recipe {
    when: When::Always,
    from: Start::Differentiable,
    steps: &[
        step("The map that reverse mode returns (unoptimised)", &[Pass::Normal, Pass::Pair(Partner::PolymorphicR)]),
        step(
            "The map that reverse mode returns (optimised)",
            &[Pass::Simplify("returned-map"), Pass::Simplify("returned-map")],
        ),
    ],
    source: "working notes, Fig. 8",
};

/// Value and cotangent, by that map at 1.
pub(super) static BY_MAP: Recipe = Recipe {
    when: When::Shown,
    from: Start::Differentiable,
    steps: &[
        step("Value and reverse derivative, by that map (unoptimised)", &[Pass::Normal, Pass::ReverseByMap]),
        quiet(&[Pass::Simplify("returned-map"), Pass::Simplify("returned-map"), Pass::InlineMaps, Pass::ApplyMaps]),
        step(
            "Value and reverse derivative, by that map (optimised)",
            &[Pass::Simplify("returned-map"), Pass::Simplify("values"), Pass::Place],
        ),
    ],
    source: "working notes, sec. 5.4",
};

/// Values paired with their tangents.
pub(super) static VALUE_AND_TANGENT: Recipe = Recipe {
    when: When::Pairs,
    from: Start::Differentiable,
    steps: &[
        step("Value and forward derivative (unoptimised)", &[Pass::Normal, Pass::Pair(Partner::Tangent)]),
        step(
            "Value and forward-mode derivative (optimised)",
            &[Pass::Simplify("jacobian"), Pass::Apply, Pass::Simplify("values"), Pass::Place],
        ),
        step("Value and forward-mode derivative (CSE'd)", FINISH),
    ],
    source: "working notes, Figs. 7 and 8",
};

/// The tangent of a pair.
pub(super) static TANGENT: Recipe = Recipe {
    when: When::Pairs,
    from: Start::Recipe(&VALUE_AND_TANGENT, Derivative::Jvp),
    steps: &[quiet(&[Pass::Tangent]), step("Forward-mode derivative (CSE'd)", FINISH)],
    source: "working notes, Figs. 7 and 8",
};

pub(super) static VALUE_BESIDE_TANGENT: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::Fwd]),
    steps: &[quiet(&[Pass::ValueBeside]), quiet(FINISH_FORWARD)],
    source: "working notes, sec. 5.2",
};

pub(super) static VALUE_BESIDE_COTANGENT: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::Rev]),
    steps: &[quiet(&[Pass::ValueBeside]), quiet(FINISH)],
    source: "working notes, sec. 5.2",
};

/// Value and cotangent, by the value's record.
pub(super) static VALUE_AND_COTANGENT: Recipe = Recipe {
    when: When::Records,
    from: Start::Differentiable,
    steps: &[
        step("The Jacobian with records (unoptimised)", &[Pass::Normal, Pass::Record]),
        step("The map alone (optimised)", &[Pass::MapAlone, Pass::Simplify("jacobian")]),
        step("Transposed map", &[Pass::TransposeMap, Pass::Simplify("transpose")]),
        step("Transposed map, applied", &[Pass::ApplyMap, Pass::Apply, Pass::Simplify("values"), Pass::Place]),
        quiet(&[Pass::WithValues, Pass::ShareValues]),
        step("Value and reverse-mode derivative (CSE'd)", TIDY),
    ],
    source: "working notes, sec. 5.4 and 6.1",
};

/// Returns the steps of that up to the cotangent alone, which reads the record.
pub fn to_cotangent() -> &'static [Step] {
    let steps = VALUE_AND_COTANGENT.steps;
    let end = steps.iter().position(|step| step.passes.contains(&Pass::WithValues));
    &steps[..end.expect("the values come last")]
}

/// Value and cotangent, by the halves of the category language.
pub(super) static SPLIT: Recipe = Recipe {
    when: When::RecordsInHalves,
    from: Start::Differentiable,
    steps: &[
        quiet(&[Pass::Normal, Pass::Strategy("selections"), Pass::Anf, Pass::Convert, Pass::Prune]),
        step("The forward half in the category language", &[Pass::Split]),
        step("The reverse half in the category language", &[Pass::ReverseHalf]),
        step("The reverse half as a map (optimised)", &[Pass::MapAlone, Pass::TransposeLeaves]),
        step("The reverse half, applied", &[Pass::ApplyMap, Pass::Apply, Pass::Simplify("values"), Pass::Place]),
        quiet(&[Pass::WithValues, Pass::ShareValues]),
        step("Value and reverse-mode derivative (CSE'd)", TIDY),
    ],
    source: "working notes, sec. 6.1",
};

pub(super) static SPLIT_HALVES: Recipe = Recipe {
    when: When::RecordsInHalves,
    from: Start::Recipe(&SPLIT, Derivative::Vjp),
    steps: &[quiet(&[Pass::CutRecorded])],
    source: "working notes, sec. 6.1",
};

/// The function in UNF.
pub(super) static UNARY_FORM: Recipe = Recipe {
    when: When::Always,
    from: Start::Differentiable,
    steps: &[step("Source UNF", &[Pass::Normal, Pass::UnaryForm]), step("Target UNF", &[Pass::Target])],
    source: "paper 003, Figs. 6, 7 and 9",
};

/// Value and cotangent, by the sweep backward over UNF.
pub(super) static UNARY: Recipe = Recipe {
    when: When::Unary,
    from: Start::Differentiable,
    steps: &[
        step("The sweep backward", &[Pass::Normal, Pass::UnaryForm, Pass::Sweep]),
        step(
            "Partially evaluated",
            &[Pass::Simplify("cotangents"), Pass::Apply, Pass::Simplify("values"), Pass::Place],
        ),
        quiet(&[Pass::ShareValues]),
        step("Value and reverse-mode derivative (CSE'd)", TIDY),
    ],
    source: "paper 003, Figs. 8 and 10, sec. 5.1",
};

pub(super) static UNARY_COTANGENT: Recipe = Recipe {
    when: When::Unary,
    from: Start::Recipe(&UNARY, Derivative::Vjp),
    steps: &[quiet(&[Pass::Cotangent, Pass::ShareValues]), step("Reverse-mode derivative (CSE'd)", TIDY)],
    source: "paper 003, sec. 5.1",
};

pub(super) static UNARY_HALVES: Recipe = Recipe {
    when: When::Unary,
    from: Start::Recipe(&UNARY, Derivative::Vjp),
    steps: &[quiet(&[Pass::CutRecorded])],
    source: "working notes, sec. 6.1",
};

/// The cotangent, by the value's record.
pub(super) static COTANGENT: Recipe = Recipe {
    when: When::Records,
    from: Start::Recipe(&VALUE_AND_COTANGENT, Derivative::Vjp),
    steps: &[quiet(&[Pass::Cotangent, Pass::ShareValues]), step("Reverse-mode derivative (CSE'd)", TIDY)],
    source: "working notes, sec. 5.4",
};

pub(super) static COTANGENT_BY_HALVES: Recipe = Recipe {
    when: When::RecordsInHalves,
    from: Start::Calls(&[Derivative::SufFwdPass, Derivative::SufRevPass]),
    steps: &[quiet(&[Pass::CallHalves]), step("Reverse-mode derivative", TIDY)],
    source: "working notes, sec. 6.1",
};

pub(super) static RECORDED_HALVES: Recipe = Recipe {
    when: When::Records,
    from: Start::Recipe(&VALUE_AND_COTANGENT, Derivative::Vjp),
    steps: &[quiet(&[Pass::CutRecorded])],
    source: "working notes, sec. 6.1",
};

pub(super) static HALVES: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::Rev]),
    steps: &[quiet(&[Pass::ValueBeside, Pass::Cut])],
    source: "working notes, sec. 6.1",
};

pub(super) static BOTH_HALVES: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::SufFwdPass, Derivative::SufRevPass]),
    steps: &[quiet(&[Pass::CallHalves])],
    source: "working notes, sec. 6.1",
};

pub(super) static WRITTEN_HALVES: Recipe = Recipe {
    when: When::HalvesWritten,
    from: Start::Calls(&[Derivative::SufFwdPass, Derivative::SufRevPass]),
    steps: &[quiet(&[Pass::CallHalves]), quiet(FINISH)],
    source: "the user's definition",
};

pub(super) static SYMMETRIC: Recipe = Recipe {
    when: When::Symmetric,
    from: Start::Calls(&[Derivative::Fwd, Derivative::Rev]),
    steps: &[quiet(&[Pass::Symmetry]), quiet(FINISH)],
    source: "symmetry of second derivatives",
};

pub(super) static SYMMETRIC_WITH_VALUE: Recipe = Recipe {
    when: When::SymmetricWithValue,
    from: Start::Calls(&[Derivative::Fwd, Derivative::Rev]),
    steps: &[quiet(&[Pass::SymmetryWithValue]), quiet(FINISH)],
    source: "symmetry of second derivatives",
};

pub(super) static SHAPE: Recipe = Recipe {
    when: When::Always,
    from: Start::Function,
    steps: &[quiet(&[Pass::Normal, Pass::Shape]), quiet(FINISH)],
    source: "paper 001, shape analysis",
};

/// The function through the category language, as the derivation `split` takes its normal form.
pub(super) static CATEGORY: Recipe = Recipe {
    when: When::Always,
    from: Start::Function,
    steps: &[
        step("The category language", &[Pass::Anf, Pass::Convert]),
        step("The category language, pruned", &[Pass::Prune]),
        step("Back from the category language", &[Pass::Back]),
    ],
    source: "working notes, Figs. 9-11",
};

pub(super) static THROUGH_CATEGORY: Recipe = Recipe {
    when: When::Always,
    from: Start::Function,
    steps: &[quiet(&[Pass::Convert, Pass::Prune, Pass::Back, Pass::Rename])],
    source: "working notes, Figs. 9-11",
};

pub(super) static GRADIENT: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::Rev]),
    steps: &[quiet(&[Pass::Gradient]), quiet(FINISH)],
    source: "figures/dense",
};

pub(super) static HESSIAN_VECTOR: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::Fwd, Derivative::Grad]),
    steps: &[quiet(&[Pass::HessianVector]), quiet(FINISH)],
    source: "figures/dense",
};

pub(super) static HESSIAN: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::JacFwd, Derivative::Grad]),
    steps: &[quiet(&[Pass::Hessian]), quiet(FINISH)],
    source: "figures/dense",
};

pub(super) static DENSE_JACOBIAN: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::JacFwd, Derivative::JacRev]),
    steps: &[quiet(&[Pass::ColumnsOrRows]), quiet(FINISH)],
    source: "figures/dense",
};

pub(super) static COLUMNS: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::Fwd]),
    steps: &[quiet(&[Pass::Directions(Mode::Forward), Pass::Strategy("directions")]), quiet(FINISH)],
    source: "figures/dense",
};

pub(super) static ROWS: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::Rev]),
    steps: &[quiet(&[Pass::Directions(Mode::Reverse), Pass::Strategy("directions")]), quiet(FINISH)],
    source: "figures/dense",
};

pub(super) static PART: Recipe = Recipe {
    when: When::Always,
    from: Start::Function,
    steps: &[quiet(&[Pass::Rename])],
    source: "figures/fig06_jacobian",
};
