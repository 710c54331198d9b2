//! Writes sums with terms that are zero for most elements as choices of what is stored.
//!
//! ```text
//! x = if c { a } else { 0 }; y = if d { b } else { 0 }; store N[k] = load s[k] + (x - y)
//!   =  store N[k] = if c { if d { load s[k] + a - b } else { load s[k] + a } } else { if d { load s[k] - b } else { load s[k] } }
//! ```
//!
//! So a state to which a step adds sums of `deltaVec` is one of which the step changes a few elements. It adds in
//! another order, and may change the sign of a zero.

use crate::ir::{Block, Builder, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::FxHashMap;

/// The most terms: each doubles the text of those after it.
const MOST_TERMS: usize = 3;

/// Changes the stores in a block, and in the blocks inside of it, of sums with an element of the old state.
pub(super) fn spread(block: &mut Block, old: Local, locals: &mut Vec<LocalInfo>) {
    block.stmts.iter_mut().flat_map(Stmt::blocks_mut).for_each(|inner| spread(inner, old, locals));
    let uses = block.use_counts();
    let mut at = 0;
    while at < block.stmts.len() {
        match sum_at(block, at, old, &uses) {
            Some(sum) => at = write(block, at, sum, locals),
            None => at += 1,
        }
    }
}

/// A sum that is stored.
struct Sum {
    /// The old value.
    own: Operand,
    terms: Vec<Term>,
    /// The statements that compute it.
    stmts: Vec<usize>,
}

/// A term that is not zero in one arm of a conditional.
struct Term {
    is_negative: bool,
    condition: Operand,
    /// Whether it is zero where the condition does not hold.
    holds: bool,
    /// Gives the term.
    arm: Block,
}

/// Returns what is stored by a statement, if it is an old element and terms that are zero mostly.
fn sum_at(block: &Block, at: usize, old: Local, uses: &FxHashMap<Local, usize>) -> Option<Sum> {
    let Stmt::Memory(Memory::Store(_, place, value)) = &block.stmts[at] else { return None };
    let mut sum = Sum { own: value.clone(), terms: Vec::new(), stmts: Vec::new() };
    let mut has_own = false;
    let mut waiting = vec![(value.clone(), false)];
    while let Some((a, is_negative)) = waiting.pop() {
        let set = block.stmts[..at].iter().position(|stmt| a.local().is_some_and(|x| stmt.targets().contains(&x)))?;
        let is_only_use = a.local().is_some_and(|x| uses.get(&x) == Some(&1));
        match &block.stmts[set] {
            Stmt::Memory(Memory::Load(_, b, i)) if b.local() == Some(old) && i.same(place) => {
                if is_negative || std::mem::replace(&mut has_own, true) {
                    return None;
                }
                sum.own = a;
            }
            Stmt::Let(_, op @ (Op::AddF | Op::SubF), args) if is_only_use => {
                waiting.push((args[1].clone(), is_negative != (*op == Op::SubF)));
                waiting.push((args[0].clone(), is_negative));
                sum.stmts.push(set);
            }
            Stmt::Let(_, Op::NegF, args) if is_only_use => {
                waiting.push((args[0].clone(), !is_negative));
                sum.stmts.push(set);
            }
            Stmt::If(xs, condition, then, other) if is_only_use && xs.len() == 1 => {
                let is_zero = |arm: &Block| matches!(arm.results[..], [Operand::Float(0.0)]);
                let holds = is_zero(other);
                let arm = if holds { then } else { other };
                let is_plain = |arm: &Block| arm.stmts.iter().all(|stmt| matches!(stmt, Stmt::Let(..)));
                if !(holds || is_zero(then)) || !is_plain(then) || !is_plain(other) {
                    return None;
                }
                sum.terms.push(Term { is_negative, condition: condition.clone(), holds, arm: arm.clone() });
                sum.stmts.push(set);
            }
            _ => return None,
        }
    }
    (has_own && (1..=MOST_TERMS).contains(&sum.terms.len())).then_some(sum)
}

/// Puts choices in the place of a sum. Returns the place after its store.
fn write(block: &mut Block, at: usize, sum: Sum, locals: &mut Vec<LocalInfo>) -> usize {
    let mut choice = choices(&sum.own, &sum.terms, locals);
    let value = choice.results.remove(0);
    let count = choice.stmts.len();
    if let Stmt::Memory(Memory::Store(_, _, stored)) = &mut block.stmts[at] {
        *stored = value;
    }
    block.stmts.splice(at..at, choice.stmts);
    let mut place = 0;
    block.stmts.retain(|_| {
        place += 1;
        !sum.stmts.contains(&(place - 1))
    });
    at + count + 1 - sum.stmts.len()
}

/// Returns a block that gives the sum of a value and terms.
fn choices(value: &Operand, terms: &[Term], locals: &mut Vec<LocalInfo>) -> Block {
    let Some((term, rest)) = terms.split_first() else { return Block { stmts: vec![], results: vec![value.clone()] } };
    let mut taken = term.arm.copy(locals, FxHashMap::default());
    let x = taken.results.remove(0);
    let sum = Builder { locals }.local(Scalar::Float.ty());
    let op = if term.is_negative { Op::SubF } else { Op::AddF };
    taken.stmts.push(Stmt::Let(sum, op, vec![value.clone(), x]));
    let after = choices(&sum.into(), rest, locals);
    taken.stmts.extend(after.stmts);
    taken.results = after.results;
    let left = choices(value, rest, locals);
    let chosen = Builder { locals }.local(Scalar::Float.ty());
    let [then, other] = if term.holds { [taken, left] } else { [left, taken] };
    let choice = Stmt::If(vec![chosen], term.condition.clone(), then, other);
    Block { stmts: vec![choice], results: vec![chosen.into()] }
}
