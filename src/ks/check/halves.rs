//! The halves of reverse derivatives: `[suffwdpass f] : S -> (T, B)` and `[sufrevpass f] : (dT, B) -> dS`.
//!
//! B, the type of what the first half records for the second, is known only from the derivation itself,
//! which needs f and all that f calls, checked. So definitions that call the halves of f are checked after
//! those that f needs.

use crate::derive::typing;
use crate::ks::check::checker::Checker;
use crate::ks::check::head::Header;
use crate::ks::check::names::{old_spelling, symbol};
use crate::ks::check::{builtins, error};
use crate::ks::reader::{Sexp, Shape};
use indexmap::IndexSet;
use lm::term::{Derivative, Fun, FunName, Span};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

impl Checker {
    /// Returns the B of a function; `None` where there is none, which is reported.
    pub(super) fn record(&mut self, f: &Fun, span: Span) -> Option<Type> {
        let written = |half: Derivative| self.functions.derivative(&f.name.derived(half));
        if let Some(first) = written(Derivative::SufFwdPass) {
            return first.fun.result.as_tuple().and_then(|parts| parts.get(1)).cloned();
        }
        // A stage of a derivation may have the second half alone.
        if let Some(second) = written(Derivative::SufRevPass) {
            return second.fun.params.get(1).cloned();
        }
        if let Some(known) = self.records.get(&f.name) {
            return known.clone();
        }
        let record = self.derived_record(f, span);
        self.records.insert(f.name.clone(), record.clone());
        record
    }

    fn derived_record(&mut self, f: &Fun, span: Span) -> Option<Type> {
        let mut f = f.clone();
        let base = f.name.as_written();
        if self.functions.overloads(&base.base).is_empty() {
            let of_builtin = self.only_argument_of(&f)?;
            f.name.overload = self.defined_builtin(&of_builtin, span)?.name.overload;
        } else if !self.checked.program.has(&base) && !self.checked.prelude.contains_key(&base) {
            let half = f.name.derived(Derivative::SufFwdPass).to_string();
            return if self.unsound.contains(&base) { None } else { self.fail(error::unknown_record(half), span) };
        }
        let record = self.options.record?;
        let mut checked = self.checked.clone();
        checked.program.defs.extend(self.copies.defs().map(|def| (def.fun.name.clone(), def.clone())));
        checked.program.supply = self.supply.clone();
        match record(checked, &f.name) {
            Ok(record) => Some(record),
            Err(error) => self.fail(*error, span),
        }
    }

    /// Returns f if it is a built-in, or the built-in that f is a derivative of.
    fn only_argument_of(&self, f: &Fun) -> Option<Fun> {
        let argument = typing::base_argument(&f.name.derivations, &f.argument())?;
        builtins::builtin_function(&f.name.base, &argument)
    }

    /// Reports halves by hand without the other half, or for another record.
    pub(super) fn check_halves(&mut self, headers: &[Header], funs: &[Option<Arc<Fun>>]) {
        if !self.options.orphan_derivatives {
            self.check_pairs(headers, funs);
        }
        let seconds: Vec<(Arc<Fun>, Span)> = self.functions.second_halves().collect();
        for (second, span) in seconds {
            let mut first = second.name.clone();
            first.derivations[0] = Derivative::SufFwdPass;
            let record = self.functions.derivative(&first).and_then(|e| e.fun.result.as_tuple()?.get(1).cloned());
            if let Some(record) = record.filter(|record| *record != second.params[1]) {
                let name = second.name.to_string();
                let expected = format!("`{} -> {}`", Type::tuple([second.params[0].clone(), record]), second.result);
                let found = format!("`{} -> {}`", second.argument(), second.result);
                self.fail::<()>(error::wrong_derivative(name, &expected, &found), span);
            }
        }
    }

    /// Reports halves by hand without the other half. `[suffwdpass f]` and `[sufrevpass [f T]]` make a pair, if f of T
    /// is the function that both mean. A wrong half counts as written.
    fn check_pairs(&mut self, headers: &[Header], funs: &[Option<Arc<Fun>>]) {
        let meant: FxHashSet<&FunName> = funs.iter().flatten().map(|fun| &fun.name).collect();
        let wrong = headers.iter().zip(funs).filter(|(_, fun)| fun.is_none());
        let wrong: FxHashSet<_> =
            wrong.filter_map(|(h, _)| h.name.as_ref()).map(|n| (&n.base, &n.derivations)).collect();
        for (header, fun) in headers.iter().zip(funs) {
            let Some(fun) = fun else { continue };
            let Some(half) = fun.name.derivative().and_then(Derivative::other_half) else { continue };
            let mut partner = fun.name.clone();
            partner.derivations[0] = half;
            if !meant.contains(&partner) && !wrong.contains(&(&partner.base, &partner.derivations)) {
                self.fail::<()>(error::one_half(&fun.name, partner), header.span);
            }
        }
    }
}

/// Returns the definitions in the order of checking: source order, but definitions that call halves come last, each
/// after all that the functions of these halves need. Those that need themselves come in any order.
pub fn order(headers: &[Header]) -> Vec<usize> {
    let mentions: Vec<Mentions> = headers.iter().map(|h| h.body.map(Mentions::of).unwrap_or_default()).collect();
    let mut named: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (i, header) in headers.iter().enumerate() {
        header.name.iter().for_each(|name| named.entry(&name.base).or_default().push(i));
    }
    let calls_halves = |i: &usize| mentions[*i].halves.iter().any(|name| named.contains_key(&**name));
    let (last, first): (Vec<usize>, Vec<usize>) = (0..headers.len()).partition(calls_halves);
    let mut done: IndexSet<usize> = first.into_iter().collect();
    let mut visited: FxHashSet<usize> = FxHashSet::default();
    // A definition is on the stack twice: to be entered, then to be left, when all that it mentions is done.
    let mut stack: Vec<(usize, bool)> = last.into_iter().rev().map(|i| (i, false)).collect();
    while let Some((i, is_left)) = stack.pop() {
        if is_left {
            done.insert(i);
        } else if visited.insert(i) {
            stack.push((i, true));
            let needed = mentions[i].names.iter().filter_map(|name| named.get(&**name)).flatten();
            stack.extend(needed.filter(|j| !visited.contains(*j)).map(|&j| (j, false)));
        }
    }
    done.into_iter().collect()
}

/// The names in a body, and the functions whose halves occur in it.
#[derive(Default)]
struct Mentions {
    names: IndexSet<Arc<str>>,
    halves: IndexSet<Arc<str>>,
}

impl Mentions {
    fn of(body: &Sexp) -> Mentions {
        let mut mentions = Mentions::default();
        mentions.collect(body, false);
        mentions
    }

    fn collect(&mut self, s: &Sexp, is_of_half: bool) {
        match &s.shape {
            Shape::Symbol(name) => {
                let old = old_spelling(name);
                let is_half = is_of_half || old.iter().flat_map(|n| &n.derivations).any(Derivative::is_half);
                let base = old.map_or(name.clone(), |n| n.base);
                self.names.extend([name.clone(), base.clone()]);
                if is_half {
                    self.halves.insert(base);
                }
            }
            Shape::List(items) => items.iter().for_each(|item| self.collect(item, false)),
            Shape::Bracket(items) => {
                let is_half = items.first().and_then(symbol).is_some_and(|word| is_half(word));
                items.iter().for_each(|item| self.collect(item, is_of_half || is_half));
            }
            Shape::Float(_) | Shape::Integer(_) | Shape::String(_) | Shape::Bad => {}
        }
    }
}

fn is_half(word: &str) -> bool {
    word.parse().is_ok_and(|derivative: Derivative| derivative.is_half())
}
