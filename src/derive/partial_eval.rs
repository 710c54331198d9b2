//! Cuts a block at a dependence: into the part that can be computed before some variables are known, and the rest.
//!
//! ```text
//! block  =  let forward in let reverse in result        reverse = all that depends on them
//! ```
//!
//! A conditional that depends on them, but whose condition does not, is cut in two:
//!
//! ```text
//! let x = if c then (let u = p in let v = q(u, dr) in v) else e
//!    =   let u = if c then p else _ in .. let x = if c then (let v = q(u, dr) in v) else e
//! ```
//!
//! Cut at the cotangent, a reverse derivative falls into the two halves `revf$f` and `revr$f` of the working notes,
//! sec. 6.1. The variables that pass from the first to the second are the record, B. Takes: normal form without linear
//! maps. Gives: normal form.

use lm::prim::Prim;
use lm::scope::{renamed, substitute};
use lm::term::{Binding, Expr, Op, Pattern, Supply, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// A block cut in two.
#[derive(Debug)]
pub struct Halves {
    /// The bindings that do not depend on the late variables.
    pub forward: Vec<Binding>,
    /// The bindings that depend on them.
    pub reverse: Vec<Binding>,
    /// The result.
    pub result: Expr,
}

/// Cuts a block at the dependence on the variables `late`.
pub fn cut(block: &Expr, late: FxHashSet<u32>, supply: &mut Supply) -> Halves {
    Cut { late, supply }.cut_block(block)
}

/// Cuts a conditional on a variable that is not late. Returns its forward half as a binding, and the rest of it;
/// `None` when nothing can be computed before.
pub fn cut_conditional(e: &Expr, late: FxHashSet<u32>, supply: &mut Supply) -> Option<(Binding, Expr)> {
    let [c, yes, no] = e.args_of(&Op::If)? else { return None };
    let mut halves = Halves { forward: Vec::new(), reverse: Vec::new(), result: e.clone() };
    let rest = Cut { late, supply }.conditional(c, yes, no, &mut halves);
    halves.forward.pop().map(|forward| (forward, rest))
}

/// Returns the variables of `among` that a block's bindings and result use, in order of binding.
pub fn record(reverse: &[Binding], result: &Expr, among: &[Var]) -> Vec<Var> {
    let mut used = lm::scope::occurrences(result);
    for b in reverse {
        used.extend(lm::scope::occurrences(&b.rhs));
    }
    among.iter().filter(|x| used.contains_key(&x.id())).cloned().collect()
}

struct Cut<'a> {
    /// The late variables, and the variables found to depend on them.
    late: FxHashSet<u32>,
    supply: &'a mut Supply,
}

impl Cut<'_> {
    fn cut_block(&mut self, e: &Expr) -> Halves {
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
        if !depends_on(&b.rhs, &self.late) {
            halves.forward.push(b.clone());
            return;
        }
        let rhs = match b.rhs.args_of(&Op::If) {
            Some([c, yes, no]) if !depends_on(c, &self.late) => self.conditional(c, yes, no, halves),
            _ => b.rhs.clone(),
        };
        self.late.extend(b.pattern.vars().iter().map(Var::id));
        halves.reverse.push(Binding { pattern: b.pattern.clone(), rhs });
    }

    /// Cuts the branches; their forward halves become a conditional of their own.
    fn conditional(&mut self, c: &Expr, yes: &Expr, no: &Expr, halves: &mut Halves) -> Expr {
        let (mut yes, mut no) = (self.cut_block(yes), self.cut_block(no));
        copy_trivial(&mut yes, self.supply);
        copy_trivial(&mut no, self.supply);
        let slots = Slots::of(exported(&yes), exported(&no));
        if !slots.0.is_empty() {
            // From now on the variables name the record, so the branches get binders of their own.
            let first = renamed(&Expr::block(yes.forward, slots.filled(|(yes, _)| yes.as_ref())), self.supply);
            let second = renamed(&Expr::block(no.forward, slots.filled(|(_, no)| no.as_ref())), self.supply);
            let rhs = Expr::conditional(c.clone(), first, second);
            halves.forward.push(Binding { pattern: slots.pattern(), rhs });
        }
        let no_block = substitute(&Expr::block(no.reverse, no.result), &slots.renaming());
        Expr::conditional(c.clone(), Expr::block(yes.reverse, yes.result), no_block)
    }
}

/// Copies free terms, such as tuples, to the reverse half, to keep them out of the record. Copies zeros,
/// too: a zero that is added to a cotangent is never made.
pub fn copy_trivial(halves: &mut Halves, supply: &mut Supply) {
    let mut needed: FxHashSet<u32> = exported(halves).iter().map(Var::id).collect();
    let mut copies = Vec::new();
    for b in halves.forward.iter().rev() {
        let is_trivial = b.rhs.args_of(&Op::Tuple).or(b.rhs.args_of(&Op::Prim(Prim::ZeroOf))).is_some();
        if is_trivial && b.pattern.vars().iter().any(|x| needed.contains(&x.id())) {
            needed.extend(lm::scope::occurrences(&b.rhs).into_keys());
            copies.insert(0, b.clone());
        }
    }
    let whole = Expr::block([copies, std::mem::take(&mut halves.reverse)].concat(), halves.result.clone());
    // Binders of their own: the originals may serve the forward half.
    let whole = renamed(&whole, supply);
    let (reverse, result) = whole.as_block();
    halves.reverse = reverse.to_vec();
    halves.result = result.clone();
}

/// Returns whether one of the variables occurs free in the term.
pub fn depends_on(e: &Expr, late: &FxHashSet<u32>) -> bool {
    e.any(|e| e.as_var().is_some_and(|x| late.contains(&x.id())))
}

/// The record of a conditional. Only one branch is taken, so a variable of one and a variable of the other, of one
/// type, share a slot. Without that, a record in a record would double at each level.
pub struct Slots(Vec<(Option<Var>, Option<Var>)>);

impl Slots {
    /// Returns the slots for the records of the branches.
    pub fn of(yes: Vec<Var>, no: Vec<Var>) -> Slots {
        let mut slots: Vec<(Option<Var>, Option<Var>)> = yes.into_iter().map(|x| (Some(x), None)).collect();
        for x in no {
            match slots.iter_mut().find(|(yes, no)| no.is_none() && yes.as_ref().is_some_and(|y| y.ty() == x.ty())) {
                Some((_, slot)) => *slot = Some(x),
                None => slots.push((None, Some(x))),
            }
        }
        Slots(slots)
    }

    /// Returns the variable that holds each slot outside.
    pub fn vars(&self) -> Vec<Var> {
        let either = |(yes, no): &(Option<Var>, Option<Var>)| yes.as_ref().or(no.as_ref()).cloned();
        self.0.iter().filter_map(either).collect()
    }

    fn pattern(&self) -> Pattern {
        let mut vars = self.vars();
        if vars.len() == 1 { Pattern::Var(vars.remove(0)) } else { Pattern::Tuple(vars) }
    }

    /// Returns a branch's result: its own variables, and dummies in the slots that it has none for.
    fn filled(&self, own: impl Fn(&(Option<Var>, Option<Var>)) -> Option<&Var>) -> Expr {
        let mut parts = self.parts(own);
        if parts.len() == 1 { parts.remove(0) } else { Expr::tuple(parts) }
    }

    /// Returns the values of the slots in the first branch: its own variables, and dummies.
    pub fn of_first(&self) -> Vec<Expr> {
        self.parts(|(yes, _)| yes.as_ref())
    }

    /// Returns the values of the slots in the second branch.
    pub fn of_second(&self) -> Vec<Expr> {
        self.parts(|(_, no)| no.as_ref())
    }

    fn parts(&self, own: impl Fn(&(Option<Var>, Option<Var>)) -> Option<&Var>) -> Vec<Expr> {
        let part = |(slot, x): (&(Option<Var>, Option<Var>), &Var)| match own(slot) {
            Some(own) => Expr::var(own),
            None => Expr::dummy(x.ty().clone()),
        };
        let vars = self.vars();
        self.0.iter().zip(&vars).map(part).collect()
    }

    /// Renames the second branch's variables to those of the slots.
    pub fn renaming(&self) -> FxHashMap<u32, Expr> {
        let shared = self.0.iter().filter_map(|(yes, no)| Some((no.as_ref()?.id(), Expr::var(yes.as_ref()?))));
        shared.collect()
    }
}

/// Returns the variables that the reverse half of a branch reads from its forward half.
fn exported(branch: &Halves) -> Vec<Var> {
    let bound: Vec<Var> = branch.forward.iter().flat_map(|b| b.pattern.vars().to_vec()).collect();
    record(&branch.reverse, &branch.result, &bound)
}
