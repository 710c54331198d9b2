//! Shares work: equal terms and calls at one point are computed once. Then makes the form that a person would write.

use super::trace::Trace;
use super::{Error, Pipeline, checked};
use crate::derive::call_order;
use crate::derive::forms;
use crate::derive::passes::{
    add_destinations, carry_states, cse, dce, fuse_sums, literal_zeros, merge_calls, number_temporaries,
    pair_recursive_calls, share_elements, sink_one_hots, split_pairs,
};
use crate::derive::postcondition::Facts;
use lm::term::{Def, Derivative, Expr, FunName, Mode, Supply, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Rounds of sharing and merging; each settles one more level of nested conditionals.
pub(in crate::derive) const MERGE_ROUNDS: usize = 100;

impl Pipeline {
    /// Shares work, tidies, and applies the rules of the program.
    pub(in crate::derive) fn finished(&mut self, def: &Def) -> Result<Def, Error> {
        let def = self.shared(def, &[])?;
        let tidy = self.tidied(&def);
        Ok(self.ruled(&tidy))
    }

    /// Does the same as [`Pipeline::finished`], but splits no reverse derivative into halves, and applies no rules.
    pub(in crate::derive) fn without_halves(&mut self, def: &Def) -> Result<Def, Error> {
        let def = self.shared_with(def, &[], false)?;
        Ok(self.tidied(&def))
    }

    pub(in crate::derive) fn shared(&mut self, def: &Def, late: &[Var]) -> Result<Def, Error> {
        self.shared_with(def, late, true)
    }

    fn shared_with(&mut self, def: &Def, late: &[Var], by_halves: bool) -> Result<Def, Error> {
        let mut def = self.shared_as_it_is(def, late, by_halves)?;
        // A function is called for its value and for its derivative, perhaps at one point in two forms.
        while repeats_calls(&def) {
            let steps = self.watch.trace.as_ref().map_or(0, Trace::len);
            let simplest = self.simplest(def.clone())?;
            let again = self.shared_as_it_is(&simplest, late, by_halves)?;
            if again.body.size() >= def.body.size() {
                self.watch.trace.iter_mut().for_each(|trace| trace.truncate(steps));
                break;
            }
            def = again;
        }
        Ok(def)
    }

    fn shared_as_it_is(&mut self, def: &Def, late: &[Var], by_halves: bool) -> Result<Def, Error> {
        let mut def = self.with_literal_zeros(def);
        for _ in 0..MERGE_ROUNDS {
            let size = def.body.size();
            def = self.anf(&def);
            def = self.cse(&def);
            let beside = if by_halves && late.is_empty() { self.pair_recursive_calls(&def)? } else { None };
            let is_beside = beside.is_some();
            def = beside.unwrap_or(def);
            let records = if by_halves { self.records(&def)? } else { merge_calls::Records::default() };
            let facts = Facts { directions: late, ..Facts::new(&self.effects) };
            let (effects, supply) = (&self.effects, &mut self.program.supply);
            let merged = self.watch.steps_with("merge_calls", &def, supply, &facts, |supply, rewrites| {
                merge_calls::merge_calls(&def, &records, late, effects, supply, rewrites)
            });
            let merged = if late.is_empty() { self.fuse_sums(&merged) } else { merged };
            let changed = is_beside || merged != def;
            def = self.without_dead(&merged);
            if !changed && def.body.size() == size {
                break;
            }
        }
        let def = self.cse(&def);
        let (effects, supply) = (&self.effects, &mut self.program.supply);
        let with_elements = self.watch.steps("share_elements", &def, supply, |_, rewrites| {
            share_elements::share_elements(&def, effects, rewrites)
        });
        Ok(if with_elements == def { def } else { self.without_dead(&with_elements) })
    }

    /// Returns the definition with the values of recursive functions beside their derivatives, where there are such.
    fn pair_recursive_calls(&mut self, def: &Def) -> Result<Option<Def>, Error> {
        let mut called = Vec::new();
        call_order::calls(&def.body, &mut called);
        let mut recursive = FxHashSet::default();
        for derivative in &called {
            let Some((outermost, of)) = derivative.underived() else { continue };
            let value = of.unrestricted();
            let is_of = |mode: Mode| outermost == mode.derivative() || outermost == mode.with_value();
            let is_asked = outermost.mode().is_some_and(is_of) && called.contains(&value);
            if is_asked && !recursive.contains(&value) && self.is_recursive_by_jacobian(&value)? {
                recursive.insert(value);
            }
        }
        if recursive.is_empty() {
            return Ok(None);
        }
        let (effects, supply) = (&self.effects, &mut self.program.supply);
        let is_recursive = |f: &FunName| recursive.contains(f);
        let facts = Facts { is_recursive: &is_recursive, ..Facts::new(effects) };
        let made = self.watch.steps_with("pair_recursive_calls", def, supply, &facts, |supply, rewrites| {
            pair_recursive_calls::pair_recursive_calls(def, &recursive, effects, supply, rewrites)
        });
        Ok((made != *def).then_some(made))
    }

    /// Returns whether a function calls itself, and its derivatives are made here, without records.
    fn is_recursive_by_jacobian(&mut self, name: &FunName) -> Result<bool, Error> {
        let is_made =
            !super::written::by_hand(&self.written, &self.program.externals)(name) && !self.keeps_values(name);
        if !is_made || self.in_progress.contains(name) {
            return Ok(false);
        }
        self.require(name)?;
        Ok(call_order::is_recursive(&self.program, name))
    }

    pub(in crate::derive) fn with_literal_zeros(&mut self, def: &Def) -> Def {
        let supply = &mut self.program.supply;
        self.watch.steps("literal_zeros", def, supply, |_, rewrites| literal_zeros::literal_zeros(def, rewrites))
    }

    pub(in crate::derive) fn cse(&mut self, def: &Def) -> Def {
        let (effects, supply) = (&self.effects, &mut self.program.supply);
        self.watch.steps("cse", def, supply, |_, rewrites| cse::cse(def, effects, rewrites))
    }

    /// Carries the states of folds along with what loops make of them, and shares what their steps have in common. Folds
    /// in steps follow those around them.
    pub(in crate::derive) fn with_states_carried(&mut self, def: &Def) -> Result<Def, Error> {
        let mut def = def.clone();
        loop {
            let carried = self.carry_states(&def);
            if carried == def {
                return Ok(def);
            }
            if carry_states::carries_tensors(&carried) {
                self.carried.insert(def.fun.name.clone());
            }
            let simple = self.simplest(carried)?;
            def = self.shared(&simple, &[])?;
        }
    }

    fn carry_states(&mut self, def: &Def) -> Def {
        let (effects, supply) = (&self.effects, &mut self.program.supply);
        self.watch.steps("carry_states", def, supply, |supply, rewrites| {
            carry_states::carry_states(def, effects, supply, rewrites)
        })
    }

    fn without_dead_after_merging(&mut self, def: &Def) -> Def {
        let (effects, supply) = (&self.effects, &mut self.program.supply);
        self.watch.steps("dce", def, supply, |_, rewrites| dce::dce_after_merging(def, effects, rewrites))
    }

    fn fuse_sums(&mut self, def: &Def) -> Def {
        let (effects, supply) = (&self.effects, &mut self.program.supply);
        let share = |e: &Expr| cse::cse_of_term(e, effects);
        self.watch.steps("fuse_sums", def, supply, |supply, rewrites| {
            fuse_sums::fuse_sums(def, effects, supply, rewrites, &share)
        })
    }

    /// Returns the record's type for each function that is called both for its value and for its reverse derivative;
    /// its two halves are made for the purpose.
    fn records(&mut self, def: &Def) -> Result<merge_calls::Records, Error> {
        let mut called = Vec::new();
        call_order::calls(&def.body, &mut called);
        let mut records = FxHashMap::default();
        for (derivative, of) in called.iter().filter_map(FunName::underived) {
            let value = of.unrestricted();
            // A value beside a derivative is as good as whole: halves are for what recursion makes of it.
            let is_recursive =
                || self.program.defs.contains_key(&value) && call_order::is_recursive(&self.program, &value);
            let has_halves = match derivative {
                Derivative::Rev => true,
                Derivative::Vjp => is_recursive(),
                Derivative::D
                | Derivative::Dt
                | Derivative::Tupled
                | Derivative::Polymorphic
                | Derivative::PolymorphicR
                | Derivative::Dual => false,
                Derivative::Fwd | Derivative::Jvp | Derivative::Shape | Derivative::Cl | Derivative::Wrt(_) => false,
                Derivative::SufFwdPass | Derivative::SufRevPass | Derivative::SufRev => false,
                Derivative::Grad | Derivative::Hvp | Derivative::Hess => false,
                Derivative::Jac | Derivative::JacFwd | Derivative::JacRev => false,
            };
            let generated = has_halves && !self.written.contains(&of.derived(Derivative::Rev));
            if called.contains(&value) && generated && !records.contains_key(&of) {
                let record = self.record(&of)?;
                let fun = self.program.defs[&value].fun.clone();
                records.insert(of, (fun, record));
            }
        }
        Ok(records)
    }

    /// Returns the type of a function's record. That of a recursive function has a name only: its two halves, which
    /// call themselves, may be in the making.
    pub(in crate::derive) fn record(&mut self, name: &FunName) -> Result<Type, Error> {
        // Recursion of a derivative shows only when all its callees exist.
        self.require(&name.unrestricted())?;
        if call_order::is_recursive(&self.program, &name.unrestricted()) {
            return Ok(Type::Record(Arc::new(name.clone())));
        }
        self.require(&name.derived(Derivative::SufRevPass))?;
        let forward = &self.program.defs[&name.derived(Derivative::SufFwdPass)];
        let pair = forward.body.ty().as_tuple().expect("a value and a record");
        Ok(pair[1].clone())
    }

    /// Simplifies until nothing changes, or for a few rounds.
    pub(in crate::derive) fn simplest(&mut self, def: Def) -> Result<Def, Error> {
        const ROUNDS: usize = 4;
        let mut def = def;
        for _ in 0..ROUNDS {
            let simpler = self.simplified(&def, "values")?;
            if simpler == def {
                break;
            }
            def = simpler;
        }
        Ok(def)
    }

    pub(in crate::derive) fn with_destinations(&mut self, def: &Def) -> Def {
        let recursive = |f: &FunName| {
            let f = f.unrestricted();
            call_order::is_recursive(&self.program, &f).then(|| self.program.defs[&f].fun.clone())
        };
        let is_recursive = |f: &FunName| recursive(f).is_some();
        let facts = Facts { is_recursive: &is_recursive, ..Facts::new(&self.effects) };
        // The pass makes no variables.
        self.watch.steps_with("add_destinations", def, &mut Supply::default(), &facts, |_, rewrites| {
            add_destinations::add_destinations(def, &recursive, rewrites)
        })
    }

    pub(in crate::derive) fn tidied(&mut self, def: &Def) -> Def {
        let once = self.simplified(def, "values").expect("the laws of values end");
        let once = self.without_dead_after_merging(&once);
        // Simplifies terms that inlining brings together, such as a component of a tuple.
        let tidy = self.simplified(&once, "values").expect("the laws of values end");
        let supply = &mut self.program.supply;
        let tidy = self.watch.steps("sink_one_hots", &tidy, supply, |supply, rewrites| {
            sink_one_hots::sink_one_hots(&tidy, supply, rewrites)
        });
        let tidy =
            self.watch.steps("split_pairs", &tidy, supply, |_, rewrites| split_pairs::split_pairs(&tidy, rewrites));
        let tidy = self.with_destinations(&tidy);
        let tidy = self.watch.steps("add_destinations", &tidy, &mut Supply::default(), |_, rewrites| {
            add_destinations::sums_in_destinations(&tidy, rewrites)
        });
        let supply = &mut self.program.supply;
        let tidy = self.watch.makes("number_temporaries", || number_temporaries::number_temporaries(&tidy, supply));
        checked("number_temporaries", tidy, |d| forms::with_map(&d.body).is_none())
    }
}

/// Returns whether a function is called for its value and, by another call, for a derivative.
fn repeats_calls(def: &Def) -> bool {
    let mut called = Vec::new();
    call_order::calls(&def.body, &mut called);
    let of = |name: &FunName| match name.underived()? {
        (Derivative::Fwd | Derivative::Rev | Derivative::Jvp | Derivative::Vjp | Derivative::SufFwdPass, of) => {
            Some(of)
        }
        (_, _) => None,
    };
    called.iter().filter_map(of).any(|of| called.contains(&of.unrestricted()))
}
