//! The passes over loops: the same values, texts and errors without passes, with each of them alone, with all, and with
//! every way of checking; on programs with stencils, on random ones and on the demos.

use common::generate_arrays::drawn;
use common::native::{Case, Way};
use lm::random::SplitMix;
use lmc::demos::DEMOS;
use lmc::with_large_stack;
use loops::{Checks, Forward, PASSES, Selection};
use std::io::Write;
use std::process::{Command, Stdio};

/// The ways to compile: all keep all errors, but for the last one, which checks nothing.
fn ways() -> Vec<Way> {
    let options = |passes, checks, opt_level| native::Options { passes, checks, opt_level, ..native::Options::exact() };
    let only = |names: &[&str]| Selection::Only(names.iter().map(ToString::to_string).collect());
    let mut ways = vec![
        Way::new("no pass", options(only(&[]), Checks::Hoisted, 1)),
        Way::new("all passes", options(Selection::All, Checks::Hoisted, 2)),
        Way::new("all passes, not optimised", options(Selection::All, Checks::Hoisted, 0)),
        Way::new("full checks", options(Selection::All, Checks::Full, 1)),
    ];
    for (name, forward) in [("all stored", Forward::Store), ("all computed again", Forward::Recompute)] {
        ways.push(Way::new(name, native::Options { forward, ..Default::default() }));
    }
    let alone = |name: &str| Way::new(&format!("{name} alone"), options(only(&[name]), Checks::Hoisted, 0));
    ways.extend(PASSES.iter().filter(|pass| pass.name != "drop_checks").map(|pass| alone(pass.name)));
    ways.push(Way::new("drop_checks", options(Selection::All, Checks::None, 2)));
    ways
}

/// Arguments of one size throughout, and of sizes that do not fit.
fn check(text: &str) {
    with_large_stack(|| {
        let mut case = Case::new(text, "f", &ways());
        for size in [0, 1, 2, 3, 7, 8, 9, 17] {
            (0..3).for_each(|seed| case.agrees_sized(&[size], false, seed));
        }
        for sizes in [&[1, 2][..], &[2, 3], &[7, 8], &[8, 9, 10], &[0, 1, 5]] {
            (0..8).for_each(|seed| case.agrees_sized(sizes, true, seed));
        }
    });
}

#[test]
fn indices_that_are_computed() {
    for text in [
        // Neighbours: three points, with and without a conditional at the ends.
        "(def f (Vec Float) (v : Vec Float)
           (build (sub (size v) 2) (lam (i : Integer)
             (add (index i v) (sub (index (add i 1) v) (mul 0.5 (index (add i 2) v)))))))",
        "(def f (Vec Float) (v : Vec Float)
           (build (size v) (lam (i : Integer)
             (add (if (gt i 0) (index (sub i 1) v) 0.0) (if (lt i (sub (size v) 1)) (index (add i 1) v) 0.0)))))",
        "(def f (Vec Float) (v : Vec Float)
           (build (size v) (lam (i : Integer) (index (sub (sub (size v) 1) i) v))))",
        // Out of range at some iteration, with what was printed before.
        "(def f Integer ((v : Vec Float) (k : Integer))
           (fold (lam (t : Tuple Integer Float)
                   (add (get$1$2 t) (print (index (add k (get$1$2 t)) v)))) 0 v))",
        "(def f Float ((v : Vec Float) (w : Vec Float) (n : Integer))
           (sumbuild n (lam (i : Integer) (mul (index i v) (index (mul 2 i) w)))))",
        "(def f Float ((v : Vec Float) (n : Integer) (m : Integer))
           (sumbuild n (lam (i : Integer) (sumbuild m (lam (j : Integer) (index (add i j) v))))))",
        "(def f (Tensor 2 Float) ((m : Tensor 2 Float) (k : Tensor 2 Float))
           (build (tuple (add 1 (sub (get$1$2 (size m)) (get$1$2 (size k)))) (add 1 (sub (get$2$2 (size m)) (get$2$2 (size k)))))
             (lam (at : Tuple Integer Integer)
               (sumbuild (size k) (lam (o : Tuple Integer Integer)
                 (mul (index o k) (index (tuple (add (get$1$2 at) (get$1$2 o)) (add (get$2$2 at) (get$2$2 o))) m)))))))",
        // Triangles.
        "(def f Float ((v : Vec Float) (n : Integer))
           (sumbuild n (lam (i : Integer) (sumbuild i (lam (j : Integer) (mul (index i v) (index (sub (sub i j) 1) v)))))))",
        "(def f Float ((v : Vec Float) (w : Vec Float))
           (sumbuild (size v) (lam (i : Integer)
             (sumbuild (size w) (lam (j : Integer) (if (lt j i) (index j v) (if (eq i j) 0.0 (index i w))))))))",
        // From memory.
        "(def f (Vec Float) ((v : Vec Float) (at : Vec Integer))
           (build (size at) (lam (i : Integer) (mul (index (index i at) v) 2.0))))",
        "(def f Float ((v : Vec Float) (at : Vec Integer) (w : Vec Float))
           (sumbuild (size at) (lam (i : Integer) (mul (index (index i at) v) (index i w)))))",
        // Numbers that wrap.
        "(def f Float ((v : Vec Float) (n : Integer))
           (sumbuild (size v) (lam (i : Integer) (index (add i (mul n 1152921504606846976)) v))))",
        "(def f Float ((v : Vec Float) (n : Integer))
           (sumbuild 3 (lam (i : Integer) (index (add 9223372036854775807 (add i n)) v))))",
        // Rows.
        "(def f Float ((rows : Vec (Vec Float)) (m : Integer))
           (sumbuild (size rows) (lam (i : Integer) (sumbuild m (lam (j : Integer) (index j (index i rows)))))))",
    ] {
        check(text);
    }
}

/// Without checks, too: what stands behind one is not read before a loop without iterations. An empty tensor has no
/// address that could be read.
#[test]
fn loads_of_loops_that_may_not_run() {
    for text in [
        "(def f Float ((m : Tensor 2 Float) (v : Vec Float) (k : Integer))
           (sumbuild (size v) (lam (i : Integer) (mul (index i v) (index (tuple 0 0) m)))))",
        "(def f (Vec Float) (a : Tensor 3 Float)
           (let ((p q r) (size a))
             (build q (lam (j : Integer)
               (sumbuild p (lam (i : Integer)
                 (sumbuild r (lam (k : Integer) (mul (index (tuple i j k) a) (index (tuple i j 0) a))))))))))",
        "(def f (Vec Float) ((rows : Vec (Vec Float)) (v : Vec Float) (n : Integer))
           (map (lam (x : Float)
                  (fold (lam (t : Tuple Float Integer) (add (get$1$2 t) (mul x (index 0 (index 0 rows))))) x
                        (build (if (gt n 2) 2 0) (lam (k : Integer) k)))) v))",
    ] {
        check(text);
    }
}

/// Stages of integrators: each depends on the element before or after in the one before it, or its cotangent does.
#[test]
fn stages_that_pass_elements_on_to_neighbours() {
    let upwind = "(def slope (Vec Float) ((c : Float) (v : Vec Float))
           (build (size v) (lam (i : Integer)
             (if (eq i 0) (mul c (index 0 v)) (mul (index i v) (sub (index i v) (mul c (index (sub i 1) v))))))))";
    let downwind = "(def slope (Vec Float) ((c : Float) (v : Vec Float))
           (build (size v) (lam (i : Integer)
             (if (eq (add i 1) (size v)) 0.0 (mul c (mul (index i v) (index (add i 1) v)))))))";
    let step = "(def step (Vec Float) ((c : Float) (v : Vec Float))
           (let ((k1 (slope c v)) (k2 (slope c (add v (mul 0.5 k1)))) (k3 (slope c (add v k2))))
             (add v (mul 0.25 (add k1 (add k2 k3))))))";
    for slope in [upwind, downwind] {
        for f in [
            "(def f (Vec Float) ((c : Float) (v : Vec Float)) (step c v))",
            "(def f (Tuple Float (Vec Float)) ((c : Float) (v : Vec Float)) ([rev step] (tuple c v) (mul 2.0 v)))",
            "(def last Float ((v : Vec Float) (c : Float))
               (sum (fold (lam (t : Tuple (Vec Float) Integer) (step c (get$1$2 t))) v (build 3 (lam (k : Integer) k)))))
             (def f (Vec Float) ((v : Vec Float) (c : Float)) ([grad [wrt$1 last]] v c))",
        ] {
            check(&format!("{slope}\n{step}\n{f}"));
        }
    }
}

#[test]
fn elements_that_are_passed_on() {
    for text in [
        "(def f Float ((v : Vec Float) (w : Vec Float))
           (let ((a (sub v w)) (b (exp a)) (s (sum b)))
             (add (ts_dot a b) (sum (mul s (add (add b b) w))))))",
        "(def f (Vec Float) ((v : Vec Float) (k : Integer))
           (let ((a (build (size v) (lam (i : Integer) (exp (index i v))))) (b (mul 2.0 a)))
             (build (sub (size v) 1) (lam (i : Integer) (add (index i a) (mul (index (add i 1) b) (index k b)))))))",
        // Read in other orders, in nested loops, and by a fold.
        "(def f Float ((v : Vec Float) (w : Vec Float))
           (let ((n (size v)) (a (build n (lam (i : Integer) (mul 3.0 (index i v))))) (b (build n (lam (i : Integer) (sin (index i v))))))
             (fold (lam (t : Tuple Float Integer)
                     (add (mul 0.5 (get$1$2 t)) (mul (index (sub (sub n 1) (get$2$2 t)) b) (sumbuild n (lam (j : Integer) (index j a))))))
                   1.0 (build n (lam (i : Integer) i)))))",
        // Both loops may stop, with output before.
        "(def f Integer ((v : Vec Float) (w : Vec Float))
           (let (a (build (size v) (lam (i : Integer) (index i w))))
             (fold (lam (t : Tuple Integer Float) (add (get$1$2 t) (print (get$2$2 t)))) 0 a)))",
        "(def f Float ((rows : Vec (Vec Float)) (w : Vec Float))
           (let (a (build (size rows) (lam (i : Integer) (ts_dot (index i rows) w))))
             (sum (build (size rows) (lam (i : Integer) (mul (index i a) (sum (index i rows))))))))",
        "(def f (Tuple (Vec Float) Float) ((v : Vec Float) (w : Vec Float))
           (let ((a (add v w)) (b (add a v))) (tuple b (ts_dot a b))))",
    ] {
        check(text);
    }
}

#[test]
fn conditions_on_indices() {
    for text in [
        "(def f Float ((v : Vec Float) (w : Vec Float))
           (sumbuild (size v) (lam (i : Integer) (ts_dot w (build (size w) (lam (j : Integer)
             (if (lt j i) (index j w) (if (eq j i) 1.0 (index i v)))))))))",
        "(def f (Vec Float) ((v : Vec Float) (k : Integer))
           (build (size v) (lam (i : Integer)
             (if (or (lte i k) (eq i 3)) (mul 2.0 (index i v)) (if (gt (add i k) 2) 1.0 (index i v))))))",
        "(def f Float ((v : Vec Float) (k : Integer))
           (fold (lam (t : Tuple Float Integer)
                   (if (gte (get$2$2 t) k) (mul (get$1$2 t) (index (get$2$2 t) v)) (add 1.0 (get$1$2 t))))
                 1.0 (build (size v) (lam (i : Integer) i))))",
        "(def f Float ((v : Vec Float) (n : Integer))
           (sumbuild (size v) (lam (i : Integer) (if (lt i (add n 9223372036854775807)) (index i v) 1.0))))",
        "(def f Integer ((n : Integer) (k : Integer))
           (fold (lam (t : Tuple Integer Integer)
                   (if (eq (get$2$2 t) k) (print \"k\") (div (get$1$2 t) (sub (get$2$2 t) 5))))
                 7 (build n (lam (i : Integer) i))))",
    ] {
        check(text);
    }
}

/// Rows of one size, one after the other, by an index that is divided: with something behind the last row, or without.
#[test]
fn indices_that_are_divided() {
    for text in [
        // Rows of rows, with conditions on the place, and one that changes where the rows end.
        "(def f (Vec Float) ((v : Vec Float) (w : Vec Float))
           (let (n (size v))
             (build (mul 13 n) (lam (e : Integer)
               (if (lt e (mul 12 n))
                   (let ((i (div e 12)) (j (sub e (mul 6 (div e 6)))))
                     (if (lt j 4) (add (index i v) (to_float j)) (mul (index i v) (sub 0.5 (to_float j)))))
                   (index (sub e (mul 12 n)) v))))))",
        // No multiple.
        "(def f (Vec Float) (v : Vec Float)
           (build (size v) (lam (e : Integer)
             (sub (index (div e 3) v) (mul (index (sub e (mul 3 (div e 3))) v) (to_float (div (mul 2 e) 3)))))))",
        "(def f Float (v : Vec Float)
           (sumbuild (size v) (lam (e : Integer) (div (index (div e 7) v) (add 1.5 (to_float (sub e (mul 7 (div e 7)))))))))",
        // The rows are longer than what is divided, or as long.
        "(def f (Vec Float) (v : Vec Float)
           (build (size v) (lam (e : Integer) (add (index (div e 9) v) (index (div (add e 9) 18) v)))))",
        // A power of two; rows that are not written out.
        "(def f (Vec Float) (v : Vec Float)
           (build (mul 20 (size v)) (lam (e : Integer)
             (sub (index (div e 20) v) (mul 0.25 (to_float (sub e (mul 4 (div e 4)))))))))",
        "(def f (Vec Float) (v : Vec Float)
           (build (mul 64 (size v)) (lam (e : Integer)
             (mul (index (div e 64) v) (to_float (sub e (mul 32 (div e 32))))))))",
        // What is carried; what is added to one element by a row.
        "(def f Float (v : Vec Float)
           (fold (lam (t : Tuple Float Integer)
                   (let ((y e) t) (if (eq (sub e (mul 5 (div e 5))) 2) (mul y (index (div e 5) v)) (add y 0.5))))
                 1.0 (build (mul 2 (size v)) (lam (i : Integer) i))))",
        "(def f (Tuple (Vec Float) (Vec Float)) ((v : Vec Float) (w : Vec Float))
           ([rev g] (tuple v w) 1.0))
         (def g Float ((v : Vec Float) (w : Vec Float))
           (sumbuild (mul 3 (size v)) (lam (e : Integer)
             (mul (index (div e 3) v) (if (lt e (size w)) (index e w) 2.0)))))",
        // Out of range in the middle of a row, and behind the last one, with what was printed before.
        "(def f Integer ((v : Vec Float) (k : Integer))
           (fold (lam (t : Tuple Integer Integer)
                   (let ((s e) t) (add s (print (index (add k (div e 3)) v)))))
                 0 (build (mul 2 (size v)) (lam (i : Integer) i))))",
        // Dividends and divisors of either sign: rounded towards zero.
        "(def f (Vec Integer) ((v : Vec Float) (k : Integer))
           (build (size v) (lam (e : Integer)
             (add (mul 1000 (div (sub e 8) 3)) (add (mul 100 (div e -3)) (add (div (sub k e) 3) (div (add e k) 6)))))))",
        "(def f (Vec Integer) (n : Integer)
           (build (if (lt n 0) 0 n) (lam (e : Integer)
             (add (mul 100 (div (sub (mul 6 e) 4) 6)) (sub (div (sub 3 e) 3) (mul 3 (div e 3)))))))",
    ] {
        check(text);
    }
}

#[test]
fn on_random_programs() {
    let (seed, cases) = (common::random::seed(), common::random::cases(25));
    println!("LMC_SEED={seed} LMC_CASES={cases}");
    let mut random = SplitMix::new(seed);
    for _ in 0..cases {
        let generated = drawn(&mut random);
        let last = generated.functions.last().expect("there is a function");
        with_large_stack(|| {
            let mut case = Case::new(&generated.text, &last.name, &ways());
            for sizes in [[0, 2], [2, 0], [1, 1], [2, 3], [3, 2], [7, 8], [9, 1], [17, 2]] {
                case.agrees_at(last, sizes, &mut random);
            }
            for sizes in [&[1, 2][..], &[2, 3], &[3, 7, 8]] {
                case.agrees_sized(sizes, true, random.draw());
            }
        });
    }
}

fn demos_agree(ways: &[Way]) {
    for demo in DEMOS.iter().filter(|demo| demo.text.contains("(def example")) {
        with_large_stack(|| {
            let mut case = Case::new(demo.text, demo.fun, ways);
            case.agrees(&case.example());
        });
    }
}

#[test]
fn on_demos() {
    // Others are for smaller programs: these take long to compile.
    let ways = ways();
    demos_agree(&[&ways[..4], &ways[ways.len() - 1..]].concat());
}

#[test]
#[ignore = "takes minutes: cargo test --release --test passes -- --ignored"]
fn on_demos_in_all_ways() {
    demos_agree(&ways());
}

/// The command line, with a program on standard input: what it prints, on both ways, and its status.
fn lmc(args: &[&str], program: &str) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let command = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("lmc starts");
    child.stdin.take().expect("it is piped").write_all(program.as_bytes()).expect("lmc reads its program");
    let output = child.wait_with_output().expect("lmc ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("lmc prints text");
    (text(output.stdout), text(output.stderr), output.status.code())
}

#[test]
fn checks_are_chosen_on_the_command_line() {
    let program = "(def at Float ((v : Vec Float) (k : Integer)) (sumbuild k (lam (i : Integer) (index (add i 1) v))))
(def main Integer () (print (at (Vec_init 1.0 2.0 4.0) 2) \"\\n\" (at (Vec_init 1.0 2.0 4.0) 5)))\n";
    let run = |checks| lmc(&["run", "-", "--checks", checks], program);
    let full = run("full");
    assert_eq!(full, run("hoisted"));
    assert_eq!(full.2, Some(1));
    assert!(full.1.contains("3") && full.1.contains("range"), "{}", full.1);
    let loops = |checks| lmc(&["compile", "-", "--fun", "at", "--emit", "loops=-", "--checks", checks], program).0;
    let count = |text: String| text.matches("check ").count();
    let [full, hoisted, none] = ["full", "hoisted", "none"].map(|checks| count(loops(checks)));
    // The size and the index; of hoisted checks, the index in the second version.
    assert_eq!([full, hoisted, none], [3, 3, 0]);
    let usage = lmc(&["run", "-", "--checks", "some"], program);
    assert_eq!(usage.2, Some(2), "{}", usage.1);
}

#[test]
fn loops_are_shown_after_each_pass() {
    let program = "(def f Float ((v : Vec Float) (w : Vec Float)) (sumbuild (size v) (lam (i : Integer)
      (mul (index i v) (index i w)))))\n";
    let after = |pass: &str| lmc(&["compile", "-", "--emit", "loops=-", "--after", pass], program);
    let texts: Vec<String> =
        ["lowering"].into_iter().chain(PASSES.iter().map(|pass| pass.name)).map(|p| after(p).0).collect();
    let whole = lmc(&["compile", "-", "--emit", "loops=-"], program).0;
    assert_eq!(texts.last(), Some(&whole));
    assert!(!texts[0].contains("likely") && whole.contains("likely"), "{whole}");
    let (_, error, status) = after("nothing");
    assert_eq!(status, Some(1));
    let names: Vec<&str> = ["lowering"].into_iter().chain(PASSES.iter().map(|pass| pass.name)).collect();
    assert!(error.contains(&names.join(", ")), "{error}");
    let timed = lmc(&["compile", "-", "--emit", "loops=-", "--time-passes"], program).1;
    assert!(PASSES.iter().filter(|pass| pass.name != "drop_checks").all(|pass| timed.contains(pass.name)), "{timed}");
}
