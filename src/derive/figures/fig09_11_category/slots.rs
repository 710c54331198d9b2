//! Defines environments of the forward half: values, and which of them vary.

use super::tape::Cotangent;
use lm::term::{Expr, Var};

/// A value of an environment.
#[derive(Clone)]
pub(super) struct Slot {
    /// An atom.
    pub(super) value: Expr,
    /// Whether it depends on what varies.
    pub(super) varies: bool,
}

/// Returns the values.
pub(super) fn values(env: &[Slot]) -> Vec<Expr> {
    env.iter().map(|slot| slot.value.clone()).collect()
}

/// Returns the number of a variable in an environment, from 0.
pub(super) fn index_of(env: &[Slot], e: &Expr) -> Option<usize> {
    let x = e.as_var()?;
    env.iter().position(|slot| slot.value.as_var() == Some(x))
}

/// Returns the numbers of the values that vary, each once.
pub(super) fn varying(env: &[Slot]) -> Vec<usize> {
    let is_first = |i: &usize| index_of(env, &env[*i].value) == Some(*i);
    (0..env.len()).filter(|i| env[*i].varies).filter(is_first).collect()
}

/// Returns a value that does not vary.
pub(super) fn constant(value: Expr) -> Slot {
    Slot { value, varies: false }
}

/// Returns the values of an environment with these numbers, from 0.
pub(super) fn chosen(env: &[Slot], numbers: &[usize]) -> Vec<Expr> {
    numbers.iter().map(|i| env[*i].value.clone()).collect()
}

/// Returns the numbers of the values that get a cotangent, in the order in which the values are bound: a tuple in the
/// order of the parameters is their cotangent as it is.
pub(super) fn targets(env: &[Slot], all: &[&[Cotangent]]) -> Vec<usize> {
    let gets = |i: &usize| env[*i].varies && all.iter().any(|ds| !ds[*i].is_empty());
    let mut numbers: Vec<usize> = (0..env.len()).filter(gets).collect();
    numbers.sort_by_key(|i| env[*i].value.as_var().map(Var::id));
    numbers
}
