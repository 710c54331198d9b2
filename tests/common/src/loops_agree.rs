//! Every pass keeps the meaning of loops: after each, the loops of programs and of their derivatives are run by the
//! interpreter of loops, and give the values, the text and the errors of the reference interpreter.
//!
//! No code is generated. A pass that is wrong is named, with the function and the arguments.

use crate::native::Sized;
use lm::interp::{ErrorKind, Interpreter, RuntimeError};
use lm::random::SplitMix;
use lm::term::{Derivative, FunName};
use lm::timing::Timings;
use lm::types::Type;
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{NATIVE, NATIVE_FAST, Random, distance, same_bits};
use lmc::ks::front;
use lmc::ks::source::Source;
use loops::analyses::cache::Analyses;
use loops::interp::{self, Options};
use loops::ir::{FunId, Module, Vectors};
use loops::lower::lower;
use loops::{Checks, PASSES, Selection};

/// The ways to run loops in lanes, and the differences that each allows.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    lanes: Option<u32>,
    keeps_order: bool,
    /// The largest difference that agrees, relative to the largest number of a value.
    limit: f64,
}

/// Serial, and in lanes.
pub const WAYS: [Way; 2] = [
    Way { lanes: None, keeps_order: false, limit: NATIVE_FAST },
    Way { lanes: Some(4), keeps_order: true, limit: NATIVE },
];

/// Numbers below that are what cancelling terms left: sums of numbers of about one, rounded to 1e-16.
const CANCELLED: f64 = 1e-4;

/// A function, its arguments, and what the reference interpreter makes of them.
struct Call {
    name: FunName,
    args: Vec<Value>,
    wanted: Result<Value, RuntimeError>,
    text: String,
}

/// A function of a program with its derivatives.
pub struct Case {
    pipeline: Pipeline,
    entries: Vec<FunName>,
    calls: Vec<Call>,
}

/// Counts of the comparisons.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Functions with their derivatives.
    pub functions: usize,
    /// The number of times that a pass changed something.
    pub changes: usize,
    /// Calls that were compared.
    pub calls: usize,
    /// Loops that run in lanes in the end.
    pub in_lanes: usize,
    /// Loops that are divided in the end.
    pub divided: usize,
}

impl Case {
    /// `f` of a program.
    ///
    /// Panics where the program is wrong.
    pub fn new(text: &str, f: &str) -> Case {
        let checked = front::load(&Source::new("case.ks", text)).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let mut pipeline = Pipeline::new(checked);
        let f = FunName::base(f);
        let mut entries = vec![f.clone()];
        pipeline.require(&f).unwrap_or_else(|error| panic!("{text}: {error}"));
        let fun = &pipeline.program().defs[&f].fun;
        if fun.argument().is_differentiable() && fun.result.is_differentiable() {
            entries.extend([Derivative::Fwd, Derivative::Rev].map(|name| f.derived(name)));
        }
        for name in &entries {
            pipeline.require(name).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        Case { pipeline, entries, calls: vec![] }
    }

    /// The types of the function's parameters.
    pub fn params(&self) -> Vec<Type> {
        self.pipeline.program().defs[&self.entries[0]].fun.params.clone()
    }

    /// Adds a call of the function, and calls of its derivatives at the same point.
    pub fn add(&mut self, args: Vec<Value>) {
        let point = if let [one] = &args[..] { one.clone() } else { Value::Tuple(args.clone()) };
        let f = self.entries[0].clone();
        let Ok(y) = self.add_call(f.clone(), args) else { return };
        for i in 1..self.entries.len() {
            let name = self.entries[i].clone();
            let at = if name == f.derived(Derivative::Fwd) { &point } else { &y };
            let direction = Random::new(7).direction(at);
            _ = self.add_call(name, vec![point.clone(), direction]);
        }
    }

    fn add_call(&mut self, name: FunName, args: Vec<Value>) -> Result<Value, RuntimeError> {
        let mut text = Vec::new();
        let wanted = Interpreter::with_output(self.pipeline.program(), &mut text).call(&name, &args);
        let text = String::from_utf8(text).expect("text is printed");
        self.calls.push(Call { name, args, wanted: wanted.clone(), text });
        wanted
    }

    /// Adds calls at arguments with sizes from a list: see [`Sized`].
    pub fn add_drawn(&mut self, sizes: &[usize], own: bool, seed: u64, special: bool) {
        let mut source = Sized { random: SplitMix::new(seed), sizes, own, special };
        let args = self.params().iter().map(|ty| source.value(ty)).collect();
        self.add(args);
    }

    /// Runs the passes, and the calls wherever one has changed something.
    ///
    /// Panics where a call differs.
    pub fn agrees(&self, way: Way, tally: &mut Tally) {
        let program = self.pipeline.program();
        let (mut module, _) = lower(program, &self.entries, way.keeps_order).unwrap_or_else(|error| panic!("{error}"));
        module.vectors = Vectors { floats: 4, lanes: way.lanes };
        let passes = Selection::All.passes(Checks::default()).expect("all passes are known");
        let (mut text, mut analyses) = (module.to_string(), Analyses::default());
        self.all_agree(&module, way, "lowering", tally);
        for pass in passes {
            pass.run(&mut module, &mut analyses, &Timings::default());
            let now = module.to_string();
            if now != text {
                self.all_agree(&module, way, pass.name, tally);
                text = now;
            }
        }
        tally.functions += self.entries.len();
        tally.in_lanes += text.matches(" lanes ").count();
        tally.divided += text.matches(" on threads").count();
    }

    /// Runs each pass alone, and the calls where it has changed something.
    ///
    /// Panics where a call differs.
    pub fn agrees_by_each_pass_alone(&self, way: Way, tally: &mut Tally) {
        let lowered = lower(self.pipeline.program(), &self.entries, way.keeps_order);
        let (mut lowered, _) = lowered.unwrap_or_else(|error| panic!("{error}"));
        lowered.vectors = Vectors { floats: 4, lanes: way.lanes };
        let text = lowered.to_string();
        for pass in PASSES {
            let mut module = lowered.clone();
            let alone = Selection::Only(vec![pass.name.to_string()]);
            loops::passes::run(&mut module, &alone, Checks::default(), &Timings::default()).expect("it is known");
            if module.to_string() != text {
                self.all_agree(&module, way, pass.name, tally);
            }
        }
    }

    fn all_agree(&self, module: &Module, way: Way, pass: &str, tally: &mut Tally) {
        tally.changes += 1;
        tally.calls += self.calls.len();
        for call in &self.calls {
            if let Err(what) = self.agree(module, way, call) {
                let Call { name, args, .. } = call;
                panic!("after {pass}, {way:?}: {name} of {args:?}: {what}\n{module}");
            }
        }
    }

    /// Errors: what differs.
    fn agree(&self, module: &Module, way: Way, call: &Call) -> Result<(), String> {
        let i = self.entries.iter().position(|name| *name == call.name).expect("entries are called");
        let fun = &self.pipeline.program().defs[&call.name].fun;
        let options = Options { grain: 1, depth: 40_000, ..Options::default() };
        let outcome = interp::call(module, FunId(i), fun, &call.args, options);
        if let Err(stop @ interp::Stop::Fault(_)) = &outcome.result {
            return Err(stop.to_string());
        }
        if outcome.output != call.text {
            return Err(format!("printed {:?} instead of {:?}", outcome.output, call.text));
        }
        match (&call.wanted, &outcome.value()) {
            (Ok(wanted), Ok(found)) if same_bits(wanted, found) || apart(wanted, found) <= way.limit => Ok(()),
            (Err(wanted), Err(found)) if wanted == found || may_differ(module, wanted, found) => Ok(()),
            (wanted, found) => Err(format!("{found:?}\ninstead of {wanted:?}")),
        }
    }
}

/// In lanes another check may fail first; how deep calls are nested depends on what was inlined.
fn may_differ(module: &Module, wanted: &RuntimeError, found: &RuntimeError) -> bool {
    let deep = |error: &RuntimeError| matches!(error.kind, ErrorKind::RecursionTooDeep(_));
    deep(wanted) && deep(found) || module.to_string().contains(" lanes ")
}

fn apart(wanted: &Value, found: &Value) -> f64 {
    let numbers = wanted.floats().into_iter().filter(|x| x.is_finite());
    let largest = numbers.fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs()));
    distance(wanted, found) * (largest / largest.max(CANCELLED))
}

impl Case {
    /// Adds calls at random arguments of several sizes.
    pub fn add_sizes(&mut self) {
        for size in [0, 1, 2, 3, 8, 9] {
            self.add_drawn(&[size], false, size as u64, false);
        }
        self.add_drawn(&[2, 5, 17], true, 5, false);
        self.add_drawn(&[0, 3], true, 6, false);
        self.add_drawn(&[5], false, 7, true);
    }

    /// Adds calls at the program's example, or at numbers.
    pub fn add_example(&mut self) {
        let example = FunName::base("example");
        if !self.pipeline.program().defs.contains_key(&example) {
            return (0..3).for_each(|seed| self.add_drawn(&[3], false, seed, false));
        }
        let point = Interpreter::new(self.pipeline.program()).call(&example, &[]).expect("there is an example");
        let is_one = self.params().len() == 1;
        self.add(if is_one { vec![point] } else { point.as_tuple().expect("several").to_vec() });
    }
}
