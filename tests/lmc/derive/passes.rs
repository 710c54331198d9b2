//! Breaks the postcondition of each pass once, and shows that the check sees it.

use lm::effect::Effects;
use lm::term::{Def, Expr, Fun, FunName, Kind, Op, Program};
use lm::types::Type;
use lmc::derive::passes::{PASSES, named};
use lmc::derive::postcondition::{Facts, check};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use std::sync::Arc;

/// For each pass, a program whose last function is no result of the pass, and a part of the term that breaks it.
const BROKEN: &[(&str, &str, &str)] = &[
    ("expand_arrays", "(def f (Vec Float) (v : Vec Float) (mul 2.0 (shift1L v)))", "shift1L(v)"),
    (
        "counted_recursion",
        "(def f Float ((x : Float) (n : Integer)) (if (eq n 0) x (f (sin x) (sub n 1))))",
        "f(sin(x), n - 1)",
    ),
    (
        "zeros_of_empty_sums",
        "(def f (Vec Float) ((v : Vec (Vec Float)) (w : Vec Float))
           (if (eq (size v) 0) w (if (eq (size v) 0) w (sum v))))",
        "if size(v) == 0",
    ),
    ("rules", "(rule \"r\" (x : Float) (sin x) (cos x)) (def f Float (x : Float) (add x (sin x)))", "sin(x)"),
    ("inline_maps", "(def g Float (x : Float) x) (def f (LM Float Float) (x : Float) ([Dt g] x))", "Rg(x)"),
    ("apply_maps", "(def f Float (x : Float) (lmApply (lmScale x x) x))", "lmApply(lmScale(x), x)"),
    ("inline_marked", "(def g Float (x : Float) x) (def f Float (x : Float) (sin (g x)))", "g(x)"),
    (
        "independent_arguments",
        "(def g Float ((x : Float) (y : Float)) y) (def f Float (x : Float) (g (sin x) (cos x)))",
        "g(sin(x), cos(x))",
    ),
    ("anf", "(def f Float (x : Float) (sin (cos x)))", "sin(cos(x))"),
    ("simplify", "(def f Float (x : Float) (let (y x) (sin y)))", "y = x"),
    (
        "simplify",
        "(def [D f] (LM Float Float) (x : Float) (lmCompose (lmOne x) (lmScale x x)))",
        "lmCompose(lmOne(), lmScale(x))",
    ),
    ("dce", "(def f Float (x : Float) (let (y (sin x)) x))", "y = sin(x)"),
    ("inline_single_uses", "(def f Float (x : Float) (let (y (sin x)) (cos y)))", "y = sin(x)"),
    ("transpose", "(def [Dt f] (LM Float Float) (x : Float) (lmTranspose (lmScale x x)))", "lmTranspose(lmScale(x))"),
    ("apply", "(def f Float ((x : Float) (dx : Float)) (lmApply (lmScale x x) dx))", "lmScale(x)"),
    (
        "apart",
        "(def g Float (x : Float) x) (def f (Tuple Float Float) (x : Float) ([dual g] (tuple x 1.0)))",
        "dual$g((x, 1.0))",
    ),
    ("literal_zeros", "(def f Float (x : Float) (add x (ts_zero x)))", "breaks it:\n0"),
    ("cse", "(def f Float (x : Float) (let ((y (sin x)) (z (sin x))) (mul y z)))", "z = sin(x)"),
    (
        "dead_components",
        "(def f Float (x : Float) (let ((p (build 3 (lam (i : Integer) (tuple x i)))) (t (index 1 p))) (get$1$2 t)))",
        "p = build(3",
    ),
    (
        "pair_recursive_calls",
        "(def g Float (x : Float) (if (gt x 1.0) x (g (add x 1.0))))
         (def f Float ((x : Float) (k : Float)) (let ((y (g x)) ((z d) ([vjp g] x k))) (mul y d)))",
        "vjp$g(x, k)",
    ),
    (
        "merge_calls",
        "(def f Float ((c : Bool) (x : Float)) (let ((y (if c (sin x) x)) (z (if c x (cos x)))) (mul y z)))",
        "z = ",
    ),
    (
        "fuse_sums",
        "(def f Float ((n : Integer) (x : Float))
           (let ((a (sumbuild n (lam (i : Integer) (sin (to_float i)))))
                 (b (sumbuild n (lam (j : Integer) (sin (to_float j))))))
             (mul a b)))",
        "sumbuild(n",
    ),
    (
        "closed_folds",
        "(def f Float (v : Vec Float) (fold (lam (p : Tuple Float Float) (let ((s x) p) (add s x))) 0.0 v))",
        "fold(",
    ),
    (
        "folds_of_maps",
        "(def f (Vec Float) ((a : Vec Float) (v : Vec Float))
           (fold (lam (p : Tuple (Vec Float) Float)
                   (let ((s x) p) (build (size s) (lam (k : Integer) (mul x (index k s))))))
                 a v))",
        "fold(",
    ),
    (
        "share_elements",
        "(def f Float (x : Vec Float)
           (let ((n (size x))
                 (y (build n (lam (i : Integer) (let (a (index i x)) (exp a)))))
                 (z (sumbuild n (lam (j : Integer) (let ((b (index j x)) (c (exp b))) (mul c b)))))
                 (s (sum y)))
             (mul s z)))",
        "exp(b)",
    ),
    ("arrays", "(def f Float (x : Float) (let ((y x) (z (sin y))) (mul z y)))", "y = x"),
    ("fuse_sums", "(def f Float (x : Float) (sin (let (y (sin x)) (mul y y))))", "y = sin(x)"),
    (
        "carry_states",
        "(def f Float ((a : Float) (v : Vec Float))
           (let ((n (size v))
                 (s (scanl (lam (q : Tuple Float Float) (let ((x e) q) (mul x e))) a v))
                 (t ($loop n (lam (p : Tuple Integer Float) (let (((i r) p) (x (index i s))) (tuple (add r x) (tuple))))
                             a (tuple))))
             (get$1$2 t)))",
        "s = scanl(",
    ),
    (
        "sink_one_hots",
        "(def f (Vec Float) ((x : Float) (v : Vec Float) (c : Bool))
           (let (t ($delta_at v 0 x)) (if c (build 2 (lam (i : Integer) (index i t))) t)))",
        "t = $delta_at",
    ),
    (
        "split_pairs",
        "(def f (Tuple (Vec Float) (Vec Float)) ((n : Integer) (s : Vec Float))
           ($loop n (lam (p : Tuple Integer (Vec Float))
                      (let (((i t) p) (a (tuple t t)) (b (tuple t s))) (ts_add a b))) s s))",
        "$loop(n",
    ),
    (
        "add_destinations",
        "(def g Float ((v : Vec Float) (n : Integer)) (if (lte n 0) (sum v) (mul 2.0 (g v (sub n 1)))))
         (def f (Vec Float) ((v : Vec Float) (dr : Float)) (get$1$2 ([rev g] (tuple v 2) dr)))",
        "rev$g((v, 2), dr)",
    ),
    ("number_temporaries", "(def f Float (x : Float) (let ((t1 (sin x)) (t3 (cos x))) (mul t1 t3)))", "t3 = cos(x)"),
    (
        "hoist_residuals",
        "(def f (Vec Float) ((v : Vec Float) (dr : Float))
           (build (size v) (lam (i : Integer) (let ((x (index i v)) (y (exp x))) (mul y (mul x dr))))))",
        "y = exp(x)",
    ),
];

/// Returns the program, and its last function.
fn program(text: &str) -> (Program, Def) {
    let checked = front::load_stage(&Source::new("broken.ks", text)).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let def = checked.program.defs.last().expect("there is a function").1.clone();
    (checked.program, def)
}

#[test]
fn each_postcondition_can_fail() {
    with_large_stack(|| {
        for pass in PASSES {
            assert!(BROKEN.iter().any(|(name, ..)| *name == pass.name), "{}", pass.name);
        }
        let mut wrong = Vec::new();
        for (name, text, term) in BROKEN {
            let pass = named(name).unwrap_or_else(|| panic!("there is no pass {name}"));
            let (program, def) = program(text);
            let effects = Effects::of(&program);
            let is_recursive = |f: &FunName| *f == FunName::base("g");
            let is_inlined = |e: &Expr| matches!(e.kind(), Kind::App(Op::Call(f), _) if *f.name.base == *"g");
            let directions = &def.params[def.params.len() - 1..];
            let rules = &program.rules;
            let facts = Facts { directions, is_recursive: &is_recursive, rules, ..Facts::new(&effects) };
            let facts = if *name == "inline_marked" { Facts { is_inlined: &is_inlined, ..facts } } else { facts };
            let is_independent = |_: &FunName, argument: usize| *name == "independent_arguments" && argument == 0;
            let facts = Facts { is_independent: &is_independent, ..facts };
            // A conditional that depends on a direction is not merged.
            let facts = if *name == "merge_calls" { Facts { directions: &[], ..facts } } else { facts };
            let broken = check(pass, &def, &facts).expect_err(text).to_string();
            let (of_term, _) = broken.split_once("\nthe definition:").expect("the definition comes last");
            if ![name, pass.postcondition, term].iter().all(|part| of_term.contains(part)) {
                wrong.push(format!("not `{term}`: {broken}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    });
}

#[test]
fn each_pass_is_checked_for_scopes_and_types() {
    with_large_stack(|| {
        let (mut program, def) = program("(def f Float (x : Float) (sin x))");
        let effects = Effects::default();
        let other = vec![program.supply.fresh("z", Type::Float)];
        let unbound = Def { params: other, ..def.clone() };
        let fun = Fun { result: Type::Integer, ..(*def.fun).clone() };
        let ill_typed = Def { fun: Arc::new(fun), ..def };
        for pass in PASSES {
            let why = |def: &Def| check(pass, def, &Facts::new(&effects)).expect_err(pass.name).to_string();
            assert!(why(&unbound).contains("is not in scope"), "{}", why(&unbound));
            assert!(why(&ill_typed).contains("but its type says (Tuple Float) -> Integer"), "{}", why(&ill_typed));
        }
    });
}
