//! Evaluation into a destination.
//!
//!   a + b            add a, then b            0         add nothing
//!   $delta_at w i x  add x to element i       let, if   as ever, then the body or the branch taken
//!   sumbuild n f     add f(0), f(1), ...      (a, ..)   component by component
//!
//! So a sum of one-hot vectors costs what its numbers cost, as in native code: no vector of zeros is
//! ever made for one of them.

use super::arrays::offset;
use super::{Closure, Env, Interpreter, RuntimeError};
use crate::map;
use crate::prim::Prim;
use crate::tensor::{Position, Tensor};
use crate::term::{Expr, Kind, Op};
use crate::value::Value;
use std::sync::Arc;

/// The calls of one function value, one after the other, in one environment.
pub(super) struct Calls {
    f: Closure,
    env: Env,
}

impl Calls {
    pub(super) fn of(f: &Closure) -> Calls {
        Calls { f: f.clone(), env: (*f.env).clone() }
    }

    /// `f(x)`.
    pub(super) fn value(&mut self, cx: &mut Interpreter, x: Value) -> Result<Value, RuntimeError> {
        if !self.f.then.is_empty() {
            return cx.apply_closure(&self.f, x);
        }
        self.env.insert(self.f.param.id(), x);
        cx.inside_closure(|cx| cx.eval(&self.f.body, &mut self.env), &self.f.body)
    }

    /// `sum := sum + f(x)`.
    pub(super) fn add_to(&mut self, cx: &mut Interpreter, x: Value, sum: &mut Value) -> Result<(), RuntimeError> {
        if !self.f.then.is_empty() {
            let y = cx.apply_closure(&self.f, x)?;
            return cx.add_to(sum, &y);
        }
        self.env.insert(self.f.param.id(), x);
        cx.inside_closure(|cx| cx.eval_to(&self.f.body, &mut self.env, &mut Target::Add(sum)), &self.f.body)
    }

    /// `(state, z) := f(x)`, and `sum := sum + z`.
    pub(super) fn split(
        &mut self,
        cx: &mut Interpreter,
        x: Value,
        state: &mut Value,
        sum: &mut Value,
    ) -> Result<(), RuntimeError> {
        self.env.insert(self.f.param.id(), x);
        let mut target = Target::Parts(vec![Target::Store(state), Target::Add(sum)]);
        cx.inside_closure(|cx| cx.eval_to(&self.f.body, &mut self.env, &mut target), &self.f.body)
    }
}

/// Where a value goes.
enum Target<'a> {
    Store(&'a mut Value),
    Add(&'a mut Value),
    Parts(Vec<Target<'a>>),
}

impl Interpreter<'_> {
    fn eval_to(&mut self, e: &Expr, env: &mut Env, target: &mut Target) -> Result<(), RuntimeError> {
        match e.kind() {
            Kind::Let(bindings, body) => {
                bindings.iter().try_for_each(|b| self.bind(b, env))?;
                return self.eval_to(body, env, target);
            }
            Kind::App(Op::If, args) => {
                self.counts.comparisons += 1;
                let chosen = if self.eval(&args[0], env)? == Value::Bool(true) { &args[1] } else { &args[2] };
                return self.eval_to(chosen, env, target);
            }
            Kind::App(Op::Tuple, args) => {
                if let Target::Parts(parts) = target {
                    return args.iter().zip(parts).try_for_each(|(e, part)| self.eval_to(e, env, part));
                }
            }
            _ => {}
        }
        match target {
            Target::Add(sum) => self.eval_add(e, env, sum),
            Target::Store(_) | Target::Parts(_) => {
                let value = self.eval(e, env)?;
                self.distribute(value, target)
            }
        }
    }

    fn distribute(&mut self, value: Value, target: &mut Target) -> Result<(), RuntimeError> {
        match (target, value) {
            (Target::Store(place), value) => **place = value,
            (Target::Add(sum), value) => self.add_to(sum, &value)?,
            (Target::Parts(parts), Value::Tuple(values)) => {
                parts.iter_mut().zip(values).try_for_each(|(part, value)| self.distribute(value, part))?;
            }
            (Target::Parts(_), value) => panic!("{value:?} is no tuple"),
        }
        Ok(())
    }

    /// `sum := sum + e`.
    pub(super) fn eval_add(&mut self, e: &Expr, env: &mut Env, sum: &mut Value) -> Result<(), RuntimeError> {
        match e.kind() {
            Kind::Let(..) | Kind::App(Op::If, _) => self.eval_to(e, env, &mut Target::Add(sum)),
            Kind::App(Op::Tuple, args) => {
                let Value::Tuple(parts) = sum else { panic!("{sum:?} is no tuple") };
                args.iter().zip(parts).try_for_each(|(e, part)| self.eval_add(e, env, part))
            }
            Kind::App(Op::Prim(Prim::Add), args) if !is_scalar(sum) => {
                args.iter().try_for_each(|a| self.eval_add(a, env, sum))
            }
            Kind::App(Op::Prim(Prim::ZeroOf), _) => Ok(()),
            Kind::App(Op::Prim(Prim::DeltaAt), args) => {
                let i = self.eval(&args[1], env)?;
                let Value::Tensor(elements) = sum else { panic!("{sum:?} is no tensor") };
                let at = offset(elements, &i).map_err(|error| super::located(error, e.span()))?;
                self.own(elements);
                self.eval_add(&args[2], env, &mut Arc::make_mut(elements).elements_mut()[at])
            }
            Kind::App(Op::Prim(Prim::SumBuild), args) => {
                let n = self.eval(&args[args.len() - 2], env)?;
                let Value::Function(f) = self.eval(&args[args.len() - 1], env)? else { panic!("sumbuild of no function") };
                let size = super::arrays::size_of(&Position::of(&n)).map_err(|error| super::located(error, e.span()))?;
                let mut calls = Calls::of(&f);
                Tensor::positions(&size).try_for_each(|i| calls.add_to(self, i.value(), sum))
            }
            Kind::App(Op::Prim(Prim::Build), args) => {
                let n = self.eval(&args[0], env)?;
                let Value::Function(f) = self.eval(&args[1], env)? else { panic!("build of no function") };
                let n = Position::of(&n);
                let Value::Tensor(elements) = sum else { panic!("{sum:?} is no tensor") };
                if n.as_size().as_deref() != Some(elements.size()) {
                    let y = self.eval(e, env)?;
                    return self.add_to(sum, &y);
                }
                self.own(elements);
                let size = elements.size().to_vec();
                let mut calls = Calls::of(&f);
                let places = Arc::make_mut(elements).elements_mut();
                Tensor::positions(&size).zip(places).try_for_each(|(i, place)| calls.add_to(self, i.value(), place))
            }
            _ => {
                let y = self.eval(e, env)?;
                self.add_to(sum, &y).map_err(|error| super::located(error, e.span()))
            }
        }
    }

    /// `x := x + y`.
    fn add_to(&mut self, x: &mut Value, y: &Value) -> Result<(), RuntimeError> {
        match (x, y) {
            (Value::Tuple(xs), Value::Tuple(ys)) => xs.iter_mut().zip(ys).try_for_each(|(x, y)| self.add_to(x, y)),
            (Value::Tensor(xs), Value::Tensor(ys)) => {
                super::space::common_size(xs, ys)?;
                self.own(xs);
                let places = Arc::make_mut(xs).elements_mut();
                places.iter_mut().zip(ys.elements()).try_for_each(|(x, y)| self.add_to(x, y))
            }
            (x, y) => {
                *x = self.add(x, y)?;
                Ok(())
            }
        }
    }

    /// The zero of a shape: so many Floats are written.
    pub(super) fn zero(&mut self, shape: &Value) -> Value {
        let zero = map::zero(shape);
        if !is_scalar(&zero) {
            self.counts.moves += zero.floats().len() as u64;
        }
        zero
    }

    /// A tensor that others see, too, is copied before it is changed.
    fn own(&mut self, tensor: &mut Arc<Tensor>) {
        if Arc::get_mut(tensor).is_none() {
            self.counts.moves += tensor.elements().iter().map(own_floats).sum::<u64>();
        }
    }
}

/// The Floats of a value that are its own: those of a tensor were written when it was made.
pub(super) fn own_floats(x: &Value) -> u64 {
    match x {
        Value::Float(_) => 1,
        Value::Tuple(parts) => parts.iter().map(own_floats).sum(),
        _ => 0,
    }
}

fn is_scalar(x: &Value) -> bool {
    !matches!(x, Value::Tuple(_) | Value::Tensor(_))
}
