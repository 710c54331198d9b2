//! Applies the linear maps of a program to their vectors, until no map is left.
//!
//! ```text
//! let m = S(2) in m ⊙ x            =   S(2) ⊙ x   =   2 * x
//! let (y, D) = (e, m) in .. D ..   =   let y = e in .. m ..
//! r ⊙ᴿ ∂f(a)                       =   rev$f(a, r)
//! ```
//!
//! A map takes the place of its name, and the values in it get names. Then each application is rewritten at its root, by
//! the laws of Figs. 4 and 5 for ⊙ and ⊙ᴿ; nothing is transposed. The derivations know more of their maps, and use
//! [`super::apply`].
//!
//! Source: working notes, Figs. 4 and 5. Takes: any definition. Gives: the same, where each map that is left is one that
//! the function takes or gives, or one that no law applies.

use crate::derive::derived_call::call_derivative;
use crate::derive::forms;
use crate::derive::postcondition::Facts;
use lm::effect::Effects;
use lm::law::{component_source, name_it, sum};
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter};
use lm::scope::renamed;
use lm::strategy::Strategy;
use lm::term::{Binding, Constant, Def, Derivative, Expr, Kind, Op, Pattern, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;

/// The nodes of maps that take the place of names. A chain of maps, each used twice by the next, has 2^n of them.
const MOST_COPIED: usize = 1_000_000;

type Made<T> = Result<T, OutOfFuel>;

/// Applies every map. `laws` are those of one application.
pub fn apply_maps(def: &Def, laws: &Strategy, effects: &Effects, cx: &mut Rewriter) -> Made<Def> {
    let mut pass = ApplyMaps { laws, effects, cx, maps: FxHashMap::default(), copies: MOST_COPIED };
    let body = pass.block(&def.body)?;
    let body = if pass.cx.rewrites.is_limited() { forms::without_unused_maps(&body, &def.body) } else { body };
    Ok(Def { body, ..def.clone() })
}

/// The side from which a map is applied.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    /// `m ⊙ x`.
    Left,
    /// `x ⊙ᴿ m`.
    Right,
}

impl Side {
    fn applied(self, m: &Expr, x: &Expr) -> Expr {
        match self {
            Side::Left => Expr::prim(Prim::LmApply, [m.clone(), x.clone()]),
            Side::Right => Expr::prim(Prim::LmApplyR, [x.clone(), m.clone()]),
        }
    }
}

struct ApplyMaps<'a, 'b> {
    laws: &'a Strategy,
    effects: &'a Effects,
    cx: &'a mut Rewriter<'b>,
    /// The terms that take the place of bound maps. Their values are free to copy.
    maps: FxHashMap<u32, Expr>,
    /// The nodes of maps that may still be copied.
    copies: usize,
}

impl ApplyMaps<'_, '_> {
    /// Applies the maps of a term, as a block of its own.
    fn block(&mut self, e: &Expr) -> Made<Expr> {
        let mut out = Vec::new();
        let (bindings, result) = e.as_block();
        bindings.iter().try_for_each(|b| self.binding(b, &mut out))?;
        let result = self.term(result, &mut out)?;
        Ok(Expr::block(out, result))
    }

    /// Gives a value a name, unless it is free to copy.
    fn name_it(&mut self, e: Expr, out: &mut Vec<Binding>) -> Expr {
        let is_free = e.is_atom() || e.is_short_tuple();
        if is_free || !self.cx.rewrites.may("let-name") { e } else { name_it(&e, self.cx.supply, out) }
    }

    /// Applies the maps of a term; pushes its bindings to `out`. Of a term that is a map, or has maps in it, the values
    /// get names.
    fn term(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Made<Expr> {
        match e.kind() {
            Kind::Const(_) => Ok(e.clone()),
            Kind::Var(x) => self.variable(x, e),
            Kind::Let(bindings, body) => {
                if !self.cx.rewrites.may("let-let") {
                    return self.block(e);
                }
                bindings.iter().try_for_each(|b| self.binding(b, out))?;
                self.term(body, out)
            }
            Kind::Lam(x, body) => Ok(Expr::lam(x.clone(), self.block(body)?).at(e.span())),
            Kind::App(Op::Dummy, _) => Ok(e.clone()),
            Kind::App(Op::If, args) => {
                let c = self.term(&args[0], out)?;
                let c = if e.ty().mentions_lm() { self.name_it(c, out) } else { c };
                let [yes, no] = [self.block(&args[1])?, self.block(&args[2])?];
                Ok(Expr::conditional(c, yes, no).at(e.span()))
            }
            Kind::App(Op::Prim(p @ (Prim::LmApply | Prim::LmApplyR)), args) => {
                let [first, second] = [self.term(&args[0], out)?, self.term(&args[1], out)?];
                let (side, m, x) = match p {
                    Prim::LmApply => (Side::Left, first, second),
                    _ => (Side::Right, second, first),
                };
                let x = self.name_it(x, out);
                Ok(self.apply(side, &m, &x, out)?.placed(e.span()))
            }
            Kind::App(op, args) => {
                let args =
                    args.iter().map(|a| self.argument(a, e.ty().mentions_lm(), out)).collect::<Made<Vec<_>>>()?;
                Ok(operator(op, args, e))
            }
        }
    }

    fn variable(&mut self, x: &Var, e: &Expr) -> Made<Expr> {
        let Some(m) = self.maps.get(&x.id()) else { return Ok(e.clone()) };
        let Some(left) = self.copies.checked_sub(m.size()) else {
            return Err(OutOfFuel { fuel: MOST_COPIED, laws: vec!["let-map".into()] });
        };
        self.copies = left;
        Ok(renamed(m, self.cx.supply))
    }

    /// Applies the maps of an argument. Gives a value a name, if it is one of a map.
    fn argument(&mut self, e: &Expr, is_of_map: bool, out: &mut Vec<Binding>) -> Made<Expr> {
        let new = self.term(e, out)?;
        let is_value = !new.ty().mentions_lm() && !matches!(new.kind(), Kind::App(Op::Dummy, _) | Kind::Lam(..));
        Ok(if is_of_map && is_value { self.name_it(new, out) } else { new })
    }

    fn binding(&mut self, b: &Binding, out: &mut Vec<Binding>) -> Made<()> {
        let rhs = self.term(&b.rhs, out)?;
        let is_function = matches!(rhs.kind(), Kind::Lam(..));
        if !rhs.ty().mentions_lm() && !is_function {
            out.push(Binding { pattern: b.pattern.clone(), rhs });
            return Ok(());
        }
        // A copy would print again.
        if self.effects.in_term(&rhs) || !self.cx.rewrites.may("let-map") {
            out.push(Binding { pattern: b.pattern.clone(), rhs });
            return Ok(());
        }
        match &b.pattern {
            Pattern::Var(x) => drop(self.maps.insert(x.id(), rhs)),
            Pattern::Tuple(xs) => {
                for (i, x) in xs.iter().enumerate() {
                    let part = component(i + 1, &rhs);
                    match part.ty().mentions_lm() {
                        true => drop(self.maps.insert(x.id(), part)),
                        false => out.push(Binding { pattern: Pattern::Var(x.clone()), rhs: part }),
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns `m ⊙ x` or `x ⊙ᴿ m`. x is free to copy.
    fn apply(&mut self, side: Side, m: &Expr, x: &Expr, out: &mut Vec<Binding>) -> Made<Expr> {
        let whole = side.applied(m, x);
        if self.cx.rewrites.is_spent() {
            return Ok(whole);
        }
        match m.kind() {
            Kind::Let(..) if self.cx.rewrites.may("apply-let") => {
                let (bindings, body) = m.as_block();
                bindings.iter().try_for_each(|b| self.binding(b, out))?;
                let body = self.term(body, out)?;
                self.apply(side, &body, x, out)
            }
            Kind::App(Op::JacobianOfFun(f), args) => {
                let (law, derivative) = match side {
                    Side::Left => ("call-fwd", Derivative::Fwd),
                    Side::Right => ("call-rev", Derivative::Rev),
                };
                Ok(if self.cx.rewrites.may(law) { call_derivative(derivative, f, args, x.clone()) } else { whole })
            }
            Kind::App(Op::If, args) => {
                if !self.cx.rewrites.may(if side == Side::Left { "apply-if" } else { "reverse-if" }) {
                    return Ok(whole);
                }
                let [yes, no] = [self.branch(side, &args[1], x)?, self.branch(side, &args[2], x)?];
                Ok(Expr::conditional(args[0].clone(), yes, no))
            }
            Kind::App(Op::Prim(p @ (Prim::LmVCatV | Prim::LmHCatV | Prim::LmAddV)), args) => {
                self.family(*p, side, args, x, out)
            }
            Kind::App(Op::Prim(Prim::LmFold), args) => {
                let law = if side == Side::Left { "apply-fold" } else { "reverse-fold" };
                let is_known = matches!(args[3].kind(), Kind::Lam(..));
                if is_known && self.cx.rewrites.may(law) { self.recurrence(side, args, x, out) } else { Ok(whole) }
            }
            _ => self.by_law(side, m, x, out),
        }
    }

    /// Rewrites the application at its root; or the map, if no law applies it.
    fn by_law(&mut self, side: Side, m: &Expr, x: &Expr, out: &mut Vec<Binding>) -> Made<Expr> {
        if let Some(new) = self.cx.run(self.laws, &side.applied(m, x))? {
            return self.term(&new, out);
        }
        let Some(new) = self.cx.run(self.laws, m)? else { return Ok(side.applied(m, x)) };
        let m = self.term(&new, out)?;
        self.apply(side, &m, x, out)
    }

    fn branch(&mut self, side: Side, m: &Expr, x: &Expr) -> Made<Expr> {
        let mut out = Vec::new();
        let result = self.apply(side, m, x, &mut out)?;
        Ok(Expr::block(out, result))
    }

    /// Applies V(v), H(v) or the sum of a tensor of maps.
    fn family(&mut self, p: Prim, side: Side, args: &[Expr], x: &Expr, out: &mut Vec<Binding>) -> Made<Expr> {
        let maps = args.last().expect("an operator on maps has them");
        let law = match (p, side) {
            (Prim::LmVCatV, Side::Left) => "apply-vcatv",
            (Prim::LmVCatV, Side::Right) => "reverse-vcatv",
            (Prim::LmHCatV, Side::Left) => "apply-hcatv",
            (Prim::LmHCatV, Side::Right) => "reverse-hcatv",
            (_, Side::Left) => "apply-sumbuild",
            (_, Side::Right) => "reverse-sumbuild",
        };
        if let Kind::App(Op::If, branches) = maps.kind() {
            let of = |branch: &Expr| {
                let (bindings, maps) = branch.as_block();
                let whole = Expr::prim(p, [&args[..args.len() - 1], std::slice::from_ref(maps)].concat());
                Expr::block(bindings.to_vec(), whole)
            };
            let chosen = Expr::conditional(branches[0].clone(), of(&branches[1]), of(&branches[2]));
            return self.apply(side, &chosen, x, out);
        }
        if !is_family(maps) || !self.cx.rewrites.may(law) {
            return Ok(side.applied(&Expr::prim(p, args.to_vec()), x));
        }
        let takes_elements = matches!((p, side), (Prim::LmVCatV, Side::Right) | (Prim::LmHCatV, Side::Left));
        let of = |i: Expr| if takes_elements { Expr::prim(Prim::Index, [i, x.clone()]) } else { x.clone() };
        let images = self.images(side, maps, &of)?;
        Ok(match law {
            "apply-vcatv" | "reverse-hcatv" => images,
            _ => summed(p, side, args, images),
        })
    }

    /// Returns the tensor of what a map of each index gives for its vector.
    fn images(&mut self, side: Side, maps: &Expr, x: &dyn Fn(Expr) -> Expr) -> Made<Expr> {
        let mut image = |m: &Expr, i: Expr| {
            let mut out = Vec::new();
            let x = self.name_it(x(i), &mut out);
            let (bindings, m) = m.as_block();
            out.extend(bindings.iter().cloned());
            let result = self.apply(side, m, &x, &mut out)?;
            Ok(Expr::block(out, result))
        };
        match maps.kind() {
            Kind::App(op, parts) if *op == Op::Prim(Prim::VecInit) => {
                let numbered = parts.iter().enumerate();
                let images = numbered.map(|(k, m)| image(m, Expr::integer(k as i64))).collect::<Made<Vec<_>>>()?;
                Ok(Expr::app(op.clone(), images))
            }
            Kind::App(op, args) => {
                let Kind::Lam(i, m) = args[1].kind() else { unreachable!("a family is over a function") };
                let image = image(m, Expr::var(i))?;
                Ok(Expr::app(op.clone(), vec![args[0].clone(), Expr::lam(i.clone(), image)]))
            }
            _ => unreachable!("a family is an operator"),
        }
    }

    /// Returns the loop for `lmFold(n, λi. M(i)) ⊙ (ds, dc)`; for `(rs, rc) ⊙ᴿ lmFold(n, λi. M(i))`, which goes from
    /// the last step to the first.
    fn recurrence(&mut self, side: Side, fold: &[Expr], x: &Expr, out: &mut Vec<Binding>) -> Made<Expr> {
        let [n, from, to, f] = fold else { panic!("lmFold has four arguments") };
        let Kind::Lam(i, body) = f.kind() else { unreachable!("the steps are known") };
        let [start, input] = [1, 2].map(|k| Expr::get(k, x.clone()));
        let input = self.name_it(input, out);
        let p = self.cx.supply.fresh("p", Type::tuple([Type::Integer, start.ty().clone()]));
        let ds = self.cx.supply.fresh("ds", start.ty().clone());
        let pair = |step: &Var| Binding { pattern: Pattern::Tuple(vec![step.clone(), ds.clone()]), rhs: Expr::var(&p) };
        let (mut inner, gives) = match side {
            Side::Left => (vec![pair(i)], to),
            Side::Right => {
                let k = self.cx.supply.fresh("k", Type::Integer);
                let last = Expr::prim(Prim::Sub, [n.clone(), Expr::integer(1)]);
                let back = Expr::prim(Prim::Sub, [last, Expr::var(&k)]);
                (vec![pair(&k), Binding { pattern: Pattern::Var(i.clone()), rhs: back }], from)
            }
        };
        let (bindings, m) = body.as_block();
        inner.extend(bindings.iter().cloned());
        let result = self.apply(side, m, &Expr::tuple([Expr::var(&ds), input]), &mut inner)?;
        let step = Expr::lam(p.clone(), Expr::block(inner, result));
        let outputs = Expr::witness(&Expr::get(2, component_source(gives)));
        Ok(Expr::prim(Prim::Loop, [n.clone(), step, start, outputs]))
    }
}

/// Returns an operator on terms in which maps have taken the place of their names.
fn operator(op: &Op, args: Vec<Expr>, of: &Expr) -> Expr {
    match op {
        Op::Get(i, _) if args[0].ty().mentions_lm() => component(*i, &args[0]),
        Op::Prim(Prim::Size) if args[0].ty().mentions_lm() && is_family(&args[0]) => size_of_family(&args[0]),
        Op::Prim(Prim::Add) if args.iter().all(|f| matches!(f.kind(), Kind::Lam(..))) => pointwise(&args),
        Op::Prim(Prim::Index) if of.ty().mentions_lm() => {
            element(&args[0], &args[1]).unwrap_or_else(|| app(op, args, of))
        }
        _ => app(op, args, of),
    }
}

fn app(op: &Op, args: Vec<Expr>, of: &Expr) -> Expr {
    Expr::try_app(op.clone(), args, of.span()).expect("types do not change")
}

/// Returns the sum of functions.
fn pointwise(functions: &[Expr]) -> Expr {
    let Kind::Lam(i, _) = functions[0].kind() else { unreachable!("they are functions") };
    let value = |f: &Expr| match f.kind() {
        Kind::Lam(j, body) if j == i => body.clone(),
        Kind::Lam(j, body) => {
            Expr::block(vec![Binding { pattern: Pattern::Var(j.clone()), rhs: Expr::var(i) }], body.clone())
        }
        _ => unreachable!("they are functions"),
    };
    let values = sum(functions.iter().map(value).collect());
    Expr::lam(i.clone(), values.expect("there are two"))
}

/// Returns the i-th component of a term, in the branches of conditionals.
fn component(i: usize, e: &Expr) -> Expr {
    match e.kind() {
        Kind::Let(bindings, body) => Expr::block(bindings.clone(), component(i, body)),
        Kind::App(Op::If, args) => Expr::conditional(args[0].clone(), component(i, &args[1]), component(i, &args[2])),
        _ => Expr::get(i, e.clone()),
    }
}

/// Returns whether the maps of a tensor are known: those of a literal, or of a function of the index.
fn is_family(maps: &Expr) -> bool {
    match maps.kind() {
        Kind::App(Op::Prim(Prim::VecInit), _) => true,
        Kind::App(Op::Prim(Prim::Build), args) => matches!(args[1].kind(), Kind::Lam(..)),
        _ => false,
    }
}

fn size_of_family(maps: &Expr) -> Expr {
    match maps.kind() {
        Kind::App(Op::Prim(Prim::VecInit), parts) => Expr::integer(parts.len() as i64),
        Kind::App(_, args) => args[0].clone(),
        _ => unreachable!("a family is an operator"),
    }
}

/// Returns the k-th map of a tensor whose maps are known.
fn element(k: &Expr, maps: &Expr) -> Option<Expr> {
    match maps.kind() {
        Kind::App(Op::Prim(Prim::VecInit), parts) => match k.kind() {
            Kind::Const(Constant::Integer(k)) => parts.get(usize::try_from(*k).ok()?).cloned(),
            _ => None,
        },
        Kind::App(Op::Prim(Prim::Build), args) => {
            let Kind::Lam(i, m) = args[1].kind() else { return None };
            let index = Binding { pattern: Pattern::Var(i.clone()), rhs: k.clone() };
            Some(Expr::block(vec![index], m.clone()))
        }
        _ => None,
    }
}

/// Returns the sum of the images of maps.
fn summed(p: Prim, side: Side, args: &[Expr], images: Expr) -> Expr {
    let parts = images.args_of_prim(Prim::Build).map(<[Expr]>::to_vec);
    match (parts, images.args_of_prim(Prim::VecInit)) {
        (Some(parts), _) if p == Prim::LmAddV && side == Side::Left => {
            Expr::prim(Prim::SumBuild, [args[..1].to_vec(), parts].concat())
        }
        (Some(parts), _) => Expr::prim(Prim::SumBuild, parts),
        (None, Some(parts)) => sum(parts.to_vec()).unwrap_or_else(|| Expr::prim(Prim::Sum, [images.clone()])),
        _ => Expr::prim(Prim::Sum, [images]),
    }
}

/// Returns what breaks the postcondition: a map that a law applies.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    forms::smallest(&def.body, |e| {
        let m = e.args_of_prim(Prim::LmApply).map(|args| &args[0]);
        let m = m.or_else(|| e.args_of_prim(Prim::LmApplyR).map(|args| &args[1]));
        m.is_some_and(|m| match m.kind() {
            Kind::App(Op::Prim(p), _) => !matches!(
                p,
                Prim::LmVCatV | Prim::LmHCatV | Prim::LmAddV | Prim::LmLT | Prim::LmFold | Prim::Index | Prim::Fold
            ),
            Kind::App(op, _) => matches!(op, Op::LmGet(..) | Op::JacobianOfFun(_) | Op::If),
            Kind::Let(..) => true,
            Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => false,
        })
    })
}

/// Returns a map that is left: one that is applied, if there is one.
pub fn map_left(def: &Def) -> Option<Expr> {
    let applied = def.body.find_map(|e| match e.kind() {
        Kind::App(Op::Prim(Prim::LmApply), args) => Some(args[0].clone()),
        Kind::App(Op::Prim(Prim::LmApplyR), args) => Some(args[1].clone()),
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => None,
    });
    applied.or_else(|| forms::with_map(&def.body))
}
