//! Finds the elements that a statement adds to, each once, and makes the additions stores.
//!
//! ```text
//! add b[i m + j] += x                                [i m + j, i m + j + 1)
//! for j in 0..m { add b[i m + j] += x }              [i m, (i + 1) m)
//! for i in 0..n { .. }                               [0, n m)
//! if c { add b[i] += x } else { }                    [i, i + 1), where the other arm stores 0
//! s; t                                               [k, m), of s with [k, l) and t with [l, m)
//! for i in 0..n { r = load b[i]; .. r .. }           rows [0, n), where the rest covers r
//! ```

use crate::analyses::alias::Aliases;
use crate::analyses::effects::{Access, Callees, StmtEffects};
use crate::analyses::places::{Places, locals};
use crate::analyses::ranges::Ranges;
use crate::ir::{Block, Builder, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use lm::sizes::Polynomial;
use rustc_hash::{FxHashMap, FxHashSet};

/// What is zero before the statements.
pub(super) enum Zeros {
    /// The first elements of a buffer.
    Elements(Local),
    /// The rows of a table, of one length, each made as `row`.
    Rows { table: Local, row: Local, length: Operand },
}

/// Elements, or whole rows, one after the other: what comes first to each of them is one addition.
pub(super) struct Covered {
    /// The row of the elements, if they are in rows.
    row: Option<Polynomial>,
    /// Whether these are whole rows.
    pub(super) is_of_rows: bool,
    pub(super) from: Polynomial,
    pub(super) to: Polynomial,
    /// The end, if an operand has it.
    pub(super) end: Option<Operand>,
    /// Whether conditions decide where something is added: they may keep to the elements that there are.
    pub(super) is_chosen: bool,
    /// The buffer and the place of what is a single element.
    element: Option<[Operand; 2]>,
}

/// Makes additions stores.
pub(super) struct Coverer<'a> {
    pub(super) aliases: &'a Aliases,
    pub(super) callees: Callees<'a>,
    pub(super) places: &'a Places,
    /// The rows that are loaded: the table, and the place in it.
    pub(super) rows: &'a FxHashMap<Local, (Local, Operand)>,
    pub(super) ranges: &'a mut Ranges,
    pub(super) locals: &'a mut Vec<LocalInfo>,
}

impl Zeros {
    /// Returns a buffer that shares what is zero.
    fn buffer(&self) -> Local {
        match self {
            Zeros::Elements(buffer) => *buffer,
            Zeros::Rows { row, .. } => *row,
        }
    }
}

impl Coverer<'_> {
    /// Returns whether a statement reads or writes what is zero, or puts other rows into the table.
    pub(super) fn touches(&self, stmt: &Stmt, zeros: &Zeros) -> bool {
        let access = |buffer, writes| Access { buffer, at: None, writes, deep: false };
        let mut own = vec![access(zeros.buffer(), true)];
        if let Zeros::Rows { table, .. } = zeros {
            own.push(access(*table, false));
        }
        let effects = StmtEffects::of(stmt, self.aliases, self.callees);
        effects.accesses.iter().any(|a| own.iter().any(|own| a.meets(own, self.aliases)))
    }

    /// Returns what a statement covers, and puts it behind others with stores in the place of additions.
    pub(super) fn cover(&mut self, stmt: Stmt, zeros: &Zeros, out: &mut Vec<Stmt>) -> Option<Covered> {
        match stmt {
            Stmt::Memory(Memory::Add(b, i, a)) => {
                let covered = self.covered_by_addition(&b, &i, zeros)?;
                let ty = a.ty(self.locals);
                let op = if ty == Scalar::Float.ty() { Op::AddF } else { Op::AddI };
                let zero = ty.zero()?;
                let sum = Builder { locals: self.locals }.op(op, [zero, a], out);
                out.push(Stmt::Memory(Memory::Store(b, i, sum)));
                Some(covered)
            }
            mut stmt @ Stmt::If(..) => {
                let covered = self.cover_choice(&mut stmt, zeros)?;
                out.push(stmt);
                Some(covered)
            }
            mut stmt @ Stmt::For(_) => {
                let mark = self.ranges.mark();
                let covered = self.cover_loop(&mut stmt, zeros);
                self.ranges.back_to(mark);
                out.push(stmt);
                covered
            }
            _ => None,
        }
    }

    fn covered_by_addition(&self, b: &Operand, i: &Operand, zeros: &Zeros) -> Option<Covered> {
        let from = self.places.polynomial(i);
        let to = from.shifted(1);
        let row = match zeros {
            Zeros::Elements(buffer) => (b.local() == Some(*buffer)).then_some(None)?,
            Zeros::Rows { table, .. } => {
                let (_, place) = self.rows.get(&b.local()?).filter(|(from, _)| from == table)?;
                Some(self.places.polynomial(place))
            }
        };
        Some(Covered {
            row,
            is_of_rows: false,
            from,
            to,
            end: None,
            is_chosen: false,
            element: Some([b.clone(), i.clone()]),
        })
    }

    /// One arm adds to an element, and the other one leaves it zero.
    fn cover_choice(&mut self, stmt: &mut Stmt, zeros: &Zeros) -> Option<Covered> {
        let Zeros::Elements(_) = zeros else { return None };
        let touched: Vec<bool> =
            stmt.blocks().map(|arm| arm.stmts.iter().any(|stmt| self.touches(stmt, zeros))).collect();
        let adds = touched.iter().position(|touched| *touched).filter(|i| !touched[1 - i])?;
        let set: FxHashSet<Local> = stmt.blocks().flat_map(|arm| &arm.stmts).flat_map(Stmt::targets).collect();
        let mark = self.ranges.mark();
        self.ranges.enter(stmt, adds);
        let covered = self.cover_block(stmt.block_mut(adds), zeros);
        self.ranges.back_to(mark);
        let covered = covered?;
        let [buffer, place] = covered.element.clone()?;
        if place.local().is_some_and(|x| set.contains(&x)) {
            return None;
        }
        let zero = buffer.ty(self.locals).element()?.zero()?;
        let store = Memory::Store(buffer, place, zero);
        stmt.block_mut(1 - adds).stmts.insert(0, Stmt::Memory(store));
        Some(Covered { is_chosen: true, ..covered })
    }

    fn cover_loop(&mut self, stmt: &mut Stmt, zeros: &Zeros) -> Option<Covered> {
        let Stmt::For(looped) = &*stmt else { return None };
        let (index, limits) = (looped.index, [looped.from.clone(), looped.to.clone()]);
        if !self.ranges.is_at_most(&limits[0], &limits[1]) {
            return None;
        }
        let places = self.places;
        let [from, to] = limits.each_ref().map(|a| places.polynomial(a));
        self.ranges.enter(stmt, 0);
        let inner = self.cover_block(stmt.block_mut(0), zeros)?;
        if inner.locals().any(|x| sets(stmt.block_mut(0), x)) {
            return None;
        }
        let next = |place: &Polynomial| places.with(place, index, &places.local(index).shifted(1));
        let ends = |place: &Polynomial| [&from, &to].map(|end| places.with(place, index, end));
        let row = inner.row.as_ref().filter(|row| locals(row).any(|x| x == index));
        if let (Some(row), Zeros::Rows { length, .. }) = (row, zeros) {
            let is_whole = inner.from == Polynomial::default() && inner.to == places.polynomial(length);
            let [from, to] = ends(row);
            let covered = Covered { row: None, is_of_rows: true, from, to, end: None, element: None, ..inner };
            return (is_whole && next(row) == row.shifted(1)).then_some(covered);
        }
        let end = (inner.from == places.local(index)).then(|| limits[1].clone());
        let [from, to] = ends(&inner.from);
        let goes_on = next(&inner.from) == inner.to;
        goes_on.then_some(Covered { from, to, end, element: None, ..inner })
    }

    /// Returns what a block covers. What comes after that in the block goes to the next elements, or to the same one.
    fn cover_block(&mut self, block: &mut Block, zeros: &Zeros) -> Option<Covered> {
        let mut all: Option<Covered> = None;
        let mut out = Vec::with_capacity(block.stmts.len());
        for stmt in std::mem::take(&mut block.stmts) {
            self.ranges.learn_from(&stmt);
            let element = all.as_ref().and_then(|all| all.element.as_ref());
            if !self.touches(&stmt, zeros) || element.is_some_and(|element| goes_to(&stmt, element)) {
                out.push(stmt);
                continue;
            }
            let next = self.cover(stmt, zeros, &mut out)?;
            all = match all {
                None => Some(next),
                Some(all) => Some(all.and(next)?),
            };
        }
        block.stmts = out;
        all
    }
}

impl Covered {
    /// No elements or rows, from the first one on.
    pub(super) fn nothing(is_of_rows: bool) -> Covered {
        let [from, to] = [Polynomial::default(), Polynomial::default()];
        Covered { row: None, is_of_rows, from, to, end: None, is_chosen: false, element: None }
    }

    /// Returns the locals that say what is covered.
    fn locals(&self) -> impl Iterator<Item = Local> {
        [Some(&self.from), Some(&self.to), self.row.as_ref()].into_iter().flatten().flat_map(locals)
    }

    /// Returns what is covered with a statement that goes on where this ends.
    pub(super) fn and(&self, next: Covered) -> Option<Covered> {
        let goes_on = self.row == next.row && self.is_of_rows == next.is_of_rows && self.to == next.from;
        let is_chosen = self.is_chosen || next.is_chosen;
        goes_on.then(|| Covered { from: self.from.clone(), is_chosen, element: None, ..next })
    }
}

/// Returns whether a load, store or addition goes to this element.
fn goes_to(stmt: &Stmt, [buffer, place]: &[Operand; 2]) -> bool {
    match stmt {
        Stmt::Memory(Memory::Load(_, b, i) | Memory::Store(b, i, _) | Memory::Add(b, i, _)) => {
            b.same(buffer) && i.same(place)
        }
        _ => false,
    }
}

/// Returns whether a block, or one in it, sets a local: then it may be another one each time.
fn sets(block: &Block, x: Local) -> bool {
    let mut found = false;
    block.visit(&mut |stmt| found |= stmt.targets().contains(&x) || stmt.bound().contains(&x));
    found
}
