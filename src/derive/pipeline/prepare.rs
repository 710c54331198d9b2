//! Prepares the definitions of a program, before anything is derived: inlines the calls that the program marks by
//! `$inline`, and those of small functions that pass on arrays that they are given; writes folds of maps as maps of folds;
//! marks arguments on which calls do not depend.
//!
//! These calls stay: of recursive functions, of external ones, and of functions that have a derivative by hand.

use super::Pipeline;
use crate::derive::call_order;
use crate::derive::dependence::Dependence;
use crate::derive::passes::folds_of_maps::folds_of_maps;
use crate::derive::passes::independent_arguments::independent_arguments;
use crate::derive::passes::inline_marked;
use crate::derive::passing_on::passing_on;
use crate::derive::postcondition::Facts;
use lm::term::{Def, Expr, FunName, Kind, Op, Supply};
use rustc_hash::FxHashSet;

impl Pipeline {
    /// Inlines the marked calls of all definitions; those of callees first. Keeps the definitions as they are written.
    pub(super) fn inline_all_marked(&mut self) {
        self.passing_on = passing_on(&self.program);
        if self.marked.is_empty() && self.passing_on.is_empty() {
            return;
        }
        let mut done = FxHashSet::default();
        let names: Vec<FunName> = self.program.defs.keys().cloned().collect();
        names.iter().for_each(|name| self.inline_marked_of(name, &mut done));
    }

    /// Writes folds of maps as maps of folds, in all definitions. Keeps the definitions as they are written.
    pub(super) fn fold_all_maps(&mut self) {
        self.change_all(Pipeline::with_maps_of_folds);
    }

    /// Marks the arguments on which calls do not depend, in all definitions. Keeps the definitions as they are written.
    pub(super) fn mark_all_independent(&mut self) {
        let with_derivatives = self.written.iter().filter(|w| !w.derivations.is_empty());
        let own: FxHashSet<FunName> = with_derivatives.map(FunName::as_written).collect();
        self.dependence = Dependence::of(&self.program, &|f| own.contains(f));
        self.change_all(Pipeline::with_independent_marked);
    }

    fn change_all(&mut self, change: impl Fn(&mut Pipeline, &Def) -> Def) {
        let names: Vec<FunName> =
            self.program.defs.keys().filter(|name| name.derivations.is_empty()).cloned().collect();
        for name in names {
            let def = self.program.defs[&name].clone();
            let new = change(self, &def);
            if new != def {
                self.program.defs.insert(name.clone(), new);
                self.as_they_were.entry(name).or_insert(def);
            }
        }
    }

    /// Returns whether the result of a function depends on no number of an argument, counted from 0.
    pub fn is_independent(&self, f: &FunName, argument: usize) -> bool {
        self.dependence.is_independent(f, argument)
    }

    /// Returns a definition with the arguments marked on which calls do not depend.
    pub(super) fn with_independent_marked(&mut self, def: &Def) -> Def {
        let mut supply = self.program.supply.clone();
        let mut watch = std::mem::take(&mut self.watch);
        let is_independent = |f: &FunName, argument: usize| self.is_independent(f, argument);
        let facts = Facts { is_independent: &is_independent, ..Facts::new(&self.effects) };
        let new = watch.steps_with("independent_arguments", def, &mut supply, &facts, |_, rewrites| {
            independent_arguments(def, &is_independent, rewrites)
        });
        self.watch = watch;
        new
    }

    /// Returns a definition with its folds of maps as maps of folds.
    pub(super) fn with_maps_of_folds(&mut self, def: &Def) -> Def {
        let mut supply = self.program.supply.clone();
        let mut watch = std::mem::take(&mut self.watch);
        let callee = |f: &FunName| self.program.defs.get(f).filter(|_| self.can_inline(f)).cloned();
        let signature = self.program.signature(&def.fun);
        let new = watch.steps("folds_of_maps", def, &mut supply, |supply: &mut Supply, rewrites| {
            let sizes = lm::facts::Facts::of(signature.as_ref(), &def.params);
            folds_of_maps(def, &callee, &self.effects, sizes, supply, rewrites)
        });
        self.watch = watch;
        self.program.supply = supply;
        new
    }

    fn inline_marked_of(&mut self, name: &FunName, done: &mut FxHashSet<FunName>) {
        if !done.insert(name.clone()) {
            return;
        }
        let def = self.program.defs[name].clone();
        let mut callees = Vec::new();
        def.body.visit(|e| callees.extend(self.marked_callee(e).cloned()));
        callees.iter().for_each(|callee| self.inline_marked_of(callee, done));
        if !callees.is_empty() {
            let inlined = self.with_marked_inlined(&def);
            self.program.defs.insert(name.clone(), inlined);
            self.as_they_were.insert(name.clone(), def);
        }
    }

    /// Returns a definition with its marked calls inlined.
    pub(super) fn with_marked_inlined(&mut self, def: &Def) -> Def {
        let before = self.program.supply.clone();
        let mut supply = before.clone();
        let mut watch = std::mem::take(&mut self.watch);
        let body = |e: &Expr| self.marked_callee(e).map(|callee| &self.program.defs[callee]);
        let inlined = watch.steps("inline_marked", def, &mut supply, |supply: &mut Supply, rewrites| {
            inline_marked::inline_marked(def, &body, supply, rewrites)
        });
        self.watch = watch;
        self.program.supply = supply;
        let is_inlined = |e: &Expr| self.marked_callee(e).is_some();
        super::watch::promised(
            "inline_marked",
            &inlined,
            &Facts { is_inlined: &is_inlined, ..Facts::new(&self.effects) },
        );
        inlined
    }

    /// Returns the function that a term calls, if the call is marked and the function can be inlined.
    fn marked_callee<'a>(&self, e: &'a Expr) -> Option<&'a FunName> {
        let Kind::App(Op::Call(f), _) = e.kind() else { return None };
        let is_marked = self.marked.contains(&(f.name.clone(), e.span())) || self.passes_on(&f.name);
        (is_marked && self.can_inline(&f.name)).then_some(&f.name)
    }

    /// Returns whether a function passes on arrays that it is given, and is small: where such functions call each
    /// other, a body may hold many copies of another.
    fn passes_on(&self, f: &FunName) -> bool {
        const SMALL: usize = 100;
        self.passing_on.contains(f) && self.program.defs[f].body.size() <= SMALL
    }

    /// Returns whether a marked call of a function, as written, is inlined.
    pub fn can_inline(&self, f: &FunName) -> bool {
        let has_own = || self.written.iter().any(|w| !w.derivations.is_empty() && w.as_written() == *f);
        self.program.defs.contains_key(f) && !has_own() && !call_order::is_recursive(&self.program, f)
    }
}
