//! Holds the ways to normal forms of linear maps, and to derivatives by the rules of the notes alone.

use super::pass::Pass;
use super::recipe::{Recipe, Start, Step, When};
use super::rows::{FINISH, quiet, step};
use lm::term::{Derivative, Mode};

/// The function without linear maps.
pub(super) static MAP_FREE: Recipe = Recipe {
    when: When::Maps,
    from: Start::Written,
    steps: &[step("Without linear maps", &[Pass::Prepare, Pass::WithoutMaps])],
    source: "working notes, Figs. 4 and 5",
};

/// The Jacobian, with the maps in place of their names.
pub(super) static NOTES_JACOBIAN: Recipe = Recipe {
    when: When::Shown,
    from: Start::Differentiable,
    steps: &[
        step("The full Jacobian (unoptimised)", &[Pass::Normal, Pass::Jacobian]),
        step("The full Jacobian, maps in place of their names", &[Pass::ApplyMaps]),
        step("The full Jacobian (optimised)", &[Pass::Simplify("figures-2-and-4")]),
    ],
    source: "working notes, Figs. 2, 4 and 6, sec. 3",
};

/// Its transpose.
pub(super) static NOTES_TRANSPOSED: Recipe = Recipe {
    when: When::Shown,
    from: Start::Recipe(&NOTES_JACOBIAN, Derivative::D),
    steps: &[
        step("Transposed Jacobian", &[Pass::TransposeLater]),
        step("Optimised transposed Jacobian", &[Pass::ApplyMaps, Pass::Simplify("figure-5")]),
    ],
    source: "working notes, Fig. 5",
};

/// Forward mode by ⊙.
pub(super) static NOTES_FORWARD: Recipe = Recipe {
    when: When::Shown,
    from: Start::Recipe(&NOTES_JACOBIAN, Derivative::D),
    steps: &[
        step("Forward derivative (unoptimised)", &[Pass::ApplyTo(Mode::Forward)]),
        step("Forward-mode derivative (optimised)", BY_SIDE),
        step("Forward-mode derivative (CSE'd)", FINISH),
    ],
    source: "working notes, Fig. 4",
};

/// Reverse mode by ⊙ᴿ: nothing is transposed.
pub(super) static NOTES_REVERSE: Recipe = Recipe {
    when: When::Shown,
    from: Start::Recipe(&NOTES_JACOBIAN, Derivative::D),
    steps: &[
        step("Reverse derivative (unoptimised)", &[Pass::ApplyFromRight]),
        step("Reverse-mode derivative (optimised)", BY_SIDE),
        step("Reverse-mode derivative (CSE'd)", FINISH),
    ],
    source: "working notes, Fig. 5",
};

const BY_SIDE: &[Pass] = &[Pass::ApplyMaps, Pass::Simplify("values"), Pass::Place];

/// The function with its linear maps in normal form.
pub(super) static NORMAL_MAPS: Recipe =
    in_normal_form(&[quiet(&[Pass::Prepare, Pass::InlineMaps]), step("Normal form", SIMPLE)]);

/// The same, with Jacobians in place of their names.
pub(super) static NORMAL_JACOBIANS: Recipe =
    in_normal_form(&[quiet(&[Pass::Prepare, Pass::InlineJacobians]), step("Normal form", SIMPLE)]);

/// The function with its linear maps as matrices.
pub(super) static MATRICES: Recipe =
    in_normal_form(&[quiet(&[Pass::Prepare, Pass::InlineMaps]), step("Matrix", MATRIX)]);

/// The same, with Jacobians in place of their names.
pub(super) static MATRICES_OF_JACOBIANS: Recipe =
    in_normal_form(&[quiet(&[Pass::Prepare, Pass::InlineJacobians]), step("Matrix", MATRIX)]);

const SIMPLE: &[Pass] = &[Pass::ApplyMaps, Pass::Simplify("normal"), Pass::Simplify("values")];
const MATRIX: &[Pass] = &[Pass::ApplyMaps, Pass::Simplify("matrix"), Pass::Simplify("values")];

const fn in_normal_form(steps: &'static [Step]) -> Recipe {
    Recipe { when: When::Always, from: Start::Written, steps, source: "working notes, Figs. 4 and 5" }
}
