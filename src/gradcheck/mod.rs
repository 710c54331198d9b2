//! Checks of derivatives at random points.
//!
//! ```text
//! <dr, fwd$f(s, ds)> = <rev$f(s, dr), ds>                               forward against reverse
//! <dr, fwd$f(s, ds)> ~ <dr, f(s + h ds) - f(s - h ds)> / 2h             against central differences
//! interpreter ~ native: the same to the bit with exact arithmetic, but for sums whose terms come in another order
//! ```
//!
//! The points are random, unless the program says where: a function `example` without parameters that
//! gives the argument. Then the first point is that one, and the others lie near it.
//!
//! The step study takes the differences at h = 1e-2 .. 1e-8 and keeps the closest: a large step is
//! wrong by curvature, a small one by rounding, and the best lies between.

mod random;

use crate::derive::pipeline::{Error, Pipeline};
use lm::interp::{Interpreter, RuntimeError};
use lm::term::{Def, Derivative, FunName, Path, Program};
use lm::value::Value;
use native::{Jit, Math};
use std::mem::discriminant;
use std::sync::Arc;

pub use random::Random;

/// Largest relative difference between forward and reverse mode that agrees.
pub const FORWARD_REVERSE: f64 = 1e-10;
/// Largest difference between interpreter and native code with [`Math::Exact`] that agrees, relative to the largest
/// number of a value.
pub const NATIVE: f64 = 1e-12;
/// The same with [`Math::Fast`], whose roundings a function may magnify: `1 - t * t` of a `t` near one is as far off as
/// `t`, and small.
pub const NATIVE_FAST: f64 = 1e-9;
/// Largest relative difference from finite differences that agrees.
pub const DIFFERENCES: f64 = 1e-6;

/// A derivative smaller than this, for directions of size one, is what cancelling terms left: its last
/// bits say nothing.
const CANCELLED: f64 = 1e-6;

/// The largest error of one kind, and where.
#[derive(Clone, Debug, Default)]
pub struct Worst {
    /// The relative error.
    pub error: f64,
    /// The point.
    pub point: Option<Value>,
}

impl Worst {
    fn keep_worse(&mut self, error: f64, point: &Value) {
        // Not `error > self.error`: a NaN is worse than anything.
        let no_worse = error <= self.error;
        if self.point.is_none() || !no_worse {
            *self = Worst { error, point: Some(point.clone()) };
        }
    }
}

/// The result of checking one function.
#[derive(Clone, Debug)]
pub struct Report {
    /// Points at which the function and its derivatives are finite.
    pub points: usize,
    /// Forward against reverse mode.
    pub forward_reverse: Worst,
    /// Forward mode against central differences.
    pub differences: Worst,
    /// Native code against the interpreter; infinite where one stops or gives another form, and the other
    /// does not.
    pub native: Worst,
    /// Largest error of native code that agrees.
    pub native_limit: f64,
    /// An error of a derivative where the function has a value; or one of the function, when it has a
    /// value nowhere.
    pub stopped: Option<RuntimeError>,
}

impl Report {
    fn new(jit: Option<&Jit>) -> Report {
        let [forward_reverse, differences, native] = <[Worst; 3]>::default();
        Report { points: 0, forward_reverse, differences, native, native_limit: native_limit(jit), stopped: None }
    }

    /// Returns whether all values agree, at one point at least.
    pub fn agrees(&self) -> bool {
        self.points > 0
            && self.stopped.is_none()
            && self.native.error <= self.native_limit
            && self.forward_reverse.error <= FORWARD_REVERSE
            && self.differences.error <= DIFFERENCES
    }
}

/// Returns the largest error of this native code that agrees: [`NATIVE`] or [`NATIVE_FAST`].
pub fn native_limit(jit: Option<&Jit>) -> f64 {
    match jit.map(Jit::math) {
        Some(Math::Fast) => NATIVE_FAST,
        Some(Math::Exact) | None => NATIVE,
    }
}

/// Returns the function and its two derivatives.
pub fn names(f: &FunName) -> [FunName; 3] {
    [f.clone(), f.derived(Derivative::Fwd), f.derived(Derivative::Rev)]
}

/// Makes what [`check`] runs.
pub fn prepare(pipeline: &mut Pipeline, f: &FunName) -> Result<(), Error> {
    names(f).iter().try_for_each(|name| pipeline.require(name))
}

/// Returns whether there is something to check about a function without being asked: its result can change. Of a
/// program with an `example`, only functions that take it: for others random arguments would rarely fit.
pub fn is_worth_checking(program: &Program, f: &FunName) -> bool {
    let fun = &program.defs[f].fun;
    let fits = |example: &Def| example.fun.result == fun.argument();
    let chosen = program.defs.get(&FunName::base(EXAMPLE)).is_none_or(fits);
    chosen && fun.argument().is_differentiable() && fun.result.is_differentiable()
}

/// The name of a function without parameters that gives the point.
const EXAMPLE: &str = "example";

/// Returns the function `example` that gives an argument of `f`, if the program has one.
pub fn example(program: &Program, f: &FunName) -> Option<FunName> {
    let defs = &program.defs;
    let name = FunName::base(EXAMPLE);
    let gives = |def: &Def| def.params.is_empty() && def.fun.result == defs[f].fun.argument();
    defs.get(&name).is_some_and(gives).then_some(name)
}

/// Checks a function at `points` random points. `jit` has its three [`names`] as entries; without it,
/// native code is not looked at.
pub fn check(pipeline: &Pipeline, jit: Option<&Jit>, f: &FunName, points: usize, seed: u64) -> Report {
    let mut check = Check { pipeline, jit, f, random: Random::new(seed), report: Report::new(jit), outside: None };
    let example = example(pipeline.program(), f).map(|name| Interpreter::new(pipeline.program()).call(&name, &[]));
    let example = match example {
        Some(Ok(point)) => Some(point),
        Some(Err(error)) => return Report { stopped: Some(error), ..check.report },
        None => None,
    };
    // A point outside the function's domain is no point; the domain may be a small part of the box.
    const TRIES_PER_POINT: usize = 50;
    for _ in 0..points * TRIES_PER_POINT {
        if check.report.points == points || check.report.stopped.is_some() {
            break;
        }
        let whole = check.point(example.as_ref());
        check.at(whole);
    }
    let Check { mut report, outside, .. } = check;
    if report.points == 0 && report.stopped.is_none() {
        report.stopped = outside;
    }
    report
}

/// Does the same as [`check`] at given points. Points outside of the function's domain do not count.
pub fn check_at(pipeline: &Pipeline, jit: Option<&Jit>, f: &FunName, points: &[Value], seed: u64) -> Report {
    let mut check = Check { pipeline, jit, f, random: Random::new(seed), report: Report::new(jit), outside: None };
    points.iter().for_each(|point| check.at(point.clone()));
    check.report
}

struct Check<'a> {
    pipeline: &'a Pipeline,
    jit: Option<&'a Jit>,
    f: &'a FunName,
    random: Random,
    report: Report,
    /// The function's error at a point outside its domain.
    outside: Option<RuntimeError>,
}

impl Check<'_> {
    /// Returns the example itself, then points near it; without an example, random ones.
    fn point(&mut self, example: Option<&Value>) -> Value {
        const NEAR: f64 = 0.05;
        let argument = self.pipeline.program().defs[self.f].fun.argument();
        match example {
            None => self.random.point(&argument),
            Some(point) if self.report.points == 0 => point.clone(),
            Some(point) => {
                let direction = self.random.direction(point);
                shifted(point, &direction, NEAR)
            }
        }
    }

    fn at(&mut self, whole: Value) {
        let program = self.pipeline.program();
        let fun = program.defs[self.f].fun.clone();
        let parts = match &whole {
            Value::Tuple(parts) if fun.params.len() != 1 => parts.clone(),
            _ => vec![whole.clone()],
        };
        let direction = self.random.direction(&whole);
        let (ds, direction) = match self.f.varying() {
            None => (direction.clone(), direction),
            Some(varying) => varied(&direction, fun.params.len() == 1, varying),
        };
        let y = match self.call(self.f, &parts, &whole) {
            Ok(y) => y,
            Err(error) => return self.outside = Some(error),
        };
        let dr = self.random.direction(&y);
        let [_, forward, reverse] = names(self.f);
        let derived = self.call(&forward, &[whole.clone(), ds.clone()], &whole);
        let derived = derived.and_then(|dy| Ok((dy, self.call(&reverse, &[whole.clone(), dr.clone()], &whole)?)));
        let (dy, back) = match derived {
            Ok(both) => both,
            Err(error) => return self.report.stopped = Some(error),
        };
        if ![&y, &dy, &back].iter().all(|v| v.floats().iter().all(|x| x.is_finite())) {
            return;
        }
        self.report.points += 1;
        let (one, other) = (dot(&dr, &dy), dot(&back, &ds));
        let scale = magnitude(&dr, &dy).max(magnitude(&back, &ds)).max(CANCELLED * size(&dr) * size(&ds));
        self.report.forward_reverse.keep_worse(relative(one - other, scale), &whole);
        let closest = self.step_study(&parts, &direction, &dr, one, scale.max(1e-3 * magnitude(&dr, &y)));
        self.report.differences.keep_worse(closest, &whole);
    }

    /// Returns a call by the interpreter, compared with native code.
    fn call(&mut self, name: &FunName, args: &[Value], point: &Value) -> Result<Value, RuntimeError> {
        let interpreted = Interpreter::new(self.pipeline.program()).call(name, args);
        let error = match (&interpreted, self.jit.map(|jit| jit.call(name, args))) {
            (_, None) => return interpreted,
            (Ok(a), Some(Ok(b))) => distance(a, &b),
            // Of several failing parts either may meet another first; and each counts calls in its own way.
            (Err(a), Some(Err(b))) if discriminant(&a.kind) == discriminant(&b.kind) => 0.0,
            _ => f64::INFINITY,
        };
        self.report.native.keep_worse(error, point);
        interpreted
    }

    /// Returns the smallest relative error of central differences over the steps.
    fn step_study(&mut self, parts: &[Value], ds: &Value, dr: &Value, exact: f64, scale: f64) -> f64 {
        let steps = (4..=16).map(|k| 10f64.powf(-f64::from(k) / 2.0));
        let mut best = f64::INFINITY;
        for h in steps {
            let along = |h: f64| {
                let moved = moved(parts, ds, h);
                Interpreter::new(self.pipeline.program()).call(self.f, &moved).ok().map(|y| dot(dr, &y))
            };
            if let (Some(up), Some(down)) = (along(h), along(-h)) {
                let error = relative((up - down) / (2.0 * h) - exact, scale);
                best = if error < best { error } else { best };
            }
        }
        best
    }
}

/// Returns the sum of the absolute components.
fn size(v: &Value) -> f64 {
    v.floats().iter().map(|x| x.abs()).sum()
}

fn relative(difference: f64, scale: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference.abs() / scale.max(f64::MIN_POSITIVE) }
}

fn dot(a: &Value, b: &Value) -> f64 {
    a.floats().iter().zip(b.floats()).map(|(a, b)| a * b).sum()
}

/// Returns the sum of the absolute products: the scale on which the dot product is rounded.
fn magnitude(a: &Value, b: &Value) -> f64 {
    a.floats().iter().zip(b.floats()).map(|(a, b)| (a * b).abs()).sum()
}

/// Returns the parts of a tangent that vary, as a derivative takes them; and the tangent with all else zero.
fn varied(tangent: &Value, one: bool, varying: &[Path]) -> (Value, Value) {
    (part_that_varies(tangent, one, varying), masked(tangent, &[], &paths_into_argument(one, varying)))
}

/// Returns the parts of a tangent that vary, as a derivative takes them. With one parameter, it is the argument itself.
///
/// Panics when a path leads nowhere.
pub fn part_that_varies(tangent: &Value, one: bool, varying: &[Path]) -> Value {
    let component = |v: &Value, i: &usize| v.as_tuple().expect("a path leads through tuples")[i - 1].clone();
    let part = |path: &Path| path.iter().fold(tangent.clone(), |v, i| component(&v, i));
    let mut parts: Vec<Value> = paths_into_argument(one, varying).iter().map(part).collect();
    if parts.len() == 1 { parts.remove(0) } else { Value::Tuple(parts) }
}

/// Paths into the argument, from paths that start with the number of a parameter.
fn paths_into_argument(one: bool, varying: &[Path]) -> Vec<Path> {
    varying.iter().map(|path| if one { path[1..].to_vec() } else { path.clone() }).collect()
}

fn masked(tangent: &Value, path: &[usize], varying: &[Path]) -> Value {
    if varying.iter().any(|v| path.starts_with(v)) {
        return tangent.clone();
    }
    match tangent {
        Value::Tuple(parts) if varying.iter().any(|v| v.starts_with(path)) => {
            let part = |(i, part)| masked(part, &[path, &[i + 1]].concat(), varying);
            Value::Tuple(parts.iter().enumerate().map(part).collect())
        }
        _ => lm::map::zero(tangent),
    }
}

/// Returns `s + h ds`, argument by argument.
fn moved(parts: &[Value], ds: &Value, h: f64) -> Vec<Value> {
    match (parts, ds) {
        ([one], ds) => vec![shifted(one, ds, h)],
        (many, Value::Tuple(ds)) => many.iter().zip(ds).map(|(s, ds)| shifted(s, ds, h)).collect(),
        _ => panic!("the tangent of several arguments is a tuple"),
    }
}

fn shifted(s: &Value, ds: &Value, h: f64) -> Value {
    match (s, ds) {
        (Value::Float(s), Value::Float(ds)) => Value::Float(s + h * ds),
        (Value::Tuple(ss), Value::Tuple(dss)) if ss.len() == dss.len() => {
            Value::Tuple(ss.iter().zip(dss).map(|(s, ds)| shifted(s, ds, h)).collect())
        }
        (Value::Tensor(ss), Value::Tensor(dss)) => {
            let moved = ss.elements().iter().zip(dss.elements()).map(|(s, ds)| shifted(s, ds, h));
            Value::Tensor(Arc::new(ss.with(moved.collect())))
        }
        (s, _) => s.clone(),
    }
}

/// Returns the largest difference of two values' Floats, relative to the largest Float; infinite when they differ in
/// anything else.
pub fn distance(a: &Value, b: &Value) -> f64 {
    let (xs, ys) = (a.floats(), b.floats());
    if xs.len() != ys.len() || without_floats(a) != without_floats(b) {
        return f64::INFINITY;
    }
    let scale = xs.iter().filter(|x| x.is_finite()).fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    let one = |(x, y): (&f64, &f64)| {
        let same = x == y || (x.is_nan() && y.is_nan());
        if same { 0.0 } else { (x - y).abs() / scale }
    };
    xs.iter().zip(&ys).map(one).fold(0.0, |worst: f64, e| if e.is_nan() || e > worst { e } else { worst })
}

/// Returns the value with zeros for Floats: its shape, and what is discrete.
fn without_floats(v: &Value) -> Value {
    match v {
        Value::Float(_) => Value::Float(0.0),
        Value::Tuple(parts) => Value::Tuple(parts.iter().map(without_floats).collect()),
        Value::Tensor(t) => Value::Tensor(Arc::new(t.with(t.elements().iter().map(without_floats).collect()))),
        other => other.clone(),
    }
}

/// Returns whether two values are equal to the bit; all NaNs are one.
pub fn same_bits(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        (Value::Tuple(a), Value::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_bits(a, b)),
        (Value::Tensor(a), Value::Tensor(b)) => {
            a.size() == b.size() && a.elements().iter().zip(b.elements()).all(|(a, b)| same_bits(a, b))
        }
        (a, b) => a == b,
    }
}
