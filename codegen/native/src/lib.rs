//! Makes native code: from loops to objects, libraries and callable memory.
//!
//! ```text
//! lm::term --lower--> loops --passes--> loops --emit--> LLVM --> so, a, obj, asm, llvm-ir, JIT
//! ```
//!
//! The only user of inkwell.

pub mod abi;
mod address_space;
mod archive;
mod elf;
mod emit;
mod error;
mod header;
mod interrupt;
mod jit;
mod libmvec;
mod link;
mod llvm;
mod llvm_codegen;
mod llvm_passes;
mod marshal;
mod module;
mod options;
mod outputs;
mod partition;
mod roofline;
mod source;
mod target;

pub use address_space::address_space;
pub use error::Error;
pub use jit::{Jit, LoopRuns, Prepared};
pub use module::{Entry, Module, compile};
pub use options::{Lanes, Math, Options};
pub use outputs::{Kind, write_file};
pub use roofline::{Peaks, peaks};
pub use source::SourceInfo;
