//! Finds the sums that a loop carries. `best` finds the other values that it may carry.
//!
//! ```text
//! y, y + e, y - e                                        are y and something in which y does not occur
//! if c then (y + e) else y                               likewise
//! for j in a..b carrying (z = y + e) { .. z + f }        likewise
//! ```
//!
//! So an iteration adds something, whatever y is, if nothing else is done with such values.

use super::best::bests;
use super::is_number;
use crate::analyses::why_serial::WhySerial;
use crate::ir::{Block, For, Local, LocalInfo, Op, Operand, Stmt};
use std::collections::BTreeSet;

/// The kind of a carried value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// A sum: each iteration adds a term.
    Sum,
    /// The largest or smallest of one element for each iteration, or a value chosen with it. The number is that of its
    /// [`super::Best`].
    Best(usize),
    /// A value that does not change.
    Same,
}

/// Returns what becomes of what a loop carries, in order.
pub fn carried(locals: &[LocalInfo], looped: &For) -> Result<Vec<Carried>, WhySerial> {
    let bests = bests(locals, looped);
    let each = looped.carried.iter().zip(&looped.body.results).enumerate();
    each.map(|(i, ((y, _), next))| match next.local() {
        Some(next) if next == *y => Ok(Carried::Same),
        _ if is_number(locals, *y) && is_sum(&looped.body, *y, next) => Ok(Carried::Sum),
        _ => {
            let best = bests.iter().position(|best| best.members().any(|member| member == i));
            best.map(Carried::Best).ok_or(WhySerial::Carried(*y))
        }
    })
    .collect()
}

fn is_sum(body: &Block, y: Local, next: &Operand) -> bool {
    let mut sums = BTreeSet::from([y]);
    let others = |sums: &BTreeSet<Local>| body.results.iter().filter(|a| is_in(sums, a)).count();
    grow(body, &mut sums) && is_in(&sums, next) && others(&sums) == 1
}

fn is_in(sums: &BTreeSet<Local>, a: &Operand) -> bool {
    a.local().is_some_and(|x| sums.contains(&x))
}

/// Adds those of the block's locals that are such sums; false if anything else is done with one.
fn grow(block: &Block, sums: &mut BTreeSet<Local>) -> bool {
    block.stmts.iter().all(|stmt| match stmt {
        Stmt::Let(x, op, args) => match (op, &args[..]) {
            _ if !args.iter().any(|a| is_in(sums, a)) => true,
            (Op::AddF | Op::AddI, [a, b]) if is_in(sums, a) != is_in(sums, b) => sums.insert(*x),
            (Op::SubF | Op::SubI, [a, b]) if is_in(sums, a) && !is_in(sums, b) => sums.insert(*x),
            _ => false,
        },
        Stmt::If(xs, condition, then, other) => {
            if is_in(sums, condition) || !grow(then, sums) || !grow(other, sums) {
                return false;
            }
            xs.iter().zip(then.results.iter().zip(&other.results)).all(|(x, (a, b))| {
                match (is_in(sums, a), is_in(sums, b)) {
                    (true, true) => sums.insert(*x),
                    (a, b) => a == b,
                }
            })
        }
        Stmt::For(looped) => grow_loop(looped, sums),
        stmt => {
            let inside =
                |block: &Block| grow(block, &mut sums.clone()) && !block.results.iter().any(|a| is_in(sums, a));
            !stmt.operands().into_iter().any(|a| is_in(sums, a)) && stmt.blocks().all(inside)
        }
    })
}

fn grow_loop(looped: &For, sums: &mut BTreeSet<Local>) -> bool {
    if is_in(sums, &looped.from) || is_in(sums, &looped.to) {
        return false;
    }
    let starts: Vec<bool> = looped.carried.iter().map(|(_, init)| is_in(sums, init)).collect();
    sums.extend(looped.carried.iter().zip(&starts).filter(|(_, starts)| **starts).map(|((z, _), _)| *z));
    if !grow(&looped.body, sums) {
        return false;
    }
    // An iteration may not make a sum of something else, nor something else of a sum.
    let goes_on = looped.body.results.iter().zip(&starts).all(|(next, starts)| is_in(sums, next) == *starts);
    sums.extend(looped.results.iter().zip(&starts).filter(|(_, starts)| **starts).map(|(x, _)| *x));
    goes_on
}
