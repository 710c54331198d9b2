//! The laws, the primitives and the families of maps, and strategies of rewriting.

mod families;
mod laws;
mod primitives;
mod strategies;
