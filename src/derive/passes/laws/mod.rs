//! Lists the laws that passes apply: laws with binders, which no pattern of `lm`'s table can express.
//!
//! One row has the law, and an instance of it as a program before and after. `lmc laws` lists them with the others.
//! The test `tests/lmc/pass_laws.rs` runs the pass on each instance, compares the result with the row, and both values
//! with each other.

mod maps;
mod names;
mod programs;
mod run;
mod sharing;

use lm::term::{Def, Supply};

/// A law of a pass.
#[derive(Debug)]
pub struct PassLaw {
    /// The name.
    pub name: &'static str,
    /// The source.
    pub source: &'static str,
    /// The law.
    pub text: &'static str,
    /// The name of the pass that applies it.
    pub pass: &'static str,
    /// Runs that pass on the instance.
    pub run: fn(&Def, &mut Supply) -> Def,
    /// An instance of the left side: a definition in KS-Lisp.
    pub before: &'static str,
    /// The result of the pass.
    pub after: &'static str,
}

/// Returns the laws of all passes.
pub fn all() -> impl Iterator<Item = &'static PassLaw> {
    [names::LAWS, maps::LAWS, sharing::LAWS, programs::LAWS].into_iter().flatten()
}
