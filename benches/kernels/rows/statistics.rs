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
            ("lam", include_str!("../ks/student_t_regression_lam.ks")),
        ],
    },
    Kernel {
        name: "black_scholes_portfolio",
        n: 10_000,
        size: "options",
        wrt: &[1, 2, 3, 4, 5, 7],
        formulations: &[
            ("index", include_str!("../ks/black_scholes_portfolio_index.ks")),
            ("parity", include_str!("../ks/black_scholes_portfolio_parity.ks")),
            ("sign", include_str!("../ks/black_scholes_portfolio_sign.ks")),
        ],
    },
    Kernel {
        name: "heston_like_paths",
        n: 1000,
        size: "paths of 50 steps",
        wrt: &[1],
        formulations: &[
            ("batch", include_str!("../ks/heston_like_paths_batch.ks")),
            ("fold", include_str!("../ks/heston_like_paths_fold.ks")),
            ("recursive", include_str!("../ks/heston_like_paths_recursive.ks")),
        ],
    },
    Kernel {
        name: "softmax_cross_entropy",
        n: 2000,
        size: "rows of 10",
        wrt: &[1],
        formulations: &[
            ("index", include_str!("../ks/softmax_cross_entropy_index.ks")),
            ("shifted", include_str!("../ks/softmax_cross_entropy_shifted.ks")),
            ("softmax", include_str!("../ks/softmax_cross_entropy_softmax.ks")),
        ],
    },
    Kernel {
        name: "logsumexp_rows",
        n: 1000,
        size: "rows of 50",
        wrt: &[],
        formulations: &[
            ("index", include_str!("../ks/logsumexp_rows_index.ks")),
            ("map", include_str!("../ks/logsumexp_rows_map.ks")),
            ("reduce", include_str!("../ks/logsumexp_rows_reduce.ks")),
        ],
    },
    Kernel {
        name: "kmeans_cost",
        n: 2000,
        size: "points, d 8, k 16",
        wrt: &[2],
        formulations: &[
            ("index", include_str!("../ks/kmeans_cost_index.ks")),
            ("max", include_str!("../ks/kmeans_cost_max.ks")),
            ("nearest", include_str!("../ks/kmeans_cost_nearest.ks")),
            ("reduce", include_str!("../ks/kmeans_cost_reduce.ks")),
        ],
    },
    Kernel {
        name: "cox_partial_likelihood",
        n: 2000,
        size: "subjects of 10",
        wrt: &[1],
        formulations: &[
            ("fold", include_str!("../ks/cox_partial_likelihood_fold.ks")),
            ("prefixes", include_str!("../ks/cox_partial_likelihood_prefixes.ks")),
            ("scan", include_str!("../ks/cox_partial_likelihood_scan.ks")),
            ("states", include_str!("../ks/cox_partial_likelihood_states.ks")),
        ],
    },
    Kernel {
        name: "quantile_loss",
        n: 2000,
        size: "points of 20",
        wrt: &[1],
        formulations: &[
            ("abs", include_str!("../ks/quantile_loss_abs.ks")),
            ("if", include_str!("../ks/quantile_loss_if.ks")),
            ("max", include_str!("../ks/quantile_loss_max.ks")),
        ],
    },
    Kernel {
        name: "huber_regression",
        n: 2000,
        size: "points of 20",
        wrt: &[1],
        formulations: &[
            ("clipped", include_str!("../ks/huber_regression_clipped.ks")),
            ("if", include_str!("../ks/huber_regression_if.ks")),
            ("min", include_str!("../ks/huber_regression_min.ks")),
        ],
    },
    Kernel {
        name: "rosenbrock",
        n: 10_000,
        size: "numbers",
        wrt: &[],
        formulations: &[
            ("fold", include_str!("../ks/rosenbrock_fold.ks")),
            ("index", include_str!("../ks/rosenbrock_index.ks")),
            ("shift", include_str!("../ks/rosenbrock_shift.ks")),
            ("windows", include_str!("../ks/rosenbrock_windows.ks")),
        ],
    },
    Kernel {
        name: "beta_binomial",
        n: 10_000,
        size: "groups",
        wrt: &[1, 2],
        formulations: &[
            ("index", include_str!("../ks/beta_binomial_index.ks")),
            ("products", include_str!("../ks/beta_binomial_products.ks")),
            ("tables", include_str!("../ks/beta_binomial_tables.ks")),
        ],
    },
    Kernel {
        name: "matern_kernel",
        n: 150,
        size: "points, d 3",
        wrt: &[],
        formulations: &[
            ("index", include_str!("../ks/matern_kernel_index.ks")),
            ("pairs", include_str!("../ks/matern_kernel_pairs.ks")),
            ("scaled", include_str!("../ks/matern_kernel_scaled.ks")),
        ],
    },
    Kernel {
        name: "elo_ratings",
        n: 10_000,
        size: "matches",
        wrt: &[1, 2],
        formulations: &[
            ("arrays", include_str!("../ks/elo_ratings_arrays.ks")),
            ("fold", include_str!("../ks/elo_ratings_fold.ks")),
            ("pairs", include_str!("../ks/elo_ratings_pairs.ks")),
            ("unzip", include_str!("../ks/elo_ratings_unzip.ks")),
        ],
    },
    Kernel {
        name: "score_matching",
        n: 1000,
        size: "points, d 8, hidden 32",
        wrt: &[1, 2],
        formulations: &[
            ("hand", include_str!("../ks/score_matching_hand.ks")),
            ("hessian", include_str!("../ks/score_matching_hessian.ks")),
            ("hvp", include_str!("../ks/score_matching_hvp.ks")),
        ],
    },
    Kernel {
        name: "elo_updates",
        n: 2000,
        size: "matches of 100 players",
        wrt: &[1, 2],
        formulations: &[
            ("build", include_str!("../ks/elo_updates_build.ks")),
            ("deltas", include_str!("../ks/elo_updates_deltas.ks")),
            ("recursive", include_str!("../ks/elo_updates_recursive.ks")),
        ],
    },
];
