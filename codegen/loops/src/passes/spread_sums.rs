//! Writes sums with terms that are zero for all but one element as choices.
//!
//! ```text
//! x = if k == l { a } else { 0 }; y = if k == m { b } else { 0 }
//! store N[k] = load s[k] + (x - y)
//!   =  store N[k] = if k == l { if k == m { load s[k] + a - b } else { load s[k] + a } } else { if k == m { load s[k] - b } else { load s[k] } }
//! add N[k] += x - y
//!   =  if k == l { add N[k] += a }; if k == m { add N[k] += -b }             where the loop does nothing else
//! ```
//!
//! So a step that adds sums of `deltaVec` to a state changes a few elements of it (`update_in_place`), and a loop that
//! adds such a sum is a few iterations (`index_set_split`). It adds in another order, and may change the sign of a zero.

use super::pass::FunctionCx;
use crate::ir::{Block, Builder, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most terms of a sum that is stored: each doubles the text of those after it.
const MOST_TERMS: usize = 3;

pub(super) fn run(cx: &mut FunctionCx) {
    if cx.settings.keeps_order {
        return;
    }
    let uses = cx.function.body.use_counts();
    let mut equal = FxHashSet::default();
    cx.function.body.visit(&mut |stmt| {
        if let Stmt::Let(x, Op::EqI, _) = stmt {
            equal.insert(*x);
        }
    });
    if !equal.is_empty() {
        cx.rewrite(|body, function| Spreader { locals: &mut function.locals, uses, equal }.spread_in_block(body));
    }
}

struct Spreader<'a> {
    locals: &'a mut Vec<LocalInfo>,
    /// How often each local is used.
    uses: FxHashMap<Local, usize>,
    /// The comparisons that hold at one index.
    equal: FxHashSet<Local>,
}

/// A sum.
struct Sum {
    /// The element of another buffer at the same place, if there is one.
    own: Option<Operand>,
    terms: Vec<Term>,
    /// The statements that compute it.
    stmts: Vec<usize>,
}

/// A term that is not zero in one arm of a conditional.
struct Term {
    is_negative: bool,
    condition: Operand,
    /// Gives the term.
    arm: Block,
}

impl Spreader<'_> {
    fn spread_in_block(&mut self, block: &mut Block) {
        for stmt in &mut block.stmts {
            stmt.blocks_mut().for_each(|inner| self.spread_in_block(inner));
            if let Stmt::For(looped) = stmt {
                self.spread_sums(&mut looped.body);
            }
        }
    }

    fn spread_sums(&mut self, body: &mut Block) {
        let sums: FxHashMap<usize, Sum> =
            (0..body.stmts.len()).filter_map(|at| Some((at, self.sum_at(&body.stmts, at)?))).collect();
        let adds = |at: usize| sums.get(&at).is_some_and(|sum| sum.own.is_none());
        let is_idle = |(at, stmt): (usize, &Stmt)| match stmt {
            Stmt::Let(..) | Stmt::Memory(Memory::Load(..)) => true,
            Stmt::If(..) => stmt.blocks().all(is_plain),
            _ => adds(at),
        };
        // Where the loop does more, it runs in lanes.
        let adds_only = body.results.is_empty() && body.stmts.iter().enumerate().all(is_idle);
        let sums: FxHashMap<usize, Sum> = sums.into_iter().filter(|(_, sum)| sum.own.is_some() || adds_only).collect();
        let dropped: FxHashSet<usize> = sums.values().flat_map(|sum| sum.stmts.iter().copied()).collect();
        for (at, mut stmt) in std::mem::take(&mut body.stmts).into_iter().enumerate() {
            match (&mut stmt, sums.get(&at)) {
                _ if dropped.contains(&at) => continue,
                (Stmt::Memory(Memory::Store(_, _, value)), Some(Sum { own: Some(own), terms, .. })) => {
                    let mut choice = self.choices(own, terms);
                    *value = choice.results.remove(0);
                    body.stmts.append(&mut choice.stmts);
                }
                (Stmt::Memory(Memory::Add(buffer, place, _)), Some(sum)) => {
                    body.stmts.extend(sum.terms.iter().map(|term| self.addition(term, buffer, place)));
                    continue;
                }
                _ => {}
            }
            body.stmts.push(stmt);
        }
    }

    /// Returns the sum that a statement stores or adds, if its terms are zero mostly but for an element of another
    /// buffer at the place that is stored to.
    fn sum_at(&self, stmts: &[Stmt], at: usize) -> Option<Sum> {
        let (value, to) = match &stmts[at] {
            Stmt::Memory(Memory::Store(b, place, value)) => (value, Some((b, place))),
            Stmt::Memory(Memory::Add(_, _, value)) => (value, None),
            _ => return None,
        };
        let mut sum = Sum { own: None, terms: Vec::new(), stmts: Vec::new() };
        let mut waiting = vec![(value.clone(), false)];
        while let Some((a, is_negative)) = waiting.pop() {
            let x = a.local()?;
            let set = stmts[..at].iter().position(|stmt| stmt.targets().contains(&x))?;
            match &stmts[set] {
                Stmt::Memory(Memory::Load(_, from, i)) => {
                    let is_own = to.is_some_and(|(b, place)| i.same(place) && !from.same(b));
                    if !is_own || is_negative || sum.own.replace(a).is_some() {
                        return None;
                    }
                    continue;
                }
                _ if self.uses.get(&x) != Some(&1) => return None,
                Stmt::Let(_, op @ (Op::AddF | Op::SubF), args) => {
                    waiting.push((args[1].clone(), is_negative != (*op == Op::SubF)));
                    waiting.push((args[0].clone(), is_negative));
                }
                Stmt::Let(_, Op::NegF, args) => waiting.push((args[0].clone(), !is_negative)),
                Stmt::If(xs, condition, then, other) if xs.len() == 1 => {
                    let is_zero = matches!(other.results[..], [Operand::Float(0.0)]) && is_plain(other);
                    let is_equal = condition.local().is_some_and(|c| self.equal.contains(&c));
                    if !is_zero || !is_equal || !is_plain(then) {
                        return None;
                    }
                    sum.terms.push(Term { is_negative, condition: condition.clone(), arm: then.clone() });
                }
                _ => return None,
            }
            sum.stmts.push(set);
        }
        let is_right = match to {
            Some(_) => sum.own.is_some() && (1..=MOST_TERMS).contains(&sum.terms.len()),
            None => !sum.terms.is_empty(),
        };
        is_right.then_some(sum)
    }

    /// Returns a block that gives the sum of a value and terms.
    fn choices(&mut self, value: &Operand, terms: &[Term]) -> Block {
        let Some((term, rest)) = terms.split_first() else {
            return Block { stmts: vec![], results: vec![value.clone()] };
        };
        let mut taken = term.arm.copy(self.locals, FxHashMap::default());
        let x = taken.results.remove(0);
        let op = if term.is_negative { Op::SubF } else { Op::AddF };
        let sum = Builder { locals: self.locals }.op(op, [value.clone(), x], &mut taken.stmts);
        let after = self.choices(&sum, rest);
        taken.stmts.extend(after.stmts);
        taken.results = after.results;
        let left = self.choices(value, rest);
        let chosen = Builder { locals: self.locals }.local(Scalar::Float.ty());
        Block { stmts: vec![Stmt::If(vec![chosen], term.condition.clone(), taken, left)], results: vec![chosen.into()] }
    }

    /// Returns a statement that adds a term where it is not zero.
    fn addition(&mut self, term: &Term, buffer: &Operand, place: &Operand) -> Stmt {
        let mut then = term.arm.copy(self.locals, FxHashMap::default());
        let mut x = then.results.remove(0);
        if term.is_negative {
            x = Builder { locals: self.locals }.op(Op::NegF, [x], &mut then.stmts);
        }
        then.stmts.push(Stmt::Memory(Memory::Add(buffer.clone(), place.clone(), x)));
        Stmt::If(vec![], term.condition.clone(), then, Block::default())
    }
}

/// Returns whether a block is arithmetic only.
fn is_plain(block: &Block) -> bool {
    block.stmts.iter().all(|stmt| matches!(stmt, Stmt::Let(..)))
}
