//! Holds the ways to derivatives by dual numbers.
//!
//! ```text
//! jvp$f(s, ds) = apart(dual$f(zip(s, ds)))        fwd$f: its tangent
//! rev$f(s, dr) = build(size(s), λj. ts_dot(dr, fwd$f(s, $delta_at(s, j, 1.0))))
//! ```

use super::pass::Pass;
use super::recipe::{Recipe, Start, Step, When};
use super::rows::{FINISH, FINISH_FORWARD, quiet, step};
use lm::term::Derivative;

const SOURCE: &str = "paper 000, Fig. 7";

/// Values and tangents of primitives, without linear maps.
const ON_NUMBERS: &[Pass] = &[
    Pass::Normal,
    Pass::Dual,
    Pass::Simplify("jacobian"),
    Pass::Apply,
    Pass::Simplify("values"),
    Pass::Simplify("values"),
    Pass::Place,
];

/// The function on dual numbers.
pub(super) static DUAL: Recipe = Recipe {
    when: When::Always,
    from: Start::Differentiable,
    steps: &[step("The dual function", ON_NUMBERS), quiet(FINISH)],
    source: SOURCE,
};

/// The value beside the tangent.
pub(super) static DUAL_APART: Recipe = Recipe {
    when: When::Dual,
    from: Start::Recipe(&DUAL, Derivative::Dual),
    steps: &[
        step("Value and tangent", &[Pass::Apart, Pass::Simplify("values"), Pass::Simplify("values")]),
        quiet(FINISH_FORWARD),
    ],
    source: SOURCE,
};

/// The tangent alone.
pub(super) static DUAL_TANGENT: Recipe = Recipe {
    when: When::Dual,
    from: Start::Recipe(&DUAL_APART, Derivative::Jvp),
    steps: &[quiet(&[Pass::Tangent]), step("Forward-mode derivative (CSE'd)", FINISH_FORWARD)],
    source: SOURCE,
};

/// The gradient, without the loops over the zeros of directions.
pub(super) static DUAL_GRADIENT: Recipe = Recipe {
    when: When::DualToFloat,
    from: Start::Calls(&[Derivative::Dual]),
    steps: &[
        step("The gradient, a loop over directions", &[Pass::LoopOverDirections]),
        WITHOUT_LOOPS,
        step("Gradient (CSE'd)", FINISH),
    ],
    source: LAWS,
};

/// The columns of the Jacobian.
pub(super) static DUAL_COLUMNS: Recipe = Recipe {
    when: When::Dual,
    from: Start::Calls(&[Derivative::Dual]),
    steps: &[
        step("The Jacobian, a loop over directions", &[Pass::LoopOverDirections]),
        WITHOUT_LOOPS,
        step("Jacobian (CSE'd)", FINISH),
    ],
    source: LAWS,
};

/// The cotangent.
pub(super) static DUAL_COTANGENT: Recipe = Recipe {
    when: When::Dual,
    from: Start::Calls(&[Derivative::Dual]),
    steps: &[quiet(&[Pass::LoopOverDirections]), WITHOUT_LOOPS, quiet(FINISH)],
    source: LAWS,
};

const LAWS: &str = "paper 000, Figs. 6 and 8";
/// The stages in between are those of the strategy.
const WITHOUT_LOOPS: Step = quiet(&[Pass::Strategy("dual")]);
