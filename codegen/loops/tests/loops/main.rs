//! Loops from the names that C sees to the passes, and the interpreter of loops.

mod analyses;
mod interp;
mod ir;
mod labels;
mod passes;
mod symbol;
