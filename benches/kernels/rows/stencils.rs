//! Stencils, PDEs, images.

use crate::kernel::Kernel;

/// All of them.
pub const KERNELS: &[Kernel] = &[
    Kernel {
        name: "heat_line",
        n: 1_000,
        size: "cells, 200 steps",
        wrt: &[1, 2],
        formulations: &[
            ("index", include_str!("../ks/heat_line_index.ks")),
            ("shift", include_str!("../ks/heat_line_shift.ks")),
            ("recursion", include_str!("../ks/heat_line_recursion.ks")),
        ],
    },
    Kernel {
        name: "heat_square",
        n: 64,
        size: "rows of as many cells, 50 steps",
        wrt: &[1, 2],
        formulations: &[
            ("index", include_str!("../ks/heat_square_index.ks")),
            ("rows", include_str!("../ks/heat_square_rows.ks")),
            ("typed", include_str!("../ks/heat_square_typed.ks")),
        ],
    },
    Kernel {
        name: "wave_line",
        n: 1_000,
        size: "cells, 200 steps",
        wrt: &[1, 2, 3],
        formulations: &[
            ("index", include_str!("../ks/wave_line_index.ks")),
            ("rotate", include_str!("../ks/wave_line_rotate.ks")),
            ("velocity", include_str!("../ks/wave_line_velocity.ks")),
        ],
    },
    Kernel {
        name: "laplace_cube",
        n: 40,
        size: "cells in each direction",
        wrt: &[],
        formulations: &[
            ("index", include_str!("../ks/laplace_cube_index.ks")),
            ("nested", include_str!("../ks/laplace_cube_nested.ks")),
            ("axes", include_str!("../ks/laplace_cube_axes.ks")),
        ],
    },
    Kernel {
        name: "advection_upwind",
        n: 1_000,
        size: "cells, 200 steps",
        wrt: &[1, 2],
        formulations: &[
            ("index", include_str!("../ks/advection_upwind_index.ks")),
            ("parts", include_str!("../ks/advection_upwind_parts.ks")),
        ],
    },
    Kernel {
        name: "blur_image",
        n: 128,
        size: "rows of as many pixels, 5 x 5 weights",
        wrt: &[1, 2],
        formulations: &[
            ("index", include_str!("../ks/blur_image_index.ks")),
            ("rows", include_str!("../ks/blur_image_rows.ks")),
            ("shifts", include_str!("../ks/blur_image_shifts.ks")),
        ],
    },
    Kernel {
        name: "total_variation",
        n: 200,
        size: "rows of as many pixels",
        wrt: &[1],
        formulations: &[
            ("index", include_str!("../ks/total_variation_index.ks")),
            ("rows", include_str!("../ks/total_variation_rows.ks")),
            ("tensors", include_str!("../ks/total_variation_tensors.ks")),
        ],
    },
    Kernel {
        name: "burgers",
        n: 1_000,
        size: "cells, 200 steps",
        wrt: &[1, 2],
        formulations: &[
            ("index", include_str!("../ks/burgers_index.ks")),
            ("vectors", include_str!("../ks/burgers_vectors.ks")),
            ("recursion", include_str!("../ks/burgers_recursion.ks")),
        ],
    },
];
