//! Tests that are written by hand, a module for each subject. Those that go over files, demos and rows of tables are in
//! `tests/files`.

mod address_space;
mod bench;
mod bests;
mod cli_files;
mod code_size;
mod compare;
mod cost;
mod counts;
mod derivatives;
mod derivatives_of_arrays;
mod docs;
mod error_format;
mod explain;
mod externals;
mod fmt;
mod gradbench;
mod hosts;
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
mod shell;
mod specialise;
mod threads;
mod watch;
mod wrt;
