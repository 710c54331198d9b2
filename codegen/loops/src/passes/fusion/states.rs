//! Finds the states of a loop that stores each of them.
//!
//! ```text
//! store b[0] = x; z = for i in 0..n carrying (y = x) { .. load b[i] ..; store b[i + 1] = y'; yield y' };
//! .. load b[n] ..
//!   =  .. y ..  and  .. z ..
//! ```
//!
//! The reverse derivative of a fold leaves such a loop of `index n (scanl f x v)`. If nothing reads the other states,
//! they need no memory.

use crate::analyses::alias::Aliases;
use crate::analyses::effects::Callees;
use crate::ir::{For, Local, LocalInfo, Memory, Op, Operand, Stmt};

/// A buffer that has the states of a loop.
pub(super) struct States {
    pub(super) buffer: Local,
    /// The one before an iteration.
    pub(super) before: Local,
    /// The last one.
    pub(super) last: Local,
}

/// Returns the buffers that have the states of a loop. Of the first element, `first` tells what is known.
pub(super) fn states(
    looped: &For,
    locals: &[LocalInfo],
    aliases: &Aliases,
    callees: Callees,
    first: impl Fn(Local) -> Option<Operand>,
) -> Vec<States> {
    let is_counted = match &looped.to {
        Operand::Integer(n) => *n >= 0,
        to => to.local().is_some_and(|n| locals[n.0 as usize].is_size),
    };
    if !is_counted || !looped.from.same(&Operand::Integer(0)) || looped.on_threads {
        return vec![];
    }
    let of_stmt = |stmt: &Stmt| {
        let Stmt::Memory(Memory::Store(b, at, state)) = stmt else { return None };
        let (buffer, first) = (b.local()?, first(b.local()?)?);
        let carries = |i: &usize| looped.body.results[*i].same(state) && looped.carried[*i].1.same(&first);
        let i = (0..looped.carried.len()).find(carries)?;
        let is_next =
            at.local().is_some_and(|at| next(looped).contains(&at)) && writes(looped, buffer, aliases, callees) == 1;
        is_next.then(|| States { buffer, before: looped.carried[i].0, last: looped.results[i] })
    };
    looped.body.stmts.iter().filter_map(of_stmt).collect()
}

/// Returns the locals that a loop sets to its index and one.
pub(super) fn next(looped: &For) -> Vec<Local> {
    let next = |stmt: &Stmt| match stmt {
        Stmt::Let(x, Op::AddI, args) => {
            let is = |a: &Operand, b: &Operand| a.local() == Some(looped.index) && b.same(&Operand::Integer(1));
            (is(&args[0], &args[1]) || is(&args[1], &args[0])).then_some(*x)
        }
        _ => None,
    };
    looped.body.stmts.iter().filter_map(next).collect()
}

/// Returns how many statements of a loop may write to a buffer, or move it.
fn writes(looped: &For, buffer: Local, aliases: &Aliases, callees: Callees) -> usize {
    let mut found = 0;
    looped.body.visit(&mut |stmt| {
        let moves = matches!(stmt, Stmt::Memory(Memory::Slide(..) | Memory::Slid { .. }) | Stmt::External { .. });
        found += usize::from(moves || aliases.changes(stmt, buffer, callees.summaries));
    });
    found
}
