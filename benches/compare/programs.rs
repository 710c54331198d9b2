//! The programs that are compared: a row each.

use super::arguments;
use crate::harness::program::{BLANK, Program, Task};

const SCALAR: &[Task] = &[Task::Value, Task::Gradient, Task::Both];
const VECTOR: &[Task] = &[Task::Value, Task::Gradient];

const GMM: Program = Program {
    name: "gmm",
    by_hand: "compare/cc/gmm",
    texts: &[include_str!("../../demos/gmm.ks")],
    fun: "gmm",
    wrt: &[1, 2, 3],
    tasks: SCALAR,
    ..BLANK
};

const MICRO: Program = Program {
    size: "100,000",
    by_hand: "compare/cc/micro",
    texts: &[include_str!("ks/micro.ks")],
    tasks: VECTOR,
    ..BLANK
};

/// All of them.
pub const PROGRAMS: &[Program] = &[
    Program { size: "n 1,000, d 10, k 25", arguments: arguments::GMM.text, ..GMM },
    Program { size: "n 1,000, d 20, k 50", arguments: "(model 1000 50 20)", ..GMM },
    Program { size: "n 10,000, d 10, k 25", arguments: "(model 10000 25 10)", ..GMM },
    Program {
        name: "ba",
        size: arguments::BA.size,
        by_hand: "compare/cc/ba",
        texts: &[include_str!("../../demos/ba.ks"), include_str!("ks/ba.ks")],
        fun: "ba",
        arguments: arguments::BA.text,
        tasks: &[Task::Value, Task::Other("ba_jacobian", "jacobian")],
        ..BLANK
    },
    Program {
        name: "lstm",
        size: arguments::LSTM.size,
        by_hand: "compare/cc/lstm",
        texts: &[include_str!("../../demos/lstm.ks")],
        fun: "lstm",
        wrt: &[1, 2],
        arguments: arguments::LSTM.text,
        tasks: SCALAR,
        ..BLANK
    },
    Program {
        name: "kmeans",
        size: arguments::KMEANS.size,
        by_hand: "compare/cc/kmeans",
        texts: &[include_str!("../../demos/kmeans.ks"), include_str!("ks/kmeans.ks")],
        fun: "kmeans",
        wrt: &[2],
        arguments: arguments::KMEANS.text,
        tasks: &[Task::Value, Task::Gradient, Task::Both, Task::Other("kmeans_hessian", "hessian")],
        ..BLANK
    },
    Program {
        name: "lse",
        size: "100,000",
        by_hand: "compare/cc/lse",
        texts: &[include_str!("../../demos/lse.ks")],
        fun: "lse",
        arguments: arguments::LSE.text,
        tasks: SCALAR,
        ..BLANK
    },
    Program {
        name: "llsq",
        size: "1,000 x 100",
        by_hand: "compare/cc/llsq",
        texts: &[include_str!("ks/llsq.ks")],
        fun: "llsq",
        wrt: &[3],
        arguments: "(system 1000 100)",
        tasks: SCALAR,
        ..BLANK
    },
    Program {
        name: "ode",
        size: arguments::ODE.size,
        by_hand: "compare/cc/ode",
        texts: &[include_str!("../../demos/ode.ks")],
        fun: "ode",
        wrt: &[1, 2, 3],
        arguments: arguments::ODE.text,
        tasks: VECTOR,
        ..BLANK
    },
    Program {
        name: "cnn",
        size: arguments::CNN.size,
        by_hand: "compare/cc/cnn",
        texts: &[include_str!("../../demos/cnn.ks")],
        fun: "cnn",
        wrt: &[1, 2, 3, 4, 5, 6],
        arguments: arguments::CNN.text,
        tasks: SCALAR,
        ..BLANK
    },
    Program { name: "dot", fun: "dot", arguments: "(tuple (random 0 100000) (random 100000 100000))", ..MICRO },
    Program { name: "max", fun: "largest", arguments: "(random 0 100000)", ..MICRO },
    Program { name: "vsum", fun: "vsum", arguments: "(random 0 100000)", ..MICRO },
    Program { name: "vadd", fun: "vadd", arguments: "(tuple (random 0 100000) (random 100000 100000))", ..MICRO },
    Program { name: "vscale", fun: "vscale", arguments: "(tuple 0.75 (random 0 100000))", ..MICRO },
    Program {
        name: "gather",
        size: "100,000 of 10,000",
        fun: "gather",
        arguments: "(tuple (random 0 10000) (build 100000 (lam (i : Integer)
                      (to_integer (mul 10000.0 ($ranhashdoub (add 10000 i)))))))",
        ..MICRO
    },
    Program {
        name: "nnmf",
        size: "200 x 20 times 20 x 150",
        fun: "nnmf",
        wrt: &[1, 2],
        arguments: "(tuple (random 0 200 20) (random 4000 20 150) (random 7000 200 150))",
        ..MICRO
    },
    Program {
        name: "matmul",
        size: "200 x 200",
        fun: "matmul",
        arguments: "(tuple (random 0 200 200) (random 40000 200 200))",
        ..MICRO
    },
];

/// Returns whether a program is one of the small ones.
pub fn is_micro(program: &Program) -> bool {
    program.by_hand == MICRO.by_hand
}
