//! Cutting a block at a dependence: what can be computed before some variables are known, and what
//! cannot.
//!
//!   block  =  let forward in let reverse in result        reverse = all that depends on them
//!
//! A conditional that depends on them, but whose condition does not, is cut in two:
//!
//!   let x = if c then (let u = p in let v = q(u, dr) in v) else e
//!      =   let u = if c then p else _ in .. let x = if c then (let v = q(u, dr) in v) else e
//!
//! Cut at the cotangent, a reverse derivative falls into the two halves `revf$f` and `revr$f` of the
//! working notes, sec. 6.1; the variables that pass from the first to the second are the record, B.
//! Takes: normal form without linear maps. Gives: normal form.

use lm::scope::renamed;
use lm::term::{Binding, Expr, Kind, Op, Pattern, Supply, Var};
use std::collections::HashSet;

/// A block cut in two.
#[derive(Debug)]
pub struct Halves {
    /// Independent of the late variables.
    pub forward: Vec<Binding>,
    /// Dependent on them.
    pub reverse: Vec<Binding>,
    /// The result.
    pub result: Expr,
}

/// Cuts a block at the dependence on the variables `late`.
pub fn cut(block: &Expr, late: HashSet<u32>, supply: &mut Supply) -> Halves {
    Cut { late, supply }.block(block)
}

/// Cuts a conditional on a variable that is not late: its forward half as a binding, and what is
/// left of it. `None` when nothing can be computed before.
pub fn cut_conditional(e: &Expr, late: HashSet<u32>, supply: &mut Supply) -> Option<(Binding, Expr)> {
    let [c, yes, no] = e.args_of(&Op::If)? else { return None };
    let mut halves = Halves { forward: Vec::new(), reverse: Vec::new(), result: e.clone() };
    let rest = Cut { late, supply }.conditional(c, yes, no, &mut halves);
    halves.forward.pop().map(|forward| (forward, rest))
}

/// The free variables of a block's bindings and result that are bound in `among`, in order of binding.
pub fn record(reverse: &[Binding], result: &Expr, among: &[Var]) -> Vec<Var> {
    let mut used = lm::scope::occurrences(result);
    for b in reverse {
        used.extend(lm::scope::occurrences(&b.rhs));
    }
    among.iter().filter(|x| used.contains_key(&x.id())).cloned().collect()
}

struct Cut<'a> {
    /// The late variables, and those found to depend on them.
    late: HashSet<u32>,
    supply: &'a mut Supply,
}

impl Cut<'_> {
    fn block(&mut self, e: &Expr) -> Halves {
        let (bindings, result) = e.as_block();
        let mut halves = Halves { forward: Vec::new(), reverse: Vec::new(), result: result.clone() };
        if result.args_of(&Op::If).is_some() {
            let t = self.supply.fresh("t", result.ty().clone());
            halves.result = Expr::var(&t);
            let named = Binding { pattern: Pattern::Var(t), rhs: result.clone() };
            bindings.iter().chain([&named]).for_each(|b| self.binding(b, &mut halves));
        } else {
            bindings.iter().for_each(|b| self.binding(b, &mut halves));
        }
        halves
    }

    fn binding(&mut self, b: &Binding, halves: &mut Halves) {
        if !self.is_late(&b.rhs) {
            halves.forward.push(b.clone());
            return;
        }
        let rhs = match b.rhs.args_of(&Op::If) {
            Some([c, yes, no]) if !self.is_late(c) => self.conditional(c, yes, no, halves),
            _ => b.rhs.clone(),
        };
        self.late.extend(b.pattern.vars().iter().map(Var::id));
        halves.reverse.push(Binding { pattern: b.pattern.clone(), rhs });
    }

    /// Cuts the branches; their forward halves become a conditional of their own.
    fn conditional(&mut self, c: &Expr, yes: &Expr, no: &Expr, halves: &mut Halves) -> Expr {
        let (mut yes, mut no) = (self.block(yes), self.block(no));
        self.copy_trivial(&mut yes);
        self.copy_trivial(&mut no);
        let (yes_vars, no_vars) = (exported(&yes), exported(&no));
        if !(yes_vars.is_empty() && no_vars.is_empty()) {
            let dummies = |xs: &[Var]| xs.iter().map(|x| Expr::dummy(x.ty().clone())).collect::<Vec<_>>();
            let uses = |xs: &[Var]| xs.iter().map(Expr::var).collect::<Vec<_>>();
            let first = [uses(&yes_vars), dummies(&no_vars)].concat();
            let second = [dummies(&yes_vars), uses(&no_vars)].concat();
            // The variables stand for the record from now on, so the branches get binders of their own.
            let branch = |bindings: Vec<Binding>, parts: Vec<Expr>, supply: &mut Supply| {
                let result = if parts.len() == 1 { parts[0].clone() } else { Expr::tuple(parts) };
                renamed(&Expr::block(bindings, result), supply)
            };
            let first = branch(yes.forward, first, self.supply);
            let second = branch(no.forward, second, self.supply);
            let mut vars = [yes_vars, no_vars].concat();
            let pattern = if vars.len() == 1 { Pattern::Var(vars.remove(0)) } else { Pattern::Tuple(vars) };
            halves.forward.push(Binding { pattern, rhs: Expr::conditional(c.clone(), first, second) });
        }
        Expr::conditional(c.clone(), Expr::block(yes.reverse, yes.result), Expr::block(no.reverse, no.result))
    }

    /// What costs nothing to make again (tuples of what is there) is no part of the record.
    fn copy_trivial(&mut self, halves: &mut Halves) {
        let needed = exported(halves);
        let is_needed = |b: &Binding| b.pattern.vars().iter().any(|x| needed.contains(x));
        let trivial = |b: &&Binding| b.rhs.args_of(&Op::Tuple).is_some() && is_needed(b);
        let copies: Vec<Binding> = halves.forward.iter().filter(trivial).cloned().collect();
        let whole = Expr::block([copies, std::mem::take(&mut halves.reverse)].concat(), halves.result.clone());
        // Binders of their own: the originals may serve the forward half.
        let whole = renamed(&whole, self.supply);
        let (reverse, result) = whole.as_block();
        halves.reverse = reverse.to_vec();
        halves.result = result.clone();
    }

    fn is_late(&self, e: &Expr) -> bool {
        match e.kind() {
            Kind::Const(_) => false,
            Kind::Var(x) => self.late.contains(&x.id()),
            Kind::App(_, args) => args.iter().any(|a| self.is_late(a)),
            Kind::Let(bindings, body) => bindings.iter().any(|b| self.is_late(&b.rhs)) || self.is_late(body),
            Kind::Lam(_, body) => self.is_late(body),
        }
    }
}

/// What the reverse half of a branch needs of its forward half.
fn exported(branch: &Halves) -> Vec<Var> {
    let bound: Vec<Var> = branch.forward.iter().flat_map(|b| b.pattern.vars().to_vec()).collect();
    record(&branch.reverse, &branch.result, &bound)
}
