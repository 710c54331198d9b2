//! Run-time errors in derivatives, of each kind: they are at the line of the function that cannot be evaluated, by each
//! derivation, natively and in the interpreter.

use super::each::{self, Outcome};
use common::native::unoptimised;
use libtest_mimic::Trial;
use lm::interp::{Interpreter, RuntimeError};
use lm::term::{Derivative, Expr, FunName, Kind, Span};
use lm::timing::Timings;
use lm::value::Value;
use lmc::demos::Demo;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use native::{Jit, SourceInfo};

/// The tests.
pub fn tests() -> Vec<Trial> {
    let places = "places::every_term_of_a_derivative_has_a_place";
    let mut tests =
        each::demo(places, |demo| Derivation::OF_ALL_PROGRAMS.into_iter().try_for_each(|d| has_places(demo, d)));
    for (number, (body, failing)) in PROGRAMS.iter().enumerate() {
        let is_there = || is_at_its_place(body, failing);
        tests.push(each::row(
            "places::errors_in_derivatives_are_where_the_function_fails",
            &number.to_string(),
            is_there,
        ));
    }
    tests
}

/// A term of v : (Vec Float), of size 2, and k = 4; the line marked is where it fails. Then the derivatives that need
/// what fails; others may give a value.
const PROGRAMS: &[(&str, &[Derivative])] = &[
    ("(sum\n (build (sub k 5) (lam (i : Integer) (mul (index i v) (index i v))))) ; here", ALL),
    ("(mul 2.0\n (sumbuild (sub k 5) (lam (i : Integer) (mul (index i v) (index i v))))) ; here", ALL),
    ("(sum\n (shift1L (build (sub k 5) (lam (i : Integer) (sin (index i v)))))) ; here", ALL),
    ("(sum\n (constVec (sub k 5) (index 0 v))) ; here", FIRST),
    ("(sum\n (deltaVec (sub k 5) 0 (index 0 v))) ; here", FIRST),
    ("(sum\n (map (lam (x : Float) (mul x x)) (build (sub k 5) (lam (i : Integer) (index i v))))) ; here", ALL),
    (
        "(sum (build 2 (lam (j : Integer)\n (sum (build (sub k 5) (lam (i : Integer) \
         (mul (index j v) (index i v)))))))) ; here",
        ALL,
    ),
    ("(if (gt (index 0 v) 0.0)\n (sum (build (sub k 5) (lam (i : Integer) (index i v)))) 0.0) ; here", FIRST),
    (
        "(fold (lam (p : Tuple Float Float) (mul (get$1$2 p) (get$2$2 p))) 1.0\n \
         (build (sub k 5) (lam (i : Integer) (index i v)))) ; here",
        ALL,
    ),
    ("(mul 2.0\n (g v k))", FIRST),
    ("(sum\n (build (mul k 1000000000000000000) (lam (i : Integer) (index 0 v)))) ; here", FIRST),
    ("(mul 2.0\n (index (add k 5) v)) ; here", FIRST),
    ("(sum (build 2 (lam (i : Integer)\n (mul (index i v) (index (add i k) v))))) ; here", ALL),
    (
        "(fold (lam (p : Tuple Float Float)\n (mul (get$1$2 p) (mul (get$2$2 p) (index (add k 9) v)))) 1.0 v) ; here",
        ALL,
    ),
    ("(sum\n (add v (build k (lam (i : Integer) (index 0 v))))) ; here", FIRST),
    ("(mul 2.0\n (ts_dot v (build k (lam (i : Integer) (index 0 v))))) ; here", FIRST),
    ("(mul (index 0 v)\n (to_float (div 5 (sub k 4)))) ; here", FIRST),
    ("(mul 2.0 (index\n (div 5 (sub k 4)) v)) ; here", FIRST),
    ("(mul 2.0\n (assert (gt k 7) (index 0 v))) ; here", WITH_VALUE),
    ("(mul 2.0\n (max (build (sub k 4) (lam (i : Integer) (index i v))))) ; here", FIRST),
    (
        "(sum\n (sumbuild (sub k 4) (lam (i : Integer) (build (add i 1) (lam (j : Integer) (index 0 v)))))) ; here",
        WITH_VALUE,
    ),
];

const ALL: &[Derivative] = &[
    Derivative::Fwd,
    Derivative::Rev,
    Derivative::Grad,
    Derivative::Jvp,
    Derivative::Vjp,
    Derivative::Hvp,
    Derivative::Jac,
];
/// Second derivatives of linear functions are zero.
const FIRST: &[Derivative] =
    &[Derivative::Fwd, Derivative::Rev, Derivative::Grad, Derivative::Jvp, Derivative::Vjp, Derivative::Jac];
/// Derivatives do not repeat what only the value needs.
const WITH_VALUE: &[Derivative] = &[Derivative::Jvp, Derivative::Vjp];

fn text(body: &str) -> String {
    format!(
        "; A comment.\n; Another one.\n(def f Float ((v : Vec Float) (k : Integer))\n {body}\n)\n\
        (def g Float ((v : Vec Float) (k : Integer))\n {})\n",
        match body.contains("; here") {
            true => "(index 0 v)",
            false => "(sum (build (sub k 5) (lam (i : Integer) (index i v)))) ; here\n",
        }
    )
}

/// Returns the arguments of f, or of a derivative.
fn arguments(derivative: Option<&Derivative>) -> Vec<Value> {
    let v = Value::vector([1.0, 2.0].map(Value::Float).to_vec());
    let s = Value::Tuple(vec![v.clone(), Value::Integer(4)]);
    let ds = Value::Tuple(vec![v.clone(), Value::Tuple(vec![])]);
    match derivative {
        Some(Derivative::Fwd | Derivative::Jvp | Derivative::Hvp) => vec![s, ds],
        Some(Derivative::Rev | Derivative::Vjp) => vec![s, Value::Float(1.0)],
        _ => vec![v, Value::Integer(4)],
    }
}

/// The line of an error must be the one that is marked.
fn is_at_the_mark(source: &Source, error: &RuntimeError) -> Result<(), String> {
    let line = source.position(error.span.start).line;
    match source.text().lines().nth(line - 1).is_some_and(|text| text.contains("; here")) {
        true => Ok(()),
        false => Err(format!("line {line}: {error}")),
    }
}

fn wrong(body: &str, failing: &[Derivative], derivation: Derivation) -> Vec<String> {
    let source = Source::new("f.ks", &text(body));
    let checked = front::load_for(&source, derivation, &Timings::default());
    let mut pipeline = Pipeline::new(checked.unwrap_or_else(|errors| panic!("{body}: {errors:?}")));
    let f = FunName::base("f");
    // These are made of the others, which differ by derivation.
    let is_new = |d: &&Derivative| {
        derivation == Derivation::default() || !matches!(d, Derivative::Grad | Derivative::Hvp | Derivative::Jac)
    };
    let derived = ALL.iter().filter(is_new).map(|d| f.derived(d.clone()));
    let names: Vec<FunName> = std::iter::once(f.clone()).chain(derived).collect();
    names.iter().for_each(|name| pipeline.require(name).unwrap_or_else(|error| panic!("{body}: {error}")));
    let info = SourceInfo::new(source.name(), source.text());
    let jit = Jit::new(pipeline.program(), &names, &info, &unoptimised());
    let jit = jit.unwrap_or_else(|error| panic!("{body}: {error}"));
    let mut wrong = Vec::new();
    for name in &names {
        let d = name.derivative();
        let interpreted = Interpreter::new(pipeline.program()).call(name, &arguments(d));
        let native = jit.call(name, &arguments(d));
        for (way, outcome) in [("interpreted", interpreted), ("native", native)] {
            let found = match outcome {
                Err(error) => is_at_the_mark(&source, &error),
                Ok(value) if d.is_none_or(|d| fails(d, failing, derivation)) => Err(format!("{value:?}")),
                Ok(_) => Ok(()),
            };
            wrong.extend(found.err().map(|why| format!("{name} by {derivation:?}, {way}: {why}\n{body}")));
        }
    }
    wrong
}

/// Returns whether a derivative must fail. Along directions, laws of arrays leave out what is multiplied with zeros.
fn fails(d: &Derivative, failing: &[Derivative], derivation: Derivation) -> bool {
    let is_along_directions = derivation == Derivation::Dual && *d == Derivative::Rev;
    failing.contains(d) && !is_along_directions
}

/// By each derivation.
fn is_at_its_place(body: &str, failing: &[Derivative]) -> Outcome {
    let wrong: Vec<String> =
        Derivation::OF_ALL_PROGRAMS.into_iter().flat_map(|derivation| wrong(body, failing, derivation)).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Returns whether every term that can fail has a place. Terms that are free to copy cannot fail.
fn is_placed(e: &Expr) -> bool {
    let children = match e.kind() {
        Kind::Const(_) | Kind::Var(_) => true,
        Kind::App(_, args) => args.iter().all(is_placed),
        Kind::Let(bindings, body) => bindings.iter().all(|b| is_placed(&b.rhs)) && is_placed(body),
        Kind::Lam(_, body) => is_placed(body),
    };
    children && (e.is_atom() || e.span() != Span::default())
}

fn has_places(demo: &Demo, derivation: Derivation) -> Outcome {
    let source = Source::new(demo.name, demo.text);
    let checked = front::load_for(&source, derivation, &Timings::default());
    let mut pipeline = Pipeline::new(checked.map_err(|errors| format!("{errors:?}"))?);
    for d in
        [Derivative::Fwd, Derivative::Rev, Derivative::Jvp, Derivative::Vjp, Derivative::SufFwdPass, Derivative::Shape]
    {
        let name = FunName::base(demo.fun).derived(d);
        pipeline.require(&name).map_err(|error| error.to_string())?;
    }
    let derived = pipeline.program().defs.values().filter(|def| !def.fun.name.derivations.is_empty());
    let without: Vec<String> =
        derived.filter(|def| !is_placed(&def.body)).map(|def| def.fun.name.to_string()).collect();
    if without.is_empty() { Ok(()) } else { Err(format!("by {derivation:?}: {without:?}")) }
}
