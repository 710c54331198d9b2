//! Traces of Delta terms: what they hold, what they cost, and what `lmc demo --derivation delta` says of them. That their
//! gradients are right, `tests/files/delta.rs` checks.

use common::cost::pipeline;
use lm::delta::{Kinds, Operation, Place, Rule, TooManyVisits, Traced};
use lm::eval::Evaluator;
use lm::prim::{self, JacobianRule, Prim};
use lm::term::FunName;
use lm::types::Type;
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::with_large_stack;
use std::io::sink;
use std::process::Command;
use std::time::{Duration, Instant};

const PAPER: &str = include_str!("../../demos/paper004.ks");

/// Traces a function of a program at its arguments.
fn traced(text: &str, name: &str, args: &[Value]) -> Traced {
    with_large_stack(|| {
        let mut p = pipeline(text, Derivation::default()).expect("it reads");
        let f = FunName::base(name);
        p.require_traced(&f).expect("it can be made");
        Evaluator::new(&p.program_as_written(), sink()).trace(&f, args).expect("it runs")
    })
}

fn gradient(traced: &Traced) -> Vec<f64> {
    traced.reverse_pass(&vec![1.0; traced.results.len()]).gradient()
}

fn numbers(n: usize) -> Value {
    Value::vector((1..=n).map(|i| Value::Float(i as f64)).collect())
}

/// Fig. 4: six IDs, the node of exp three times without them.
#[test]
fn the_example_of_fig_4() {
    let fig4 = traced(PAPER, "fig4", &[Value::Float(0.5)]);
    let names: Vec<String> = (1..=fig4.trace.len()).map(|id| fig4.trace.node(id).operation.to_string()).collect();
    assert_eq!(names, ["exp", "log", "sin", "cos", "div", "add"]);
    let of = |id: usize| fig4.trace.node(id).links.iter().map(|link| link.of).collect::<Vec<Place>>();
    assert_eq!(of(1), [Place::Input(0)]);
    assert_eq!(of(5), [Place::Node(3), Place::Node(4)]);
    assert_eq!(of(6), [Place::Node(1), Place::Node(5)]);
    assert!(fig4.trace.node(6).links.iter().all(|link| link.scale.is_none()), "D[x + y] has no Scale");
    assert_eq!(fig4.trace.kinds(), Kinds { share: 6, scale: 6, add: 2 });
    assert_eq!(gradient(&fig4), [2.947167681109653]);
    let ids: Vec<usize> = fig4.reverse_pass(&[1.0]).map(|visit| visit.id).collect();
    assert_eq!(ids, [6, 5, 4, 3, 2, 1]);
    let by_paths = fig4.by_paths(&[1.0], 100).expect("there are few paths");
    assert_eq!(by_paths.visits, [3, 2, 1, 1, 1, 1]);
    assert_eq!(by_paths.gradient, [2.947167681109653]);
    assert_eq!(fig4.paths(&[1.0]), Some(9));
}

/// Sec. 2.5: n visits by IDs, 2^n paths.
#[test]
fn doublings_are_visited_once() {
    let p_60 = traced(PAPER, "p_60", &[Value::Float(1.0)]);
    let start = Instant::now();
    assert_eq!(p_60.reverse_pass(&[1.0]).count(), 60);
    assert_eq!(gradient(&p_60), [1152921504606846976.0]);
    assert!(start.elapsed() < Duration::from_secs(1));
    let visits = Some((1 << 60) - 1);
    assert_eq!(p_60.paths(&[1.0]), visits);
    assert_eq!(p_60.by_paths(&[1.0], 1_000).err(), Some(TooManyVisits { visits }));
    let chain = "(def f Float ((n : Integer) (x : Float)) (if (eq n 0) x (let (y (f (sub n 1) x)) (add y y))))";
    let longer = traced(chain, "f", &[Value::Integer(200), Value::Float(1.0)]);
    assert_eq!(longer.paths(&[1.0]), None, "2^200 is not counted");
    assert_eq!(gradient(&longer), [2f64.powi(200)]);
}

/// Sec. 4.1, Eq. 3: 5 n nodes for products of n elements.
#[test]
fn products_of_vectors_take_five_nodes_for_each_element() {
    for n in [1, 2, 3, 1_000] {
        let dot = traced(PAPER, "t_dot", &[numbers(n), numbers(n)]);
        assert_eq!(dot.trace.kinds().total(), 5 * n);
        assert_eq!(dot.trace.kinds(), Kinds { share: n + 1, scale: 2 * n, add: 2 * n - 1 });
        assert_eq!(dot.trace.inputs(), 2 * n);
        let each: Vec<f64> = (1..=n).map(|i| i as f64).collect();
        assert_eq!(gradient(&dot), [each.clone(), each].concat());
    }
    let empty = traced(PAPER, "t_dot", &[numbers(0), numbers(0)]);
    assert_eq!((empty.trace.len(), empty.results.as_slice(), gradient(&empty)), (0, [None].as_slice(), vec![]));
}

#[test]
fn other_examples_of_the_report() {
    assert_eq!(gradient(&traced(PAPER, "t_sc", &[numbers(3)])), [6.0, 4.0, 2.0]);
    let silly = traced(PAPER, "sillyAlt", &[Value::Integer(4), numbers(1)]);
    assert_eq!((silly.value.clone(), gradient(&silly)), (Value::vector(vec![Value::Float(10.0)]), vec![4.0]));
    let scatter = traced(PAPER, "scatter", &[numbers(9)]);
    assert_eq!(scatter.value.floats(), [3.0, 7.0, 11.0, 15.0, 9.0, 0.0]);
    assert_eq!(scatter.results[5], None, "a sum of constants");
    assert_eq!(gradient(&scatter), [1.0; 9]);
}

/// A rule for each primitive on numbers, from its law.
#[test]
fn each_primitive_on_numbers_has_a_rule() {
    let floats = [vec![Type::Float], vec![Type::Float; 2], vec![Type::Float, Type::Integer]];
    let is_on_numbers = |p: &&Prim| {
        matches!(p.jacobian(), JacobianRule::Law(_)) && floats.iter().any(|args| p.result(args) == Some(Type::Float))
    };
    let others = [Prim::Dot, Prim::Trace];
    let all: Vec<Prim> = prim::ALL.iter().filter(is_on_numbers).filter(|p| !others.contains(p)).copied().collect();
    assert!(all.len() >= 25, "{all:?}");
    for p in &all {
        let rule = Rule::of(*p).to_string();
        assert!(rule.starts_with("D[") && rule.contains("Share id "), "{rule}");
    }
    let rule = |p: Prim| Rule::of(p).to_string();
    assert_eq!(
        rule(Prim::Mul),
        "D[x * y] = let { (x, dx) = D[x]; (y, dy) = D[y]; id = genID } in (x * y, Share id (Add (Scale y dx) (Scale x dy)))"
    );
    assert_eq!(
        rule(Prim::Max),
        "D[max(x, y)] = let { (x, dx) = D[x]; (y, dy) = D[y]; id = genID } in (max(x, y), Share id (if x >= y then dx else dy))"
    );
}

/// Where both are the largest, the first one is; what is no number has partial derivatives by the law, too.
#[test]
fn kinks_are_those_of_the_laws() {
    let text = "
        (def largest Float ((x : Float) (y : Float)) (max x y))
        (def smallest Float ((x : Float) (y : Float)) (min x y))
        (def size_of Float (x : Float) (abs x))
        (def root Float (v : Vec Float) (sumbuild (size v) (lam (i : Integer)
          (if (gt (index i v) 0.0) (sqrt (index i v)) 0.0))))";
    let two = |a: f64, b: f64| [Value::Float(a), Value::Float(b)];
    assert_eq!(gradient(&traced(text, "largest", &two(1.0, 1.0))), [1.0, 0.0]);
    assert_eq!(gradient(&traced(text, "smallest", &two(1.0, 1.0))), [1.0, 0.0]);
    assert_eq!(gradient(&traced(text, "largest", &two(f64::NAN, 1.0))), [0.0, 1.0]);
    assert_eq!(gradient(&traced(text, "size_of", &[Value::Float(0.0)])), [-1.0]);
    assert!(gradient(&traced("(def f Float (x : Float) (sqrt x))", "f", &[Value::Float(-1.0)]))[0].is_nan());
    // What the value does not use is not visited, so 0 meets no partial derivative that is none.
    let unused = "(def f Float (x : Float) (min (sqrt x) 1.0))";
    assert_eq!(gradient(&traced(unused, "f", &[Value::Float(-1.0)])), [0.0]);
    // A branch that is not taken has no node, so 0 meets no infinite partial derivative.
    let v = Value::vector([0.0, 4.0, -1.0].map(Value::Float).to_vec());
    assert_eq!(gradient(&traced(text, "root", &[v])), [0.0, 0.25, 0.0]);
}

/// A derivative by hand is taken in place of the text; a function that is external has no value.
#[test]
fn derivatives_by_hand_are_taken() {
    let text = "
        (def g (Tuple Float Integer Float) ((x : Float) (n : Integer) (v : Vec Float)) (tuple (mul x x) n (sum v)))
        (def [rev g] (Tuple Float (Tuple) (Vec Float))
             ((s : Tuple Float Integer (Vec Float)) (dr : Tuple Float (Tuple) Float))
          (let (((x n v) s) ((da dn db) dr))
            (tuple (mul 10.0 da) (tuple) (build (size v) (lam (i : Integer) (mul 100.0 db))))))
        (def f Float ((x : Float) (v : Vec Float)) (let ((a n b) (g x 3 v)) (add a (mul 2.0 b))))";
    let found = traced(text, "f", &[Value::Float(3.0), numbers(2)]);
    assert_eq!((found.value.clone(), gradient(&found)), (Value::Float(15.0), vec![10.0, 200.0, 200.0]));
    let by_hand = (1..=found.trace.len()).filter(|id| matches!(found.trace.node(*id).operation, Operation::ByHand(_)));
    assert_eq!(by_hand.count(), 2, "one for each Float of the call");
}

#[test]
fn stopped_gradients_and_constants_have_no_nodes() {
    let text = "(def f Float (x : Float) (mul (stop_gradient (sin x)) (mul 2.0 3.0)))";
    let found = traced(text, "f", &[Value::Float(1.0)]);
    assert_eq!((found.trace.len(), found.results.as_slice()), (1, [None].as_slice()));
    assert_eq!(gradient(&found), [0.0]);
}

/// Chains of nodes are as deep as a run is long, and a call for each.
#[test]
fn a_million_nodes_take_no_stack() {
    let text = "(def f Float ((n : Integer) (x : Float))
        (fold (lam (t : Tuple Float Integer) (let ((s k) t) (mul 0.999 s))) x (build n (lam (k : Integer) k))))";
    let steps = 1_000_000;
    let found = traced(text, "f", &[Value::Integer(steps), Value::Float(1.0)]);
    assert_eq!(found.trace.len() as i64, steps);
    assert_eq!(found.reverse_pass(&[1.0]).count() as i64, steps);
    assert_eq!(found.by_paths(&[1.0], u64::MAX).expect("one path").visits.len() as i64, steps);
}

struct Output {
    out: String,
    err: String,
    status: i32,
}

fn lmc(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let output = command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("lmc runs");
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8"));
    Output { out, err, status: output.status.code().expect("it ends") }
}

fn demo(args: &[&str]) -> Output {
    lmc(&[&["demo", "paper004", "--derivation", "delta"], args].concat())
}

#[test]
fn stages_are_printed() {
    let found = demo(&["--at", "0.5"]);
    assert_eq!((found.status, found.err.as_str()), (0, ""));
    for part in [
        "D[sin(x)] = let { (x, dx) = D[x]; id = genID } in (sin(x), Share id (Scale (cos(x)) dx))\n",
        "5  div  0.5463       Share 5 (Add (Scale 1.1395 #3) (Scale -0.62251 #4))\n",
        "4  cos  -0.62251     #2 += 0.29845                         {1: 1, 2: 0.29845, 3: 1.1395}\n",
        "gradient: 2.947167681109653\n",
        "nodes: 14 (6 Share, 6 Scale, 2 Add)\nvisits: 6 by IDs, 9 along paths without them\n",
    ] {
        assert!(found.out.contains(part), "{part}{}", found.out);
    }
    assert_eq!(demo(&[]).out, found.out, "example is 0.5");
    let counts = demo(&["--stage", "counts"]).out;
    assert!(counts.starts_with("-----\nCounts\n-----\ninputs: 1\n") && counts.lines().count() == 8, "{counts}");
    let ks = demo(&["--format", "ks"]).out;
    assert!(ks.lines().all(|line| line.is_empty() || line.starts_with([';', '(', ' '])), "{ks}");
}

#[test]
fn long_traces_are_shortened() {
    let found = demo(&["--fun", "t_dot", "--at", "(tuple (numbers 1000) (numbers 1000))"]);
    assert_eq!(found.status, 0, "{}", found.err);
    for part in [
        ".. 961 more\n",
        "1001  sum  3.3383e8     Share 1001 (Add (Add #1 #2) .. #1000), 1000 terms\n",
        "nodes: 5000 (1001 Share, 2000 Scale, 1999 Add)\n",
    ] {
        assert!(found.out.contains(part), "{part}{}", found.out);
    }
    assert!(found.out.lines().count() < 130 && found.out.len() < 40_000, "{}", found.out.len());
}

#[test]
fn paths_are_followed_up_to_a_limit() {
    let found = demo(&["--no-sharing"]);
    assert!(found.out.contains("2  log  2 times\n1  exp  3 times\n"), "{}", found.out);
    let found = demo(&["--fun", "p_60", "--at", "1.0", "--no-sharing"]);
    assert_eq!(found.status, 1);
    assert!(found.err.contains("60 operations of `p_60` take 1152921504606846975 visits"), "{}", found.err);
}

/// Each message says the cause and a remedy.
#[test]
fn what_cannot_be_traced_is_refused() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("delta");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("refused.ks");
    let text = "
(def f Float (x : Float) (mul x x))
(def ints Integer (n : Integer) (add n 1))
(def gives_none Integer (x : Float) (to_integer x))
(edef outside Float (Float))
(def calls Float (x : Float) (mul x (outside x)))
(def map_of (LM Float Float) (x : Float) (lmScale 1.0 x))
(def fails Float (v : Vec Float) (index 3 v))
";
    std::fs::write(&file, text).expect("the program can be written");
    let file = file.to_str().expect("UTF-8");
    let refused = |args: &[&str], status: i32, part: &str| {
        let found = lmc(&[&["demo", file, "--derivation", "delta"], args].concat());
        assert!(found.status == status && found.err.contains(part), "{args:?}: {}, {}", found.status, found.err);
    };
    refused(&["--fun", "f"], 2, "a trace needs a point: say an argument of `f`, of type `Float`, by `--at");
    refused(&["--at", "1.0"], 2, "a trace is of one function: say which by `--fun`");
    refused(&["--fun", "f", "--at", "true"], 1, "the argument has type `Bool`, but `f` takes `Float`");
    refused(&["--fun", "f", "--at", "(sin n"], 1, "--at:1:1");
    refused(&["--fun", "f", "--at", "(to_float n)"], 2, "`--at` uses n, which is no number here");
    refused(&["--fun", "f", "--at", " "], 2, "`--at` is empty");
    refused(&["--fun", "f", "--at", "1.0", "--wrt", "x"], 2, "`--wrt` does not go with `--derivation delta`");
    refused(&["--fun", "f", "--at", "1.0", "--trace"], 2, "`--trace` does not go with `--derivation delta`");
    refused(
        &["--fun", "f", "--at", "1.0", "--stage", "x"],
        2,
        "there is no stage `x`; there are `Original definition`",
    );
    refused(&["--fun", "ints", "--at", "1"], 1, "refused.ks:3:6: `ints` takes no Float: it has no derivative");
    refused(&["--fun", "gives_none", "--at", "1.0"], 1, "`gives_none` gives no Float: it has no derivative");
    refused(&["--fun", "calls", "--at", "1.0"], 1, "refused.ks:6:37: `outside` is external");
    refused(&["--fun", "outside", "--at", "1.0"], 1, "`outside` is external");
    refused(&["--fun", "map_of", "--at", "1.0"], 1, "`map_of` takes or gives a linear map");
    refused(&["--fun", "fails", "--at", "(Vec_init 1.0)"], 1, "refused.ks:8:34: index 3 is out of range for size 1");
    let without = lmc(&["demo", file, "--fun", "f", "--at", "1.0"]);
    assert_eq!((without.status, without.err.contains("are for `--derivation delta`")), (2, true), "{}", without.err);
    let compiled = lmc(&["compile", file, "--fun", "f", "--rev", "--derivation", "delta", "-o", "x.o"]);
    assert_eq!((compiled.status, compiled.err.contains("'delta'")), (2, true), "{}", compiled.err);
}
