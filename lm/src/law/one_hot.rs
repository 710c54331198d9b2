//! Sums of which at most one term is not zero, and the indices at which it is.
//!
//! Source: working notes, sec. 4: `sum(build(n, λi. if i == k then x else 0)) = x[i := k]`. The notes leave out that k
//! may be out of range, where the sum is zero. `$as_size` fails for a negative n as the build does, so that what is
//! derived from the right-hand side does too.

use super::context::Context;
use super::native::{Head, Native};
use crate::facts::Facts;
use crate::prim::{Effect, Prim};
use crate::scope::{free_variables, substitute};
use crate::term::{Binding, Constant, Expr, Kind, Op, Span, Var};
use crate::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

#[rustfmt::skip]
/// The rows of the table of laws.
pub(super) static ONE_HOT: &[Native] = &[
    Native { name: "sum-one-hot",      source: "sec. 4", text: "sum(build(n, λi. if i == k then x else 0)) = if k < $as_size(n) and 0 <= k then x[i := k] else sum(build(n, λi. 0))", head: Some(Head::Prim(Prim::Sum)),      rewrite: of_sum },
    Native { name: "eq-of-tuples",     source: "derived", text: "k == (l1, .., ln) = k.1 == l1 and .. and k.n == ln", head: Some(Head::Prim(Prim::Eq)), rewrite: of_tuples },
    Native { name: "eq-of-shift",      source: "derived", text: "k + m == l = k == l - m, l depends on a direction, and k and m do not", head: Some(Head::Prim(Prim::Eq)), rewrite: of_shift },
    Native { name: "in-range",         source: "derived", text: "k < n = true, for an index k of tensors of size n", head: Some(Head::Prim(Prim::Lt)), rewrite: in_known_range },
    Native { name: "sumbuild-one-hot", source: "sec. 4", text: "sumbuild(w, n, λi. if i == k then x else 0) = if k < $as_size(n) and 0 <= k then x[i := k] else ts_zero(w)",       head: Some(Head::Prim(Prim::SumBuild)), rewrite: of_sumbuild },
];

/// The function `λi. let inner in if i == k then x else zero`, in which `outer` is bound as well.
struct OneHot<'a> {
    index: &'a Var,
    /// What does not depend on i.
    outer: Vec<Binding>,
    inner: Vec<Binding>,
    /// An index that costs nothing.
    k: Expr,
    x: &'a Expr,
    zero: &'a Expr,
}

/// Returns whether the term is `build(n, f)` where at most one element is not zero.
pub fn is_one_hot(e: &Expr) -> bool {
    e.args_of_prim(Prim::Build).is_some_and(|args| OneHot::of(&args[1]).is_some())
}

fn of_sum(e: &Expr, cx: &Context) -> Option<Expr> {
    let build = &e.args_of_prim(Prim::Sum)?[0];
    let [n, f] = build.args_of_prim(Prim::Build)? else { return None };
    let one_hot = OneHot::of(f)?;
    let zeros = Expr::prim(Prim::Build, [n.clone(), Expr::lam(one_hot.index.clone(), one_hot.zero.clone())]);
    Some(one_hot.element(n, Expr::prim(Prim::Sum, [zeros.placed(build.span())]), build.span(), &cx.facts))
}

fn of_sumbuild(e: &Expr, cx: &Context) -> Option<Expr> {
    let [w, n, f] = e.args_of_prim(Prim::SumBuild)? else { return None };
    Some(OneHot::of(f)?.element(n, Expr::prim(Prim::ZeroOf, [w.clone()]), e.span(), &cx.facts))
}

fn in_known_range(e: &Expr, cx: &Context) -> Option<Expr> {
    let [k, n] = e.args_of_prim(Prim::Lt)? else { return None };
    let is_index = *k.ty() == Type::Integer && cx.facts.is_below(k, n);
    is_index.then(|| Expr::constant(Constant::Bool(true)))
}

/// Brings an index to a side of its own: so also for k - m, and for m - k.
fn of_shift(e: &Expr, cx: &Context) -> Option<Expr> {
    let [a, b] = e.args_of_prim(Prim::Eq)? else { return None };
    let is_late = |e: &Expr| cx.facts.is_late(e) || cx.at_any_cost;
    let alone = |shifted: &Expr, l: &Expr| {
        if *l.ty() != Type::Integer || !is_late(l) || cx.facts.is_late(shifted) {
            return None;
        }
        let is_index = |e: &Expr| e.as_var().is_some_and(|x| cx.facts.is_index(x) || cx.at_any_cost);
        let (k, other) = match (shifted.args_of_prim(Prim::Add), shifted.args_of_prim(Prim::Sub)) {
            (Some([k, m] | [m, k]), _) if is_index(k) && !is_index(m) => {
                (k, Expr::prim(Prim::Sub, [l.clone(), m.clone()]))
            }
            (_, Some([k, m])) if is_index(k) && !is_index(m) => (k, Expr::prim(Prim::Add, [l.clone(), m.clone()])),
            (_, Some([m, k])) if is_index(k) && !is_index(m) => (k, Expr::prim(Prim::Sub, [m.clone(), l.clone()])),
            _ => return None,
        };
        Some(Expr::prim(Prim::Eq, [k.clone(), other]))
    };
    alone(a, b).or_else(|| alone(b, a))
}

/// Compares indices of several dimensions number by number.
fn of_tuples(e: &Expr, _: &Context) -> Option<Expr> {
    let [k, l] = e.args_of_prim(Prim::Eq)? else { return None };
    let n = k.ty().rank_of_index().filter(|_| k.ty().as_tuple().is_some())?;
    if !is_plain(k) || !is_plain(l) {
        return None;
    }
    let component = |i: usize, e: &Expr| match e.args_of(&Op::Tuple) {
        Some(parts) => parts[i - 1].clone(),
        None => Expr::get(i, e.clone()),
    };
    let equal = (1..=n).map(|i| Expr::prim(Prim::Eq, [component(i, k), component(i, l)]));
    equal.reduce(|a, b| Expr::prim(Prim::And, [a, b]))
}

impl OneHot<'_> {
    fn of(f: &Expr) -> Option<OneHot<'_>> {
        let Kind::Lam(index, body) = f.kind() else { return None };
        let (bindings, result) = body.as_block();
        let [c, then, otherwise] = result.args_of(&Op::If)? else { return None };
        // What varies with i, and is computed for each i: it must not stop the program.
        let mut varying = FxHashSet::from_iter([index.id()]);
        let varies = |e: &Expr, varying: &FxHashSet<u32>| free_variables(e).iter().any(|x| varying.contains(&x.id()));
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        for b in bindings {
            if !is_total(&b.rhs) {
                return None;
            }
            if varies(&b.rhs, &varying) {
                varying.extend(b.pattern.vars().iter().map(|x| x.id()));
                inner.push(b.clone());
            } else {
                outer.push(b.clone());
            }
        }
        let bound = |x: &Var| inner.iter().find(|b| b.pattern.vars() == [x.clone()]).map(|b| &b.rhs);
        let condition = c.as_var().and_then(bound).unwrap_or(c);
        let (sides, x, zero) = match (condition.args_of_prim(Prim::Eq), condition.args_of_prim(Prim::Ne)) {
            (Some(sides), _) => (sides, then, otherwise),
            (_, Some(sides)) => (sides, otherwise, then),
            _ => return None,
        };
        let is_index = |e: &Expr| e.as_var() == Some(index);
        let k = match sides {
            [i, k] if is_index(i) => k,
            [k, i] if is_index(i) => k,
            _ => return None,
        };
        if varies(k, &varying) || !is_plain(k) {
            return None;
        }
        let depends_on_inner = inner.iter().flat_map(|b| b.pattern.vars()).any(|v| free_variables(zero).contains(v));
        let k = k.clone();
        (is_zero(zero) && !depends_on_inner).then_some(OneHot { index, outer, inner, k, x, zero })
    }

    /// Returns the element of a range of n elements that is not zero, or what the sum is without one. The range is
    /// refused at the place given.
    fn element(self, n: &Expr, without: Expr, place: Span, facts: &Facts) -> Expr {
        let at_k = FxHashMap::from_iter([(self.index.id(), self.k.clone())]);
        let x = substitute(&Expr::block(self.inner, self.x.clone()), &at_k);
        if facts.is_below(&self.k, n) {
            return Expr::block(self.outer, x);
        }
        let range = in_range(&self.k, n, place);
        Expr::block(self.outer, Expr::conditional(range, x, without))
    }
}

/// Returns whether an index is one of a tensor of size n, whose sign is checked first, at the place given.
fn in_range(k: &Expr, n: &Expr, place: Span) -> Expr {
    if let Some(parts) = k.ty().as_tuple() {
        let component = |i| in_range(&Expr::get(i, k.clone()), &Expr::get(i, n.clone()), place);
        return (1..=parts.len())
            .map(component)
            .reduce(|a, b| Expr::prim(Prim::And, [a, b]))
            .unwrap_or_else(|| Expr::constant(Constant::Bool(true)));
    }
    let n = Expr::prim(Prim::AsSize, [n.clone()]).placed(place);
    let below = Expr::prim(Prim::Lt, [k.clone(), n]);
    match k.kind() {
        Kind::Const(Constant::Integer(0..)) => below,
        _ => Expr::prim(Prim::And, [below, Expr::prim(Prim::Lte, [Expr::integer(0), k.clone()])]),
    }
}

/// Returns whether an index is built of names, numbers, their components, sums and differences only.
fn is_plain(k: &Expr) -> bool {
    match k.kind() {
        Kind::App(Op::Tuple | Op::Get(..) | Op::Prim(Prim::Add | Prim::Sub), args) => args.iter().all(is_plain),
        _ => k.is_atom(),
    }
}

fn is_zero(e: &Expr) -> bool {
    match e.kind() {
        Kind::Const(Constant::Float(x)) => *x == 0.0,
        Kind::App(Op::Tuple, parts) => parts.iter().all(is_zero),
        Kind::App(Op::Prim(Prim::ZeroOf), _) => true,
        Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}

/// Returns whether the term has a value, whatever its variables are, and prints nothing.
fn is_total(e: &Expr) -> bool {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => true,
        Kind::App(op, args) => is_total_operator(op, e.ty()) && args.iter().all(is_total),
        Kind::Let(..) | Kind::Lam(..) => false,
    }
}

fn is_total_operator(op: &Op, ty: &Type) -> bool {
    match op {
        Op::Tuple | Op::Get(..) | Op::Dummy | Op::If => true,
        // Sums of tensors fail where their sizes differ.
        Op::Prim(Prim::Add | Prim::Sub) => matches!(ty, Type::Integer | Type::Float),
        Op::Prim(p) => p.effect() == Effect::Pure,
        _ => false,
    }
}
