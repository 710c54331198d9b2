//! Drops bindings, and components of results, that nothing uses: dead code elimination.
//!
//! ```text
//! let x = e in b   =   b                                                           x not in b
//! let (x, u) = if c then (e, v) else (f, w) in b   =   let x = if c then e else f in b    u not in b
//! let (x, u) = unzip(build(n, λi. (e, v))) in b   =   let x = build(n, λi. e) in b        likewise sums
//! let (u, dy) = jvp$f(s, ds) in b   =   let dy = fwd$f(s, ds) in b                        after merging
//! ```
//!
//! A binding with an effect (`print`, `$trace`) stays. A dropped binding raises no run-time error any more. One walk
//! goes from the result backwards. Takes and gives: any term.

use crate::derive::forms::smallest_binding;
use crate::derive::postcondition::Facts;
use lm::effect::Effects;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::occurrences;
use lm::term::{Binding, Def, Derivative, Expr, Fun, Kind, Op, Pattern};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Drops dead bindings.
pub fn dce(def: &Def, effects: &Effects, rewrites: &mut Rewrites) -> Def {
    let mut pass = Dce { effects, used: FxHashSet::default(), is_last: false, rewrites };
    Def { body: pass.term(&def.body), ..def.clone() }
}

/// Does the same as [`dce`] for a definition in which no calls will be merged any more: `jvp$f` of which only the
/// tangent is used becomes `fwd$f`.
pub fn dce_after_merging(def: &Def, effects: &Effects, rewrites: &mut Rewrites) -> Def {
    let mut pass = Dce { effects, used: FxHashSet::default(), is_last: true, rewrites };
    Def { body: pass.term(&def.body), ..def.clone() }
}

struct Dce<'a> {
    effects: &'a Effects,
    /// The variables that the part walked so far uses.
    used: FxHashSet<u32>,
    /// Whether no later pass merges calls.
    is_last: bool,
    rewrites: &'a mut Rewrites,
}

impl Dce<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Const(_) => e.clone(),
            Kind::Var(x) => {
                self.used.insert(x.id());
                e.clone()
            }
            Kind::App(..) | Kind::Lam(..) => e.map_children(|a| self.term(a)),
            Kind::Let(bindings, body) => {
                let body = self.term(body);
                let mut kept: Vec<Binding> = bindings.iter().rev().filter_map(|b| self.binding(b)).collect();
                kept.reverse();
                Expr::block(kept, body)
            }
        }
    }

    fn binding(&mut self, b: &Binding) -> Option<Binding> {
        let live: Vec<bool> = b.pattern.vars().iter().map(|x| self.used.contains(&x.id())).collect();
        if !live.contains(&true) && !self.effects.in_term(&b.rhs) && self.rewrites.may("let-dead") {
            return None;
        }
        let partly = live.contains(&false) && live.contains(&true);
        let narrowed = partly.then(|| narrowed(&b.rhs, &live, self.is_last)).flatten();
        let narrowed = narrowed.filter(|_| self.rewrites.may("if-component")).map(|rhs| {
            let vars = b.pattern.vars().iter().zip(&live).filter(|(_, l)| **l).map(|(x, _)| x.clone());
            let mut vars: Vec<_> = vars.collect();
            let pattern = if vars.len() == 1 { Pattern::Var(vars.remove(0)) } else { Pattern::Tuple(vars) };
            Binding { pattern, rhs: rhs.at(b.rhs.span()) }
        });
        let narrowed = narrowed.unwrap_or_else(|| b.clone());
        Some(Binding { rhs: self.term(&narrowed.rhs), ..narrowed })
    }
}

/// Returns the live components of a term that gives a tuple, if the others need not be computed then.
fn narrowed(e: &Expr, live: &[bool], is_last: bool) -> Option<Expr> {
    let Kind::App(op, args) = e.kind() else { return None };
    match (op, args.as_slice()) {
        (Op::If, [c, yes, no]) => {
            Some(Expr::conditional(c.clone(), components(yes, live, is_last)?, components(no, live, is_last)?))
        }
        (Op::Prim(Prim::Unzip), [zipped]) => {
            let [n, f] = zipped.args_of_prim(Prim::Build)? else { return None };
            let built = Expr::prim(Prim::Build, [n.clone(), of_function(f, live, is_last)?]);
            let one = live.iter().filter(|l| **l).count() == 1;
            Some(if one { built } else { Expr::prim(Prim::Unzip, [built]) })
        }
        (Op::Prim(Prim::SumBuild), [witness @ .., n, f]) => {
            let witness = witness.iter().map(|w| components(w, live, is_last)).collect::<Option<Vec<_>>>()?;
            Some(Expr::prim(Prim::SumBuild, [witness, vec![n.clone(), of_function(f, live, is_last)?]].concat()))
        }
        (Op::Call(f), _) if is_last && live == [false, true] && f.name.derivative() == Some(&Derivative::Jvp) => {
            let of = f.name.without_derivatives(1);
            let result = f.result.as_tuple()?[1].clone();
            let tangent = Fun { name: of.derived(Derivative::Fwd), params: f.params.clone(), result };
            Some(Expr::app(Op::Call(Arc::new(tangent)), args.clone()))
        }
        _ => None,
    }
}

/// Returns the function with only the live components of its result.
fn of_function(f: &Expr, live: &[bool], is_last: bool) -> Option<Expr> {
    let Kind::Lam(x, body) = f.kind() else { return None };
    Some(Expr::lam(x.clone(), components(body, live, is_last)?))
}

/// Returns the live components of a block's tuple; the component itself when there is one. Returns `None` where that
/// would repeat work.
fn components(block: &Expr, live: &[bool], is_last: bool) -> Option<Expr> {
    let (bindings, result) = block.as_block();
    let mut chosen: Vec<usize> = (1..=live.len()).filter(|i| live[i - 1]).collect();
    let result = match narrowed(result, live, is_last) {
        Some(result) => result,
        None if result.is_atom() || result.args_of(&Op::Tuple).is_some() || chosen.len() == 1 => {
            let mut parts = chosen.drain(..).map(|i| Expr::get(i, result.clone()));
            if parts.len() == 1 { parts.next()? } else { Expr::tuple(parts.collect::<Vec<_>>()) }
        }
        None => return None,
    };
    Some(Expr::block(bindings.to_vec(), result))
}

/// Returns what breaks the postcondition: a binding that is not used and has no effect.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    let used = occurrences(&def.body);
    let is_used = |b: &Binding| b.pattern.vars().iter().any(|x| used.contains_key(&x.id()));
    smallest_binding(&def.body, |b| !is_used(b) && !facts.effects.in_term(&b.rhs))
}
