//! Instances of the laws that are functions.

use super::laws::Random;
use lm::law;
use lm::prim::Prim;
use lm::term::{Binding, Expr, Op, Pattern, Supply, Var};
use lm::types::Type;

/// A loop with a step that is linear in its state.
fn linear_loop(r: &mut Random, supply: &mut Supply) -> Expr {
    let [i, x, y] = [("i", Type::Integer), ("x", Type::Float), ("y", Type::Float)].map(|(n, ty)| supply.fresh(n, ty));
    let state = Type::tuple([Type::Integer, Type::Float]);
    let p = supply.fresh("p", state);
    let apart = Binding { pattern: Pattern::Tuple(vec![i.clone(), x.clone()]), rhs: Expr::var(&p) };
    let named = Binding { pattern: Pattern::Var(y.clone()), rhs: linear_in(r, &x, &i, 2) };
    let step = Expr::prim(Prim::Add, [Expr::var(&y), linear_in(r, &y, &i, 2)]);
    let body = Expr::block(vec![apart, named], Expr::tuple([step, Expr::tuple([])]));
    let unit = Expr::tuple([]);
    let n = Expr::integer(r.below(4) as i64);
    Expr::get(1, Expr::prim(Prim::Loop, [n, Expr::lam(p, body), r.term(&Type::Float, 0), unit]))
}

/// A term that is linear in x, and depends on the index.
fn linear_in(r: &mut Random, x: &Var, i: &Var, depth: usize) -> Expr {
    let k = Expr::prim(Prim::Add, [Expr::prim(Prim::ToFloat, [Expr::var(i)]), r.term(&Type::Float, 0)]);
    if depth == 0 {
        return Expr::var(x);
    }
    let e = linear_in(r, x, i, depth - 1);
    match r.below(8) {
        0 => Expr::prim(Prim::Add, [e, k]),
        1 => Expr::prim(Prim::Add, [k, e]),
        2 => Expr::prim(Prim::Sub, [e, k]),
        3 => Expr::prim(Prim::Sub, [k, e]),
        4 => Expr::prim(Prim::Mul, [k, e]),
        5 => Expr::prim(Prim::Neg, [e]),
        6 => Expr::prim(Prim::Sub, [e, linear_in(r, x, i, depth - 1)]),
        _ => {
            let first = Expr::prim(Prim::Eq, [Expr::var(i), Expr::integer(0)]);
            let other = if r.below(2) == 0 { k } else { linear_in(r, x, i, depth - 1) };
            Expr::conditional(first, e, other)
        }
    }
}

/// A sum of products, of which some factors are the same for all terms.
fn sum_of_products(r: &mut Random, supply: &mut Supply) -> Expr {
    let i = supply.fresh("i", Type::Integer);
    let mul = |a, b| Expr::prim(Prim::Mul, [a, b]);
    let varies = || Expr::prim(Prim::ToFloat, [Expr::var(&i)]);
    let [a, b] = [0, 1].map(|_| r.term(&Type::Float, 0));
    let product = mul(mul(a, varies()), mul(varies(), b));
    Expr::prim(Prim::SumBuild, [Expr::float(0.0), Expr::integer(r.below(4) as i64), Expr::lam(i.clone(), product)])
}

/// An instance of the left side of a law that is a function; `None` for others.
pub(super) fn native_instance(name: &str, r: &mut Random) -> Option<Expr> {
    let n = 1 + r.below(3);
    let i = 1 + r.below(n);
    let types: Vec<Type> = (0..n).map(|_| r.ty(1)).collect();
    let s = Type::tuple(types.clone());
    let get = Expr::app(Op::LmGet(i, n), vec![r.term(&s, 0)]);
    let mut supply = Supply::default();
    let x = supply.fresh("x", s.clone());
    Some(match name {
        "in-range" => Expr::prim(Prim::Lt, [0, 2].map(|least| Expr::integer((least + r.below(2)) as i64))),
        "factors-of-sum" => sum_of_products(r, &mut supply),
        "apply-get" => Expr::prim(Prim::LmApply, [get, r.term(&s, 0)]),
        "reverse-get" => Expr::prim(Prim::LmApplyR, [r.term(&types[i - 1], 0), get]),
        "get-vcat" => {
            let ms: Vec<Expr> = types.iter().map(|t| r.map(&Type::Float, t, 1)).collect();
            Expr::prim(Prim::LmCompose, [get, Expr::prim(Prim::LmVCat, ms)])
        }
        "one-rows" => Expr::prim(Prim::LmOne, [r.term(&s, 0)]),
        "scale-rows" => Expr::prim(Prim::LmScale, [r.term(&s, 0), Expr::float(r.small() as f64)]),
        "zero-rows" => Expr::prim(Prim::LmZero, [r.term(&types[0], 0), r.term(&s, 0)]),
        "zero-columns" => Expr::prim(Prim::LmZero, [r.term(&s, 0), r.term(&Type::Float, 0)]),
        "get-columns" => get,
        "exchange" => {
            let t = Type::tuple((0..1 + r.below(3)).map(|_| r.ty(1)).collect::<Vec<_>>());
            let parts = t.as_tuple().expect("a tuple").to_vec();
            let column = |r: &mut Random, s: &Type| {
                Expr::prim(Prim::LmVCat, parts.iter().map(|t| r.map(s, t, 1)).collect::<Vec<_>>())
            };
            Expr::prim(Prim::LmHCat, types.iter().map(|s| column(r, s)).collect::<Vec<_>>())
        }
        "rows-compose" => {
            let rows: Vec<Expr> = types.iter().map(|t| r.map(&Type::Float, t, 1)).collect();
            Expr::prim(Prim::LmCompose, [Expr::prim(Prim::LmVCat, rows), r.map(&s, &Type::Float, 2)])
        }
        "compose-columns" => {
            let columns: Vec<Expr> = types.iter().map(|t| r.map(t, &Type::Float, 1)).collect();
            Expr::prim(Prim::LmCompose, [r.map(&Type::Float, &s, 2), Expr::prim(Prim::LmHCat, columns)])
        }
        "transpose-get" => Expr::prim(Prim::LmTranspose, [get]),
        "get-zero" => Expr::app(Op::Get(i, n), vec![Expr::prim(Prim::ZeroOf, [r.term(&s, 0)])]),
        "get-of-if" => {
            let c = Expr::prim(Prim::Eq, [Expr::integer(1), Expr::integer(1 + r.below(2) as i64)]);
            Expr::app(Op::Get(i, n), vec![Expr::conditional(c, r.term(&s, 0), r.term(&s, 0))])
        }
        "get-tuple" => Expr::app(Op::Get(i, n), vec![r.term(&s, 0)]),
        "tuple-get" => Expr::tuple((1..=n).map(|j| Expr::get(j, Expr::var(&x))).collect::<Vec<_>>()),
        "vcat-get" => {
            let gets = (1..=n).map(|j| Expr::app(Op::LmGet(j, n), vec![r.term(&s, 0)]));
            Expr::prim(Prim::LmVCat, gets.collect::<Vec<_>>())
        }
        "inject-compose" => {
            let part = |r: &mut Random, j: usize, t: &Type| match j + 1 == i {
                true => r.map(&types[0], t, 1),
                false => Expr::prim(Prim::LmZero, [r.term(&types[0], 0), r.term(t, 0)]),
            };
            let parts: Vec<Expr> = types.iter().enumerate().map(|(j, t)| part(r, j, t)).collect();
            Expr::prim(Prim::LmCompose, [Expr::prim(Prim::LmVCat, parts), r.map(&s, &types[0], 1)])
        }
        "vcatv-zero" => {
            let (s, t) = (r.ty(1), r.ty(1));
            let zero = Expr::prim(Prim::LmZero, [r.term(&s, 0), r.term(&t, 0)]);
            Expr::prim(Prim::LmVCatV, [r.term(&Type::vec(t), 0), r.constant(zero)])
        }
        "addv-zero" => {
            let (s, t) = (r.ty(1), r.ty(1));
            let zero = Expr::prim(Prim::LmZero, [r.term(&s, 0), r.term(&t, 0)]);
            Expr::prim(Prim::LmAddV, [r.term(&t, 0), r.constant(zero)])
        }
        "index-build" | "index-build-compose" => {
            let (s, t) = (r.ty(1), r.ty(1));
            let w = r.term(&Type::vec(t.clone()), 0);
            let j = supply.fresh("j", Type::Integer);
            // Maps that differ from place to place.
            let m = Expr::conditional(
                Expr::prim(Prim::Eq, [Expr::var(&j), Expr::integer(1)]),
                r.map(&s, &t, 1),
                r.map(&s, &t, 1),
            );
            let maps = Expr::prim(Prim::Build, [Expr::prim(Prim::Size, [w.clone()]), Expr::lam(j, m)]);
            let family = Expr::prim(Prim::LmVCatV, [w.clone(), maps]);
            let family = match name {
                "index-build" => family,
                _ => Expr::prim(Prim::LmCompose, [family, r.map(&Type::Float, &s, 1)]),
            };
            let index = Expr::prim(Prim::LmIndex, [Expr::integer(r.below(2) as i64), w]);
            Expr::prim(Prim::LmCompose, [index, family])
        }
        "sumbuild-zero" => {
            let t = r.ty(1);
            let i = supply.fresh("i", Type::Integer);
            let zero = Expr::lam(i, Expr::prim(Prim::ZeroOf, [r.term(&t, 0)]));
            Expr::prim(Prim::SumBuild, [r.term(&t, 0), Expr::integer(2), zero])
        }
        "sum-one-hot" | "sumbuild-one-hot" => {
            let [i, c] = [("i", Type::Integer), ("c", Type::Bool)].map(|(name, ty)| supply.fresh(name, ty));
            // Out of range, too.
            let k = Expr::integer(r.below(5) as i64 - 1);
            let sides = [Expr::var(&i), k];
            let (x, zero) = (Expr::prim(Prim::ToFloat, [Expr::var(&i)]), Expr::float(0.0));
            let (p, [then, otherwise]) = match r.below(2) {
                0 => (Prim::Eq, [x, zero]),
                _ => (Prim::Ne, [zero, x]),
            };
            let named = Binding { pattern: Pattern::Var(c.clone()), rhs: Expr::prim(p, sides) };
            let f = Expr::lam(i, Expr::block(vec![named], Expr::conditional(Expr::var(&c), then, otherwise)));
            let n = Expr::integer(r.below(4) as i64);
            match name {
                "sum-one-hot" => Expr::prim(Prim::Sum, [Expr::prim(Prim::Build, [n, f])]),
                _ => Expr::prim(Prim::SumBuild, [r.term(&Type::Float, 0), n, f]),
            }
        }
        "eq-of-tuples" => {
            let n = 2 + r.below(2);
            let index =
                |r: &mut Random| Expr::tuple((0..n).map(|_| Expr::integer(r.below(2) as i64)).collect::<Vec<_>>());
            Expr::prim(Prim::Eq, [index(r), index(r)])
        }
        "coefficient-of-choice" => {
            let c = |r: &mut Random| Expr::prim(Prim::Eq, [Expr::integer(1), Expr::integer(1 + r.below(2) as i64)]);
            let zero = || Expr::prim(Prim::ZeroOf, [Expr::dummy(Type::Float)]);
            let [first, second] = [1.0, -1.0].map(|x| Expr::conditional(c(r), Expr::float(x), zero()));
            let tangent = Expr::prim(Prim::Add, [first, second]);
            let product = Expr::prim(Prim::Mul, [r.term(&Type::Float, 1), tangent]);
            match r.below(2) {
                0 => Expr::conditional(c(r), product, zero()),
                _ => Expr::conditional(c(r), zero(), product),
            }
        }
        "index-of-unzip" | "unzip-of-build" => {
            let ty = Type::tuple(types.clone());
            let i = 1 + r.below(types.len());
            let k = supply.fresh("k", Type::Integer);
            let first = Expr::prim(Prim::Eq, [Expr::var(&k), Expr::integer(0)]);
            let element = Expr::conditional(first, r.term(&ty, 0), r.term(&ty, 0));
            let build = Expr::prim(Prim::Build, [Expr::integer(1 + r.below(2) as i64), Expr::lam(k, element)]);
            let component = |v| Expr::get(i, Expr::prim(Prim::Unzip, [v]));
            match name {
                "unzip-of-build" => component(build),
                _ => {
                    let delta = Expr::prim(Prim::DeltaAt, [build, Expr::integer(0), r.term(&ty, 0)]);
                    Expr::prim(Prim::Index, [Expr::integer(0), component(delta)])
                }
            }
        }
        "eq-of-shift" => {
            let (k, m) = (Expr::var(&supply.fresh("k", Type::Integer)), Expr::integer(r.small()));
            let shifted = match r.below(3) {
                0 => Expr::prim(Prim::Add, [k, m]),
                1 => Expr::prim(Prim::Sub, [k, m]),
                _ => Expr::prim(Prim::Sub, [m, k]),
            };
            Expr::prim(Prim::Eq, [shifted, Expr::integer(r.small())])
        }
        "index-of-terms" => {
            let ty = r.ty(1);
            let v = r.term(&Type::vec(ty.clone()), 0);
            let scaled = Expr::prim(Prim::Mul, [r.term(&Type::Float, 0), Expr::prim(Prim::Neg, [v.clone()])]);
            Expr::prim(Prim::Index, [Expr::integer(0), Expr::prim(Prim::Add, [v, scaled])])
        }
        "fold-linear-step" => linear_loop(r, &mut supply),
        "fold-integer" => {
            let (a, b) = (Expr::integer(r.small()), Expr::integer(r.small()));
            match r.below(3) {
                0 => Expr::prim(Prim::Sub, [a, b]),
                1 => Expr::prim(Prim::Eq, [a, b]),
                _ => Expr::prim(Prim::ToFloat, [a]),
            }
        }
        "fold-float" => {
            let (a, b) = (r.term(&Type::Float, 0), r.term(&Type::Float, 0));
            match r.below(3) {
                0 => Expr::prim(Prim::Add, [a, b]),
                1 => Expr::prim(Prim::Mul, [a, b]),
                _ => Expr::prim(Prim::Neg, [a]),
            }
        }
        "collect" => {
            let shared: Vec<Var> = (0..2).map(|_| supply.fresh("m", Type::lm(s.clone(), Type::Float))).collect();
            let term = |r: &mut Random| {
                let p = Expr::var(&shared[r.below(2)]);
                match r.below(3) {
                    0 => p,
                    1 => r.map(&s, &Type::Float, 1),
                    _ => Expr::prim(Prim::LmCompose, [r.map(&Type::Float, &Type::Float, 1), p]),
                }
            };
            let terms: Vec<Expr> = (0..3 + r.below(3)).map(|_| term(r)).collect();
            law::sum(terms)?
        }
        _ => return None,
    })
}
