//! The contenders: a row for each column of the tables.

use crate::harness::contender::{Contender, Kind, Way};
use lmc::derive::Derivation;

/// By dual numbers, with strategies.
const fn dual(name: &'static str, strategies: (&'static str, &'static str)) -> Contender {
    Contender::new(name, Kind::Lmc(Way { derivation: Derivation::Dual, strategies, ..Way::DEFAULT }))
}

/// As the rules make it: a loop over directions around the function on dual numbers.
const NAIVE: (&str, &str) = ("none", include_str!("../../lm/strategies/none.strategy"));

/// Derivatives beside other programs. The first one is the one that targets are for.
pub const CONTENDERS: &[Contender] = &[
    dual("dual", ("", "")),
    Contender::new("reverse", Kind::Lmc(Way::DEFAULT)),
    dual("naive", NAIVE),
    Contender::new("C++", Kind::ByHand("", &["-O3"])),
    Contender::new("JAX", Kind::Python("with_jax.py", &[])),
    Contender::new("PyTorch", Kind::Python("with_torch.py", &[])),
];

/// A strategy that leaves groups of laws out.
macro_rules! without {
    ($name:literal) => {
        dual($name, (concat!($name, ".strategy"), include_str!(concat!("strategies/", $name, ".strategy"))))
    };
}

/// One group of laws after the other.
pub const ABLATION: &[Contender] = &[
    without!("called"),
    dual("naive", NAIVE),
    without!("fused"),
    without!("normalised"),
    without!("hoisted"),
    dual("dual", ("", "")),
];
