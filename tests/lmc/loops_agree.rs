//! Every pass keeps the meaning of loops: after each, the loops of programs and of their derivatives are run by the
//! interpreter of loops, and give the values, the text and the errors of the reference interpreter.
//!
//! No code is generated. A pass that is wrong is named, with the function and the arguments.

use common::native::Sized;
use lm::interp::{ErrorKind, Interpreter, RuntimeError};
use lm::random::SplitMix;
use lm::term::{Derivative, FunName};
use lm::timing::Timings;
use lm::types::Type;
use lm::value::Value;
use lmc::demos::{DEMOS, Demo};
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{NATIVE, NATIVE_FAST, Random, distance, same_bits};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use loops::analyses::cache::Analyses;
use loops::interp::{self, Options};
use loops::ir::{FunId, Module, Vectors};
use loops::lower::lower;
use loops::{Checks, Selection};
use std::path::{Path, PathBuf};

/// How loops are made to run in lanes, and what may differ then.
#[derive(Clone, Copy, Debug)]
struct Way {
    lanes: Option<u32>,
    keeps_order: bool,
    /// The largest difference that agrees, relative to the largest number of a value.
    limit: f64,
}

const WAYS: [Way; 2] = [
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
struct Case {
    pipeline: Pipeline,
    entries: Vec<FunName>,
    calls: Vec<Call>,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    functions: usize,
    /// How often a pass changed something.
    changes: usize,
    calls: usize,
    in_lanes: usize,
    divided: usize,
}

impl Case {
    fn new(text: &str, f: &str) -> Case {
        let checked = front::load(&Source::new("case.ks", text)).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let mut pipeline = Pipeline::new(checked);
        let f = FunName::base(f);
        let mut entries = vec![f.clone()];
        pipeline.require(&f).unwrap_or_else(|error| panic!("{text}: {error}"));
        let fun = &pipeline.program().defs[&f].fun;
        if fun.argument().is_differentiable() && fun.result.is_differentiable() {
            entries.extend([Derivative::Fwd, Derivative::Rev].map(|d| f.derived(d)));
        }
        for name in &entries {
            pipeline.require(name).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        Case { pipeline, entries, calls: vec![] }
    }

    fn params(&self) -> Vec<Type> {
        self.pipeline.program().defs[&self.entries[0]].fun.params.clone()
    }

    /// Adds a call of the function, and calls of its derivatives at the same point.
    fn add(&mut self, args: Vec<Value>) {
        let point = if let [one] = &args[..] { one.clone() } else { Value::Tuple(args.clone()) };
        let f = self.entries[0].clone();
        let Ok(y) = self.add_call(f.clone(), args) else { return };
        for name in self.entries[1..].to_vec() {
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

    fn add_drawn(&mut self, sizes: &[usize], own: bool, seed: u64, special: bool) {
        let mut source = Sized { random: SplitMix::new(seed), sizes, own, special };
        let args = self.params().iter().map(|ty| source.value(ty)).collect();
        self.add(args);
    }

    /// Runs the passes, and the calls wherever one has changed something.
    ///
    /// Panics where a call differs.
    fn agrees(&self, way: Way, tally: &mut Tally) {
        let program = self.pipeline.program();
        let (mut module, _) = lower(program, &self.entries).unwrap_or_else(|error| panic!("{error}"));
        module.vectors = Vectors { floats: 4, lanes: way.lanes };
        module.keeps_order = way.keeps_order;
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

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/ways");
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    paths
}

/// The functions of a program that have arguments one can draw.
fn functions(text: &str) -> Vec<String> {
    let checked = front::load(&Source::new("case.ks", text)).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    let named = checked.places.keys().filter(|f| f.derivations.is_empty());
    named.filter(|f| checked.program.defs.contains_key(*f)).map(|f| f.base.to_string()).collect()
}

/// A function of a program with arguments around the sizes of vectors.
fn hard_case(text: &str, f: &str) -> Case {
    let mut case = Case::new(text, f);
    for size in [0, 1, 2, 3, 8, 9] {
        case.add_drawn(&[size], false, size as u64, false);
    }
    case.add_drawn(&[2, 5, 17], true, 5, false);
    case.add_drawn(&[0, 3], true, 6, false);
    case.add_drawn(&[5], false, 7, true);
    case
}

/// A demo with its example, or with some numbers.
fn demo_case(demo: &Demo) -> Case {
    let mut case = Case::new(demo.text, demo.fun);
    if demo.text.contains("(def example") {
        let point = Interpreter::new(case.pipeline.program()).call(&FunName::base("example"), &[]);
        let point = point.expect("there is an example");
        let is_one = case.params().len() == 1;
        case.add(if is_one { vec![point] } else { point.as_tuple().expect("several").to_vec() });
    } else {
        (0..3).for_each(|seed| case.add_drawn(&[3], false, seed, false));
    }
    case
}

/// Returns whether a function or a demo is to run: all are, or the one that `LMC_ONLY` names.
fn is_chosen(name: &str) -> bool {
    std::env::var("LMC_ONLY").map_or(true, |only| only == name)
}

fn agrees(name: &str, case: impl FnOnce() -> Case + Send, tally: &mut Tally) {
    println!("{name}");
    with_large_stack(|| {
        let case = case();
        WAYS.iter().for_each(|way| case.agrees(*way, tally));
    });
}

#[test]
fn hard_programs_agree_after_each_pass() {
    let mut tally = Tally::default();
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("the program can be read");
        for f in functions(&text).into_iter().filter(|f| is_chosen(f)) {
            agrees(&f, || hard_case(&text, &f), &mut tally);
        }
    }
    println!("{tally:?}");
    assert!(std::env::var_os("LMC_ONLY").is_some() || tally.in_lanes > 300 && tally.divided > 300, "{tally:?}");
}

#[test]
fn demos_agree_after_each_pass() {
    let mut tally = Tally::default();
    for demo in DEMOS.iter().filter(|demo| is_chosen(demo.name)) {
        agrees(demo.name, || demo_case(demo), &mut tally);
    }
    println!("{tally:?}");
    assert!(std::env::var_os("LMC_ONLY").is_some() || tally.in_lanes > 300 && tally.divided > 200, "{tally:?}");
}
