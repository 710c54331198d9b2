//! `lm`: types, terms, linear maps, their laws and their meaning. Knows nothing of files or LLVM.

pub mod alpha;
pub mod destination;
pub mod effect;
pub mod eval;
pub mod facts;
pub mod interp;
pub mod law;
pub mod libm;
pub mod lines;
pub mod map;
pub mod notation;
pub mod prim;
pub mod random;
pub mod rewriter;
pub mod rewrites;
pub mod runtime_error;
pub mod scheme;
pub mod scope;
pub mod shape;
pub mod strategy;
pub mod tensor;
pub mod term;
pub mod timing;
pub mod types;
pub mod value;
pub mod verify;
