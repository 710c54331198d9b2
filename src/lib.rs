//! `lmc`: a compiler for the derivatives of KS programs.
//!
//! From a file to a typed program:
//!
//! ```no_run
//! use lmc::ks::{front, render::{Format, render_all}, source::Source};
//!
//! lmc::with_large_stack(|| {
//!     let source = match Source::read("program.ks") {
//!         Ok(source) => source,
//!         Err(bad) => return eprint!("{}", render_all(&bad.source, &[bad.diagnostic], Format::Human, false)),
//!     };
//!     match front::load(&source) {
//!         Ok(checked) => println!("{} definitions", checked.program.defs.len()),
//!         Err(errors) => eprint!("{}", render_all(&source, &errors, Format::Human, false)),
//!     }
//! });
//! ```

pub mod benchmark;
pub mod cli;
pub mod cost;
pub mod demos;
pub mod derive;
pub mod gradbench;
pub mod gradcheck;
pub mod ks;
mod stack;
pub mod trace;

pub use stack::{LARGE_STACK, compared_stack_size, native_stack_size, stack_size, with_large_stack};
