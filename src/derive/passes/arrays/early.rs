//! Computes before a loop what no step of it changes.
//!
//! ```text
//! build(n, λj. let t = e in b)                            =   let t = e in build(n, λj. b)               e has a value
//! build(n, λj. if c then let t = build(m, f) in b else d)   =   let t = build(if 0 < n and c then m else 0, f)
//!                                                             in build(n, λj. if c then b else d)
//! ```
//!
//! The laws of arrays make such names. What may fail is computed only where some step computes it: an array has no
//! elements elsewhere, and nothing reads it.

use super::early_loops::Axes;
use lm::effect::Effects;
use lm::facts::Facts;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::{free_variables, renamed};
use lm::term::{Binding, Constant, Expr, Kind, Op, Supply, Var};
use lm::types::Type;
use rustc_hash::FxHashSet;

/// What may leave a loop.
pub(super) struct Early<'a> {
    pub(super) facts: &'a Facts,
    pub(super) effects: &'a Effects,
    pub(super) rewrites: &'a mut Rewrites,
    pub(super) supply: &'a mut Supply,
    /// The index of the loop.
    index: Option<Var>,
    /// The loop, if its index has several components.
    pub(super) axes: Option<Axes>,
    /// Whether numbers leave the loop, too.
    pub(super) hoists: bool,
    /// Arrays that go before the loop with no elements where no step reads them: what reads them may fail there.
    without_elements: FxHashSet<u32>,
    /// Variables that stay in the loop.
    stays: FxHashSet<u32>,
    /// What holds where a term is computed; `None` where that depends on the step.
    path: Option<Vec<Expr>>,
    /// The conditions around a term that is named, in the loop; `None` in an inner loop, which may have no steps.
    pub(super) around: Vec<Option<Expr>>,
    pub(super) found: Vec<Binding>,
}

impl<'a> Early<'a> {
    pub(super) fn new(
        facts: &'a Facts,
        effects: &'a Effects,
        rewrites: &'a mut Rewrites,
        supply: &'a mut Supply,
    ) -> Early<'a> {
        let (stays, path, found) = (FxHashSet::default(), Some(Vec::new()), Vec::new());
        let without_elements = FxHashSet::default();
        Early {
            facts,
            effects,
            rewrites,
            supply,
            index: None,
            axes: None,
            hoists: false,
            without_elements,
            stays,
            path,
            around: Vec::new(),
            found,
        }
    }

    /// Returns the function of a loop of size n, and the bindings that go before the loop.
    pub(super) fn out_of(mut self, n: &Expr, i: &Var, body: &Expr) -> (Expr, Vec<Binding>) {
        self.stays.insert(i.id());
        self.path = Some(vec![is_not_empty(n)]);
        self.around = vec![Some(is_not_empty(n))];
        self.index = Some(i.clone());
        self.axes = i.ty().as_tuple().map(|_| Axes { index: i.clone(), size: n.clone() });
        let body = self.block(body);
        let body = self.with_loops_named(&body);
        (Expr::lam(i.clone(), body), self.found)
    }

    fn block(&mut self, e: &Expr) -> Expr {
        let (bindings, result) = e.as_block();
        let mut kept = Vec::new();
        for b in bindings {
            match self.moved(b) {
                Some((law, rhs)) if self.rewrites.may(law) => {
                    if law == "let-early-array" {
                        self.without_elements.extend(b.pattern.vars().iter().map(Var::id));
                    }
                    self.found.push(Binding { pattern: b.pattern.clone(), rhs })
                }
                _ => {
                    self.stays.extend(b.pattern.vars().iter().map(Var::id));
                    kept.push(b.clone());
                }
            }
        }
        Expr::block(kept, self.branches(result))
    }

    fn branches(&mut self, e: &Expr) -> Expr {
        let Some([c, yes, no]) = e.args_of(&Op::If) else { return e.clone() };
        let otherwise = Expr::prim(Prim::Not, [c.clone()]);
        let [yes, no] = [(c, yes), (&otherwise, no)].map(|(c, branch)| {
            let around = self.path.clone();
            self.path = around.clone().zip(self.for_some_step(c)).map(|(path, c)| [path, vec![c]].concat());
            let branch = self.block(branch);
            self.path = around;
            branch
        });
        Expr::conditional(c.clone(), yes, no).at(e.span())
    }

    /// Returns whether some step of a loop with steps takes a branch, as a term before the loop. All conditions together
    /// hold for the same step: those that depend on it are limits of the index, and the first step is below each that is
    /// above 0.
    pub(super) fn for_some_step(&self, c: &Expr) -> Option<Expr> {
        if !self.varies(c) {
            return Some(c.clone());
        }
        let [k, limit] = c.args_of_prim(Prim::Lt)? else { return None };
        let is_of = |e: &Expr| e.as_var().is_some_and(|x| Some(x) == self.index.as_ref());
        let is_index = match k.kind() {
            Kind::App(Op::Get(..), args) => is_of(&args[0]),
            _ => is_of(k),
        };
        let is_limit = is_index && *k.ty() == Type::Integer && !self.varies(limit);
        is_limit.then(|| Expr::prim(Prim::Lt, [Expr::integer(0), limit.clone()]))
    }

    /// Returns the term of a binding as it is before the loop, if it may go there, and the law.
    fn moved(&mut self, b: &Binding) -> Option<(&'static str, Expr)> {
        if self.varies(&b.rhs) || self.effects.in_term(&b.rhs) {
            return None;
        }
        if self.is_total(&b.rhs) {
            return Some(("let-early", b.rhs.clone()));
        }
        Some(("let-early-array", self.guarded(&b.rhs)?))
    }

    /// Lets variables stay in the loop.
    pub(super) fn stay(&mut self, xs: &[Var]) {
        self.stays.extend(xs.iter().map(Var::id));
    }

    /// Returns whether a variable stays in the loop.
    pub(super) fn stays(&self, x: &Var) -> bool {
        self.stays.contains(&x.id())
    }

    /// Returns whether a term has a value before the loop.
    pub(super) fn is_total(&self, e: &Expr) -> bool {
        self.facts.is_total(e) && !free_variables(e).iter().any(|x| self.without_elements.contains(&x.id()))
    }

    fn varies(&self, e: &Expr) -> bool {
        free_variables(e).iter().any(|x| self.stays.contains(&x.id()))
    }

    /// Returns an array, or a scan of one, that has its elements only where some step computes it.
    fn guarded(&mut self, e: &Expr) -> Option<Expr> {
        let Kind::App(op @ Op::Prim(p), args) = e.kind() else { return None };
        let args = match (p, args.as_slice()) {
            (Prim::Build, [n, f]) if *n.ty() == Type::Integer && self.is_total(n) => {
                let c = self.path.clone()?.into_iter().reduce(|c, d| Expr::prim(Prim::And, [c, d]))?;
                // The conditions stand in the loop, too.
                vec![Expr::conditional(renamed(&c, self.supply), n.clone(), Expr::integer(0)), f.clone()]
            }
            (Prim::Scanl, [f, a, v]) if self.facts.is_total_function(f) && self.is_total(a) => {
                vec![f.clone(), a.clone(), self.guarded(v)?]
            }
            _ => return None,
        };
        Some(Expr::app(op.clone(), args).at(e.span()))
    }
}

/// Returns whether a tensor of a size has elements.
fn is_not_empty(n: &Expr) -> Expr {
    let positive = |n: Expr| Expr::prim(Prim::Lt, [Expr::integer(0), n]);
    match n.ty().as_tuple() {
        Some(axes) => (1..=axes.len())
            .map(|i| positive(Expr::get(i, n.clone())))
            .reduce(|c, d| Expr::prim(Prim::And, [c, d]))
            .unwrap_or_else(|| Expr::constant(Constant::Bool(true))),
        None => positive(n.clone()),
    }
}
