//! Lets the arms of a conditional add to a sum what they would give as a buffer that is then added to it.
//!
//! ```text
//! zero n; s; x = if c { a = alloc k; zero a; t; yield a } else { b = alloc k; zero b; u; yield b }; for i in 0..k { n[i] += x[i] }
//!   =  zero n; s; if c { t, with n for a } else { u, with n for b }
//! ```
//!
//! A cotangent that only one side of a conditional of the program has is mostly zero. `a` may also be one buffer, made
//! before the conditional, that is zero in both arms first.

use super::{Uses, adds_all, alloc};
use crate::analyses::scopes::keeps_memory;
use crate::analyses::worked_on::{is_add, is_any, is_worked_on};
use crate::ir::{Block, Local, Memory, Operand, Stmt};
use rustc_hash::FxHashMap;

/// The place of a conditional, that of the loop that adds what it gives to a sum, and both arms without that.
struct Found {
    choice: usize,
    last: usize,
    /// The result that goes, or the allocation before the conditional.
    gone: Gone,
    arms: [Block; 2],
}

enum Gone {
    Result(usize),
    Alloc(usize),
}

/// Changes the first such conditional of a block; returns whether there is one.
pub(super) fn add_in_arms(block: &mut Block) -> bool {
    let Some(Found { choice, last, gone, arms }) = find(&Uses::of(block)) else { return false };
    block.stmts.remove(last);
    let Stmt::If(xs, _, then, other) = &mut block.stmts[choice] else { unreachable!("it is a conditional") };
    let [changed, changed_other] = arms;
    (*then, *other) = (changed, changed_other);
    match gone {
        Gone::Result(i) => {
            xs.remove(i);
            [then, other].into_iter().for_each(|arm| drop(arm.results.remove(i)));
        }
        Gone::Alloc(at) => drop(block.stmts.remove(at)),
    }
    true
}

fn find(uses: &Uses) -> Option<Found> {
    let stmts = &uses.block.stmts;
    stmts.iter().enumerate().find_map(|(last, stmt)| {
        let Stmt::For(looped) = stmt else { return None };
        let (part, sum) = adds_all(looped, &looped.to)?;
        let count = &looped.to;
        let places = uses.places.get(&part)?;
        if uses.is_result(part) {
            return None;
        }
        let (choice, gone, own) = match uses.allocs.get(&part) {
            Some(at) => match places[..] {
                [choice, end] if end == last && alloc(&stmts[*at])?.1.same(count) => {
                    (choice, Gone::Alloc(*at), [part, part])
                }
                _ => return None,
            },
            None => {
                let choice = stmts.iter().position(|stmt| stmt.targets().contains(&part))?;
                let Stmt::If(xs, _, then, other) = &stmts[choice] else { return None };
                let i = xs.iter().position(|x| *x == part).filter(|_| places[..] == [last])?;
                (choice, Gone::Result(i), [then.results[i].local()?, other.results[i].local()?])
            }
        };
        let start = uses.made(sum, count).filter(|start| *start < choice)?;
        let is_set = uses.between(sum, start, choice).next().is_some();
        let alone = uses.between(sum, start, choice).all(|stmt| is_worked_on(stmt, sum, &is_any));
        let only_adds = uses.between(sum, choice - 1, last).all(|stmt| is_worked_on(stmt, sum, &is_add));
        let Stmt::If(_, _, then, other) = &stmts[choice] else { return None };
        let change = |arm: &Block, own: Local| {
            let is_given = matches!(gone, Gone::Result(_));
            adding(arm, own, is_given, count, sum)
        };
        let arms = [change(then, own[0])?, change(other, own[1])?];
        let stays = keeps_memory(&stmts[start..last]);
        (is_set && alone && only_adds && stays).then_some(Found { choice, last, gone, arms })
    })
}

/// Returns an arm that adds to a sum what it did to a buffer of its own, or of both arms, that was zero first.
fn adding(arm: &Block, own: Local, is_given: bool, count: &Operand, sum: Local) -> Option<Block> {
    let mut arm = arm.clone();
    let given = arm.results.iter().filter(|a| a.local() == Some(own)).count();
    if given != usize::from(is_given) {
        return None;
    }
    if is_given {
        let made = arm.stmts.iter().position(|stmt| alloc(stmt).is_some_and(|(b, n)| b == own && n.same(count)))?;
        arm.stmts.remove(made);
    }
    let first = arm.stmts.iter().position(|stmt| stmt.mentions(own))?;
    let is_zero =
        matches!(&arm.stmts[first], Stmt::Memory(Memory::Zero(b, n)) if b.local() == Some(own) && n.same(count));
    is_zero.then_some(())?;
    arm.stmts.remove(first);
    // The element of the first term was zero.
    if let Some(Stmt::Memory(memory)) = arm.stmts.iter_mut().find(|stmt| stmt.mentions(own))
        && let Memory::Store(b, i, a) = memory.clone()
        && b.local() == Some(own)
        && a.local() != Some(own)
    {
        *memory = Memory::Add(b, i, a);
    }
    let only_adds = arm.stmts.iter().all(|stmt| [own, sum].iter().all(|x| is_worked_on(stmt, *x, &is_add)));
    only_adds.then(|| {
        arm.rename(&FxHashMap::from_iter([(own, sum)]));
        arm
    })
}

/// Gives each buffer that a loop adds to another one a loop of its own.
pub(super) fn split_sums(block: &mut Block) {
    for stmt in std::mem::take(&mut block.stmts) {
        match stmt {
            Stmt::For(looped) if is_several_sums(&looped.body, looped.index) && looped.carried.is_empty() => {
                for pair in looped.body.stmts.chunks(2) {
                    let mut one = looped.clone();
                    one.body.stmts = pair.to_vec();
                    block.stmts.push(Stmt::For(one));
                }
            }
            stmt => block.stmts.push(stmt),
        }
    }
}

/// Matches several pairs `x = load part[i]; add sum[i] += x`. No part is a sum.
fn is_several_sums(body: &Block, index: Local) -> bool {
    let is_index = |i: &Operand| i.local() == Some(index);
    let pair = |pair: &[Stmt]| match pair {
        [Stmt::Memory(Memory::Load(x, part, i)), Stmt::Memory(Memory::Add(sum, j, a))] => {
            let is_right = is_index(i) && is_index(j) && a.local() == Some(*x);
            part.local().zip(sum.local()).filter(|_| is_right)
        }
        _ => None,
    };
    let Some(pairs) = body.stmts.chunks(2).map(pair).collect::<Option<Vec<_>>>() else { return false };
    let is_sum = |part: Local| pairs.iter().any(|(_, sum)| *sum == part);
    pairs.len() > 1 && !pairs.iter().any(|(part, _)| is_sum(*part))
}
