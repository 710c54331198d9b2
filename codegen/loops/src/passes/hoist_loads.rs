//! Loads before a loop what it loads in each iteration from one place, of a buffer of which it changes other places.
//!
//! ```text
//! for j in a..n { x = load b[e]; s; store b[f] = y }
//!   =  z = if a < n { load b[e] } else { 0 };  for j in a..n { s[x := z]; store b[f] = y }        e and f differ
//! ```
//!
//! `licm` moves what a loop leaves alone as a whole, and knows nothing of places. In a step that eliminates below a pivot,
//! each row is changed behind the column of the pivot, by one element of that column. As long as the element is loaded
//! again behind each store, nothing that depends on it moves, and LLVM makes no vectors.
//!
//! Nothing that may stop comes before the load in the loop: then there is such an element if the loop runs.

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::apart::Places;
use crate::analyses::fixed::{Fixed, take_places};
use crate::analyses::ranges::Ranges;
use crate::ir::{Block, Builder, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

pub(super) fn run(cx: &mut FunctionCx) {
    let mut is_wanted = false;
    cx.function
        .body
        .visit(&mut |stmt| is_wanted |= matches!(stmt, Stmt::For(looped) if !fixed_loads(looped).is_empty()));
    if !is_wanted {
        return;
    }
    let (aliases, summaries) = (cx.aliases(), cx.summaries());
    cx.rewrite(|body, function| {
        let (ranges, places) = (Ranges::new(function), Places::of(body));
        Hoister { aliases, summaries, ranges, places, locals: &mut function.locals }.hoist_in_block(body);
    });
}

/// A load in a loop from a place that is the same in all iterations.
struct FixedLoad {
    /// Its place among the statements of the loop.
    at: usize,
    result: Local,
    buffer: Local,
    place: Operand,
}

/// Returns the loads of a loop's own block from places that it does not change, of buffers that it writes to there.
fn fixed_loads(looped: &For) -> Vec<FixedLoad> {
    let stmts = &looped.body.stmts;
    let written: FxHashSet<Local> = stmts.iter().filter_map(|stmt| written(stmt).map(|(b, _)| b)).collect();
    if written.is_empty() || looped.on_threads || looped.lanes > 1 || looped.jam > 1 {
        return vec![];
    }
    let fixed = Fixed::of(looped);
    let mut found = Vec::new();
    for (at, stmt) in stmts.iter().enumerate() {
        match stmt {
            Stmt::Memory(Memory::Load(x, b, e)) if fixed.is_outside(b) && fixed.is_fixed(e) => {
                let buffer = b.local().filter(|b| written.contains(b));
                found.extend(buffer.map(|buffer| FixedLoad { at, result: *x, buffer, place: e.clone() }));
            }
            Stmt::Let(..) | Stmt::Memory(Memory::Load(..) | Memory::Store(..) | Memory::Add(..)) => {}
            _ => break,
        }
    }
    found
}

/// Returns the buffer and the place that a statement writes to.
fn written(stmt: &Stmt) -> Option<(Local, &Operand)> {
    match stmt {
        Stmt::Memory(Memory::Store(b, f, _) | Memory::Add(b, f, _)) => Some((b.local()?, f)),
        _ => None,
    }
}

struct Hoister<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    ranges: Ranges,
    places: Places,
    locals: &'a mut Vec<LocalInfo>,
}

impl Hoister<'_> {
    fn hoist_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            for i in 0..stmt.blocks().count() {
                let mark = self.ranges.mark();
                self.ranges.enter(&stmt, i);
                self.hoist_in_block(stmt.block_mut(i));
                self.ranges.back_to(mark);
            }
            if let Stmt::For(looped) = &mut stmt {
                self.hoist_from_loop(looped, &mut block.stmts);
            }
            self.ranges.emit(stmt, self.locals, &mut block.stmts);
        }
    }

    fn hoist_from_loop(&mut self, looped: &mut For, out: &mut Vec<Stmt>) {
        let mut loads = fixed_loads(looped);
        if loads.is_empty() {
            return;
        }
        let mark = self.ranges.mark();
        self.ranges.enter(&Stmt::For(Box::new(looped.clone())), 0);
        looped.body.stmts.iter().for_each(|stmt| self.ranges.learn_from(stmt));
        loads.retain(|load| self.is_left_alone(looped, load));
        self.ranges.back_to(mark);
        if loads.is_empty() {
            return;
        }
        for load in loads.iter().rev() {
            looped.body.stmts.remove(load.at);
        }
        let places: Vec<Local> = loads.iter().filter_map(|load| load.place.local()).collect();
        let fixed = Fixed::of(looped);
        for place in take_places(&mut looped.body.stmts, places, &fixed) {
            self.ranges.emit(place, self.locals, out);
        }
        let runs = self.ranges.op(Op::LtI, [looped.from.clone(), looped.to.clone()], self.locals, out);
        let (mut names, mut results) = (FxHashMap::default(), Vec::new());
        let [mut there, mut nothing] = [Block::default(), Block::default()];
        for FixedLoad { result, buffer, place, .. } in loads {
            let ty = self.locals[result.0 as usize].ty;
            let loaded = Builder { locals: self.locals }.local(ty);
            there.stmts.push(Stmt::Memory(Memory::Load(loaded, buffer.into(), place)));
            there.results.push(loaded.into());
            nothing.results.push(if ty == Scalar::Float.ty() { Operand::Float(0.0) } else { Operand::Integer(0) });
            let value = Builder { locals: self.locals }.local(ty);
            names.insert(result, value);
            results.push(value);
        }
        looped.body.rename(&names);
        self.ranges.emit(Stmt::If(results, runs, there, nothing), self.locals, out);
    }

    /// Returns whether a loop changes nothing at the place of a load.
    fn is_left_alone(&mut self, looped: &For, load: &FixedLoad) -> bool {
        let b = load.buffer;
        let is_number =
            matches!(self.locals[load.result.0 as usize].ty.as_scalar(), Some(Scalar::Float | Scalar::Integer));
        is_number
            && looped.body.stmts.iter().all(|stmt| match written(stmt) {
                Some((a, f)) if a == b => self.places.are_apart([&load.place, f], &mut self.ranges),
                _ => {
                    let changes = |stmt: &Stmt| {
                        let slides = matches!(stmt, Stmt::Memory(Memory::Slide(..) | Memory::Slid { .. }));
                        slides || self.aliases.changes(stmt, b, self.summaries)
                    };
                    let mut is_changed = changes(stmt);
                    stmt.blocks().for_each(|block| block.visit(&mut |stmt| is_changed |= changes(stmt)));
                    !is_changed
                }
            })
    }
}
