//! Shows how much of a value is rounding.
//!
//! ```text
//! x -> tan((x + x) / x)      derivative: (2 / x - 2 x / x^2) (1 + tan^2) = 0, but 2.5e-15 or -3.6e-15 in Floats
//! ```
//!
//! No number in a result tells how large the terms were that cancelled. So a program is evaluated several times, and
//! each operation is off by one unit in the last place, or exact, at random. How far the values are apart is about how
//! far two orders of the same arithmetic may be.
//!
//! Source: stochastic arithmetic, as in CESTAC (Vignes 1993).

use crate::random::SplitMix;

/// Returns a result, or one of its neighbours.
pub(super) fn rounded(x: f64, draws: &mut SplitMix) -> f64 {
    match draws.draw() % 3 {
        0 if x.is_finite() => x.next_up(),
        1 if x.is_finite() => x.next_down(),
        _ => x,
    }
}
