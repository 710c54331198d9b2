//! Adds up values, with Delta terms for the whole alone.
//!
//! ```text
//! D[sum(v)] = (sum of the values, Share id (Add (Add d1 d2) ..))
//! ```
//!
//! Source: the report of `delta`, sec. 4.1, Eq. 3.

use super::evaluator::Evaluator;
use super::value::Val;
use super::vector::{add, untraced};
use crate::runtime_error::RuntimeError;

/// A sum from left to right. What it is after some of its terms is no number of the program, so only the whole has
/// Delta terms: a node for each Float.
pub(super) struct Sum<'e, 'a> {
    cx: &'e Evaluator<'a>,
    total: Val,
    /// The terms, if they are linked at the end.
    terms: Option<Vec<Val>>,
}

impl<'e, 'a> Sum<'e, 'a> {
    pub fn new(cx: &'e Evaluator<'a>, first: Val) -> Result<Sum<'e, 'a>, RuntimeError> {
        // A sum of functions is a function, whose values are traced where it is called.
        let is_linked = cx.recorder.borrow().is_some() && first.is_data();
        let total = if is_linked { untraced(cx, &first)? } else { first.clone() };
        Ok(Sum { cx, total, terms: is_linked.then(|| vec![first]) })
    }

    /// Errors: tensors of different sizes.
    pub fn add(&mut self, x: Val) -> Result<(), RuntimeError> {
        let Some(terms) = &mut self.terms else {
            self.total = add(self.cx, &self.total, &x)?;
            return Ok(());
        };
        self.total = add(self.cx, &self.total, &untraced(self.cx, &x)?)?;
        terms.push(x);
        Ok(())
    }

    pub fn end(self) -> Val {
        match &self.terms {
            Some(terms) => linked(self.cx, &self.total, &terms.iter().collect::<Vec<_>>()),
            None => self.total,
        }
    }
}

/// Returns a sum with a Delta term at each Float, from the terms of it.
fn linked(cx: &Evaluator, total: &Val, terms: &[&Val]) -> Val {
    match total {
        Val::Float(x) => cx.sum_node(terms, x.value),
        Val::Tuple(parts) => {
            let part =
                |(k, part): (usize, &Val)| linked(cx, part, &terms.iter().map(|x| &x.tuple()[k]).collect::<Vec<_>>());
            Val::Tuple(parts.iter().enumerate().map(part).collect())
        }
        Val::Tensor(v) => {
            let element = |(k, x): (usize, &Val)| {
                linked(cx, x, &terms.iter().map(|x| &x.tensor().elements[k]).collect::<Vec<_>>())
            };
            Val::tensor_of(v.size.clone(), v.elements.iter().enumerate().map(element).collect())
        }
        other => other.clone(),
    }
}
