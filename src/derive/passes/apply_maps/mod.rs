//! Applies the linear maps of a program to their vectors, until no map is left.
//!
//! ```text
//! let m = S(2) in m ⊙ x            =   S(2) ⊙ x   =   2 * x
//! let (y, D) = (e, m) in .. D ..   =   let y = e in .. m ..
//! r ⊙ᴿ ∂f(a)                       =   rev$f(a, r)
//! ```
//!
//! Each application is rewritten at its root, by the laws of Figs. 4 and 5 for ⊙ and ⊙ᴿ; nothing is transposed. The
//! values in a map get names, in the order in which the program computes them. A map with a name is applied once to each
//! vector, so a chain of maps that are used twice does not grow. The derivations know more of their maps, and use
//! [`super::apply`].
//!
//! Source: working notes, Figs. 4 and 5. Takes: any definition. Gives: the same, where each map that is left is one that
//! the function takes or gives, or one that no law applies.

mod families;
mod structure;

use crate::derive::derived_call::call_derivative;
use crate::derive::forms;
use crate::derive::postcondition::Facts;
use lm::effect::Effects;
use lm::law::name_it;
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter, Rounds};
use lm::rewrites::Rewrites;
use lm::scope::{occurrences, renamed};
use lm::strategy::Strategy;
use lm::term::{Binding, Def, Derivative, Expr, Kind, Op, Pattern, Var};
use rustc_hash::FxHashMap;
use structure::component;

/// The most times that maps take the place of their names. Maps that are composed with themselves, n times in a row,
/// are applied to 2^n vectors.
const MOST_EXPANSIONS: usize = 10_000;

type Made<T> = Result<T, OutOfFuel>;

/// Applies every map. `laws` are those of one application.
pub fn apply_maps(def: &Def, laws: &Strategy, effects: &Effects, cx: &mut Rewriter) -> Made<Def> {
    let maps = FxHashMap::default();
    let mut pass = ApplyMaps {
        laws,
        effects,
        cx,
        maps,
        images: Vec::new(),
        expansions: MOST_EXPANSIONS,
        rounds: Rounds::default(),
    };
    let body = pass.block(&def.body)?;
    Ok(Def { body: without_unused_maps(&body, effects, cx.rewrites), ..def.clone() })
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
    /// The terms that bound maps stand for. Their values are free to copy.
    maps: FxHashMap<u32, Expr>,
    /// The results of applying bound maps, in scope.
    images: Vec<Image>,
    /// The times that maps may still take the place of their names.
    expansions: usize,
    /// The applications that are being rewritten, each in the one before.
    rounds: Rounds,
}

/// The result of applying a bound map to a vector.
struct Image {
    map: u32,
    side: Side,
    vector: Expr,
    result: Expr,
}

impl ApplyMaps<'_, '_> {
    /// Applies the maps of a term, as a block of its own.
    fn block(&mut self, e: &Expr) -> Made<Expr> {
        let (bindings, result) = e.as_block();
        self.scoped(|pass, out| {
            bindings.iter().try_for_each(|b| pass.binding(b, out))?;
            pass.term(result, out)
        })
    }

    /// Makes a block: results that are known in it are not known outside.
    fn scoped(&mut self, make: impl FnOnce(&mut Self, &mut Vec<Binding>) -> Made<Expr>) -> Made<Expr> {
        let known = self.images.len();
        let mut out = Vec::new();
        let result = make(self, &mut out)?;
        self.images.truncate(known);
        Ok(Expr::block(out, result))
    }

    /// Gives a value a name, unless it is free to copy.
    fn name_it(&mut self, e: Expr, out: &mut Vec<Binding>) -> Expr {
        if is_free(&e) || !is_value(&e) || !self.cx.rewrites.may("let-name") {
            e
        } else {
            name_it(&e, self.cx.supply, out)
        }
    }

    /// Applies the maps of a term; pushes its bindings to `out`. Of a term that is a map, or has maps in it, the values
    /// get names.
    fn term(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Made<Expr> {
        match e.kind() {
            Kind::Const(_) => Ok(e.clone()),
            Kind::Var(x) => Ok(self.variable(x, e)),
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
                let args = self.arguments(args, false, out)?;
                let (side, m, x) = match p {
                    Prim::LmApply => (Side::Left, args[0].clone(), args[1].clone()),
                    _ => (Side::Right, args[1].clone(), args[0].clone()),
                };
                let x = self.name_it(x, out);
                Ok(self.apply(side, &m, &x, out)?.placed(e.span()))
            }
            Kind::App(op, args) => {
                let args = self.arguments(args, e.ty().mentions_lm(), out)?;
                Ok(self.operator(op, args, e, out))
            }
        }
    }

    /// Returns what a variable stands for, if that is a tuple or tensor with maps, or a function. Maps keep their names.
    fn variable(&mut self, x: &Var, e: &Expr) -> Expr {
        match self.maps.get(&x.id()) {
            Some(m) if x.ty().as_lm().is_none() && self.expansions > 0 && self.cx.rewrites.may("let-map") => {
                self.expansions -= 1;
                renamed(m, self.cx.supply)
            }
            _ => e.clone(),
        }
    }

    /// Applies the maps of arguments. Gives values names, if they are of a map; and if what comes after them is computed
    /// before, so that the order stays.
    fn arguments(&mut self, args: &[Expr], are_of_map: bool, out: &mut Vec<Binding>) -> Made<Vec<Expr>> {
        let mut new: Vec<Expr> = Vec::new();
        for arg in args {
            let before = out.len();
            let mut arg = self.term(arg, out)?;
            if out.len() > before {
                let mut earlier = Vec::new();
                for e in &mut new {
                    *e = if is_value(e) { self.name_it(e.clone(), &mut earlier) } else { e.clone() };
                }
                out.splice(before..before, earlier);
            }
            if are_of_map && is_value(&arg) {
                arg = self.name_it(arg, out);
            }
            new.push(arg);
        }
        Ok(new)
    }

    fn binding(&mut self, b: &Binding, out: &mut Vec<Binding>) -> Made<()> {
        let rhs = self.term(&b.rhs, out)?;
        let is_function = matches!(rhs.kind(), Kind::Lam(..));
        if !rhs.ty().mentions_lm() && !is_function {
            out.push(Binding { pattern: b.pattern.clone(), rhs });
            return Ok(());
        }
        // What prints is computed once.
        let is_known = !self.effects.in_term(&rhs);
        match &b.pattern {
            Pattern::Tuple(xs) if is_known && self.cx.rewrites.may("let-tuple") => {
                for (i, x) in xs.iter().enumerate() {
                    let part = component(i + 1, &rhs);
                    // The parts of what is no tuple have the same binders.
                    let part = if i == 0 { part } else { renamed(&part, self.cx.supply) };
                    self.bind(x, part, out);
                }
            }
            Pattern::Var(x) if is_known => self.bind(x, rhs, out),
            pattern => out.push(Binding { pattern: pattern.clone(), rhs }),
        }
        Ok(())
    }

    /// Binds a variable, and remembers a map.
    fn bind(&mut self, x: &Var, rhs: Expr, out: &mut Vec<Binding>) {
        let is_map = rhs.ty().mentions_lm() || matches!(rhs.kind(), Kind::Lam(..));
        if is_map {
            self.maps.insert(x.id(), rhs.clone());
        }
        out.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
    }

    /// Returns `m ⊙ x` or `x ⊙ᴿ m`. x is free to copy.
    fn apply(&mut self, side: Side, m: &Expr, x: &Expr, out: &mut Vec<Binding>) -> Made<Expr> {
        let whole = side.applied(m, x);
        if self.cx.rewrites.is_spent() {
            return Ok(whole);
        }
        match m.kind() {
            Kind::Var(y) => self.image(side, y, m, x, out),
            Kind::App(Op::Assert, args) => {
                if !self.cx.rewrites.may("apply-assert") {
                    return Ok(whole);
                }
                let image = self.branch(side, &args[1], x)?;
                Ok(Expr::app(Op::Assert, vec![args[0].clone(), image]))
            }
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

    /// Applies a bound map; once to each vector.
    fn image(&mut self, side: Side, y: &Var, m: &Expr, x: &Expr, out: &mut Vec<Binding>) -> Made<Expr> {
        let whole = side.applied(m, x);
        let same = |image: &&Image| image.map == y.id() && image.side == side && image.vector == *x;
        if let Some(result) = self.images.iter().rev().find(same).map(|image| image.result.clone()) {
            return Ok(if self.cx.rewrites.may("let-apply") { result } else { whole });
        }
        let Some(bound) = self.maps.get(&y.id()).filter(|_| self.expansions > 0) else { return Ok(whole) };
        let bound = renamed(bound, self.cx.supply);
        if !self.cx.rewrites.may("let-map") {
            return Ok(whole);
        }
        self.expansions -= 1;
        let result = self.apply(side, &bound, x, out)?;
        let result = self.name_it(result, out);
        if is_free(&result) {
            self.images.push(Image { map: y.id(), side, vector: x.clone(), result: result.clone() });
        }
        Ok(result)
    }

    /// Rewrites the application at its root; or the map, if no law applies it.
    fn by_law(&mut self, side: Side, m: &Expr, x: &Expr, out: &mut Vec<Binding>) -> Made<Expr> {
        let whole = side.applied(m, x);
        self.cx.enter(&mut self.rounds, &whole)?;
        let made = self.rewritten(&whole, side, x, m, out)?;
        self.rounds.leave();
        Ok(made)
    }

    fn rewritten(&mut self, whole: &Expr, side: Side, x: &Expr, m: &Expr, out: &mut Vec<Binding>) -> Made<Expr> {
        if let Some(new) = self.cx.run(self.laws, whole)? {
            return self.term(&new, out);
        }
        let Some(new) = self.cx.run(self.laws, m)? else { return Ok(whole.clone()) };
        let m = self.term(&new, out)?;
        self.apply(side, &m, x, out)
    }

    fn branch(&mut self, side: Side, m: &Expr, x: &Expr) -> Made<Expr> {
        self.scoped(|pass, out| pass.apply(side, m, x, out))
    }
}

/// Returns whether a term is free to copy.
fn is_free(e: &Expr) -> bool {
    e.is_atom() || e.is_short_tuple()
}

/// Returns whether a term is a value, which is computed: no map, function or witness.
fn is_value(e: &Expr) -> bool {
    !e.ty().mentions_lm() && !matches!(e.kind(), Kind::App(Op::Dummy, _) | Kind::Lam(..))
}

/// Returns the term without bindings of maps, or of what holds maps, that nothing uses.
fn without_unused_maps(e: &Expr, effects: &Effects, rewrites: &mut Rewrites) -> Expr {
    let mut e = e.clone();
    loop {
        let uses = occurrences(&e);
        let mut is_kept = |b: &Binding| {
            let is_map = b.rhs.ty().mentions_lm() || matches!(b.rhs.kind(), Kind::Lam(..));
            let is_used = b.pattern.vars().iter().any(|x| uses.contains_key(&x.id()));
            !is_map || effects.in_term(&b.rhs) || is_used || !rewrites.may("let-dead")
        };
        let kept = forms::with_bindings(&e, &mut is_kept);
        if kept.size() == e.size() {
            return kept;
        }
        e = kept;
    }
}

/// Returns what breaks the postcondition: the application of an operator for which there is a law.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    use Prim::{
        LmAdd, LmCompose, LmDot, LmHCat, LmIndex, LmL, LmOne, LmScale, LmScaleR, LmSum, LmTo, LmTranspose, LmVCat,
        LmZero,
    };
    forms::smallest(&def.body, |e| {
        let from_left = e.args_of_prim(Prim::LmApply).map(|args| &args[0]);
        let m = from_left.or_else(|| e.args_of_prim(Prim::LmApplyR).map(|args| &args[1]));
        m.is_some_and(|m| match m.kind() {
            Kind::App(Op::Prim(LmAdd | LmCompose | LmDot | LmHCat | LmIndex | LmOne | LmScale | LmScaleR), _) => true,
            Kind::App(Op::Prim(LmSum | LmTo | LmTranspose | LmVCat | LmZero), _) => true,
            Kind::App(Op::Prim(LmL), _) => from_left.is_some(),
            Kind::App(op, _) => matches!(op, Op::LmGet(..) | Op::JacobianOfFun(_) | Op::If | Op::Assert),
            Kind::Let(..) => true,
            Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => false,
        })
    })
}

/// Returns a value that is computed from a map that is left; else the map.
pub fn with_map_left(def: &Def) -> Option<Expr> {
    let is_value = |e: &Expr| !e.ty().mentions_lm() && !matches!(e.kind(), Kind::Let(..) | Kind::Lam(..));
    let left = def.body.find_map(|e| {
        let has_map = matches!(e.kind(), Kind::App(..)) && e.children().any(|a| a.ty().mentions_lm());
        (has_map && is_value(e)).then(|| e.clone())
    });
    left.or_else(|| forms::with_map(&def.body))
}
