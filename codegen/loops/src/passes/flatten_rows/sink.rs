//! Puts rows into tables where a conditional chooses them.

use super::plan::Plan;
use crate::analyses::scopes::kept;
use crate::ir::{Block, Local, Memory, Operand, Stmt};
use rustc_hash::FxHashMap;

/// Stores in the arms of a conditional what it gives to be stored: `x = if c { yield a } else { yield b }; store t[i] = x`.
pub(super) fn sink_stores(block: &mut Block, plan: &Plan) {
    block.stmts.iter_mut().for_each(|stmt| stmt.blocks_mut().for_each(|inner| sink_stores(inner, plan)));
    let counts = block.use_counts();
    let mut i = 0;
    while i < block.stmts.len() {
        if let Some((at, j)) = to_sink(block, i, &counts, plan) {
            let Stmt::Memory(Memory::Store(t, k, _)) = block.stmts.remove(at) else { panic!("it is a store") };
            let Stmt::If(xs, _, then, other) = &mut block.stmts[i] else { panic!("it is a conditional") };
            xs.remove(j);
            for arm in [then, other] {
                let a = arm.results.remove(j);
                arm.stmts.push(Stmt::Memory(Memory::Store(t.clone(), k.clone(), a)));
            }
            let Stmt::If(_, _, then, other) = &mut block.stmts[i] else { panic!("it is a conditional") };
            [then, other].into_iter().for_each(|arm| sink_stores(arm, plan));
        } else {
            i += 1;
        }
    }
}

/// Returns where a result of the i-th statement is stored, and which one it is.
fn to_sink(block: &Block, i: usize, counts: &FxHashMap<Local, usize>, plan: &Plan) -> Option<(usize, usize)> {
    let Stmt::If(xs, ..) = &block.stmts[i] else { return None };
    if kept(&block.stmts[i]).is_some() {
        return None;
    }
    for (at, stmt) in block.stmts.iter().enumerate().skip(i + 1) {
        match stmt {
            Stmt::Memory(Memory::Store(t, k, a)) => {
                let is_matrix = t.local().is_some_and(|t| plan.matrices.contains_key(&t));
                let j = a.local().and_then(|a| xs.iter().position(|x| *x == a && counts.get(x) == Some(&1)));
                let sets = |a: &Operand| {
                    a.local().is_some_and(|x| block.stmts[i..at].iter().any(|stmt| stmt.targets().contains(&x)))
                };
                if is_matrix
                    && let Some(j) = j
                    && !sets(t)
                    && !sets(k)
                {
                    return Some((at, j));
                }
            }
            Stmt::Let(..) => {}
            _ => return None,
        }
    }
    None
}
