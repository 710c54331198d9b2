//! Expands primitives on arrays that derivations have no rules for.
//!
//! The program that derivatives are made from has none ([`Checked::expand_arrays`](crate::ks::check::Checked)). What
//! `lmc demo` shows starts from a function as it is written.

use super::Pipeline;
use super::watch::promised;
use crate::derive::passes::expand_arrays::{expand_arrays, has_arrays};
use crate::derive::postcondition::Facts;
use crate::ks::check::expansion;
use lm::term::Def;

impl Pipeline {
    /// Returns a definition without such primitives. What the rules of the program say of their expansions is done.
    pub(in crate::derive) fn arrays_expanded(&mut self, def: &Def) -> Def {
        if !has_arrays(&def.body) {
            return def.clone();
        }
        let supply = &mut self.program.supply;
        let expanded = self
            .watch
            .steps("expand_arrays", def, supply, |supply, rewrites| expand_arrays(def, &expansion, supply, rewrites));
        promised("expand_arrays", &expanded, &Facts::new(&self.effects));
        self.ruled(&expanded)
    }

    /// Applies the rules of the program to the functions as they are written. Those without an end were found before.
    pub(super) fn rule_written(&mut self) {
        let endless = std::mem::take(&mut self.endless);
        let names: Vec<_> = self.with_arrays.keys().cloned().collect();
        for name in names {
            let def = self.ruled(&self.with_arrays[&name].clone());
            self.with_arrays.insert(name, def);
        }
        self.endless = endless;
    }
}
