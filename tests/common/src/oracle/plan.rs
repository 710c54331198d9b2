//! Compares functions of a program, and their derivatives, at several points.

use super::comparison::{Tally, Why, agree};
use super::evaluators::{Applied, Call, Subject};
use crate::compile_time;
use crate::native::unoptimised;
use lm::map;
use lm::term::{Derivative, FunName, Program};
use lm::timing::Timings;
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::Random;
use lmc::ks::front;
use lmc::ks::source::Source;
use loops::lower::lower;
use loops::{Checks, Selection};
use native::{Jit, SourceInfo};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The comparisons to make for a program.
pub(super) struct Plan<'a> {
    pub text: &'a str,
    pub derivation: Derivation,
    pub functions: &'a dyn Fn(&Program) -> Vec<FunName>,
    /// Arguments of a function at which it is called.
    pub points: &'a dyn Fn(&Program, &FunName) -> Vec<Vec<Value>>,
    /// Whether to compile the program.
    pub natively: bool,
    /// Whether to compare Jacobians as maps. A map is a tree, which repeats a shared value at each use. So the map of
    /// a chain of calls may have exponential size.
    pub maps: bool,
}

/// The derivatives that are called, by name: with a tangent of the argument, or with one of the result.
const FORWARD: [Derivative; 2] = [Derivative::Fwd, Derivative::Jvp];
const REVERSE: [Derivative; 3] = [Derivative::Rev, Derivative::Vjp, Derivative::SufRev];

/// Jacobians are transposed by basis vectors at arguments of at most so many Floats.
const MOST_DIMENSIONS: usize = 50;

impl Plan<'_> {
    pub(super) fn agrees(&self, tally: &mut Tally) -> Result<(), String> {
        let source = Source::new("case.ks", self.text);
        let checked = front::load_for(&source, self.derivation, &Timings::default());
        let mut pipeline = Pipeline::new(checked.map_err(|errors| format!("does not read: {errors:?}"))?);
        let functions = (self.functions)(pipeline.program());
        let mut entries = vec![];
        for f in &functions {
            pipeline.require(f).map_err(|error| format!("{f}: {error}"))?;
            let fun = pipeline.program().defs[f].fun.clone();
            let varies = fun.argument().is_differentiable() && fun.result.is_differentiable();
            let derivatives = FORWARD.iter().chain(&REVERSE).map(|name| f.derived(name.clone()));
            let made: Vec<FunName> = derivatives.filter(|name| varies && pipeline.require(name).is_ok()).collect();
            if varies && self.maps {
                let _ = pipeline.require(&f.derived(Derivative::D));
            }
            entries.extend([vec![f.clone()], made].concat());
        }
        let info = SourceInfo::new(source.name(), source.text());
        let compile = || Jit::new(pipeline.program(), &entries, &info, &unoptimised());
        let jit = self.natively.then(|| compile_time::limited(compile));
        let jit = jit.transpose().map_err(|error| error.to_string())?;
        let (mut module, _) = lower(pipeline.program(), &entries, true).map_err(|error| error.to_string())?;
        let ran = loops::passes::run(&mut module, &Selection::All, Checks::default(), &Timings::default());
        ran.map_err(|error| error.to_string())?;
        let subject =
            Subject { program: pipeline.into_program(), loops: Some(module), jit, entries, bulk: RefCell::default() };
        functions.iter().try_for_each(|f| self.function(&subject, f, tally))
    }

    /// Compares a function and its derivatives at all points.
    fn function(&self, subject: &Subject, f: &FunName, tally: &mut Tally) -> Result<(), String> {
        let mut points = Points { subject, tally, by_rounding: BTreeMap::new(), held: BTreeSet::new() };
        for (number, args) in (self.points)(&subject.program, f).into_iter().enumerate() {
            points.at(f, args, number as u64)?;
        }
        points.none_is_undecided()
    }
}

/// The comparisons of a function at several points.
struct Points<'a> {
    subject: &'a Subject,
    tally: &'a mut Tally,
    /// The calls whose comparison says nothing somewhere, since rounding decides it.
    by_rounding: BTreeMap<String, String>,
    /// The calls that agree somewhere.
    held: BTreeSet<String>,
}

impl Points<'_> {
    fn at(&mut self, f: &FunName, args: Vec<Value>, number: u64) -> Result<(), String> {
        let mut random = Random::new(number);
        let whole = if let [one] = args.as_slice() { one.clone() } else { Value::Tuple(args.clone()) };
        let y = self.agree(&Call::plain(f.clone(), args.clone()))?;
        let ds = random.direction(&whole);
        let dr = y.map(|y| random.direction(&y));
        let calls = FORWARD
            .iter()
            .map(|name| (name, &ds))
            .chain(dr.iter().flat_map(|dr| REVERSE.iter().map(move |name| (name, dr))));
        for (name, direction) in calls {
            let name = f.derived(name.clone());
            if self.subject.entries.contains(&name) {
                self.agree(&Call::plain(name, vec![whole.clone(), direction.clone()]))?;
            }
        }
        let jacobian = f.derived(Derivative::D);
        if self.subject.program.defs.contains_key(&jacobian) {
            // A reverse application costs a forward one for each dimension.
            let dr = dr.filter(|_| map::zero(&whole).floats().len() <= MOST_DIMENSIONS);
            let applied = [Some(Applied::Forward(ds)), dr.map(Applied::Reverse)];
            for applied in applied.into_iter().flatten() {
                self.agree(&Call { name: jacobian.clone(), args: args.clone(), applied: Some(applied) })?;
            }
        }
        Ok(())
    }

    fn agree(&mut self, call: &Call) -> Result<Option<Value>, String> {
        let side = call.applied.as_ref().map_or("", |applied| match applied {
            Applied::Forward(_) => ", forward",
            Applied::Reverse(_) => ", reverse",
        });
        let name = format!("{}{side}", call.name);
        match agree(self.subject, call, self.tally) {
            Ok(value) => {
                self.held.insert(name);
                Ok(value)
            }
            Err(Why::Rounding(why)) => {
                self.tally.by_rounding += 1;
                self.by_rounding.insert(name, why);
                Ok(None)
            }
            Err(Why::Differs(why)) => Err(why),
        }
    }

    /// Where rounding decides a comparison at one point, it must hold at another.
    fn none_is_undecided(self) -> Result<(), String> {
        let undecided = self.by_rounding.into_iter().find(|(name, _)| !self.held.contains(name));
        undecided.map_or(Ok(()), |(_, why)| Err(why))
    }
}
