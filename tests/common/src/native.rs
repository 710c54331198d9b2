//! Native code beside the interpreter: a function and its derivatives, compiled in several ways, called with values of
//! chosen sizes.

use crate::compile_time;
use crate::generate_arrays::Signature;
use lm::interp::{Interpreter, RuntimeError};
use lm::random::SplitMix;
use lm::tensor::Tensor;
use lm::term::{Derivative, FunName};
use lm::timing::Timings;
use lm::types::Type;
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{NATIVE, Random, distance, same_bits};
use lmc::ks::front::{self, Choices};
use lmc::ks::source::Source;
use loops::Checks;
use native::{Jit, Math, SourceInfo};
use std::sync::Arc;

/// Returns options for exact arithmetic, where the level of optimisation is not the point: LLVM takes a third of the
/// time.
pub fn unoptimised() -> native::Options {
    native::Options { opt_level: 0, ..native::Options::exact() }
}

/// A way to compile, and what is asked of it.
#[derive(Clone, Debug)]
pub struct Way {
    /// The name in messages.
    pub name: String,
    /// The options of the code generator.
    pub options: native::Options,
    /// The largest difference from the interpreter that agrees.
    pub limit: f64,
    /// Numbers below that are what cancelling terms left: they may differ as that number may.
    pub floor: f64,
    /// Whether an error is the same as the interpreter's. Otherwise both only have to fail: in lanes several
    /// iterations run at once, and another check may fail first.
    pub same_errors: bool,
    /// Calls are made without threads, and then with so many.
    pub threads: Vec<usize>,
}

impl Way {
    /// A way that is asked for the interpreter's errors, and its values to [`NATIVE`].
    pub fn new(name: &str, options: native::Options) -> Way {
        Way { name: name.to_string(), options, limit: NATIVE, floor: 0.0, same_errors: true, threads: vec![] }
    }
}

struct Compiled {
    way: Way,
    jit: Jit,
    divides: bool,
}

/// A function and its derivatives, where it has any, compiled in several ways.
pub struct Case {
    pipeline: Pipeline,
    f: FunName,
    derivatives: Vec<FunName>,
    compiled: Vec<Compiled>,
}

impl Case {
    /// `f` of a program.
    pub fn new(text: &str, f: &str, ways: &[Way]) -> Case {
        Case::derived(text, f, Derivation::default(), ways)
    }

    /// The same, with derivatives that are made in some way.
    pub fn derived(text: &str, f: &str, choices: impl Into<Choices>, ways: &[Way]) -> Case {
        let checked = front::load_for(&Source::new("case.ks", text), choices, &Timings::default());
        let mut pipeline = Pipeline::new(checked.unwrap_or_else(|errors| panic!("{text}: {errors:?}")));
        let f = FunName::base(f);
        pipeline.require(&f).unwrap_or_else(|error| panic!("{text}: {error}"));
        let fun = &pipeline.program().defs[&f].fun;
        let varies = fun.argument().is_differentiable() && fun.result.is_differentiable();
        let derivatives =
            if varies { [Derivative::Fwd, Derivative::Rev].map(|name| f.derived(name)).to_vec() } else { vec![] };
        for name in &derivatives {
            pipeline.require(name).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        let entries: Vec<FunName> = [f.clone()].into_iter().chain(derivatives.iter().cloned()).collect();
        let info = SourceInfo::new("case.ks", text);
        let compile = |way: &Way| {
            let jit = compile_time::limited(|| Jit::new(pipeline.program(), &entries, &info, &way.options));
            let jit = jit.unwrap_or_else(|error| panic!("{}: {error}\n{text}", way.name));
            let divides = jit.module().loops().to_string().contains(" on threads");
            Compiled { way: way.clone(), jit, divides }
        };
        let compiled = ways.iter().map(compile).collect();
        Case { pipeline, f, derivatives, compiled }
    }

    /// The types of the function's parameters.
    pub fn params(&self) -> Vec<Type> {
        self.pipeline.program().defs[&self.f].fun.params.clone()
    }

    /// The arguments that the program's `example` gives.
    pub fn example(&self) -> Vec<Value> {
        let point = Interpreter::new(self.pipeline.program()).call(&FunName::base("example"), &[]);
        let point = point.expect("there is an example");
        if self.params().len() > 1 { point.as_tuple().expect("several").to_vec() } else { vec![point] }
    }

    /// Returns the number of loops in lanes, summed over all ways.
    pub fn loops_in_lanes(&self) -> usize {
        self.loops_with(" lanes ")
    }

    /// Returns the number of loops with iterations side by side, summed over all ways.
    pub fn loops_side_by_side(&self) -> usize {
        self.loops_with(" jam ")
    }

    fn loops_with(&self, word: &str) -> usize {
        self.compiled.iter().map(|one| one.jit.module().loops().to_string().matches(word).count()).sum()
    }

    /// In how many ways loops are divided.
    pub fn divided(&self) -> usize {
        self.compiled.iter().filter(|one| one.divides).count()
    }

    /// Compares a call of the function, and calls of its derivatives at the same point.
    ///
    /// Panics where one differs.
    pub fn agrees(&mut self, args: &[Value]) {
        let f = self.f.clone();
        let Some(y) = self.agree(&f, args) else { return };
        let point = if let [one] = args { one.clone() } else { Value::Tuple(args.to_vec()) };
        for name in self.derivatives.clone() {
            let at = if name == f.derived(Derivative::Fwd) { &point } else { &y };
            self.agree(&name, &[point.clone(), Random::new(7).direction(at)]);
        }
    }

    /// Compares at a random point of a random program, if it has one of these sizes.
    pub fn agrees_at(&mut self, f: &Signature, sizes: [usize; 2], random: &mut SplitMix) {
        let args: Option<Vec<Value>> = f.params.iter().map(|ty| ty.value(sizes, random)).collect();
        args.iter().for_each(|args| self.agrees(args));
    }

    /// Compares at arguments with sizes from a list: see [`Sized`].
    pub fn agrees_sized(&mut self, sizes: &[usize], own: bool, seed: u64) {
        self.agrees_drawn(Sized { random: SplitMix::new(seed), sizes, own, special: false });
    }

    /// Compares at arguments of one size, with some Floats that are no numbers, infinite, or zeros.
    pub fn agrees_special(&mut self, size: usize, seed: u64) {
        self.agrees_drawn(Sized { random: SplitMix::new(seed), sizes: &[size], own: false, special: true });
    }

    fn agrees_drawn(&mut self, mut random: Sized) {
        let args: Vec<Value> = self.params().iter().map(|ty| random.value(ty)).collect();
        self.agrees(&args);
    }

    /// Compares a call; gives its value.
    fn agree(&mut self, name: &FunName, args: &[Value]) -> Option<Value> {
        let mut text = Vec::new();
        let wanted = Interpreter::with_output(self.pipeline.program(), &mut text).call(name, args);
        let checked = |one: &&mut Compiled| wanted.is_ok() || one.way.options.checks != Checks::None;
        let program = self.pipeline.program();
        let nearby = || {
            let args: Vec<Value> = args.iter().map(nudged).collect();
            Interpreter::with_output(program, &mut vec![]).call(name, &args)
        };
        for one in self.compiled.iter_mut().filter(checked) {
            one.compare(name, args, &wanted, &nearby, &text);
        }
        wanted.ok()
    }
}

impl Compiled {
    fn compare(
        &mut self,
        name: &FunName,
        args: &[Value],
        wanted: &Result<Value, RuntimeError>,
        nearby: &impl Fn() -> Result<Value, RuntimeError>,
        text: &[u8],
    ) {
        let mut printed = Vec::new();
        let alone = self.jit.call_with_output(name, args, &mut printed);
        let way = &self.way.name;
        let shown = || format!("interpreted {wanted:?}\nnative      {alone:?}\n{}", self.jit.module().loops());
        let agrees = self.way.agree(wanted, &alone) || self.way.is_ill_conditioned(wanted, &alone, nearby);
        assert!(agrees, "{name}, {way}, {args:?}:\n{}", shown());
        assert_eq!(String::from_utf8_lossy(text), String::from_utf8_lossy(&printed), "{name}, {way}, {args:?}");
        let threads = if self.divides { self.way.threads.clone() } else { vec![] };
        for threads in threads {
            self.jit.set_threads(threads).expect("there are threads");
            let found = self.jit.call(name, args);
            let same = match (&alone, &found) {
                (Ok(alone), Ok(found)) => same_bits(alone, found),
                (alone, found) => alone == found,
            };
            assert!(same, "{name}, {}, {args:?}:\nalone {alone:?}\non {threads} threads {found:?}", self.way.name);
        }
    }
}

impl Way {
    fn agree(&self, wanted: &Result<Value, RuntimeError>, found: &Result<Value, RuntimeError>) -> bool {
        match (wanted, found) {
            (Ok(wanted), Ok(found)) => same_bits(wanted, found) || self.apart(wanted, found) <= self.limit,
            (Err(wanted), Err(found)) => wanted == found || !self.same_errors,
            _ => false,
        }
    }

    /// Returns whether a value of fast arithmetic differs from the interpreter's by no more than the interpreter's own
    /// does when the arguments change in their last digits.
    fn is_ill_conditioned(
        &self,
        wanted: &Result<Value, RuntimeError>,
        found: &Result<Value, RuntimeError>,
        nearby: &impl Fn() -> Result<Value, RuntimeError>,
    ) -> bool {
        match (wanted, found) {
            (Ok(wanted), Ok(found)) if self.options.math == Math::Fast => {
                let change = nearby().map_or(0.0, |nearby| self.apart(wanted, &nearby));
                change.is_finite() && self.apart(wanted, found) <= change
            }
            _ => false,
        }
    }

    fn apart(&self, wanted: &Value, found: &Value) -> f64 {
        let numbers = wanted.floats().into_iter().filter(|x| x.is_finite());
        let largest = numbers.fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs()));
        distance(wanted, found) * (largest / largest.max(self.floor))
    }
}

/// Returns the value with its Floats changed by 1e-14 of themselves: in their last two digits.
fn nudged(value: &Value) -> Value {
    match value {
        Value::Float(x) => Value::Float(x * (1.0 + 1e-14)),
        Value::Tuple(parts) => Value::Tuple(parts.iter().map(nudged).collect()),
        Value::Tensor(t) => Value::Tensor(Arc::new(t.with(t.elements().iter().map(nudged).collect()))),
        other => other.clone(),
    }
}

/// Random values whose tensors have sizes from a list: all the same one, or each its own. An Integer is a size, or one
/// or two less.
pub struct Sized<'a> {
    /// The source of values.
    pub random: SplitMix,
    /// The sizes.
    pub sizes: &'a [usize],
    /// Whether each argument has values of its own.
    pub own: bool,
    /// Whether some Floats are special.
    pub special: bool,
}

impl Sized<'_> {
    /// A value of a type.
    pub fn value(&mut self, ty: &Type) -> Value {
        match ty {
            Type::Float => Value::Float(self.float()),
            Type::Integer => Value::Integer(self.size() as i64 - (self.random.draw() % 3) as i64),
            Type::Bool => Value::Bool(self.random.draw().is_multiple_of(2)),
            Type::Tuple(parts) => Value::Tuple(parts.iter().map(|t| self.value(t)).collect()),
            Type::Tensor(rank, element) => {
                let size: Vec<usize> = (0..*rank).map(|_| self.size()).collect();
                let count = size.iter().product();
                let elements = (0..count).map(|_| self.value(element)).collect();
                Value::Tensor(Arc::new(Tensor::new(size, elements)))
            }
            other => panic!("no random {other}"),
        }
    }

    fn float(&mut self) -> f64 {
        const SPECIAL: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
        if self.special && self.random.draw().is_multiple_of(3) {
            return SPECIAL[self.random.draw() as usize % SPECIAL.len()];
        }
        // No small fractions of two: sums of those are the same in any order.
        (self.random.draw() % 17) as f64 / 4.1 - 1.9
    }

    fn size(&mut self) -> usize {
        let i = if self.own { self.random.draw() as usize % self.sizes.len() } else { 0 };
        self.sizes[i]
    }
}
