//! Rounding, as it is seen: how far a number moves where everything that it is computed from moves by a few ulps.
//!
//! ```text
//! v -> sum of p log p,  p = v / sum of v,   at one element: p = 1 for every v, and the derivative is 1/s - v/s^2 = 0
//! ```
//!
//! Where terms cancel, what is left are their roundings, and no number in the result tells how large the terms were. A
//! wrong formula moves as little as a right one, so this hides no mistake that is larger than they are. Near a point
//! where a branch changes, numbers jump: what moves further than rounding does is not taken for it.

use super::Random;
use lm::value::Value;

/// Evaluations near a point.
pub(super) const SAMPLES: usize = 8;

/// How far two ways of rounding may be apart, in distances that were seen.
const MARGIN: f64 = 4.0;

/// The numbers that are compared at a point: the products of the cotangent with the value and the forward derivative,
/// and of the reverse derivative with the tangent; none for what is not there.
pub(super) type Compared = [Option<f64>; 3];

/// The rounding in each of the numbers that are compared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Noise {
    pub(super) value: f64,
    pub(super) forward: f64,
    pub(super) reverse: f64,
}

impl Noise {
    /// Returns what samples from a point and from near it tell. Those without a number tell nothing.
    pub(super) fn of(samples: &[Compared]) -> Noise {
        let spread = |i: usize| {
            let seen = || samples.iter().filter_map(|sample| sample[i]).filter(|x| x.is_finite());
            let width = seen().fold(f64::NEG_INFINITY, f64::max) - seen().fold(f64::INFINITY, f64::min);
            if width.is_finite() { MARGIN * width } else { 0.0 }
        };
        Noise { value: spread(0), forward: spread(1), reverse: spread(2) }
    }

    /// Returns the same, without what is larger than roundings may be.
    pub(super) fn within(self, limit: f64) -> Noise {
        let small = |x: f64| if x <= limit { x } else { 0.0 };
        Noise { value: small(self.value), forward: small(self.forward), reverse: small(self.reverse) }
    }
}

/// Returns a value in which each Float is moved by at most eight ulps.
pub(super) fn jittered(v: &Value, random: &mut Random) -> Value {
    const ULPS: f64 = 8.0;
    super::tangent::with_floats(v, &mut |x| x * (1.0 + ULPS * f64::EPSILON * random.unit()))
}

/// Returns by how much a difference is larger than rounding.
pub(super) fn beyond(difference: f64, noise: f64) -> f64 {
    // Not `max`: a NaN stays one.
    if difference.abs() <= noise { 0.0 } else { difference.abs() - noise }
}
