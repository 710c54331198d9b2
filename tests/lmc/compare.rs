//! Tests the contenders of `cargo bench --bench compare`: the programs in C++ give the same results as lmc, and
//! inputs are written as NumPy reads them.

#[path = "../../benches/measure/arguments.rs"]
#[allow(dead_code)] // each user uses a part
mod arguments;
#[path = "../../benches/compare/contenders.rs"]
mod contenders;
#[path = "../../benches/compare/programs.rs"]
#[allow(dead_code)]
mod programs;

use crate::harness::contender::{Kind, Selection};
use crate::harness::inputs::Array;
use crate::harness::program::{Program, Task};
use crate::harness::rounds::{Contest, Effort};
use crate::harness::run;
use contenders::CONTENDERS;
use lm::tensor::Tensor;
use lm::value::Value;
use programs::PROGRAMS;
use std::sync::Arc;

/// The programs that even a debug build compiles quickly.
const PROGRAMS_OF_TEST: [&str; 11] =
    ["lse", "llsq", "kmeans", "dot", "max", "vsum", "vadd", "vscale", "gather", "nnmf", "matmul"];

/// The tasks of a program that agree with lmc, written by hand.
fn agreeing(program: &Program) -> Vec<Task> {
    let selection = Selection { threads: 1, names: vec!["C++".to_string()] };
    let mut failures = Vec::new();
    let cells = Contest::start(CONTENDERS, selection, Effort::CHECK).measure(program, &mut failures);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let by_hand = |contender: usize| matches!(CONTENDERS[contender].kind, Kind::ByHand("", _));
    let mut tasks: Vec<Task> = cells.iter().filter(|cell| by_hand(cell.contender)).map(|cell| cell.task).collect();
    tasks.dedup();
    tasks
}

#[test]
fn programs_by_hand_agree_with_lmc() {
    lmc::with_large_stack(|| {
        for name in PROGRAMS_OF_TEST {
            let program = PROGRAMS.iter().find(|program| program.name == name).expect("it is a program");
            let expected: Vec<Task> = program.tasks.iter().copied().filter(|task| *task != Task::Both).collect();
            assert!(agreeing(program) == expected, "{name} has all tasks by hand");
        }
    });
}

#[test]
fn keys_are_distinct_names_of_files() {
    let mut keys: Vec<String> = PROGRAMS.iter().map(Program::key).collect();
    let portable = |c: char| c.is_ascii_alphanumeric() || c == '-';
    assert!(keys.iter().all(|key| key.chars().all(portable)), "{keys:?}");
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), PROGRAMS.len());
}

/// NumPy's format 1.0: a header of a multiple of 64 bytes, which ends with a new line, then the numbers.
#[test]
fn inputs_are_files_of_numpy() {
    let pair = |(a, b): (i64, i64)| Value::Tuple(vec![Value::Integer(a), Value::Integer(b)]);
    let pairs = Tensor::vector([(0, 5), (7, 1), (2, 2)].map(pair).to_vec());
    let path = run::folder().join("test.npy");
    Array::of(&Value::Tensor(Arc::new(pairs))).save(&path).expect("it can be written");
    let file = std::fs::read(&path).expect("it can be read");
    let (header, numbers) = file.split_at(128);
    let text = "{'descr': '<i8', 'fortran_order': False, 'shape': (3,2,)}";
    assert_eq!(header, [b"\x93NUMPY\x01\x00\x76\x00", format!("{text:<117}\n").as_bytes()].concat());
    let numbers: Vec<i64> =
        numbers.chunks_exact(8).map(|bytes| i64::from_le_bytes(bytes.try_into().expect("eight"))).collect();
    assert_eq!(numbers, [0, 5, 7, 1, 2, 2]);
}
