//! Checks that all ways to a derivative agree.

use lm::alpha;
use lm::interp::{ErrorKind, Interpreter, RuntimeError};
use lm::map;
use lm::notation::ks;
use lm::term::{Def, Derivative, FunName, Program};
use lm::value::Value;
use lmc::derive::pipeline::{Pipeline, Stage};
use lmc::gradcheck::{Random, same_bits};
use lmc::ks::diagnostic::Diagnostic;
use lmc::ks::front::load_stage;
use lmc::ks::render::{Format, render_all};
use lmc::ks::source::Source;

/// Largest difference, relative to the largest component, between ways that differ in rounding only.
const ROUNDING: f64 = 1e-12;

/// The derivatives that are compared.
pub fn all_ways(f: &FunName) -> Vec<FunName> {
    let derivations = [
        Derivative::Fwd,
        Derivative::Rev,
        Derivative::D,
        Derivative::Jvp,
        Derivative::SufFwdPass,
        Derivative::SufRevPass,
    ];
    derivations.into_iter().map(|derivation| f.derived(derivation)).collect()
}

/// The texts of the stages, with all that they call, read back. Stages of different names share a text.
pub fn stages_come_back(pipeline: &Pipeline, stages: &[Vec<Stage>]) -> Result<(), String> {
    let mut waiting: Vec<&Stage> = stages.iter().flatten().collect();
    while !waiting.is_empty() {
        let mut program = pipeline.program().clone();
        let mut taken: Vec<FunName> = Vec::new();
        waiting.retain(|stage| {
            let name = &stage.def.fun.name;
            let later = taken.contains(name);
            if !later {
                taken.push(name.clone());
                program.defs.insert(name.clone(), stage.def.clone());
            }
            later
        });
        comes_back(&program)?;
    }
    Ok(())
}

fn comes_back(program: &Program) -> Result<(), String> {
    let text = ks::program(program, 80);
    let read = load_stage(&Source::new("stage.ks", &text)).map_err(|errors| shown(&text, &errors))?;
    let differ = |(name, def): &(&FunName, &Def)| !read.program.defs.get(*name).is_some_and(|d| alpha::defs(def, d));
    match program.defs.iter().find(differ) {
        Some((_, def)) => Err(format!("reads back as something else: {}", ks::def(def, 80))),
        None => Ok(()),
    }
}

fn shown(text: &str, errors: &[Diagnostic]) -> String {
    let message = render_all(&Source::new("stage.ks", text), errors, Format::Human, false);
    format!("a stage does not read: {message}\n{text}")
}

/// The program, with the Jacobians as they were before any law.
pub fn with_unoptimised_jacobians(pipeline: &Pipeline, stages: &[Vec<Stage>]) -> Program {
    let mut unoptimised = pipeline.program().clone();
    for stage in stages.iter().filter_map(|stages| stages.iter().find(|s| s.def.body.ty().as_lm().is_some())) {
        unoptimised.defs.insert(stage.def.fun.name.clone(), stage.def.clone());
    }
    unoptimised
}

/// The derivatives that the pipeline gives, against the Jacobians as they were before any law, at a point.
pub fn ways_agree_at(
    program: &Program,
    unoptimised: &Program,
    f: &FunName,
    point: &[Value],
    random: &mut Random,
) -> Result<(), String> {
    let call =
        |name: &FunName, args: &[Value]| Interpreter::new(program).call(name, args).map_err(|e| format!("{name}: {e}"));
    let whole = if let [one] = point { one.clone() } else { Value::Tuple(point.to_vec()) };
    let value = call(f, point)?;
    let (ds, dr) = (random.direction(&whole), random.direction(&value));
    let forward = call(&f.derived(Derivative::Fwd), &[whole.clone(), ds.clone()])?;
    let reverse = call(&f.derived(Derivative::Rev), &[whole.clone(), dr.clone()])?;

    let both = pair(call(&f.derived(Derivative::Jvp), &[whole, ds.clone()])?);
    same("the value of [jvp f]", same_bits(&both.0, &value))?;
    same("the derivative of [jvp f]", is_close(&both.1, &forward))?;
    let (first, record) = pair(call(&f.derived(Derivative::SufFwdPass), point)?);
    same("the value of [suffwdpass f]", same_bits(&first, &value))?;
    same("[sufrevpass f]", is_close(&call(&f.derived(Derivative::SufRevPass), &[dr.clone(), record])?, &reverse))?;

    for (program, when) in [(unoptimised, "unoptimised"), (program, "optimised")] {
        let mut cx = Interpreter::new(program);
        let Value::Map(m) = cx.call(&f.derived(Derivative::D), point).map_err(|e| e.to_string())? else {
            return Err("[D f] gives no map".into());
        };
        let ahead = map::apply(&mut cx, &m, &ds).map_err(|e| format!("the {when} [D f], applied: {e}"))?;
        same(&format!("the {when} [D f], applied"), is_close(&ahead, &forward))?;
        match map::apply_reverse(&mut cx, &dr, &m) {
            Ok(back) => same(&format!("the {when} [D f], applied in reverse"), is_close(&back, &reverse))?,
            // A row of no maps does not know where it comes from.
            Err(RuntimeError { kind: ErrorKind::ShapeUnknown, .. }) => {}
            Err(error) => return Err(format!("the {when} [D f], applied in reverse: {error}")),
        }
    }
    Ok(())
}

fn pair(value: Value) -> (Value, Value) {
    match value {
        Value::Tuple(parts) => <[Value; 2]>::try_from(parts).expect("a pair").into(),
        other => panic!("{other} is no pair"),
    }
}

fn same(what: &str, it_is: bool) -> Result<(), String> {
    if it_is { Ok(()) } else { Err(format!("{what} differs")) }
}

/// Returns whether two values differ at most by rounding.
pub fn is_close(a: &Value, b: &Value) -> bool {
    let (a, b) = (a.floats(), b.floats());
    let finite = a.iter().chain(&b).filter(|x| x.is_finite());
    let scale = finite.fold(1.0, |scale: f64, x| scale.max(x.abs()));
    let is_one = |a: f64, b: f64| a == b || (a - b).abs() <= ROUNDING * scale;
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| is_one(*a, *b))
}
