//! Lets each element of a box take what iterations around it add to it, in place of each iteration adding to several
//! elements.
//!
//! ```text
//! for i in 0..n { for j in 0..m { s; add d[i m + j] += x; if 0 <= i - 1 { add d[(i - 1) m + j] += y } } }
//!   =  t = alloc n m
//!      for i in 0..n { for j in 0..m { s; add d[i m + j] += x; store t[i m + j] = y } }
//!      for p in 0..n { for q in 0..m {
//!        add d[p m + q] += if p + 1 < n { if 0 <= p + 1 - 1 { load t[(p + 1) m + q] } else { 0 } } else { 0 } } }
//! ```
//!
//! The derivative of a stencil adds to neighbours. Its iterations are not independent: they are neither for lanes nor
//! for threads, and go through d once for each row of neighbours. Both nests here are independent.
//!
//! All that the nest adds at other places is moved so, by offsets that do not change in the nest. Whether an iteration
//! adds is asked again, at the place of the iteration. So the conditions may depend on indices, but not on elements. An
//! index of d other than the first is known to lie in d, as two offsets could else give one place. Terms are added in
//! another order. A value that the nest loads at its own place, from a buffer that stays as it is, needs no table.
//!
//! An index that conditionals give has a case for each of their arms. One that is a border's has an offset where the
//! iteration's index is known to be the first or the last one.
//!
//! `gather_neighbours` does the same for single loops, with less memory, where the neighbours are near.

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::extents::Extents;
use crate::analyses::nests::{Nest, Slice};
use crate::analyses::places::{Places, compute, locals};
use crate::analyses::ranges::Ranges;
use crate::ir::{Block, Builder, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use indexmap::IndexMap;
use lm::sizes::Polynomial;
use lm::term::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The most values that are kept of each iteration: each goes through memory, beside the elements. With four of them,
/// stencils on squares are no faster than by `gather_neighbours`.
const MOST_VALUES: usize = 3;

/// The most terms of an element.
const MOST_TERMS: usize = 16;

/// A nest that is known to have so few iterations is for registers.
const FEW: i64 = 64;

/// The most conditionals that the place of an addition may depend on.
const MOST_CHOICES: usize = 6;

pub(super) fn run(cx: &mut FunctionCx) {
    if cx.settings.keeps_order || !adds_twice(&cx.function.body) {
        return;
    }
    let (aliases, summaries) = (cx.aliases(), cx.summaries());
    let extents = Extents::of(cx.function, aliases.clone());
    let ranges = Ranges::new(cx.function);
    cx.rewrite(|body, function| {
        let places = Places::of(body);
        let locals = &mut function.locals;
        Gatherer { aliases, summaries, extents, places, ranges, locals }.gather_in_block(body);
    });
}

struct Gatherer<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    extents: Extents,
    places: Places,
    /// At the statement at hand.
    ranges: Ranges,
    locals: &'a mut Vec<LocalInfo>,
}

/// An addition in the innermost block of a nest.
struct Addition {
    buffer: Local,
    place: Operand,
    /// None where nothing is known of the place.
    at: Option<At>,
    value: Operand,
    /// The conditions around it, and whether they hold.
    conditions: Vec<(Operand, bool)>,
}

/// The place of an addition.
enum At {
    /// That of the iteration.
    Own,
    /// The index of each dimension less that of the nest, and the sizes of the dimensions but the first.
    Offset(Vec<Polynomial>, Vec<Operand>),
}

/// One way through the conditionals that a place depends on.
#[derive(Default)]
struct Case {
    /// What they give.
    chosen: FxHashMap<Local, Operand>,
    /// The conditions, where they are not known.
    conditions: Vec<(Operand, bool)>,
}

/// What a nest adds to a buffer at other places than its own.
struct Gathered<'a> {
    buffer: Local,
    /// The sizes of the buffer's dimensions.
    sizes: Vec<Operand>,
    terms: Vec<(&'a [Polynomial], &'a Addition)>,
}

impl Gatherer<'_> {
    fn gather_in_block(&mut self, block: &mut Block) {
        let mut made = FxHashSet::default();
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let Stmt::Memory(Memory::Alloc { buffer, .. }) = &stmt {
                made.insert(*buffer);
            }
            if let Some(gathered) = self.gathered(&stmt, &made) {
                self.ranges.know(self.locals);
                gathered.iter().for_each(|stmt| self.ranges.learn_from(stmt));
                block.stmts.extend(gathered);
                continue;
            }
            for i in 0..stmt.blocks().count() {
                let mark = self.ranges.mark();
                self.ranges.enter(&stmt, i);
                self.gather_in_block(stmt.block_mut(i));
                self.ranges.back_to(mark);
            }
            self.ranges.learn_from(&stmt);
            block.stmts.push(stmt);
        }
    }

    /// Returns the nests in place of one that adds to neighbours; `made` has the buffers that its block makes before it.
    fn gathered(&mut self, stmt: &Stmt, made: &FxHashSet<Local>) -> Option<Vec<Stmt>> {
        let nest = Nest::of(stmt, &adds, &|stmt| adds_within(stmt))?;
        (nest.indices.len() > 1 && !has_few_iterations(&nest) && is_simple(stmt)).then_some(())?;
        let mut additions = Vec::new();
        self.collect(stmt, &nest, &mut vec![], &mut additions);
        let mut by_buffer: IndexMap<Local, Vec<&Addition>> = IndexMap::default();
        additions.iter().for_each(|addition| by_buffer.entry(addition.buffer).or_default().push(addition));
        let there = self.values_there(stmt, &nest, made);
        let gathered =
            |(buffer, additions): (Local, Vec<_>)| self.gathered_buffer(stmt, buffer, &additions, &nest, &there);
        let buffers: Vec<Gathered> = by_buffer.into_iter().filter_map(gathered).collect();
        (!buffers.is_empty()).then(|| self.rewritten(stmt, &nest, &buffers, there))
    }

    /// Returns what a nest loads at its own place, and stays there: where each is loaded from. A state is left out, since
    /// its step may be updated in place.
    fn values_there(&self, stmt: &Stmt, nest: &Nest, made: &FxHashSet<Local>) -> FxHashMap<Local, Local> {
        let mut values = FxHashMap::default();
        let mut see = |stmt: &Stmt| {
            if let Stmt::Memory(Memory::Load(x, Operand::Local(b), place)) = stmt
                && made.contains(b)
                && nest.is_place(place)
            {
                values.insert(*x, *b);
            }
        };
        stmt.blocks().for_each(|block| block.visit(&mut see));
        let mut changed: FxHashSet<Local> = FxHashSet::default();
        let mut see = |stmt: &Stmt| {
            changed.extend(values.values().filter(|b| self.aliases.changes(stmt, **b, self.summaries)));
        };
        stmt.blocks().for_each(|block| block.visit(&mut see));
        values.retain(|_, b| !changed.contains(b));
        values
    }

    /// Collects the additions of a nest, with what is known there.
    fn collect(&mut self, stmt: &Stmt, nest: &Nest, conditions: &mut Vec<(Operand, bool)>, out: &mut Vec<Addition>) {
        if let Stmt::Memory(Memory::Add(b, place, value)) = stmt
            && let Some(buffer) = b.local()
        {
            let mut add = |at, more: &[(Operand, bool)]| {
                let (place, value, conditions) = (place.clone(), value.clone(), [&conditions[..], more].concat());
                out.push(Addition { buffer, place, at, value, conditions });
            };
            match nest.is_place(place) {
                true => add(Some(At::Own), &[]),
                false => self.add_cases(place, nest, &mut Case::default(), &mut add),
            }
        }
        for (i, block) in stmt.blocks().enumerate() {
            let mark = self.ranges.mark();
            self.ranges.enter(stmt, i);
            let count = out.len();
            if let Stmt::If(_, condition, ..) = stmt {
                conditions.push((condition.clone(), i == 0));
            }
            block.stmts.iter().for_each(|inner| self.collect(inner, nest, conditions, out));
            match stmt {
                Stmt::If(..) => drop(conditions.pop()),
                // What a loop in the nest adds is not added once.
                Stmt::For(looped) if !nest.indices.contains(&looped.index) => {
                    out[count..].iter_mut().for_each(|addition| addition.at = None);
                }
                _ => {}
            }
            self.ranges.back_to(mark);
        }
        self.ranges.learn_from(stmt);
    }

    /// Adds the offsets of a place, one for each case where conditionals give what it is made of.
    fn add_cases(
        &mut self,
        place: &Operand,
        nest: &Nest,
        case: &mut Case,
        add: &mut impl FnMut(Option<At>, &[(Operand, bool)]),
    ) {
        let Some(x) = nest.choice_in(place, &case.chosen) else {
            return add(self.offset(place, nest, &case.chosen), &case.conditions);
        };
        if case.chosen.len() == MOST_CHOICES {
            return add(None, &[]);
        }
        let [condition, then, other] = &nest.choices[&x];
        let known = self.ranges.known(condition);
        for (arm, holds) in [(then, true), (other, false)] {
            if known == Some(!holds) {
                continue;
            }
            let (mark, count) = (self.ranges.mark(), case.conditions.len());
            self.ranges.learn(condition, holds);
            case.conditions.extend(known.is_none().then(|| (condition.clone(), holds)));
            case.chosen.insert(x, arm.clone());
            self.add_cases(place, nest, case, add);
            case.chosen.remove(&x);
            case.conditions.truncate(count);
            self.ranges.back_to(mark);
        }
    }

    /// Returns how far a place is from that of the iteration, in each dimension.
    fn offset(&mut self, place: &Operand, nest: &Nest, chosen: &FxHashMap<Local, Operand>) -> Option<At> {
        let (coordinates, sizes) = nest.coordinates_in_rows(place, chosen)?;
        for (x, size) in coordinates[1..].iter().zip(&sizes) {
            let below = self.ranges.form(x).minus(&self.ranges.form(size)).and_then(|form| form.shifted(1));
            (self.ranges.is_at_most(&Operand::Integer(0), x) && self.ranges.is_not_positive(below)).then_some(())?;
        }
        let mut offsets = Vec::new();
        for (k, x) in coordinates.iter().enumerate() {
            let x = self.chosen_polynomial(x, chosen);
            offsets.push(self.offset_of(&x, nest, k)?);
        }
        Some(At::Offset(offsets, sizes))
    }

    fn chosen_polynomial(&self, x: &Operand, chosen: &FxHashMap<Local, Operand>) -> Polynomial {
        let mut polynomial = self.places.polynomial(x);
        loop {
            let choice = locals(&polynomial).find_map(|x| Some((x, chosen.get(&x)?)));
            let Some((x, arm)) = choice else { return polynomial };
            polynomial = self.places.with(&polynomial, x, &self.places.polynomial(arm));
        }
    }

    /// Returns how far an index is from that of a dimension, which may be known to be the first or the last one.
    fn offset_of(&mut self, x: &Polynomial, nest: &Nest, k: usize) -> Option<Polynomial> {
        let (index, size) = (Operand::Local(nest.indices[k]), &nest.sizes[k]);
        let is_fixed = |offset: &Polynomial| locals(offset).all(|x| !nest.set.contains(&x));
        let offset = x.minus(&self.places.polynomial(&index));
        if is_fixed(&offset) {
            return Some(offset);
        }
        is_fixed(x).then_some(())?;
        if self.ranges.is_at_most(&index, &Operand::Integer(0)) {
            return Some(x.clone());
        }
        let after = self.ranges.form(size).minus(&self.ranges.form(&index)).and_then(|form| form.shifted(-1));
        self.ranges.is_not_positive(after).then(|| x.minus(&self.places.polynomial(size).shifted(-1)))
    }

    /// Returns what a nest adds to a buffer, if all of it can be gathered and some of it should be.
    fn gathered_buffer<'a>(
        &self,
        stmt: &Stmt,
        buffer: Local,
        additions: &[&'a Addition],
        nest: &Nest,
        there: &FxHashMap<Local, Local>,
    ) -> Option<Gathered<'a>> {
        (!nest.set.contains(&buffer) && self.only_adds(stmt, buffer)).then_some(())?;
        let mut terms = Vec::new();
        let mut rows: Option<&[Operand]> = None;
        for addition in additions {
            let At::Offset(offsets, sizes) = addition.at.as_ref()? else { continue };
            let is_same = rows.is_none_or(|rows| rows.iter().zip(sizes).all(|(a, b)| a.same(b)));
            let is_known = addition.conditions.iter().all(|(condition, _)| nest.is_made_of_indices(condition));
            (is_same && is_known).then_some(())?;
            rows = Some(sizes);
            terms.push((&offsets[..], *addition));
        }
        let distinct: FxHashSet<&[Polynomial]> = terms.iter().map(|(offsets, _)| *offsets).collect();
        let has_own = terms.len() < additions.len();
        let is_kept = |x: &Local| nest.set.contains(x) && !there.contains_key(x);
        let values = terms.iter().filter_map(|(_, addition)| addition.value.local()).filter(is_kept);
        let is_cheap = values.collect::<FxHashSet<Local>>().len() <= MOST_VALUES && terms.len() <= MOST_TERMS;
        (is_cheap && distinct.len() + usize::from(has_own) > 1).then_some(())?;
        let rows = rows?;
        let first = self.extents.rows(buffer, rows)?;
        Some(Gathered { buffer, sizes: [&[first], rows].concat(), terms })
    }

    /// Returns whether a nest does nothing but adding to a buffer, under this name.
    fn only_adds(&self, stmt: &Stmt, b: Local) -> bool {
        let mut only_adds = true;
        let mut see = |stmt: &Stmt| {
            only_adds &= match stmt {
                Stmt::Memory(Memory::Add(a, ..)) if a.local() == Some(b) => true,
                Stmt::Memory(Memory::Load(_, a, _)) => a.local().is_none_or(|a| !self.aliases.may_share(a, b)),
                stmt => !self.aliases.changes(stmt, b, self.summaries),
            };
        };
        stmt.blocks().for_each(|block| block.visit(&mut see));
        only_adds
    }

    /// Returns the two nests; `there` has values that are in buffers already.
    fn rewritten(
        &mut self,
        stmt: &Stmt,
        nest: &Nest,
        buffers: &[Gathered],
        there: FxHashMap<Local, Local>,
    ) -> Vec<Stmt> {
        let mut build = Builder { locals: self.locals };
        let mut out = Vec::new();
        let mark = build.local(Scalar::Mark.ty());
        out.push(Stmt::Memory(Memory::Mark(mark)));
        let sizes: Vec<Operand> = nest.sizes.iter().map(|n| build.times(n, &mut out)).collect();
        let count = build.product(&sizes, &mut out);
        // Values from outside of the nest need no table.
        let mut tables = there.clone();
        let values = buffers.iter().flat_map(|gathered| &gathered.terms).map(|(_, addition)| &addition.value);
        for value in values {
            if let Some(x) = value.local().filter(|x| nest.set.contains(x) && !tables.contains_key(x)) {
                let buffer = build.local(value.ty(build.locals).buffer());
                let (count, span) = (count.clone(), Span::default());
                out.push(Stmt::Memory(Memory::Alloc { buffer, count, span }));
                tables.insert(x, buffer);
            }
        }
        let mut changed = stmt.clone();
        let innermost = nest.innermost_mut(&mut changed);
        let mut inside = FxHashSet::default();
        innermost.stmts.iter().flat_map(Stmt::blocks).for_each(|arm| {
            arm.visit(&mut |stmt| inside.extend(stmt.targets()));
        });
        let mut own = Vec::new();
        let place = build.place(&nest.indices, &nest.sizes, &mut own);
        let filled: FxHashMap<Local, Local> =
            tables.iter().filter(|(x, _)| !there.contains_key(x)).map(|(x, table)| (*x, *table)).collect();
        Storing { buffers, tables: filled, inside, place }.store_values(innermost, own);
        out.push(changed);
        buffers.iter().for_each(|gathered| self.gather(gathered, nest, &tables, &mut out));
        out.push(Stmt::Memory(Memory::Release(mark.into())));
        out
    }

    /// The nest in which each element takes its terms.
    fn gather(&mut self, gathered: &Gathered, nest: &Nest, tables: &FxHashMap<Local, Local>, out: &mut Vec<Stmt>) {
        let mut build = Builder { locals: self.locals };
        let indices: Vec<Local> = gathered.sizes.iter().map(|_| build.local(Scalar::Integer.ty())).collect();
        let mut body = Vec::new();
        // The iterations that terms are from, a dimension each.
        let mut from: Vec<(usize, &Polynomial, Operand)> = Vec::new();
        for (offsets, _) in &gathered.terms {
            for (k, offset) in offsets.iter().enumerate() {
                if from.iter().any(|(l, known, _)| *l == k && *known == offset) {
                    continue;
                }
                let q = Operand::Local(indices[k]);
                let p = match offset.as_constant() {
                    Some(0) => q,
                    Some(by) => build.op(Op::AddI, [q, Operand::Integer(-by)], &mut body),
                    None => {
                        let by = compute(offset, &mut build, out);
                        build.op(Op::SubI, [q, by], &mut body)
                    }
                };
                from.push((k, offset, p));
            }
        }
        let mark = self.ranges.mark();
        self.ranges.know(self.locals);
        for (index, size) in indices.iter().zip(&gathered.sizes) {
            self.ranges.enter(&Stmt::loop_over(*index, [Operand::Integer(0), size.clone()], vec![]), 0);
        }
        body.iter().for_each(|stmt| self.ranges.learn_from(stmt));
        let mut sum: Option<Operand> = None;
        for (offsets, addition) in &gathered.terms {
            let p = |(k, offset): (usize, &Polynomial)| {
                let found = from.iter().find(|(l, known, _)| *l == k && *known == offset);
                found.expect("each offset has an index").2.clone()
            };
            let at: Vec<Operand> = offsets.iter().enumerate().map(p).collect();
            let Some(term) = self.term(addition, &at, nest, tables, &mut body) else { continue };
            sum = Some(match sum {
                None => term,
                Some(sum) => Builder { locals: self.locals }.op(Op::AddF, [sum, term], &mut body),
            });
        }
        self.ranges.back_to(mark);
        let Some(sum) = sum else { return };
        let mut build = Builder { locals: self.locals };
        let place = build.place(&indices, &gathered.sizes, &mut body);
        body.push(Stmt::Memory(Memory::Add(gathered.buffer.into(), place, sum)));
        for (index, size) in indices.into_iter().zip(&gathered.sizes).rev() {
            body = vec![Stmt::loop_over(index, [Operand::Integer(0), size.clone()], body)];
        }
        out.append(&mut body);
    }

    /// Returns what an element takes from an iteration: 0 where there is no such iteration, or it adds nothing. None where
    /// that is known.
    fn term(
        &mut self,
        addition: &Addition,
        at: &[Operand],
        nest: &Nest,
        tables: &FxHashMap<Local, Local>,
        out: &mut Vec<Stmt>,
    ) -> Option<Operand> {
        let mark = self.ranges.mark();
        let mut opened = Opened { around: vec![], stmts: vec![] };
        let mut is_known_not_to = false;
        for (p, size) in at.iter().zip(&nest.sizes) {
            for args in [(Op::LeI, [Operand::Integer(0), p.clone()]), (Op::LtI, [p.clone(), size.clone()])] {
                let condition = Builder { locals: self.locals }.op(args.0, args.1, &mut opened.stmts);
                is_known_not_to |= !self.ask(condition, true, 1, &mut opened);
            }
        }
        let known = nest.indices.iter().copied().zip(at.iter().cloned()).collect();
        let mut slice = Slice::new(nest, known);
        for (condition, holds) in &addition.conditions {
            let count = opened.stmts.len();
            let condition = slice.value(condition, self.locals, &mut opened.stmts).expect("it depends on indices");
            let new = opened.stmts.len() - count;
            is_known_not_to |= !self.ask(condition, *holds, new, &mut opened);
        }
        self.ranges.back_to(mark);
        if is_known_not_to {
            return None;
        }
        let mut build = Builder { locals: self.locals };
        let ty = addition.value.ty(build.locals);
        let mut stmts = opened.stmts;
        let mut value = match addition.value.local().and_then(|x| tables.get(&x)) {
            None => addition.value.clone(),
            Some(table) => {
                let mut place = at[0].clone();
                for (p, size) in at.iter().zip(&nest.sizes).skip(1) {
                    let row = build.op(Op::MulI, [place, size.clone()], &mut stmts);
                    place = build.op(Op::AddI, [row, p.clone()], &mut stmts);
                }
                let x = build.local(ty);
                stmts.push(Stmt::Memory(Memory::Load(x, (*table).into(), place)));
                x.into()
            }
        };
        for (mut around, condition, holds) in opened.around.into_iter().rev() {
            let x = build.local(ty);
            let takes = Block { stmts, results: vec![value] };
            let zero = ty.zero().expect("what is added has a zero");
            let leaves = Block { stmts: vec![], results: vec![zero] };
            let [then, other] = if holds { [takes, leaves] } else { [leaves, takes] };
            around.push(Stmt::If(vec![x], condition, then, other));
            (stmts, value) = (around, x.into());
        }
        out.extend(stmts);
        Some(value)
    }

    /// Asks whether a condition holds, which the last statements compute, unless that is known. Returns false where it is
    /// known not to be as wanted.
    fn ask(&mut self, condition: Operand, holds: bool, new: usize, opened: &mut Opened) -> bool {
        self.ranges.know(self.locals);
        opened.stmts[opened.stmts.len() - new..].iter().for_each(|stmt| self.ranges.learn_from(stmt));
        match self.ranges.known(&condition) {
            Some(known) => known == holds,
            None => {
                self.ranges.learn(&condition, holds);
                opened.around.push((std::mem::take(&mut opened.stmts), condition, holds));
                true
            }
        }
    }
}

/// Conditionals that are open at a term, from outside.
struct Opened {
    /// What comes before each, its condition, and whether that holds.
    around: Vec<(Vec<Stmt>, Operand, bool)>,
    /// What comes in the innermost one.
    stmts: Vec<Stmt>,
}

/// Changes the nest that adds: it stores what is gathered.
struct Storing<'a> {
    buffers: &'a [Gathered<'a>],
    /// By value.
    tables: FxHashMap<Local, Local>,
    /// The values that are set in an arm of a conditional: they are stored there.
    inside: FxHashSet<Local>,
    /// The place of the iteration in tables.
    place: Operand,
}

impl Storing<'_> {
    /// Changes the innermost block; `own` computes the place of the iteration.
    fn store_values(&self, innermost: &mut Block, own: Vec<Stmt>) {
        self.replace_additions(innermost);
        innermost.stmts.splice(0..0, own);
        let outside = self.tables.keys().copied().filter(|x| !self.inside.contains(x));
        let mut values: Vec<Local> = outside.collect();
        values.sort();
        innermost.stmts.extend(values.into_iter().map(|x| self.store(x)));
    }

    fn store(&self, x: Local) -> Stmt {
        Stmt::Memory(Memory::Store(self.tables[&x].into(), self.place.clone(), x.into()))
    }

    fn replace_additions(&self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            match &stmt {
                Stmt::Memory(Memory::Add(b, place, value)) if self.is_gathered(b, place) => {
                    let inside = value.local().filter(|x| self.inside.contains(x) && self.tables.contains_key(x));
                    block.stmts.extend(inside.map(|x| self.store(x)));
                }
                _ => {
                    if let Stmt::If(..) = stmt {
                        stmt.blocks_mut().for_each(|inner| self.replace_additions(inner));
                    }
                    block.stmts.push(stmt);
                }
            }
        }
    }

    fn is_gathered(&self, b: &Operand, place: &Operand) -> bool {
        let of = self.buffers.iter().find(|gathered| b.local() == Some(gathered.buffer));
        of.is_some_and(|gathered| gathered.terms.iter().any(|(_, addition)| addition.place.same(place)))
    }
}

/// Returns whether there are two additions to one buffer.
fn adds_twice(body: &Block) -> bool {
    let (mut seen, mut found) = (FxHashSet::default(), false);
    body.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Add(Operand::Local(b), ..)) = stmt {
            found |= !seen.insert(*b);
        }
    });
    found
}

fn has_few_iterations(nest: &Nest) -> bool {
    let iterations = nest.sizes.iter().try_fold(1_i64, |product, size| match size {
        Operand::Integer(n) => product.checked_mul(*n),
        _ => None,
    });
    iterations.is_some_and(|n| n <= FEW)
}

/// Returns whether a statement adds to a buffer, but not in a loop.
fn adds(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Memory(Memory::Add(..)) => true,
        Stmt::If(..) => stmt.blocks().flat_map(|block| &block.stmts).any(adds),
        _ => false,
    }
}

/// Returns whether a statement adds to a buffer.
fn adds_within(stmt: &Stmt) -> bool {
    adds(stmt) || stmt.blocks().flat_map(|block| &block.stmts).any(adds_within)
}

/// Returns whether a nest only computes, asks, and works on elements.
fn is_simple(stmt: &Stmt) -> bool {
    let is_simple = |stmt: &Stmt| match stmt {
        Stmt::Let(..) | Stmt::If(..) | Stmt::Check { .. } => true,
        Stmt::For(looped) => !looped.on_threads,
        Stmt::Memory(Memory::Load(..) | Memory::Store(..) | Memory::Add(..)) => true,
        // Of what takes no memory.
        Stmt::Memory(Memory::Mark(_) | Memory::Release(_)) => true,
        Stmt::Memory(_) => false,
        Stmt::Call(..) | Stmt::External { .. } | Stmt::Bench { .. } | Stmt::Write(_) => false,
    };
    let mut all = true;
    stmt.blocks().for_each(|block| block.visit(&mut |stmt| all &= is_simple(stmt)));
    all
}
