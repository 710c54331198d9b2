//! Recurrences, scans, sequences.

use crate::kernel::Kernel;

/// All of them.
pub const KERNELS: &[Kernel] = &[];
