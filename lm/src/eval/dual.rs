//! Evaluates dual numbers: a Float comes with its Delta term, or with none where it depends on no traced argument.
//!
//! ```text
//! D[r] = (r, Zero)                  D[op(e1, ..)] = the rule of op, from the law in its row (`delta/rule.rs`)
//! D[sum(e)] = (sum of values, Share id (Add (Add d1 d2) ..))                 D[anything else] moves numbers about
//! ```
//!
//! An operation on numbers without terms has none, so a run that is not traced is as if this file were not there.
//! Where a derivative is written by hand, `[rev f]` gives the factors of a call of f, once for each Float of its value.
//!
//! Source: the report of `delta`, Fig. 3; sec. 4.1, Eq. 3.

use super::evaluator::Evaluator;
use super::terms::Env;
use super::value::{Number, Outcome, Val};
use super::vector::{add, untraced, zero};
use crate::delta::{Dual, Link, Operation, Place, Term, Trace, Traced};
use crate::prim::Prim;
use crate::runtime_error::RuntimeError;
use crate::term::{Derivative, FunName, Mode, Program};
use crate::value::Value;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Borrow;
use std::rc::Rc;
use std::sync::Arc;

/// What a traced run keeps.
pub(super) struct Recorder {
    trace: Trace,
    duals: FxHashMap<Prim, Rc<Dual>>,
    /// The functions whose derivative in reverse mode is written by hand.
    by_hand: FxHashSet<FunName>,
}

impl Recorder {
    fn new(program: &Program, inputs: usize) -> Recorder {
        let replaced = |name: &FunName| name.underived().filter(|(derivative, _)| derivative.replaces(Mode::Reverse));
        let by_hand = program.by_hand.iter().filter_map(|name| Some(replaced(name)?.1)).collect();
        Recorder { trace: Trace::new(inputs), duals: FxHashMap::default(), by_hand }
    }
}

impl Evaluator<'_> {
    /// Calls a function of the program, and traces how its value depends on the Floats of its arguments.
    ///
    /// The program has `[rev f]` of each function f that is called and whose derivative in reverse mode is written by
    /// hand, and the functions that the derivatives of primitives call, such as `digamma`.
    ///
    /// Panics where the result holds a function or a linear map.
    pub fn trace(&self, name: &FunName, args: &[Value]) -> Result<Traced, RuntimeError> {
        let mut inputs = 0;
        let mut input = |value| {
            let place = Place::Input(u32::try_from(inputs).expect("memory ends before 2^32 Floats"));
            inputs += 1;
            Val::Float(Number { value, place: Some(place) })
        };
        let args: Vec<Val> = args.iter().map(|arg| with_floats(&Val::from(arg), &mut input)).collect();
        self.recorder.replace(Some(Recorder::new(self.program, inputs)));
        let result = self.call_val(name, args);
        let recorder = self.recorder.take().expect("it was there before the call");
        let result = result?;
        let results = floats(&result).iter().map(|x| x.place).collect();
        Ok(Traced { value: result.to_value(), results, trace: recorder.trace })
    }

    /// Returns the value of a primitive on numbers, with its Delta term.
    pub(super) fn float<V: Borrow<Val>>(&self, p: Prim, args: &[V], value: f64) -> Outcome {
        if args.iter().all(|x| x.borrow().place().is_none()) {
            return Ok(Val::constant(value));
        }
        self.dual_float(p, &args.iter().map(Borrow::borrow).collect::<Vec<_>>(), value)
    }

    fn dual_float(&self, p: Prim, args: &[&Val], value: f64) -> Outcome {
        let dual = self.dual(p);
        let plain = |x: &Val| if let Val::Float(x) = x { Val::constant(x.value) } else { x.clone() };
        let env = dual.params.iter().zip(args).fold(Env::default(), |env, (x, arg)| env.with(x, plain(arg)));
        let mut links = Vec::with_capacity(args.len());
        self.links(&dual.term, args, &env, &mut links)?;
        Ok(self.node(Operation::Prim(p), value, &links))
    }

    fn dual(&self, p: Prim) -> Rc<Dual> {
        let mut recorder = self.recorder.borrow_mut();
        let recorder = recorder.as_mut().expect("only a traced run has places");
        recorder.duals.entry(p).or_insert_with(|| Rc::new(Dual::of(p))).clone()
    }

    /// Adds the links of a term over the arguments, whose values are in `env`.
    fn links(&self, term: &Term, args: &[&Val], env: &Env, links: &mut Vec<Link>) -> Result<(), RuntimeError> {
        match term {
            Term::Zero => {}
            Term::Same(i) => links.extend(args[*i].place().map(|of| Link { of, scale: None })),
            Term::Scale(k, i) => {
                if let Some(of) = args[*i].place() {
                    links.push(Link { of, scale: Some(self.eval(k, env)?.float()) });
                }
            }
            Term::Add(terms) => terms.iter().try_for_each(|term| self.links(term, args, env, links))?,
            Term::If(c, a, b) => {
                let chosen = if self.eval(c, env)?.boolean() { a } else { b };
                self.links(chosen, args, env, links)?;
            }
        }
        Ok(())
    }

    /// Returns a number with a new node; without one, where it depends on nothing.
    fn node(&self, operation: Operation, value: f64, links: &[Link]) -> Val {
        if links.is_empty() {
            return Val::constant(value);
        }
        let mut recorder = self.recorder.borrow_mut();
        let recorder = recorder.as_mut().expect("only a traced run has places");
        Val::Float(Number { value, place: Some(recorder.trace.push(operation, value, links)) })
    }

    /// Returns a sum of numbers, whose value is known, with its Delta term.
    pub(super) fn sum_node(&self, terms: &[&Val], value: f64) -> Val {
        let links: Vec<Link> = terms.iter().filter_map(|x| Some(Link { of: x.place()?, scale: None })).collect();
        self.node(Operation::Sum, value, &links)
    }

    /// Returns `[rev f]` if it is what the trace takes in place of f's text.
    pub(super) fn derivative_by_hand(&self, f: &FunName, args: &[Val]) -> Option<FunName> {
        let recorder = self.recorder.borrow();
        let is_by_hand = recorder.as_ref()?.by_hand.contains(f);
        let varies = || args.iter().any(|arg| floats(arg).iter().any(|x| x.place.is_some()));
        (is_by_hand && args.iter().all(is_data) && varies()).then(|| f.derived(Derivative::Rev))
    }

    /// Calls f, whose derivative is written by hand.
    pub(super) fn call_by_hand(&self, f: &FunName, reverse: FunName, args: &[Val]) -> Outcome {
        let plain = args.iter().map(|arg| untraced(self, arg)).collect::<Result<Vec<Val>, _>>()?;
        let places: Vec<Option<Place>> = args.iter().flat_map(floats).map(|x| x.place).collect();
        let value = self.call_val(f, plain.clone())?;
        let whole = if let [one] = plain.as_slice() { one.clone() } else { Val::Tuple(plain) };
        let operation = Operation::ByHand(Arc::new(reverse.clone()));
        let mut numbers = Vec::new();
        for (k, number) in floats(&value).iter().enumerate() {
            let cotangent = self.call_val(&reverse, vec![whole.clone(), basis(&value, k)])?;
            let factors = floats(&cotangent);
            assert_eq!(factors.len(), places.len(), "the Floats of a cotangent of {f}");
            let link =
                |(place, factor): (&Option<Place>, &Number)| Some(Link { of: (*place)?, scale: Some(factor.value) });
            let links: Vec<Link> = places.iter().zip(&factors).filter_map(link).collect();
            numbers.push(self.node(operation.clone(), number.value, &links));
        }
        let mut numbers = numbers.into_iter();
        Ok(with_floats(&value, &mut |_| numbers.next().expect("one for each Float")))
    }
}

/// Returns the cotangent of a value that is 1 at its k-th Float and 0 at the others.
fn basis(value: &Val, k: usize) -> Val {
    let mut place = 0..;
    with_floats(&zero(value), &mut |_| Val::constant(if place.next() == Some(k) { 1.0 } else { 0.0 }))
}

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
        let is_linked = cx.recorder.borrow().is_some() && is_data(&first);
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

/// Returns whether all Floats of a value can be seen.
fn is_data(x: &Val) -> bool {
    match x {
        Val::Float(_) | Val::Integer(_) | Val::Bool(_) | Val::String(_) => true,
        Val::Tuple(parts) => parts.iter().all(is_data),
        Val::Tensor(v) => v.elements.iter().all(is_data),
        Val::Record(_) | Val::Map(_) | Val::Function(_) | Val::Finite(_) => false,
    }
}

/// Returns the Floats of a value, in order.
fn floats(x: &Val) -> Vec<Number> {
    let mut found = Vec::new();
    collect(x, &mut found);
    found
}

fn collect(x: &Val, found: &mut Vec<Number>) {
    match x {
        Val::Float(x) => found.push(*x),
        Val::Tuple(parts) => parts.iter().for_each(|x| collect(x, found)),
        Val::Tensor(v) => v.elements.iter().for_each(|x| collect(x, found)),
        Val::Integer(_) | Val::Bool(_) | Val::String(_) => {}
        Val::Record(_) | Val::Map(_) | Val::Function(_) | Val::Finite(_) => {}
    }
}

/// Returns the value with other Floats, which are asked for in order.
fn with_floats(x: &Val, other: &mut impl FnMut(f64) -> Val) -> Val {
    match x {
        Val::Float(x) => other(x.value),
        Val::Tuple(parts) => Val::Tuple(parts.iter().map(|x| with_floats(x, other)).collect()),
        Val::Tensor(v) => Val::tensor_of(v.size.clone(), v.elements.iter().map(|x| with_floats(x, other)).collect()),
        rest => rest.clone(),
    }
}
