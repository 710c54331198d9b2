//! The contenders: a row for each column of the tables.

use crate::harness::contender::{Contender, Kind, Way};

/// All of them. The first row of each number of threads is the one that targets are for.
pub const CONTENDERS: &[Contender] = &[
    Contender::new("lmc", Kind::Lmc(Way::DEFAULT)),
    Contender::new("C++", Kind::ByHand("", &["-O3"])),
    Contender::new("C++ fast-math", Kind::ByHand("", &["-O3", "-ffast-math"])),
    Contender::new("C++ in lanes", Kind::ByHand("lanes", &["-O3", "-ffast-math"])),
    Contender::new("JAX", Kind::Python("with_jax.py", &[])),
    Contender::new("PyTorch", Kind::Python("with_torch.py", &[])),
    Contender::new("PyTorch compiled", Kind::Python("with_torch.py", &["compiled"])),
    Contender::new("lmc", Kind::Lmc(Way::DEFAULT)).on(2),
    Contender::new("C++", Kind::ByHand("", &["-O3", "-fopenmp"])).on(2),
    Contender::new("C++ fast-math", Kind::ByHand("", &["-O3", "-ffast-math", "-fopenmp"])).on(2),
    Contender::new("JAX", Kind::Python("with_jax.py", &[])).on(2),
    Contender::new("PyTorch", Kind::Python("with_torch.py", &[])).on(2),
];
