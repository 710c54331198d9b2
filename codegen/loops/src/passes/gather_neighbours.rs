//! Gathers what a loop adds to neighbours: each element takes its terms from a buffer, in place of each iteration adding
//! to several elements.
//!
//! ```text
//! for i in a..b { s; add d[i] += x; add d[i + 1] += y }
//!   =   t, u = alloc b - a;
//!       for i in a..b { s; store t[i - a] = x; store u[i - a] = y }
//!       if 1 < b - a {
//!         add d[a] += t[0]
//!         for e in a + 1..b { add d[e] += u[e - 1 - a]; add d[e] += t[e - a] }
//!         add d[b] += u[b - 1 - a]
//!       } else { for i in a..b { add d[i] += t[i - a]; add d[i + 1] += u[i - a] } }
//! ```
//!
//! The derivative of a stencil adds to neighbours. Its iterations are not independent, so it is no loop for lanes; both
//! loops here are. The terms of an element keep their order. Places are polynomials (`places`): neighbours are those
//! with a constant between them, such as the elements left and right of `row n + i`. What is added to other rows is
//! gathered with them. The rows may meet, so then sums must be allowed another order.
//!
//! d is from outside of the loop, which only adds to it, and uses no other name for it.

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::places::{Places, compute, locals};
use crate::ir::{Block, Builder, For, Local, Memory, Op, Operand, Scalar, Stmt};
use lm::sizes::Polynomial;
use lm::term::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The largest distance between neighbours: so many iterations at each end are written out.
const FARTHEST: i64 = 8;

/// A loop that is known to be as short is written out (`unroll`).
const SHORT: i64 = 16;

pub(super) fn run(cx: &mut FunctionCx) {
    let (aliases, summaries, keeps_order) = (cx.aliases(), cx.summaries(), cx.settings.keeps_order);
    cx.rewrite(|body, function| {
        let places = Places::of(body);
        let builder = Builder { locals: &mut function.locals };
        Gatherer { aliases, summaries, keeps_order, places, builder }.gather_in_block(body);
    });
}

struct Gatherer<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    keeps_order: bool,
    places: Places,
    builder: Builder<'a>,
}

/// What a loop adds to a buffer, along a row of it.
struct Row {
    buffer: Operand,
    /// The place of the first neighbour, less the index.
    first: Polynomial,
    /// The terms, in order.
    terms: Vec<Term>,
}

struct Term {
    /// How far its place is behind that of the first neighbour.
    distance: i64,
    value: Operand,
}

impl Gatherer<'_> {
    fn gather_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.blocks_mut().for_each(|inner| self.gather_in_block(inner));
            match stmt {
                Stmt::For(looped) => self.gather_loop(*looped, &mut block.stmts),
                stmt => block.stmts.push(stmt),
            }
        }
    }

    fn gather_loop(&mut self, mut looped: For, out: &mut Vec<Stmt>) {
        let rows = self.rows(&looped);
        if rows.is_empty() {
            return out.push(Stmt::For(Box::new(looped)));
        }
        let [from, to] = [looped.from.clone(), looped.to.clone()];
        let mark = self.builder.local(Scalar::Mark.ty());
        out.push(Stmt::Memory(Memory::Mark(mark)));
        let length = match from {
            Operand::Integer(0) => to.clone(),
            _ => self.builder.op(Op::SubI, [to.clone(), from.clone()], out),
        };
        let length = self.builder.times(&length, out);
        let buffers = self.store_terms(&mut looped, &rows, &length, out);
        out.push(Stmt::For(Box::new(looped)));
        let gathering = Gathering { buffers: &buffers, from, to, length };
        rows.iter().for_each(|row| self.gather_row(row, &gathering, out));
        out.push(Stmt::Memory(Memory::Release(mark.into())));
    }

    /// Returns the rows that a loop adds to, if it adds to neighbours in one of them.
    fn rows(&self, looped: &For) -> Vec<Row> {
        let is_short = |from, to: i64| to.saturating_sub(from) <= SHORT;
        let is_plain = looped.lanes == 1 && looped.jam == 1 && !looped.on_threads;
        if !is_plain
            || matches!((&looped.from, &looped.to), (Operand::Integer(a), Operand::Integer(b)) if is_short(*a, *b))
        {
            return vec![];
        }
        let mut set: FxHashSet<Local> = looped.carried.iter().map(|(x, _)| *x).collect();
        let mut is_simple = true;
        let mut added: FxHashMap<Local, usize> = FxHashMap::default();
        looped.body.visit(&mut |stmt| {
            set.extend(stmt.targets());
            match stmt {
                Stmt::Memory(Memory::Add(b, ..)) => {
                    b.local().into_iter().for_each(|b| *added.entry(b).or_default() += 1)
                }
                Stmt::Let(..) | Stmt::If(..) | Stmt::Check { .. } => {}
                Stmt::Memory(Memory::Load(..) | Memory::Store(..)) => {}
                _ => is_simple = false,
            }
        });
        let mut rows = Vec::new();
        let mut seen = FxHashSet::default();
        for stmt in looped.body.stmts.iter().filter(|_| is_simple) {
            if let Stmt::Memory(Memory::Add(Operand::Local(b), ..)) = stmt
                && added[b] > 1
                && !set.contains(b)
                && seen.insert(*b)
                && let Some(found) =
                    self.rows_of(*b, looped, &set).filter(|_| self.aliases.only_adds(&looped.body, *b, self.summaries))
                && found.iter().map(|row| row.terms.len()).sum::<usize>() == added[b]
                && found.iter().any(|row| row.farthest() > 0)
                && (found.len() == 1 || !self.keeps_order)
            {
                rows.extend(found);
            }
        }
        rows
    }

    /// Returns the rows of one buffer, if all of what is added to it has such places; `set` is what the loop sets.
    fn rows_of(&self, b: Local, looped: &For, set: &FxHashSet<Local>) -> Option<Vec<Row>> {
        let index = self.places.local(looped.index);
        let mut rows: Vec<Row> = Vec::new();
        for stmt in &looped.body.stmts {
            let Stmt::Memory(Memory::Add(buffer, place, value)) = stmt else { continue };
            if buffer.local() != Some(b) {
                continue;
            }
            let first = self.places.polynomial(place).minus(&index);
            if locals(&first).any(|x| x == looped.index || set.contains(&x)) {
                return None;
            }
            let value = value.clone();
            let near = rows.iter_mut().find_map(|row| {
                let distance = first.minus(&row.first).as_constant()?;
                Some((row, distance))
            });
            match near {
                Some((row, distance)) => row.terms.push(Term { distance, value }),
                None => rows.push(Row { buffer: buffer.clone(), first, terms: vec![Term { distance: 0, value }] }),
            }
        }
        rows.iter_mut().for_each(Row::begin_with_first);
        rows.iter().all(|row| row.farthest() <= FARTHEST).then_some(rows)
    }

    /// Lets a loop store the terms of rows, in place of adding them. Returns where they are.
    fn store_terms(
        &mut self,
        looped: &mut For,
        rows: &[Row],
        length: &Operand,
        out: &mut Vec<Stmt>,
    ) -> FxHashMap<Local, Local> {
        let mut set: FxHashSet<Local> = looped.carried.iter().map(|(x, _)| *x).chain([looped.index]).collect();
        looped.body.visit(&mut |stmt| set.extend(stmt.targets()));
        let mut stmts = Vec::with_capacity(looped.body.len());
        let place = match looped.from {
            Operand::Integer(0) => looped.index.into(),
            _ => self.builder.op(Op::SubI, [looped.index.into(), looped.from.clone()], &mut stmts),
        };
        let mut buffers = FxHashMap::default();
        for stmt in std::mem::take(&mut looped.body.stmts) {
            match stmt {
                Stmt::Memory(Memory::Add(b, _, x)) if rows.iter().any(|row| row.buffer.same(&b)) => {
                    let Some(value) = x.local().filter(|x| set.contains(x) && !buffers.contains_key(x)) else {
                        continue;
                    };
                    let buffer = self.builder.local(x.ty(self.builder.locals).buffer());
                    let (count, span) = (length.clone(), Span::default());
                    out.push(Stmt::Memory(Memory::Alloc { buffer, count, span }));
                    stmts.push(Stmt::Memory(Memory::Store(buffer.into(), place.clone(), x)));
                    buffers.insert(value, buffer);
                }
                stmt => stmts.push(stmt),
            }
        }
        looped.body.stmts = stmts;
        buffers
    }

    /// Adds the terms of a row to its elements.
    fn gather_row(&mut self, row: &Row, gathering: &Gathering, out: &mut Vec<Stmt>) {
        let first = compute(&row.first, &mut self.builder, out);
        let farthest = row.farthest();
        let [from, to] = [&gathering.from, &gathering.to];
        if farthest == 0 {
            return out.push(self.elements(row, &first, gathering, [from.clone(), to.clone()]));
        }
        let is_long = self.builder.op(Op::LtI, [Operand::Integer(farthest), gathering.length.clone()], out);
        let mut inside = Vec::new();
        // From the k-th iteration of the first ones, terms of elements that the loop below leaves out.
        for k in 0..farthest {
            for term in row.terms.iter().filter(|term| k + term.distance < farthest) {
                let e = self.plus(from, k + term.distance, &mut inside);
                self.add_term(row, term, &first, e, gathering, &mut inside);
            }
        }
        let start = self.plus(from, farthest, &mut inside);
        inside.push(self.elements(row, &first, gathering, [start, to.clone()]));
        // From the k-th iteration before the end.
        for k in (1..=farthest).rev() {
            for term in row.terms.iter().filter(|term| term.distance >= k) {
                let e = self.plus(to, term.distance - k, &mut inside);
                self.add_term(row, term, &first, e, gathering, &mut inside);
            }
        }
        let each = self.iterations(row, &first, gathering);
        let [then, other] = [inside, vec![each]].map(|stmts| Block { stmts, results: vec![] });
        out.push(Stmt::If(vec![], is_long, then, other));
    }

    /// A loop over elements that have all terms, each in the order of the iterations that they are from.
    fn elements(&mut self, row: &Row, first: &Operand, gathering: &Gathering, [from, to]: [Operand; 2]) -> Stmt {
        let e = self.builder.local(Scalar::Integer.ty());
        let mut stmts = Vec::new();
        let mut terms: Vec<&Term> = row.terms.iter().collect();
        terms.sort_by_key(|term| -term.distance);
        for term in terms {
            self.add_term(row, term, first, e.into(), gathering, &mut stmts);
        }
        Stmt::loop_over(e, [from, to], stmts)
    }

    /// A loop over the iterations, which adds as the program did.
    fn iterations(&mut self, row: &Row, first: &Operand, gathering: &Gathering) -> Stmt {
        let i = self.builder.local(Scalar::Integer.ty());
        let mut stmts = Vec::new();
        for term in &row.terms {
            let e = self.plus(&i.into(), term.distance, &mut stmts);
            self.add_term(row, term, first, e, gathering, &mut stmts);
        }
        Stmt::loop_over(i, [gathering.from.clone(), gathering.to.clone()], stmts)
    }

    /// Adds a term to an element, which is so far from where the row begins for the index 0.
    fn add_term(
        &mut self,
        row: &Row,
        term: &Term,
        first: &Operand,
        e: Operand,
        gathering: &Gathering,
        out: &mut Vec<Stmt>,
    ) {
        let stored = term.value.local().and_then(|x| gathering.buffers.get(&x));
        let value = match stored {
            None => term.value.clone(),
            Some(buffer) => {
                let place = match &gathering.from {
                    Operand::Integer(0) => e.clone(),
                    from => self.builder.op(Op::SubI, [e.clone(), from.clone()], out),
                };
                let place = self.plus(&place, -term.distance, out);
                let x = self.builder.local(term.value.ty(self.builder.locals));
                out.push(Stmt::Memory(Memory::Load(x, Operand::Local(*buffer), place)));
                x.into()
            }
        };
        let place = match first {
            Operand::Integer(0) => e,
            first => self.builder.op(Op::AddI, [e, first.clone()], out),
        };
        out.push(Stmt::Memory(Memory::Add(row.buffer.clone(), place, value)));
    }

    fn plus(&mut self, a: &Operand, k: i64, out: &mut Vec<Stmt>) -> Operand {
        match a {
            a if k == 0 => a.clone(),
            Operand::Integer(a) => Operand::Integer(a + k),
            a => self.builder.op(Op::AddI, [a.clone(), Operand::Integer(k)], out),
        }
    }
}

/// Where the terms of a loop are, and its range.
struct Gathering<'a> {
    /// The buffers that have terms for each iteration; other terms are the same in all of them.
    buffers: &'a FxHashMap<Local, Local>,
    from: Operand,
    to: Operand,
    length: Operand,
}

impl Row {
    /// How far the last neighbour is behind the first.
    fn farthest(&self) -> i64 {
        self.terms.iter().map(|term| term.distance).max().unwrap_or(0)
    }

    /// Counts distances from the first neighbour.
    fn begin_with_first(&mut self) {
        let least = self.terms.iter().map(|term| term.distance).min().unwrap_or(0);
        self.first = self.first.shifted(least);
        self.terms.iter_mut().for_each(|term| term.distance -= least);
    }
}
