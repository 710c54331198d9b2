//! Native code: from terms without linear maps to objects, libraries and callable memory.
//!
//!   lm::term --lower--> loops --passes--> loops --emit--> LLVM --> so, a, obj, asm, llvm-ir, JIT
//!
//! The only user of inkwell.

pub mod abi;
mod archive;
mod elf;
mod emit;
mod error;
mod generate;
mod header;
pub mod independence;
mod interface;
mod jam;
mod jit;
mod layout;
mod libmvec;
mod link;
mod llvm;
pub mod loops;
mod lower;
mod module;
mod object;
mod parts;
mod passes;
mod peaks;
mod pipeline;
mod ranges;
pub mod refusal;
mod room;
mod slices;
mod source;
mod specialise;
pub mod spread;
mod symbol;
mod words;

pub use error::Error;
pub use jit::{Jit, Prepared};
pub use loops::Forward;
pub use module::{Entry, Lanes, Math, Module, Options, compile};
pub use object::{Kind, write_file};
pub use passes::{Checks, LOWER, PASSES, Pass, Selection};
pub use peaks::{Peaks, peaks};
pub use room::address_space;
pub use source::SourceInfo;
pub use specialise::Known;
pub use symbol::Symbol;
