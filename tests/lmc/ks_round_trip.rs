//! Programs printed as KS read back as the same programs.

use common::generate::{Options, programs};
use lm::alpha;
use lm::notation::ks;
use lm::term::Program;
use lmc::ks::front::{load, load_stage};
use lmc::ks::render::{Format, render_all};
use lmc::ks::source::Source;

fn read(text: &str) -> Program {
    let source = Source::new("printed.ks", text);
    match load_stage(&source) {
        Ok(checked) => checked.program,
        Err(errors) => panic!("{}\n{text}", render_all(&source, &errors, Format::Human, false)),
    }
}

fn comes_back(program: &Program, width: usize) {
    let text = ks::program(program, width);
    assert!(alpha::programs(program, &read(&text)), "reads back as another program:\n{text}");
}

#[test]
fn random_programs_come_back() {
    lmc::with_large_stack(|| {
        let rough = programs(Options { smooth: false, functions: 5, depth: 5 });
        let runner = || proptest::test_runner::TestRunner::new(common::random::config(500));
        let check = |(program, width): (Program, usize)| {
            comes_back(&program, width);
            Ok(())
        };
        runner().run(&(rough, 20usize..120), check).unwrap_or_else(|e| panic!("{e}"));
        let smooth = programs(Options { smooth: true, functions: 5, depth: 5 });
        runner().run(&(smooth, 20usize..120), check).unwrap_or_else(|e| panic!("{e}"));
    });
}

/// Text in, program, text, program: the programs agree, and the texts from there on.
fn settles(text: &str) {
    lmc::with_large_stack(|| {
        let program = match load(&Source::new("given.ks", text)) {
            Ok(checked) => checked.program,
            Err(errors) => panic!("{}", render_all(&Source::new("given.ks", text), &errors, Format::Human, false)),
        };
        comes_back(&program, 80);
        let once = ks::program(&program, 80);
        assert_eq!(once, ks::program(&read(&once), 80));
    });
}

#[test]
fn linear_maps_come_back() {
    settles(
        "(def [D f] (LM (Tuple Float Float) Float) ((x : Float) (y : Float))
           (let ((p (mul x y))
                 (Dp (lmCompose ([D mul] x y) (lmVCat (lmGet$1$2 ($dummy (Tuple Float Float)))
                                                      (lmGet$2$2 ($dummy (Tuple Float Float)))))))
             (lmAdd (lmAdd (lmCompose (lmScale p (cos p)) Dp)
                           (lmZero ($dummy (Tuple Float Float)) ($dummy Float)))
                    (lmCompose ([D g] p) Dp))))
         (def f Float ((x : Float) (y : Float)) (let (p (mul x y)) (add (sin p) (g p))))
         (def g Float (x : Float) x)
         (def [rev f] (Tuple Float Float) ((s : Tuple Float Float) (dr : Float))
           (let ((x y) s) (lmApplyR dr ([D f] x y))))
         (def h (LM Float (Tuple Float Float)) (x : Float)
           (lmTranspose (lmHCat (lmOne x) (lmScaleR 2.0))))
         (def i Float (t : Tuple Float Float) (lmApply (lmDot t) t))
         (def j (LM (Tuple Float Float) Integer) (t : Tuple Float Float) ([D print] t))
         (def k Float (x : Float) ([rev sin] x 1.0))
         (def l (Tuple Float) (x : Float) (ts_zero (tuple x)))",
    );
}

#[test]
fn both_readings_of_a_let_come_back() {
    settles(
        "(def pair (Tuple Float Float) (x : Float) (tuple x x))
         (def pairs (Tuple Float Float) () (tuple 1.0 2.0))
         (def f Float (b : Float) (let ((a b) (pair (sin b))) (sub a b)))
         (def g Float (b : Float) (let (((a c) (pair b)) ((x y) (pairs))) (sub (add a c) (mul x y))))
         (def h Float (pairs : Float) (let (((a b) ([fwd pair] pairs 1.0))) (let ((c d) (tuple a b)) d)))",
    );
}

#[test]
fn derivatives_and_the_prelude_come_back() {
    settles(
        "(def main Integer () (print (digamma 0.5) (f 1.0) \"\\n\" ([fwd [rev f]] (tuple 1.0 1.0) (tuple 1.0 1.0))))
         (def f Float (x : Float) (exp x))
         (def exp Float (x : Float) ($prim$exp (assert (gt x 0.0) x)))
         (def sum Float ((x : Float) (n : Integer)) (if (eq n 0) x (sum (mul x n) (sub n 1))))
         (def add Float ((x : Float) (y : Float)) ($prim$add x y))
         (def inf Float () (div 1.0 0.0))",
    );
}

#[test]
fn long_blocks_are_printed_fast() {
    lmc::with_large_stack(|| {
        let count = 10_000;
        let lets: String = (0..count).map(|i| format!("(let (x (add x {i}.0)) ")).collect();
        settles(&format!("(def f Float (x : Float) {lets} x {})", ")".repeat(count)));
        settles(&format!("(def f Float (x : Float) {} x {})", "(sin ".repeat(count), ")".repeat(count)));
    });
}
