//! Signatures: the name and the types of the function that each definition defines.

use crate::derive::Derivation;
use crate::derive::typing;
use crate::ks::check::builtins::{self, builtin_arguments, builtin_function};
use crate::ks::check::checker::Checker;
use crate::ks::check::error;
use crate::ks::check::functions::Entry;
use crate::ks::check::head::Header;
use crate::ks::check::terms::argument_type;
use lm::term::{Derivative, Fun, FunName, Span};
use lm::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

impl Checker {
    /// Enters all definitions; for each, its function when it is a good one.
    pub(super) fn signatures(&mut self, headers: &[Header]) -> Vec<Option<Arc<Fun>>> {
        let groups = groups(headers);
        let mut funs: Vec<Option<Arc<Fun>>> = headers.iter().map(|h| self.written(h, &groups)).collect();
        for (header, fun) in headers.iter().zip(&mut funs) {
            if fun.is_none() {
                *fun = self.derivative(header);
            }
        }
        funs
    }

    /// Returns the function of a definition that is no derivative.
    fn written(&mut self, header: &Header, groups: &Groups) -> Option<Arc<Fun>> {
        let name = header.name.as_ref().filter(|name| name.derivations.is_empty())?;
        let (params, result) = (header.types()?, header.result.clone()?);
        let fun = Fun { name: name.clone(), params, result };
        self.fits_overload(&fun, header.span)?;
        let overload =
            name.overload.clone().or_else(|| is_overloaded(header, &groups[&name.base]).then(|| fun.argument()));
        let fun = Arc::new(Fun { name: FunName { overload, ..name.clone() }, ..fun });
        if *name.base == *"main" && (!fun.params.is_empty() || fun.result != Type::Integer) {
            self.fail::<()>(error::wrong_main(), header.span);
        }
        let entry = Entry { fun: fun.clone(), span: header.span, is_prelude: header.is_prelude };
        match self.functions.add(entry) {
            Ok(()) => Some(fun),
            Err(_) if header.is_prelude => None,
            Err(old) => self.duplicate(&fun, header.span, old.span),
        }
    }

    /// `[f T]` must be a function of T.
    fn fits_overload(&mut self, fun: &Fun, span: Span) -> Option<()> {
        match &fun.name.overload {
            Some(ty) if *ty != fun.argument() => {
                let (name, found) = (fun.name.to_string(), arrow(fun));
                let expected = format!("`{ty} -> {}`", fun.result);
                self.fail(error::wrong_derivative(name, &expected, &found), span)
            }
            Some(_) | None => Some(()),
        }
    }

    /// Returns the function of a derivative written by hand, with the parameters that all calls give it.
    fn derivative(&mut self, header: &Header) -> Option<Arc<Fun>> {
        let name = header.name.as_ref().filter(|name| !name.derivations.is_empty())?;
        let (params, result) = (header.types()?, header.result.clone()?);
        let found = Fun { name: name.clone(), params, result };
        let fun = Arc::new(self.demanded(name, &found, header.span)?);
        if fun.argument() != found.argument() || fun.result != found.result {
            let (name, expected, found) = (fun.name.to_string(), arrow(&fun), arrow(&found));
            return self.fail(error::wrong_derivative(name, &expected, &found), header.span);
        }
        match self.functions.add_derived(Entry { fun: fun.clone(), span: header.span, is_prelude: false }) {
            Ok(()) => Some(fun),
            Err(old) => self.duplicate(&fun, header.span, old.span),
        }
    }

    /// Returns the type that the function requires of its derivative `found`.
    fn demanded(&mut self, name: &FunName, found: &Fun, span: Span) -> Option<Fun> {
        if self.functions.is_broken(&name.base) {
            return None;
        }
        if !self.is_function(&name.base) {
            return if self.options.orphan_derivatives { Some(found.clone()) } else { self.unknown(&name.base, span) };
        }
        if self.is_second_order(name) {
            return self.fail(error::derivative_of_second_order(&name.base), span);
        }
        let base = typing::base_argument(&name.derivations, &found.argument());
        let base = base
            .and_then(|s| self.base_function(name, &s))
            .or_else(|| self.only_overload(name))
            .or_else(|| only_builtin(name));
        // The record of a half is what its user says; whether both halves agree is seen later.
        let argument = found.argument();
        let said = match (argument.as_tuple(), found.result.as_tuple()) {
            (_, Some(parts)) if is_first_half(name) => parts.get(1),
            (Some([_, record]), _) => Some(record),
            _ => None,
        };
        let said = said.cloned().unwrap_or(Type::unit());
        match base {
            Some(base) => {
                self.has_gradient(name, &base, span)?;
                let mut record = |f: &Fun| match f.name.derivations.len() + 1 == name.derivations.len() {
                    true => Some(said.clone()),
                    false => self.record(f, span),
                };
                typing::derive_all(&name.derivations, &base, &mut record)
            }
            None => {
                let candidates = self.functions.overloads(&name.base).iter();
                let mut record = |_: &Fun| Some(said.clone());
                let derived = candidates.filter_map(|e| typing::derive_all(&name.derivations, &e.fun, &mut record));
                let expected = derived.map(|fun| arrow(&fun)).collect::<Vec<_>>().join(" or ");
                let expected = if expected.is_empty() { "that of the built-in".into() } else { expected };
                self.fail(error::wrong_derivative(name, &expected, &arrow(found)), span)
            }
        }
    }

    /// Returns the function that a derivative's name means when f takes the argument type `s`.
    pub(super) fn base_function(&self, name: &FunName, s: &Type) -> Option<Fun> {
        if name.overload.as_ref().is_some_and(|ty| ty != s) {
            return None;
        }
        match self.functions.select(&name.base, s) {
            Some(entry) => Some((*entry.fun).clone()),
            None => builtin_function(&name.base, s),
        }
    }

    /// Returns the function that a name means when there is no choice.
    pub(super) fn only_overload(&self, name: &FunName) -> Option<Fun> {
        let fits = |e: &&Entry| name.overload.as_ref().is_none_or(|ty| *ty == e.fun.argument());
        let mut fitting = self.functions.overloads(&name.base).iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Some((*only.fun).clone()),
            _ => None,
        }
    }

    /// Files the derivation that a `gdef` chooses for a function. What is wrong with the name is reported by
    /// [`Checker::requested`].
    pub(super) fn choose(&mut self, name: &FunName, derivation: Option<Derivation>, span: Span) {
        let (Some(fun), Some(derivation)) = (self.only_overload(name), derivation) else { return };
        let before = self.checked.chosen.insert(fun.name.clone(), derivation);
        if let Some(before) = before.filter(|before| *before != derivation) {
            let (first, second) = (before.name(), derivation.name());
            self.fail::<()>(error::two_derivations(&fun.name, first, second), span);
        }
    }

    /// Returns the derivative a `gdef` asks for.
    pub(super) fn requested(&mut self, name: FunName, span: Span) -> Option<FunName> {
        if self.is_second_order(&name) {
            return self.fail(error::derivative_of_second_order(&name.base), span);
        }
        let candidates: Vec<String> =
            self.functions.overloads(&name.base).iter().map(|e| e.fun.name.to_string()).collect();
        match self.only_overload(&name) {
            Some(fun) => {
                self.has_gradient(&name, &fun, span)?;
                Some(FunName { overload: fun.name.overload, ..name })
            }
            None if self.functions.is_broken(&name.base) => None,
            None if candidates.len() > 1 => self.fail(error::ambiguous(&name.base, &candidates), span),
            None if builtins::rows(&name.base).next().is_some() => self.requested_of_builtin(name, span),
            None => {
                let shown = name.as_written().to_string();
                self.unknown(&shown, span)
            }
        }
    }

    /// Returns the derivative of a built-in that a `gdef` asks for.
    fn requested_of_builtin(&mut self, name: FunName, span: Span) -> Option<FunName> {
        let arguments = builtin_arguments(&name);
        let [argument] = arguments.as_slice() else {
            let candidates: Vec<String> = arguments.iter().map(|ty| format!("[{} {ty}]", name.base)).collect();
            return self.fail(error::ambiguous(&name.base, &candidates), span);
        };
        match builtin_function(&name.base, argument) {
            Some(fun) => {
                let base = self.defined_builtin(&fun, span)?;
                Some(FunName { overload: base.name.overload.clone(), ..name })
            }
            None => {
                let shown = name.as_written().to_string();
                self.unknown(&shown, span)
            }
        }
    }

    fn duplicate<T>(&mut self, fun: &Fun, span: Span, first: Span) -> Option<T> {
        let name = FunName { overload: None, ..fun.name.clone() };
        let error = error::duplicate_definition(name, &fun.argument());
        self.fail(error.related(first, "first defined here"), span)
    }
}

/// Returns the built-in that a name means when there is no choice.
fn only_builtin(name: &FunName) -> Option<Fun> {
    match builtin_arguments(name).as_slice() {
        [argument] => builtin_function(&name.base, argument),
        _ => None,
    }
}

/// The definitions of each name that are no derivatives.
type Groups<'a> = FxHashMap<Arc<str>, Group<'a>>;

#[derive(Default)]
struct Group<'a> {
    size: usize,
    of_prelude: Vec<&'a Header<'a>>,
}

fn groups<'a>(headers: &'a [Header]) -> Groups<'a> {
    let mut groups = Groups::default();
    for header in headers {
        let Some(name) = header.name.as_ref().filter(|name| name.derivations.is_empty()) else { continue };
        let group: &mut Group = groups.entry(name.base.clone()).or_default();
        group.size += 1;
        group.of_prelude.extend(header.is_prelude.then_some(header));
    }
    groups
}

/// Returns whether several functions share the name, so that it needs the argument type.
///
/// The prelude's functions, and those that replace them, keep the plain name: derivatives of
/// primitives refer to them by it.
fn is_overloaded(header: &Header, group: &Group) -> bool {
    let argument = |h: &Header| h.types().map(|types| argument_type(&types));
    let stands_for_prelude = group.of_prelude.iter().any(|h| argument(h) == argument(header));
    !stands_for_prelude && group.size > 1
}

/// Returns whether a name's outermost derivation is the first half.
fn is_first_half(name: &FunName) -> bool {
    name.derivative() == Some(&Derivative::SufFwdPass)
}

fn arrow(fun: &Fun) -> String {
    format!("`{} -> {}`", fun.argument(), fun.result)
}
