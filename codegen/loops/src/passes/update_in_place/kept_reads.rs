//! Keeps what a sweep reads of states that it goes through backwards, where that is not more than what steps overwrite,
//! or little more.
//!
//! ```text
//! store T[0] = a; for k in 0..n carrying (s = a) { N = ..; store T[k + 1] = N; yield N }
//! for j in .. { s = load T[c - j]; .. for x in 0..m { v = load s[y(c - j, x)]; .. } }
//!   =  R = alloc n m
//!      for k in 0..n carrying (s = a) { for x in 0..m { store R[k m + x] = load s[y(k, x)] }; N = ..; store T[k + 1] = N; yield N }
//!      for j in .. { .. for x in 0..m { v = load R[(c - j) m + x]; .. } }
//! ```
//!
//! If the sweep begins with the last state, which no step starts from, its line is stored behind the forward loop.
//!
//! Nothing reads T then but for its last state (`last_state`), and the forward loop updates its state in place, as that of
//! a function that keeps no states. One element that is the same in all iterations is a line with m = 1. An index that is
//! a number of the step, as a condition says, is that number. Places are made of indices, of what does not change, and
//! of what both loops load for a step.

use super::lines::{Known, Line, Place, lines};
use super::reader::{Reader, Record, reader};
use super::rewrite::sink_store;
use super::step::{Change, Step, own_loads};
use super::{Updater, tables};
use crate::analyses::nests::Nest;
use crate::analyses::worked_on::{is_any, is_load, is_worked_on};
use crate::ir::{Block, Builder, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use lm::term::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// The most elements, and the most lines, that are kept of each state where a step overwrites one.
const MOST_ALIKE: [usize; 2] = [6, 2];

/// What a sweep reads of each state.
struct Kept {
    carried: usize,
    reader: Reader,
    lines: Vec<Line>,
    /// The statement of the forward loop before which the numbers of the step are known.
    from: usize,
    /// Whether the last state is read, with which no step begins.
    reads_last: bool,
    /// The number of elements of a state.
    count: Operand,
    span: Span,
}

/// A step whose states are in no table.
struct Alone {
    count: Operand,
    span: Span,
    /// In how many dimensions it changes the state, and whether these are not all.
    dimensions: usize,
    is_part: bool,
}

impl Updater<'_> {
    /// Keeps what is read of the states of a loop, if the statements that follow allow it.
    pub(super) fn keep_reads(
        &mut self,
        looped: &mut For,
        out: &mut Vec<Stmt>,
        rest: &mut VecDeque<Stmt>,
        results: &[Operand],
    ) {
        for i in 0..looped.carried.len() {
            if let Some(kept) = self.find_reads(looped, i, out, rest, results) {
                self.write_reads(kept, looped, out, rest);
            }
        }
    }

    fn find_reads(
        &mut self,
        looped: &For,
        i: usize,
        out: &[Stmt],
        rest: &VecDeque<Stmt>,
        results: &[Operand],
    ) -> Option<Kept> {
        let record = Record::of(looped, i, out)?;
        let (reader, _) = reader(rest, record.table, &looped.to)?;
        let Stmt::For(sweep) = &rest[reader.at] else { return None };
        let is_result = results.iter().any(|a| a.local() == Some(record.table));
        let reads_last = !self.is_number_below(&reader, looped, rest, 0);
        if is_result || reads_last && !self.is_number_below(&reader, looped, rest, 1) {
            return None;
        }
        let known = self.known(looped, out, rest, &reader);
        let at_load = |(_, _, x): &(Local, Place, Local)| {
            let at = looped.body.stmts.iter().position(|stmt| stmt.targets().contains(x))?;
            Some((*x, at + 1))
        };
        let loaded: Vec<(Local, usize)> = known.loaded.iter().filter_map(at_load).collect();
        let lines = lines(sweep, &reader, known)?;
        let is_needed = |x: Local| lines.iter().any(|line| line.place.needs(x));
        let from = loaded.into_iter().filter(|(x, _)| is_needed(*x)).map(|(_, at)| at).max().unwrap_or(0);
        // What the loop loads for a step is not known for the one that is not made.
        if reads_last && from > 0 {
            return None;
        }
        let Alone { count, span, dimensions, is_part } = self.alone(looped, i, record.next, out)?;
        let reads = lines.iter().map(|line| usize::from(line.length.is_some())).max().unwrap_or(0);
        let has = looped.carried[i].1.local().is_some_and(|init| self.extents.has(init, &count));
        // A log of as many elements would have to be undone.
        let is_little = |most: &usize| is_part && reads == dimensions && lines.len() <= *most;
        let is_least = reads < dimensions || MOST_ALIKE.get(reads).is_some_and(is_little);
        (has && is_least).then_some(Kept { carried: i, reader, lines, from, reads_last, count, span })
    }

    /// Returns whether each state that the sweep reads has a number below that of the steps, or that and some more.
    fn is_number_below(&mut self, reader: &Reader, looped: &For, rest: &VecDeque<Stmt>, more: i128) -> bool {
        let Stmt::For(sweep) = &rest[reader.at] else { return false };
        let mark = self.ranges.mark();
        rest.iter().take(reader.at).for_each(|stmt| self.ranges.learn_from(stmt));
        self.ranges.enter(&rest[reader.at], 0);
        sweep.body.stmts[..reader.load].iter().for_each(|stmt| self.ranges.learn_from(stmt));
        let (number, steps) = (self.ranges.form(&reader.number), self.ranges.form(&looped.to));
        let past = number.minus(&steps).and_then(|form| form.shifted(1 - more));
        let holds = self.ranges.is_not_positive(past);
        self.ranges.back_to(mark);
        holds
    }

    /// What is known of a step in a loop and in the sweep through its states.
    fn known(&self, looped: &For, out: &[Stmt], rest: &VecDeque<Stmt>, reader: &Reader) -> Known {
        let mut known = Known::default();
        let since: Vec<&Stmt> = rest.iter().take(reader.at + 1).collect();
        for stmt in &since {
            known.see(stmt);
        }
        looped.body.stmts.iter().for_each(|stmt| known.see(stmt));
        known.later.extend(looped.results.iter().chain([&looped.index]).chain(looped.carried.iter().map(|(x, _)| x)));
        known.given.insert(looped.index, Place::Known(looped.index.into()));
        known.given.extend(reader.number.local().map(|x| (x, Place::Known(looped.index.into()))));
        if let Stmt::For(sweep) = since[reader.at] {
            self.know_loads(&mut known, looped, sweep, out, &since);
        }
        known
    }

    /// Notes what a loop and the sweep through its states load in each iteration, of buffers that stay as they are from
    /// the loop to the end of the sweep.
    fn know_loads(&self, known: &mut Known, looped: &For, sweep: &For, out: &[Stmt], since: &[&Stmt]) {
        let [own, again] =
            [&looped.body, &sweep.body].map(|body| body.stmts.iter().filter_map(load).collect::<Vec<_>>());
        let all: Vec<&(Local, Local, Operand)> = own.iter().chain(&again).collect();
        let buffers: FxHashSet<Local> = all.iter().map(|(_, b, _)| *b).collect();
        for b in buffers {
            let mut stmts = looped.body.stmts.iter().chain(since.iter().copied());
            if !stmts.all(|stmt| is_worked_on(stmt, b, &is_load)) {
                continue;
            }
            let filling = self.fillings.get(&b).filter(|_| self.filled.contains(&b));
            match filling.and_then(|filling| known.fill(filling)) {
                Some(fill) => drop(known.fills.insert(b, fill)),
                None if self.params.contains(&b) || is_made_here(b, out) => {}
                None => continue,
            }
            let of_it = all.iter().filter(|(_, c, _)| *c == b);
            known.loads.extend(of_it.map(|(x, b, at)| (*x, (*b, at.clone()))));
        }
        for (x, b, at) in &own {
            let place = known.loads.contains_key(x).then(|| known.place(at, &FxHashMap::default())).flatten();
            known.loaded.extend(place.map(|place| (*b, place, *x)));
        }
    }

    /// Returns how a loop changes a state in place once no table has it; none if it does not.
    fn alone(&mut self, looped: &For, i: usize, record: usize, out: &[Stmt]) -> Option<Alone> {
        let mut alone = looped.clone();
        alone.body.stmts.remove(record);
        let mut step = self.step(&alone, i, None);
        if step.is_none() {
            alone.body = self.in_form(&alone, i, out)?;
            step = self.step(&alone, i, None);
        }
        let step = step?;
        let (dimensions, all) = changed_dimensions(&alone, i, &step);
        Some(Alone { count: step.count, span: step.span, dimensions, is_part: dimensions < all })
    }

    fn write_reads(&mut self, kept: Kept, looped: &mut For, out: &mut Vec<Stmt>, rest: &mut VecDeque<Stmt>) {
        let Kept { carried, reader, lines, from, reads_last, count, span } = kept;
        let ty = self.locals[reader.state.0 as usize].ty;
        let Stmt::For(sweep) = &mut rest[reader.at] else { return };
        let mut build = Builder { locals: self.locals };
        let steps = build.times(&looped.to, out);
        let states = match reads_last {
            true => build.op(Op::AddI, [steps.clone(), Operand::Integer(1)], out),
            false => steps.clone(),
        };
        let [mut copies, mut rows, mut last] = [vec![], vec![], vec![]];
        let mut places = FxHashMap::default();
        for line in &lines {
            let mut build = Builder { locals: self.locals };
            let buffer = build.local(ty);
            let length = line.length.as_ref().map(|length| build.times(length, out));
            let all: Vec<Operand> = [Some(states.clone()), length.clone()].into_iter().flatten().collect();
            let all = build.product(&all, out);
            out.push(Stmt::Memory(Memory::Alloc { buffer, count: all, span }));
            let row = first(&reader.number, length.as_ref(), self.locals, &mut rows);
            places.extend(line.loads.iter().map(|(x, index)| (*x, (buffer, row.clone(), *index))));
            let behind = reads_last.then_some((looped.results[carried], &mut last));
            for (state, stmts) in [(looped.carried[carried].0, &mut copies)].into_iter().chain(behind) {
                let to = first(&looped.index.into(), length.as_ref(), self.locals, stmts);
                let state = state.into();
                stmts.extend(copy(line, length.clone(), [&state, &count], [buffer.into(), to], self.locals));
            }
        }
        sweep.body.stmts.splice(reader.load..=reader.load, rows);
        read_lines(&mut sweep.body, &places, self.locals);
        looped.body.stmts.splice(from..from, copies);
        if reads_last {
            let mut last = Block { stmts: last, results: vec![] };
            last.change_operands(&mut |a| {
                if a.local() == Some(looped.index) {
                    *a = steps.clone();
                }
            });
            last.stmts.into_iter().rev().for_each(|stmt| rest.push_front(stmt));
        }
        self.ranges.know(self.locals);
    }
}

/// Returns where the line of a state begins, by the number of the state.
fn first(number: &Operand, length: Option<&Operand>, locals: &mut Vec<LocalInfo>, stmts: &mut Vec<Stmt>) -> Operand {
    match length {
        Some(length) => Builder { locals }.op(Op::MulI, [number.clone(), length.clone()], stmts),
        None => number.clone(),
    }
}

impl Known {
    /// Notes what a statement sets, and how.
    fn see(&mut self, stmt: &Stmt) {
        let mut see = |stmt: &Stmt| {
            self.later.extend(stmt.targets().into_iter().chain(stmt.bound()));
            if let Stmt::Let(x, op, args) = stmt {
                self.made.insert(*x, (*op, args.clone()));
            }
        };
        see(stmt);
        stmt.blocks().for_each(|block| block.visit(&mut see));
    }

    /// Returns what a loop fills a buffer with, by an index, if operations make it.
    fn fill(&mut self, filling: &For) -> Option<(Local, Place)> {
        let is_let = |stmt: &&Stmt| matches!(stmt, Stmt::Let(..));
        let mut others = filling.body.stmts.iter().filter(|stmt| !is_let(stmt));
        let (Some(Stmt::Memory(Memory::Store(_, at, value))), None) = (others.next(), others.next()) else {
            return None;
        };
        if !filling.carried.is_empty() || at.local() != Some(filling.index) {
            return None;
        }
        filling.body.stmts.iter().for_each(|stmt| self.see(stmt));
        let value = self.place(value, &FxHashMap::from_iter([(filling.index, filling.to.clone())]))?;
        Some((filling.index, value))
    }
}

/// Returns what a statement loads: the result, the buffer and the index.
fn load(stmt: &Stmt) -> Option<(Local, Local, Operand)> {
    match stmt {
        Stmt::Memory(Memory::Load(x, b, at)) => Some((*x, b.local()?, at.clone())),
        _ => None,
    }
}

/// Returns whether a buffer is made among statements, and no other local shows it there.
fn is_made_here(b: Local, out: &[Stmt]) -> bool {
    let is_made = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer, .. }) if *buffer == b);
    out.iter().any(is_made) && out.iter().all(|stmt| is_worked_on(stmt, b, &is_any))
}

/// Returns the number of dimensions in which a step changes its state, and of all that it goes through.
fn changed_dimensions(looped: &For, i: usize, step: &Step) -> (usize, usize) {
    let Change::Stores { at, nest, .. } = &step.change else { return (0, 0) };
    let old = looped.carried[i].0;
    let mut stmt = looped.body.stmts[*at].clone();
    let own = own_loads(&stmt, old, nest);
    sink_store(nest.innermost_mut(&mut stmt), step.buffer, old, &own);
    let all = nest.indices.len();
    (all - fewest_fixed(&stmt, step.buffer, nest).unwrap_or(0), all)
}

/// Returns how many indices of a nest conditions fix on the way to a store, at the fewest; none if there is no store.
fn fewest_fixed(stmt: &Stmt, buffer: Local, nest: &Nest) -> Option<usize> {
    let in_block = |block: &Block| block.stmts.iter().filter_map(|stmt| fewest_fixed(stmt, buffer, nest)).min();
    match stmt {
        Stmt::Memory(Memory::Store(b, ..)) if b.local() == Some(buffer) => Some(0),
        Stmt::If(_, condition, then, other) => {
            let fixed = usize::from(fixes_index(condition, nest));
            in_block(then).map(|count| count + fixed).into_iter().chain(in_block(other)).min()
        }
        stmt => stmt.blocks().filter_map(in_block).min(),
    }
}

/// Returns whether an index of a nest is a number that does not change in it, where a condition holds.
fn fixes_index(condition: &Operand, nest: &Nest) -> bool {
    let Some((Op::EqI, args)) = condition.local().and_then(|x| nest.made.get(&x)) else { return false };
    let is_index = |a: &Operand| a.local().is_some_and(|x| nest.indices.contains(&x));
    let is_fixed = |a: &Operand| a.local().is_none_or(|x| !nest.set.contains(&x));
    is_index(&args[0]) && is_fixed(&args[1]) || is_index(&args[1]) && is_fixed(&args[0])
}

/// Copies the elements of a line from a state with so many elements to a buffer, from an index on. Where there is no
/// element, the sweep reads none.
fn copy(
    line: &Line,
    length: Option<Operand>,
    [state, count]: [&Operand; 2],
    [buffer, first]: [Operand; 2],
    locals: &mut Vec<LocalInfo>,
) -> Vec<Stmt> {
    let index = Builder { locals }.local(Scalar::Integer.ty());
    let mut stmts = Vec::new();
    let from = line.place.compute(&index.into(), locals, &mut stmts);
    let inside = Builder { locals }.op(Op::Below, [from.clone(), count.clone()], &mut stmts);
    let to = match &length {
        Some(_) => Builder { locals }.op(Op::AddI, [first, index.into()], &mut stmts),
        None => first,
    };
    let value = tables::element_within(state, from, inside, locals, &mut stmts);
    stmts.push(Stmt::Memory(Memory::Store(buffer, to, value)));
    match length {
        Some(length) => vec![Stmt::loop_over(index, [Operand::Integer(0), length], stmts)],
        None => stmts,
    }
}

/// Loads elements from the buffers where they are kept, from the first of a step on.
fn read_lines(
    block: &mut Block,
    places: &FxHashMap<Local, (Local, Operand, Option<Local>)>,
    locals: &mut Vec<LocalInfo>,
) {
    for mut stmt in std::mem::take(&mut block.stmts) {
        stmt.blocks_mut().for_each(|inner| read_lines(inner, places, locals));
        if let Stmt::Memory(Memory::Load(x, b, at)) = &mut stmt
            && let Some((buffer, first, index)) = places.get(x)
        {
            *b = (*buffer).into();
            *at = match index {
                Some(index) => Builder { locals }.op(Op::AddI, [first.clone(), (*index).into()], &mut block.stmts),
                None => first.clone(),
            };
        }
        block.stmts.push(stmt);
    }
}
