//! Puts functions on whole arrays before they are differentiated, for the derivation `dual-arrays`.
//!
//! ```text
//! f --lower--> operations on whole arrays --raise--> f, a loop for each operation --jacobian, transpose, apply--> rev$f
//! ```
//!
//! The rest of the way is that of the derivation `jacobian`: the Delta terms of the paper are linear maps, and to evaluate
//! them backwards is to transpose them.
//!
//! Source: *Dual-numbers reverse AD for functional array languages*, sec. 5 to 7.

use super::error::NotInArrays;
use super::{Error, Pipeline, checked, written};
use crate::derive::{Derivation, call_order};
use bulk::ir::Function;
use bulk::{Reason, Refusal};
use lm::term::{Def, FunName, Mode};
use std::collections::HashSet;
use std::sync::Arc;

/// A function on whole arrays.
#[derive(Clone)]
pub(super) struct InArrays {
    /// Its operations.
    pub(super) form: Arc<Function>,
    /// The same, each operation a loop.
    def: Def,
}

impl Pipeline {
    /// Returns whether derivatives of a function are made of its form in whole arrays.
    pub(in crate::derive) fn is_of_arrays(&self, of: &FunName) -> bool {
        self.derivation_of(of) == Derivation::DualArrays && !self.program.externals.contains_key(of)
    }

    /// Returns a function on whole arrays.
    ///
    /// Errors: it has no such form.
    pub(in crate::derive) fn in_arrays(&mut self, def: &Def) -> Result<Def, Error> {
        let name = &def.fun.name;
        if let Some(known) = self.in_arrays.get(name) {
            return Ok(known.def.clone());
        }
        // What only one branch uses is computed in it.
        let def = &self.simplest(def.clone())?;
        self.require_callees(def)?;
        let refused = |source: Refusal| Error::from(Box::new(NotInArrays { function: name.clone(), source }));
        let before = self.program.defs.insert(name.clone(), def.clone());
        let form = self.watch.timings.time("in_arrays", || bulk::lower_for_derivation(&self.program, name));
        match before {
            Some(before) => self.program.defs.insert(name.clone(), before),
            None => self.program.defs.shift_remove(name),
        };
        let form = form.map_err(refused)?;
        let made = bulk::raise(&form, def, &mut self.program.supply).map_err(refused)?;
        let made = checked("in_arrays", self.placed(made), |d| d.body.ty() == def.body.ty());
        let known = InArrays { form: form.into(), def: made.clone() };
        self.in_arrays.insert(name.clone(), known);
        Ok(made)
    }

    /// Makes all functions that a function calls, directly or not.
    fn require_callees(&mut self, def: &Def) -> Result<(), Error> {
        let mut seen = HashSet::from([def.fun.name.clone()]);
        let mut todo = vec![def.clone()];
        while let Some(caller) = todo.pop() {
            let mut called = Vec::new();
            call_order::calls(&caller.body, &mut called);
            for callee in called {
                if self.program.externals.contains_key(&callee) || !seen.insert(callee.clone()) {
                    continue;
                }
                let by_hand = [Mode::Forward, Mode::Reverse];
                if by_hand.iter().any(|&mode| written::is_replaced(&callee.unrestricted(), mode, &self.written)) {
                    let source = Refusal {
                        reason: Reason::ByHand,
                        function: caller.fun.name.to_string(),
                        what: format!("`{callee}` has a derivative by hand, which whole arrays would not use"),
                        span: caller.body.span(),
                    };
                    return Err(Error::from(Box::new(NotInArrays { function: def.fun.name.clone(), source })));
                }
                todo.push(self.source(&callee)?);
            }
        }
        Ok(())
    }
}
