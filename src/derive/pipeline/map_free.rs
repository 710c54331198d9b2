//! Applies the linear maps with which a function of the program computes, so that it can be differentiated and compiled.
//!
//! A function that takes or gives a map stays as it is, and is put in place of its calls. The interpreter runs maps as
//! they are: [`Pipeline::keep_maps`].

use super::error::{MapLeft, shown};
use super::{Error, Pipeline};
use crate::derive::call_order;
use crate::derive::forms;
use crate::derive::passes::apply_maps::{self, apply_maps};
use crate::derive::passes::inline_maps::{self, Callees, takes_or_gives_map};
use crate::derive::passes::inline_single_uses::inline_single_uses;
use crate::derive::passes::simplify::simplify;
use lm::rewrites::Rewrites;
use lm::term::{Def, Derivative, FunName, Supply};
use rustc_hash::FxHashSet;

/// The depth of calls of functions of maps.
const MOST_ROUNDS: usize = 64;

impl Pipeline {
    /// Leaves linear maps as they are in the program, for the interpreter. Derivatives are made without them.
    pub fn keep_maps(&mut self) {
        self.keeps_maps = true;
    }

    /// Returns whether a function of the program computes with linear maps, but takes and gives none.
    pub(in crate::derive) fn has_maps(&self, name: &FunName) -> bool {
        self.with_maps.contains_key(name)
            || self.written.contains(name) && self.program.defs.get(name).is_some_and(computes_with_maps)
    }

    /// Returns the definition of a function of the program with its maps applied; `None` if it has none.
    pub(super) fn map_free(&mut self, name: &FunName) -> Result<Option<Def>, Error> {
        if let Some(def) = self.map_free.get(name) {
            return Ok(Some(def.clone()));
        }
        if !self.has_maps(name) {
            return Ok(None);
        }
        let def = self.program.defs[name].clone();
        // A trace is of one function.
        let trace = self.watch.trace.take();
        let made = self.without_maps(&def);
        self.watch.trace = trace;
        let made = made?;
        if !self.keeps_maps {
            self.program.defs.insert(name.clone(), made.clone());
        }
        self.with_maps.insert(name.clone(), def);
        self.map_free.insert(name.clone(), made.clone());
        Ok(Some(made))
    }

    /// Returns the definition of a function as the program has it: with its linear maps, with the calls that it marks by
    /// `$inline`, and with all primitives on arrays.
    pub(in crate::derive) fn as_written(&mut self, name: &FunName) -> Result<Def, Error> {
        let changed = self.with_arrays.get(name).or_else(|| self.as_they_were.get(name));
        if let Some(def) = changed.or_else(|| self.with_maps.get(name)) {
            return Ok(def.clone());
        }
        match self.program.defs.get(name).filter(|_| self.written.contains(name)) {
            Some(def) => Ok(def.clone()),
            None => self.source(name),
        }
    }

    /// Returns the definition without linear maps, simplified.
    ///
    /// Errors: a map is left.
    pub(in crate::derive) fn without_maps(&mut self, def: &Def) -> Result<Def, Error> {
        let def = self.maps_inlined(def, false)?;
        let def = self.maps_applied(&def)?;
        if let Some(term) = apply_maps::with_map_left(&def) {
            let left = MapLeft { function: def.fun.name.clone(), term: shown(&term), span: term.span() };
            return Err(Error::MapLeft(Box::new(left)));
        }
        // Values that nothing uses stay: what they stop with, the program stops with.
        let def = self.rewriting("simplify", "values", &def, |by, cx| simplify(&def, by, cx))?;
        let (effects, supply) = (&self.effects, &mut self.program.supply);
        Ok(self
            .watch
            .steps("inline_single_uses", &def, supply, |_, rewrites| inline_single_uses(&def, effects, rewrites)))
    }

    /// Returns the definition with functions of maps in place of their calls; if asked, with Jacobians in place of their
    /// names.
    pub(in crate::derive) fn maps_inlined(&mut self, def: &Def, with_jacobians: bool) -> Result<Def, Error> {
        let mut def = def.clone();
        for _ in 0..MOST_ROUNDS {
            if def.body.size() > inline_maps::MOST_NODES {
                break;
            }
            let mut called = Vec::new();
            call_order::calls(&def.body, &mut called);
            let called: FxHashSet<FunName> = called.into_iter().collect();
            for name in &called {
                match name.underived() {
                    // Its parameters have to be known.
                    Some((Derivative::Polymorphic | Derivative::PolymorphicR, of)) => {
                        drop(self.source(&of.unrestricted())?)
                    }
                    Some((Derivative::D, _)) if with_jacobians => drop(self.source(name)?),
                    _ => {}
                }
            }
            let (program, written) = (&self.program, &self.written);
            let recursive: FxHashSet<&FunName> =
                called.iter().filter(|name| call_order::is_recursive(program, &name.unrestricted())).collect();
            let body = |name: &FunName| {
                let is_known = name.derivations.is_empty() || written.contains(name);
                let found = program.defs.get(name).filter(|def| is_known && takes_or_gives_map(&def.fun));
                found.filter(|_| !recursive.contains(name)).cloned()
            };
            let params = |name: &FunName| {
                let fun = program.defs.get(&name.unrestricted()).map(|def| &def.fun);
                fun.or_else(|| program.externals.get(&name.unrestricted())).map(|fun| fun.params.clone())
            };
            let jacobian = |name: &FunName| {
                let found = program.defs.get(&name.derived(Derivative::D)).filter(|_| with_jacobians);
                found.filter(|_| !recursive.contains(&name.derived(Derivative::D))).cloned()
            };
            let callees = Callees { body: &body, jacobian: &jacobian, params: &params };
            let mut supply = program.supply.clone();
            let run = |supply: &mut Supply, rewrites: &mut Rewrites| {
                inline_maps::inline_maps(&def, callees, supply, rewrites)
            };
            let next = self.watch.steps("inline_maps", &def, &mut supply, run);
            self.program.supply = supply;
            if next == def {
                break;
            }
            def = next;
        }
        Ok(def)
    }

    /// Returns the definition with its maps applied.
    pub(in crate::derive) fn maps_applied(&mut self, def: &Def) -> Result<Def, Error> {
        let effects = self.effects.clone();
        self.rewriting("apply_maps", "sides", def, |by, cx| apply_maps(def, by, &effects, cx))
    }
}

fn computes_with_maps(def: &Def) -> bool {
    !takes_or_gives_map(&def.fun) && forms::with_map(&def.body).is_some()
}
