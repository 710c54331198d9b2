//! Computes values that loops need and that do not depend on directions once, in tensors before the loops: residuals.
//!
//! ```text
//! x = build n (λi. let forward in let reverse in e)
//!   =   t = build n (λi. let forward in r);  x = build n (λi. let r = t[i] in let reverse in e)
//! ```
//!
//! The same holds for `sumbuild`. The reverse part is all that depends on the directions
//! ([`crate::derive::partial_eval`]); r is what it takes from the forward part. A linear map at a point may be applied
//! to many vectors: then t does not depend on the vector, and is made once for all of them.
//!
//! Loops within such loops stay as they are: a tensor before an inner loop would be made in each step of the outer one,
//! for each direction, and laws could not take the inner loop apart.
//!
//! A value that costs no more than a load is recomputed. So r has the results of loops, calls and functions of libm, if
//! they have one size for all i, such as numbers.
//!
//! Takes and gives: normal form without linear maps.

use crate::derive::forms::shown;
use crate::derive::partial_eval::{Halves, cut, depends_on};
use crate::derive::postcondition::Facts;
use lm::effect::Effects;
use lm::prim::{Cost, Prim};
use lm::rewrites::Rewrites;
use lm::scope::{occurrences, renamed};
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Span, Supply, Var};
use lm::types::Type;
use rustc_hash::FxHashSet;

/// Stores the residuals of loops in tensors of their own. `late` are the directions.
pub fn hoist_residuals(
    def: &Def,
    late: &[Var],
    effects: &Effects,
    supply: &mut Supply,
    rewrites: &mut Rewrites,
) -> Def {
    let late = late.iter().map(Var::id).collect();
    Def { body: HoistResiduals { late, effects, supply, rewrites }.hoist_in_block(&def.body), ..def.clone() }
}

struct HoistResiduals<'a> {
    /// The directions, and what depends on them.
    late: FxHashSet<u32>,
    effects: &'a Effects,
    supply: &'a mut Supply,
    rewrites: &'a mut Rewrites,
}

impl HoistResiduals<'_> {
    fn hoist_in_block(&mut self, e: &Expr) -> Expr {
        let (bindings, result) = e.as_block();
        let mut out = Vec::new();
        for b in bindings {
            let rhs = self.term(&b.rhs, &mut out);
            if depends_on(&rhs, &self.late) {
                self.late.extend(b.pattern.vars().iter().map(Var::id));
            }
            out.push(Binding { pattern: b.pattern.clone(), rhs });
        }
        let result = self.term(result, &mut out);
        Expr::block(out, result)
    }

    /// Rewrites a term; pushes the tensors that it reads to `out`.
    fn term(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Expr {
        if !depends_on(e, &self.late) || self.effects.in_term(e) {
            return e.clone();
        }
        match e.kind() {
            Kind::App(Op::If, args) => {
                let [c, yes, no] = args.as_slice() else { panic!("a conditional has two branches") };
                Expr::conditional(c.clone(), self.hoist_in_block(yes), self.hoist_in_block(no)).at(e.span())
            }
            Kind::App(Op::Prim(Prim::Build | Prim::SumBuild), args) => match args.as_slice() {
                [.., n, f] if !depends_on(n, &self.late) => self.hoist_from_loop(e, n, f, out),
                _ => e.clone(),
            },
            _ => e.clone(),
        }
    }

    fn hoist_from_loop(&mut self, e: &Expr, n: &Expr, f: &Expr, out: &mut Vec<Binding>) -> Expr {
        let (Kind::Lam(i, body), Kind::App(op, args)) = (f.kind(), e.kind()) else { return e.clone() };
        let halves = cut(body, self.late.clone(), self.supply);
        let (kept, again) = stored_and_recomputed(&halves);
        let law = if *op == Op::Prim(Prim::Build) { "build-residual" } else { "sumbuild-residual" };
        if kept.is_empty() || !self.rewrites.may(law) {
            return e.clone();
        }
        let f = Expr::lam(i.clone(), self.with_tensor((n, e.span()), i, halves, (&kept, again), out)).at(f.span());
        let args = args[..args.len() - 1].iter().cloned().chain([f]).collect();
        Expr::app(op.clone(), args).at(e.span())
    }

    /// Returns the body that reads the stored values from a tensor, which has the size and the place of the loop; pushes
    /// that tensor to `out`.
    fn with_tensor(
        &mut self,
        (n, place): (&Expr, Span),
        i: &Var,
        halves: Halves,
        (kept, again): (&[Var], Vec<Binding>),
        out: &mut Vec<Binding>,
    ) -> Expr {
        let (values, pattern) = match kept {
            [one] => (Expr::var(one), Pattern::Var(one.clone())),
            many => (Expr::tuple(many.iter().map(Expr::var).collect::<Vec<_>>()), Pattern::Tuple(many.to_vec())),
        };
        // Binders of its own: the originals serve the late loop.
        let early = renamed(&Expr::lam(i.clone(), Expr::block(halves.forward, values)), self.supply);
        let tensor = Expr::prim(Prim::Build, [n.clone(), early]).at(place);
        let t = self.supply.fresh("t", tensor.ty().clone());
        out.push(Binding { pattern: Pattern::Var(t.clone()), rhs: tensor });
        let element = Expr::prim(Prim::Index, [Expr::var(i), Expr::var(&t)]);
        let load = Binding { pattern, rhs: element };
        Expr::block([vec![load], again, halves.reverse].concat(), halves.result)
    }
}

/// Returns the variables of the forward half that are stored, and the bindings that are computed again.
fn stored_and_recomputed(halves: &Halves) -> (Vec<Var>, Vec<Binding>) {
    let mut needed: FxHashSet<u32> = occurrences(&halves.result).into_keys().collect();
    halves.reverse.iter().for_each(|b| needed.extend(occurrences(&b.rhs).into_keys()));
    let (mut kept, mut again) = (Vec::new(), Vec::new());
    for b in halves.forward.iter().rev() {
        let used: Vec<&Var> = b.pattern.vars().iter().filter(|x| needed.contains(&x.id())).collect();
        if used.is_empty() {
            continue;
        }
        if is_costly(&b.rhs) && used.iter().all(|x| has_one_size(x.ty())) {
            kept.extend(used.into_iter().cloned());
        } else {
            needed.extend(occurrences(&b.rhs).into_keys());
            again.push(b.clone());
        }
    }
    again.reverse();
    (kept, again)
}

/// Returns whether all values of the type have one size and can be elements.
fn has_one_size(ty: &Type) -> bool {
    match ty {
        Type::Float | Type::Integer | Type::Bool => true,
        Type::Tuple(parts) => parts.iter().all(has_one_size),
        _ => false,
    }
}

/// Returns whether computing the term takes longer than loading its value.
fn is_costly(e: &Expr) -> bool {
    e.any(|e| match e.kind() {
        Kind::Lam(..) | Kind::App(Op::Call(_), _) => true,
        Kind::App(Op::Prim(p), _) => p.cost() == Cost::Call,
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) => false,
    })
}

/// Returns what breaks the postcondition: a costly number that a loop computes again, though it depends on no
/// direction.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    let mut late: FxHashSet<u32> = facts.directions.iter().map(Var::id).collect();
    // A variable is bound before it is used: one walk finds all that depends on a direction.
    def.body.visit(|e| {
        for b in e.as_block().0 {
            if depends_on(&b.rhs, &late) {
                late.extend(b.pattern.vars().iter().map(Var::id));
            }
        }
    });
    early_in(&def.body, &late, facts)
}

/// Looks where the pass goes: not into the steps of loops.
fn early_in(e: &Expr, late: &FxHashSet<u32>, facts: &Facts) -> Option<Expr> {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => None,
        Kind::Let(bindings, body) => {
            let in_binding = bindings.iter().find_map(|b| early_in(&b.rhs, late, facts));
            in_binding.or_else(|| early_in(body, late, facts))
        }
        Kind::App(Op::Prim(Prim::Build | Prim::SumBuild), args) => {
            args.iter().find_map(|a| early_in(a, late, facts)).or_else(|| early_in_loop(e, late, facts))
        }
        Kind::App(_, args) => args.iter().find_map(|a| early_in(a, late, facts)),
        Kind::Lam(..) => None,
    }
}

/// Returns a binding of a late loop's body that could be stored before.
fn early_in_loop(e: &Expr, late: &FxHashSet<u32>, facts: &Facts) -> Option<Expr> {
    let Kind::App(Op::Prim(Prim::Build | Prim::SumBuild), args) = e.kind() else { return None };
    let [.., n, f] = args.as_slice() else { return None };
    let Kind::Lam(_, body) = f.kind() else { return None };
    if !depends_on(f, late) || depends_on(n, late) || facts.effects.in_term(e) {
        return None;
    }
    let used = occurrences(body);
    let is_kept = |b: &&Binding| {
        let mut vars = b.pattern.vars().iter().filter(|x| used.contains_key(&x.id())).peekable();
        vars.peek().is_some() && vars.all(|x| has_one_size(x.ty())) && is_costly(&b.rhs) && !depends_on(&b.rhs, late)
    };
    body.as_block().0.iter().find(is_kept).map(shown)
}
