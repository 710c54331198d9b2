//! Functions as vectors: what L and L' take and give (working notes, sec. 2.7).
//!
//! ```text
//! (f + g)(i) = f(i) + g(i)        (k * f)(i) = k * f(i)        f • g = Σ_i f(i) • g(i)
//! ```
//!
//! The sum is over all Integers, so one of the two must be of finite support ([`Value::Support`]).

use super::interpreter::Interpreter;
use crate::map;
use crate::runtime_error::RuntimeError;
use crate::value::{Then, Value};

impl Interpreter<'_> {
    /// The value of a function at i, after one more step.
    pub(super) fn done(&mut self, then: &Then, value: Value, i: &Value) -> Result<Value, RuntimeError> {
        match (then, value) {
            (Then::Apply(x), Value::Map(m)) => map::apply(self, &m, x),
            (Then::ApplyReverse(r), Value::Map(m)) => map::apply_reverse(self, r, &m),
            (Then::Apply(_) | Then::ApplyReverse(_), value) => panic!("a family of linear maps gave {value:?}"),
            (Then::Change(change), value) => Ok(self.changed(&value, *change)),
            (Then::Add(g), value) => match self.value_at(g, i)? {
                Some(other) => self.add(&value, &other),
                None => Ok(value),
            },
        }
    }

    /// The value of a function at i; nothing where it is zero.
    fn value_at(&mut self, g: &Value, i: &Value) -> Result<Option<Value>, RuntimeError> {
        match (g, i) {
            (Value::Function(f), _) => self.apply_closure(f, i.clone()).map(Some),
            (Value::Support(values), Value::Integer(i)) => {
                Ok(usize::try_from(*i).ok().and_then(|i| values.get(i).cloned()))
            }
            _ => panic!("{g:?} is no function of {i:?}"),
        }
    }
}
