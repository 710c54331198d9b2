//! Applies strategies to terms.
//!
//! The bindings that a law makes float to right before the binding, or to the head of the branch, that uses them.
//! Rewriting runs on fuel: laws that do not end are an error, not a hang. What a strategy did before it failed is as if
//! it had not been.

use crate::endless::{GROWTH, MOST_RECURSIONS, Recent, VISITS};
use crate::law::Context;
use crate::rewrites::{Rewrite, Rewrites};
use crate::strategy::{Combinator, LawSet, Strategy};
use crate::term::{Binding, Expr, Kind, Op, Supply};
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use std::sync::Arc;

pub use crate::endless::{OutOfFuel, Rounds};

/// Applies strategies.
pub struct Rewriter<'a> {
    /// For variables that laws bind.
    pub supply: &'a mut Supply,
    /// The rewrites that laws and passes may do.
    pub rewrites: &'a mut Rewrites,
    /// The number of times that each law fired.
    pub fired: IndexMap<Arc<str>, usize>,
    /// What is known in scope. Passes tell, and some laws read it.
    pub context: Context,
    fuel: usize,
    /// The visits that are left.
    visits: usize,
    recent: Recent,
    /// The nodes that came with the steps taken, less those that went.
    grown: isize,
    /// The steps that `fuel(n, s)` leaves, in one.
    allowed: Option<usize>,
    /// The strategies of variables.
    recursions: FxHashMap<u32, Arc<Strategy>>,
    /// The rounds of the recursions that are under way, by variable.
    rounds: FxHashMap<u32, Rounds>,
    floats: Vec<Vec<Binding>>,
    /// The terms that are normal, by the strategy and the term: the term lives as long as its address is known.
    normal: FxHashMap<(usize, usize), Expr>,
}

type Outcome = Result<Option<Expr>, OutOfFuel>;

impl<'a> Rewriter<'a> {
    /// Returns a rewriter that does at most `fuel` steps.
    pub fn new(supply: &'a mut Supply, rewrites: &'a mut Rewrites, fuel: usize) -> Rewriter<'a> {
        Rewriter {
            supply,
            rewrites,
            fired: IndexMap::new(),
            context: Context::default(),
            fuel,
            visits: fuel.saturating_mul(VISITS),
            recent: Recent::default(),
            grown: 0,
            allowed: None,
            recursions: FxHashMap::default(),
            rounds: FxHashMap::default(),
            floats: Vec::new(),
            normal: FxHashMap::default(),
        }
    }

    /// Applies a strategy; returns `None` when it fails. The bindings that laws make go right before the
    /// binding, or to the head of the branch, that uses them.
    pub fn run(&mut self, s: &Strategy, e: &Expr) -> Outcome {
        self.normal.clear();
        self.run_on(s, e)
    }

    /// Does the same as [`Rewriter::run`] with the strategy of the run before, whose normal terms may be parts of this
    /// one: they are not walked again.
    pub fn run_on(&mut self, s: &Strategy, e: &Expr) -> Outcome {
        self.framed(e, |cx, e| cx.apply(s, e))
    }

    /// Forgets which terms are normal.
    pub fn forget(&mut self) {
        self.normal.clear();
    }

    /// Applies a strategy. When it fails, it leaves nothing.
    fn apply(&mut self, s: &Strategy, e: &Expr) -> Outcome {
        self.visits = self.visits.checked_sub(1).ok_or_else(|| self.recent.out_of_steps())?;
        let before = (self.grown, self.frame().len());
        let outcome = self.shape(s, e)?;
        if outcome.is_none() {
            self.grown = before.0;
            self.frame().truncate(before.1);
        }
        Ok(outcome)
    }

    /// Returns the bindings that float out of the innermost term with a frame of its own.
    fn frame(&mut self) -> &mut Vec<Binding> {
        self.floats.last_mut().expect("a strategy runs inside a frame")
    }

    fn shape(&mut self, s: &Strategy, e: &Expr) -> Outcome {
        match s {
            Strategy::Id => Ok(Some(e.clone())),
            Strategy::Fail => Ok(None),
            Strategy::Laws(set) => self.laws(set, e),
            Strategy::Seq(a, b) => self.apply(a, e)?.map_or(Ok(None), |e| self.apply(b, &e)),
            Strategy::Choice(a, b) => match self.apply(a, e)? {
                Some(e) => Ok(Some(e)),
                None => self.apply(b, e),
            },
            Strategy::With(combinator, s) => self.combinator(*combinator, s, e),
            Strategy::Mu(x, s) => {
                self.recursions.insert(*x, s.clone());
                self.recursion(*x, e)
            }
            Strategy::Var(x) => self.recursion(*x, e),
            Strategy::Fuel(n, s) => self.allowing(*n, |cx| cx.apply(s, e)),
            Strategy::Stage(_, s) => self.apply(s, e),
            Strategy::Pass(name) => panic!("pass({name}) on a part of a definition, which the check admits nowhere"),
            Strategy::Placed(span, s) => self.apply(s, e).map_err(|stuck| match stuck.strategy {
                None if s.is_loop() => OutOfFuel { strategy: Some(*span), ..stuck },
                _ => stuck,
            }),
        }
    }

    fn combinator(&mut self, combinator: Combinator, s: &Arc<Strategy>, e: &Expr) -> Outcome {
        match combinator {
            Combinator::Try => Ok(Some(self.apply(s, e)?.unwrap_or_else(|| e.clone()))),
            Combinator::Repeat => self.repeat(e, |cx, e| cx.apply(s, e)),
            Combinator::One => self.children(e, Quantity::One, &mut |cx, _, e| cx.apply(s, e)),
            Combinator::Some => self.children(e, Quantity::Some, &mut |cx, _, e| cx.apply(s, e)),
            Combinator::All => self.children(e, Quantity::All, &mut |cx, _, e| cx.apply(s, e)),
            Combinator::TopDown => self.top_down(s, e),
            Combinator::BottomUp => self.bottom_up(s, e),
            Combinator::Innermost => self.innermost(s, e).map(Some),
            Combinator::Normalize => self.normalize(s, e).map(Some),
            Combinator::At(place) => match place.of(e) {
                Some(i) => self.children(e, Quantity::Some, &mut |cx, j, e| {
                    if i == j { cx.apply(s, e) } else { Ok(None) }
                }),
                None => Ok(None),
            },
        }
    }

    /// Applies the strategy of a variable: one more recursion.
    fn recursion(&mut self, x: u32, e: &Expr) -> Outcome {
        let s = self.recursions.get(&x).expect("a variable is in its `mu`").clone();
        let mut rounds = self.rounds.remove(&x).unwrap_or_default();
        self.enter(&mut rounds, e)?;
        self.rounds.insert(x, rounds);
        let outcome = self.apply(&s, e)?;
        self.rounds.entry(x).or_default().leave();
        Ok(outcome)
    }

    /// Begins a recursion in those that are under way.
    ///
    /// Errors: it is at a term where one of these is; there are too many.
    pub fn enter(&self, rounds: &mut Rounds, e: &Expr) -> Result<(), OutOfFuel> {
        self.round(rounds, e)?;
        if rounds.count() > MOST_RECURSIONS { Err(self.recent.out_of_steps()) } else { Ok(()) }
    }

    /// Begins the next round of a loop.
    ///
    /// Errors: it is at a term where it was before, and has no fuel of its own that ends it.
    pub fn round(&self, rounds: &mut Rounds, e: &Expr) -> Result<(), OutOfFuel> {
        if self.allowed.is_none() {
            rounds.compare(e, &self.recent)?;
        }
        rounds.enter(e, &self.recent);
        Ok(())
    }

    /// Lets laws apply n times at most, and no more than they may around this.
    fn allowing(&mut self, n: usize, run: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        let around = self.allowed;
        let n = around.map_or(n, |around| n.min(around));
        self.allowed = Some(n);
        let outcome = run(self);
        let taken = n - self.allowed.unwrap_or(n);
        self.allowed = around.map(|around| around - taken);
        outcome
    }

    fn repeat(&mut self, e: &Expr, mut step: impl FnMut(&mut Self, &Expr) -> Outcome) -> Outcome {
        let (mut e, mut rounds) = (e.clone(), Rounds::default());
        while let Some(next) = step(self, &e)? {
            e = next;
            self.round(&mut rounds, &e)?;
        }
        Ok(Some(e))
    }

    fn normalize(&mut self, s: &Strategy, e: &Expr) -> Result<Expr, OutOfFuel> {
        let before = self.frame().len();
        let normal = self.repeat(e, |cx, e| cx.top_down(s, e))?.unwrap_or_else(|| e.clone());
        // What laws have named is no longer a part of the term.
        let named = self.frame().split_off(before);
        for b in named {
            let rhs = self.normalize(s, &b.rhs)?;
            self.frame().push(Binding { pattern: b.pattern, rhs });
        }
        Ok(normal)
    }

    fn top_down(&mut self, s: &Strategy, e: &Expr) -> Outcome {
        match self.apply(s, e)? {
            Some(e) => Ok(Some(e)),
            None => self.children(e, Quantity::One, &mut |cx, _, e| cx.top_down(s, e)),
        }
    }

    fn bottom_up(&mut self, s: &Strategy, e: &Expr) -> Outcome {
        match self.children(e, Quantity::One, &mut |cx, _, e| cx.bottom_up(s, e))? {
            Some(e) => Ok(Some(e)),
            None => self.apply(s, e),
        }
    }

    fn innermost(&mut self, s: &Arc<Strategy>, e: &Expr) -> Result<Expr, OutOfFuel> {
        let (mut e, mut rounds) = (e.clone(), Rounds::default());
        let strategy = Arc::as_ptr(s) as usize;
        loop {
            if self.normal.contains_key(&(strategy, e.address())) {
                return Ok(e);
            }
            let inner = self.children(&e, Quantity::All, &mut |cx, _, e| cx.innermost(s, e).map(Some))?;
            e = inner.unwrap_or(e);
            match self.apply(s, &e)? {
                Some(next) => e = next,
                None => {
                    // Without fuel, laws fail that would apply.
                    if self.allowed != Some(0) {
                        self.normal.insert((strategy, e.address()), e.clone());
                    }
                    return Ok(e);
                }
            }
            self.round(&mut rounds, &e)?;
        }
    }

    fn laws(&mut self, set: &LawSet, e: &Expr) -> Outcome {
        if self.rewrites.is_spent() || self.allowed == Some(0) {
            return Ok(None);
        }
        for law in set.candidates(e) {
            let mut floats = Vec::new();
            if let Some(new) = law.rewrite_among(e, self.supply, &mut floats, &self.context) {
                self.step(&law.name, e, new.size() + floats.iter().map(|b| b.rhs.size()).sum::<usize>())?;
                self.rewrites.count(|| Rewrite {
                    law: law.name.clone(),
                    instance: Some((e.clone(), Expr::block(floats.clone(), new.clone()))),
                });
                self.frame().extend(floats);
                return Ok(Some(new));
            }
        }
        Ok(None)
    }

    /// Counts a step from a term to one of a size.
    fn step(&mut self, law: &Arc<str>, from: &Expr, size: usize) -> Result<(), OutOfFuel> {
        self.recent.step(law, from.span());
        *self.fired.entry(law.clone()).or_default() += 1;
        self.allowed = self.allowed.map(|left| left - 1);
        self.grown += size as isize - from.size() as isize;
        if self.recent.steps() > self.fuel {
            return Err(self.recent.out_of_steps());
        }
        match usize::try_from(self.grown) {
            Ok(nodes) if nodes / GROWTH > self.fuel => Err(self.recent.too_large(nodes)),
            _ => Ok(()),
        }
    }

    /// Rewrites with a frame of its own: the bindings that float out of `e` become a block around it.
    fn framed(&mut self, e: &Expr, f: impl FnOnce(&mut Self, &Expr) -> Outcome) -> Outcome {
        self.floats.push(Vec::new());
        let result = f(self, e);
        let floats = self.floats.pop().expect("pushed above");
        Ok(result?.map(|new| Expr::block(floats, new)))
    }

    /// Rewrites the children of a node, in order of evaluation; `None` when the quantity is not met.
    fn children(
        &mut self,
        e: &Expr,
        quantity: Quantity,
        f: &mut dyn FnMut(&mut Self, usize, &Expr) -> Outcome,
    ) -> Outcome {
        let mut tally = Tally { quantity, next: 0, done: 0, failed: false };
        let new = match e.kind() {
            Kind::Const(_) | Kind::Var(_) => None,
            Kind::App(op, args) => self.rewrite_arguments(e, op, args, &mut tally, f)?,
            Kind::Let(bindings, body) => self.rewrite_in_block(bindings, body, &mut tally, f)?,
            Kind::Lam(x, body) => {
                let new = self.framed(body, |cx, e| tally.child(cx, e, f))?;
                new.map(|body| Expr::lam(x.clone(), body).at(e.span()))
            }
        };
        let met = match quantity {
            Quantity::All => !tally.failed,
            Quantity::One | Quantity::Some => tally.done > 0,
        };
        Ok(met.then(|| new.unwrap_or_else(|| e.clone())))
    }

    fn rewrite_arguments(
        &mut self,
        e: &Expr,
        op: &Op,
        args: &[Expr],
        tally: &mut Tally,
        f: &mut dyn FnMut(&mut Self, usize, &Expr) -> Outcome,
    ) -> Outcome {
        let mut new = Vec::with_capacity(args.len());
        let mut changed = false;
        for (i, arg) in args.iter().enumerate() {
            // A branch is evaluated only when chosen: nothing may float out of it.
            let is_branch = *op == Op::If && i > 0;
            let result = match is_branch {
                true => self.framed(arg, |cx, e| tally.child(cx, e, f))?,
                false => tally.child(self, arg, f)?,
            };
            changed |= result.as_ref().is_some_and(|r| r.address() != arg.address());
            new.push(result.unwrap_or_else(|| arg.clone()));
        }
        if !changed || *op == Op::Dummy {
            return Ok(None);
        }
        let built = Expr::try_app(op.clone(), new, e.span());
        Ok(Some(built.unwrap_or_else(|| panic!("a rewritten argument does not fit {op:?}"))))
    }

    fn rewrite_in_block(
        &mut self,
        bindings: &[Binding],
        body: &Expr,
        tally: &mut Tally,
        f: &mut dyn FnMut(&mut Self, usize, &Expr) -> Outcome,
    ) -> Outcome {
        let mut new: Vec<Binding> = Vec::with_capacity(bindings.len());
        let mut changed = false;
        for binding in bindings {
            self.floats.push(Vec::new());
            let result = tally.child(self, &binding.rhs, f);
            new.extend(self.floats.pop().expect("pushed above"));
            let result = result?;
            changed |= result.as_ref().is_some_and(|r| r.address() != binding.rhs.address());
            let rhs = result.unwrap_or_else(|| binding.rhs.clone());
            new.push(Binding { pattern: binding.pattern.clone(), rhs });
        }
        let result = self.framed(body, |cx, e| tally.child(cx, e, f))?;
        changed |= result.as_ref().is_some_and(|r| r.address() != body.address());
        Ok(changed.then(|| Expr::block(new, result.unwrap_or_else(|| body.clone()))))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Quantity {
    One,
    Some,
    All,
}

/// The children that were rewritten so far.
struct Tally {
    quantity: Quantity,
    next: usize,
    done: usize,
    failed: bool,
}

impl Tally {
    /// Rewrites the next child, unless the quantity says to leave it.
    fn child<'a>(
        &mut self,
        cx: &mut Rewriter<'a>,
        e: &Expr,
        f: &mut dyn FnMut(&mut Rewriter<'a>, usize, &Expr) -> Outcome,
    ) -> Outcome {
        let i = self.next;
        self.next += 1;
        if self.failed || (self.quantity == Quantity::One && self.done > 0) {
            return Ok(None);
        }
        let result = f(cx, i, e)?;
        match result {
            Some(_) => self.done += 1,
            None => self.failed = self.quantity == Quantity::All,
        }
        Ok(result)
    }
}
