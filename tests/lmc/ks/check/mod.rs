//! The checker: what it makes of programs, and the mistakes that it finds.

mod builtins;
mod names;
mod suggest;
mod written;

use lm::prim::Prim;
use lm::term::{Expr, FunName, Kind, Op};
use lm::types::Type;
use lmc::ks::check::Checked;
use lmc::ks::front::{load, load_stage, prelude};
use lmc::ks::source::Source;
use lmc::with_large_stack;

fn program(text: &str) -> Checked {
    load(&Source::new("t.ks", text)).unwrap_or_else(|errors| panic!("{text}\n{errors:#?}"))
}

fn errors(text: &str) -> Vec<String> {
    let errors = load(&Source::new("t.ks", text)).expect_err("an error");
    errors.iter().map(ToString::to_string).collect()
}

fn body(text: &str) -> Expr {
    program(text).program.defs[0].body.clone()
}

#[test]
fn the_prelude_is_right() {
    with_large_stack(|| {
        let names: Vec<String> = prelude().keys().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "digamma",
                "$digamma_positive",
                "$digamma_series",
                "$ceiling",
                "$sqrt_stride",
                "$auto_stride",
                "$in_place_stride",
                "$before_last",
                "$stride",
                "$slots",
                "$least_segment",
                "$slots_from",
                "$reach",
                "$repeats",
                "$left",
                "$parts"
            ]
        );
    });
}

#[test]
fn only_what_is_called_is_kept_of_the_prelude() {
    let none = program("(def f Float (x : Float) (sin x))");
    assert_eq!(none.program.defs.len(), 1);
    assert_eq!(none.prelude.len(), 16);
    let mut called = program("(def f Float (x : Float) (lgamma x))");
    called.include(&FunName::base("digamma"));
    assert_eq!((called.program.defs.len(), called.prelude.len()), (4, 13));
    let replaced = program("(def digamma Float (x : Float) x) (def f Float (x : Float) (digamma x))");
    assert_eq!(replaced.program.defs.len(), 2);
}

#[test]
fn parameters_in_all_spellings() {
    let types = |text: &str| program(text).program.defs[0].fun.params.clone();
    let pair = Type::tuple([Type::Float, Type::Integer]);
    assert_eq!(types("(def f Float () 1.0)"), []);
    assert_eq!(types("(def f Float (x : Float) x)"), [Type::Float]);
    assert_eq!(types("(def f Float ((x : Float)) x)"), [Type::Float]);
    assert_eq!(types("(def f (Float) ((x : (Float)) ((y : Integer))) (x))"), [Type::Float, Type::Integer]);
    assert_eq!(types("(def f Integer (t : Tuple Float Integer) (get$2$2 t))"), std::slice::from_ref(&pair));
    assert_eq!(types("(def f Integer ((t : Tuple Float Integer)) (get$2$2 t))"), [pair]);
}

#[test]
fn calls_take_tuples_apart_and_put_them_together() {
    let text = "(def main Integer () (print (f 1.0 2) (f (tuple 1.0 2)) (f (p)) (g 1.0 2) (g (p)) (add (q))))
        (def f Float ((x : Float) (n : Integer)) (mul x n))
        (def g Float (t : Tuple Float Integer) (get$1$2 t))
        (def p (Tuple Float Integer) () (tuple 1.0 2))
        (def q (Tuple Float Float) () (tuple 1.0 2.0))";
    assert_eq!(program(text).program.defs.len(), 5);
}

#[test]
fn overloads_are_chosen_by_argument_type() {
    let text = "(def f Float (x : Float) (f 1))
        (def f Float (n : Integer) (to_float n))
        (def g Float (x : Float) (add ([f Float] x) (f@i 3)))
        (def add Float ((x : Float) (y : Float)) x)";
    let checked = program(text);
    let names: Vec<String> = checked.program.defs.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["[f Float]", "[f Integer]", "g", "add"]);
    let Kind::App(Op::Call(f), _) = checked.program.defs[2].body.kind() else { panic!("a call of the user's add") };
    assert_eq!(f.name, FunName::base("add"));
}

#[test]
fn derivatives_have_types() {
    let text = "(def f Float ((x : Float) (n : Integer)) (mul x n))
        (def a Float ((x : Float) (n : Integer)) ([fwd f] (tuple x n) (tuple 1.0 (tuple))))
        (def b (Tuple Float (Tuple)) ((x : Float) (n : Integer)) (rev$f (tuple x n) 1.0))
        (def c (LM (Tuple Float Integer) Float) ((x : Float) (n : Integer)) ([D f] x n))
        (def d (LM Float (Tuple Float Integer)) (t : Tuple Float Integer) ([Dt f] t))
        (def e (Tuple Float (Tuple)) (t : (Tuple (Tuple (Tuple Float Integer) Float)
                                                 (Tuple (Tuple Float (Tuple)) Float))) ([fwd [rev f]] t))
        (def h (LM (Tuple Float Float) Float) (x : Float) ([D mul] x 2.0))
        (def i (Tuple Float Float) (t : Tuple (Tuple Float Float) Float) ([rev mul] t))";
    let names: Vec<String> = program(text).program.defs.keys().map(ToString::to_string).collect();
    // The last one calls the built-in of which `i` calls the derivative.
    assert_eq!(names.join(" "), "f a b c d e h i [mul (Tuple Float Float)]");
}

#[test]
fn derivatives_by_hand_get_the_parameters_of_calls() {
    let text = "(def [rev f] Float (t : Tuple Float Float) (get$2$2 t))
        (def f Float (x : Float) x)
        (def [D g] (LM (Tuple Float Float) Float) ((x : Float) (y : Float)) ([D add] x y))
        (def g Float (t : Tuple Float Float) (add t))
        (gdef rev f) (gdef fwd [g (Tuple Float Float)]) (gdef rev f)";
    let checked = program(text);
    let defs = &checked.program.defs;
    assert_eq!(defs[0].fun.name.to_string(), "[rev f]");
    assert_eq!(defs[0].fun.params, [Type::Float, Type::Float]);
    assert_eq!(defs[2].fun.params, [Type::tuple([Type::Float, Type::Float])]);
    let requested: Vec<String> = checked.requested.iter().map(ToString::to_string).collect();
    assert_eq!(requested, ["[rev f]", "[fwd g]"]);
}

#[test]
fn orphans_are_for_stages_only() {
    let text = "(def [fwd f] Float ((x : Float) (dx : Float)) dx) (def g Float (x : Float) ([fwd f] x x))";
    assert_eq!(errors(text)[0], "unknown function `f`");
    let stage = load_stage(&Source::new("t.ks", text)).expect("a stage");
    assert_eq!(stage.program.defs.len(), 2);
}

#[test]
fn a_chain_of_lets_is_one_block() {
    with_large_stack(|| {
        let count = 10_000;
        let lets: String = (0..count).map(|i| format!("(let (x (add x {i}.0)) ")).collect();
        let text = format!("(def f Float (x : Float) {lets} x {})", ")".repeat(count));
        let block = body(&text);
        assert_eq!(block.as_block().0.len(), count);
    });
}

#[test]
fn both_readings_of_a_let() {
    let sizes = |text: &str| body(text).as_block().0.iter().map(|b| b.pattern.vars().len()).collect::<Vec<_>>();
    let pair = "(def p (Tuple Float Float) (x : Float) (tuple x x))";
    assert_eq!(sizes(&format!("(def f Float (x : Float) (let ((a b) (p x)) a)) {pair}")), [2]);
    assert_eq!(sizes("(def f Float (x : Float) (let ((a x) (b a)) b))"), [1, 1]);
    assert_eq!(sizes("(def f Float (x : Float) (let ((a x) (sin a)) sin))"), [1, 1]);
    assert_eq!(sizes(&format!("(def f Float (x : Float) (let ((a x) (p x)) a)) {pair}")), [2]);
    let unzip = |y: &str| {
        format!("(def f (Vec Float) ((v : Vec (Tuple Float Float)) ({y} : Float)) (let ((a w) (unzip v)) w))")
    };
    assert_eq!([sizes(&unzip("w")), sizes(&unzip("x"))], [[2], [2]]);
    program(
        "(def f Float ((g : Lam Float (Tuple Float Float)) (x : Float)) (let ((a x) (g x)) (add a x)))
         (def h Float (x : Float) (f (lam (y : Float) (tuple y y)) x))",
    );
    assert_eq!(sizes("(def f Float (x : Float) (let (((a b) (tuple x x))) b))"), [2]);
    assert_eq!(sizes("(def f Float (t : Tuple Float Float) (let ((a b) t) b))"), [2]);
}

#[test]
fn vector_operations_leave_discrete_parts() {
    let ty = "(Tuple Integer Float)";
    let sum = body(&format!("(def f {ty} ((x : {ty}) (dx : Tuple (Tuple) Float)) (ts_add x dx))"));
    assert_eq!(sum.args_of(&Op::Tuple).map(<[Expr]>::len), Some(2));
    let dense = body("(def f (Tuple Float Float) (x : Tuple Float Float) (ts_scale 2.0 x))");
    assert!(dense.args_of_prim(Prim::Mul).is_some());
}

#[test]
fn variables_with_names_of_functions_are_warned_of() {
    let codes = |text: &str| program(text).warnings.iter().map(|w| w.code).collect::<Vec<_>>();
    assert_eq!(
        codes("(def f Float (x : Float) (let (sin x) sin)) (def g Float (x : Float) (let ((a f) (tuple x x)) f))"),
        ["W404", "W404"]
    );
    assert_eq!(codes("(def f Float (x : Float) (let (y x) y))"), [""; 0]);
}

#[test]
fn literals_that_fail_are_warned_of_once() {
    let codes = |text: &str| program(text).warnings.iter().map(|w| w.code).collect::<Vec<_>>();
    assert_eq!(codes("(def f Float (v : Vec Float) (index -1 v))"), ["W402"]);
    assert_eq!(codes("(def f Float (m : Tensor 2 Float) (index (tuple 0 -2) m))"), ["W402"]);
    assert_eq!(codes("(def f Integer (n : Integer) (div (div n 0) 0))"), ["W403", "W403"]);
    assert_eq!(codes("(def f Float (x : Float) (div x 0.0))"), [""; 0]);
    assert_eq!(codes("(def f Integer (n : Integer) (div 0 n))"), [""; 0]);
    let twice = "(def g Integer ((f : Lam Integer Integer) (n : Integer)) (f (div n 0)))
        (def h Integer (n : Integer) (add (g (lam (i : Integer) i) n) (g (lam (i : Integer) (add i 1)) n)))";
    assert_eq!(codes(twice), ["W403"]);
}

#[test]
fn every_error_once() {
    let text = "(def f Float (x : Floot) (add x 1)) (def g Float (y : Float) (add (f y) z))
        (def h Float (y : Float) (let (a (nope y)) (add a 1)))";
    assert_eq!(errors(text), ["unknown type `Floot`", "unknown variable `z`", "unknown function `nope`"]);
}

#[test]
fn nodes_have_places() {
    let text = "(def f Float (x : Float) (add x 1.0))";
    let e = body(text);
    assert_eq!(&text[e.span().start as usize..e.span().end as usize], "(add x 1.0)");
}

/// A check whose time grows with the square of the number of definitions takes minutes here.
#[test]
fn many_definitions_are_checked() {
    let definition = |i: usize| format!("(def f{i} Float (x : Float) (f{} (mul x 2.0)))\n", i.saturating_sub(1));
    let overload = |i: usize| format!("(def g Float (x : {}Float{}) 1.0)\n", "(Vec ".repeat(i), ")".repeat(i));
    let derivative = |i: usize| format!("(def [rev f{i}] Float ((x : Float) (dr : Float)) dr)\n");
    let text: String = (0..30_000).map(definition).chain((0..60).map(overload)).collect();
    let text = text + &(0..10_000).map(derivative).collect::<String>();
    with_large_stack(|| assert_eq!(program(&text).program.defs.len(), 40_060));
}

#[test]
fn many_errors_are_found() {
    let definition = |i: usize| format!("(def f{i} Float (x : Float) (g{i} y))\n");
    let text: String = (0..3_000).map(definition).collect();
    with_large_stack(|| assert_eq!(errors(&text).len(), 6_000));
}
