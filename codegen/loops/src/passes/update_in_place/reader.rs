//! Finds the table in which a loop keeps its states, and the loop that reads them backwards.

use crate::ir::{Block, For, Local, Memory, Op, Operand, Stmt};
use std::collections::VecDeque;

/// The table in which a loop stores the state behind each step.
pub(super) struct Record {
    pub(super) table: Local,
    /// The statement before the loop that stores the first state.
    pub(super) first: usize,
    /// The statement of the loop that stores the next one.
    pub(super) next: usize,
}

impl Record {
    /// Returns where a loop from 0 on keeps the states of its i-th carried value, if it uses the table for nothing else.
    pub(super) fn of(looped: &For, i: usize, out: &[Stmt]) -> Option<Record> {
        let (state, init) = (looped.body.results[i].local()?, &looped.carried[i].1);
        let stmts = &looped.body.stmts;
        let stores = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Store(_, _, a)) if a.local() == Some(state));
        let next = stmts.iter().position(stores)?;
        let Stmt::Memory(Memory::Store(table, at, _)) = &stmts[next] else { return None };
        let table = table.local()?;
        let is_alone = stmts.iter().enumerate().all(|(at, stmt)| at == next || !stmt.mentions(table));
        let is_plain = looped.lanes == 1 && !looped.on_threads && looped.from.same(&Operand::Integer(0));
        let first = only_first(out, table, init)?;
        (is_alone && is_plain && is_next(&looped.body, at, looped.index)).then_some(Record { table, first, next })
    }
}

/// The loop that reads the states.
pub(super) struct Reader {
    /// Its place in the statements that follow.
    pub(super) at: usize,
    /// The statement of it that loads a state.
    pub(super) load: usize,
    pub(super) state: Local,
    /// The number of the state, in each iteration.
    pub(super) number: Operand,
}

/// Returns whether an operand is the next index.
fn is_next(body: &Block, a: &Operand, index: Local) -> bool {
    let is_sum = |stmt: &Stmt| match stmt {
        Stmt::Let(x, Op::AddI, args) if Some(*x) == a.local() => {
            let [a, b] = [&args[0], &args[1]];
            let is = |a: &Operand, b: &Operand| a.local() == Some(index) && b.same(&Operand::Integer(1));
            is(a, b) || is(b, a)
        }
        _ => false,
    };
    body.stmts.iter().any(is_sum)
}

/// Returns the store of the first state in a table, if nothing else is done to it before the loop.
fn only_first(out: &[Stmt], table: Local, init: &Operand) -> Option<usize> {
    let mut uses = out.iter().enumerate().filter(|(_, stmt)| stmt.mentions(table));
    let (at, stmt) = uses.next()?;
    let Stmt::Memory(Memory::Store(b, i, a)) = stmt else { return None };
    let is_first = b.local() == Some(table) && i.same(&Operand::Integer(0)) && a.same(init);
    let is_made = out.iter().any(|stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer, .. }) if *buffer == table));
    (is_first && is_made && uses.next().is_none()).then_some(at)
}

/// Returns the loop that reads the states backwards, and the loads of the last state before it; none if there is
/// any other use of the table.
pub(super) fn reader(rest: &VecDeque<Stmt>, table: Local, steps: &Operand) -> Option<(Reader, Vec<usize>)> {
    let (mut found, mut last) = (None, Vec::new());
    for (at, stmt) in rest.iter().enumerate().filter(|(_, stmt)| stmt.mentions(table)) {
        match stmt {
            Stmt::Memory(Memory::Load(_, b, i)) if b.local() == Some(table) && i.same(steps) && found.is_none() => {
                last.push(at);
            }
            Stmt::For(looped) if found.is_none() => found = Some(Reader::of(looped, at, table)?),
            _ => return None,
        }
    }
    Some((found?, last))
}

impl Reader {
    fn of(looped: &For, at: usize, table: Local) -> Option<Reader> {
        let is_plain = looped.lanes == 1 && looped.jam == 1 && !looped.on_threads;
        let stmts = &looped.body.stmts;
        let mut uses = stmts.iter().enumerate().filter(|(_, stmt)| stmt.mentions(table));
        let (load, stmt) = uses.next()?;
        let Stmt::Memory(Memory::Load(state, _, number)) = stmt else { return None };
        if uses.next().is_some() || !is_plain || !looped.from.same(&Operand::Integer(0)) {
            return None;
        }
        let number_is = |stmt: &Stmt| match stmt {
            Stmt::Let(x, Op::SubI, args) if Some(*x) == number.local() && args[1].local() == Some(looped.index) => {
                Some(args[0].clone())
            }
            _ => None,
        };
        let from = stmts[..load].iter().find_map(number_is)?;
        let is_fixed = from.local().is_none_or(|x| {
            let is_carried = looped.carried.iter().any(|(y, _)| *y == x);
            !is_carried && !stmts.iter().any(|stmt| stmt.targets().contains(&x))
        });
        is_fixed.then(|| Reader { at, load, state: *state, number: number.clone() })
    }
}
