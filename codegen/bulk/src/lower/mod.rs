//! From terms to bulk programs: each loop over independent iterations becomes an axis of arrays.
//!
//! ```text
//! ⟦build n (λi. e)⟧     = ⟦e⟧ with an axis for i, which becomes the first of its own
//! ⟦sumbuild n (λi. e)⟧  = ⟦e⟧ with an axis for i, along which it is added up
//! ⟦op a b⟧              = each op, over the axes of a and of b
//! ⟦index i v⟧           = a part of v where i runs along an axis, otherwise gather
//! ⟦$delta_at w i x⟧     = scatter
//! ⟦if c a b⟧            = if where c has no axis, otherwise select
//! ⟦fold f s v⟧          = loop; s may have axes
//! ⟦f a⟧                 = the body of f
//! ```
//!
//! An array has the axes of those loops only that it depends on. So nothing is repeated that does not vary, in whatever
//! order the rules are taken, and the text is as long as the term. What a condition guards is computed under a mask:
//! its checks count only where the mask holds, and indices elsewhere are made safe.
//!
//! Source: the bulk operation transform of *Dual-numbers reverse AD for functional array languages*, Figs. 9 to 11. There
//! rules move `build` inwards one by one, which copies index functions and depends on the order. One walk with an
//! environment does the same.

mod arrays;
mod blocks;
mod index;
mod loops;
mod prims;
mod value;
mod vector_space;

use crate::builder::Builder;
use crate::ir::{Failure, Fun, Function, Id, Parameter, Path, Scalar, Shape};
use crate::refusal::{Reason, Refusal};
use crate::rules::Rule;
use lm::term::{Constant, Expr, FunName, Kind, Op, Pattern, Program, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;
use value::{Array, Axis, Value};

type Outcome = Result<Value, Refusal>;

/// Numbers of parameters that are known: `n`, `t.2`, `v.size`, `m.size.2`, `rows.each.size`.
pub type Known = FxHashMap<String, i64>;

/// What the sizes of arrays may be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizesOf {
    /// Anything that is computed.
    Data,
    /// The sizes of arguments, and Integer arguments. A sum of a number of terms that depends on data runs over as many
    /// as there may be, under a mask; where that is not known either, it is a loop.
    Arguments,
}

/// Returns a function of a program in bulk form, with all that it calls in place.
///
/// Errors: the function, or one that it calls, has no bulk form.
pub fn lower(program: &Program, name: &FunName, known: &Known, sizes_of: SizesOf) -> Result<Function, Refusal> {
    lowered(program, name, known, sizes_of, false)
}

/// Returns a function of a program in a bulk form that is to be differentiated: partial derivatives count only where the
/// program computes a value, and where two values are equal the derivative is that of the one that it takes.
///
/// Errors: as [`lower`].
pub fn lower_for_derivation(program: &Program, name: &FunName) -> Result<Function, Refusal> {
    lowered(program, name, &Known::default(), SizesOf::Data, true)
}

fn lowered(
    program: &Program,
    name: &FunName,
    known: &Known,
    sizes_of: SizesOf,
    for_derivation: bool,
) -> Result<Function, Refusal> {
    let def = &program.defs[name];
    let mut lowering = Lowering {
        program,
        known,
        sizes_of,
        b: Builder::new(for_derivation),
        sizes: Vec::new(),
        active: Vec::new(),
        mask: None,
        calls: vec![name.clone()],
        env: FxHashMap::default(),
        paths: Vec::new(),
    };
    let mut inputs = Vec::new();
    let mut parameters = Vec::new();
    let parts = parts_of_argument(program, name);
    for (k, x) in def.params.iter().enumerate() {
        let (value, shape) = match (&parts, k) {
            (Some(parts), 0) => lowering.argument(parts, &mut inputs)?,
            _ => lowering.parameter(x.ty(), x.name().to_string(), &[], &mut inputs)?,
        };
        lowering.env.insert(x.id(), value);
        parameters.push(Parameter { name: x.name().clone(), shape });
    }
    let value = lowering.expr(&def.body)?;
    if let Some(span) = lowering.b.unsure.filter(|_| for_derivation) {
        lowering.b.span = span;
        return lowering.refuse(Reason::Jagged, "a state, or the value of a branch, may have another size");
    }
    let mut results = Vec::new();
    let result = lowering.results(&value, &mut results);
    let body = lowering.b.close(results);
    let mut function = Function {
        name: name.clone(),
        parameters,
        inputs,
        paths: lowering.paths,
        nodes: lowering.b.nodes,
        body,
        result,
        rules: lowering.b.taken,
    };
    crate::unused::remove(&mut function);
    if cfg!(debug_assertions) {
        crate::verify::verify(&function);
    }
    Ok(function)
}

/// Returns the parameters of a function whose derivative takes all of them as its first: they keep their names.
fn parts_of_argument<'a>(program: &'a Program, name: &FunName) -> Option<&'a [Var]> {
    let (def, written) = (&program.defs[name], program.defs.get(&name.as_written())?);
    let is_first = def.params.first().is_some_and(|first| *first.ty() == written.fun.argument());
    (is_first && !name.derivations.is_empty() && written.params.len() > 1).then_some(&written.params)
}

/// The lowering of one function.
struct Lowering<'a> {
    program: &'a Program,
    known: &'a Known,
    sizes_of: SizesOf,
    b: Builder,
    /// The size of each axis.
    sizes: Vec<Id>,
    /// The axes of the loops around the present term.
    active: Vec<Axis>,
    /// Where the present term is computed for its value. Elsewhere the value is not used.
    mask: Option<Array>,
    /// The functions whose bodies the present term is in, outermost first.
    calls: Vec<FunName>,
    /// The values of variables, by number.
    env: FxHashMap<u32, Value>,
    /// The name of each input.
    paths: Vec<Path>,
}

impl Lowering<'_> {
    fn refuse<T>(&self, reason: Reason, what: impl Into<String>) -> Result<T, Refusal> {
        let function = self.calls.last().expect("a function is lowered").to_string();
        Err(Refusal { reason, function, what: what.into(), span: self.b.span })
    }

    /// Returns the value of a tuple of parameters.
    fn argument(&mut self, parts: &[Var], inputs: &mut Vec<Id>) -> Result<(Value, Shape<usize>), Refusal> {
        let part = |x: &Var| self.parameter(x.ty(), x.name().to_string(), &[], inputs);
        let (values, shapes) = parts.iter().map(part).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        Ok((Value::Tuple(values), Shape::Tuple(shapes)))
    }

    /// Returns the value of a parameter, or of a part of it, at a path. Its arrays have the sizes `outer` in front, by
    /// their paths.
    fn parameter(
        &mut self,
        ty: &Type,
        path: String,
        outer: &[String],
        inputs: &mut Vec<Id>,
    ) -> Result<(Value, Shape<usize>), Refusal> {
        let scalar = match ty {
            Type::Float => Scalar::Float,
            Type::Integer => Scalar::Integer,
            Type::Bool => Scalar::Bool,
            Type::Tuple(parts) => {
                let part = |(k, part): (usize, &Type)| self.parameter(part, format!("{path}.{}", k + 1), outer, inputs);
                let parts: Result<Vec<_>, _> = parts.iter().enumerate().map(part).collect();
                let (values, shapes) = parts?.into_iter().unzip();
                return Ok((Value::Tuple(values), Shape::Tuple(shapes)));
            }
            Type::Tensor(rank, element) => {
                let size = |k: usize| if *rank == 1 { format!("{path}.size") } else { format!("{path}.size.{k}") };
                let all: Vec<String> = outer.iter().cloned().chain((1..=*rank).map(size)).collect();
                let (element, shape) = self.parameter(element, format!("{path}.each"), &all, inputs)?;
                let sizes = self.shared_sizes(&element, outer.len(), *rank);
                return Ok((Value::Tensor { sizes, element: Box::new(element) }, shape));
            }
            // A record is what it was made of: the halves of one derivative are lowered with their arrays.
            Type::Record(_) => return self.refuse(Reason::Operation, "a record is no array"),
            Type::String => return self.refuse(Reason::Text, "text is no array"),
            Type::LM(..) | Type::Lam(..) => return self.refuse(Reason::LinearMap, format!("`{ty}` is no array")),
        };
        let number = inputs.len();
        let sizes: Vec<Option<i64>> = outer.iter().map(|path| self.known.get(path).copied()).collect();
        for (axis, n) in sizes.iter().enumerate().filter_map(|(axis, n)| Some((axis, (*n)?))) {
            let size = self.b.make(crate::ir::Op::InputSize(number, axis), vec![], Scalar::Integer, vec![]);
            self.check_known(size, n);
        }
        let id = self.b.input(number, scalar, &sizes);
        inputs.push(id);
        self.paths.push(Path { number: path.replace(".each", ""), sizes: outer.to_vec() });
        let value = match self.known.get(&path).filter(|_| scalar == Scalar::Integer && outer.is_empty()) {
            Some(&n) => self.check_known(id, n),
            None => id,
        };
        Ok((Value::Array(Array::fixed(value)), Shape::Array(number)))
    }

    /// Returns a number that is known, and checks that it is the one that is given.
    fn check_known(&mut self, given: Id, n: i64) -> Id {
        let n = self.b.integer(n);
        let equal = self.b.each(Fun::Eq, &[given, n]);
        self.b.check(equal, Failure::Specialised);
        n
    }

    /// Returns the sizes that all arrays of a tensor have, at their dimensions from `first` on.
    fn shared_sizes(&mut self, element: &Value, first: usize, rank: usize) -> Vec<Id> {
        let leaves: Vec<Id> = element.leaves().iter().map(|array| array.id).collect();
        let mut size = |axis: usize| match leaves.as_slice() {
            [] => self.b.integer(0),
            [one, others @ ..] => {
                let size = self.b.node(*one).dims[axis];
                others.iter().fold(size, |size, &other| {
                    let other = self.b.node(other).dims[axis];
                    self.b.require_same(size, other)
                })
            }
        };
        (first..first + rank).map(&mut size).collect()
    }

    fn results(&mut self, value: &Value, results: &mut Vec<Id>) -> Shape<usize> {
        match value {
            Value::Array(array) => {
                results.push(array.id);
                Shape::Array(results.len() - 1)
            }
            Value::Tuple(parts) => Shape::Tuple(parts.iter().map(|part| self.results(part, results)).collect()),
            Value::Tensor { element, .. } => self.results(element, results),
            Value::Dummy(ty) => {
                let zero = self.zero_of_type(ty, &[]);
                self.results(&zero, results)
            }
        }
    }

    fn expr(&mut self, e: &Expr) -> Outcome {
        let outer = self.b.span;
        if e.span() != lm::term::Span::default() {
            self.b.span = e.span();
        }
        let value = match e.kind() {
            Kind::Const(Constant::String(_)) => self.refuse(Reason::Text, "text is no array"),
            Kind::Const(c) => Ok(Value::Array(Array::fixed(self.b.constant(c.clone())))),
            Kind::Var(x) => match self.env.get(&x.id()) {
                Some(value) => Ok(value.clone()),
                None => panic!("`{}` is not in scope in {:?}", x.name(), self.calls),
            },
            Kind::Let(bindings, body) => {
                for binding in bindings {
                    let value = self.expr(&binding.rhs)?;
                    if !self.active.is_empty() {
                        let varies = value.leaves().iter().any(|array| !array.axes.is_empty());
                        self.b.by(if varies { Rule::BulkLet } else { Rule::BulkLetOut });
                    }
                    self.bind(&binding.pattern, value);
                }
                self.expr(body)
            }
            Kind::Lam(..) => unreachable!("a function is an argument of a loop"),
            Kind::App(op, args) => self.app(op, args, e),
        };
        self.b.span = outer;
        value
    }

    fn bind(&mut self, pattern: &Pattern, value: Value) {
        match pattern {
            Pattern::Var(x) => self.bind_var(x, value),
            Pattern::Tuple(xs) => match value {
                Value::Tuple(parts) if parts.len() == xs.len() => {
                    xs.iter().zip(parts).for_each(|(x, part)| self.bind_var(x, part));
                }
                // Of a record that is never read, the parts are not known.
                _ => xs.iter().for_each(|x| self.bind_var(x, Value::Dummy(x.ty().clone()))),
            },
        }
    }

    fn bind_var(&mut self, x: &Var, value: Value) {
        if let [one] = value.leaves().as_slice() {
            self.b.name(one.id, x.name());
        }
        self.env.insert(x.id(), value);
    }

    fn app(&mut self, op: &Op, args: &[Expr], e: &Expr) -> Outcome {
        match op {
            Op::If => self.conditional(args),
            Op::Assert => {
                let ok = self.expr(&args[0])?.array().clone();
                self.check(&ok, Failure::Assert);
                self.expr(&args[1])
            }
            Op::Tuple => {
                if !self.active.is_empty() {
                    self.b.by(Rule::BulkTuple);
                }
                Ok(Value::Tuple(args.iter().map(|arg| self.expr(arg)).collect::<Result<_, _>>()?))
            }
            Op::Get(i, _) => Ok(match self.expr(&args[0])? {
                Value::Dummy(_) => Value::Dummy(e.ty().clone()),
                tuple => tuple.tuple()[i - 1].clone(),
            }),
            Op::Dummy => Ok(Value::Dummy(e.ty().clone())),
            // The halves of a derivative are inlined, and so are their records.
            Op::Pack(_) | Op::Unpack(_) => self.expr(&args[0]),
            Op::Call(fun) => {
                let values = args.iter().map(|arg| self.expr(arg)).collect::<Result<Vec<Value>, _>>()?;
                self.call(&fun.name, values)
            }
            Op::Prim(p) => self.prim(*p, args, e),
            Op::JacobianOf(_) | Op::JacobianOfFun(_) | Op::JacobianAt(_) | Op::LmGet(..) => {
                self.refuse(Reason::LinearMap, "a linear map is no array")
            }
        }
    }

    fn call(&mut self, name: &FunName, args: Vec<Value>) -> Outcome {
        if self.calls.contains(name) {
            let what = match name.base.starts_with('$') {
                true => "a fold that keeps a given number of states is a recursive function".to_string(),
                false => format!("`{name}` calls itself"),
            };
            return self.refuse(Reason::Recursion, what);
        }
        let Some(def) = self.program.defs.get(name) else {
            return self.refuse(Reason::External, format!("`{name}` is external"));
        };
        if !self.active.is_empty() {
            self.b.by(Rule::BulkCall);
        }
        let env = def.params.iter().map(Var::id).zip(args).collect();
        let outer = std::mem::replace(&mut self.env, env);
        self.calls.push(name.clone());
        let value = self.expr(&def.body);
        if value.is_ok() {
            self.calls.pop();
        }
        self.env = outer;
        value
    }

    /// Adds a check that an array is true wherever the present term is computed.
    fn check(&mut self, ok: &Array, failure: Failure) {
        if self.b.is_bool(ok.id, true) {
            return;
        }
        let implied = match self.mask.clone() {
            None => ok.clone(),
            Some(mask) => {
                let elsewhere = self.each(Fun::Not, &[mask]);
                self.each(Fun::Or, &[elsewhere, ok.clone()])
            }
        };
        let all = (0..implied.axes.len()).fold(implied.id, |all, _| self.b.reduce(crate::ir::Reduction::All, all, 0));
        // Without iterations there is no check.
        let around: Vec<Axis> = self.active.iter().copied().filter(|axis| !implied.axes.contains(axis)).collect();
        let zero = self.b.integer(0);
        let ok = around.into_iter().fold(all, |ok, axis| {
            let none = self.b.each(Fun::Eq, &[self.sizes[axis], zero]);
            self.b.each(Fun::Or, &[none, ok])
        });
        self.b.check(ok, failure);
    }
}
