//! Evaluates terms and calls functions.

use super::counts::accesses;
use super::finite::within;
use super::interpreter::{Interpreter, located};
use super::target::Target;
use crate::destination::{Destination, Unread, selection};
use crate::law;
use crate::prim::Prim;
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::term::{Binding, Constant, Derivative, Expr, FunName, Kind, Op, Pattern, Span, Supply, Var};
use crate::value::{Closure, Env, LinearMap, Value};
use std::sync::Arc;

impl Interpreter<'_> {
    /// Calls a function of the program with one value per parameter.
    pub fn call(&mut self, name: &FunName, args: &[Value]) -> Result<Value, RuntimeError> {
        self.call_into(name, args, &Target::Own)
    }

    pub(super) fn call_into(&mut self, name: &FunName, args: &[Value], target: &Target) -> Result<Value, RuntimeError> {
        let Some(def) = self.program.defs.get(name) else {
            let kind = match self.program.externals.contains_key(name) {
                true => ErrorKind::External(name.to_string()),
                false => ErrorKind::Undefined(name.to_string()),
            };
            return Err(RuntimeError { kind, span: Span::default() });
        };
        assert_eq!(def.params.len(), args.len(), "arguments of {name}");
        let mut env: Env = def.params.iter().map(Var::id).zip(args.iter().cloned()).collect();
        self.counts.calls += 1;
        self.counts.accesses += args.len() as u64;
        let outer = std::mem::replace(&mut self.unread, Unread::of(self.program, name));
        let result = self.deeper(1, |cx| cx.eval_into(&def.body, &mut env, target, None), &def.body);
        self.unread = outer;
        result.map_err(|error| within(error, name, args))
    }

    /// Evaluates a term. Binders extend `env`: every binder is a different variable.
    pub fn eval(&mut self, e: &Expr, env: &mut Env) -> Result<Value, RuntimeError> {
        self.counts.accesses += accesses(e);
        match e.kind() {
            Kind::Const(c) => Ok(constant(c)),
            Kind::Var(x) => Ok(env.get(&x.id()).unwrap_or_else(|| panic!("unbound variable {x:?}")).clone()),
            Kind::Let(bindings, body) => {
                // A value that is used once may be changed in place. An unused value need not be made.
                let plan = self.plan(e, Destination::Own);
                if plan.has_destinations() {
                    return self.eval_into_own(e, env);
                }
                self.inside_block(&plan, |cx| {
                    bindings.iter().try_for_each(|binding| cx.bind(binding, env))?;
                    cx.eval(body, env)
                })
            }
            Kind::Lam(x, body) => {
                let env = Arc::new(env.clone());
                Ok(Value::Function(Closure { param: x.id(), body: body.clone(), env, then: vec![] }))
            }
            Kind::App(op, args) => self.app(e, op, args, env),
        }
    }

    pub(super) fn bind(&mut self, binding: &Binding, env: &mut Env) -> Result<(), RuntimeError> {
        let value = self.eval(&binding.rhs, env)?;
        bind_pattern(&binding.pattern, value, env);
        Ok(())
    }

    fn app(&mut self, e: &Expr, op: &Op, args: &[Expr], env: &mut Env) -> Result<Value, RuntimeError> {
        if let Op::If = op {
            self.counts.comparisons += 1;
            let chosen = if self.eval(&args[0], env)? == Value::Bool(true) { &args[1] } else { &args[2] };
            return self.eval(chosen, env);
        }
        if let Op::Assert = op {
            return match self.eval(&args[0], env)? {
                Value::Bool(true) => self.eval(&args[1], env),
                _ => Err(RuntimeError { kind: ErrorKind::AssertFailed, span: e.span() }),
            };
        }
        if let Op::Prim(Prim::Into) = op {
            return self.starting_at_zero(&args[0], &args[1], env, &Target::Own);
        }
        if let (Op::Prim(Prim::Add), false) = (op, e.ty().has_fixed_shape()) {
            let sum = self.sum_of_two(&args[0], &args[1], env);
            return self.checked(sum).map_err(|error| located(error, e.span()));
        }
        match (op, args) {
            (Op::Get(..), _) => {
                if let Some(part) = self.part_of_variable(e, env) {
                    return Ok(part);
                }
            }
            // Most operators have one or two arguments, which need no vector.
            (Op::Prim(p), [a]) => {
                let values = [self.eval(a, env)?];
                return self.operation(*p, &values, e);
            }
            (Op::Prim(p), [a, b]) => {
                let values = [self.eval(a, env)?, self.eval(b, env)?];
                return self.operation(*p, &values, e);
            }
            _ => {}
        }
        let mut values = args.iter().map(|a| self.eval(a, env)).collect::<Result<Vec<_>, _>>()?;
        match op {
            Op::Tuple => Ok(Value::Tuple(values)),
            Op::Get(i, _) => match &mut values[0] {
                Value::Tuple(parts) => Ok(parts.swap_remove(i - 1)),
                other => panic!("{other:?} is no tuple"),
            },
            Op::If | Op::Assert => unreachable!("handled above"),
            Op::Dummy => Ok(Value::dummy(e.ty())),
            Op::Pack(_) => Ok(Value::Record(Arc::new(values.into_iter().next().expect("one argument")))),
            Op::Unpack(_) => match &values[0] {
                Value::Record(value) => Ok((**value).clone()),
                other => panic!("{other:?} is no record"),
            },
            Op::Prim(p) => self.operation(*p, &values, e),
            Op::Call(fun) => self.call(&fun.name, &values).map_err(|error| located(error, e.span())),
            Op::JacobianOfFun(fun) => {
                self.call(&fun.name.derived(Derivative::D), &values).map_err(|error| located(error, e.span()))
            }
            Op::JacobianAt(fun) => {
                let half = fun.name.derived(Derivative::SufRevPass);
                let [record, s, t] = <[Value; 3]>::try_from(values).expect("a record and two witnesses");
                Ok(Value::Map(Arc::new(LinearMap::At(half, record, s, t))))
            }
            Op::JacobianOf(p) => self.jacobian_of(*p, &values, args),
            Op::LmGet(i, _) => Ok(Value::Map(Arc::new(LinearMap::Get(*i, values[0].clone())))),
        }
    }

    /// Returns the value of the term `p(values)`.
    fn operation(&mut self, p: Prim, values: &[Value], e: &Expr) -> Result<Value, RuntimeError> {
        let outcome = self.prim(p, values, e.ty());
        if let (true, Ok(value)) = (self.checks_grouping, &outcome) {
            self.regroup(p, values, value, e.span());
        }
        self.checked(outcome).map_err(|error| located(error, e.span()))
    }

    /// Returns the value of a component of a component .. of a variable, if the term is one, without a copy of the
    /// whole.
    fn part_of_variable(&mut self, e: &Expr, env: &Env) -> Option<Value> {
        let (x, path) = selection(e)?;
        // Each term below this one is read: `accesses` counted this one.
        self.counts.accesses += path.len() as u64;
        let whole = env.get(&x.id()).unwrap_or_else(|| panic!("unbound variable {x:?}"));
        let part = path.iter().fold(whole, |whole, i| &whole.as_tuple().expect("get of a tuple")[i - 1]);
        Some(part.clone())
    }

    /// Returns `∂p(values)`: the value of the right-hand side of the primitive's derivative law.
    fn jacobian_of(&mut self, p: Prim, values: &[Value], args: &[Expr]) -> Result<Value, RuntimeError> {
        let mut supply = Supply::default();
        let params: Vec<Var> = args.iter().map(|a| supply.fresh("x", a.ty().clone())).collect();
        let jacobian = law::jacobian_of(p, &params.iter().map(Expr::var).collect::<Vec<_>>());
        let mut env: Env = params.iter().map(Var::id).zip(values.iter().cloned()).collect();
        self.eval(&jacobian, &mut env)
    }

    /// Applies a function value.
    pub fn apply_closure(&mut self, f: &Closure, x: Value) -> Result<Value, RuntimeError> {
        let mut env = (*f.env).clone();
        env.insert(f.param, x.clone());
        let result = self.inside_closure(|cx| cx.eval(&f.body, &mut env), &f.body)?;
        f.then.iter().try_fold(result, |result, then| self.done(then, result, &x))
    }
}

pub(super) fn bind_pattern(pattern: &Pattern, value: Value, env: &mut Env) {
    match (pattern, value) {
        (Pattern::Var(x), value) => drop(env.insert(x.id(), value)),
        (Pattern::Tuple(xs), Value::Tuple(values)) => env.extend(xs.iter().map(Var::id).zip(values)),
        (Pattern::Tuple(_), value) => panic!("a tuple pattern meets {value:?}"),
    }
}

fn constant(c: &Constant) -> Value {
    match c {
        Constant::Float(x) => Value::Float(*x),
        Constant::Integer(i) => Value::Integer(*i),
        Constant::Bool(b) => Value::Bool(*b),
        Constant::String(s) => Value::String(s.clone()),
    }
}
