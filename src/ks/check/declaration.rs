//! Declarations as written: the head of each definition, before any body is looked at.
//!
//! ```text
//! (def name T params body)    (gdef derivation name)    (edef name T (S ...))
//! (rule "name" params template replacement)
//! ```

use crate::derive::Derivation;
use crate::derive::typing;
use crate::ks::check::builtins::PRIMITIVE_PREFIX;
use crate::ks::check::checker::Checker;
use crate::ks::check::declared::is_of_builtin;
use crate::ks::check::error;
use crate::ks::check::head::{Header, Item, Param, RuleHead};
use crate::ks::check::names::{is_reserved, symbol};
use crate::ks::check::sizes::names;
use crate::ks::check::types::is_constructor;
use crate::ks::reader::{Sexp, Shape};
use lm::sizes::SizedType;
use lm::term::{Fun, FunName, Span};
use lm::types::Type;
use std::sync::Arc;

/// Lets a type pass, or reports it.
pub type Admit = fn(&mut Checker, Option<Type>, Span) -> Option<Type>;

const DEF: &str = "(def name Type ((x : Type) ...) body)";
const EDEF: &str = "(edef name Type (Type ...))";
const RULE: &str = "(rule \"name\" ((x : Type) ...) template replacement)";
const GDEF: &str = "(gdef derivative [name Type])";

impl Checker {
    /// Checks a top-level form; `None` when it says nothing new, or nothing that can be checked, which is reported.
    pub(super) fn declaration<'a>(&mut self, form: &'a Sexp, is_prelude: bool) -> Option<Item<'a>> {
        let Shape::List(items) = &form.shape else {
            let is_reported = form.shape == Shape::Bad;
            return if is_reported { None } else { self.malformed("definition", DEF, form.span) };
        };
        match items.first().and_then(symbol).map(|word| &**word) {
            Some("def") => self.def(items, form.span, is_prelude).map(Item::Def),
            Some("gdef") => self.gdef(items, form.span),
            Some("edef") => self.edef(items, form.span).map(Item::Def),
            Some("rule") => self.rule_head(items, form.span).map(Item::Rule),
            _ => self.malformed("definition", DEF, form.span),
        }
    }

    fn def<'a>(&mut self, items: &'a [Sexp], span: Span, is_prelude: bool) -> Option<Header<'a>> {
        let [_, name, result, params, body] = items else {
            self.disown(items);
            return self.malformed("definition", DEF, span);
        };
        let sized = self.sized_type(result);
        let mut header = Header {
            name: self.defined_name(name),
            result: self.supported_type(sized.as_ref().map(SizedType::erased), result.span),
            params: self.params(params, Checker::parameter_type),
            signature: None,
            lost_sizes: Vec::new(),
            body: Some(body),
            span: name.span,
            is_prelude,
        };
        if let (Some(params), Some(sized)) = (&header.params, &sized) {
            match self.signature(params, sized, result.span) {
                Some(signature) => header.signature = signature,
                None => {
                    let types = params.iter().filter_map(|p| p.sized.as_ref()).chain([sized]);
                    header.lost_sizes = types.flat_map(names).collect();
                    header.result = None;
                }
            }
        }
        if header.result.is_none() || header.types().is_none() {
            self.disown(items);
        }
        Some(header)
    }

    /// Checks `(edef name T (S1 .. Sn))`, `(edef name T S)`; `None` also when it declares what is built in.
    fn edef<'a>(&mut self, items: &'a [Sexp], span: Span) -> Option<Header<'a>> {
        let [_, name, result, params] = items else {
            self.disown(items);
            return self.malformed("external definition", EDEF, span);
        };
        let params = match &params.shape {
            Shape::List(items) if !items.first().is_some_and(is_constructor) => items,
            _ => std::slice::from_ref(params),
        };
        let types: Vec<Option<Type>> = params.iter().map(|s| self.ty(s)).collect();
        let result_type = self.ty(result);
        let name_span = name.span;
        let name = self.defined_name(name);
        if let (Some(name), Some(params), Some(result)) = (&name, types.iter().cloned().collect(), &result_type)
            && is_of_builtin(&Fun { name: name.clone(), params, result: result.clone() })
        {
            return None;
        }
        let result = self.supported_type(result_type, result.span);
        let supported = |(ty, s): (Option<Type>, &Sexp)| {
            let ty = self.supported_type(ty, s.span);
            let sized = ty.as_ref().map(SizedType::any);
            Param { name: "x".into(), ty, sized, span: s.span }
        };
        let params = Some(types.into_iter().zip(params).map(supported).collect());
        let (signature, lost_sizes, is_prelude) = (None, Vec::new(), false);
        let header = Header { name, result, params, signature, lost_sizes, body: None, span: name_span, is_prelude };
        if header.result.is_none() || header.types().is_none() {
            self.disown(items);
        }
        Some(header)
    }

    fn defined_name(&mut self, s: &Sexp) -> Option<FunName> {
        let name = self.fun_name(s)?;
        match name.base.starts_with(PRIMITIVE_PREFIX) {
            true if name.derivations.is_empty() => self.fail(error::reserved(&name.base), s.span),
            true | false => Some(name),
        }
    }

    /// Notes that the definition with these parts is broken, so that calls of it are not judged.
    fn disown(&mut self, items: &[Sexp]) {
        let reported = self.errors.len();
        let name = items.get(1).and_then(|name| self.fun_name(name));
        self.errors.truncate(reported);
        if let Some(name) = name.filter(|name| name.derivations.is_empty()) {
            self.functions.add_broken(name.base);
        }
    }

    fn params(&mut self, s: &Sexp, admit: Admit) -> Option<Vec<Param>> {
        let Shape::List(items) = &s.shape else { return self.malformed("parameter list", DEF, s.span) };
        let params = if is_param(items) { std::slice::from_ref(s) } else { items };
        let params: Vec<(Option<Param>, Span)> = params.iter().map(|p| (self.param(p, admit), p.span)).collect();
        let named = params.iter().filter_map(|(p, span)| Some((p.as_ref()?.name.clone(), *span)));
        self.distinct(&named.collect::<Vec<_>>(), "parameter list");
        params.into_iter().map(|(param, _)| param).collect()
    }

    /// Checks `(x : T)`, where the rest of the compiler can take the type: `admit` reports it otherwise.
    pub(super) fn param(&mut self, s: &Sexp, admit: Admit) -> Option<Param> {
        let Shape::List(items) = &s.shape else { return self.malformed("parameter", "(x : Type)", s.span) };
        match items.as_slice() {
            [inner @ Sexp { shape: Shape::List(_), .. }] => self.param(inner, admit),
            [name, _, ty @ ..] if is_param(items) && !ty.is_empty() => {
                let span = Span { start: ty[0].span.start, end: ty[ty.len() - 1].span.end };
                let name = self.binder(name);
                let sized = self.type_in_row(ty, span);
                let ty = admit(self, sized.as_ref().map(SizedType::erased), span);
                Some(Param { name: name?, ty, sized, span })
            }
            _ => self.malformed("parameter", "(x : Type)", s.span),
        }
    }

    /// Returns the name of a variable where it is bound.
    pub(super) fn binder(&mut self, s: &Sexp) -> Option<Arc<str>> {
        match symbol(s) {
            Some(name) if is_reserved(name) => self.fail(error::reserved(name), s.span),
            Some(name) => Some(name.clone()),
            None if s.shape == Shape::Bad => None,
            None => self.malformed("variable name", "x", s.span),
        }
    }

    /// Reports names that are bound twice in one pattern or list. `_` may occur many times.
    pub(super) fn distinct(&mut self, names: &[(Arc<str>, Span)], what: &'static str) {
        let mut first = indexmap::IndexMap::new();
        for (name, span) in names.iter().filter(|(name, _)| &**name != "_") {
            match first.get(name) {
                None => {
                    first.insert(name, *span);
                }
                Some(before) => {
                    let error = error::duplicate_variable(name, what).related(*before, "first bound here");
                    self.fail::<()>(error, *span);
                }
            }
        }
    }

    fn gdef<'a>(&mut self, items: &[Sexp], span: Span) -> Option<Item<'a>> {
        let (derivative, name, way) = match items {
            [_, derivative, name] => (derivative, name, None),
            [_, derivative, name, way] => (derivative, name, Some(way)),
            _ => return self.malformed("`gdef`", GDEF, span),
        };
        let Some(word) = symbol(derivative) else { return self.malformed("`gdef`", GDEF, span) };
        let name = self.fun_name(name)?;
        let Ok(derived) = word.parse() else {
            let suggestion = self.suggestions.closest(word, typing::words());
            return self.fail(error::unknown_derivative(word, suggestion), derivative.span);
        };
        let derivation = match way.map(|way| (way.span, symbol(way))) {
            None => None,
            Some((_, None)) => return self.malformed("`gdef`", GDEF, span),
            Some((place, Some(word))) => match Derivation::named(word) {
                None => {
                    let known = Derivation::ALL.into_iter().map(Derivation::name);
                    let suggestion = self.suggestions.closest(word, known);
                    return self.fail(error::unknown_derivation(word, suggestion), place);
                }
                known => known,
            },
        };
        Some(Item::Gdef(self.not_too_deep(name.derived(derived), span)?, derivation, span))
    }

    /// Checks `(rule "name" params template replacement)`.
    fn rule_head<'a>(&mut self, items: &'a [Sexp], span: Span) -> Option<RuleHead<'a>> {
        let [_, name, params, template, replacement] = items else { return self.malformed("rule", RULE, span) };
        let Shape::String(text) = &name.shape else { return self.malformed("rule", RULE, name.span) };
        let params = self.params(params, Checker::parameter_type);
        for p in params.iter().flatten() {
            self.without_sizes(p.sized.clone(), p.span);
        }
        Some(RuleHead { name: text.clone(), params, template, replacement, span: name.span })
    }

    pub(super) fn malformed<T>(&mut self, what: &'static str, grammar: &'static str, span: Span) -> Option<T> {
        self.fail(error::malformed(what, grammar), span)
    }
}

/// Returns whether it looks like `(x : T)`.
pub(super) fn is_one_param(s: &Sexp) -> bool {
    matches!(&s.shape, Shape::List(items) if is_param(items))
}

fn is_param(items: &[Sexp]) -> bool {
    items.get(1).and_then(symbol).is_some_and(|colon| &**colon == ":")
}
