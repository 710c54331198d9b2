//! Loops in lanes, of whole programs: the interpreter's values, and errors where it has errors, at every width, with
//! every way of checking, exact and fast; on programs whose loops part, gather and keep memory, on random ones and on
//! the demos.

use common::generate_arrays::drawn;
use common::native::{Case, Way};
use common::nests::nest;
use lm::random::SplitMix;
use lmc::demos::DEMOS;
use lmc::gradcheck::NATIVE_FAST;
use lmc::with_large_stack;
use loops::Checks;
use native::{Lanes, Math};
use std::process::{Command, Stdio};

/// In lanes, which lane's error comes first differs.
fn way(options: native::Options) -> Way {
    let native::Options { lanes, checks, math, opt_level, .. } = &options;
    let name = format!("{lanes:?}, {checks:?}, {math:?}, O{opt_level}");
    Way { same_errors: false, ..Way::new(&name, options) }
}

fn width(lanes: u32, checks: Checks, math: Math, opt_level: u8) -> Way {
    way(native::Options { lanes: Lanes::Width(lanes), checks, math, opt_level, ..native::Options::default() })
}

/// Every width, every way of checking, exact and fast.
fn ways() -> Vec<Way> {
    vec![
        width(2, Checks::Full, Math::Exact, 0),
        width(4, Checks::Hoisted, Math::Fast, 1),
        width(8, Checks::None, Math::Exact, 1),
        width(8, Checks::Full, Math::Fast, 2),
        width(16, Checks::Hoisted, Math::Exact, 1),
        way(native::Options::default()),
    ]
}

/// Arguments of one size throughout, and of sizes that do not fit. The program has loops in lanes.
fn check(text: &str) {
    with_large_stack(|| {
        let mut case = Case::new(text, "f", &ways());
        assert!(case.loops_in_lanes() > 0, "nothing runs in lanes: {text}");
        for size in [0, 1, 2, 7, 8, 9, 16, 17, 37] {
            (0..2).for_each(|seed| case.agrees_sized(&[size], false, seed));
        }
        for sizes in [&[1, 2][..], &[7, 8], &[8, 9, 17], &[0, 1, 5]] {
            (0..6).for_each(|seed| case.agrees_sized(sizes, true, seed));
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

/// The loss of a product of matrices, and the sum of what rows have with rows; with terms that are dear.
const RESIDUALS: &[&str] = &[
    "(def f Float ((w : Tensor 2 Float) (h : Tensor 2 Float) (a : Tensor 2 Float))
       (let ((rows rank) (size w))
         (sumbuild (size a) (lam (ij : Tuple Integer Integer)
           (let (((i j) ij)
                 (r (sub (index ij a) (sumbuild rank (lam (k : Integer)
                      (mul (index (tuple i k) w) (index (tuple k j) h)))))))
             (mul r r))))))",
    "(def f Float ((w : Tensor 2 Float) (h : Tensor 2 Float) (a : Tensor 2 Float))
       (let (((rows rank) (size w)) ((columns rank_of_h) (size h)))
         (sumbuild rows (lam (i : Integer)
           (sumbuild columns (lam (j : Integer)
             (mul (index (tuple i j) a)
                  (tanh (sumbuild rank (lam (k : Integer)
                    (mul (index (tuple i k) w) (index (tuple j k) h))))))))))))",
];

#[test]
fn sums_of_dear_terms() {
    RESIDUALS.iter().for_each(|text| check(text));
}

#[test]
fn sums_of_dear_terms_in_several_blocks() {
    let random = "(def random (Tensor 2 Float) ((seed : Integer) (rows : Integer) (columns : Integer))
      (build (tuple rows columns) (lam (ij : Tuple Integer Integer)
        (let ((i j) ij) ($ranhashdoub (add seed (add (mul i columns) j)))))))";
    for (text, second) in RESIDUALS.iter().zip(["5 17", "17 5"]) {
        let example = format!(
            "(def example (Tuple (Tensor 2 Float) (Tensor 2 Float) (Tensor 2 Float)) ()
               (tuple (random 1 1003 5) (random 2 {second}) (random 3 1003 17)))"
        );
        with_large_stack(|| {
            let mut case = Case::new(&format!("{random}\n{text}\n{example}"), "f", &ways());
            let args = case.example();
            case.agrees(&args);
        });
    }
}

#[test]
fn sums_of_iterations_side_by_side_keep_their_order() {
    let exact = native::Options { opt_level: 1, ..native::Options::exact() };
    let way = Way { limit: 0.0, same_errors: false, ..Way::new("exact", exact) };
    let mut side_by_side = 0;
    for text in DENSE {
        // Terms that are rounded, so that their order tells.
        let weighed = text.replace("(mul ", "(weigh ");
        let text = format!("(def weigh Float ((x : Float) (y : Float)) (mul (div x 3.0) y))\n{weighed}");
        side_by_side += with_large_stack(|| {
            let mut case = Case::new(&text, "f", std::slice::from_ref(&way));
            for size in [0, 1, 3, 4, 6, 9] {
                case.agrees_sized(&[size], false, 1);
            }
            (0..8).for_each(|seed| case.agrees_sized(&[2, 5, 7, 13], true, seed));
            case.loops_side_by_side()
        });
    }
    assert!(side_by_side > 0, "nothing runs side by side");
}

#[test]
fn on_random_programs() {
    let (seed, cases) = (common::random::seed(), common::random::cases(25));
    println!("LMC_SEED={seed} LMC_CASES={cases}");
    let mut random = SplitMix::new(seed);
    let mut in_lanes = 0;
    for _ in 0..cases {
        let generated = drawn(&mut random);
        let last = generated.functions.last().expect("there is a function");
        in_lanes += with_large_stack(|| {
            let checks = [Checks::Hoisted, Checks::Full, Checks::Hoisted];
            let ways: Vec<_> = [2, 4, 8].into_iter().zip(checks).map(|(w, c)| width(w, c, Math::Exact, 1)).collect();
            let mut case = Case::new(&generated.text, &last.name, &ways);
            for sizes in [[0, 2], [2, 0], [1, 1], [2, 3], [3, 2], [7, 8], [9, 1], [17, 2]] {
                case.agrees_at(last, sizes, &mut random);
            }
            for sizes in [&[1, 2][..], &[2, 3], &[3, 7, 8]] {
                case.agrees_sized(sizes, true, random.draw());
            }
            case.loops_in_lanes()
        });
    }
    println!("{in_lanes} loops in lanes");
    assert!(in_lanes > 0 || cases < 5, "nothing ran in lanes");
}

/// Loops that are nested, which run in lanes, side by side and on threads, all at once.
fn nests_agree(cases: u32, each: usize) {
    let (seed, cases) = (common::random::seed(), common::random::cases(cases));
    println!("LMC_SEED={seed} LMC_CASES={cases}");
    let widths = [Lanes::Width(2), Lanes::Width(4), Lanes::Width(8), Lanes::Width(16), Lanes::Auto, Lanes::Off];
    let ways: Vec<Way> = widths
        .into_iter()
        .flat_map(|lanes| [Math::Fast, Math::Exact].map(|math| (lanes, math)))
        .map(|(lanes, math)| {
            let options = native::Options { lanes, math, opt_level: 1, grain: 1, ..native::Options::default() };
            // Hundreds of terms of up to a hundred may cancel.
            let floor = if math == Math::Fast { 1e-3 } else { 0.0 };
            Way { limit: NATIVE_FAST, floor, threads: vec![2, 4], ..way(options) }
        })
        .collect();
    let mut random = SplitMix::new(seed);
    let (mut in_lanes, mut side_by_side, mut divided, mut number) = (0, 0, 0, 0);
    for _ in 0..cases {
        let text = nest(&mut random);
        let ways: Vec<Way> = (0..each).map(|i| ways[(number + i) % ways.len()].clone()).collect();
        number += each;
        println!("{text}{}", ways.iter().map(|way| format!("{}; ", way.name)).collect::<String>());
        with_large_stack(|| {
            let mut case = Case::new(&text, "f", &ways);
            [1, 2, 5, 8, 9, 19].iter().for_each(|size| case.agrees_sized(&[*size], false, number as u64));
            in_lanes += case.loops_in_lanes();
            side_by_side += case.loops_side_by_side();
            divided += case.divided();
        });
    }
    println!("{in_lanes} loops in lanes, {side_by_side} side by side, in {divided} programs some on threads");
    assert!(cases < 10 || in_lanes > 0 && side_by_side > 0 && divided > 0);
}

#[test]
fn on_random_nests() {
    nests_agree(24, 3);
}

#[test]
#[ignore = "takes minutes: cargo test --release --test lanes -- --ignored"]
fn on_random_nests_in_all_ways() {
    nests_agree(200, 12);
}

fn demos_agree(ways: &[Way]) {
    let mut in_lanes = 0;
    for demo in DEMOS.iter().filter(|demo| demo.text.contains("(def example")) {
        in_lanes += with_large_stack(|| {
            let mut case = Case::new(demo.text, demo.fun, ways);
            case.agrees(&case.example());
            case.loops_in_lanes()
        });
    }
    assert!(in_lanes > 0, "nothing ran in lanes");
}

#[test]
fn on_demos() {
    demos_agree(&[width(4, Checks::Full, Math::Exact, 1), width(8, Checks::Hoisted, Math::Fast, 1)]);
}

#[test]
#[ignore = "takes minutes: cargo test --release --test lanes -- --ignored"]
fn on_demos_in_all_ways() {
    demos_agree(&ways());
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
