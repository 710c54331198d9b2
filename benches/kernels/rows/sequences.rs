//! Recurrences, scans, sequences.

use crate::kernel::Kernel;

/// All of them.
pub const KERNELS: &[Kernel] = &[
    Kernel {
        name: "kalman",
        n: 300,
        size: "steps, 4 states, 2 observations",
        wrt: &[1, 2, 3, 4],
        formulations: &[
            ("matrices", include_str!("../ks/kalman_matrices.ks")),
            ("rows", include_str!("../ks/kalman_rows.ks")),
        ],
    },
    Kernel {
        name: "hmm",
        n: 200,
        size: "steps, 16 states",
        wrt: &[],
        formulations: &[
            ("index", include_str!("../ks/hmm_index.ks")),
            ("rows", include_str!("../ks/hmm_rows.ks")),
            ("recursion", include_str!("../ks/hmm_recursion.ks")),
        ],
    },
    Kernel {
        name: "rnn",
        n: 100,
        size: "steps, 32 cells, 8 inputs",
        wrt: &[1, 2, 3, 4],
        formulations: &[
            ("index", include_str!("../ks/rnn_index.ks")),
            ("scan", include_str!("../ks/rnn_scan.ks")),
            ("recursion", include_str!("../ks/rnn_recursion.ks")),
        ],
    },
    Kernel {
        name: "lorenz",
        n: 1_000,
        size: "steps",
        wrt: &[1, 2],
        formulations: &[
            ("tuples", include_str!("../ks/lorenz_tuples.ks")),
            ("vectors", include_str!("../ks/lorenz_vectors.ks")),
            ("index", include_str!("../ks/lorenz_index.ks")),
        ],
    },
    Kernel {
        name: "exponential_smoothing",
        n: 10_000,
        size: "observations",
        wrt: &[1, 2, 3],
        formulations: &[
            ("fold", include_str!("../ks/exponential_smoothing_fold.ks")),
            ("scan", include_str!("../ks/exponential_smoothing_scan.ks")),
            ("recursion", include_str!("../ks/exponential_smoothing_recursion.ks")),
        ],
    },
    Kernel {
        name: "garch",
        n: 5_000,
        size: "returns",
        wrt: &[1, 2, 3],
        formulations: &[
            ("fold", include_str!("../ks/garch_fold.ks")),
            ("scan", include_str!("../ks/garch_scan.ks")),
            ("recursion", include_str!("../ks/garch_recursion.ks")),
        ],
    },
    Kernel {
        name: "ema_crossover",
        n: 3_000,
        size: "days",
        wrt: &[1, 2, 3],
        formulations: &[
            ("fold", include_str!("../ks/ema_crossover_fold.ks")),
            ("scan", include_str!("../ks/ema_crossover_scan.ks")),
            ("pairs", include_str!("../ks/ema_crossover_pairs.ks")),
        ],
    },
    Kernel {
        name: "polynomial_horner",
        n: 30_000,
        size: "points, degree 30",
        wrt: &[1, 2],
        formulations: &[
            ("points", include_str!("../ks/polynomial_horner_points.ks")),
            ("vectors", include_str!("../ks/polynomial_horner_vectors.ks")),
            ("recursion", include_str!("../ks/polynomial_horner_recursion.ks")),
        ],
    },
    Kernel {
        name: "affine_chain",
        n: 20_000,
        size: "maps",
        wrt: &[],
        formulations: &[
            ("fold", include_str!("../ks/affine_chain_fold.ks")),
            ("reduce", include_str!("../ks/affine_chain_reduce.ks")),
            ("halves", include_str!("../ks/affine_chain_halves.ks")),
        ],
    },
    Kernel {
        name: "product_fold",
        n: 100_000,
        size: "numbers",
        wrt: &[],
        formulations: &[
            ("fold", include_str!("../ks/product_fold_fold.ks")),
            ("recursion", include_str!("../ks/product_fold_recursion.ks")),
            ("reduce", include_str!("../ks/product_fold_reduce.ks")),
        ],
    },
    Kernel {
        name: "option_tree",
        n: 400,
        size: "steps",
        wrt: &[1, 2, 3, 4],
        formulations: &[
            ("shrinking", include_str!("../ks/option_tree_shrinking.ks")),
            ("index", include_str!("../ks/option_tree_index.ks")),
            ("recursion", include_str!("../ks/option_tree_recursion.ks")),
        ],
    },
];
