//! Holds the ways to derivatives by dual numbers.
//!
//! ```text
//! jvp$f(s, ds) = apart(dual$f(zip(s, ds)))        fwd$f: its tangent
//! rev$f(s, dr) = build(size(s), λj. ts_dot(dr, fwd$f(s, $delta_at(s, j, 1.0))))
//! ```

use super::pass::Pass;
use super::recipe::{Recipe, Start, When};
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
    steps: &[step("Pairs apart", &[Pass::Apart, Pass::Simplify("values")]), quiet(FINISH_FORWARD)],
    source: SOURCE,
};

/// The tangent alone.
pub(super) static DUAL_TANGENT: Recipe = Recipe {
    when: When::Dual,
    from: Start::Recipe(&DUAL_APART, Derivative::Jvp),
    steps: &[quiet(&[Pass::Tangent]), step("Forward-mode derivative (CSE'd)", FINISH_FORWARD)],
    source: SOURCE,
};

/// The cotangent, one loop over the directions of each part of the argument.
pub(super) static DUAL_COTANGENT: Recipe = Recipe {
    when: When::Dual,
    from: Start::Calls(&[Derivative::Fwd]),
    steps: &[quiet(&[Pass::AlongDirections, Pass::Arrays]), quiet(FINISH)],
    source: SOURCE,
};
