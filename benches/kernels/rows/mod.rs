//! The kernels: a row each.

use crate::kernel::Kernel;

mod dense;
mod sequences;
mod sparse;
mod statistics;
mod stencils;

/// All of them.
pub const ALL: &[&[Kernel]] =
    &[dense::KERNELS, statistics::KERNELS, stencils::KERNELS, sequences::KERNELS, sparse::KERNELS];
