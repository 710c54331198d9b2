//! Native code: from loops to objects, libraries and callable memory.
//!
//! ```text
//! lm::term --lower--> loops --passes--> loops --emit--> LLVM --> so, a, obj, asm, llvm-ir, JIT
//! ```
//!
//! The only user of inkwell.

pub mod abi;
mod archive;
mod elf;
mod emit;
mod error;
mod generate;
mod header;
mod jit;
mod libmvec;
mod link;
mod llvm;
mod module;
mod object;
mod options;
mod parts;
mod peaks;
mod pipeline;
mod room;
mod source;
mod target;
mod words;

pub use error::Error;
pub use jit::{Jit, Prepared};
pub use module::{Entry, Module, compile};
pub use object::{Kind, write_file};
pub use options::{Lanes, Math, Options};
pub use peaks::{Peaks, peaks};
pub use room::address_space;
pub use source::SourceInfo;
