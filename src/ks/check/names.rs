//! Names of functions as written.
//!
//! ```text
//! f | [f T] | [derivation f] | [derivation [f T]] | ...
//! ```
//!
//! and in calls, where no function of the literal name exists, the old spellings `fwd$f`, `add@ff`.

use crate::derive::typing;
use crate::ks::check::checker::Checker;
use crate::ks::check::error;
use crate::ks::check::types::looks_like_type;
use crate::ks::reader::{Sexp, Shape};
use lm::term::{FunName, Span};
use lm::types::Type;
use std::sync::Arc;

const RESERVED: [&str; 13] =
    ["def", "edef", "gdef", "rule", "let", "if", "assert", "lam", "tuple", "true", "false", ":", "$dummy"];

/// The most derivatives of derivatives that one name may ask for. The types of each have twice the parts of those of the
/// one before.
pub(super) const MOST_DERIVATIVES: usize = 12;

/// Returns whether a name is a word of the grammar.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name) || is_projection(name)
}

/// Returns whether a name is of the family `get$i$n`.
pub(super) fn is_projection(name: &str) -> bool {
    name.starts_with("get$") || name.starts_with("lmGet$")
}

/// Returns the i and n of `get$i$n`, with 1 <= i <= n.
pub fn projection(indices: &str) -> Option<(usize, usize)> {
    let (i, n) = indices.split_once('$')?;
    let (i, n) = (i.parse().ok()?, n.parse().ok()?);
    (1 <= i && i <= n).then_some((i, n))
}

impl Checker {
    /// Returns a function's name: a symbol or a bracket.
    pub(super) fn fun_name(&mut self, s: &Sexp) -> Option<FunName> {
        match &s.shape {
            Shape::Symbol(name) if is_reserved(name) => self.fail(error::reserved(name), s.span),
            Shape::Symbol(name) => Some(FunName::base(name)),
            Shape::Bracket(items) => self.structured_name(items, s.span),
            Shape::Bad => None,
            Shape::Float(_) | Shape::Integer(_) | Shape::String(_) | Shape::List(_) => self.malformed_name(s.span),
        }
    }

    fn structured_name(&mut self, items: &[Sexp], span: Span) -> Option<FunName> {
        let [first, second] = items else { return self.malformed_name(span) };
        let Shape::Symbol(head) = &first.shape else { return self.malformed_name(span) };
        if looks_like_type(second) {
            let base = self.fun_name(first);
            let ty = self.ty(second);
            let ty = self.supported_type(ty, second.span)?;
            return Some(FunName { overload: Some(ty), ..base? });
        }
        let inner = self.fun_name(second);
        let Ok(derivative) = head.parse() else {
            let suggestion = self.suggestions.closest(head, typing::words());
            let error = match head.starts_with("wrt") {
                true => error::no_places(head),
                false => error::unknown_derivative(head, suggestion),
            };
            return self.fail(error, first.span);
        };
        self.not_too_deep(inner?.derived(derivative), span)
    }

    /// Reports a name that asks for too many derivatives of derivatives.
    pub(super) fn not_too_deep(&mut self, name: FunName, span: Span) -> Option<FunName> {
        match name.derivations.len() {
            0..=MOST_DERIVATIVES => Some(name),
            _ => self.fail(error::nested_derivatives(&name.base, MOST_DERIVATIVES), span),
        }
    }

    fn malformed_name<T>(&mut self, span: Span) -> Option<T> {
        let grammar = "f, [f T], [derivation f] or [derivation [f T]]";
        self.fail(error::malformed("function name", grammar), span)
    }
}

/// Returns the function an old spelling means: `fwd$f`, `add@ff`, `rev$mul@ff`.
pub fn old_spelling(name: &str) -> Option<FunName> {
    let mut derivations = Vec::new();
    let mut rest = name;
    while let Some((word, inner)) = rest.split_once('$')
        && let Ok(derivative) = word.parse()
        && !inner.is_empty()
    {
        derivations.push(derivative);
        rest = inner;
    }
    let inner = overloaded(rest).or_else(|| (!derivations.is_empty()).then(|| FunName::base(rest)))?;
    Some(FunName { derivations, ..inner })
}

/// Returns the function that `add@ff` means.
fn overloaded(name: &str) -> Option<FunName> {
    let (base, mangled) = name.rsplit_once('@')?;
    let overload = Some(unmangle(mangled)?);
    (!base.is_empty()).then(|| FunName { overload, ..FunName::base(base) })
}

/// `f` Float, `i` Integer, `b` Bool, `v` Vec of what follows; several are a tuple.
fn unmangle(mangled: &str) -> Option<Type> {
    let mut parts = Vec::new();
    let mut vectors = 0;
    for c in mangled.chars() {
        let scalar = match c {
            'v' => {
                vectors += 1;
                continue;
            }
            'f' => Type::Float,
            'i' => Type::Integer,
            'b' => Type::Bool,
            _ => return None,
        };
        parts.push((0..vectors).fold(scalar, |ty, _| Type::vec(ty)));
        vectors = 0;
    }
    match parts.len() {
        _ if vectors > 0 => None,
        0 => None,
        1 => parts.pop(),
        _ => Some(Type::tuple(parts)),
    }
}

/// Returns a name as a shared string.
pub(super) fn symbol(s: &Sexp) -> Option<&Arc<str>> {
    match &s.shape {
        Shape::Symbol(name) => Some(name),
        _ => None,
    }
}
