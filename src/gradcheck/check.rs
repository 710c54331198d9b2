//! Checks one function, point by point.

use super::compare::{dot, magnitude, native_distance, relative, size};
use super::noise::{Compared, Noise, SAMPLES, beyond, jittered};
use super::report::{Errors, Report};
use super::tangent::{has_floats, moved, part_that_varies, shifted, varied};
use super::{Random, calls_externals, example, names, native_limit, reduces, stops_gradients, varying_parts};
use crate::derive::pipeline::Pipeline;
use lm::interp::{ErrorKind, Interpreter, RuntimeError};
use lm::term::{FunName, Program};
use lm::value::Value;
use native::Jit;
use std::cell::Cell;
use std::mem::discriminant;

/// A derivative smaller than this, for directions of size one, is what cancelling terms left: its last
/// bits say nothing.
const CANCELLED: f64 = 1e-6;

/// The largest step of differences.
const LARGEST_STEP: f64 = 1e-2;

/// The number of points at which each parameter is looked at by itself. Up to there, no size is 0.
const BY_PARAMETER: usize = 3;

/// So many points are tried whose sizes are not 0.
const NOT_EMPTY: usize = 20;

/// What the interpreter may do for one function, in [accesses](lm::interp::Counts::accesses), where native code can take
/// its place: about half a minute. A gradient by a loop over directions calls its function thousands of times.
const ACCESSES: u64 = 1 << 29;

/// Checks a function at `points` random points. `jit` has its three [`names`] as entries; without it,
/// native code is not looked at.
pub fn check(pipeline: &Pipeline, jit: Option<&Jit>, f: &FunName, points: usize, seed: u64) -> Report {
    Check::new(pipeline, jit, f, seed).at_points(points)
}

/// Does the same as [`check`], where the interpreter may do so much, in [accesses](lm::interp::Counts::accesses), before
/// native code that agreed goes on alone.
pub fn check_within(
    pipeline: &Pipeline,
    jit: Option<&Jit>,
    f: &FunName,
    points: usize,
    seed: u64,
    accesses: u64,
) -> Report {
    let mut check = Check::new(pipeline, jit, f, seed);
    check.most_accesses = accesses;
    check.at_points(points)
}

/// Does the same as [`check`], and looks for the first operation whose result is not finite.
pub fn check_finite(pipeline: &Pipeline, jit: Option<&Jit>, f: &FunName, points: usize, seed: u64) -> Report {
    let mut check = Check::new(pipeline, jit, f, seed);
    check.report.checks_finite = true;
    check.at_points(points)
}

/// Does the same as [`check`] at given points. Points outside of the function's domain do not count.
pub fn check_at(pipeline: &Pipeline, jit: Option<&Jit>, f: &FunName, points: &[Value], seed: u64) -> Report {
    let mut check = Check::new(pipeline, jit, f, seed);
    points.iter().for_each(|point| check.at(point.clone()));
    check.report
}

struct Check<'a> {
    pipeline: &'a Pipeline,
    jit: Option<&'a Jit>,
    f: &'a FunName,
    random: Random,
    report: Report,
    /// At so many points each parameter is looked at by itself, too.
    by_parameter: usize,
    /// Whether only native code can call the function, since it calls an external one.
    is_native_only: bool,
    /// Whether values at the current point are the interpreter's.
    is_interpreted: bool,
    /// The program as it is written, where the function uses `reduce`.
    written: Option<Program>,
    /// What the interpreter has done so far.
    accesses: Cell<u64>,
    /// What it may have done before a point at which it is called.
    most_accesses: u64,
}

/// The vectors at one point.
struct Vectors {
    /// The tangent, as the forward derivative takes it: only what varies.
    ds: Value,
    /// The same tangent, with zeros for what does not vary.
    direction: Value,
    /// The cotangent.
    dr: Value,
    /// The value.
    y: Value,
    /// The forward derivative, if there is one.
    dy: Option<Value>,
    /// The reverse derivative, if there is one.
    back: Option<Value>,
}

impl<'a> Check<'a> {
    fn new(pipeline: &'a Pipeline, jit: Option<&'a Jit>, f: &'a FunName, seed: u64) -> Check<'a> {
        let program = pipeline.program();
        let report = Report::new(native_limit(jit), stops_gradients(pipeline, f), varying_parts(program, f));
        let is_native_only = jit.is_some() && names(f).iter().any(|name| calls_externals(program, name));
        Check {
            pipeline,
            jit,
            f,
            random: Random::new(seed),
            report,
            by_parameter: 0,
            is_native_only,
            is_interpreted: !is_native_only,
            written: reduces(pipeline, f),
            accesses: Cell::new(0),
            most_accesses: ACCESSES,
        }
    }

    /// Checks at so many points: the example and others, or random ones.
    fn at_points(mut self, points: usize) -> Report {
        self.by_parameter = BY_PARAMETER;
        let program = self.pipeline.program();
        let example = example(program, self.f).map(|name| Interpreter::new(program).call(&name, &[]));
        let example = match example {
            Some(Ok(point)) => Some(point),
            Some(Err(error)) => return Report { stopped: Some(error), ..self.report },
            None => None,
        };
        // A point outside the function's domain is no point; the domain may be a small part of the box.
        const TRIES_PER_POINT: usize = 50;
        for tries in 0..points * TRIES_PER_POINT {
            if self.report.points == points || self.report.stopped.is_some() {
                break;
            }
            let whole = self.point(example.as_ref(), tries);
            self.at(whole);
        }
        self.report
    }

    /// Returns the example itself, then points near it; without an example, random ones. Once one of them was outside
    /// the domain, the sizes and Integers of every other point are equal, for functions that need that. Where a type
    /// says sizes, the tensors inside of tensors of every other point have sizes of their own.
    fn point(&mut self, example: Option<&Value>, tries: usize) -> Value {
        const NEAR: f64 = 0.05;
        let fun = &self.pipeline.program().defs[self.f].fun;
        let argument = fun.argument();
        let sizes = self.pipeline.program().signature(fun);
        let was_outside = tries > self.report.points;
        // The domain may be what is empty.
        let least = usize::from(self.report.points < BY_PARAMETER && tries < NOT_EMPTY);
        match (example, sizes) {
            (None, Some(sizes)) => self.random.point_of_sizes(&sizes, least, tries % 2 == 1),
            (None, None) if was_outside && tries % 2 == 1 => self.random.point_of_one_size(&argument),
            (None, None) => self.random.point_from(&argument, least),
            (Some(point), _) if tries == 0 => point.clone(),
            (Some(point), _) => {
                let direction = self.random.direction(point);
                shifted(point, &direction, NEAR)
            }
        }
    }

    fn at(&mut self, whole: Value) {
        let has_time = self.accesses.get() <= self.most_accesses;
        self.is_interpreted = !self.is_native_only && (has_time || self.jit.is_none() || !self.report.native_agrees());
        let one = self.takes_one();
        let parts = self.parts(&whole);
        let direction = self.random.direction(&whole);
        let (ds, direction) = match self.f.varying() {
            None => (direction.clone(), direction),
            Some(varying) => varied(&direction, one, varying),
        };
        let y = match self.call(self.f, &parts, &whole) {
            Ok(y) => y,
            Err(error) => {
                self.report.outside.stopped.get_or_insert((whole, error));
                return;
            }
        };
        self.check_grouping(&whole, &parts);
        let dr = self.random.direction(&y);
        let [_, forward, reverse] = names(self.f);
        let (to_forward, to_reverse) = (vec![whole.clone(), ds.clone()], vec![whole.clone(), dr.clone()]);
        let derived = self.call_if_there(&forward, &to_forward, &whole);
        let derived = derived.and_then(|dy| Ok((dy, self.call_if_there(&reverse, &to_reverse, &whole)?)));
        let (dy, back) = match derived {
            Ok(both) => both,
            Err(error) => return self.report.stopped = Some(error),
        };
        let has_derivative = [&dy, &back].into_iter().flatten().all(is_finite);
        if self.report.checks_finite || (is_finite(&y) && !has_derivative) {
            self.find_not_finite(&whole, [(self.f, &parts), (&forward, &to_forward), (&reverse, &to_reverse)]);
        }
        if !is_finite(&y) || !has_derivative {
            let outside = &mut self.report.outside;
            let first = if is_finite(&y) { &mut outside.without_derivative } else { &mut outside.infinite };
            first.get_or_insert(whole);
            return;
        }
        self.report.points += 1;
        self.report.interpreted += usize::from(self.is_interpreted);
        self.report.empty.retain(|(_, way)| !has_floats(&whole, one, way));
        let vectors = Vectors { ds, direction, dr, y, dy, back };
        let errors = self.errors(&whole, &parts, &vectors);
        self.report.whole.keep_worse(errors, &whole);
        self.compare_parameters(&whole, &parts, vectors);
    }

    /// Looks for a `reduce` whose value depends on the grouping, until one is found.
    fn check_grouping(&mut self, whole: &Value, parts: &[Value]) {
        let Some(program) = self.written.as_ref().filter(|_| self.is_interpreted) else { return };
        if self.report.regrouped.is_none() {
            let mut interpreter = Interpreter::new(program).checking_grouping();
            // A value that stops was told already.
            drop(interpreter.call(self.f, parts));
            self.accesses.set(self.accesses.get() + interpreter.counts.accesses);
            self.report.regrouped = interpreter.regrouped.map(|found| (whole.clone(), found));
        }
    }

    fn takes_one(&self) -> bool {
        self.pipeline.program().defs[self.f].params.len() == 1
    }

    /// Returns the arguments of the function, from its whole argument.
    fn parts(&self, whole: &Value) -> Vec<Value> {
        match whole {
            Value::Tuple(parts) if !self.takes_one() => parts.clone(),
            _ => vec![whole.clone()],
        }
    }

    /// Compares the derivatives with respect to each parameter that varies, and was compared at few points so far. A
    /// point without Floats of the parameter is none for it.
    fn compare_parameters(&mut self, whole: &Value, parts: &[Value], mut vectors: Vectors) {
        let one = parts.len() == 1;
        let direction = vectors.direction.clone();
        let forward = names(self.f)[1].clone();
        for i in 0..self.report.parameters.len() {
            let parameter = &mut self.report.parameters[i];
            if parameter.points == self.by_parameter || !has_floats(whole, one, &parameter.way) {
                continue;
            }
            parameter.points += 1;
            let way = std::slice::from_ref(&self.report.parameters[i].way);
            vectors.direction = varied(&direction, one, way).1;
            vectors.ds = match self.f.varying() {
                None => vectors.direction.clone(),
                Some(varying) => part_that_varies(&vectors.direction, one, varying),
            };
            let dy = |_| self.value(&forward, &[whole.clone(), vectors.ds.clone()]).ok();
            vectors.dy = vectors.dy.take().and_then(dy);
            let errors = self.errors(whole, parts, &vectors);
            self.report.parameters[i].comparison.keep_worse(errors, whole);
        }
    }

    /// Returns the errors at a point: forward against reverse mode, and each against differences. Where they are too
    /// large, rounding is not counted.
    fn errors(&self, whole: &Value, parts: &[Value], v: &Vectors) -> Errors {
        let forward = v.dy.as_ref().map(|dy| dot(&v.dr, dy));
        let reverse = v.back.as_ref().map(|back| dot(back, &v.ds));
        let scales = [v.dy.as_ref().map(|dy| magnitude(&v.dr, dy)), v.back.as_ref().map(|back| magnitude(back, &v.ds))];
        // Terms of the value's size may cancel in a derivative.
        let value = 1e-3 * magnitude(&v.dr, &v.y);
        let scale = scales.into_iter().flatten().fold(CANCELLED * size(&v.dr) * size(&v.ds), f64::max).max(value);
        let is_compared = !self.report.stops_gradients;
        let quotients = if is_compared { self.quotients(parts, &v.direction, &v.dr) } else { Vec::new() };
        let closest = |exact: f64, noise: f64| {
            let errors = quotients.iter().map(|quotient| relative(beyond(quotient - exact, noise), scale));
            errors.fold(f64::INFINITY, |best, error| if error < best { error } else { best })
        };
        let errors = |noise: Noise| {
            let apart = |(one, other): (f64, f64)| relative(beyond(one - other, noise.forward + noise.reverse), scale);
            let in_value = noise.value / LARGEST_STEP;
            let forward_differences = forward.map(|exact| closest(exact, noise.forward + in_value));
            let reverse_differences = reverse.map(|exact| closest(exact, noise.reverse + in_value));
            Errors {
                forward_reverse: forward.zip(reverse).map(apart),
                differences: forward_differences.filter(|_| is_compared),
                reverse_differences: reverse_differences.filter(|_| is_compared),
            }
        };
        let found = errors(Noise::default());
        let now = [Some(dot(&v.dr, &v.y)), forward, reverse];
        let cancelled = CANCELLED * size(&v.dr) * size(&v.ds);
        if found.agree() { found } else { errors(self.noise(whole, v, now).within(cancelled)) }
    }

    /// Returns the rounding in what is compared at a point; `now` is that.
    fn noise(&self, whole: &Value, v: &Vectors, now: Compared) -> Noise {
        let [_, forward, reverse] = names(self.f);
        let mut random = Random::new(0);
        let near = |_| {
            let [s, ds, dr] = [whole, &v.ds, &v.dr].map(|x| jittered(x, &mut random));
            let y = self.value(self.f, &self.parts(&s)).ok();
            let dy = v.dy.as_ref().and_then(|_| self.value(&forward, &[s.clone(), ds.clone()]).ok());
            let back = v.back.as_ref().and_then(|_| self.value(&reverse, &[s, dr.clone()]).ok());
            [y.map(|y| dot(&dr, &y)), dy.map(|dy| dot(&dr, &dy)), back.map(|back| dot(&back, &ds))]
        };
        let samples: Vec<Compared> = (0..SAMPLES).map(near).chain([now]).collect();
        Noise::of(&samples)
    }

    /// Keeps the first operation of these calls whose result is not finite, unless there is one.
    fn find_not_finite(&mut self, point: &Value, calls: [(&FunName, &Vec<Value>); 3]) {
        let program = self.pipeline.program();
        let find = |(name, args): (&FunName, &Vec<Value>)| {
            let outcome = Interpreter::new(program).checking_finite().call(name, args);
            outcome.err().filter(|error| matches!(error.kind, ErrorKind::NotFinite(_)))
        };
        if self.report.not_finite.is_none() {
            self.report.not_finite = calls.into_iter().find_map(find).map(|error| (point.clone(), error));
        }
    }

    /// Returns whether the function can be called. A derivative of a function that calls external ones may not be there.
    fn is_there(&self, name: &FunName) -> bool {
        !self.is_native_only || self.jit.is_none_or(|jit| jit.module().entry(name).is_some())
    }

    /// Returns what [`Check::call`] does, and nothing for a derivative that is not there.
    fn call_if_there(&mut self, name: &FunName, args: &[Value], point: &Value) -> Result<Option<Value>, RuntimeError> {
        if self.is_there(name) { self.call(name, args, point).map(Some) } else { Ok(None) }
    }

    /// Returns a call by the interpreter; by native code, where only that can call an external function, or where the
    /// interpreter has had its time.
    fn value(&self, name: &FunName, args: &[Value]) -> Result<Value, RuntimeError> {
        match self.jit.filter(|_| !self.is_interpreted) {
            Some(jit) => jit.call(name, args),
            None => {
                let mut interpreter = Interpreter::new(self.pipeline.program());
                let value = interpreter.call(name, args);
                self.accesses.set(self.accesses.get() + interpreter.counts.accesses);
                value
            }
        }
    }

    /// Returns a call by the interpreter, compared with native code.
    fn call(&mut self, name: &FunName, args: &[Value], point: &Value) -> Result<Value, RuntimeError> {
        let value = self.value(name, args);
        // Native code would go on until its stack is full.
        let is_too_deep = |error: &RuntimeError| matches!(error.kind, ErrorKind::RecursionTooDeep(_));
        let is_compared = self.is_interpreted && !value.as_ref().is_err_and(is_too_deep);
        let Some(jit) = self.jit.filter(|_| is_compared) else { return value };
        let error = match (&value, jit.call(name, args)) {
            (Ok(a), Ok(b)) => native_distance(a, &b),
            // Of several failing parts either may meet another first.
            (Err(a), Err(b)) if discriminant(&a.kind) == discriminant(&b.kind) => 0.0,
            _ => f64::INFINITY,
        };
        self.report.native.keep_worse(error, point);
        value
    }

    /// Returns the central differences of all steps: by native code, as long as it gives what the interpreter gives.
    fn quotients(&self, parts: &[Value], ds: &Value, dr: &Value) -> Vec<f64> {
        let steps = (0..=12).map(|k| LARGEST_STEP * 10f64.powf(-f64::from(k) / 2.0));
        let jit = self.jit.filter(|_| self.report.native_agrees());
        let value = |parts: Vec<Value>| match jit {
            Some(jit) => jit.call(self.f, &parts),
            None => self.value(self.f, &parts),
        };
        let along = |h: f64| value(moved(parts, ds, h)).ok().map(|y| dot(dr, &y));
        steps.filter_map(|h| Some((along(h)? - along(-h)?) / (2.0 * h))).collect()
    }
}

fn is_finite(v: &Value) -> bool {
    v.floats().iter().all(|x| x.is_finite())
}
