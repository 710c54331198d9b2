//! Applies the linear maps with which a function of the program computes, so that it can be differentiated and compiled.
//!
//! A function that takes or gives a map stays as it is, and is put in place of its calls. The interpreter runs maps as
//! they are: [`Pipeline::keep_maps`].

use super::{Error, Pipeline};
use crate::derive::call_order;
use crate::derive::forms;
use crate::derive::passes::apply_maps::{self, apply_maps};
use crate::derive::passes::inline_maps::{Callees, inline_maps, takes_or_gives_map};
use crate::derive::schedule::strategy;
use lm::notation::infix::{self, Format};
use lm::notation::names::Names;
use lm::rewriter::Rewriter;
use lm::rewrites::Rewrites;
use lm::term::{Def, FunName, Supply};
use lm::types::Type;

/// The depth of calls of functions of maps.
const MOST_ROUNDS: usize = 64;

/// The most nodes of a map in a message.
const SHOWN: usize = 40;

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
    pub(in crate::derive) fn without_maps(&mut self, def: &Def) -> Result<Def, Error> {
        let def = self.maps_inlined(def)?;
        let def = self.maps_applied(&def)?;
        let def = self.simplified(&def, "values")?;
        Ok(self.cse(&def))
    }

    /// Returns the definition with functions of maps in place of their calls.
    pub(in crate::derive) fn maps_inlined(&mut self, def: &Def) -> Result<Def, Error> {
        let mut def = def.clone();
        for _ in 0..MOST_ROUNDS {
            let mut called = Vec::new();
            call_order::calls(&def.body, &mut called);
            for name in &called {
                self.known(name)?;
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
            let callees = Callees { body: &body, params: &params };
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

    fn maps_applied(&mut self, def: &Def) -> Result<Def, Error> {
        let fuel = super::maps::fuel(def);
        let (effects, laws) = (&self.effects, strategy("sides"));
        let run = |supply: &mut Supply, rewrites: &mut Rewrites| {
            apply_maps(def, laws, effects, &mut Rewriter::new(supply, rewrites, fuel))
        };
        let function = def.fun.name.clone();
        let made = self.watch.rewrites("apply_maps", def, &mut self.program.supply, run);
        made.map_err(|failure| match failure {
            apply_maps::Failure::OutOfFuel(source) => Error::OutOfFuel { function, source },
            apply_maps::Failure::Left(map) => {
                let span = map.span();
                let map = infix::term(&map, &Names::of_term(&map), Format::Plain, 100);
                let map = if map.len() > SHOWN { format!("{}..", &map[..SHOWN]) } else { map };
                Error::MapLeft { function, map, span }
            }
        })
    }
}

fn computes_with_maps(def: &Def) -> bool {
    !takes_or_gives_map(&def.fun) && forms::with_map(&def.body).is_some()
}
