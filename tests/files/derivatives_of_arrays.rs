//! Derivatives of random programs on arrays, with loops, calls, functions as parameters and recursion:
//!
//! ```text
//! [fwd f] = [rev f] = finite differences, at sizes 0 to 5; and so for f = [fwd g], f = [rev g]
//! [D f] s ⊙ ds, before optimisation  =  [fwd f] s ds        dr ⊙ᴿ [D f] s  =  [rev f] s dr
//! [rev [wrt$k f]] s dr  =  the k-th component of [rev f] s dr
//! [rev f] does at most a multiple of what f does, also at twice the size
//! ```
//!
//! and every stage's text reads back. With LMC_NATIVE=exact or LMC_NATIVE=fast: interpreter = native. A failure is
//! shrunk.

use super::each::alone;
use common::agreement::{all_ways, is_close, stages_come_back, ways_agree_at, with_unoptimised_jacobians};
use common::generate_arrays::{Generated, Options, Signature, programs};
use libtest_mimic::Trial;
use lm::interp::{ErrorKind, Interpreter};
use lm::random::SplitMix;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::derive::call_order;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{self, Random, Report};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use native::{Jit, SourceInfo};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, Once};

/// N and M.
const SIZES: [[usize; 2]; 6] = [[2, 3], [3, 2], [1, 5], [5, 1], [0, 2], [2, 0]];

/// Operations of the reverse derivative for each of the function, loop steps included.
const BOUND: f64 = 30.0;

/// The tests.
pub fn tests() -> Vec<Trial> {
    alone!("derivatives_of_arrays": of_random_programs)
}

/// The largest ratio of costs, and its program.
type Worst = Mutex<(f64, String)>;

fn of_random_programs() {
    let options = match common::random::large() {
        true => Options { functions: 6, depth: 5, nodes: 20 },
        false => Options { functions: 3, depth: 3, nodes: 9 },
    };
    let config = Config { max_shrink_iters: 400, ..common::random::config(200) };
    let worst = Worst::default();
    let outcome = with_large_stack(|| {
        TestRunner::new(config)
            .run(&programs(options), |program| agrees_or_panics(&program, &worst).map_err(TestCaseError::fail))
    });
    let (ratio, program) = worst.into_inner().expect("the lock is free");
    println!("the largest ratio of costs is {ratio:.1}, of\n{program}");
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, program)) => panic!("{why}\nsmallest program:\n{}", program.text),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

thread_local! {
    /// The message of this thread's last panic, kept instead of shown; with a backtrace where `RUST_BACKTRACE` is set.
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A panic is a failure, with a message.
fn agrees_or_panics(generated: &Generated, worst: &Worst) -> Result<(), String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match MESSAGE.take() {
            Some(_) => MESSAGE.set(Some(format!("{info}\n{}", Backtrace::capture()))),
            None => shown(info),
        }));
    });
    MESSAGE.set(Some(String::new()));
    let outcome = catch_unwind(AssertUnwindSafe(|| agrees(generated, worst)));
    let message = MESSAGE.take().unwrap_or_default();
    outcome.unwrap_or(Err(message))
}

fn agrees(generated: &Generated, worst: &Worst) -> Result<(), String> {
    let source = Source::new("random.ks", &generated.text);
    let checked = front::load(&source).map_err(|errors| format!("does not read: {errors:?}"))?;
    let mut pipeline = Pipeline::new(checked);
    let mut stages = Vec::new();
    for f in &generated.functions {
        let name = FunName::base(&f.name);
        let made = pipeline.stages(&name, false).map_err(|e| e.to_string())?;
        let mut called = all_ways(&name);
        made.iter().for_each(|stage| call_order::calls(&stage.def.body, &mut called));
        stages.push(made);
        called.iter().try_for_each(|name| pipeline.require(name)).map_err(|e| e.to_string())?;
    }
    stages_come_back(&pipeline, &stages)?;
    let unoptimised = with_unoptimised_jacobians(&pipeline, &stages);
    let jit = natively(&pipeline, generated, &source)?;
    for f in &generated.functions {
        let name = FunName::base(&f.name);
        let points = points(&pipeline, f);
        let report = gradcheck::check_at(&pipeline, jit.as_ref(), &name, &points, 1);
        judged(&name, report, generated)?;
        let mut random = Random::new(2);
        for point in &points {
            let args = arguments(f, point);
            ways_agree_at(pipeline.program(), &unoptimised, &name, &args, &mut random)
                .map_err(|why| format!("{name} at {point}: {why}"))?;
        }
    }
    let last = generated.functions.last().expect("there is a function");
    varying_alone(&mut pipeline, last)?;
    cost(&mut pipeline, last, worst, generated)?;
    second_derivatives(&mut pipeline, last, generated)
}

/// Native code, if that is asked for.
fn natively(pipeline: &Pipeline, generated: &Generated, source: &Source) -> Result<Option<Jit>, String> {
    let options = match std::env::var("LMC_NATIVE").as_deref() {
        Ok("exact") => native::Options::exact(),
        Ok("fast") => native::Options::default(),
        Ok(other) => return Err(format!("LMC_NATIVE is exact or fast, not {other}")),
        Err(_) => return Ok(None),
    };
    let entries = generated.functions.iter().flat_map(|f| gradcheck::names(&FunName::base(&f.name)));
    let entries: Vec<FunName> = entries.collect();
    let info = SourceInfo::new(source.name(), source.text());
    let jit = Jit::new(pipeline.program(), &entries, &info, &options);
    jit.map(Some).map_err(|error| error.to_string())
}

fn judged(name: &FunName, report: Report, generated: &Generated) -> Result<(), String> {
    // An empty sum adds nothing, but a derivative may need its shape, which is unknown.
    let has_stopped = report.stopped.as_ref().is_some_and(|error| error.kind != ErrorKind::ShapeUnknown);
    let differences = generated.stops_gradients || report.whole.differences.error <= gradcheck::DIFFERENCES;
    let rest = !has_stopped
        && report.native.error <= report.native_limit
        && report.whole.forward_reverse.error <= gradcheck::FORWARD_REVERSE;
    if differences && rest { Ok(()) } else { Err(format!("{name}: {report:?}")) }
}

/// Arguments at which the function has a value.
fn points(pipeline: &Pipeline, f: &Signature) -> Vec<Value> {
    let mut random = SplitMix::new(3);
    let at = |sizes: &[usize; 2]| point(f, *sizes, &mut random);
    let all: Vec<Value> = SIZES.iter().filter_map(at).collect();
    let has_value = |point: &Value| {
        let value = Interpreter::new(pipeline.program()).call(&FunName::base(&f.name), &arguments(f, point));
        value.is_ok_and(|value| value.floats().iter().all(|x| x.is_finite()))
    };
    all.into_iter().filter(has_value).collect()
}

fn point(f: &Signature, sizes: [usize; 2], random: &mut SplitMix) -> Option<Value> {
    let parts: Vec<Value> = f.params.iter().map(|ty| ty.value(sizes, random)).collect::<Option<_>>()?;
    Some(if let [one] = parts.as_slice() { one.clone() } else { Value::Tuple(parts) })
}

fn arguments(f: &Signature, point: &Value) -> Vec<Value> {
    match point {
        Value::Tuple(parts) if f.params.len() > 1 => parts.clone(),
        _ => vec![point.clone()],
    }
}

/// `[rev [wrt$k f]]` against `[rev f]`.
fn varying_alone(pipeline: &mut Pipeline, f: &Signature) -> Result<(), String> {
    let name = FunName::base(&f.name);
    for k in (0..f.params.len()).filter(|k| f.params[*k].varies()) {
        let restricted = name.restricted(&[vec![k + 1]]).derived(Derivative::Rev);
        pipeline.require(&restricted).map_err(|e| e.to_string())?;
        for point in points(pipeline, f) {
            let call = |name: &FunName, args: &[Value]| {
                Interpreter::new(pipeline.program()).call(name, args).map_err(|e| format!("{name} at {point}: {e}"))
            };
            let dr = Random::new(4).direction(&call(&name, &arguments(f, &point))?);
            let all = call(&name.derived(Derivative::Rev), &[point.clone(), dr.clone()])?;
            let wanted = arguments(f, &all)[k].clone();
            let found = call(&restricted, &[point.clone(), dr])?;
            if !is_close(&wanted, &found) {
                return Err(format!("{restricted} at {point}: {found} for {wanted}"));
            }
        }
    }
    Ok(())
}

/// Derivatives of `[fwd f]` and `[rev f]`.
fn second_derivatives(pipeline: &mut Pipeline, f: &Signature, generated: &Generated) -> Result<(), String> {
    let name = FunName::base(&f.name);
    for derivation in [Derivative::Fwd, Derivative::Rev] {
        let first = name.derived(derivation.clone());
        gradcheck::prepare(pipeline, &first).map_err(|e| e.to_string())?;
        let mut random = Random::new(5);
        let mut at = |point: Value| {
            let value = Interpreter::new(pipeline.program()).call(&name, &arguments(f, &point)).expect("a value");
            let direction = random.direction(if derivation == Derivative::Fwd { &point } else { &value });
            Value::Tuple(vec![point, direction])
        };
        let points: Vec<Value> = points(pipeline, f).into_iter().map(&mut at).collect();
        judged(&first, gradcheck::check_at(pipeline, None, &first, &points, 1), generated)?;
    }
    Ok(())
}

/// Checks the cost of `[rev f]` per operation of f, which includes reading its argument and writing its result.
fn cost(pipeline: &mut Pipeline, f: &Signature, worst: &Worst, generated: &Generated) -> Result<(), String> {
    let name = FunName::base(&f.name);
    let work = |name: &FunName, args: &[Value]| {
        let mut interpreter = Interpreter::new(pipeline.program());
        let value = interpreter.call(name, args).ok()?;
        let counts = interpreter.counts;
        Some((value, (counts.arithmetic() + counts.moves + counts.steps) as f64, counts.shared as f64))
    };
    let mut before = f64::INFINITY;
    for n in [6, 12, 24] {
        let Some(point) = point(f, [n, n], &mut SplitMix::new(6)) else { return Ok(()) };
        let Some((value, primal, shared)) = work(&name, &arguments(f, &point)) else { return Ok(()) };
        if primal + shared > 20_000.0 {
            return Ok(());
        }
        let dr = Random::new(7).direction(&value);
        let Some((_, reverse, _)) = work(&name.derived(Derivative::Rev), &[point.clone(), dr]) else { return Ok(()) };
        let ratio = reverse / (primal + shared + (point.floats().len() + value.floats().len()) as f64 + 10.0);
        if ratio > worst.lock().expect("the lock is free").0 {
            *worst.lock().expect("the lock is free") = (ratio, generated.text.clone());
        }
        if ratio > BOUND || ratio > 8.0 && ratio > 1.5 * before {
            return Err(format!("{name}: cost ratio {ratio} at {n}, {before} at half of that"));
        }
        before = ratio;
    }
    Ok(())
}
