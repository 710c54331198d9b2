//! Dense linear algebra, networks.

use crate::kernel::Kernel;

/// All of them.
pub const KERNELS: &[Kernel] = &[Kernel {
    name: "exp_matvec",
    n: 300,
    size: "rows of 784",
    wrt: &[],
    formulations: &[
        ("index", include_str!("../ks/exp_matvec_index.ks")),
        ("rows", include_str!("../ks/exp_matvec_rows.ks")),
    ],
}];
