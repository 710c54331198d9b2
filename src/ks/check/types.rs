//! Types as written.
//!
//! ```text
//! T ::= Float | Integer | Bool | String | (Tuple T ...) | (Tensor d T) | (Vec T) | (Lam S T) | (LM S T) | (T)
//! ```
//!
//! `sizes/written.rs` has those with sizes.

use crate::ks::check::checker::Checker;
use crate::ks::check::error;
use crate::ks::reader::{Sexp, Shape};
use lm::sizes::SizedType;
use lm::term::Span;
use lm::types::Type;
use std::sync::Arc;

const SCALARS: [(&str, Type); 4] =
    [("Float", Type::Float), ("Integer", Type::Integer), ("Bool", Type::Bool), ("String", Type::String)];
const CONSTRUCTORS: [&str; 6] = ["Tuple", "Tensor", "Vec", "Fin", "Lam", "LM"];

/// Returns whether the s-expression can only be a type: a scalar's name or a compound in parentheses.
pub fn looks_like_type(s: &Sexp) -> bool {
    match &s.shape {
        Shape::Symbol(name) => SCALARS.iter().any(|(scalar, _)| *scalar == &**name),
        Shape::List(_) => true,
        Shape::Float(_) | Shape::Integer(_) | Shape::String(_) | Shape::Bracket(_) | Shape::Bad => false,
    }
}

/// Returns whether the s-expression is the first word of a compound type.
pub fn is_constructor(s: &Sexp) -> bool {
    matches!(&s.shape, Shape::Symbol(name) if CONSTRUCTORS.contains(&&**name))
}

/// Returns whether a name is that of a type, or the first word of one.
pub fn names_type(name: &str) -> bool {
    SCALARS.iter().any(|(scalar, _)| *scalar == name) || CONSTRUCTORS.contains(&name)
}

fn is_word(s: &Sexp, word: &str) -> bool {
    matches!(&s.shape, Shape::Symbol(name) if **name == *word)
}

impl Checker {
    /// Checks a type without sizes; `None` when it is wrong, which is reported.
    pub(super) fn ty(&mut self, s: &Sexp) -> Option<Type> {
        let ty = self.sized_type(s);
        self.without_sizes(ty, s.span)
    }

    /// Checks a type; `None` when it is wrong, which is reported.
    pub(super) fn sized_type(&mut self, s: &Sexp) -> Option<SizedType> {
        match &s.shape {
            Shape::Symbol(name) => self.scalar(name, s.span).map(|ty| SizedType::any(&ty)),
            Shape::List(items) => self.compound(items, s.span),
            Shape::Bad => None,
            Shape::Float(_) | Shape::Integer(_) | Shape::String(_) | Shape::Bracket(_) => self.malformed_type(s.span),
        }
    }

    /// Checks a type with or without its outer parentheses: `Vec Float`, `(Vec Float)`, `Tuple`, `(Tuple)`.
    pub(super) fn type_in_row(&mut self, items: &[Sexp], span: Span) -> Option<SizedType> {
        match items {
            [one] if !is_word(one, "Tuple") => self.sized_type(one),
            _ => self.compound(items, span),
        }
    }

    /// Returns the type if the rest of the compiler supports it; reports it otherwise.
    pub(super) fn supported_type(&mut self, ty: Option<Type>, span: Span) -> Option<Type> {
        let ty = ty?;
        match unsupported_part(&ty) {
            Some(what) => self.fail(error::not_supported(&format!("`{ty}`: {what} are")), span),
            None => Some(ty),
        }
    }

    /// Checks the type of a parameter of a definition, which may be a function.
    pub(super) fn parameter_type(&mut self, ty: Option<Type>, span: Span) -> Option<Type> {
        match &ty {
            Some(Type::Lam(s, t)) if unsupported_part(s).or_else(|| unsupported_part(t)).is_none() => ty,
            _ => self.supported_type(ty, span),
        }
    }

    fn scalar(&mut self, name: &str, span: Span) -> Option<Type> {
        if let Some(ty) = self.type_variable(name) {
            return Some(ty);
        }
        if let Some((_, ty)) = SCALARS.into_iter().find(|(scalar, _)| *scalar == name) {
            return Some(ty);
        }
        if CONSTRUCTORS.contains(&name) {
            return self.malformed_type(span);
        }
        let known = SCALARS.iter().map(|(scalar, _)| *scalar).chain(CONSTRUCTORS);
        let suggestion = self.suggestions.closest(name, known);
        self.fail(error::unknown_type(name, suggestion), span)
    }

    fn compound(&mut self, items: &[Sexp], span: Span) -> Option<SizedType> {
        let Some((first, rest)) = items.split_first() else { return self.malformed_type(span) };
        let name = match &first.shape {
            Shape::Symbol(name) => &**name,
            _ if rest.is_empty() => return self.sized_type(first),
            _ => return self.malformed_type(span),
        };
        match (name, rest) {
            ("Tuple", parts) => {
                let parts: Vec<Option<SizedType>> = parts.iter().map(|part| self.sized_type(part)).collect();
                Some(SizedType::Tuple(parts.into_iter().collect::<Option<Vec<_>>>()?))
            }
            // Only the compiler makes these, in stages of derivations.
            ("Record", [name]) => Some(SizedType::Plain(Type::Record(Arc::new(self.fun_name(name)?)))),
            ("Vec", [element]) => self.sized_type(element).map(|element| SizedType::tensor(1, element)),
            ("Vec", [size, element]) => self.sized_tensor(std::slice::from_ref(size), element),
            ("Tensor", [rank, element]) => self.tensor(rank, element),
            ("Fin", [limit]) => self.index_type(limit),
            ("Lam" | "LM", [s, t]) => {
                let (s, t) = (self.ty(s), self.ty(t));
                let build = if name == "LM" { Type::lm } else { Type::lam };
                Some(SizedType::Plain(build(s?, t?)))
            }
            (_, []) => self.scalar(name, first.span).map(|ty| SizedType::any(&ty)),
            _ if CONSTRUCTORS.contains(&name) => self.malformed_type(span),
            _ => {
                self.scalar(name, first.span)?;
                self.malformed_type(span)
            }
        }
    }

    fn tensor(&mut self, rank: &Sexp, element: &Sexp) -> Option<SizedType> {
        match &rank.shape {
            Shape::Integer(d @ 1..=64) => self.sized_type(element).map(|ty| SizedType::tensor(*d as usize, ty)),
            Shape::Bad => None,
            Shape::Symbol(_) if self.expansion.is_some() => {
                let (rank, ty) = (self.ty(rank), self.sized_type(element));
                Some(SizedType::tensor(rank?.rank_of_index()?, ty?))
            }
            Shape::List(_) => self.tensor_of_sizes(rank, element),
            _ => self.malformed_type(rank.span),
        }
    }

    fn malformed_type<T>(&mut self, span: Span) -> Option<T> {
        let grammar = "Float, Integer, Bool, String, (Tuple T ...), (Vec T), (Tensor d T) with d from 1 to 64, \
            (Lam S T), (LM S T), or with sizes (Vec n T), (Tensor (n m ...) T), (Fin n)";
        self.fail(error::malformed("type", grammar), span)
    }
}

fn unsupported_part(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Float | Type::Integer | Type::Bool | Type::String | Type::Record(_) => None,
        Type::Tuple(parts) => parts.iter().find_map(unsupported_part),
        Type::LM(s, t) => unsupported_part(s).or_else(|| unsupported_part(t)),
        Type::Tensor(_, element) => unsupported_part(element),
        Type::Lam(..) => Some("functions as values"),
    }
}
