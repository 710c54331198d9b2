//! Drops tables of states of which only the last one is read: the loop gives it.
//!
//! ```text
//! store T[0] = a; r = for k in 0..n carrying (s = a) { N = ..; store T[k + 1] = N; yield N }; t, with load T[n]
//!   =  r = for k in 0..n carrying (s = a) { N = ..; yield N }; t, with r
//! ```

use super::reader::Record;
use crate::analyses::worked_on::{is_load, is_worked_on};
use crate::ir::{For, Local, Memory, Operand, Stmt};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Moves the loads of a last state to the loop, from behind what reads other states.
pub(super) fn load_early(looped: &For, out: &[Stmt], rest: &mut VecDeque<Stmt>) {
    for i in 0..looped.carried.len() {
        let Some(Record { table, .. }) = Record::of(looped, i, out) else { continue };
        if !rest.iter().all(|stmt| is_worked_on(stmt, table, &is_load)) {
            continue;
        }
        let (last, others): (VecDeque<Stmt>, VecDeque<Stmt>) =
            std::mem::take(rest).into_iter().partition(|stmt| loads_last(stmt, table, looped));
        *rest = last.into_iter().chain(others).collect();
    }
}

/// Drops such tables of a loop, between the statements before it and those that follow.
pub(super) fn forget_others(looped: &mut For, out: &mut Vec<Stmt>, rest: &mut VecDeque<Stmt>, results: &mut [Operand]) {
    for i in 0..looped.carried.len() {
        forget_table(looped, i, out, rest, results);
    }
}

fn forget_table(
    looped: &mut For,
    i: usize,
    out: &mut Vec<Stmt>,
    rest: &mut VecDeque<Stmt>,
    results: &mut [Operand],
) -> Option<()> {
    let Record { table, first, next } = Record::of(looped, i, out)?;
    let is_last = |stmt: &Stmt| loads_last(stmt, table, looped);
    let is_result = results.iter().any(|a| a.local() == Some(table));
    if is_result || !rest.iter().filter(|stmt| stmt.mentions(table)).all(is_last) {
        return None;
    }
    let mut names = FxHashMap::default();
    rest.retain(|stmt| match stmt {
        Stmt::Memory(Memory::Load(x, b, _)) if b.local() == Some(table) => {
            names.insert(*x, looped.results[i]);
            false
        }
        _ => true,
    });
    looped.body.stmts.remove(next);
    out.remove(first);
    let rename = |a: &mut Operand| {
        if let Some(x) = a.local().and_then(|x| names.get(&x)) {
            *a = (*x).into();
        }
    };
    for stmt in rest.iter_mut() {
        stmt.operands_mut().into_iter().for_each(rename);
        stmt.blocks_mut().for_each(|block| block.change_operands(&mut { rename }));
    }
    results.iter_mut().for_each(rename);
    Some(())
}

/// Returns whether a statement loads the state behind the last step of a loop from its table.
fn loads_last(stmt: &Stmt, table: Local, looped: &For) -> bool {
    matches!(stmt, Stmt::Memory(Memory::Load(_, b, n)) if b.local() == Some(table) && n.same(&looped.to))
}
