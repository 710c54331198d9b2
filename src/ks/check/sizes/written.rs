//! Types as written, with sizes.
//!
//! ```text
//! T ::= (Vec n T) | (Tensor (n m ..) T) | (Fin n) | (Fin (Tuple n m ..)) | a type without sizes
//! n ::= k | name | (add n n) | (sub n n) | (mul n n)
//! ```

use super::error;
use crate::ks::check::checker::Checker;
use crate::ks::check::error as errors;
use crate::ks::check::names::symbol;
use crate::ks::check::types::names_type;
use crate::ks::reader::{Sexp, Shape};
use lm::sizes::{Polynomial, SizedType};
use lm::term::Span;
use lm::types::Type;

type Operator = fn(&Polynomial, &Polynomial) -> Polynomial;

const OPERATORS: [(&str, Operator); 3] =
    [("add", Polynomial::plus), ("sub", Polynomial::minus), ("mul", Polynomial::times)];
const MOST_DIMENSIONS: usize = 64;

impl Checker {
    /// Returns a type that says no sizes; reports one that does.
    pub(in crate::ks::check) fn without_sizes(&mut self, ty: Option<SizedType>, span: Span) -> Option<Type> {
        let ty = ty?;
        match ty.says_sizes() {
            true => self.fail(errors::not_supported(&format!("`{ty}`: sizes at this place are")), span),
            false => Some(ty.erased()),
        }
    }

    /// Checks `(Vec n T)`, of these sizes.
    pub(in crate::ks::check) fn sized_tensor(&mut self, sizes: &[Sexp], element: &Sexp) -> Option<SizedType> {
        let sizes: Vec<Option<Polynomial>> = sizes.iter().map(|s| self.size(s)).collect();
        let element = self.sized_type(element)?;
        let sizes = sizes.into_iter().map(|n| n.map(Some)).collect::<Option<Vec<_>>>()?;
        Some(SizedType::Tensor(sizes, Box::new(element)))
    }

    /// Checks the sizes of `(Tensor (n m ..) T)`.
    pub(in crate::ks::check) fn tensor_of_sizes(&mut self, sizes: &Sexp, element: &Sexp) -> Option<SizedType> {
        match &sizes.shape {
            Shape::List(items) if (1..=MOST_DIMENSIONS).contains(&items.len()) => self.sized_tensor(items, element),
            _ => self.malformed("size", error::SIZES, sizes.span),
        }
    }

    /// Checks `(Fin n)`, `(Fin (Tuple n m ..))`.
    pub(in crate::ks::check) fn index_type(&mut self, limit: &Sexp) -> Option<SizedType> {
        let sizes = match &limit.shape {
            Shape::List(items)
                if items.len() > 2 && items.first().and_then(symbol).is_some_and(|w| **w == *"Tuple") =>
            {
                &items[1..]
            }
            _ => std::slice::from_ref(limit),
        };
        let sizes: Vec<Option<Polynomial>> = sizes.iter().map(|s| self.size(s)).collect();
        Some(SizedType::Index(sizes.into_iter().collect::<Option<_>>()?))
    }

    fn size(&mut self, s: &Sexp) -> Option<Polynomial> {
        let operator = |word: &str| OPERATORS.iter().find(|(name, _)| *name == word).map(|(_, operator)| operator);
        match &s.shape {
            Shape::Integer(k @ 0..) => Some(Polynomial::constant(*k)),
            Shape::Symbol(name) if operator(name).is_none() && !names_type(name) => {
                self.binder(s).map(|name| Polynomial::variable(&name))
            }
            Shape::List(items) => match items.as_slice() {
                [one] => self.size(one),
                [word, a, b] => match symbol(word).and_then(|word| operator(word)) {
                    Some(operator) => {
                        let (a, b) = (self.size(a), self.size(b));
                        Some(operator(&a?, &b?))
                    }
                    None => self.malformed("size", error::SIZES, s.span),
                },
                _ => self.malformed("size", error::SIZES, s.span),
            },
            Shape::Bad => None,
            _ => self.malformed("size", error::SIZES, s.span),
        }
    }
}
