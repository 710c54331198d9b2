//! Primitives on arrays in terms of others, by the text `expansions.ks`.
//!
//! ```text
//! (map2 f v w)  =  (build ($common_size v w) (lam (k : i) (f (tuple (index k v) (index k w)))))
//! ```
//!
//! A term becomes what the checker would make of the body in its place. The pass `expand_arrays` does so throughout a
//! definition.

use crate::derive::passes::expand_arrays::{expand_arrays, expanded, has_arrays};
use crate::ks::check::checked::{CheckOptions, Checked};
use crate::ks::check::checker::Checker;
use crate::ks::check::terms::types;
use crate::ks::check::written::EXPANSIONS;
use lm::rewrites::Rewrites;
use lm::scheme::Rule;
use lm::term::{Def, Expr, Span, Supply};

/// Returns the body of a definition of `expansions.ks` in place of a call.
///
/// Panics when there is no such definition, or it does not take these arguments.
pub fn expansion(name: &str, args: Vec<Expr>, span: Span, supply: &mut Supply) -> Expr {
    let mut checker = Checker::new(CheckOptions::default());
    std::mem::swap(&mut checker.supply, supply);
    let definition = EXPANSIONS.iter().find(|definition| *definition.name == *name);
    let definition = definition.unwrap_or_else(|| panic!("`{name}` has no expansion"));
    let instance = Rule::parse(&definition.typing).instance(&types(&args));
    let instance = instance.unwrap_or_else(|| panic!("`{name}` does not take {args:?}"));
    let body = checker.body_at(definition, instance, args, span);
    std::mem::swap(&mut checker.supply, supply);
    body.unwrap_or_else(|| panic!("expansions.ks: the body of `{name}` is wrong: {:?}", checker.errors))
}

impl Checker {
    /// Returns a term without primitives that have an expansion.
    pub(super) fn without_arrays(&mut self, e: &Expr) -> Expr {
        let supply = &mut self.supply;
        expanded(e, &expansion, supply, &mut Rewrites::all())
    }
}

impl Checked {
    /// Expands the primitives that have an expansion, and keeps the definitions with them as they are written.
    pub fn expand_arrays(&mut self) {
        let supply = &mut self.program.supply;
        let mut expanded = |def: &Def| expand_arrays(def, &expansion, supply, &mut Rewrites::all());
        for (name, def) in self.program.defs.iter_mut().filter(|(_, def)| has_arrays(&def.body)) {
            let written = std::mem::replace(def, expanded(def));
            self.with_arrays.insert(name.clone(), written);
        }
        for def in self.prelude.values_mut().filter(|def| has_arrays(&def.body)) {
            *def = expanded(def);
        }
    }
}
