//! Checks traces: every step of a derivation is one that can be read, redone and evaluated.

use crate::agreement::is_close;
use lm::alpha;
use lm::eval::Evaluator;
use lm::law;
use lm::prim::Prim;
use lm::runtime_error::{ErrorKind, RuntimeError};
use lm::term::{Binding, Def, Derivative, Expr, FunName, Kind, Op, Pattern, Program, Var};
use lm::types::Type;
use lm::value::Value;
use lm::verify;
use lmc::derive::passes::laws;
use lmc::derive::pipeline::{Pipeline, Stage, TraceStep};
use lmc::derive::{call_order, forms};
use lmc::gradcheck::Random;
use lmc::ks::front::load_stage;
use lmc::ks::reader::{Sexp, Shape, read};
use lmc::ks::source::Source;
use lmc::trace::{self, StageData};
use std::collections::HashMap;
use std::io;

/// What was checked of the steps of a derivation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// The steps.
    pub steps: usize,
    /// The steps whose definitions were evaluated before and after.
    pub evaluated: usize,
}

/// What is read back and evaluated of a derivation.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The argument of the function.
    pub point: &'a Value,
    /// Each step of so many in a stage.
    pub spread: usize,
}

/// Checks all steps of the derivation of f.
///
/// Errors: the step that does not hold.
pub fn holds(p: &mut Pipeline, f: &FunName, plan: Plan) -> Result<Tally, String> {
    let stages = p.stages(f, true).map_err(|error| error.to_string())?;
    stages_hold(p, f, &stages, plan)
}

/// Checks all steps of some stages of f.
///
/// Errors: the step that does not hold.
pub fn stages_hold(p: &mut Pipeline, f: &FunName, stages: &[Stage], plan: Plan) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for (number, stage) in stages.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| &stages[before]);
        let more = stage_holds(p, f, before, stage, plan)?;
        tally.steps += more.steps;
        tally.evaluated += more.evaluated;
    }
    Ok(tally)
}

/// Checks the steps of one stage of the derivation of f, which follows another.
///
/// Errors: the step that does not hold.
pub fn stage_holds(
    p: &mut Pipeline,
    f: &FunName,
    before: Option<&Stage>,
    stage: &Stage,
    plan: Plan,
) -> Result<Tally, String> {
    let in_stage = |why: String| format!("{f}, `{}`: {why}", stage.heading);
    follows(stage, before).map_err(in_stage)?;
    can_be_redone(&trace::data(stage)).map_err(in_stage)?;
    let mut tally = Tally { steps: stage.steps.len(), evaluated: 0 };
    // The definition after one step is mostly the one before the next.
    let mut last: Option<(Expr, Outcome)> = None;
    for (i, step) in stage.steps.iter().enumerate() {
        let at = |why: String| in_stage(format!("step {}, {}: {why}\n{}", i + 1, step.law, one(stage, i)));
        let [old, new] = [&step.before, &step.after].map(|e| Def { body: e.clone(), ..stage.def.clone() });
        is_listed(step).map_err(at)?;
        verify::scoping(&new).and_then(|()| verify::typing(&new)).map_err(at)?;
        if i % plan.spread != 0 {
            continue;
        }
        comes_back(p, &new).map_err(at)?;
        let is_small = |def: &Def| forms::with_map(&def.body).is_none() || size_of_maps(&def.body) <= LARGEST_MAP;
        if is_small(&old) && is_small(&new) {
            let before = match last.take() {
                Some((def, value)) if def == old.body => value,
                _ => evaluated(p, f, &old, plan.point),
            };
            let after = evaluated(p, f, &new, plan.point);
            tally.evaluated += usize::from(is_the_same(&before, &after).map_err(at)?);
            last = Some((new.body, after));
        }
    }
    Ok(tally)
}

/// The largest term with maps that is evaluated, as a tree: the evaluator shares no applications of maps.
const LARGEST_MAP: u64 = 400;

/// The longest evaluation of a step, in evaluations of the function: the size of a term does not show how often the
/// functions that it calls apply the maps that they are given.
const LONGEST: u64 = 1_000;

/// Short functions count as long as this, in steps of the evaluator.
const SHORT: u64 = 1_000;

/// How often the body of a function counts.
const ELEMENTS: u64 = 4;

/// Returns the size of a term with each map in place of its name.
fn size_of_maps(e: &Expr) -> u64 {
    tree_size(e, &mut HashMap::default())
}

fn is_transposed(e: &Expr) -> bool {
    match e.kind() {
        Kind::App(Op::Prim(p), _) => *p == Prim::LmTranspose,
        Kind::App(Op::Call(f), _) => f.name.derivative() == Some(&Derivative::PolymorphicR),
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}

fn tree_size(e: &Expr, sizes: &mut HashMap<u32, u64>) -> u64 {
    match e.kind() {
        Kind::Const(_) => 1,
        Kind::Var(x) => sizes.get(&x.id()).copied().unwrap_or(1),
        // Each step applies the transposed map of the step before once for each number of its space.
        Kind::App(Op::Prim(Prim::Loop | Prim::Fold | Prim::Scanl), _)
            if e.ty().mentions_lm() && e.any(is_transposed) =>
        {
            u64::MAX
        }
        Kind::App(_, args) => args.iter().fold(1, |size, a| size.saturating_add(tree_size(a, sizes))),
        Kind::Lam(_, body) => ELEMENTS.saturating_mul(tree_size(body, sizes)),
        Kind::Let(bindings, body) => {
            let mut size = 0_u64;
            for b in bindings {
                let of_rhs = tree_size(&b.rhs, sizes);
                match b.rhs.ty().mentions_lm() {
                    true => sizes.extend(b.pattern.vars().iter().map(|x| (x.id(), of_rhs))),
                    false => size = size.saturating_add(of_rhs),
                }
            }
            size.saturating_add(tree_size(body, sizes))
        }
    }
}

/// Checks that two definitions of a derivative of f have one value.
///
/// Errors: the values.
pub fn agree(p: &mut Pipeline, f: &FunName, one: &Def, other: &Def, point: &Value) -> Result<(), String> {
    let values = [one, other].map(|def| evaluated(p, f, def, point));
    match is_the_same(&values[0], &values[1])? {
        true => Ok(()),
        false => Err(format!("{} has no value", one.fun.name)),
    }
}

/// The value of a definition; none, where arguments are not known.
type Outcome = Option<Result<Value, RuntimeError>>;

/// Checks that two definitions have one value. Returns whether the first has one that can be told.
fn is_the_same(old: &Outcome, new: &Outcome) -> Result<bool, String> {
    match (old, new) {
        (None | Some(Err(_)), _) => Ok(false),
        (Some(Ok(old)), Some(Ok(new))) if is_close(old, new) => Ok(true),
        (Some(Ok(old)), Some(Ok(new))) => Err(format!("{old} becomes {new}")),
        (Some(Ok(_)), Some(Err(RuntimeError { kind: ErrorKind::TooLong(_), .. }))) => Ok(false),
        // A row of no maps does not know where it comes from. Where there is no number, nothing is lost.
        (Some(Ok(old)), Some(Err(RuntimeError { kind: ErrorKind::ShapeUnknown, .. }))) if old.floats().is_empty() => {
            Ok(false)
        }
        (Some(Ok(old)), Some(Err(error))) => Err(format!("{old} becomes an error: {error}")),
        (Some(Ok(_)), None) => Err("its arguments are others".into()),
    }
}

/// Checks that `lmc laws` lists the law of a step, or that it is a rule of the program.
fn is_listed(step: &TraceStep) -> Result<(), String> {
    let name = &*step.law;
    let is_of_pass = laws::all().any(|law| law.name == name);
    match is_of_pass || law::all().contains_key(name) || step.pass == "rules" {
        true => Ok(()),
        false => Err("no such law is listed".into()),
    }
}

/// Returns a step as it is printed.
fn one(stage: &Stage, i: usize) -> String {
    let stage = Stage { steps: vec![stage.steps[i].clone()], ..stage.clone() };
    trace::text(&stage, trace::Notation::Ks)
}

/// Checks that the steps follow each other to the stage; from the stage before, if that is of the same function. Stages
/// in the category language and in UNF are conversions.
fn follows(stage: &Stage, before: Option<&Stage>) -> Result<(), String> {
    let steps = &stage.steps;
    if let Some(i) = (1..steps.len()).find(|&i| !alpha::exprs(&steps[i - 1].after, &steps[i].before)) {
        return Err(format!("step {} does not start where the one before ends", i + 1));
    }
    let is_converted = |stage: &Stage| stage.category.is_some() || stage.unary.is_some();
    let is_rewritten =
        |before: &&Stage| before.def.fun.name == stage.def.fun.name && !is_converted(before) && !is_converted(stage);
    if let Some(before) = before.filter(is_rewritten) {
        let start = steps.first().map_or(&stage.def.body, |step| &step.before);
        if !alpha::defs(&before.def, &Def { body: start.clone(), ..stage.def.clone() }) {
            return Err("the steps do not start at the stage before".into());
        }
    }
    match steps.last().is_none_or(|last| alpha::exprs(&last.after, &stage.def.body)) {
        true => Ok(()),
        false => Err("the steps do not lead to the stage".into()),
    }
}

/// Checks that the definition after the last step can be made from the one before the first, by the edits alone.
fn can_be_redone(data: &StageData) -> Result<(), String> {
    let mut definition = sexp(&data.start)?;
    for (i, step) in data.steps.iter().enumerate() {
        let mut list = &mut definition;
        for &item in &step.path {
            list = items(list)?.get_mut(item).ok_or_else(|| format!("step {}: the path leads nowhere", i + 1))?;
        }
        let items = items(list)?;
        let old: Vec<Sexp> = step.before.iter().map(|text| sexp(text)).collect::<Result<_, _>>()?;
        let new: Vec<Sexp> = step.after.iter().map(|text| sexp(text)).collect::<Result<_, _>>()?;
        let range = step.first..step.first + old.len();
        let found = items.get(range.clone()).ok_or_else(|| format!("step {}: there are fewer items", i + 1))?;
        if !found.iter().zip(&old).all(|(a, b)| is_same(a, b)) {
            return Err(format!("step {}: the items are others", i + 1));
        }
        items.splice(range, new);
    }
    match is_same(&definition, &sexp(&data.definition)?) {
        true => Ok(()),
        false => Err("the edits do not lead to the definition".into()),
    }
}

fn sexp(text: &str) -> Result<Sexp, String> {
    let mut reading = read(text);
    match (reading.forms.pop(), reading.errors.is_empty()) {
        (Some(one), true) if reading.forms.is_empty() => Ok(one),
        _ => Err(format!("is not one s-expression: {text}")),
    }
}

fn items(s: &mut Sexp) -> Result<&mut Vec<Sexp>, String> {
    match &mut s.shape {
        Shape::List(items) | Shape::Bracket(items) => Ok(items),
        other => Err(format!("the path leads to {other:?}, which is no list")),
    }
}

/// Returns whether two s-expressions are equal, wherever they stand.
fn is_same(a: &Sexp, b: &Sexp) -> bool {
    match (&a.shape, &b.shape) {
        (Shape::List(xs), Shape::List(ys)) | (Shape::Bracket(xs), Shape::Bracket(ys)) => {
            xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| is_same(x, y))
        }
        (a, b) => a == b,
    }
}

/// Checks that the text of a definition reads as the same. What it calls is declared only: the texts of whole programs
/// are read back stage by stage.
fn comes_back(p: &mut Pipeline, def: &Def) -> Result<(), String> {
    let needed = with(p, def)?;
    let mut program = Program { externals: needed.externals, ..Program::default() };
    let others = needed.defs.iter().filter(|(name, _)| **name != def.fun.name);
    program.externals.extend(others.map(|(name, other)| (name.clone(), other.fun.clone())));
    program.defs.insert(def.fun.name.clone(), def.clone());
    let text = lm::notation::ks::program(&program, 80);
    let read = load_stage(&Source::new("step.ks", &text)).map_err(|errors| format!("does not read: {errors:?}"))?;
    match read.program.defs.get(&def.fun.name).is_some_and(|read| alpha::defs(def, read)) {
        true => Ok(()),
        false => Err("reads back as something else".into()),
    }
}

/// Returns a program of a definition, and all that it needs.
fn with(p: &mut Pipeline, def: &Def) -> Result<Program, String> {
    let needed = Def { body: with_laws(&def.body), ..def.clone() };
    let mut called = Vec::new();
    call_order::calls(&needed.body, &mut called);
    for name in called.iter().filter(|name| **name != def.fun.name) {
        p.require(name).map_err(|error| error.to_string())?;
    }
    let all = p.program();
    let mut program = call_order::with_needed(&needed, &all.defs, &all.externals);
    program.defs.insert(def.fun.name.clone(), def.clone());
    Ok(program)
}

/// Returns a term with the Jacobians of its primitives, which may call functions such as `digamma`.
fn with_laws(e: &Expr) -> Expr {
    let (mut all, mut supply) = (vec![e.clone()], lm::term::Supply::default());
    e.visit(|e| {
        if let Kind::App(Op::JacobianOf(p), args) = e.kind() {
            let atoms: Vec<Expr> = args.iter().map(|a| Expr::var(&supply.fresh("x", a.ty().clone()))).collect();
            all.push(law::jacobian_of(*p, &atoms));
        }
    });
    Expr::tuple(all)
}

/// Returns the value of a definition; of a map in it, what it does to a vector. None, where arguments are not known.
fn evaluated(p: &mut Pipeline, f: &FunName, def: &Def, point: &Value) -> Outcome {
    let of = p.program().defs[f].clone();
    let mut random = Random::new(1);
    let mut directions = vec![(of.fun.argument(), random.direction(point))];
    let mut steps = SHORT;
    if !of.fun.result.mentions_lm() {
        let evaluator = Evaluator::new(p.program(), io::sink());
        let value = evaluator.call(f, &parts(point, of.params.len())).ok()?;
        directions.push((of.fun.result.clone(), random.direction(&value)));
        steps = steps.max(evaluator.steps());
    }
    let vector = |ty: &Type| {
        let known = directions.iter().find(|(of, _)| of.tangent() == ty.tangent()).map(|(_, v)| v.clone());
        known.or_else(|| ty.has_fixed_shape().then(|| Random::new(2).point(&ty.tangent())))
    };
    let params: Vec<&Type> = def.params.iter().map(Var::ty).collect();
    let own: Vec<&Type> = of.params.iter().map(Var::ty).collect();
    let mut args = match params.as_slice() {
        params if params == own => parts(point, of.params.len()),
        [s, dx] if **s == of.fun.argument() => {
            let is_reverse = def.fun.name.derivative().and_then(Derivative::mode) == Some(lm::term::Mode::Reverse);
            let (of, direction) = directions.get(usize::from(is_reverse))?;
            vec![point.clone(), (**dx == of.tangent()).then(|| direction.clone())?]
        }
        _ => return None,
    };
    let mut supply = p.program().supply.clone();
    // The name of a Jacobian tells the spaces of its map. A recursive function calls the finished one.
    let mut called = Vec::new();
    call_order::calls(&def.body, &mut called);
    let is_called = def.fun.result.mentions_lm() && !called.contains(&def.fun.name);
    let call = || Expr::app(Op::Call(def.fun.clone()), def.params.iter().map(Expr::var).collect());
    let value = if is_called { call() } else { def.body.clone() };
    let (body, more) = applied(&value, &mut supply, &vector)?;
    let params = [def.params.clone(), more.iter().map(|(x, _)| x.clone()).collect()].concat();
    args.extend(more.into_iter().map(|(_, v)| v));
    let step = Def::new(FunName::base("step"), params, body);
    let mut program = with(p, if is_called { def } else { &step }).ok()?;
    program.defs.insert(step.fun.name.clone(), step.clone());
    let longest = if forms::with_map(&def.body).is_some() { LONGEST * steps } else { u64::MAX };
    Some(Evaluator::new(&program, io::sink()).stopping_after(longest).call(&step.fun.name, &args))
}

fn parts(point: &Value, params: usize) -> Vec<Value> {
    match point {
        Value::Tuple(parts) if params != 1 => parts.clone(),
        one => vec![one.clone()],
    }
}

/// A term without maps, and the parameters that it has besides, with their values.
type Applied = (Expr, Vec<(Var, Value)>);

/// Returns a term with each map in its value applied to a vector.
fn applied(e: &Expr, supply: &mut lm::term::Supply, vector: &dyn Fn(&Type) -> Option<Value>) -> Option<Applied> {
    match e.ty() {
        Type::LM(from, _) => {
            let dx = supply.fresh("dx", from.tangent());
            let v = vector(from)?;
            Some((Expr::prim(Prim::LmApply, [e.clone(), Expr::var(&dx)]), vec![(dx, v)]))
        }
        Type::Tuple(parts) if e.ty().mentions_lm() => {
            let whole = supply.fresh("p", e.ty().clone());
            let (mut all, mut more) = (Vec::new(), Vec::new());
            for i in 1..=parts.len() {
                let (part, vectors) = applied(&Expr::get(i, Expr::var(&whole)), supply, vector)?;
                all.push(part);
                more.extend(vectors);
            }
            let bind = Binding { pattern: Pattern::Var(whole), rhs: e.clone() };
            Some((Expr::block(vec![bind], Expr::tuple(all)), more))
        }
        ty if ty.mentions_lm() => None,
        _ => Some((e.clone(), Vec::new())),
    }
}
