//! Lists the laws whose right side no pattern can express: laws on the i-th of n components, on literals, and on sums of
//! many terms. Each has its text in the table like any other, and is tested like any other.

use super::context::Context;
use super::context::Spaces;
use super::matching::sum;
use crate::prim::Prim;
use crate::scope::occurrences;
use crate::term::{Binding, Constant, Expr, Kind, Op, Pattern};

/// A right side as a function of the matched term; `None` where the law does not fire.
pub type Rewrite = fn(&Expr, &Context) -> Option<Expr>;

/// One law of this kind.
#[derive(Debug)]
pub struct Native {
    /// The name.
    pub name: &'static str,
    /// The source.
    pub source: &'static str,
    /// The law.
    pub text: &'static str,
    /// The operator at the root of its left side; `None` for any.
    pub head: Option<Head>,
    /// The rewrite.
    pub rewrite: Rewrite,
}

/// The operator at the root of a left side, up to its indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Head {
    /// A primitive.
    Prim(Prim),
    /// A conditional.
    If,
    /// A projection.
    Get,
    /// A tuple.
    Tuple,
    /// The Jacobian of a primitive.
    Jacobian,
    /// A projection map.
    Projection,
}

impl Head {
    /// Returns the head of a term.
    pub fn of(e: &Expr) -> Option<Head> {
        match e.kind() {
            Kind::App(Op::Prim(p), _) => Some(Head::Prim(*p)),
            Kind::App(Op::If, _) => Some(Head::If),
            Kind::App(Op::Get(..), _) => Some(Head::Get),
            Kind::App(Op::Tuple, _) => Some(Head::Tuple),
            Kind::App(Op::JacobianOf(_), _) => Some(Head::Jacobian),
            Kind::App(Op::LmGet(..), _) => Some(Head::Projection),
            Kind::App(
                Op::Assert
                | Op::Dummy
                | Op::Call(_)
                | Op::JacobianOfFun(_)
                | Op::JacobianAt(_)
                | Op::Pack(_)
                | Op::Unpack(_),
                _,
            )
            | Kind::Const(_)
            | Kind::Var(_)
            | Kind::Let(..)
            | Kind::Lam(..) => None,
        }
    }
}

#[rustfmt::skip]
/// The table.
pub static NATIVE: &[Native] = &[
    Native { name: "apply-get",       source: "Fig. 2",     text: "π(i,n) ⊙ x = x.i",                                  head: Some(Head::Prim(Prim::LmApply)),     rewrite: apply_get },
    Native { name: "reverse-get",     source: "Fig. 2",     text: "r ⊙ᴿ π(i,n) = (0, .., r, .., 0)",                   head: Some(Head::Prim(Prim::LmApplyR)),    rewrite: reverse_get },
    Native { name: "get-vcat",        source: "Fig. 2",     text: "π(i,n) ∘ ×(m ..) = m.i",                            head: Some(Head::Prim(Prim::LmCompose)),   rewrite: get_vcat },
    Native { name: "transpose-get",   source: "Fig. 2",     text: "π(i,n)ᵀ = 0 × .. × 1 × .. × 0",                     head: Some(Head::Prim(Prim::LmTranspose)), rewrite: transpose_get },
    Native { name: "vcatv-zero",      source: "derived",    text: "V(w, build(n, λi. 0(s, t))) = 0(s, w)",             head: Some(Head::Prim(Prim::LmVCatV)),     rewrite: family_zero },
    Native { name: "addv-zero",       source: "derived",    text: "lmAddV(w, build(n, λi. 0(s, t))) = 0(s, w)",        head: Some(Head::Prim(Prim::LmAddV)),      rewrite: family_zero },
    Native { name: "index-build",     source: "derived",    text: "lmIndex(k, v) ∘ V(w, build(n, λi. m)) = let { i = k } m", head: Some(Head::Prim(Prim::LmCompose)), rewrite: index_build },
    Native { name: "index-build-compose", source: "derived", text: "lmIndex(k, v) ∘ (V(w, build(n, λi. m)) ∘ p) = let { i = k } m ∘ p", head: Some(Head::Prim(Prim::LmCompose)), rewrite: index_build_compose },
    Native { name: "sumbuild-zero",   source: "derived",    text: "sumbuild(w, n, λi. ts_zero(x)) = ts_zero(w)",       head: Some(Head::Prim(Prim::SumBuild)),    rewrite: sumbuild_zero },
    Native { name: "get-zero",        source: "sec. 2.2",   text: "ts_zero(x).i = ts_zero(x.i)",                       head: Some(Head::Get),                     rewrite: get_zero },
    Native { name: "get-tuple",       source: "sec. 1; Fig. 8e (ICFP)", text: "(x ..).i = x.i",                        head: Some(Head::Get),                     rewrite: get_tuple },
    Native { name: "get-of-if",       source: "Fig. 8d5 (ICFP)", text: "(if c then x else y).i = if c then x.i else y.i", head: Some(Head::Get),                   rewrite: get_of_if },
    Native { name: "tuple-get",       source: "sec. 1",     text: "(x.1, .., x.n) = x",                                head: Some(Head::Tuple),                   rewrite: tuple_get },
    Native { name: "vcat-get",        source: "Fig. 2",     text: "π(1,n) × .. × π(n,n) = 1",                          head: Some(Head::Prim(Prim::LmVCat)),      rewrite: vcat_get },
    Native { name: "inject-compose",  source: "derived",    text: "(0 × .. × m × .. × 0) ∘ n = 0 × .. × (m ∘ n) × .. × 0", head: Some(Head::Prim(Prim::LmCompose)), rewrite: inject_compose },
    Native { name: "fold-integer",    source: "sec. 1.1",   text: "j - k, j == k, to_float(k) = their value (j k literals)", head: None,                           rewrite: fold_integer },
    Native { name: "fold-float",      source: "sec. 2.2",   text: "k1 + k2, k1 * k2, -k = their value (k literals)",   head: None,                                rewrite: fold_float },
    Native { name: "collect",         source: "derived",    text: "(m ∘ p) ⊕ n ⊕ (m' ∘ p) = ((m ⊕ m') ∘ p) ⊕ n, in any order and number", head: Some(Head::Prim(Prim::LmAdd)), rewrite: collect },
];

pub(super) fn prim2(e: &Expr, p: Prim) -> Option<(&Expr, &Expr)> {
    match e.args_of_prim(p)? {
        [a, b] => Some((a, b)),
        _ => None,
    }
}

/// Returns the index, size and witness of a projection map.
pub(super) fn projection(m: &Expr) -> Option<(usize, usize, &Expr)> {
    match m.kind() {
        Kind::App(Op::LmGet(i, n), args) => Some((*i, *n, &args[0])),
        _ => None,
    }
}

fn apply_get(e: &Expr, _: &Context) -> Option<Expr> {
    let (m, x) = prim2(e, Prim::LmApply)?;
    Some(Expr::get(projection(m)?.0, x.clone()))
}

fn reverse_get(e: &Expr, _: &Context) -> Option<Expr> {
    let (r, m) = prim2(e, Prim::LmApplyR)?;
    let (i, n, s) = projection(m)?;
    let zero = |j| Expr::prim(Prim::ZeroOf, [Expr::witness(&Expr::get(j, component_source(s)))]);
    Some(Expr::tuple((1..=n).map(|j| if j == i { r.clone() } else { zero(j) }).collect::<Vec<_>>()))
}

fn get_vcat(e: &Expr, _: &Context) -> Option<Expr> {
    let (p, m) = prim2(e, Prim::LmCompose)?;
    let (i, ..) = projection(p)?;
    m.args_of_prim(Prim::LmVCat).map(|ms| ms[i - 1].clone())
}

fn transpose_get(e: &Expr, _: &Context) -> Option<Expr> {
    let m = &e.args_of_prim(Prim::LmTranspose)?[0];
    let (i, n, s) = projection(m)?;
    let component = |j| Expr::witness(&Expr::get(j, component_source(s)));
    let zero = |j| Expr::prim(Prim::LmZero, [component(i), component(j)]);
    let part = |j| {
        if j == i { Expr::prim(Prim::LmOne, [component(i)]) } else { zero(j) }
    };
    Some(Expr::prim(Prim::LmVCat, (1..=n).map(part).collect::<Vec<_>>()))
}

fn family_zero(e: &Expr, _: &Context) -> Option<Expr> {
    let Kind::App(_, args) = e.kind() else { return None };
    let [w, maps] = args.as_slice() else { return None };
    let Kind::Lam(i, body) = maps.args_of_prim(Prim::Build)?[1].kind() else { return None };
    let s = &body.args_of_prim(Prim::LmZero)?[0];
    let depends = occurrences(s).contains_key(&i.id());
    (!depends).then(|| Expr::prim(Prim::LmZero, [s.clone(), w.clone()]))
}

/// Returns the bindings and the map that an element of a family of maps is.
fn element_of_family(k: &Expr, family: &Expr) -> Option<(Vec<Binding>, Expr)> {
    let maps = family.args_of_prim(Prim::LmVCatV)?.last()?;
    let Kind::Lam(i, body) = maps.args_of_prim(Prim::Build)?[1].kind() else { return None };
    let (bindings, m) = body.as_block();
    let index = Binding { pattern: Pattern::Var(i.clone()), rhs: k.clone() };
    Some(([&[index], bindings].concat(), m.clone()))
}

fn index_build(e: &Expr, _: &Context) -> Option<Expr> {
    let (index, family) = prim2(e, Prim::LmCompose)?;
    let (bindings, m) = element_of_family(&index.args_of_prim(Prim::LmIndex)?[0], family)?;
    Some(Expr::block(bindings, m))
}

fn index_build_compose(e: &Expr, _: &Context) -> Option<Expr> {
    let (index, rest) = prim2(e, Prim::LmCompose)?;
    let (family, p) = prim2(rest, Prim::LmCompose)?;
    let (bindings, m) = element_of_family(&index.args_of_prim(Prim::LmIndex)?[0], family)?;
    Some(Expr::block(bindings, Expr::prim(Prim::LmCompose, [m, p.clone()])))
}

fn sumbuild_zero(e: &Expr, _: &Context) -> Option<Expr> {
    let [w, _, f] = e.args_of_prim(Prim::SumBuild)? else { return None };
    let Kind::Lam(_, body) = f.kind() else { return None };
    body.args_of_prim(Prim::ZeroOf)?;
    Some(Expr::prim(Prim::ZeroOf, [w.clone()]))
}

/// Returns a dummy tuple as a tuple of dummies, whose components can be selected.
pub fn component_source(s: &Expr) -> Expr {
    match (s.args_of(&Op::Dummy), s.ty().as_tuple()) {
        (Some(_), Some(parts)) => Expr::tuple(parts.iter().map(|t| Expr::dummy(t.clone())).collect::<Vec<_>>()),
        _ => s.clone(),
    }
}

fn vcat_get(e: &Expr, _: &Context) -> Option<Expr> {
    let ms = e.args_of_prim(Prim::LmVCat)?;
    let in_order =
        ms.iter().enumerate().all(|(i, m)| projection(m).is_some_and(|(j, n, _)| j == i + 1 && n == ms.len()));
    in_order.then(|| Expr::prim(Prim::LmOne, [projection(&ms[0]).expect("checked").2.clone()]))
}

/// Composes each part with n. At most one part is not zero, so nothing is copied.
fn inject_compose(e: &Expr, cx: &Context) -> Option<Expr> {
    let (v, n) = prim2(e, Prim::LmCompose)?;
    let ms = v.args_of_prim(Prim::LmVCat)?;
    let from = cx.spaces.domain(n)?;
    let mut others = 0;
    let mut part = |m: &Expr| match m.args_of_prim(Prim::LmZero) {
        Some(witnesses) => Expr::prim(Prim::LmZero, [from.clone(), witnesses[1].clone()]),
        None => {
            others += 1;
            Expr::prim(Prim::LmCompose, [m.clone(), n.clone()])
        }
    };
    let parts: Vec<Expr> = ms.iter().map(&mut part).collect();
    (others <= 1).then(|| Expr::prim(Prim::LmVCat, parts))
}

fn fold_integer(e: &Expr, _: &Context) -> Option<Expr> {
    let Kind::App(Op::Prim(p), args) = e.kind() else { return None };
    let literal = |e: &Expr| match e.kind() {
        Kind::Const(Constant::Integer(i)) => Some(*i),
        _ => None,
    };
    let args: Vec<i64> = args.iter().map(literal).collect::<Option<_>>()?;
    Some(match (p, args.as_slice()) {
        (Prim::Sub, [a, b]) => Expr::integer(a.wrapping_sub(*b)),
        (Prim::Eq, [a, b]) => Expr::constant(Constant::Bool(a == b)),
        (Prim::ToFloat, [a]) => Expr::float(*a as f64),
        _ => return None,
    })
}

fn get_zero(e: &Expr, _: &Context) -> Option<Expr> {
    let Kind::App(Op::Get(i, _), args) = e.kind() else { return None };
    let shape = component_source(&args[0].args_of_prim(Prim::ZeroOf)?[0]);
    // A witness of tangents has the components of its point, except for discrete ones.
    let component = Expr::get(*i, shape);
    (component.ty().tangent() == *e.ty()).then(|| Expr::prim(Prim::ZeroOf, [Expr::witness(&component)]))
}

fn get_of_if(e: &Expr, cx: &Context) -> Option<Expr> {
    let Kind::App(Op::Get(i, _), args) = e.kind() else { return None };
    let (whole, is_copy) = cx.facts.term(&args[0]).map_or((&args[0], false), |(term, is_once)| (term, !is_once));
    let parts = whole.args_of(&Op::If)?;
    if is_copy && !parts.iter().all(|part| cx.facts.is_cheap(part)) {
        return None;
    }
    let component = |branch: &Expr| {
        let (bindings, result) = branch.as_block();
        Expr::block(bindings.to_vec(), Expr::get(*i, result.clone()))
    };
    Some(Expr::conditional(parts[0].clone(), component(&parts[1]), component(&parts[2])))
}

fn get_tuple(e: &Expr, _: &Context) -> Option<Expr> {
    let Kind::App(Op::Get(i, _), args) = e.kind() else {
        return None;
    };
    args[0].args_of(&Op::Tuple).map(|parts| parts[i - 1].clone())
}

fn tuple_get(e: &Expr, _: &Context) -> Option<Expr> {
    let parts = e.args_of(&Op::Tuple)?;
    let source = |part: &Expr, j: usize| match part.kind() {
        Kind::App(Op::Get(i, n), args) if *i == j && *n == parts.len() => Some(args[0].clone()),
        _ => None,
    };
    let whole = source(parts.first()?, 1)?;
    whole.as_var()?;
    let same = parts.iter().enumerate().all(|(j, part)| source(part, j + 1).as_ref() == Some(&whole));
    same.then_some(whole)
}

fn fold_float(e: &Expr, _: &Context) -> Option<Expr> {
    let Kind::App(Op::Prim(p), args) = e.kind() else {
        return None;
    };
    let literal = |e: &Expr| match e.kind() {
        Kind::Const(Constant::Float(x)) => Some(*x),
        _ => None,
    };
    let args: Vec<f64> = args.iter().map(literal).collect::<Option<_>>()?;
    Some(Expr::float(match (p, args.as_slice()) {
        (Prim::Add, [a, b]) => a + b,
        (Prim::Mul, [a, b]) => a * b,
        (Prim::Neg, [a]) => -a,
        _ => return None,
    }))
}

/// Groups the terms of a sum by their right factors.
fn collect(e: &Expr, cx: &Context) -> Option<Expr> {
    let mut terms = Vec::new();
    addends(e, &mut terms);
    if terms.len() < 3 {
        return None;
    }
    let mut groups: indexmap::IndexMap<usize, Vec<Expr>> = indexmap::IndexMap::new();
    for (i, term) in terms.iter().enumerate() {
        groups.entry(group_key(term).unwrap_or(usize::MAX - i)).or_default().push(term.clone());
    }
    if groups.len() == terms.len() || is_grouped(&groups, &terms) {
        return None;
    }
    let collected =
        sum(groups.into_values().map(|group| factor(group, &cx.spaces).expect("a group has a term")).collect())?;
    (collected != *e).then_some(collected)
}

fn addends(e: &Expr, out: &mut Vec<Expr>) {
    match prim2(e, Prim::LmAdd) {
        Some((m, n)) => {
            addends(m, out);
            addends(n, out);
        }
        None => out.push(e.clone()),
    }
}

/// Returns the key of a term of a sum; terms with the same key can be added. All terms after the same variable have
/// one, and all scales.
fn group_key(term: &Expr) -> Option<usize> {
    let last = prim2(term, Prim::LmCompose).map_or(term, |(_, n)| n);
    match last.kind() {
        Kind::Var(x) => Some(x.id() as usize + 1),
        Kind::App(Op::Prim(Prim::LmOne | Prim::LmScale), _) if last == term => Some(0),
        _ => None,
    }
}

fn is_grouped(groups: &indexmap::IndexMap<usize, Vec<Expr>>, terms: &[Expr]) -> bool {
    groups.values().flatten().eq(terms.iter()) && groups.values().all(|g| g.len() == 1)
}

/// Returns `(m ⊕ 1 ⊕ ...) ∘ p` for `(m ∘ p) ⊕ p ⊕ ...`; scales are only put side by side.
fn factor(group: Vec<Expr>, spaces: &Spaces) -> Option<Expr> {
    let last = prim2(&group[0], Prim::LmCompose).map_or(&group[0], |(_, n)| n).clone();
    if group.len() == 1 || last.as_var().is_none() {
        return sum(group);
    }
    // A witness of p's codomain: the others' domain, where p itself does not tell.
    let others = || group.iter().find_map(|term| spaces.domain(prim2(term, Prim::LmCompose)?.0));
    let space = spaces.codomain(&last).or_else(others);
    let coefficient = |term: &Expr| match prim2(term, Prim::LmCompose) {
        Some((m, _)) => Some(m.clone()),
        None => Some(Expr::prim(Prim::LmOne, [space.clone()?])),
    };
    match group.iter().map(coefficient).collect::<Option<Vec<_>>>() {
        Some(coefficients) => Some(Expr::prim(Prim::LmCompose, [sum(coefficients)?, last])),
        None => sum(group),
    }
}
