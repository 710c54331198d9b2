//! Loops: the intermediate language between terms and LLVM, with all that needs no LLVM.
//!
//! ```text
//! lm::term --lower--> ir --passes--> ir --(crate native)--> LLVM
//! ```
//!
//! Modules use only those above them in this table:
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`ir`] | the language: statements, types, operations, printer, reader, checks of form |
//! | [`analyses`] | facts about functions: aliases, effects, ranges, independence, .. |
//! | [`layout`], [`labels`], [`interface`], [`symbol`] | how values lie in memory, what C calls, and by which names |
//! | [`lower`] | from terms to loops |
//! | [`specialise`] | arguments that are known when compiling |
//! | [`passes`] | from loops to faster loops |

pub mod analyses;
mod constant;
mod error;
pub mod interface;
pub mod interp;
pub mod ir;
pub mod labels;
pub mod layout;
pub mod lower;
pub mod passes;
pub mod specialise;
pub mod symbol;

pub use error::Error;
pub use ir::Forward;
pub use passes::parallelize::GRAIN;
pub use passes::{Checks, LOWERING, PASSES, Pass, Selection};
pub use specialise::Known;
pub use symbol::Symbol;
