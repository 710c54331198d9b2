//! Holds the ways to derivatives by dual numbers.
//!
//! ```text
//! jvp$f(s, ds) = apart(dual$f(zip(s, ds)))        fwd$f: its tangent
//! rev$f(s, dr) = build(size(s), λj. ts_dot(dr, fwd$f(s, $delta_at(s, j, 1.0))))
//! ```

use super::pass::Pass;
use super::recipe::{Recipe, Start, Step, When};
use super::rows::{FINISH, FINISH_FORWARD, quiet, step};
use lm::term::{Derivative, Mode};

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

/// The gradient: what depends on no direction is computed once, and the loops over zeros go.
pub(super) static DUAL_GRADIENT: Recipe = Recipe {
    when: When::DualToFloat,
    from: Start::Calls(&[Derivative::Fwd]),
    steps: &[
        step("The gradient, a loop over directions", &[Pass::LoopOverDirections]),
        step(APART, &[Pass::AlongDirections]),
        FUSED,
        SIMPLIFIED,
        NORMALISED,
        step("Gradient (CSE'd)", FINISH),
    ],
    source: LAWS,
};

/// The columns of the Jacobian.
pub(super) static DUAL_COLUMNS: Recipe = Recipe {
    when: When::Dual,
    from: Start::Calls(&[Derivative::Fwd]),
    steps: &[
        step("The Jacobian, a loop over directions", &[Pass::LoopOverDirections]),
        step(APART, &[Pass::Directions(Mode::Forward)]),
        FUSED,
        SIMPLIFIED,
        NORMALISED,
        step("Jacobian (CSE'd)", FINISH),
    ],
    source: LAWS,
};

/// The cotangent.
pub(super) static DUAL_COTANGENT: Recipe = Recipe {
    when: When::Dual,
    from: Start::Calls(&[Derivative::Fwd]),
    steps: &[quiet(&[Pass::AlongDirections]), quiet(NORMALISED.passes), quiet(FINISH)],
    source: LAWS,
};

const LAWS: &str = "paper 000, Figs. 6 and 8";
const APART: &str = "Pairs apart";
const FUSED: Step = step("Loops fused", &[Pass::Arrays("fuse")]);
const SIMPLIFIED: Step = step("Simplified", &[Pass::Arrays("zeros")]);
const NORMALISED: Step = step("Loops normalised", &[Pass::Arrays("directions")]);
