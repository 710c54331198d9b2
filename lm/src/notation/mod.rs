//! The notation of terms: the operator table and the printers.

pub mod change;
pub mod infix;
pub mod ks;
pub mod names;
pub mod operators;
