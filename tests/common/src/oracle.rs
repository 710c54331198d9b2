//! Compares every evaluator with the naive one of `lm::eval`, which shares no plan, no destination and no rule of
//! transposition with any of them.
//!
//! Compared are values, what is printed, and errors, of functions and their derivatives by all derivations, of the
//! demos, of the programs of `tests/language` and `tests/cases`, and of random programs. `LMC_SEED` chooses the random
//! programs; one that fails is shown as small as [`shrink`] makes it.

use crate::generate_arrays::{self, Generated};
use crate::native::unoptimised;
use crate::{bulk, compile_time};
use crate::{generate, generate_scaled, random, rounding, shrink};
use ::bulk::interp::Stop;
use ::bulk::ir::Failure;
use lm::eval::Evaluator;
use lm::interp::Interpreter;
use lm::map;
use lm::random::SplitMix;
use lm::runtime_error::{ErrorKind, RuntimeError};
use lm::term::{Derivative, FunName, Program};
use lm::timing::Timings;
use lm::types::Type;
use lm::value::Value;
use lmc::demos::Demo;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{NATIVE, Random, distance};
use lmc::ks::front;
use lmc::ks::source::Source;
use loops::ir::Module;
use loops::lower::lower;
use loops::{Checks, Selection};
use native::{Jit, SourceInfo};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A way to evaluate a call. A new evaluator is one more row.
struct Row {
    name: &'static str,
    /// Evaluates a call; `None` where the evaluator does not have what is called.
    run: fn(&Subject, &Call) -> Option<Ended>,
}

/// The evaluators that are held to the naive one.
const EVALUATORS: &[Row] = &[
    Row { name: "interpreter", run: interpreted },
    Row { name: "interpreter of loops", run: looped },
    Row { name: "native code", run: native },
];

/// The output of a call, and its result or error.
type Ended = (String, Result<Value, RuntimeError>);

/// A call of a function of a program. The result is a linear map where there is a vector to apply it to.
struct Call {
    name: FunName,
    args: Vec<Value>,
    applied: Option<Applied>,
}

enum Applied {
    /// `m ⊙ dx`.
    Forward(Value),
    /// `dr ⊙ᴿ m`.
    Reverse(Value),
}

impl Call {
    fn plain(name: FunName, args: Vec<Value>) -> Call {
        Call { name, args, applied: None }
    }
}

/// A program, with loops and native code for some of its functions.
struct Subject {
    program: Program,
    /// The loops of the entries, after all passes.
    loops: Option<Module>,
    jit: Option<Jit>,
    entries: Vec<FunName>,
    /// What was lowered to bulk programs.
    bulk: RefCell<HashMap<FunName, Vec<::bulk::ir::Function>>>,
}

fn oracle(subject: &Subject, call: &Call) -> Ended {
    let mut text = Vec::new();
    let evaluator = Evaluator::new(&subject.program, &mut text);
    let result = match &call.applied {
        None => evaluator.call(&call.name, &call.args),
        Some(Applied::Forward(dx)) => evaluator.call_and_apply(&call.name, &call.args, dx),
        Some(Applied::Reverse(dr)) => evaluator.call_and_apply_reverse(&call.name, &call.args, dr),
    };
    drop(evaluator);
    (printed(text), result)
}

fn interpreted(subject: &Subject, call: &Call) -> Option<Ended> {
    let mut text = Vec::new();
    let result = result_by(Interpreter::with_output(&subject.program, &mut text), call);
    Some((printed(text), result))
}

fn result_by(mut interpreter: Interpreter, call: &Call) -> Result<Value, RuntimeError> {
    interpreter.call(&call.name, &call.args).and_then(|value| match (&call.applied, &value) {
        (None, _) => Ok(value),
        (Some(Applied::Forward(dx)), Value::Map(m)) => map::apply(&mut interpreter, m, dx),
        (Some(Applied::Reverse(dr)), Value::Map(m)) => map::apply_reverse(&mut interpreter, dr, m),
        (Some(_), value) => panic!("{value:?} is no linear map"),
    })
}

fn looped(subject: &Subject, call: &Call) -> Option<Ended> {
    let module = subject.loops.as_ref().filter(|_| call.applied.is_none())?;
    let entry = subject.entries.iter().position(|name| *name == call.name)?;
    let fun = &subject.program.defs[&call.name].fun;
    let options = loops::interp::Options { depth: 40_000, ..Default::default() };
    let outcome = loops::interp::call(module, module.exported[entry], fun, &call.args, options);
    Some((outcome.output.clone(), outcome.value()))
}

fn native(subject: &Subject, call: &Call) -> Option<Ended> {
    let jit = subject.jit.as_ref().filter(|_| subject.entries.contains(&call.name) && call.applied.is_none())?;
    let mut text = Vec::new();
    let result = jit.call_with_output(&call.name, &call.args, &mut text);
    Some((printed(text), result))
}

fn printed(text: Vec<u8>) -> String {
    String::from_utf8(text).expect("programs print text")
}

/// Counts of the comparisons.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Calls that give a value.
    pub values: usize,
    /// Calls that fail.
    pub errors: usize,
    /// Calls of native code.
    pub native: usize,
    /// Calls in bulk form.
    pub bulk: usize,
    /// Calls whose comparison says nothing, since rounding decides it.
    pub by_rounding: usize,
}

/// The reason why a comparison fails.
enum Why {
    Differs(String),
    /// What differs may be rounding alone.
    Rounding(String),
}

impl From<String> for Why {
    fn from(text: String) -> Why {
        Why::Differs(text)
    }
}

impl From<&str> for Why {
    fn from(text: &str) -> Why {
        Why::Differs(text.into())
    }
}

impl Why {
    fn into_text(self) -> String {
        match self {
            Why::Differs(text) | Why::Rounding(text) => text,
        }
    }

    fn map(self, told: impl FnOnce(String) -> String) -> Why {
        match self {
            Why::Differs(text) => Why::Differs(told(text)),
            Why::Rounding(text) => Why::Rounding(told(text)),
        }
    }
}

/// Compares a call by all evaluators; returns the value, if there is one.
fn agree(subject: &Subject, call: &Call, tally: &mut Tally) -> Result<Option<Value>, Why> {
    let wanted = oracle(subject, call);
    for row in EVALUATORS {
        let Some(found) = (row.run)(subject, call) else { continue };
        tally.native += usize::from(row.name == "native code");
        is_right(subject, call, &wanted, &found)
            .map_err(|why| why.map(|why| differs(call, row.name, &wanted, &found, &why)))?;
    }
    for found in in_bulk(subject, call, &wanted) {
        tally.bulk += 1;
        is_right(subject, call, &wanted, &found)
            .map_err(|why| why.map(|why| differs(call, "bulk", &wanted, &found, &why)))?;
    }
    tally.values += usize::from(wanted.1.is_ok());
    tally.errors += usize::from(wanted.1.is_err());
    Ok(wanted.1.ok())
}

fn differs(call: &Call, row: &str, wanted: &Ended, found: &Ended, why: &str) -> String {
    let Call { name, args, .. } = call;
    format!("{name} at {args:?}, {row}: {why}\n  oracle {wanted:?}\n  found  {found:?}")
}

/// Evaluates a call in its bulk forms. An error is any error that the oracle has.
fn in_bulk(subject: &Subject, call: &Call, wanted: &Ended) -> Vec<Ended> {
    let Some(def) = subject.program.defs.get(&call.name).filter(|_| call.applied.is_none()) else { return vec![] };
    let mut known = subject.bulk.borrow_mut();
    let forms = known.entry(call.name.clone()).or_insert_with(|| bulk::lowered(&subject.program, &call.name));
    let like = wanted.1.as_ref().ok();
    let ended = |function: &::bulk::ir::Function| {
        let found = bulk::call(function, &def.fun.params, &def.fun.result, &call.args, like)?;
        let result = match (found, &wanted.1) {
            // Arrays have a size also where there are no elements to show it.
            (Ok(_), Err(RuntimeError { kind: ErrorKind::ShapeUnknown, .. })) => return None,
            (Ok(value), _) => Ok(value),
            (Err(_), Err(error)) => Err(error.clone()),
            // Rows of several sizes, and states that grow, are refused when they are met.
            (Err(Stop { failure: Failure::Size, .. }), Ok(_)) => return None,
            (Err(stop), Ok(_)) => Err(RuntimeError { kind: ErrorKind::AssertFailed, span: stop.span }),
        };
        Some((String::new(), result))
    };
    forms.iter().filter_map(ended).collect()
}

fn is_right(subject: &Subject, call: &Call, wanted: &Ended, found: &Ended) -> Result<(), Why> {
    match (&wanted.1, &found.1) {
        (Ok(_), Ok(found)) if !is_finite(found) && has_infinite_partials(subject, call) => {}
        (Ok(wanted), Ok(found)) => is_close(subject, call, wanted, found)?,
        // The limit of depth depends on the evaluator's stack.
        (Err(RuntimeError { kind: ErrorKind::RecursionTooDeep(_), .. }), _) => return Ok(()),
        (Err(wanted), Err(found)) if wanted == found || both_do_not_fit(wanted, found) => {}
        // Of a sum over nothing the interpreter knows no shape where it has no map to ask; the oracle asks its space.
        (Ok(_), Err(RuntimeError { kind: ErrorKind::ShapeUnknown, .. })) if call.applied.is_some() => return Ok(()),
        // Derivations drop unused values, and so their errors.
        (Err(_), _) if subject.program.is_derived(&call.name) => return Ok(()),
        _ => return Err("it ends otherwise".into()),
    }
    if wanted.0 == found.0 { Ok(()) } else { Err("it prints otherwise".into()) }
}

fn is_finite(value: &Value) -> bool {
    value.floats().iter().all(|x| x.is_finite())
}

/// Returns whether a map that is applied in reverse has partial derivatives that are not finite, at a point where what
/// is computed is not used, say. The map meets zeros there, and so do the basis vectors of the naive evaluator, but
/// not the same ones (`docs/design.md`, "Known limits").
fn has_infinite_partials(subject: &Subject, call: &Call) -> bool {
    let partials = || Interpreter::new(&subject.program).checking_finite().call(&call.name, &call.args);
    matches!(call.applied, Some(Applied::Reverse(_)))
        && matches!(partials(), Err(RuntimeError { kind: ErrorKind::NotFinite(_), .. }))
}

/// Returns whether two errors concern an index or a size, one in the term of the other. A term that is added in place
/// is checked before all of it is evaluated.
fn both_do_not_fit(a: &RuntimeError, b: &RuntimeError) -> bool {
    let does_not_fit =
        |e: &RuntimeError| matches!(e.kind, ErrorKind::IndexOutOfRange { .. } | ErrorKind::SizeMismatch { .. });
    let contains = |a: &RuntimeError, b: &RuntimeError| a.span.start <= b.span.start && b.span.end <= a.span.end;
    does_not_fit(a) && does_not_fit(b) && (contains(a, b) || contains(b, a))
}

/// Numbers below that are what cancelling terms left: they may differ as that number may.
const CANCELLED: f64 = 1e-3;

fn is_close(subject: &Subject, call: &Call, wanted: &Value, found: &Value) -> Result<(), Why> {
    let numbers = wanted.floats();
    // By basis vectors, an infinite partial derivative meets the zeros of the others.
    if matches!(call.applied, Some(Applied::Reverse(_))) && !is_finite(wanted) {
        return Ok(());
    }
    let finite = numbers.iter().filter(|x| x.is_finite());
    let largest = finite.fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs()));
    let apart = distance(wanted, found) * (largest / largest.max(CANCELLED));
    let again = |seed: u64| result_by(Interpreter::new(&subject.program).rounding(seed), call);
    let why = || format!("the values are {apart:e} apart");
    match apart <= NATIVE {
        true => Ok(()),
        false if rounding::explains(wanted, found, &again) => Err(Why::Rounding(why())),
        false => Err(Why::Differs(why())),
    }
}

/// The comparisons to make for a program.
struct Plan<'a> {
    text: &'a str,
    derivation: Derivation,
    functions: &'a dyn Fn(&Program) -> Vec<FunName>,
    /// Arguments of a function at which it is called.
    points: &'a dyn Fn(&Program, &FunName) -> Vec<Vec<Value>>,
    /// Whether to compile the program.
    natively: bool,
    /// Whether to compare Jacobians as maps. A map is a tree, which repeats a shared value at each use. So the map of
    /// a chain of calls may have exponential size.
    maps: bool,
}

/// The derivatives that are called, by name: with a tangent of the argument, or with one of the result.
const FORWARD: [Derivative; 2] = [Derivative::Fwd, Derivative::Jvp];
const REVERSE: [Derivative; 3] = [Derivative::Rev, Derivative::Vjp, Derivative::SufRev];

/// Jacobians are transposed by basis vectors at arguments of at most so many Floats.
const MOST_DIMENSIONS: usize = 50;

impl Plan<'_> {
    fn agrees(&self, tally: &mut Tally) -> Result<(), String> {
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

/// The functions of a program that can be called with arguments drawn by type.
fn callable(program: &Program) -> Vec<FunName> {
    let is_data = |ty: &Type| !ty.mentions_lm() && !ty.mentions_record() && !mentions_function(ty);
    let defs = program.defs.values().filter(|d| d.fun.name.derivations.is_empty() && *d.fun.name.base != *"main");
    let named = defs.filter(|d| d.params.iter().all(|x| is_data(x.ty())) && is_data(&d.fun.result));
    named.map(|d| d.fun.name.clone()).collect()
}

fn mentions_function(ty: &Type) -> bool {
    match ty {
        Type::Lam(..) => true,
        Type::Tuple(parts) => parts.iter().any(mentions_function),
        Type::Tensor(_, element) => mentions_function(element),
        Type::Float | Type::Integer | Type::Bool | Type::String | Type::LM(..) | Type::Record(_) => false,
    }
}

/// The point that the program's `example` gives; without one for this function, random points.
fn drawn_points(program: &Program, f: &FunName) -> Vec<Vec<Value>> {
    let fun = &program.defs[f].fun;
    let split = |whole: Value| match whole {
        Value::Tuple(parts) if fun.params.len() != 1 => parts,
        one => vec![one],
    };
    let example = FunName::base("example");
    let gives = program.defs.get(&example).is_some_and(|d| d.params.is_empty() && d.fun.result == fun.argument());
    match gives {
        true => Interpreter::new(program).call(&example, &[]).into_iter().map(split).collect(),
        false => (0..3).map(|seed| split(Random::new(seed).point(&fun.argument()))).collect(),
    }
}

/// Runs a comparison; a panic is a failure, too.
fn outcome(work: impl FnOnce(&mut Tally) -> Result<(), String>) -> (Tally, Result<(), String>) {
    let mut tally = Tally::default();
    let result = catch_unwind(AssertUnwindSafe(|| work(&mut tally)));
    let told = |panic: Box<dyn std::any::Any + Send>| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(format!("panics: {}", text.unwrap_or_default()))
    };
    (tally, result.unwrap_or_else(told))
}

/// Returns whether the Jacobian of a demo is small as a tree.
fn has_small_maps(demo: &str) -> bool {
    matches!(demo, "ex1" | "ex2" | "ex3" | "ex4" | "ex5" | "ex7" | "ex8" | "ex9" | "lse" | "kmeans" | "black_scholes")
}

/// Compares the function of a demo by a derivation.
///
/// Errors: the call that differs.
pub fn demo(demo: &Demo, derivation: Derivation) -> Result<Tally, String> {
    let functions = &|_: &Program| vec![FunName::base(demo.fun)];
    let maps = has_small_maps(demo.name);
    let mut tally = Tally::default();
    Plan { text: demo.text, derivation, functions, points: &drawn_points, natively: true, maps }.agrees(&mut tally)?;
    Ok(tally)
}

/// Compares all functions of a program by a derivation.
///
/// Errors: the call that differs.
pub fn program(text: &str, derivation: Derivation, natively: bool) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let plan = Plan { text, derivation, functions: &callable, points: &drawn_points, natively, maps: true };
    plan.agrees(&mut tally)?;
    Ok(tally)
}

/// Compares what `main` of a program prints, and how it ends.
///
/// Errors: how they differ.
pub fn main_of(text: &str) -> Result<Tally, String> {
    let checked = front::load(&Source::new("case.ks", text)).map_err(|errors| format!("does not read: {errors:?}"))?;
    let mut pipeline = Pipeline::new(checked);
    pipeline.keep_maps();
    let main = FunName::base("main");
    pipeline.require(&main).map_err(|error| error.to_string())?;
    let subject =
        Subject { program: pipeline.into_program(), loops: None, jit: None, entries: vec![], bulk: RefCell::default() };
    let mut tally = Tally::default();
    agree(&subject, &Call::plain(main, vec![]), &mut tally).map_err(Why::into_text)?;
    Ok(tally)
}

/// A random program of a kind, by its number.
type Kind = fn(u64) -> Generated;

/// The kinds: on scalars, with prints and errors; on arrays; of one size, with deep calls.
const KINDS: [Kind; 3] = [
    |number| Generated { text: generate::text(&scalars(number)), ..Generated::default() },
    |number| {
        let options = generate_arrays::Options { functions: 3, depth: 4, nodes: 10 };
        generate_arrays::program(&choices(number, 5040), options)
    },
    |number| Generated { text: generate_scaled::program(random::seed(), number), ..Generated::default() },
];

fn scalars(number: u64) -> Program {
    generate::program(
        &choices(number, u64::from(u32::MAX)),
        generate::Options { smooth: false, functions: 4, depth: 4 },
    )
}

fn choices(number: u64, below: u64) -> Vec<u32> {
    let mut draws = SplitMix::new(lm::random::hash(random::seed()) ^ number);
    let length = 20 + draws.draw() % 140;
    (0..length).map(|_| (draws.draw() % below) as u32).collect()
}

/// The points of a random program: of the sizes that its types say, where it says any.
fn sized_points(made: &Generated, program: &Program, f: &FunName) -> Vec<Vec<Value>> {
    const SIZES: [[usize; 2]; 4] = [[2, 3], [3, 2], [1, 5], [0, 2]];
    let params = &program.defs[f].fun.params;
    let fits = |signature: &&generate_arrays::Signature| {
        *signature.name == *f.base
            && signature.params.len() == params.len()
            && signature.params.iter().zip(params).all(|(ty, param)| ty.text() == param.to_string())
    };
    let mut draws = SplitMix::new(3);
    match made.functions.iter().find(fits) {
        Some(f) => {
            SIZES.iter().filter_map(|sizes| f.params.iter().map(|ty| ty.value(*sizes, &mut draws)).collect()).collect()
        }
        None => drawn_points(program, f),
    }
}

fn random_program_agrees(made: &Generated, text: &str, derivation: Derivation) -> (Tally, Result<(), String>) {
    outcome(|tally| {
        let points = &|program: &Program, f: &FunName| sized_points(made, program, f);
        Plan { text, derivation, functions: &callable, points, natively: true, maps: true }.agrees(tally)
    })
}

/// Returns a random program, by its number: of the kinds in turn.
pub fn generated(number: u64) -> Generated {
    KINDS[number as usize % KINDS.len()](number)
}

/// Compares a random program, by its number.
///
/// Errors: the call that differs, of the smallest program found.
pub fn random(number: u64) -> Result<Tally, String> {
    let made = generated(number);
    let derivation = Derivation::OF_ALL_PROGRAMS[number as usize / KINDS.len() % Derivation::OF_ALL_PROGRAMS.len()];
    let (tally, result) = random_program_agrees(&made, &made.text, derivation);
    let Err(why) = result else { return Ok(tally) };
    let fails = |text: &str| random_program_agrees(&made, text, derivation).1.is_err_and(is_difference);
    let small = shrink::smallest(&made.text, fails);
    let why = random_program_agrees(&made, &small, derivation).1.err().unwrap_or(why);
    Err(format!("program {number}, {}: {why}\n{small}", derivation.name()))
}

/// Returns whether an evaluator disagrees. A shrunk program may be wrong in other ways.
fn is_difference(why: String) -> bool {
    why.contains("oracle") || why.contains("panics")
}
