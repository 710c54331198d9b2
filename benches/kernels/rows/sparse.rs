//! Gathers, scatters, sparse and jagged arrays, bodies, geometry.

use crate::kernel::Kernel;

/// All of them.
pub const KERNELS: &[Kernel] = &[
    Kernel {
        name: "csr_matvec",
        n: 2_000,
        size: "rows, 20 elements each",
        wrt: &[1, 4],
        formulations: &[
            ("index", include_str!("../ks/csr_matvec_index.ks")),
            ("gather", include_str!("../ks/csr_matvec_gather.ks")),
            ("recursion", include_str!("../ks/csr_matvec_recursion.ks")),
        ],
    },
    Kernel {
        name: "segment_sum",
        n: 1_000,
        size: "segments of about 20",
        wrt: &[1, 2],
        formulations: &[
            ("slices", include_str!("../ks/segment_sum_slices.ks")),
            ("scatter", include_str!("../ks/segment_sum_scatter.ks")),
            ("jagged", include_str!("../ks/segment_sum_jagged.ks")),
        ],
    },
    Kernel {
        name: "nbody_pairs",
        n: 300,
        size: "bodies",
        wrt: &[],
        formulations: &[
            ("triangle", include_str!("../ks/nbody_pairs_triangle.ks")),
            ("bodies", include_str!("../ks/nbody_pairs_bodies.ks")),
            ("halved", include_str!("../ks/nbody_pairs_halved.ks")),
        ],
    },
    Kernel {
        name: "nbody_all",
        n: 200,
        size: "bodies",
        wrt: &[],
        formulations: &[
            ("index", include_str!("../ks/nbody_all_index.ks")),
            ("vectors", include_str!("../ks/nbody_all_vectors.ks")),
            ("columns", include_str!("../ks/nbody_all_columns.ks")),
        ],
    },
    Kernel {
        name: "spring_network",
        n: 10_000,
        size: "springs, a fifth as many points",
        wrt: &[1, 2, 3],
        formulations: &[
            ("index", include_str!("../ks/spring_network_index.ks")),
            ("points", include_str!("../ks/spring_network_points.ks")),
            ("tuples", include_str!("../ks/spring_network_tuples.ks")),
        ],
    },
    Kernel {
        name: "embedding_loss",
        n: 2_000,
        size: "pairs, two tables of 1,000 x 32",
        wrt: &[1, 2],
        formulations: &[
            ("index", include_str!("../ks/embedding_loss_index.ks")),
            ("rows", include_str!("../ks/embedding_loss_rows.ks")),
        ],
    },
    Kernel {
        name: "histogram_soft",
        n: 20_000,
        size: "numbers, 64 bins",
        wrt: &[1],
        formulations: &[
            ("scatter", include_str!("../ks/histogram_soft_scatter.ks")),
            ("deltas", include_str!("../ks/histogram_soft_deltas.ks")),
            ("alternating", include_str!("../ks/histogram_soft_alternating.ks")),
        ],
    },
    Kernel {
        name: "spline_interp",
        n: 10_000,
        size: "places, a table of 1,000",
        wrt: &[1, 2],
        formulations: &[
            ("index", include_str!("../ks/spline_interp_index.ks")),
            ("weights", include_str!("../ks/spline_interp_weights.ks")),
            ("hermite", include_str!("../ks/spline_interp_hermite.ks")),
        ],
    },
    Kernel {
        name: "robot_arm",
        n: 500,
        size: "arms of 8 joints",
        wrt: &[1, 2],
        formulations: &[
            ("angles", include_str!("../ks/robot_arm_angles.ks")),
            ("rotations", include_str!("../ks/robot_arm_rotations.ks")),
            ("scan", include_str!("../ks/robot_arm_scan.ks")),
        ],
    },
    Kernel {
        name: "jagged_mean",
        n: 4_000,
        size: "vectors of about 20",
        wrt: &[1, 2],
        formulations: &[
            ("rows", include_str!("../ks/jagged_mean_rows.ks")),
            ("index", include_str!("../ks/jagged_mean_index.ks")),
            ("prefix", include_str!("../ks/jagged_mean_prefix.ks")),
        ],
    },
];
