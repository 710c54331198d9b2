//! Statistics, likelihoods, finance.

use crate::kernel::Kernel;

/// All of them.
pub const KERNELS: &[Kernel] = &[
    Kernel {
        name: "gmm_flat",
        n: 500,
        size: "points, d 10, k 10",
        wrt: &[1, 2, 3],
        formulations: &[
            ("columns", include_str!("../ks/gmm_flat_columns.ks")),
            ("factors", include_str!("../ks/gmm_flat_factors.ks")),
            ("packed", include_str!("../ks/gmm_flat_packed.ks")),
        ],
    },
    Kernel {
        name: "mvn_loglik",
        n: 1000,
        size: "points, d 10",
        wrt: &[1, 2],
        formulations: &[
            ("batch", include_str!("../ks/mvn_loglik_batch.ks")),
            ("inverse", include_str!("../ks/mvn_loglik_inverse.ks")),
            ("solve", include_str!("../ks/mvn_loglik_solve.ks")),
        ],
    },
    Kernel {
        name: "poisson_regression",
        n: 2000,
        size: "points of 20",
        wrt: &[1],
        formulations: &[
            ("fold", include_str!("../ks/poisson_regression_fold.ks")),
            ("index", include_str!("../ks/poisson_regression_index.ks")),
            ("vectors", include_str!("../ks/poisson_regression_vectors.ks")),
        ],
    },
    Kernel {
        name: "student_t_regression",
        n: 2000,
        size: "points of 20",
        wrt: &[1, 2],
        formulations: &[
            ("density", include_str!("../ks/student_t_regression_density.ks")),
            ("index", include_str!("../ks/student_t_regression_index.ks")),
        ],
    },
];
