//! Checks the postconditions of passes. Debug builds do it after each run.
//!
//! For every pass: each variable is bound before it is used, and once; the body has the type of the function's result.
//! For each pass: its own postcondition ([`super::passes::PASSES`]).

use lm::effect::Effects;
use lm::notation::infix;
use lm::notation::infix::Format;
use lm::notation::names::Names;
use lm::term::{Def, Expr, FunName, Rule, Var};
use lm::verify;
use std::fmt;

/// A pass on terms.
#[derive(Debug)]
pub struct TermPass {
    /// The name: of the file, in `--time-passes` and in `--dump-stages`.
    pub name: &'static str,
    /// The effect on the definition.
    pub purpose: &'static str,
    /// The property of each of its results, in words.
    pub postcondition: &'static str,
    /// Returns a term that breaks the postcondition, the smallest where that is easy to tell; none if it holds.
    pub violation: fn(&Def, &Facts) -> Option<Expr>,
}

/// The context that postconditions look at, besides the definition.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The functions that print.
    pub effects: &'a Effects,
    /// The directions: parameters on which the value does not depend.
    pub directions: &'a [Var],
    /// Returns whether a function calls itself, for a function without derivations around it.
    pub is_recursive: &'a dyn Fn(&FunName) -> bool,
    /// The rules that come to an end.
    pub rules: &'a [Rule],
    /// Returns whether a term is a call that the program wants to be inlined.
    pub is_inlined: &'a dyn Fn(&Expr) -> bool,
    /// Returns whether the result of a function depends on no number of an argument, counted from 0.
    pub is_independent: &'a dyn Fn(&FunName, usize) -> bool,
}

impl<'a> Facts<'a> {
    /// Returns the facts about a definition without directions, recursive functions, rules, marked calls and
    /// arguments on which calls do not depend.
    pub fn new(effects: &'a Effects) -> Facts<'a> {
        Facts {
            effects,
            directions: &[],
            is_recursive: &|_| false,
            rules: &[],
            is_inlined: &|_| false,
            is_independent: &|_, _| false,
        }
    }
}

/// A postcondition that does not hold: a mistake in the pass.
#[derive(Debug)]
pub struct Broken {
    pass: &'static str,
    why: String,
    term: Option<Expr>,
    def: Def,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WIDTH: usize = 120;
        writeln!(f, "after the pass `{}`: {}", self.pass, self.why)?;
        if let Some(term) = &self.term {
            writeln!(f, "this term breaks it:\n{}", infix::term(term, &Names::of_term(term), Format::Plain, WIDTH))?;
        }
        write!(f, "the definition:\n{}", infix::definition(&self.def, Format::Plain, WIDTH))
    }
}

/// Checks the result of a pass.
pub fn check(pass: &'static TermPass, def: &Def, facts: &Facts) -> Result<(), Broken> {
    let broken = |why, term| Broken { pass: pass.name, why, term, def: def.clone() };
    verify::scoping(def).map_err(|why| broken(why, None))?;
    verify::typing(def).map_err(|why| broken(why, None))?;
    match (pass.violation)(def, facts) {
        None => Ok(()),
        term => Err(broken(format!("its postcondition does not hold: {}", pass.postcondition), term)),
    }
}
