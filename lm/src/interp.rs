//! The reference interpreter: the meaning of every term, linear maps included.
//!
//! It follows the text of the language, not speed; every derivation, optimisation level and back
//! end must agree with it. It counts what it does, by kind of operation, so that the cost of a
//! derivative can be tested exactly.

mod accumulate;
mod arrays;
mod counts;
mod functions;
mod prims;
mod target;
mod vector_space;

pub use prims::ranhashdoub;

use crate::destination::{Destination, Plan, Unread};
use crate::effect::Effects;
use crate::law;
use crate::map::LinearMap;
use crate::prim::Prim;
pub use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::term::{Binding, Constant, Derivative, Expr, FunName, Kind, Op, Pattern, Program, Span, Var};
use crate::types::Type;
use crate::value::Value;
pub use arrays::BENCH_TIME;
pub use counts::Counts;
use counts::accesses;
use functions::Then;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;
use target::Target;

/// The values of the variables in scope.
pub type Env = HashMap<u32, Value>;

/// A function value.
#[derive(Clone, Debug, PartialEq)]
pub struct Closure {
    param: Var,
    body: Expr,
    env: Arc<Env>,
    then: Vec<Then>,
}

/// A call takes up to 17 KB of the stack in debug builds, and more where it stands deep in a term.
const CALL_DEPTH: usize = 40_000;

/// A function that a built-in calls takes as much of the stack as so many calls.
const CALLS_PER_CLOSURE: usize = 8;

/// Evaluates terms of one program.
pub struct Interpreter<'a> {
    program: &'a Program,
    output: Box<dyn Write + 'a>,
    depth: usize,
    /// The values that are being added to.
    roots: Vec<Value>,
    /// What is done with what nobody reads in the definition at hand.
    unread: Unread,
    /// The functions that print, once it is asked for.
    effects: OnceCell<Effects>,
    /// Whether terms that nobody reads were idle, by their address.
    idle: HashMap<usize, (Expr, Unread, bool)>,
    /// The plans of blocks that were evaluated into a destination, by the address of the block.
    plans: HashMap<usize, (Expr, Destination, Unread, Arc<Plan>)>,
    /// The addresses of terms in these blocks whose values may be taken.
    only_uses: HashSet<usize>,
    /// What has been done so far.
    pub counts: Counts,
}

impl<'a> Interpreter<'a> {
    /// An interpreter whose `print` writes nowhere.
    pub fn new(program: &'a Program) -> Interpreter<'a> {
        Interpreter::with_output(program, std::io::sink())
    }

    /// An interpreter whose `print` writes to `output`.
    pub fn with_output(program: &'a Program, output: impl Write + 'a) -> Interpreter<'a> {
        Interpreter {
            program,
            output: Box::new(output),
            depth: 0,
            roots: Vec::new(),
            unread: Unread::Evaluated,
            effects: OnceCell::new(),
            idle: HashMap::new(),
            plans: HashMap::new(),
            only_uses: HashSet::new(),
            counts: Counts::default(),
        }
    }

    /// Calls a function of the program, one value per parameter.
    pub fn call(&mut self, name: &FunName, args: &[Value]) -> Result<Value, RuntimeError> {
        self.call_into(name, args, &Target::Own)
    }

    fn call_into(&mut self, name: &FunName, args: &[Value], target: &Target) -> Result<Value, RuntimeError> {
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
        result
    }

    /// What is done inside of the body of a function, so many calls deeper.
    fn deeper<T>(
        &mut self,
        calls: usize,
        work: impl FnOnce(&mut Self) -> Result<T, RuntimeError>,
        body: &Expr,
    ) -> Result<T, RuntimeError> {
        if self.depth + calls > CALL_DEPTH {
            return Err(RuntimeError { kind: ErrorKind::RecursionTooDeep(CALL_DEPTH), span: body.span() });
        }
        self.depth += calls;
        let result = work(self);
        self.depth -= calls;
        result
    }

    /// The value of a term. Binders extend `env`: every binder is a different variable.
    pub fn eval(&mut self, e: &Expr, env: &mut Env) -> Result<Value, RuntimeError> {
        self.counts.accesses += accesses(e);
        match e.kind() {
            Kind::Const(c) => Ok(constant(c)),
            Kind::Var(x) => Ok(env.get(&x.id()).unwrap_or_else(|| panic!("unbound variable {x:?}")).clone()),
            Kind::Let(bindings, body) => {
                // What is used once may be changed in place, and what is not used need not be made.
                if self.plan(e, Destination::Own).has_destinations() {
                    return self.eval_into_own(e, env);
                }
                for binding in bindings {
                    self.bind(binding, env)?;
                }
                self.eval(body, env)
            }
            Kind::Lam(x, body) => {
                let env = Arc::new(env.clone());
                Ok(Value::Function(Closure { param: x.clone(), body: body.clone(), env, then: vec![] }))
            }
            Kind::App(op, args) => self.app(e, op, args, env),
        }
    }

    fn bind(&mut self, binding: &Binding, env: &mut Env) -> Result<(), RuntimeError> {
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
            return self.sum_of_two(&args[0], &args[1], env).map_err(|error| located(error, e.span()));
        }
        let values = args.iter().map(|a| self.eval(a, env)).collect::<Result<Vec<_>, _>>()?;
        match op {
            Op::Tuple => Ok(Value::Tuple(values)),
            Op::Get(i, _) => Ok(values[0].as_tuple().expect("get of a tuple")[i - 1].clone()),
            Op::If | Op::Assert => unreachable!("handled above"),
            Op::Dummy => Ok(Value::dummy(e.ty())),
            Op::Pack(_) => Ok(Value::Record(Arc::new(values.into_iter().next().expect("one argument")))),
            Op::Unpack(_) => match &values[0] {
                Value::Record(value) => Ok((**value).clone()),
                other => panic!("{other:?} is no record"),
            },
            Op::Prim(p) => self.prim(*p, &values, e.ty()).map_err(|error| located(error, e.span())),
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

    /// `∂p(values)`: the value of the right-hand side of the primitive's derivative law.
    fn jacobian_of(&mut self, p: Prim, values: &[Value], args: &[Expr]) -> Result<Value, RuntimeError> {
        let mut supply = crate::term::Supply::default();
        let params: Vec<Var> = args.iter().map(|a| supply.fresh("x", a.ty().clone())).collect();
        let jacobian = law::jacobian_of(p, &params.iter().map(Expr::var).collect::<Vec<_>>());
        let mut env: Env = params.iter().map(Var::id).zip(values.iter().cloned()).collect();
        self.eval(&jacobian, &mut env)
    }

    /// What is done inside of the body of a function value.
    fn inside_closure<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, RuntimeError>,
        body: &Expr,
    ) -> Result<T, RuntimeError> {
        self.deeper(CALLS_PER_CLOSURE, work, body)
    }

    /// Applies a function value.
    pub fn apply_closure(&mut self, f: &Closure, x: Value) -> Result<Value, RuntimeError> {
        let mut env = (*f.env).clone();
        env.insert(f.param.id(), x.clone());
        let result = self.inside_closure(|cx| cx.eval(&f.body, &mut env), &f.body)?;
        f.then.iter().try_fold(result, |result, then| self.done(then, result, &x))
    }
}

fn bind_pattern(pattern: &Pattern, value: Value, env: &mut Env) {
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

fn located(mut error: RuntimeError, span: Span) -> RuntimeError {
    if error.span == Span::default() {
        error.span = span;
    }
    error
}

/// A witness of `ty`, when the type alone gives one.
fn witness(ty: &Type) -> Option<Value> {
    ty.has_fixed_shape().then(|| Value::dummy(ty))
}
