//! Calls one function value several times, in one environment.

use super::interpreter::Interpreter;
use super::target::Target;
use crate::runtime_error::RuntimeError;
use crate::value::{Closure, Env, Value};

type Outcome = Result<Value, RuntimeError>;

/// A function value with the environment that its calls share.
pub(super) struct Calls {
    f: Closure,
    env: Env,
}

impl Calls {
    pub(super) fn of(f: &Closure) -> Calls {
        Calls { f: f.clone(), env: (*f.env).clone() }
    }

    /// Evaluates `f(x)`.
    pub(super) fn value(&mut self, cx: &mut Interpreter, x: Value) -> Outcome {
        self.run(cx, x, &Target::Own)
    }

    /// Evaluates `f(x)` into a target.
    pub(super) fn run(&mut self, cx: &mut Interpreter, x: Value, target: &Target) -> Outcome {
        cx.counts.steps += 1;
        cx.counts.accesses += 2;
        if !self.f.then.is_empty() {
            let y = cx.apply_closure(&self.f, x)?;
            return cx.distribute(y, target);
        }
        self.env.insert(self.f.param, x);
        cx.inside_closure(|cx| cx.eval_into(&self.f.body, &mut self.env, target, None), &self.f.body)
    }
}
