//! Loops in lanes, of whole programs: the interpreter's values, and errors where it has errors, at every width, with every
//! way of checking, exact and fast; on programs whose loops part, gather and keep memory, on random ones and on the demos.

mod common;

use codegen::{Checks, Jit, Lanes, Math, SourceInfo};
use common::generate_arrays::{Options, Signature, program};
use lm::interp::Interpreter;
use lm::random::SplitMix;
use lm::tensor::Tensor;
use lm::term::FunName;
use lm::types::Type;
use lm::value::Value;
use lmc::demos::DEMOS;
use lmc::gradcheck::{NATIVE, Random, distance, same_bits};
use lmc::pipeline::Pipeline;
use lmc::source::Source;
use lmc::{front, with_large_stack};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// A program with its function, and its derivatives where it has any, compiled in every way.
struct Case {
    pipeline: Pipeline,
    f: FunName,
    derivatives: Vec<FunName>,
    ways: Vec<Way>,
}

struct Way {
    name: String,
    checks: Checks,
    jit: Jit,
}

impl Case {
    fn new(text: &str, f: &str, ways: &[codegen::Options]) -> Case {
        let checked = front::load(&Source::new("case.ks", text)).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let mut pipeline = Pipeline::new(checked);
        let f = FunName::base(f);
        pipeline.require(&f).unwrap_or_else(|error| panic!("{text}: {error}"));
        let fun = &pipeline.program().defs[&f].fun;
        let varies = fun.argument().is_differentiable() && fun.result.is_differentiable();
        let derivatives = ["fwd", "rev"].map(|derivation| f.derived(derivation));
        let derivatives: Vec<FunName> =
            derivatives.into_iter().filter(|name| varies && pipeline.require(name).is_ok()).collect();
        let entries: Vec<FunName> = [f.clone()].into_iter().chain(derivatives.iter().cloned()).collect();
        let info = SourceInfo::new("case.ks", text);
        let way = |options: &codegen::Options| {
            let jit = Jit::new(pipeline.program(), &entries, &info, options).unwrap_or_else(|e| panic!("{e}"));
            let codegen::Options { lanes, checks, math, opt_level, .. } = options;
            Way { name: format!("{lanes:?}, {checks:?}, {math:?}, O{opt_level}"), checks: *checks, jit }
        };
        let ways = ways.iter().map(way).collect();
        Case { pipeline, f, derivatives, ways }
    }

    /// How many loops run in lanes, of all ways.
    fn loops_in_lanes(&self) -> usize {
        self.ways.iter().map(|way| way.jit.module().loops().to_string().matches(" lanes ").count()).sum()
    }

    /// Compares a call of the function, and calls of its derivatives at the same point.
    fn agrees(&self, args: &[Value]) {
        let Some(y) = self.agree(&self.f, args) else { return };
        let point = if let [one] = args { one.clone() } else { Value::Tuple(args.to_vec()) };
        for name in &self.derivatives {
            let at = if *name == self.f.derived("fwd") { &point } else { &y };
            self.agree(name, &[point.clone(), Random::new(7).direction(at)]);
        }
    }

    /// Compares a call; gives its value.
    fn agree(&self, name: &FunName, args: &[Value]) -> Option<Value> {
        let mut text = Vec::new();
        let wanted = Interpreter::with_output(self.pipeline.program(), &mut text).call(name, args);
        for Way { name: way, checks, jit } in &self.ways {
            if wanted.is_err() && *checks == Checks::None {
                continue;
            }
            let mut found_text = Vec::new();
            let found = jit.call_with_output(name, args, &mut found_text);
            // Which lane's error comes first differs.
            let same = match (&wanted, &found) {
                (Ok(wanted), Ok(found)) => same_bits(wanted, found) || distance(wanted, found) <= NATIVE,
                (wanted, found) => wanted.is_err() && found.is_err(),
            };
            let loops = jit.module().loops();
            assert!(same, "{name}, {way}, {args:?}:\ninterpreted {wanted:?}\nnative      {found:?}\n{loops}");
            assert_eq!(String::from_utf8_lossy(&text), String::from_utf8_lossy(&found_text), "{name}, {way}, {args:?}");
        }
        wanted.ok()
    }
}

fn width(lanes: u32, checks: Checks, math: Math, opt_level: u8) -> codegen::Options {
    codegen::Options { lanes: Lanes::Width(lanes), checks, math, opt_level, ..codegen::Options::default() }
}

/// Every width, every way of checking, exact and fast.
fn ways() -> Vec<codegen::Options> {
    vec![
        width(2, Checks::Full, Math::Exact, 0),
        width(4, Checks::Hoisted, Math::Fast, 1),
        width(8, Checks::None, Math::Exact, 1),
        width(8, Checks::Full, Math::Fast, 2),
        width(16, Checks::Hoisted, Math::Exact, 1),
        codegen::Options::default(),
    ]
}

/// Random values whose tensors have sizes from a list: all the same one, or each its own.
struct Sized<'a> {
    random: SplitMix,
    sizes: &'a [usize],
    own: bool,
}

impl Sized<'_> {
    fn value(&mut self, ty: &Type) -> Value {
        match ty {
            Type::Float => Value::Float((self.random.draw() % 17) as f64 / 4.0 - 2.0),
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

    fn size(&mut self) -> usize {
        let i = if self.own { self.random.draw() as usize % self.sizes.len() } else { 0 };
        self.sizes[i]
    }
}

fn params(case: &Case) -> Vec<Type> {
    case.pipeline.program().defs[&case.f].fun.params.clone()
}

/// Arguments of one size throughout, and of sizes that do not fit. The program has loops in lanes.
fn check(text: &str) {
    with_large_stack(|| {
        let case = Case::new(text, "f", &ways());
        assert!(case.loops_in_lanes() > 0, "nothing runs in lanes: {text}");
        let params = params(&case);
        let run = |sizes: &[usize], own, seed| {
            let mut random = Sized { random: SplitMix::new(seed), sizes, own };
            case.agrees(&params.iter().map(|ty| random.value(ty)).collect::<Vec<_>>());
        };
        for size in [0, 1, 2, 7, 8, 9, 16, 17, 37] {
            (0..2).for_each(|seed| run(&[size], false, seed));
        }
        for sizes in [&[1, 2][..], &[7, 8], &[8, 9, 17], &[0, 1, 5]] {
            (0..6).for_each(|seed| run(sizes, true, seed));
        }
    });
}

#[test]
fn loops_with_loops_in_them() {
    for text in [
        "(def f (Vec Float) ((rows : Vec (Vec Float)) (w : Vec Float))
           (map (lam (r : Vec Float) (sum (map (lam (x : Float) (exp (sub 0.0 (mul x x)))) r))) rows))",
        "(def f Float ((v : Vec Float) (w : Vec Float))
           (sumbuild (size v) (lam (i : Integer)
             (let (r (build (size w) (lam (j : Integer) (mul (index i v) (sin (index j w))))))
               (add (sum r) (max r))))))",
        "(def f Float ((v : Vec Float) (w : Vec Float))
           (sumbuild (size v) (lam (i : Integer)
             (sumbuild i (lam (j : Integer) (mul (index i v) (index j v)))))))",
    ] {
        check(text);
    }
}

#[test]
fn conditions_gathers_and_scatters() {
    for text in [
        "(def f Float ((v : Vec Float) (at : Vec Integer))
           (sumbuild (size at) (lam (i : Integer)
             (let (k (index i at))
               (if (gte k 0) (if (lt k (size v)) (tanh (index k v)) 1.0) (to_float i))))))",
        "(def f Float ((v : Vec Float) (at : Vec Integer) (to : Vec Integer))
           (sumbuild (size at) (lam (i : Integer)
             (let (x (sub (index (index i at) v) (index (index i to) v)))
               (if (gt x 0.0) (mul x x) (div x 2.0))))))",
        "(def f (Vec (Vec Float)) ((v : Vec Float) (m : Vec Integer))
           (build (size m) (lam (i : Integer)
             (build (index i m) (lam (j : Integer) (if (eq j 1) (index i v) (to_float (mul i j))))))))",
    ] {
        check(text);
    }
}

/// Sums whose derivatives add to rows, to columns and to windows, in nests of several loops.
const DENSE: [&str; 5] = [
    "(def f (Tensor 2 Float) ((a : Tensor 2 Float) (b : Tensor 2 Float))
       (build (tuple (get$1$2 (size a)) (get$2$2 (size b))) (lam (ij : Tuple Integer Integer)
         (sumbuild (get$2$2 (size a)) (lam (k : Integer)
           (mul (index (tuple (get$1$2 ij) k) a) (index (tuple k (get$2$2 ij)) b)))))))",
    "(def f (Tensor 2 Float) ((a : Tensor 2 Float) (b : Tensor 2 Float))
       (build (tuple (get$1$2 (size a)) (get$1$2 (size b))) (lam (ij : Tuple Integer Integer)
         (sumbuild (get$2$2 (size a)) (lam (k : Integer)
           (mul (index (tuple (get$1$2 ij) k) a) (index (tuple (get$2$2 ij) k) b)))))))",
    "(def f (Vec Float) ((a : Tensor 2 Float) (x : Vec Float))
       (build (get$1$2 (size a)) (lam (i : Integer)
         (sumbuild (get$2$2 (size a)) (lam (j : Integer) (mul (index (tuple i j) a) (index j x)))))))",
    "(def f (Tensor 3 Float) ((kernels : Tensor 3 Float) (image : Tensor 2 Float))
       (let (((filters rows columns) (size kernels)) ((height width) (size image)))
         (build (tuple filters (add 1 (sub height rows)) (add 1 (sub width columns)))
           (lam (at : Tuple Integer Integer Integer)
             (let ((filter row column) at)
               (sumbuild (tuple rows columns) (lam (o : Tuple Integer Integer)
                 (let ((i j) o)
                   (mul (index (tuple filter i j) kernels) (index (tuple (add row i) (add column j)) image))))))))))",
    "(def f Float ((a : Tensor 2 Float) (v : Vec Float) (w : Vec Float))
       (sumbuild (size a) (lam (ij : Tuple Integer Integer)
         (mul (index ij a) (mul (index (get$1$2 ij) v) (index (get$2$2 ij) w))))))",
];

#[test]
fn sums_over_rows_columns_and_windows() {
    DENSE.iter().for_each(|text| check(text));
}

#[test]
fn sums_of_iterations_side_by_side_keep_their_order() {
    let exact = codegen::Options { opt_level: 1, ..codegen::Options::exact() };
    let mut side_by_side = 0;
    for text in DENSE {
        side_by_side += with_large_stack(|| {
            let case = Case::new(text, "f", std::slice::from_ref(&exact));
            let jit = &case.ways[0].jit;
            let params = params(&case);
            for (sizes, seed) in [[3, 5], [4, 4], [7, 8], [9, 2], [6, 13]].iter().zip(0..) {
                let mut random = Sized { random: SplitMix::new(seed), sizes, own: seed % 2 == 0 };
                let args: Vec<Value> = params.iter().map(|ty| random.value(ty)).collect();
                let args: Vec<Value> = args.iter().map(thirds).collect();
                let wanted = Interpreter::new(case.pipeline.program()).call(&case.f, &args);
                let found = jit.call(&case.f, &args);
                let same = match (&wanted, &found) {
                    (Ok(wanted), Ok(found)) => same_bits(wanted, found),
                    (wanted, found) => wanted.is_err() && found.is_err(),
                };
                assert!(same, "{text}, {args:?}: {wanted:?}, {found:?}");
            }
            jit.module().loops().to_string().matches(" jam ").count()
        });
    }
    assert!(side_by_side > 0, "nothing runs side by side");
}

/// A third of each number: so that sums are rounded.
fn thirds(value: &Value) -> Value {
    match value {
        Value::Float(x) => Value::Float(x / 3.0),
        Value::Tensor(tensor) => {
            let elements = tensor.elements().iter().map(thirds).collect();
            Value::Tensor(Arc::new(Tensor::new(tensor.size().to_vec(), elements)))
        }
        other => other.clone(),
    }
}

#[test]
fn on_random_programs() {
    let number = |name: &str, otherwise: u64| std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"));
    let (seed, cases) = (number("LMC_SEED", 1), number("LMC_CASES", 25));
    println!("LMC_SEED={seed} LMC_CASES={cases}");
    let mut random = SplitMix::new(seed);
    let mut in_lanes = 0;
    for _ in 0..cases {
        let length = 20 + random.draw() % 140;
        let choices: Vec<u32> = (0..length).map(|_| (random.draw() % 5040) as u32).collect();
        let generated = program(&choices, Options { functions: 3, depth: 4, nodes: 10 });
        let last = generated.functions.last().expect("there is a function");
        println!("{}", generated.text);
        in_lanes += with_large_stack(|| {
            let checks = [Checks::Hoisted, Checks::Full, Checks::Hoisted];
            let ways: Vec<_> = [2, 4, 8].into_iter().zip(checks).map(|(w, c)| width(w, c, Math::Exact, 1)).collect();
            let case = Case::new(&generated.text, &last.name, &ways);
            for sizes in [[0, 2], [2, 0], [1, 1], [2, 3], [3, 2], [7, 8], [9, 1], [17, 2]] {
                case.agrees_at(last, sizes, &mut random);
            }
            let params = params(&case);
            for sizes in [&[1, 2][..], &[2, 3], &[3, 7, 8]] {
                let mut random = Sized { random: SplitMix::new(random.draw()), sizes, own: true };
                case.agrees(&params.iter().map(|ty| random.value(ty)).collect::<Vec<_>>());
            }
            case.loops_in_lanes()
        });
    }
    println!("{in_lanes} loops in lanes");
    assert!(in_lanes > 0 || cases < 5, "nothing ran in lanes");
}

impl Case {
    fn agrees_at(&self, f: &Signature, sizes: [usize; 2], random: &mut SplitMix) {
        let args: Option<Vec<Value>> = f.params.iter().map(|ty| ty.value(sizes, random)).collect();
        args.iter().for_each(|args| self.agrees(args));
    }
}

#[test]
fn on_demos() {
    let mut in_lanes = 0;
    for demo in DEMOS.iter().filter(|demo| demo.text.contains("(def example")) {
        in_lanes += with_large_stack(|| {
            let ways = [width(4, Checks::Full, Math::Exact, 1), width(8, Checks::Hoisted, Math::Fast, 1)];
            let case = Case::new(demo.text, demo.fun, &ways);
            let point = Interpreter::new(case.pipeline.program()).call(&FunName::base("example"), &[]);
            let point = point.expect("there is an example");
            let args = if params(&case).len() > 1 { point.as_tuple().expect("several").to_vec() } else { vec![point] };
            case.agrees(&args);
            case.loops_in_lanes()
        });
    }
    assert!(in_lanes > 0, "nothing ran in lanes");
}

/// The command line: what it prints, and its status.
fn lmc(args: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let output = command.args(args).stderr(Stdio::null()).output().expect("lmc runs");
    (String::from_utf8(output.stdout).expect("lmc prints text"), output.status.code())
}

#[test]
fn lanes_and_math_are_chosen_on_the_command_line() {
    let loops = |lanes| lmc(&["compile", "demos/gmm.ks", "--rev", "--emit", "loops=-", "--lanes", lanes]).0;
    assert!(!loops("off").contains(" lanes "));
    assert!(loops("4").contains(" lanes 4") && !loops("4").contains(" lanes 8"));
    for wrong in ["3", "1", "128", "some"] {
        assert_eq!(lmc(&["run", "demos/gmm.ks", "--lanes", wrong]).1, Some(2), "{wrong}");
    }
    // Vector functions and fused products are there with fast Floats only.
    let ir =
        |math| lmc(&["compile", "demos/lse.ks", "--emit", "llvm-ir=-", "--math", math, "--target-cpu", "x86-64-v3"]).0;
    let flags = |text: &str| text.contains("fadd reassoc") || text.contains("fadd contract");
    assert!(flags(&ir("fast")) && !flags(&ir("exact")));
    assert!(!ir("exact").contains("_ZGV"));
}
