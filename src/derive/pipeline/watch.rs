//! Reports the time and the result of each pass to observers.

use super::trace::Trace;
use crate::derive::passes;
use crate::derive::postcondition::{self, Facts};
use lm::effect::Effects;
use lm::rewrites::Rewrites;
use lm::term::{Def, Supply};
use lm::timing::Timings;
use std::convert::Infallible;
use std::time::{Duration, Instant};

/// One pass over one definition.
#[derive(Debug)]
pub struct PassDone<'a> {
    /// The name of the pass.
    pub name: &'static str,
    /// The definition that it made.
    pub def: &'a Def,
    /// Its wall time.
    pub took: Duration,
}

/// Is called after each pass.
pub type Observer = Box<dyn FnMut(&PassDone) + Send>;

/// The table of times, and the observer.
#[derive(Default)]
pub(in crate::derive) struct Watch {
    pub(in crate::derive) timings: Timings,
    pub(in crate::derive) observer: Option<Observer>,
    /// The functions that print, for postconditions.
    pub(in crate::derive) effects: Effects,
    /// The rewrites, where they are traced.
    pub(in crate::derive) trace: Option<Trace>,
}

impl Watch {
    /// Runs a pass that makes a definition.
    pub(in crate::derive) fn makes(&mut self, name: &'static str, run: impl FnOnce() -> Def) -> Def {
        let Ok(def) = self.fallible(name, || Ok::<Def, Infallible>(run()));
        def
    }

    /// Runs a pass that rewrites a definition: each rewrite is a step of the trace.
    pub(in crate::derive) fn rewrites<E>(
        &mut self,
        name: &'static str,
        from: &Def,
        supply: &mut Supply,
        mut run: impl FnMut(&mut Supply, &mut Rewrites) -> Result<Def, E>,
    ) -> Result<Def, E> {
        if self.trace.is_some() {
            // A pass without an end has no first steps to show.
            run(&mut supply.clone(), &mut Rewrites::all())?;
        }
        self.follow(name, from, supply, &mut run)?;
        self.fallible(name, || run(supply, &mut Rewrites::all()))
    }

    /// Does the same as [`Watch::rewrites`] for a pass that does not fail.
    pub(in crate::derive) fn steps(
        &mut self,
        name: &'static str,
        from: &Def,
        supply: &mut Supply,
        mut run: impl FnMut(&mut Supply, &mut Rewrites) -> Def,
    ) -> Def {
        let Ok(def) =
            self.rewrites(name, from, supply, |supply, rewrites| Ok::<Def, Infallible>(run(supply, rewrites)));
        def
    }

    /// Does the same as [`Watch::steps`], with the facts that the postcondition asks about.
    pub(in crate::derive) fn steps_with(
        &mut self,
        name: &'static str,
        from: &Def,
        supply: &mut Supply,
        facts: &Facts,
        mut run: impl FnMut(&mut Supply, &mut Rewrites) -> Def,
    ) -> Def {
        let mut run = |supply: &mut Supply, rewrites: &mut Rewrites| Ok::<Def, Infallible>(run(supply, rewrites));
        let Ok(()) = self.follow(name, from, supply, &mut run);
        let Ok(def) = self.timed(name, || run(supply, &mut Rewrites::all()));
        promised(name, &def, facts);
        def
    }

    /// Adds the rewrites of a pass to the trace, if there is one.
    fn follow<E>(
        &mut self,
        name: &'static str,
        from: &Def,
        supply: &Supply,
        run: &mut impl FnMut(&mut Supply, &mut Rewrites) -> Result<Def, E>,
    ) -> Result<(), E> {
        self.trace.as_mut().map_or(Ok(()), |trace| trace.follow(name, from, supply, run))
    }

    pub(in crate::derive) fn fallible<E>(
        &mut self,
        name: &'static str,
        run: impl FnOnce() -> Result<Def, E>,
    ) -> Result<Def, E> {
        let def = self.timed(name, run)?;
        promised(name, &def, &Facts::new(&self.effects));
        Ok(def)
    }

    fn timed<E>(&mut self, name: &'static str, run: impl FnOnce() -> Result<Def, E>) -> Result<Def, E> {
        let start = Instant::now();
        let result = run();
        let took = start.elapsed();
        self.timings.add(name, took);
        if let (Ok(def), Some(observer)) = (&result, &mut self.observer) {
            observer(&PassDone { name, def, took });
        }
        result
    }
}

/// Checks a definition that a pass made, in debug builds. Steps of a derivation are not in the table of passes.
pub(in crate::derive) fn promised(name: &str, def: &Def, facts: &Facts) {
    if cfg!(debug_assertions)
        && let Some(pass) = passes::named(name)
        && let Err(broken) = postcondition::check(pass, def, facts)
    {
        panic!("{broken}");
    }
}
