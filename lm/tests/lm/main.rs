//! Terms, their types and how they are written; the laws, the primitives and the families of maps; strategies of
//! rewriting.

mod alpha;
mod array_primitives;
mod facts;
mod families;
mod laws;
mod lines;
mod native_instances;
mod notation;
mod primitives;
mod scheme;
mod sizes;
mod strategies;
mod strategy_files;
mod tensor;
mod term;
mod timing;
