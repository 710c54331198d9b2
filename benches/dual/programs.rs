//! The programs: a row each, for several sizes.

use crate::harness::program::{BLANK, Program, Task};

/// A program at several sizes.
pub struct Series {
    /// The program, at no size.
    pub program: Program,
    /// Its sizes.
    pub sizes: &'static [usize],
    /// What the derivative is of.
    pub shape: Shape,
}

/// The shape of a derivative.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A gradient: one number for each of n directions. The function takes time in proportion to this power of n.
    Gradient(i32),
    /// A Jacobian with as many columns as rows, or with as few as there are for any n.
    Jacobian,
    /// A Jacobian of one column: one direction.
    Column,
}

impl Series {
    /// Returns the program at a size.
    pub fn at(&self, n: usize) -> Program {
        Program { n, ..self.program }
    }
}

/// The name of the contender that computes zeros, which takes n times as long.
const NAIVE: &str = "naive";

const MICRO: Program = Program {
    by_hand: "dual/cc/dual",
    texts: &[include_str!("../compare/ks/micro.ks"), include_str!("ks/micro.ks")],
    limits: &[(NAIVE, 10_000)],
    ..BLANK
};
const SIZES: &[usize] = &[1_000, 10_000, 100_000, 1_000_000, 10_000_000];

const NNMF: Program = Program {
    by_hand: "dual/cc/dual",
    fun: "nnmf",
    arguments: "(factors n)",
    tasks: &[Task::Other("nnmf_by_v", "gradient")],
    limits: &[(NAIVE, 1_000)],
    ..BLANK
};
const MATRIX_SIZES: &[usize] = &[100, 200, 500, 1_000, 2_000, 4_000];

const PROJECT: Program = Program { size: "points", by_hand: "dual/cc/project", arguments: "(view n)", ..BLANK };
const POINTS: &[usize] = &[1_000, 10_000, 100_000, 1_000_000];

/// The loss of a factorisation, by sums: the one of which groups of laws are left out, too.
pub const FACTORISATION: Series = Series {
    program: Program {
        name: "nnmf_by_v",
        texts: &[include_str!("ks/nnmf.ks"), include_str!("ks/nnmf_by_v.ks")],
        ..NNMF
    },
    sizes: MATRIX_SIZES,
    shape: Shape::Gradient(2),
};

/// Least squares: the residual depends on no direction, and is an array.
pub const LEAST_SQUARES: Series = Series {
    program: Program {
        name: "llsq",
        by_hand: "compare/cc/llsq",
        texts: &[include_str!("../compare/ks/llsq.ks"), include_str!("ks/llsq.ks")],
        fun: "llsq",
        arguments: "(system n n)",
        tasks: &[Task::Other("llsq_by_x", "gradient")],
        limits: &[(NAIVE, 1_000)],
        ..BLANK
    },
    sizes: MATRIX_SIZES,
    shape: Shape::Gradient(2),
};

/// Figs. 11 to 13 of the paper of dual numbers, and Fig. 3 of that of strategies.
pub const SERIES: &[Series] = &[
    Series {
        program: Program {
            name: "dot_by_v",
            fun: "dot",
            arguments: "(tuple (random 0 n) (random n n))",
            tasks: &[Task::Other("dot_by_v", "gradient")],
            ..MICRO
        },
        sizes: SIZES,
        shape: Shape::Gradient(1),
    },
    Series {
        program: Program {
            name: "largest_by_v",
            fun: "largest",
            arguments: "(random 0 n)",
            tasks: &[Task::Other("largest_by_v", "gradient")],
            ..MICRO
        },
        sizes: SIZES,
        shape: Shape::Gradient(1),
    },
    Series {
        program: Program {
            name: "vadd_by_v",
            fun: "vadd",
            arguments: "(tuple (random 0 n) (random n n))",
            tasks: &[Task::Other("vadd_by_v", "jacobian")],
            ..MICRO
        },
        sizes: &[500, 1_000, 2_000, 4_000],
        shape: Shape::Jacobian,
    },
    Series {
        program: Program {
            name: "vscale_by_k",
            fun: "vscale",
            arguments: "(tuple 0.75 (random 0 n))",
            tasks: &[Task::Other("vscale_by_k", "jacobian")],
            limits: &[],
            ..MICRO
        },
        sizes: SIZES,
        shape: Shape::Column,
    },
    Series {
        program: Program {
            name: "vsum_by_v",
            fun: "vsum",
            arguments: "(constVec n 0.5)",
            tasks: &[Task::Other("vsum_by_v", "gradient")],
            limits: &[(NAIVE, 50_000)],
            ..MICRO
        },
        sizes: &[2_500, 5_000, 10_000, 25_000, 50_000],
        shape: Shape::Gradient(1),
    },
    FACTORISATION,
    Series {
        program: Program {
            name: "nnmf_of_arrays",
            texts: &[include_str!("ks/nnmf_arrays.ks"), include_str!("ks/nnmf_by_v.ks")],
            ..NNMF
        },
        sizes: &[100, 200, 500],
        shape: Shape::Gradient(2),
    },
    LEAST_SQUARES,
    Series {
        program: Program {
            name: "project",
            texts: &[include_str!("ks/rotation.ks"), include_str!("ks/project.ks")],
            fun: "project_by_camera",
            tasks: &[Task::Other("project_by_camera", "jacobian")],
            ..PROJECT
        },
        sizes: POINTS,
        shape: Shape::Jacobian,
    },
    Series {
        program: Program {
            name: "project_of_parts",
            texts: &[include_str!("ks/rotation.ks"), include_str!("ks/project_of_parts.ks")],
            fun: "project_by_parts",
            tasks: &[Task::Other("project_by_parts", "jacobian")],
            ..PROJECT
        },
        sizes: POINTS,
        shape: Shape::Jacobian,
    },
];
