//! How terms are written: the operator table and the printers.

pub mod operators;
