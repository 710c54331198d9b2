//! Values paired with their maps: what Figs. 7 and 8 of the working notes say of them, on values.
//!
//! ```text
//! tupled$f(x)            = (f(x), ∂f(x))
//! polymorphic$f(x, m)    = (f(x), ∂f(x) ∘ m)        for maps m from S, and from elsewhere
//! polymorphic$f(ē) ⊙ dx  = jvp$f(ē ⊙ dx)            the crucial property (CP)
//! polymorphicR$f(x, m)   = (f(x), m ∘ (∂f(x))ᵀ)     for maps m to S, and to elsewhere
//! ```
//!
//! and that derivatives of a composition are those of its parts, whatever is in these.

use super::each::{self, Outcome, alone};
use common::agreement::{all_ways, stages_come_back};
use common::files;
use libtest_mimic::Trial;
use lm::interp::Interpreter;
use lm::map::{self, LinearMap};
use lm::notation::infix;
use lm::term::{Derivative, FunName};
use lm::timing::Timings;
use lm::types::Type;
use lm::value::Value;
use lmc::demos::Demo;
use lmc::derive::Derivation;
use lmc::derive::pipeline::{Pipeline, Stage};
use lmc::gradcheck::{self, Random, distance};
use lmc::ks::front;
use lmc::ks::source::Source;
use std::path::Path;
use std::sync::Arc;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = alone!("paired": a_composition_is_compositional, a_fold_with_its_tangent_is_one_loop);
    tests.extend(each::program("paired::pairs_are_a_value_and_its_jacobian", CASES, pair_is_a_value_and_its_jacobian));
    tests.extend(each::program("paired::stages_read_back", CASES, stages_read_back));
    tests.extend(each::demo("paired::demos_have_stages_by_every_derivation", has_stages_by_every_derivation));
    tests
}

const CASES: &str = "tests/cases/gradcheck";

const LIMIT: f64 = 1e-12;

fn pipeline(name: &str, text: &str, derivation: Derivation) -> (Pipeline, Vec<FunName>) {
    let checked = front::load_for(&Source::new(name, text), derivation, &Timings::default());
    let checked = checked.unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    let mut functions: Vec<FunName> = checked.places.keys().filter(|f| f.derivations.is_empty()).cloned().collect();
    functions.retain(|f| !checked.program.externals.contains_key(f) && *f.base != *"main");
    functions.retain(|f| gradcheck::is_worth_checking(&checked.program, f));
    (Pipeline::new(checked), functions)
}

struct Point<'a> {
    p: &'a Pipeline,
    f: &'a FunName,
    whole: Value,
    parts: Vec<Value>,
}

impl Point<'_> {
    fn call(&self, name: &FunName, args: &[Value]) -> Value {
        Interpreter::new(self.p.program()).call(name, args).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn applied(&self, m: &Value, x: &Value) -> Value {
        let Value::Map(m) = m else { panic!("{m} is no map") };
        map::apply(&mut Interpreter::new(self.p.program()), m, x).unwrap_or_else(|error| panic!("{error}"))
    }

    fn same(&self, what: &str, a: &Value, b: &Value) {
        let error = distance(a, b);
        assert!(error <= LIMIT, "{}: {what}: {error:e}: {a} and {b}, at {}", self.f, self.whole);
    }

    /// A value and a map, applied.
    fn pair(&self, pair: &Value, x: &Value) -> Value {
        let [value, m] = pair.as_tuple().expect("a pair") else { panic!("a pair has two components") };
        Value::Tuple(vec![value.clone(), self.applied(m, x)])
    }

    fn check(&self, random: &mut Random) {
        let (f, s) = (self.f, &self.whole);
        let ds = random.direction(s);
        let y = self.call(f, &self.parts);
        let jacobian = self.call(&f.derived(Derivative::D), &self.parts);
        let expected = Value::Tuple(vec![y.clone(), self.applied(&jacobian, &ds)]);
        self.same("jvp", &self.call(&f.derived(Derivative::Jvp), &[s.clone(), ds.clone()]), &expected);
        let tupled = self.call(&f.derived(Derivative::Tupled), &self.parts);
        self.same("tupled", &self.pair(&tupled, &ds), &expected);
        let given = |d: Derivative, m: LinearMap| self.call(&f.derived(d), &[s.clone(), Value::Map(Arc::new(m))]);
        let polymorphic = |m: LinearMap| given(Derivative::Polymorphic, m);
        // From S; from Float: r to r ds.
        let one = LinearMap::One(s.clone());
        self.same("polymorphic at 1", &self.pair(&polymorphic(one), &ds), &expected);
        let line = LinearMap::ScaleR(ds.clone());
        self.same("polymorphic along a line", &self.pair(&polymorphic(line), &Value::Float(1.0)), &expected);
        // To S; to Float: x to x . ds.
        let dr = random.direction(&y);
        let gradient = self.call(&f.derived(Derivative::Rev), &[s.clone(), dr.clone()]);
        let expected = Value::Tuple(vec![y.clone(), gradient.clone()]);
        let returned = given(Derivative::PolymorphicR, LinearMap::One(s.clone()));
        let [_, Value::Map(m)] = returned.as_tuple().expect("a pair") else { panic!("{returned} has no map") };
        if map::apply(&mut Interpreter::new(self.p.program()), m, &dr).is_err() {
            // A transposed map of tensors may not tell the shape of its sum over nothing.
            let Value::Map(m) = &jacobian else { panic!("{jacobian} is no map") };
            let transposed = map::apply_reverse(&mut Interpreter::new(self.p.program()), &dr, m);
            assert!(transposed.is_err(), "{f}: the transposed Jacobian can be applied, at {s}");
            return;
        }
        let returned = |m: LinearMap| self.pair(&given(Derivative::PolymorphicR, m), &dr);
        self.same("polymorphicR at 1", &returned(LinearMap::One(s.clone())), &expected);
        let along = self.applied(&Value::Map(Arc::new(LinearMap::Dot(ds.clone()))), &gradient);
        let expected = Value::Tuple(vec![y, along]);
        self.same("polymorphicR to a line", &returned(LinearMap::Dot(ds)), &expected);
    }
}

/// Returns a point of few numbers: a map as a value is a tree, which repeats a shared value at each use.
fn small_point(random: &mut Random, argument: &Type) -> Value {
    const NUMBERS: usize = 4;
    let mut points: Vec<Value> = (0..8).map(|_| random.point(argument)).collect();
    points.sort_by_key(|point| point.floats().len().saturating_sub(NUMBERS));
    points.swap_remove(0)
}

/// Tests programs at small points.
fn pair_is_a_value_and_its_jacobian(path: &Path) -> Outcome {
    let name = path.display().to_string();
    let text = files::text(path);
    let (mut p, functions) = pipeline(&name, &text, Derivation::Tupled);
    for f in &functions {
        for derivation in [
            Derivative::D,
            Derivative::Tupled,
            Derivative::Polymorphic,
            Derivative::PolymorphicR,
            Derivative::Jvp,
            Derivative::Rev,
        ] {
            p.require(&f.derived(derivation)).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    let mut random = Random::new(1);
    for f in &functions {
        let fun = p.program().defs[f].fun.clone();
        let whole = small_point(&mut random, &fun.argument());
        let parts = match &whole {
            Value::Tuple(parts) if fun.params.len() != 1 => parts.clone(),
            _ => vec![whole.clone()],
        };
        // A point outside of the domain is none.
        let value = Interpreter::new(p.program()).call(f, &parts);
        if value.is_ok_and(|y| y.floats().iter().all(|x| x.is_finite())) {
            Point { p: &p, f, whole, parts }.check(&mut random);
        }
    }
    Ok(())
}

/// Every stage, printed as KS text, reads back as it was, linear maps from anywhere among them.
fn stages_read_back(path: &Path) -> Outcome {
    let name = path.display().to_string();
    let text = files::text(path);
    // Between them, they have every kind of stage.
    for derivation in [Derivation::Polymorphic, Derivation::Split] {
        let (mut p, functions) = pipeline(&name, &text, derivation);
        // The callees of stages are in the text, too.
        let ways: Vec<FunName> = functions.iter().flat_map(all_ways).collect();
        ways.iter().for_each(|way| p.require(way).unwrap_or_else(|error| panic!("{name}: {error}")));
        let stages: Result<Vec<Vec<Stage>>, _> = functions.iter().map(|f| p.stages(f, false)).collect();
        let stages = stages.unwrap_or_else(|error| panic!("{name}: {error}"));
        stages_come_back(&p, &stages).unwrap_or_else(|why| panic!("{name}, {}: {why}", derivation.name()));
    }
    Ok(())
}

/// Every demo has stages by every derivation, each derivation its own.
fn has_stages_by_every_derivation(demo: &Demo) -> Outcome {
    let headings = Derivation::OF_ALL_PROGRAMS.map(|derivation| {
        let (mut p, _) = pipeline(demo.name, demo.text, derivation);
        let stages = p.stages(&FunName::base(demo.fun), false);
        let stages = stages.unwrap_or_else(|error| panic!("{}, {}: {error}", demo.name, derivation.name()));
        stages.iter().map(|stage| stage.heading.clone()).collect::<Vec<_>>()
    });
    assert!(headings.iter().all(|h| headings.iter().filter(|other| *other == h).count() == 1), "{headings:?}");
    Ok(())
}

const COMPOSED: &str = "
    (def h (Tuple Float Float) (x : Float) (tuple BODY (mul x x)))
    (def g Float (t : Tuple Float Float) (mul (get$1$2 t) (get$2$2 t)))
    (def f Float (x : Float) (g (h x)))";

/// (CP): the forward derivative of a composition calls those of its parts, and does not look into them.
fn a_composition_is_compositional() {
    for derivation in [Derivation::Tupled, Derivation::Polymorphic] {
        let shown = |body: &str| {
            let text = COMPOSED.replace("BODY", body);
            let (mut p, _) = pipeline("composed.ks", &text, derivation);
            let name = FunName::base("f").derived(Derivative::Jvp);
            p.require(&name).expect("f derives");
            infix::definition(&p.program().defs[&name], infix::Format::Plain, 100)
        };
        let text = shown("(sin x)");
        assert_eq!(text.trim_end(), "fun [jvp f](x, dx)\n  = let { (t1, t2) = jvp$h(x, dx) }\n    jvp$g(t1, t2)");
        assert_eq!(text, shown("(exp (mul x 3.0))"));
    }
}

/// A fold and its tangent are one loop, in which each step of the function is made once.
fn a_fold_with_its_tangent_is_one_loop() {
    let text = "(def f Float ((a : Float) (v : Vec Float))
        (fold (lam (t : Tuple Float Float) (sin (mul (get$1$2 t) (get$2$2 t)))) a v))";
    let counts = |derivation| {
        let (mut p, _) = pipeline("fold.ks", text, derivation);
        let name = FunName::base("f").derived(Derivative::Jvp);
        p.require(&name).expect("f derives");
        let v = Value::vector(vec![Value::Float(0.5); 100]);
        let s = Value::Tuple(vec![Value::Float(1.0), v]);
        let mut interpreter = Interpreter::new(p.program());
        interpreter.call(&name, &[s.clone(), s]).expect("a value");
        (interpreter.counts.arithmetic(), interpreter.counts.moves)
    };
    // sin, cos, and five multiplications and additions for each step; nothing is written.
    for derivation in Derivation::OF_ALL_PROGRAMS {
        assert_eq!(counts(derivation), (700, 0), "{}", derivation.name());
    }
}
