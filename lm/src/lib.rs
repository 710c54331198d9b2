//! `lm`: types, terms, linear maps, their laws and their meaning. Knows nothing of files or LLVM.

pub mod prim;
pub mod scheme;
pub mod term;
pub mod types;
