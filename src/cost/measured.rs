//! Counts for a function and its reverse derivatives at one point.

use super::nesting::nesting;
use super::weights::{WORK, Weights};
use super::{PER_LEVEL, SMALL};
use crate::benchmark::parts;
use crate::derive::pipeline::{self, Pipeline};
use lm::interp::{Counts, Interpreter, RuntimeError};
use lm::map;
use lm::term::{Derivative, FunName, Program};
use lm::value::Value;

/// The reason why a function cannot be measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The function, or a derivative of it, cannot be made.
    #[error("{0}: {1}")]
    NotMade(FunName, #[source] Box<pipeline::Error>),
    /// A call stops with an error.
    #[error("{0}: {1}")]
    Stopped(FunName, #[source] Box<RuntimeError>),
}

/// Returns the value of a call, and what it took.
///
/// Errors: the call stops.
pub fn call(program: &Program, name: &FunName, args: &[Value]) -> Result<(Value, Counts), Error> {
    let mut interpreter = Interpreter::new(program);
    let value = interpreter.call(name, args).map_err(|error| Error::Stopped(name.clone(), Box::new(error)))?;
    Ok((value, interpreter.counts))
}

/// Returns what [`Measured`] counts of a function, or of its restriction to some parameters: the function itself, value
/// and gradient, and the gradient alone.
pub fn counted(f: &FunName) -> [FunName; 3] {
    [f.unrestricted(), f.derived(Derivative::Vjp), f.derived(Derivative::Rev)]
}

/// Counts for a function at a point, and for its derivatives there.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The nesting p of array operations, through calls; recursion is a level.
    pub nesting: u64,
    /// The Floats of argument and result.
    pub floats: u64,
    /// The counts of the function.
    pub primal: Counts,
    /// The counts of `[vjp f]`: value and gradient.
    pub vjp: Counts,
    /// The counts of `[rev f]`: the gradient alone.
    pub rev: Counts,
}

impl Measured {
    /// Measures `f` at a point, the whole argument; cotangents are zeros, of which no derivative knows.
    ///
    /// Errors: a derivative cannot be made, or a call stops.
    pub fn new(p: &mut Pipeline, f: &FunName, point: &Value) -> Result<Measured, Error> {
        let names = counted(f);
        for name in &names {
            p.require(name).map_err(|error| Error::NotMade(name.clone(), Box::new(error)))?;
        }
        let [primal, vjp, rev] = &names;
        let program = p.program();
        let (value, counts) = call(program, primal, &parts(&program.defs[primal].fun, point))?;
        let both = [point.clone(), map::zero(&value)];
        Ok(Measured {
            nesting: nesting(program, primal),
            floats: (point.floats().len() + value.floats().len()) as u64,
            primal: counts,
            vjp: call(program, vjp, &both)?.1,
            rev: call(program, rev, &both)?.1,
        })
    }

    /// Returns the levels of the bound: the nesting, at least 1.
    pub fn levels(&self) -> u64 {
        self.nesting.max(1)
    }

    /// Returns the largest ratio of the bound, `4 · max(p, 1)`.
    pub fn bound(&self) -> u64 {
        PER_LEVEL * self.levels()
    }

    /// Returns the largest ratio of Theorem 5.4, `4 · 3^p`; [`u64::MAX`] where that is larger still.
    pub fn theorem(&self) -> u64 {
        let power = u32::try_from(self.nesting).ok().and_then(|p| 3u64.checked_pow(p));
        power.and_then(|power| PER_LEVEL.checked_mul(power)).unwrap_or(u64::MAX)
    }

    /// Returns the cost of the function: what it does, reading its argument, and writing its result.
    pub fn base(&self, weights: &Weights) -> u64 {
        (weights.of(&self.primal) + self.floats).max(SMALL)
    }

    /// Returns the cost of a derivative's counts over that of the function.
    pub fn ratio(&self, derivative: &Counts, weights: &Weights) -> f64 {
        weights.of(derivative) as f64 / self.base(weights) as f64
    }

    /// Returns the work of value and gradient for each thing that the function does, for each level.
    pub fn per_level(&self) -> f64 {
        self.ratio(&self.vjp, &WORK) / self.levels() as f64
    }

    /// Returns whether value and gradient, and the gradient alone, are within the bound.
    pub fn is_cheap(&self) -> bool {
        [&self.vjp, &self.rev].into_iter().all(|counts| self.is_within(counts))
    }

    /// Returns whether a derivative's counts are within the bound.
    pub fn is_within(&self, derivative: &Counts) -> bool {
        WORK.of(derivative) <= self.bound() * self.base(&WORK)
    }
}
