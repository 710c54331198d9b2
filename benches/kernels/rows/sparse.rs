//! Gathers, scatters, sparse and jagged arrays, bodies, geometry.

use crate::kernel::Kernel;

/// All of them.
pub const KERNELS: &[Kernel] = &[];
