//! Runs passes on the instances of their laws.

use crate::derive::figures::checkpoints::segments::Checkpoints;
use crate::derive::figures::fig06_jacobian::jacobian;
use crate::derive::figures::paper000_dual::apart::apart;
use crate::derive::passes::{
    add_destinations, anf, apply, apply_maps, arrays, carry_states, closed_folds, cse, dce, dead_components,
    expand_arrays, folds_of_maps, fuse_sums, hoist_residuals, independent_arguments, inline_maps, inline_marked,
    inline_single_uses, literal_zeros, merge_calls, pair_recursive_calls, share_elements, simplify, sink_one_hots,
    split_pairs, transpose,
};
use crate::derive::schedule::strategy;
use crate::ks::check::expansion;
use lm::effect::Effects;
use lm::facts::Facts;
use lm::prim::Prim;
use lm::rewriter::Rewriter;
use lm::rewrites::Rewrites;
use lm::term::{Def, Derivative, Expr, Fun, FunName, Kind, Op, Supply};
use lm::types::Type;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// The fuel: more than any instance takes.
const FUEL: usize = 10_000;

pub(super) fn normalised(def: &Def, supply: &mut Supply) -> Def {
    anf::anf(def, supply, &mut Rewrites::all())
}

pub(super) fn with_arrays_expanded(def: &Def, supply: &mut Supply) -> Def {
    expand_arrays::expand_arrays(def, &expansion, supply, &mut Rewrites::all())
}

/// Returns the Jacobian, as the rules make it.
pub(super) fn derived(def: &Def, supply: &mut Supply) -> Def {
    jacobian(def, supply, &|_| false, Checkpoints::default()).expect("instances have derivatives")
}

pub(super) fn simplified(def: &Def, supply: &mut Supply) -> Def {
    let simple = simplify::simplify(def, strategy("jacobian"), &mut Rewriter::new(supply, &mut Rewrites::all(), FUEL));
    simple.expect("an instance is small")
}

pub(super) fn transposed(def: &Def, supply: &mut Supply) -> Def {
    let mut name = def.fun.name.clone();
    name.derivations[0] = Derivative::Dt;
    let transposed =
        transpose::transpose(def, name, strategy("transpose"), &mut Rewriter::new(supply, &mut Rewrites::all(), FUEL));
    transposed.expect("an instance is small")
}

pub(super) fn applied(def: &Def, supply: &mut Supply) -> Def {
    apply::apply(def, strategy("apply"), &mut Rewriter::new(supply, &mut Rewrites::all(), FUEL))
        .expect("an instance is small")
}

pub(super) fn with_maps_applied(def: &Def, supply: &mut Supply) -> Def {
    let mut rewrites = Rewrites::all();
    let cx = &mut Rewriter::new(supply, &mut rewrites, FUEL);
    apply_maps::apply_maps(def, strategy("sides"), &Effects::default(), cx)
        .expect("the laws apply the maps of instances")
}

pub(super) fn with_arrays_fused(def: &Def, supply: &mut Supply) -> Def {
    let mut rewrites = Rewrites::all();
    let cx = &mut Rewriter::new(supply, &mut rewrites, FUEL);
    arrays::arrays(def, None, strategy("directions"), &Effects::default(), cx).expect("an instance is small")
}

/// In the instances `twice` applies a map twice to 1, and the Jacobian of `double` is known.
pub(super) fn inlined_maps(def: &Def, supply: &mut Supply) -> Def {
    let m = supply.fresh("m", Type::lm(Type::Float, Type::Float));
    let apply = |x: Expr| Expr::prim(Prim::LmApply, [Expr::var(&m), x]);
    let twice = Def::new(FunName::base("twice"), vec![m.clone()], apply(apply(Expr::float(1.0))));
    let x = supply.fresh("x", Type::Float);
    let scale = Expr::prim(Prim::LmScale, [Expr::float(1.0), Expr::float(2.0)]);
    let double = Def::new(FunName::base("double").derived(Derivative::D), vec![x], scale);
    let callees = inline_maps::Callees {
        body: &|name| (*name == twice.fun.name).then(|| twice.clone()),
        jacobian: &|name| (*name == FunName::base("double")).then(|| double.clone()),
        params: &|_| Some(vec![Type::Float]),
    };
    inline_maps::inline_maps(def, callees, supply, &mut Rewrites::all())
}

pub(super) fn without_dead(def: &Def, _: &mut Supply) -> Def {
    dce::dce(def, &Effects::default(), &mut Rewrites::all())
}

pub(super) fn without_dead_components(def: &Def, supply: &mut Supply) -> Def {
    dead_components::dead_components(def, supply, &mut Rewrites::all())
}

pub(super) fn shared(def: &Def, _: &mut Supply) -> Def {
    cse::cse(def, &Effects::default(), &mut Rewrites::all())
}

/// In the instance g is the square.
pub(super) fn in_place(def: &Def, supply: &mut Supply) -> Def {
    let y = supply.fresh("y", Type::Float);
    let g = Def::new(FunName::base("g"), vec![y.clone()], Expr::prim(Prim::Mul, [Expr::var(&y), Expr::var(&y)]));
    let body = |e: &Expr| matches!(e.kind(), Kind::App(Op::Call(_), _)).then_some(&g);
    inline_marked::inline_marked(def, &body, supply, &mut Rewrites::all())
}

/// In the instance g depends on its second argument alone.
pub(super) fn independent(def: &Def, _: &mut Supply) -> Def {
    independent_arguments::independent_arguments(def, &|_, argument| argument == 0, &mut Rewrites::all())
}

pub(super) fn carried(def: &Def, supply: &mut Supply) -> Def {
    carry_states::carry_states(def, &Effects::default(), supply, &mut Rewrites::all())
}

pub(super) fn merged(def: &Def, supply: &mut Supply) -> Def {
    let (records, all) = (merge_calls::Records::default(), &mut Rewrites::all());
    merge_calls::merge_calls(def, &records, &[], &Effects::default(), supply, all)
}

/// In the instances the record of g is a number.
pub(super) fn in_halves(def: &Def, supply: &mut Supply) -> Def {
    with_halves(def, supply, &mut Rewrites::all())
}

/// Does the first rewrite of [`in_halves`] alone.
pub(super) fn halved_once(def: &Def, supply: &mut Supply) -> Def {
    with_halves(def, supply, &mut Rewrites::first(1))
}

fn with_halves(def: &Def, supply: &mut Supply, rewrites: &mut Rewrites) -> Def {
    let g = Fun { name: FunName::base("g"), params: vec![Type::Float], result: Type::Float };
    let records = merge_calls::Records::from_iter([(g.name.clone(), (Arc::new(g), Type::Float))]);
    merge_calls::merge_calls(def, &records, &[], &Effects::default(), supply, rewrites)
}

/// In the instance g calls itself.
pub(super) fn paired(def: &Def, supply: &mut Supply) -> Def {
    pair_recursive_calls::pair_recursive_calls(
        def,
        &FxHashSet::from_iter([FunName::base("g")]),
        &Effects::default(),
        supply,
        &mut Rewrites::all(),
    )
}

/// Runs the pass with the last parameter for the direction.
pub(super) fn with_residuals(def: &Def, supply: &mut Supply) -> Def {
    let late = &def.params[def.params.len() - 1..];
    hoist_residuals::hoist_residuals(def, late, &Effects::default(), supply, &mut Rewrites::all())
}

pub(super) fn fused(def: &Def, supply: &mut Supply) -> Def {
    with_sums_fused(def, supply, &mut Rewrites::all())
}

/// Does the first rewrite of [`fused`] alone.
pub(super) fn fused_once(def: &Def, supply: &mut Supply) -> Def {
    with_sums_fused(def, supply, &mut Rewrites::first(1))
}

fn with_sums_fused(def: &Def, supply: &mut Supply, rewrites: &mut Rewrites) -> Def {
    let effects = Effects::default();
    fuse_sums::fuse_sums(def, &effects, supply, rewrites, &|e| cse::cse_of_term(e, &effects))
}

pub(super) fn with_folds_closed(def: &Def, supply: &mut Supply) -> Def {
    closed_folds::closed_folds(def, &|_| None, supply, &mut Rewrites::all())
}

pub(super) fn with_maps_of_folds(def: &Def, supply: &mut Supply) -> Def {
    folds_of_maps::folds_of_maps(def, &|_| None, &Effects::default(), Facts::default(), supply, &mut Rewrites::all())
}

pub(super) fn with_elements_shared(def: &Def, _: &mut Supply) -> Def {
    share_elements::share_elements(def, &Effects::default(), &mut Rewrites::all())
}

pub(super) fn with_one_hots_sunk(def: &Def, supply: &mut Supply) -> Def {
    sink_one_hots::sink_one_hots(def, supply, &mut Rewrites::all())
}

pub(super) fn with_pairs_split(def: &Def, _: &mut Supply) -> Def {
    split_pairs::split_pairs(def, &mut Rewrites::all())
}

pub(super) fn with_literal_zeros(def: &Def, _: &mut Supply) -> Def {
    literal_zeros::literal_zeros(def, &mut Rewrites::all())
}

/// In the instances g calls itself.
pub(super) fn with_destinations(def: &Def, _: &mut Supply) -> Def {
    let params = vec![Type::vec(Type::Float), Type::Integer];
    let g = Arc::new(Fun { name: FunName::base("g"), params, result: Type::Float });
    add_destinations::add_destinations(def, &|f| (*f == g.name).then(|| g.clone()), &mut Rewrites::all())
}

pub(super) fn with_sums_in_destinations(def: &Def, _: &mut Supply) -> Def {
    add_destinations::sums_in_destinations(def, &mut Rewrites::all())
}

pub(super) fn inlined(def: &Def, _: &mut Supply) -> Def {
    inline_single_uses::inline_single_uses(def, &Effects::default(), &mut Rewrites::all())
}

/// In the instance f goes from Float to Float.
pub(super) fn taken_apart(def: &Def, supply: &mut Supply) -> Def {
    let f = Fun { name: FunName::base("f"), params: vec![Type::Float], result: Type::Float };
    apart(def, &f, &Effects::default(), supply)
}
