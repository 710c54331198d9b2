//! Makes the requested derivatives, by the recipes of [`super::recipes`].
//!
//! ```text
//! require f   =  make f and all that it calls
//! [d g]       =  the first recipe of d whose condition holds for g, its passes run in order
//! ```
//!
//! The way to `[rev f]`: [`Pipeline::require`], `source`, `derive`, `unshared_by` and `run` here; then `Pass::run` in
//! `pass.rs`, which calls the function of each pass. Every step gives a definition of its own, which `lmc demo` shows.
//! In debug builds each is checked again: scoping, and the postcondition of the pass. `state.rs` holds the state.

mod argument;
mod arrays;
mod bulk;
mod check;
mod conditions;
mod dual;
mod error;
mod halves;
mod map_free;
mod maps;
mod nesting;
mod pairs;
mod pass;
mod prepare;
mod records;
mod share;
mod stages;
mod state;
mod strategies;
mod trace;
mod traced;
mod unary;
mod watch;
mod written;

pub(in crate::derive) use check::checked;
pub use error::Error;
pub use stages::Stage;
pub use state::Pipeline;
pub use trace::Step as TraceStep;
pub use watch::{Observer, PassDone};

use super::figures::checkpoints::sweep;
use super::figures::fig09_11_category as category;
use super::passes::counted_recursion;
use super::passes::zeros_of_empty_sums;
use super::recipes::{self, Recipe, Start, Step};
use crate::derive::call_order;
use crate::ks::check::Checked;
use lm::term::{Def, Derivative, FunName};
use lm::types::Type;
use pass::{Task, Work};

/// The way to a derivative.
impl Pipeline {
    /// Makes every derivative that the program itself calls.
    pub fn complete(&mut self) -> Result<(), Error> {
        let names: Vec<FunName> = self.program.defs.keys().cloned().collect();
        names.iter().try_for_each(|name| self.require(name))
    }

    /// Makes the function and its callees, direct or not, unless the program has them.
    pub fn require(&mut self, name: &FunName) -> Result<(), Error> {
        if self.program.externals.contains_key(name) {
            return Ok(());
        }
        let def = if self.keeps_maps { self.as_written(name)? } else { self.source(name)? };
        if !self.closed.insert(name.clone()) {
            return Ok(());
        }
        let def = self.with_sweeps(def);
        let mut called = Vec::new();
        call_order::calls(&def.body, &mut called);
        let result = called.iter().try_for_each(|callee| self.require(callee));
        if result.is_err() {
            // Others may count on this one.
            self.closed.clear();
        }
        result
    }

    /// Puts calls in place of the loops of a definition over states that are computed again, and adds the functions
    /// that they call.
    fn with_sweeps(&mut self, def: Def) -> Def {
        if !sweep::has_replays(&def.body) {
            return def;
        }
        let is_taken = |name: &FunName| self.program.defs.contains_key(name);
        let (def, made) = sweep::with_sweeps(&def, &is_taken, &mut self.program.supply);
        for def in made.into_iter().chain([def.clone()]) {
            self.program.defs.insert(def.fun.name.clone(), def);
        }
        def
    }

    /// Returns the definition of a function; derives it first if necessary. The definition of an external function
    /// is a call of itself.
    pub(in crate::derive) fn source(&mut self, name: &FunName) -> Result<Def, Error> {
        if let Some(def) = self.external(name) {
            return Ok(def);
        }
        if let Some(def) = self.prelude.shift_remove(name) {
            self.program.defs.insert(name.clone(), def);
        }
        if !self.program.defs.contains_key(name) {
            self.derive(name)?;
        }
        let map_free = self.map_free(name)?;
        Ok(map_free.unwrap_or_else(|| self.program.defs[name].clone()))
    }

    fn derive(&mut self, name: &FunName) -> Result<(), Error> {
        let (derivative, of) = name.underived().ok_or_else(|| Error::Undefined(name.clone()))?;
        let written = of.as_written();
        if self.deriving_themselves.contains(&written) && !matches!(derivative, Derivative::Shape | Derivative::Cl) {
            return Err(Error::OfItself(written));
        }
        assert!(!self.in_progress.contains(name), "the derivation of {name} needs itself");
        self.in_progress.push(name.clone());
        // A trace is of one function.
        let trace = self.watch.trace.take();
        let task = Task { derivative: Some(derivative), of };
        let made = self.source(&task.of).and_then(|_| {
            let recipe = self.recipe(&task, true)?;
            let unshared = self.unshared_by(recipe, &task)?;
            self.run(recipe.sharing(), &task, Work::new(unshared), &mut Vec::new())
        });
        self.watch.trace = trace;
        self.in_progress.pop();
        let def = self.placed(made?.def);
        self.program.defs.insert(name.clone(), def);
        Ok(())
    }

    /// Returns the definition; gives terms without a place in the source the place of the function.
    pub(in crate::derive) fn placed(&self, def: Def) -> Def {
        let base = def.fun.name.as_written();
        match self.program.defs.get(&base) {
            Some(of) => Def { body: def.body.placed_throughout(of.body.span()), ..def },
            None => def,
        }
    }

    /// Returns the first recipe whose condition holds; by the Jacobian, where the derivation of f does not count.
    fn recipe(&mut self, task: &Task, derivation_counts: bool) -> Result<&'static Recipe, Error> {
        let recipes = recipes::entry(task.derivative()).recipes.iter().copied();
        self.first_of(recipes.filter(|recipe| derivation_counts || !recipe.when.asks_for_derivation()), task)
    }

    fn first_of(
        &mut self,
        recipes: impl Iterator<Item = &'static Recipe>,
        task: &Task,
    ) -> Result<&'static Recipe, Error> {
        for recipe in recipes {
            if self.holds(recipe.when, task)? {
                return Ok(recipe);
            }
        }
        panic!("no recipe of {} is for any function", task.name())
    }

    /// Runs the passes of steps in order. Adds what `lmc demo` shows to `stages`.
    fn run(&mut self, steps: &[Step], task: &Task, mut work: Work, stages: &mut Vec<Stage>) -> Result<Work, Error> {
        for step in steps {
            for pass in step.passes {
                work = pass.run(self, task, work, stages)?;
            }
            if let Some(heading) = step.heading {
                stages.push(self.stage(heading, &work));
            }
        }
        Ok(work)
    }

    fn start(&mut self, from: &Start, task: &Task) -> Result<Def, Error> {
        match from {
            Start::Written => self.as_written(&task.of),
            Start::Function | Start::Calls(_) => self.source(&task.of),
            Start::Marked if self.has_maps(&task.of) => self.source(&task.of),
            Start::Marked => self.as_written(&task.of),
            Start::Differentiable => {
                let def = self.differentiable(&task.of, task.direction())?;
                if self.is_of_arrays(&task.of) { self.in_arrays(&def) } else { Ok(def) }
            }
            Start::Derivative(derivative) => self.unshared(&task.of, derivative, false),
            Start::Recipe(recipe, derivative) => {
                self.unshared_by(recipe, &Task { derivative: Some(derivative.clone()), of: task.of.clone() })
            }
        }
    }

    /// Returns a derivative before sharing; by the Jacobian, where the derivation of f does not count.
    pub(in crate::derive) fn unshared(
        &mut self,
        of: &FunName,
        derivative: &Derivative,
        derivation_counts: bool,
    ) -> Result<Def, Error> {
        let task = Task { derivative: Some(derivative.clone()), of: of.clone() };
        let recipe = self.recipe(&task, derivation_counts)?;
        self.unshared_by(recipe, &task)
    }

    /// Returns the result of a recipe before sharing, and keeps it for other recipes.
    fn unshared_by(&mut self, recipe: &Recipe, task: &Task) -> Result<Def, Error> {
        let key = (task.name(), recipe.when);
        if let Some(def) = self.unshared.get(&key) {
            return Ok(def.clone());
        }
        let start = self.start(&recipe.from, task)?;
        let made = self.run(recipe.before_sharing(), task, Work::new(start), &mut Vec::new())?;
        self.unshared.insert(key, made.def.clone());
        Ok(made.def)
    }

    /// Returns a function in the category language, converted from the text and not pruned. Normal form could stop with
    /// another error.
    pub fn in_category(&mut self, of: &FunName) -> Result<category::Def, Error> {
        let def = self.source(of)?;
        Ok(self.watch.timings.time("convert", || category::convert(&def)))
    }
}

/// Returns the B of `[suffwdpass f] : S -> (T, B)`, for a function f of a program as the checker leaves it.
///
/// Errors: f has no such derivative.
pub fn record(mut checked: Checked, f: &FunName) -> Result<Type, Error> {
    checked.expand_arrays();
    counted_recursion::counted_recursion(&mut checked.program);
    zeros_of_empty_sums::zeros_of_empty_sums(&mut checked.program, &mut checked.with_arrays);
    let mut pipeline = Pipeline::new(checked);
    let half = f.derived(Derivative::SufFwdPass);
    pipeline.require(&half)?;
    let fun = &pipeline.program.defs[&half].fun;
    Ok(fun.result.as_tuple().expect("a value and a record")[1].clone())
}
