//! Logs what a step overwrites, where all states are kept for a loop that reads them backwards.
//!
//! ```text
//! store T[0] = a; for k in 0..n carrying (s = a) { N = ..; store T[k + 1] = N; yield N }; for j in .. { s = load T[c - j]; t }
//!   =  S = alloc m; move S <- a
//!      for k in 0..n { L = alloc (the number of changed elements); the nest, with load S[x] stored in L before each store
//!                      S[x]; store T[k + 1] = L }
//!      for j in .. carrying (p = n) { undo p - 1 .. c - j; t, with S for s; yield c - j }
//! undo q = L = load T[q + 1]; the nest without values, with store S[x] = load L[..] for each store
//! ```
//!
//! So T takes the memory of what changes, not of all states. The nest decides by numbers of the step and by indices what
//! it changes. These numbers are stored for each step, and the nest without values computes the same places again. The
//! places in L follow each other as the stores do. A step that changes all elements is left alone: nothing is saved. So is
//! one that reads neighbours, and leaves the same elements alone as all other steps, such as those at borders: the state
//! would be copied for it.

use super::delay::filled_later;
use super::others::Way;
use super::reader::{Reader, Record, reader};
use super::rewrite::{sink_loads, sink_store};
use super::skeleton::{always_stores, are_set_before, change_stores, inputs, skeleton};
use super::step::{Change, Step, new_state, own_loads};
use super::threading::{Leaf, Threading};
use super::{First, Updater, arms, tables};
use crate::analyses::nests::Nest;
use crate::analyses::scopes::released;
use crate::ir::{Block, Builder, For, Local, LocalInfo, MOST_ELEMENTS, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The loops and buffers of a log.
struct Log {
    carried: usize,
    step: Step,
    /// The table of states, and the statement that stores the first one in it.
    table: Local,
    first: usize,
    /// The statement of the step that stores its state.
    record: usize,
    reader: Reader,
    /// The loads of the last state, among the statements that follow, and whether anything uses what they load.
    last: Vec<(usize, bool)>,
}

impl Updater<'_> {
    /// Logs the states of a loop, if the statements that follow allow it.
    pub(super) fn log_loop(
        &mut self,
        looped: &mut For,
        out: &mut Vec<Stmt>,
        rest: &mut VecDeque<Stmt>,
        results: &[Operand],
    ) {
        for i in (0..looped.carried.len()).rev() {
            let mut log = self.find_log(looped, i, out, rest, results);
            if log.is_none()
                && let Some(body) = self.in_form_of_log(looped, i, out)
            {
                let before = std::mem::replace(&mut looped.body, body);
                log = self.find_log(looped, i, out, rest, results);
                if log.is_none() {
                    looped.body = before;
                }
            }
            if let Some(log) = log {
                let is_used =
                    |x: Local| rest.iter().any(|stmt| stmt.mentions(x)) || results.iter().any(|a| a.local() == Some(x));
                let is_final_used = is_used(looped.results[i]);
                self.write_log(log, looped, out, rest, is_final_used);
            }
        }
    }

    /// Returns the body of a loop, changed so that the states of the i-th carried buffer may be logged; none if there is
    /// nothing to change.
    fn in_form_of_log(&mut self, looped: &For, i: usize, out: &[Stmt]) -> Option<Block> {
        let old = looped.carried[i].0;
        let (state, _) = new_state(&looped.body.stmts, looped.body.results[i].local()?)?;
        let joined = arms::in_one_nest(&looped.body, state, old, self.locals);
        let body = joined.as_ref().unwrap_or(&looped.body);
        let (buffer, _) = new_state(&body.stmts, body.results[i].local()?)?;
        filled_later(body, [old, buffer], out).or(joined)
    }

    fn find_log(
        &mut self,
        looped: &For,
        i: usize,
        out: &[Stmt],
        rest: &VecDeque<Stmt>,
        results: &[Operand],
    ) -> Option<Log> {
        let Record { table, first, next: record } = Record::of(looped, i, out)?;
        let init = looped.carried[i].1.clone();
        let (reader, last) = reader(rest, table, &looped.to)?;
        if results.iter().any(|a| a.local() == Some(table)) || !released(&looped.body.stmts).is_empty() {
            return None;
        }
        let Stmt::For(reads) = &rest[reader.at] else { return None };
        let only_reads = reads.body.stmts.iter().all(|stmt| self.only_reads(stmt, reader.state));
        let is_given = reads.body.results.iter().any(|a| a.local() == Some(reader.state));
        let step = self.step(looped, i, Some(record)).filter(|_| only_reads && !is_given)?;
        let has = init.local().is_some_and(|init| self.extents.has(init, &step.count));
        let is_used = |at: &usize| {
            let mut targets = rest[*at].targets().into_iter();
            targets.any(|x| rest.iter().any(|stmt| stmt.mentions(x)) || results.iter().any(|a| a.local() == Some(x)))
        };
        let last = last.into_iter().map(|at| (at, is_used(&at))).collect();
        has.then_some(Log { carried: i, step, table, first, record, reader, last })
    }

    fn write_log(
        &mut self,
        log: Log,
        looped: &mut For,
        out: &mut Vec<Stmt>,
        rest: &mut VecDeque<Stmt>,
        is_final_used: bool,
    ) {
        let Log { carried, step, table, first, record, reader, last } = log;
        let Change::Stores { at, nest, ways } = &step.change else { return };
        let ty = self.locals[step.buffer.0 as usize].ty;
        let Some(mut skeleton) = skeleton(looped, carried, *at, nest, &step) else { return };
        if always_stores(&skeleton, step.buffer) {
            return;
        }
        let inputs = inputs(&skeleton, looped, step.buffer);
        let copies_for_borders = inputs.is_empty() && ways.contains(&Way::Whole);
        if copies_for_borders || !are_set_before(&inputs, looped, step.alloc) {
            return;
        }
        let (old, init) = looped.carried.remove(carried);
        let result = looped.results.remove(carried);
        looped.body.results.remove(carried);
        let state = Builder { locals: self.locals }.local(ty);
        self.place(First::Other, &init, state, &step, out);
        out.push(step.first_state(state, init));
        out.remove(first);
        let saved = self.save_inputs(&inputs, table, looped.index, out);
        self.log_step(looped, &step, [old, state], (*at, nest, ways), record, &saved, &skeleton);
        change_stores(&mut skeleton, step.buffer, state);
        let undo = Undo { skeleton, state, table, saved, index: looped.index };
        self.read_backwards(&undo, reader, &looped.to, rest, &step, &last);
        if is_final_used {
            let count = step.count.clone();
            rest.push_front(Stmt::Memory(Memory::Move { to: result.into(), from: state.into(), count: count.clone() }));
            rest.push_front(Stmt::Memory(Memory::Alloc { buffer: result, count, span: step.span }));
        }
    }

    /// Stores the numbers of a step that its nest decides by. Returns each with the buffer where it is.
    fn save_inputs(
        &mut self,
        inputs: &[Local],
        table: Local,
        index: Local,
        out: &mut Vec<Stmt>,
    ) -> Vec<(Local, Local)> {
        let count = out.iter().find_map(|stmt| match stmt {
            Stmt::Memory(Memory::Alloc { buffer, count, span }) if *buffer == table => Some((count.clone(), *span)),
            _ => None,
        });
        let Some((count, span)) = count else { return vec![] };
        let numbers = inputs.iter().filter(|x| **x != index);
        let saved: Vec<(Local, Local)> = numbers
            .map(|x| {
                let ty = self.locals[x.0 as usize].ty.buffer();
                (*x, Builder { locals: self.locals }.local(ty))
            })
            .collect();
        let alloc =
            |(_, buffer): &(Local, Local)| Stmt::Memory(Memory::Alloc { buffer: *buffer, count: count.clone(), span });
        out.extend(saved.iter().map(alloc));
        saved
    }

    /// The step that changes the state and logs what it overwrites.
    #[expect(clippy::too_many_arguments, reason = "they are the parts of one step")]
    fn log_step(
        &mut self,
        looped: &mut For,
        step: &Step,
        [old, state]: [Local; 2],
        (at, nest, ways): (usize, &Nest, &[Way]),
        record: usize,
        saved: &[(Local, Local)],
        skeleton: &Stmt,
    ) {
        let log = step.buffer;
        let mut count = Operand::Integer(0);
        for (i, mut stmt) in std::mem::take(&mut looped.body.stmts).into_iter().enumerate() {
            let body = &mut looped.body.stmts;
            if i == step.alloc {
                let mut counting =
                    Block { stmts: vec![skeleton.clone()], results: vec![] }.copy(self.locals, FxHashMap::default());
                let mut counter = Threading { locals: self.locals, buffer: log, leaf: &Leaf::Count };
                count = counter.thread(&mut counting, Operand::Integer(0));
                body.append(&mut counting.stmts);
                body.push(Stmt::Memory(Memory::Alloc { buffer: log, count: count.clone(), span: step.span }));
            } else if i == at {
                let own = own_loads(&stmt, old, nest);
                sink_store(nest.innermost_mut(&mut stmt), log, old, &own);
                sink_loads(nest.innermost_mut(&mut stmt), &own, self.locals);
                let from = body.len();
                tables::read(self.locals, nest, ways, [old, state], &step.count, stmt, body);
                let mut block = Block { stmts: body.split_off(from), results: vec![] };
                let leaf = Leaf::Log { log, state };
                Threading { locals: self.locals, buffer: log, leaf: &leaf }.thread(&mut block, Operand::Integer(0));
                block.rename(&FxHashMap::from_iter([(old, state)]));
                body.append(&mut block.stmts);
                let save = |(x, buffer): &(Local, Local)| {
                    Stmt::Memory(Memory::Store((*buffer).into(), looped.index.into(), (*x).into()))
                };
                body.extend(saved.iter().map(save));
            } else {
                let names = FxHashMap::from_iter([(old, state), (log, state)]);
                let is_of_log = i == record || step.kept.is_some_and(|kept| kept.contains(&i));
                let mut block = Block { stmts: vec![stmt], results: vec![] };
                if is_of_log {
                    set_count(&mut block.stmts[0], &step.count, &count);
                } else {
                    block.rename(&names);
                }
                body.append(&mut block.stmts);
            }
        }
    }

    /// The loop that reads the states, from the one state: at the load of a state, the steps since then are undone. It
    /// carries the number of the state that the last iteration had.
    fn read_backwards(
        &mut self,
        undo: &Undo,
        reader: Reader,
        steps: &Operand,
        rest: &mut VecDeque<Stmt>,
        step: &Step,
        copies: &[(usize, bool)],
    ) {
        let [at, after] = [(); 2].map(|()| Builder { locals: self.locals }.local(Scalar::Integer.ty()));
        let back = self.step_back(undo, &reader.number, at);
        if let Stmt::For(reads) = &mut rest[reader.at] {
            reads.body.stmts[reader.load] = back;
            reads.body.rename(&FxHashMap::from_iter([(reader.state, undo.state)]));
            reads.carried.push((at, steps.clone()));
            reads.results.push(after);
            reads.body.results.push(reader.number);
        }
        for (i, stmt) in std::mem::take(rest).into_iter().enumerate() {
            match stmt {
                Stmt::Memory(Memory::Load(..)) if copies.contains(&(i, false)) => {}
                Stmt::Memory(Memory::Load(x, ..)) if copies.contains(&(i, true)) => {
                    let count = step.count.clone();
                    rest.push_back(Stmt::Memory(Memory::Alloc { buffer: x, count: count.clone(), span: step.span }));
                    rest.push_back(Stmt::Memory(Memory::Move { to: x.into(), from: undo.state.into(), count }));
                }
                stmt => rest.push_back(stmt),
            }
        }
    }

    /// Steps back to the state of a number, from that of another one.
    fn step_back(&mut self, undo: &Undo, to: &Operand, from: Local) -> Stmt {
        let mut stmts = Vec::new();
        let mut build = Builder { locals: self.locals };
        let index = build.local(Scalar::Integer.ty());
        let done = build.op(Op::SubI, [index.into(), to.clone()], &mut stmts);
        let left = build.op(Op::SubI, [from.into(), done], &mut stmts);
        let number = build.op(Op::SubI, [left, Operand::Integer(1)], &mut stmts);
        stmts.append(&mut self.undo(undo, &number));
        Stmt::loop_over(index, [to.clone(), from.into()], stmts)
    }

    /// Undoes the step of a number.
    fn undo(&mut self, undo: &Undo, number: &Operand) -> Vec<Stmt> {
        let ty = self.locals[undo.state.0 as usize].ty;
        let mut stmts = Vec::new();
        let mut build = Builder { locals: self.locals };
        let log = build.local(ty);
        let at = build.op(Op::AddI, [number.clone(), Operand::Integer(1)], &mut stmts);
        stmts.push(Stmt::Memory(Memory::Load(log, undo.table.into(), at)));
        let mut given = FxHashMap::from_iter([(undo.index, number.clone())]);
        for (x, buffer) in &undo.saved {
            let value = self.like(*x);
            stmts.push(Stmt::Memory(Memory::Load(value, (*buffer).into(), number.clone())));
            given.insert(*x, value.into());
        }
        let moderate = self.are_moderate(given.values().cloned().collect(), &mut stmts);
        let arms = [(); 2].map(|()| {
            let mut block =
                Block { stmts: vec![undo.skeleton.clone()], results: vec![] }.copy(self.locals, given.clone());
            let leaf = Leaf::Undo { log };
            Threading { locals: self.locals, buffer: undo.state, leaf: &leaf }.thread(&mut block, Operand::Integer(0));
            block
        });
        let [then, other] = arms;
        stmts.push(Stmt::If(vec![], moderate, then, other));
        stmts
    }

    /// Asks whether Integers are within what analyses assume of sizes: so much was checked before the step, and is not
    /// known of what was saved.
    fn are_moderate(&mut self, numbers: Vec<Operand>, stmts: &mut Vec<Stmt>) -> Operand {
        let mut all = Operand::Bool(true);
        for a in numbers {
            if a.ty(self.locals) != Scalar::Integer.ty() {
                continue;
            }
            let mut build = Builder { locals: self.locals };
            let ends = [[Operand::Integer(-MOST_ELEMENTS), a.clone()], [a, Operand::Integer(MOST_ELEMENTS)]];
            for end in ends {
                let holds = build.op(Op::LeI, end, stmts);
                all = build.op(Op::And, [all, holds], stmts);
            }
        }
        Builder { locals: self.locals }.op(Op::Likely, [all], stmts)
    }

    fn like(&mut self, x: Local) -> Local {
        let info = LocalInfo { name: None, ..self.locals[x.0 as usize].clone() };
        Builder { locals: self.locals }.with(info)
    }
}

/// What it takes to undo a step.
struct Undo {
    skeleton: Stmt,
    state: Local,
    table: Local,
    saved: Vec<(Local, Local)>,
    /// The number of a step, in the skeleton.
    index: Local,
}

/// The end of a scope keeps a log, of so many elements.
fn set_count(stmt: &mut Stmt, old: &Operand, new: &Operand) {
    for inner in stmt.blocks_mut().flat_map(|block| &mut block.stmts) {
        if let Stmt::Memory(Memory::Alloc { count, .. } | Memory::Move { count, .. }) = inner
            && count.same(old)
        {
            *count = new.clone();
        }
    }
}
