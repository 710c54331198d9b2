//! Dense linear algebra, networks.

use crate::kernel::Kernel;

/// All of them.
pub const KERNELS: &[Kernel] = &[
    Kernel {
        name: "exp_matvec",
        n: 300,
        size: "rows of 784",
        wrt: &[],
        formulations: &[
            ("index", include_str!("../ks/exp_matvec_index.ks")),
            ("rows", include_str!("../ks/exp_matvec_rows.ks")),
        ],
    },
    Kernel {
        name: "gp_likelihood",
        n: 100,
        size: "points",
        wrt: &[],
        formulations: &[
            ("append", include_str!("../ks/gp_likelihood_append.ks")),
            ("columns", include_str!("../ks/gp_likelihood_columns.ks")),
            ("rows", include_str!("../ks/gp_likelihood_rows.ks")),
            ("schur", include_str!("../ks/gp_likelihood_schur.ks")),
        ],
    },
    Kernel {
        name: "triangular_solve",
        n: 300,
        size: "rows",
        wrt: &[],
        formulations: &[
            ("append", include_str!("../ks/triangular_solve_append.ks")),
            ("axpy", include_str!("../ks/triangular_solve_axpy.ks")),
            ("recursive", include_str!("../ks/triangular_solve_recursive.ks")),
            ("rows", include_str!("../ks/triangular_solve_rows.ks")),
        ],
    },
    Kernel {
        name: "matmul_loss",
        n: 120,
        size: "rows and columns",
        wrt: &[],
        formulations: &[
            ("combinations", include_str!("../ks/matmul_loss_combinations.ks")),
            ("index", include_str!("../ks/matmul_loss_index.ks")),
            ("library", include_str!("../ks/matmul_loss_library.ks")),
            ("rows", include_str!("../ks/matmul_loss_rows.ks")),
            ("sized", include_str!("../ks/matmul_loss_sized.ks")),
        ],
    },
    Kernel {
        name: "batched_matmul",
        n: 2000,
        size: "products of 4 x 4",
        wrt: &[],
        formulations: &[
            ("matrices", include_str!("../ks/batched_matmul_matrices.ks")),
            ("sized", include_str!("../ks/batched_matmul_sized.ks")),
            ("tensors", include_str!("../ks/batched_matmul_tensors.ks")),
        ],
    },
    Kernel {
        name: "matrix_chain",
        n: 16,
        size: "matrices of 24 x 24",
        wrt: &[],
        formulations: &[
            ("fold", include_str!("../ks/matrix_chain_fold.ks")),
            ("recursive", include_str!("../ks/matrix_chain_recursive.ks")),
            ("reduce", include_str!("../ks/matrix_chain_reduce.ks")),
        ],
    },
    Kernel {
        name: "attention",
        n: 128,
        size: "positions of 32",
        wrt: &[],
        formulations: &[
            ("index", include_str!("../ks/attention_index.ks")),
            ("online", include_str!("../ks/attention_online.ks")),
            ("rows", include_str!("../ks/attention_rows.ks")),
        ],
    },
    Kernel {
        name: "causal_attention",
        n: 128,
        size: "positions of 32",
        wrt: &[],
        formulations: &[
            ("fold", include_str!("../ks/causal_attention_fold.ks")),
            ("index", include_str!("../ks/causal_attention_index.ks")),
            ("triangle", include_str!("../ks/causal_attention_triangle.ks")),
        ],
    },
    Kernel {
        name: "two_layer_net",
        n: 1000,
        size: "points",
        wrt: &[1, 2, 3, 4],
        formulations: &[
            ("batch", include_str!("../ks/two_layer_net_batch.ks")),
            ("index", include_str!("../ks/two_layer_net_index.ks")),
            ("layers", include_str!("../ks/two_layer_net_layers.ks")),
        ],
    },
    Kernel {
        name: "digit_net",
        n: 784,
        size: "inputs, layers of 300, 100 and 10",
        wrt: &[1, 2, 3, 4, 5, 6],
        formulations: &[
            ("index", include_str!("../ks/digit_net_index.ks")),
            ("layers", include_str!("../ks/digit_net_layers.ks")),
            ("library", include_str!("../ks/digit_net_library.ks")),
        ],
    },
    Kernel {
        name: "digit_net_batch",
        n: 100,
        size: "samples of 784, layers of 300, 100 and 10",
        wrt: &[1, 2, 3, 4, 5, 6],
        formulations: &[
            ("matrices", include_str!("../ks/digit_net_batch_matrices.ks")),
            ("samples", include_str!("../ks/digit_net_batch_samples.ks")),
        ],
    },
    Kernel {
        name: "logistic_multinomial",
        n: 2000,
        size: "points",
        wrt: &[1, 2],
        formulations: &[
            ("index", include_str!("../ks/logistic_multinomial_index.ks")),
            ("onehot", include_str!("../ks/logistic_multinomial_onehot.ks")),
            ("points", include_str!("../ks/logistic_multinomial_points.ks")),
        ],
    },
    Kernel {
        name: "conv2d_net",
        n: 8,
        size: "images of 28 x 28",
        wrt: &[1, 2],
        formulations: &[
            ("fused", include_str!("../ks/conv2d_net_fused.ks")),
            ("index", include_str!("../ks/conv2d_net_index.ks")),
            ("layers", include_str!("../ks/conv2d_net_layers.ks")),
        ],
    },
    Kernel {
        name: "layer_norm",
        n: 256,
        size: "rows of 64",
        wrt: &[],
        formulations: &[
            ("moments", include_str!("../ks/layer_norm_moments.ks")),
            ("rows", include_str!("../ks/layer_norm_rows.ks")),
            ("welford", include_str!("../ks/layer_norm_welford.ks")),
        ],
    },
    Kernel {
        name: "power_iteration",
        n: 100,
        size: "rows, 20 steps",
        wrt: &[],
        formulations: &[
            ("fold", include_str!("../ks/power_iteration_fold.ks")),
            ("index", include_str!("../ks/power_iteration_index.ks")),
            ("recursive", include_str!("../ks/power_iteration_recursive.ks")),
        ],
    },
    Kernel {
        name: "llsq_ridge",
        n: 500,
        size: "rows of 100",
        wrt: &[3, 4],
        formulations: &[
            ("builtin", include_str!("../ks/llsq_ridge_builtin.ks")),
            ("fold", include_str!("../ks/llsq_ridge_fold.ks")),
            ("index", include_str!("../ks/llsq_ridge_index.ks")),
        ],
    },
    Kernel {
        name: "bilinear_form",
        n: 300,
        size: "rows and columns",
        wrt: &[],
        formulations: &[
            ("index", include_str!("../ks/bilinear_form_index.ks")),
            ("left", include_str!("../ks/bilinear_form_left.ks")),
            ("rows", include_str!("../ks/bilinear_form_rows.ks")),
        ],
    },
    Kernel {
        name: "low_rank_factorisation",
        n: 120,
        size: "rows and columns, rank 8",
        wrt: &[1, 2],
        formulations: &[
            ("index", include_str!("../ks/low_rank_factorisation_index.ks")),
            ("outer", include_str!("../ks/low_rank_factorisation_outer.ks")),
            ("rows", include_str!("../ks/low_rank_factorisation_rows.ks")),
        ],
    },
    Kernel {
        name: "gram_matrix",
        n: 200,
        size: "rows of 40",
        wrt: &[],
        formulations: &[
            ("index", include_str!("../ks/gram_matrix_index.ks")),
            ("outer", include_str!("../ks/gram_matrix_outer.ks")),
            ("triangle", include_str!("../ks/gram_matrix_triangle.ks")),
        ],
    },
    Kernel {
        name: "determinant_lu",
        n: 30,
        size: "rows and columns",
        wrt: &[],
        formulations: &[
            ("fold", include_str!("../ks/determinant_lu_fold.ks")),
            ("shrinking", include_str!("../ks/determinant_lu_shrinking.ks")),
            ("tuple", include_str!("../ks/determinant_lu_tuple.ks")),
        ],
    },
];
