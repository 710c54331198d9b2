//! Each strategy combinator does what its equation says; rewriting that does not end is an error
//! that names the laws.

use lm::law::{self, Law};
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter};
use lm::rewrites::Rewrites;
use lm::strategy::{LawSet, Strategy};
use lm::term::{Expr, Supply};
use lm::types::Type;
use std::sync::Arc;

fn laws(names: &[&str]) -> Strategy {
    Strategy::Laws(Arc::new(LawSet::new(names.iter().map(|n| law::named(n).clone()).collect())))
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
    assert_eq!(rewrite(&Strategy::Try(boxed(unit())), &scale(3.0)).unwrap(), Some(scale(3.0)));
    assert_eq!(rewrite(&Strategy::Repeat(boxed(unit())), &e).unwrap(), Some(scale(3.0)));
}

#[test]
fn one_some_and_all_choose_children() {
    let redex = || compose(one(), scale(3.0));
    let both = compose(redex(), redex());
    let run = |s: fn(Arc<Strategy>) -> Strategy, e: &Expr| rewrite(&s(boxed(unit())), e).unwrap();
    assert_eq!(run(Strategy::One, &both), Some(compose(scale(3.0), redex())));
    assert_eq!(run(Strategy::All, &both), Some(compose(scale(3.0), scale(3.0))));
    let half = compose(scale(2.0), redex());
    assert_eq!(run(Strategy::Some, &half), Some(compose(scale(2.0), scale(3.0))));
    assert_eq!(run(Strategy::All, &half), None);
    assert_eq!(run(Strategy::Some, &scale(2.0)), None);
    let second = |s| Strategy::Child(1, s);
    assert_eq!(run(second, &both), Some(compose(redex(), scale(3.0))));
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
    assert_eq!(first_before(Strategy::TopDown(boxed(unit()))), e);
    assert_eq!(first_before(Strategy::BottomUp(boxed(unit()))), compose(one(), scale(3.0)));
}

#[test]
fn innermost_and_normalize_reach_the_same_normal_form() {
    let names = ["one-compose", "compose-one", "scale-compose", "fold-float", "compose-assoc"];
    let e = compose(compose(scale(2.0), one()), compose(compose(one(), scale(3.0)), scale(4.0)));
    let expected = Some(scale(24.0));
    assert_eq!(rewrite(&Strategy::Innermost(boxed(laws(&names))), &e).unwrap(), expected);
    assert_eq!(rewrite(&Strategy::Normalize(boxed(laws(&names))), &e).unwrap(), expected);
}

/// With k rewrites allowed, the term is that after the first k; with more than there are, the last is not told.
#[test]
fn rewriting_stops_where_it_is_told() {
    let e = compose(one(), compose(one(), scale(3.0)));
    let innermost = Strategy::Innermost(boxed(unit()));
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
    assert!(rewrite(&Strategy::Repeat(boxed(Strategy::Id)), &e).is_err());
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

#[test]
fn strategies_print_as_they_are_written() {
    let s = Strategy::Seq(
        boxed(Strategy::Try(boxed(unit()))),
        boxed(Strategy::Innermost(boxed(laws(&["add-zero", "zero-add"])))),
    );
    assert_eq!(s.to_string(), "(try(one-compose) ; innermost(add-zero <+ zero-add))");
}
