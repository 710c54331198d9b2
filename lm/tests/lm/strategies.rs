//! Each strategy combinator does what its equation says; rewriting that does not end is an error
//! that names the laws.

use lm::endless::Divergence;
use lm::law::{self, Law};
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter};
use lm::rewrites::Rewrites;
use lm::strategy::{Action, BUILT_IN, Combinator, Known, Library, Place, Strategy, VARIANTS, drive};
use lm::term::{Binding, Expr, Kind, Pattern, Supply};
use lm::types::Type;
use std::sync::Arc;

fn laws(names: &[&str]) -> Strategy {
    Strategy::laws_of(names.iter().map(|n| law::named(n).clone()).collect())
}

/// The strategy of a text.
fn read(text: &str) -> Strategy {
    let known = Known { passes: &["cse"], of_terms: &[], of_definitions: &["s"] };
    let library = Library::new(known, &[("test.strategy", &format!("strategy s = {text}"))]);
    library.unwrap_or_else(|refused| panic!("{text}: {:?}", refused.mistakes)).strategy("s").clone()
}

fn rewrite(s: &Strategy, e: &Expr) -> Result<Option<Expr>, OutOfFuel> {
    Rewriter::new(&mut Supply::default(), &mut Rewrites::all(), 1_000).run(s, e)
}

fn one() -> Expr {
    Expr::prim(Prim::LmOne, [Expr::dummy(Type::Float)])
}

fn scale(k: f64) -> Expr {
    Expr::prim(Prim::LmScale, [Expr::dummy(Type::Float), Expr::float(k)])
}

fn compose(m: Expr, n: Expr) -> Expr {
    Expr::prim(Prim::LmCompose, [m, n])
}

fn boxed(s: Strategy) -> Arc<Strategy> {
    Arc::new(s)
}

/// `1 ∘ m = m`, at the root.
fn unit() -> Strategy {
    laws(&["one-compose"])
}

#[test]
fn id_succeeds_and_fail_fails() {
    let e = compose(one(), scale(3.0));
    assert_eq!(rewrite(&Strategy::Id, &e).unwrap(), Some(e.clone()));
    assert_eq!(rewrite(&Strategy::Fail, &e).unwrap(), None);
}

#[test]
fn a_law_applies_at_the_root_only() {
    let inner = compose(one(), scale(3.0));
    assert_eq!(rewrite(&unit(), &inner).unwrap(), Some(scale(3.0)));
    assert_eq!(rewrite(&unit(), &compose(scale(2.0), inner)).unwrap(), None);
}

#[test]
fn seq_fails_when_either_fails_and_choice_when_both_do() {
    let e = compose(one(), compose(one(), scale(3.0)));
    let twice = Strategy::Seq(boxed(unit()), boxed(unit()));
    assert_eq!(rewrite(&twice, &e).unwrap(), Some(scale(3.0)));
    assert_eq!(rewrite(&twice, &compose(one(), scale(3.0))).unwrap(), None);
    let either = Strategy::Choice(boxed(Strategy::Fail), boxed(unit()));
    assert_eq!(rewrite(&either, &compose(one(), scale(3.0))).unwrap(), Some(scale(3.0)));
    assert_eq!(rewrite(&either, &scale(3.0)).unwrap(), None);
}

#[test]
fn try_never_fails_and_repeat_goes_on() {
    let e = compose(one(), compose(one(), scale(3.0)));
    assert_eq!(rewrite(&unit().with(Combinator::Try), &scale(3.0)).unwrap(), Some(scale(3.0)));
    assert_eq!(rewrite(&unit().with(Combinator::Repeat), &e).unwrap(), Some(scale(3.0)));
}

#[test]
fn one_some_and_all_choose_children() {
    let redex = || compose(one(), scale(3.0));
    let both = compose(redex(), redex());
    let run = |combinator: Combinator, e: &Expr| rewrite(&unit().with(combinator), e).unwrap();
    assert_eq!(run(Combinator::One, &both), Some(compose(scale(3.0), redex())));
    assert_eq!(run(Combinator::All, &both), Some(compose(scale(3.0), scale(3.0))));
    let half = compose(scale(2.0), redex());
    assert_eq!(run(Combinator::Some, &half), Some(compose(scale(2.0), scale(3.0))));
    assert_eq!(run(Combinator::All, &half), None);
    assert_eq!(run(Combinator::Some, &scale(2.0)), None);
    assert_eq!(run(Combinator::At(Place::Child(2)), &both), Some(compose(redex(), scale(3.0))));
    assert_eq!(run(Combinator::At(Place::Child(3)), &both), None);
}

/// Each name of a child means that child, and none where there is no such child.
#[test]
fn children_have_names() {
    let (two, three) = (Expr::float(2.0), Expr::float(3.0));
    let sum = || Expr::prim(Prim::Mul, [two.clone(), three.clone()]);
    let six = Expr::float(6.0);
    let mut supply = Supply::default();
    let (b, x, i) = (supply.fresh("b", Type::Bool), supply.fresh("x", Type::Float), supply.fresh("i", Type::Integer));
    let conditional = |yes: Expr, no: Expr| Expr::conditional(Expr::var(&b), yes, no);
    let block = |rhs: Expr, body: Expr| Expr::block(vec![Binding { pattern: Pattern::Var(x.clone()), rhs }], body);
    let built = |e: Expr| Expr::prim(Prim::Build, [Expr::integer(4), Expr::lam(i.clone(), e)]);
    let cases = [
        ("then(fold-float)", conditional(sum(), sum()), Some(conditional(six.clone(), sum()))),
        ("else(fold-float)", conditional(sum(), sum()), Some(conditional(sum(), six.clone()))),
        ("condition(fold-float)", conditional(sum(), sum()), None),
        ("component(2)(fold-float)", Expr::tuple([sum(), sum()]), Some(Expr::tuple([sum(), six.clone()]))),
        ("rhs(1)(fold-float)", block(sum(), sum()), Some(block(six.clone(), sum()))),
        ("rhs(2)(fold-float)", block(sum(), sum()), None),
        ("result(fold-float)", block(sum(), sum()), Some(block(sum(), six.clone()))),
        ("function(body(fold-float))", built(sum()), Some(built(six.clone()))),
        ("size(fold-float)", built(sum()), None),
        ("argument(1)(fold-float)", Expr::prim(Prim::Neg, [sum()]), Some(Expr::prim(Prim::Neg, [six.clone()]))),
        ("argument(1)(fold-float)", Expr::tuple([sum(), sum()]), None),
    ];
    for (text, before, after) in cases {
        assert_eq!(rewrite(&read(text), &before).unwrap(), after, "{text}");
    }
}

#[test]
fn top_down_finds_the_outermost_and_bottom_up_the_innermost() {
    // (1 ∘ (1 ∘ S)) has two redexes, which differ in what comes first: look at the first rewrite.
    let e = compose(one(), compose(one(), scale(3.0)));
    let mut supply = Supply::default();
    let mut first_before = |s: Strategy| {
        let mut rewrites = Rewrites::first(1);
        Rewriter::new(&mut supply, &mut rewrites, 10).run(&s, &e).unwrap();
        rewrites.into_last().and_then(|last| last.instance).unwrap().0
    };
    assert_eq!(first_before(unit().with(Combinator::TopDown)), e);
    assert_eq!(first_before(unit().with(Combinator::BottomUp)), compose(one(), scale(3.0)));
}

#[test]
fn innermost_and_normalize_reach_the_same_normal_form() {
    let names = ["one-compose", "compose-one", "scale-compose", "fold-float", "compose-assoc"];
    let e = compose(compose(scale(2.0), one()), compose(compose(one(), scale(3.0)), scale(4.0)));
    let expected = Some(scale(24.0));
    assert_eq!(rewrite(&laws(&names).with(Combinator::Innermost), &e).unwrap(), expected);
    assert_eq!(rewrite(&laws(&names).with(Combinator::Normalize), &e).unwrap(), expected);
}

/// With k rewrites allowed, the term is that after the first k; with more than there are, the last is not told.
#[test]
fn rewriting_stops_where_it_is_told() {
    let e = compose(one(), compose(one(), scale(3.0)));
    let innermost = unit().with(Combinator::Innermost);
    let after = |n: usize| {
        let mut rewrites = Rewrites::first(n);
        let made = Rewriter::new(&mut Supply::default(), &mut rewrites, 10).run(&innermost, &e).unwrap().unwrap();
        (made, rewrites.into_last().map(|last| last.law.to_string()))
    };
    let law = Some("one-compose".to_string());
    assert_eq!(after(0), (e.clone(), None));
    assert_eq!(after(1), (compose(one(), scale(3.0)), law.clone()));
    assert_eq!(after(2), (scale(3.0), law));
    assert_eq!(after(3), (scale(3.0), None));
}

#[test]
fn divergence_names_the_laws() {
    let there = Arc::new(Law::equation("swap", "test", "m ⊕ n = n ⊕ m"));
    let e = Expr::prim(Prim::LmAdd, [one(), scale(3.0)]);
    let error = rewrite(&Strategy::innermost(vec![there]), &e).unwrap_err();
    assert_eq!(error.laws, ["swap".into()]);
    assert!(error.to_string().contains("swap"), "{error}");
    assert!(rewrite(&Strategy::Id.with(Combinator::Repeat), &e).is_err());
}

#[test]
fn a_law_that_copies_a_map_fires_only_where_copies_are_free() {
    let hcat = Expr::prim(Prim::LmHCat, [one(), one()]);
    let law = laws(&["compose-hcat"]);
    assert!(rewrite(&law, &compose(scale(2.0), hcat.clone())).unwrap().is_some());
    let costly = compose(scale(2.0), scale(3.0));
    assert!(rewrite(&law, &compose(costly, hcat)).unwrap().is_none());
}

#[test]
fn rewriting_takes_steps_in_proportion_to_the_term() {
    let steps = |n: usize| {
        let e = (0..n).fold(scale(1.5), |e, _| compose(one(), e));
        let mut supply = Supply::default();
        let mut all = Rewrites::all();
        let mut cx = Rewriter::new(&mut supply, &mut all, 1_000_000);
        cx.run(&Strategy::innermost(vec![law::named("one-compose").clone()]), &e).unwrap();
        cx.fired.values().sum::<usize>()
    };
    assert_eq!((steps(50), steps(500)), (50, 500));
}

/// `fold-float` has no operator at its root, `vector-scale-one` has: the set's order decides.
#[test]
fn the_first_law_of_a_set_that_applies_is_taken() {
    let e = Expr::prim(Prim::Mul, [Expr::float(1.0), Expr::float(2.0)]);
    for names in [["fold-float", "vector-scale-one"], ["vector-scale-one", "fold-float"]] {
        let mut supply = Supply::default();
        let mut all = Rewrites::all();
        let mut cx = Rewriter::new(&mut supply, &mut all, 10);
        assert_eq!(cx.run(&laws(&names), &e).unwrap(), Some(Expr::float(2.0)));
        assert_eq!(cx.fired.keys().map(|name| &**name).collect::<Vec<_>>(), [names[0]]);
    }
}

/// The strategies that a recursion defines.
#[test]
fn recursion_is_what_it_says() {
    let e = compose(one(), compose(one(), scale(3.0)));
    assert_eq!(rewrite(&read("mu x. try(one-compose ; x)"), &e).unwrap(), Some(scale(3.0)));
    let inner = compose(scale(2.0), compose(one(), scale(3.0)));
    assert_eq!(rewrite(&read("mu x. one-compose <+ one(x)"), &inner).unwrap(), Some(compose(scale(2.0), scale(3.0))));
}

#[test]
fn fuel_bounds_the_steps_and_what_is_left_stays() {
    let e = compose(one(), compose(one(), compose(one(), scale(3.0))));
    let after = |text: &str| rewrite(&read(text), &e).unwrap().unwrap();
    assert_eq!(after("fuel(2, innermost(one-compose))"), compose(one(), scale(3.0)));
    assert_eq!(
        after("fuel(2, fuel(1, repeat(one-compose)) ; fuel(5, repeat(one-compose)))"),
        compose(one(), scale(3.0))
    );
    // The second loop has fuel again.
    assert_eq!(after("fuel(1, innermost(one-compose)) ; innermost(one-compose)"), scale(3.0));
    let add = Expr::prim(Prim::LmAdd, [one(), scale(3.0)]);
    let swap = Strategy::laws_of(vec![Arc::new(Law::equation("swap", "test", "m ⊕ n = n ⊕ m"))]);
    let bounded = Strategy::Fuel(41, boxed(swap.with(Combinator::Repeat)));
    let swapped = Expr::prim(Prim::LmAdd, [scale(3.0), one()]);
    assert_eq!(rewrite(&bounded, &add).unwrap(), Some(swapped));
}

/// What a strategy does before it fails is as if it had not been: neither its term nor what it named stays.
#[test]
fn a_failure_leaves_nothing() {
    let mut supply = Supply::default();
    let (x, b) = (supply.fresh("x", Type::Float), supply.fresh("b", Type::Bool));
    let [m, n] = [1.0, 2.0].map(|k| Expr::prim(Prim::LmScale, [Expr::dummy(Type::Float), Expr::float(k)]));
    // `apply-if` names its vector.
    let vector = Expr::prim(Prim::Add, [Expr::var(&x), Expr::var(&x)]);
    let e = Expr::prim(Prim::LmApply, [Expr::conditional(Expr::var(&b), m, n), vector]);
    assert!(matches!(rewrite(&read("apply-if"), &e).unwrap().unwrap().kind(), Kind::Let(..)));
    assert_eq!(rewrite(&read("try(apply-if ; fail)"), &e).unwrap(), Some(e.clone()));
    // `;` is weaker than `<+`.
    assert!(matches!(rewrite(&read("apply-if ; fail <+ id"), &e).unwrap().unwrap().kind(), Kind::Let(..)));
    assert_eq!(rewrite(&read("(apply-if ; fail) <+ id"), &e).unwrap(), Some(e));
}

/// Two `innermost` of one run know each their own normal terms.
#[test]
fn each_innermost_has_its_own_normal_terms() {
    let e = compose(compose(one(), scale(2.0)), compose(scale(3.0), one()));
    let s = read("innermost(one-compose) ; innermost(compose-one)");
    assert_eq!(rewrite(&s, &e).unwrap(), Some(compose(scale(2.0), scale(3.0))));
}

fn divergence(s: &Strategy, e: &Expr) -> OutOfFuel {
    rewrite(s, e).expect_err("it has no end")
}

#[test]
fn a_cycle_is_told_with_its_laws() {
    let there = Arc::new(Law::equation("there", "test", "m ∘ (n ⊕ p) = (m ∘ n) ⊕ (m ∘ p)"));
    let back = Arc::new(Law::equation("back", "test", "(m ∘ n) ⊕ (m ∘ p) = m ∘ (n ⊕ p)"));
    let e = compose(one(), Expr::prim(Prim::LmAdd, [one(), one()]));
    let either = Strategy::laws_of(vec![there, back]);
    let loops = [Combinator::Repeat, Combinator::Innermost, Combinator::Normalize];
    for error in loops.map(|combinator| divergence(&either.clone().with(combinator), &e)) {
        let Divergence::Cycle { first, again, mut laws } = *error.why.clone() else { panic!("{error}") };
        laws.sort();
        assert_eq!((again - first, laws), (2, vec!["back".into(), "there".into()]));
        assert!(error.to_string().contains("undo each other"), "{error}");
    }
    let recursive = Strategy::Mu(1, boxed(Strategy::Seq(boxed(either), boxed(Strategy::Var(1)))));
    assert!(matches!(*divergence(&recursive, &e).why, Divergence::Cycle { .. }));
}

#[test]
fn growth_is_told() {
    let zeros = |n: usize| format!("m ∘ n = (m ∘ n) ⊕ {}0{}", "(0 ⊕ ".repeat(n), ")".repeat(n));
    let grow = |n: usize| Strategy::laws_of(vec![Arc::new(Law::equation("grow", "test", &zeros(n)))]);
    let e = compose(one(), one());
    let error = divergence(&grow(20).with(Combinator::Normalize), &e);
    let Divergence::Growth { nodes, steps, most } = *error.why.clone() else { panic!("{error}") };
    assert!(nodes > 10_000 && steps < 300 && most.is_some_and(|(law, _)| *law == *"grow"), "{error}");
    // A few nodes for each step: the steps run out first.
    let error = divergence(&grow(1).with(Combinator::Normalize), &e);
    assert!(matches!(*error.why, Divergence::Steps { .. }), "{error}");
}

/// A walk without steps that takes time exponential in the depth of the term is stopped, too.
#[test]
fn a_walk_has_an_end() {
    let e = (0..200).fold(scale(1.5), |e, _| compose(scale(2.0), e));
    let error = divergence(&read("mu x. all(x) ; all(x)"), &e);
    assert!(error.to_string().contains("without a step"), "{error}");
}

#[test]
fn passes_and_stages_are_driven_in_order() {
    let driven = |text: &str| {
        let mut seen = Vec::new();
        let done = drive(&read(text), &0, &mut |action, n: &u32| {
            seen.push(match action {
                Action::Rewrite(s) => s.laws().iter().map(|law| &*law.name).collect::<Vec<_>>().join(" "),
                Action::Pass(name) => format!("pass {name}"),
                Action::Stage(heading) => format!("stage {heading} {n}"),
            });
            Ok::<_, ()>(Some(n + 1))
        });
        (done.expect("no action fails"), seen.join(", "))
    };
    let both = "stage(\"First\", one-compose ; pass(cse)) ; add-zero ; (scale-one <+ scale-zero)";
    let seen = "one-compose, pass cse, stage First 2, add-zero, scale-one scale-zero";
    assert_eq!(driven(both), (Some(5), seen.into()));
    assert_eq!(driven("try(add-zero ; fail ; pass(cse)) ; pass(cse)"), (Some(1), "add-zero, pass cse".into()));
    assert_eq!(driven("(fail <+ pass(cse)) ; add-zero"), (Some(2), "pass cse, add-zero".into()));
    // `;` is weaker than `<+`.
    assert_eq!(driven("fail ; pass(cse) <+ pass(cse)"), (None, String::new()));
}
#[test]
fn the_files_of_lmc_read_back_as_they_print() {
    let known =
        Known { passes: &["apart", "inline", "hoist", "anf", "cse", "dce"], of_terms: &[], of_definitions: &[] };
    let library = Library::new(known, &BUILT_IN).expect("it is right");
    for text in [library.text(None), library.text(Some("jacobian"))] {
        let again = Library::new(known, &[("again", &text)]).expect("it reads back");
        assert_eq!(again.text(None), text);
        let laws = |library: &Library| {
            let names = library.strategy("jacobian").laws();
            names.iter().map(|law| law.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(laws(&again), laws(&library));
    }
    for (name, text) in VARIANTS {
        library.with(name, text).unwrap_or_else(|refused| panic!("{name}: {:?}", refused.mistakes));
    }
}
