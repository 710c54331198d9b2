//! Checks one function, point by point.

use super::compare::{dot, magnitude, native_distance, relative, size};
use super::tangent::{moved, shifted, varied};
use super::{Random, Report, example, names, native_limit, stops_gradients};
use crate::derive::pipeline::Pipeline;
use lm::interp::{ErrorKind, Interpreter, RuntimeError};
use lm::term::FunName;
use lm::value::Value;
use native::Jit;
use std::mem::discriminant;

/// A derivative smaller than this, for directions of size one, is what cancelling terms left: its last
/// bits say nothing.
const CANCELLED: f64 = 1e-6;

/// Checks a function at `points` random points. `jit` has its three [`names`] as entries; without it,
/// native code is not looked at.
pub fn check(pipeline: &Pipeline, jit: Option<&Jit>, f: &FunName, points: usize, seed: u64) -> Report {
    Check::new(pipeline, jit, f, seed).at_points(points)
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
    /// The forward derivative.
    dy: Value,
    /// The reverse derivative.
    back: Value,
}

impl<'a> Check<'a> {
    fn new(pipeline: &'a Pipeline, jit: Option<&'a Jit>, f: &'a FunName, seed: u64) -> Check<'a> {
        let report = Report::new(native_limit(jit), stops_gradients(pipeline.program(), f));
        Check { pipeline, jit, f, random: Random::new(seed), report }
    }

    /// Checks at so many points: the example and others, or random ones.
    fn at_points(mut self, points: usize) -> Report {
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
    /// the domain, the sizes and Integers of every other point are equal, for functions that need that.
    fn point(&mut self, example: Option<&Value>, tries: usize) -> Value {
        const NEAR: f64 = 0.05;
        let argument = self.pipeline.program().defs[self.f].fun.argument();
        let was_outside = tries > self.report.points;
        match example {
            None if was_outside && tries % 2 == 1 => self.random.point_of_one_size(&argument),
            None => self.random.point(&argument),
            Some(point) if tries == 0 => point.clone(),
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
            Err(error) => {
                self.report.outside.stopped.get_or_insert((whole, error));
                return;
            }
        };
        let dr = self.random.direction(&y);
        let [_, forward, reverse] = names(self.f);
        let (to_forward, to_reverse) = (vec![whole.clone(), ds.clone()], vec![whole.clone(), dr.clone()]);
        let derived = self.call(&forward, &to_forward, &whole);
        let derived = derived.and_then(|dy| Ok((dy, self.call(&reverse, &to_reverse, &whole)?)));
        let (dy, back) = match derived {
            Ok(both) => both,
            Err(error) => return self.report.stopped = Some(error),
        };
        let has_derivative = is_finite(&dy) && is_finite(&back);
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
        self.compare(&whole, &parts, &Vectors { ds, direction, dr, y, dy, back });
    }

    /// Compares forward with reverse mode and with differences.
    fn compare(&mut self, whole: &Value, parts: &[Value], v: &Vectors) {
        let (one, other) = (dot(&v.dr, &v.dy), dot(&v.back, &v.ds));
        let scale = magnitude(&v.dr, &v.dy).max(magnitude(&v.back, &v.ds)).max(CANCELLED * size(&v.dr) * size(&v.ds));
        self.report.forward_reverse.keep_worse(relative(one - other, scale), whole);
        if !self.report.stops_gradients {
            let scale = scale.max(1e-3 * magnitude(&v.dr, &v.y));
            let closest = self.step_study(parts, &v.direction, &v.dr, one, scale);
            self.report.differences.keep_worse(closest, whole);
        }
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

    /// Returns a call by the interpreter, compared with native code.
    fn call(&mut self, name: &FunName, args: &[Value], point: &Value) -> Result<Value, RuntimeError> {
        let interpreted = Interpreter::new(self.pipeline.program()).call(name, args);
        // Native code would go on until its stack is full.
        let is_too_deep = |error: &RuntimeError| matches!(error.kind, ErrorKind::RecursionTooDeep(_));
        let Some(jit) = self.jit.filter(|_| !interpreted.as_ref().is_err_and(is_too_deep)) else { return interpreted };
        let error = match (&interpreted, jit.call(name, args)) {
            (Ok(a), Ok(b)) => native_distance(a, &b),
            // Of several failing parts either may meet another first.
            (Err(a), Err(b)) if discriminant(&a.kind) == discriminant(&b.kind) => 0.0,
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

fn is_finite(v: &Value) -> bool {
    v.floats().iter().all(|x| x.is_finite())
}
