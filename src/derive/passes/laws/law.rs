//! Defines a law of a pass.

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
