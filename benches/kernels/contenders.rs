//! The contenders: a row for each column of the tables.

use crate::harness::contender::{Contender, Kind, Way};
use native::{Lanes, Options};

/// Native code without vectors: what `--lanes off` gives.
const SCALAR: Way = Way { options: || Options { lanes: Lanes::Off, ..Options::default() }, ..Way::DEFAULT };

/// All of them. The first is the one that targets are for.
pub const CONTENDERS: &[Contender] = &[
    Contender::new("lmc", Kind::Lmc(Way::DEFAULT)),
    Contender::new("lmc, lanes off", Kind::Lmc(SCALAR)),
    Contender::new("C++", Kind::ByHand("", &["-O3"])),
    Contender::new("C++ fast-math", Kind::ByHand("", &["-O3", "-ffast-math"])),
    Contender::new("JAX", Kind::Python("with_jax.py", &["kernels"])),
    Contender::new("lmc", Kind::Lmc(Way::DEFAULT)).on(2),
];

/// Rows of [`CONTENDERS`].
pub const LMC: usize = 0;
pub const LANES_OFF: usize = 1;
pub const CPP: usize = 2;
pub const CPP_FAST: usize = 3;
pub const JAX: usize = 4;
pub const TWO_THREADS: usize = 5;
