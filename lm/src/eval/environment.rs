//! Holds the values of variables.

use super::value::Val;
use crate::term::{Pattern, Var};
use std::rc::Rc;

/// The values of the variables in scope: a list, the innermost first.
#[derive(Clone, Default)]
pub(super) struct Env(Option<Rc<(u32, Val, Env)>>);

impl Env {
    pub fn with(&self, x: &Var, value: Val) -> Env {
        Env(Some(Rc::new((x.id(), value, self.clone()))))
    }

    pub fn with_pattern(&self, pattern: &Pattern, value: Val) -> Env {
        match pattern {
            Pattern::Var(x) => self.with(x, value),
            Pattern::Tuple(xs) => xs.iter().zip(value.tuple()).fold(self.clone(), |env, (x, v)| env.with(x, v.clone())),
        }
    }

    pub fn get(&self, x: &Var) -> Val {
        let mut scope = self;
        while let Env(Some(inner)) = scope {
            if inner.0 == x.id() {
                return inner.1.clone();
            }
            scope = &inner.2;
        }
        panic!("unbound variable {x:?}")
    }
}
