//! Tests that are written by hand, a module for each subject. Those that go over files, demos and rows of tables are in
//! `tests/files`.
//!
//! `benchmark`, `cli`, `derive`, `gradbench` and `ks` have the unit tests of the library, below the names of its files.

mod address_space;
mod bench;
mod benchmark;
mod bests;
mod bulk;
mod checkpoints;
mod cli;
mod cli_files;
mod code_size;
mod compare;
mod cost;
mod counts;
mod delta;
mod derive;
mod directory;
mod docs;
mod dual_bench;
mod error_format;
mod explain;
mod externals;
mod fmt;
mod gradbench;
mod gradcheck;
#[path = "../../benches/compare/harness/mod.rs"]
#[allow(dead_code)] // benches use more of it
mod harness;
mod hosts;
mod ks;
mod ks_round_trip;
mod layers;
mod licences;
mod native_arrays;
mod native_records;
mod operators;
mod pass_laws;
mod prelude;
mod recipes;
mod recursion;
mod robust;
mod selections;
mod several_files;
mod shared_terms;
mod shell;
mod sizes;
mod specialise;
mod stablehlo;
mod threads;
mod updates_in_place;
mod watch;
mod wrt;
