//! Tells observers how long each pass took, and what it made.

use lm::term::Def;
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
}

impl Watch {
    pub(in crate::derive) fn pass(&mut self, name: &'static str, run: impl FnOnce() -> Def) -> Def {
        let Ok(def) = self.fallible(name, || Ok::<Def, Infallible>(run()));
        def
    }

    pub(in crate::derive) fn fallible<E>(
        &mut self,
        name: &'static str,
        run: impl FnOnce() -> Result<Def, E>,
    ) -> Result<Def, E> {
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
