//! Evaluates terms and calls functions.

use super::arrays::{indices, size, sum};
use super::environment::Env;
use super::evaluator::{Evaluator, fail, located};
use super::value::{Map, Outcome, Space, Val};
use crate::law;
use crate::prim::Prim;
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::term::{Binding, Constant, Derivative, Expr, FunName, Kind, Op, Path, Supply, Var};
use crate::value::Value;
use std::rc::Rc;

/// Calls nested deeper are refused, before the stack is full.
const CALL_DEPTH: usize = 40_000;

impl Evaluator<'_> {
    /// Calls a function of the program with one value per parameter.
    ///
    /// Panics where the result holds a function or a linear map: see [`Evaluator::call_and_apply`].
    pub fn call(&self, name: &FunName, args: &[Value]) -> Result<Value, RuntimeError> {
        Ok(self.call_val(name, values(args))?.to_value())
    }

    /// Calls a function that gives a linear map `m`, and returns `m ⊙ dx`.
    pub fn call_and_apply(&self, name: &FunName, args: &[Value], dx: &Value) -> Result<Value, RuntimeError> {
        let m = self.call_val(name, values(args))?;
        Ok(m.map().apply(self, &Val::from(dx))?.to_value())
    }

    /// Calls a function that gives a linear map `m`, and returns `dr ⊙ᴿ m`.
    pub fn call_and_apply_reverse(&self, name: &FunName, args: &[Value], dr: &Value) -> Result<Value, RuntimeError> {
        let m = self.call_val(name, values(args))?;
        Ok(m.map().adjoint(self, &Val::from(dr))?.to_value())
    }

    pub(super) fn call_val(&self, name: &FunName, args: Vec<Val>) -> Outcome {
        let Some(def) = self.program.defs.get(name) else {
            let is_external = self.program.externals.contains_key(name);
            return fail(if is_external {
                ErrorKind::External(name.to_string())
            } else {
                ErrorKind::Undefined(name.to_string())
            });
        };
        assert_eq!(def.params.len(), args.len(), "arguments of {name}");
        if let Some(reverse) = self.derivative_by_hand(name, &args) {
            return self.call_by_hand(name, reverse, &args);
        }
        let at = space_of_arguments(name, &args);
        let env = def.params.iter().zip(args).fold(Env::default(), |env, (x, v)| env.with(x, v));
        Ok(match (self.deeper(&def.body, &env)?, at) {
            (Val::Map(m), Some((Derivative::D, domain))) => Val::map_of(Map::from_domain(m, domain)),
            (Val::Map(m), Some((_, codomain))) => Val::map_of(Map::into_codomain(m, codomain)),
            (value, _) => value,
        })
    }

    /// Evaluates the body of a function, one call deeper.
    fn deeper(&self, body: &Expr, env: &Env) -> Outcome {
        let depth = self.depth.get();
        if depth == CALL_DEPTH {
            return Err(RuntimeError { kind: ErrorKind::RecursionTooDeep(CALL_DEPTH), span: body.span() });
        }
        self.depth.set(depth + 1);
        let result = self.eval(body, env);
        self.depth.set(depth);
        result
    }

    pub(super) fn eval(&self, e: &Expr, env: &Env) -> Outcome {
        match e.kind() {
            Kind::Const(c) => Ok(constant(c)),
            Kind::Var(x) => Ok(env.get(x)),
            Kind::Let(bindings, body) => {
                let mut env = env.clone();
                for b in bindings {
                    env = env.with_pattern(&b.pattern, self.eval(&b.rhs, &env)?);
                }
                self.eval(body, &env)
            }
            Kind::Lam(x, body) => {
                let (x, body, env) = (x.clone(), body.clone(), env.clone());
                Ok(Val::function(move |cx, v| cx.deeper(&body, &env.with(&x, v))))
            }
            Kind::App(Op::If, args) => match self.eval(&args[0], env)?.boolean() {
                true => self.eval(&args[1], env),
                false => self.eval(&args[2], env),
            },
            Kind::App(Op::Assert, args) => match self.eval(&args[0], env)?.boolean() {
                true => self.eval(&args[1], env),
                false => fail(ErrorKind::AssertFailed).map_err(|error| located(error, e.span())),
            },
            Kind::App(Op::Prim(Prim::Add), args) if args.iter().any(may_have_no_shape) => self.added(e, args, env)?,
            Kind::App(op, args) => {
                self.step()?;
                let values = args.iter().map(|a| self.eval(a, env)).collect::<Result<Vec<Val>, _>>()?;
                self.app(e, op, args, values).map_err(|error| located(error, e.span()))
            }
        }
    }

    /// Evaluates an addition. Inside is an error where all terms are sums over nothing that have no known shape.
    fn added(&self, e: &Expr, args: &[Expr], env: &Env) -> Result<Outcome, RuntimeError> {
        self.step()?;
        let values = match self.present(e, args.iter().map(|a| self.term(a, env)))? {
            Ok(values) => values,
            Err(missing) => return Ok(Err(missing)),
        };
        match <[Val; 1]>::try_from(values) {
            Ok([one]) => Ok(Ok(one)),
            Err(values) => self.prim(Prim::Add, &values, e).map(Ok).map_err(|error| located(error, e.span())),
        }
    }

    /// Returns the terms that have a value. Inside is an error where there is none.
    fn present(
        &self,
        sum: &Expr,
        terms: impl Iterator<Item = Result<Outcome, RuntimeError>>,
    ) -> Result<Result<Vec<Val>, RuntimeError>, RuntimeError> {
        let (mut values, mut missing) = (Vec::new(), None);
        for term in terms {
            match term? {
                Ok(value) => values.push(value),
                Err(error) => missing = Some(error),
            }
        }
        if values.is_empty() {
            return Ok(Err(missing.unwrap_or_else(|| shapeless(sum))));
        }
        self.has_left_out.set(self.has_left_out.get() || missing.is_some());
        Ok(Ok(values))
    }

    /// Evaluates a term of an addition. Inside is an error where it is a sum over nothing that has no known shape: it
    /// needs none where something is added to it.
    fn term(&self, e: &Expr, env: &Env) -> Result<Outcome, RuntimeError> {
        match e.kind() {
            _ if !may_have_no_shape(e) => self.eval(e, env).map(Ok),
            Kind::Let(bindings, body) => {
                let bind = |env: Env, b: &Binding| Ok(env.with_pattern(&b.pattern, self.eval(&b.rhs, &env)?));
                self.term(body, &bindings.iter().try_fold(env.clone(), bind)?)
            }
            Kind::App(Op::If, args) => {
                let is_first = self.eval(&args[0], env)?.boolean();
                self.term(&args[if is_first { 1 } else { 2 }], env)
            }
            Kind::App(Op::Prim(Prim::Add), args) => self.added(e, args, env),
            Kind::App(_, args) if matches!(args[1].kind(), Kind::Lam(_, body) if may_have_no_shape(body)) => {
                self.sum_of_terms(e, args, env)
            }
            _ => match self.eval(e, env) {
                Err(error) if error == shapeless(e) => Ok(Err(error)),
                value => value.map(Ok),
            },
        }
    }

    /// Evaluates a sum as a term of an addition, each of whose terms may have no shape itself.
    fn sum_of_terms(&self, e: &Expr, args: &[Expr], env: &Env) -> Result<Outcome, RuntimeError> {
        self.step()?;
        let n = self.eval(&args[0], env)?;
        let Kind::Lam(x, body) = args[1].kind() else { unreachable!("a sum of a function") };
        let at = |error| located(error, e.span());
        let indices = indices(&size(&n).map_err(at)?).into_iter();
        let values = self.present(e, indices.map(|i| self.term(body, &env.with(x, i))))?;
        values.map_or_else(
            |missing| Ok(Err(missing)),
            |all| sum(self, all.into_iter().map(Ok), e.ty()).map(Ok).map_err(at),
        )
    }

    /// Evaluates an operator, given the values of its arguments.
    fn app(&self, e: &Expr, op: &Op, args: &[Expr], values: Vec<Val>) -> Outcome {
        match op {
            Op::If | Op::Assert => unreachable!("they do not evaluate all arguments"),
            Op::Tuple => Ok(Val::Tuple(values)),
            Op::Get(i, _) => Ok(values[0].tuple()[i - 1].clone()),
            Op::Dummy => Ok(Val::dummy(e.ty())),
            Op::Pack(_) => Ok(Val::Record(Rc::new(values[0].clone()))),
            Op::Unpack(_) => match &values[0] {
                Val::Record(value) => Ok((**value).clone()),
                other => panic!("{other:?} is no record"),
            },
            Op::Prim(p) => self.prim(*p, &values, e),
            Op::Call(fun) => self.call_val(&fun.name, values),
            Op::JacobianOfFun(fun) => self.call_val(&fun.name.derived(Derivative::D), values),
            Op::JacobianAt(fun) => {
                let half = fun.name.derived(Derivative::SufRevPass);
                Ok(Val::map_of(Map::recorded(half, &values[0], &values[1], &values[2])))
            }
            Op::JacobianOf(p) => self.jacobian_of(*p, values, args),
            Op::LmGet(i, _) => Ok(Val::map_of(Map::component(*i, &values[0]))),
        }
    }

    /// Evaluates `∂p(values)`: the right-hand side of the derivative in the primitive's row.
    fn jacobian_of(&self, p: Prim, values: Vec<Val>, args: &[Expr]) -> Outcome {
        let mut supply = Supply::default();
        let params: Vec<Var> = args.iter().map(|a| supply.fresh("x", a.ty().clone())).collect();
        let jacobian = law::jacobian_of(p, &params.iter().map(Expr::var).collect::<Vec<_>>());
        let env = params.iter().zip(values).fold(Env::default(), |env, (x, v)| env.with(x, v));
        self.eval(&jacobian, &env)
    }

    pub(super) fn print(&self, values: &[Val]) -> Val {
        let mut output = self.output.borrow_mut();
        for v in values {
            let text = match v {
                // `print` writes a tuple without its brackets.
                Val::Tuple(parts) => parts.iter().map(Val::to_string).collect::<Vec<_>>().join(","),
                other => other.to_string(),
            };
            // A full output pipe is no error of the program.
            let _ = write!(output, "{text}");
        }
        Val::Integer(values.len() as i64)
    }
}

/// Returns whether a term of an addition may be a sum over nothing that has no known shape.
fn may_have_no_shape(e: &Expr) -> bool {
    !e.ty().has_fixed_shape()
        && match e.kind() {
            Kind::App(Op::Prim(Prim::SumBuild), args) => args.len() == 2,
            Kind::App(Op::Prim(Prim::Add), args) => args.iter().any(may_have_no_shape),
            Kind::App(Op::If, args) => args[1..].iter().any(may_have_no_shape),
            Kind::Let(_, body) => may_have_no_shape(body),
            Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => false,
        }
}

/// Returns how a sum over nothing ends whose zero has no known shape.
fn shapeless(sum: &Expr) -> RuntimeError {
    RuntimeError { kind: ErrorKind::ShapeUnknown, span: sum.span() }
}

fn values(args: &[Value]) -> Vec<Val> {
    args.iter().map(Val::from).collect()
}

fn constant(c: &Constant) -> Val {
    match c {
        Constant::Float(x) => Val::constant(*x),
        Constant::Integer(i) => Val::Integer(*i),
        Constant::Bool(b) => Val::Bool(*b),
        Constant::String(s) => Val::String(s.clone()),
    }
}

/// Returns the space of the tangents of a function's arguments, for the name of its Jacobian, whose domain that is, or of
/// its transposed Jacobian, whose codomain that is.
fn space_of_arguments(name: &FunName, args: &[Val]) -> Option<(Derivative, Space)> {
    let (derivative @ (Derivative::D | Derivative::Dt), f) = name.underived()? else { return None };
    let part = |path: &Path| path[1..].iter().fold(&args[path[0] - 1], |part, i| &part.tuple()[i - 1]);
    let varying = f.varying().map_or_else(|| args.iter().collect(), |paths| paths.iter().map(part).collect::<Vec<_>>());
    let space = match varying.as_slice() {
        [one] => Space::of(one),
        many => Space::Tuple(many.iter().map(|part| Space::of(part)).collect()),
    };
    Some((derivative, space))
}
