//! Applies strategies to terms.
//!
//! The bindings that a law makes float to right before the binding, or to the head of the branch, that uses them.
//! Rewriting runs on fuel: laws that do not end are an error, not a hang.

use crate::law::Context;
use crate::rewrites::{Rewrite, Rewrites};
use crate::strategy::{LawSet, Strategy};
use crate::term::{Binding, Expr, Kind, Op, Supply};
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Rewriting did not end within its fuel.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("rewriting did not end within {fuel} steps; the laws applied last: {}", laws.join(", "))]
pub struct OutOfFuel {
    /// The steps allowed.
    pub fuel: usize,
    /// The laws that fired among the last steps, most frequent first.
    pub laws: Vec<Arc<str>>,
}

/// The number of last steps that a diagnostic of divergence looks at.
const WINDOW: usize = 64;

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
    left: usize,
    recent: Vec<Arc<str>>,
    floats: Vec<Vec<Binding>>,
    normal: FxHashMap<usize, Expr>,
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
            left: fuel,
            recent: Vec::new(),
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

    fn apply(&mut self, s: &Strategy, e: &Expr) -> Outcome {
        match s {
            Strategy::Id => Ok(Some(e.clone())),
            Strategy::Fail => Ok(None),
            Strategy::Laws(set) => self.laws(set, e),
            Strategy::Seq(a, b) => match self.apply(a, e)? {
                Some(e) => self.apply(b, &e),
                None => Ok(None),
            },
            Strategy::Choice(a, b) => match self.apply(a, e)? {
                Some(e) => Ok(Some(e)),
                None => self.apply(b, e),
            },
            Strategy::Try(s) => Ok(Some(self.apply(s, e)?.unwrap_or_else(|| e.clone()))),
            Strategy::Repeat(s) => self.repeat(s, e),
            Strategy::One(s) => self.children(e, Quantity::One, &mut |cx, _, e| cx.apply(s, e)),
            Strategy::Some(s) => self.children(e, Quantity::Some, &mut |cx, _, e| cx.apply(s, e)),
            Strategy::All(s) => self.children(e, Quantity::All, &mut |cx, _, e| cx.apply(s, e)),
            Strategy::Child(i, s) => self.children(e, Quantity::Some, &mut |cx, j, e| {
                if *i == j { cx.apply(s, e) } else { Ok(None) }
            }),
            Strategy::TopDown(s) => self.top_down(s, e),
            Strategy::BottomUp(s) => self.bottom_up(s, e),
            Strategy::Innermost(s) => self.innermost(s, e).map(Some),
            Strategy::Normalize(s) => self.repeat(&Strategy::TopDown(s.clone()), e),
        }
    }

    fn repeat(&mut self, s: &Strategy, e: &Expr) -> Outcome {
        let mut e = e.clone();
        while let Some(next) = self.apply(s, &e)? {
            e = next;
            self.burn(&"repeat".into())?;
        }
        Ok(Some(e))
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

    fn innermost(&mut self, s: &Strategy, e: &Expr) -> Result<Expr, OutOfFuel> {
        let mut e = e.clone();
        loop {
            if self.normal.contains_key(&e.address()) {
                return Ok(e);
            }
            let inner = self.children(&e, Quantity::All, &mut |cx, _, e| cx.innermost(s, e).map(Some))?;
            e = inner.unwrap_or(e);
            match self.apply(s, &e)? {
                Some(next) => e = next,
                None => {
                    self.normal.insert(e.address(), e.clone());
                    return Ok(e);
                }
            }
        }
    }

    fn laws(&mut self, set: &LawSet, e: &Expr) -> Outcome {
        if self.rewrites.is_spent() {
            return Ok(None);
        }
        for law in set.candidates(e) {
            let mut floats = Vec::new();
            if let Some(new) = law.rewrite_among(e, self.supply, &mut floats, &self.context) {
                self.burn(&law.name)?;
                *self.fired.entry(law.name.clone()).or_default() += 1;
                self.rewrites.count(|| Rewrite {
                    law: law.name.clone(),
                    instance: Some((e.clone(), Expr::block(floats.clone(), new.clone()))),
                });
                self.floats.last_mut().expect("a strategy runs inside a frame").extend(floats);
                return Ok(Some(new));
            }
        }
        Ok(None)
    }

    fn burn(&mut self, law: &Arc<str>) -> Result<(), OutOfFuel> {
        if self.recent.len() == WINDOW {
            self.recent.remove(0);
        }
        self.recent.push(law.clone());
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                let mut counts: IndexMap<Arc<str>, usize> = IndexMap::new();
                self.recent.iter().for_each(|law| *counts.entry(law.clone()).or_default() += 1);
                counts.sort_by(|_, a, _, b| b.cmp(a));
                Err(OutOfFuel { fuel: self.fuel, laws: counts.into_keys().collect() })
            }
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
