//! Applies the linear maps with which a function of the program computes, so that it can be differentiated and compiled.
//!
//! A function that takes or gives a map stays as it is, and is put in place of its calls. The interpreter runs maps as
//! they are: [`Pipeline::keep_maps`].

use super::error::MapLeft;
use super::{Error, Pipeline};
use crate::derive::call_order;
use crate::derive::forms;
use crate::derive::passes::apply_maps::{self, apply_maps};
use crate::derive::passes::inline_maps::{Callees, inline_maps, takes_or_gives_map};
use crate::derive::schedule::strategy;
use lm::notation::infix::{self, Format};
use lm::notation::names::Names;
use lm::rewrites::Rewrites;
use lm::term::{Def, Derivative, FunName, Supply};
use lm::types::Type;

/// The depth of calls of functions of maps.
const MOST_ROUNDS: usize = 64;

/// The most characters of a map in a message.
const SHOWN: usize = 60;

impl Pipeline {
    /// Leaves linear maps as they are, for the interpreter.
    pub fn keep_maps(&mut self) {
        self.keeps_maps = true;
    }

    /// Returns whether a function of the program computes with linear maps, but takes and gives none.
    pub(in crate::derive) fn has_maps(&self, name: &FunName) -> bool {
        self.with_maps.contains_key(name)
            || self.written.contains(name) && self.program.defs.get(name).is_some_and(computes_with_maps)
    }

    /// Applies the maps of a function of the program. Keeps the function as it was.
    pub(super) fn apply_maps_of(&mut self, name: &FunName) -> Result<(), Error> {
        if self.keeps_maps || self.with_maps.contains_key(name) || !self.has_maps(name) {
            return Ok(());
        }
        let def = self.program.defs[name].clone();
        let trace = self.watch.trace.take();
        let made = self.without_maps(&def);
        self.watch.trace = trace;
        self.program.defs.insert(name.clone(), made?);
        self.with_maps.insert(name.clone(), def);
        Ok(())
    }

    /// Returns the definition of a function as the program has it.
    pub(in crate::derive) fn as_written(&mut self, name: &FunName) -> Result<Def, Error> {
        let def = self.source(name)?;
        Ok(self.with_maps.get(name).cloned().unwrap_or(def))
    }

    /// Returns the definition without linear maps, simplified.
    ///
    /// Errors: a map is left.
    pub(in crate::derive) fn without_maps(&mut self, def: &Def) -> Result<Def, Error> {
        let def = self.maps_inlined(def, false)?;
        let def = self.maps_applied(&def)?;
        if let Some(map) = apply_maps::map_left(&def) {
            let text = infix::term(&map, &Names::of_term(&map), Format::Plain, usize::MAX);
            let cut = text.char_indices().nth(SHOWN).map_or(text.clone(), |(end, _)| format!("{} ..", &text[..end]));
            let left = MapLeft { function: def.fun.name.clone(), map: cut, span: map.span() };
            return Err(Error::MapLeft(Box::new(left)));
        }
        let def = self.simplified(&def, "values")?;
        Ok(self.cse(&def))
    }

    /// Returns the definition with functions of maps in place of their calls; if asked, with Jacobians in place of their
    /// names.
    pub(in crate::derive) fn maps_inlined(&mut self, def: &Def, with_jacobians: bool) -> Result<Def, Error> {
        let mut def = def.clone();
        for _ in 0..MOST_ROUNDS {
            let mut called = Vec::new();
            call_order::calls(&def.body, &mut called);
            for name in &called {
                self.known(name)?;
                if with_jacobians && name.derivative() == Some(&Derivative::D) {
                    self.source(name)?;
                }
            }
            let program = &self.program;
            let body = |name: &FunName| {
                let found = program.defs.get(name).filter(|def| takes_or_gives_map(&def.fun));
                found.filter(|_| !call_order::is_recursive(program, name)).cloned()
            };
            let params = |name: &FunName| -> Vec<Type> {
                let fun = program.defs.get(&name.unrestricted()).map(|def| &def.fun);
                let fun = fun.or_else(|| program.externals.get(&name.unrestricted()));
                fun.map(|fun| fun.params.clone()).unwrap_or_default()
            };
            let jacobian = |name: &FunName| {
                let found = program.defs.get(&name.derived(Derivative::D)).filter(|_| with_jacobians);
                found.filter(|_| !call_order::is_recursive(program, &name.unrestricted())).cloned()
            };
            let callees = Callees { body: &body, jacobian: &jacobian, params: &params };
            let mut supply = program.supply.clone();
            let run = |supply: &mut Supply, rewrites: &mut Rewrites| inline_maps(&def, callees, supply, rewrites);
            let next = self.watch.steps("inline_maps", &def, &mut supply, run);
            self.program.supply = supply;
            if next == def {
                break;
            }
            def = next;
        }
        Ok(def)
    }

    /// Makes the function that a name of a map-valued derivative is about, so that its types are known.
    fn known(&mut self, name: &FunName) -> Result<(), Error> {
        let is_defined = |p: &Pipeline| p.program.defs.contains_key(name) || p.program.externals.contains_key(name);
        match name.underived() {
            Some((_, of)) if !is_defined(self) => self.known(&of.unrestricted()),
            _ => Ok(()),
        }
    }

    /// Returns the definition with its maps applied.
    pub(in crate::derive) fn maps_applied(&mut self, def: &Def) -> Result<Def, Error> {
        let effects = self.effects.clone();
        self.rewriting("apply_maps", def, |cx| apply_maps(def, strategy("sides"), &effects, cx))
    }
}

fn computes_with_maps(def: &Def) -> bool {
    !takes_or_gives_map(&def.fun) && forms::with_map(&def.body).is_some()
}
