//! Rewrites a block, given which tables become matrices.

use super::arms::in_one_loop;
use super::keeps::{Keep, keeps};
use super::plan::Plan;
use super::sink::sink_stores;
use crate::analyses::scopes::kept;
use crate::analyses::tables::{Computed, Size};
use crate::ir::{Block, Builder, For, Function, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt, Ty};
use lm::term::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// A matrix's sides, and how many elements it has.
pub(super) struct Shape {
    pub(super) rows: Operand,
    pub(super) size: Operand,
    pub(super) count: Operand,
}

pub(super) struct Flattener<'a> {
    pub(super) plan: &'a Plan,
    pub(super) locals: &'a mut Vec<LocalInfo>,
    pub(super) shapes: Vec<Shape>,
    sizes: Computed,
    /// The rows that are parts of matrices: which one, and from where on.
    rows: FxHashMap<Local, (Operand, Operand)>,
    /// The number in each buffer that goes.
    pub(super) numbers: FxHashMap<Local, Operand>,
    /// What numbers are that were loaded.
    known: FxHashMap<Local, Operand>,
    /// Where rows begin, as far as that is computed in this block or one around it.
    places: Vec<(usize, Operand, Operand)>,
    /// The indices of loops around from 0 on, and what they are below.
    inside: Vec<(Operand, Operand)>,
    /// The parameters that are copied.
    copied: FxHashMap<Local, Local>,
    span: Span,
}

/// Makes matrices of tables.
pub(super) fn flatten(plan: Plan, function: &mut Function, block: &mut Block) {
    sink_stores(block, &plan);
    let mut flattener = Flattener {
        plan: &plan,
        locals: &mut function.locals,
        shapes: vec![],
        sizes: Computed::default(),
        rows: FxHashMap::default(),
        numbers: FxHashMap::default(),
        known: FxHashMap::default(),
        places: vec![],
        inside: vec![],
        copied: FxHashMap::default(),
        span: function.span,
    };
    let mut stmts = vec![];
    flattener.begin(&mut stmts);
    flattener.change_types();
    flattener.rewrite(block);
    flattener.end(block);
    stmts.append(&mut block.stmts);
    block.stmts = stmts;
    let Flattener { known, rows, .. } = flattener;
    let counts = block.use_counts();
    drop_unused(block, &|x| rows.contains_key(&x) && !counts.contains_key(&x));
    block.change_operands(&mut |a| {
        while let Some(value) = a.local().and_then(|x| known.get(&x)) {
            *a = value.clone();
        }
    });
}

/// Drops the rows of matrices whose elements were taken from the matrices.
fn drop_unused(block: &mut Block, is_unused: &impl Fn(Local) -> bool) {
    block.stmts.retain(|stmt| !matches!(stmt, Stmt::Memory(Memory::View(x, ..)) if is_unused(*x)));
    block.stmts.iter_mut().for_each(|stmt| stmt.blocks_mut().for_each(|inner| drop_unused(inner, is_unused)));
}

impl Flattener<'_> {
    pub(super) fn builder(&mut self) -> Builder<'_> {
        Builder { locals: self.locals }
    }

    /// Computes the sides, and copies parameters.
    fn begin(&mut self, out: &mut Vec<Stmt>) {
        for (size, x) in &self.plan.before {
            self.sizes.note(size.clone(), (*x).into());
        }
        for [rows, size] in &self.plan.shapes {
            let [rows, size] = [rows, size].map(|size| self.compute(size, out));
            let count = self.builder().op(Op::Count, [rows.clone(), size.clone()], out);
            self.shapes.push(Shape { rows, size, count });
        }
        let mut params: Vec<(Local, usize)> = self.plan.params.iter().map(|(x, shape)| (*x, *shape)).collect();
        params.sort();
        for (x, shape) in params {
            let ty = self.ty(x).element().expect("a table has rows");
            let matrix = self.builder().local(ty);
            out.push(self.alloc(matrix, self.shapes[shape].count.clone()));
            let [k, row] = [Scalar::Integer.ty(), ty].map(|ty| self.builder().local(ty));
            let mut stmts = vec![Stmt::Memory(Memory::Load(row, x.into(), k.into()))];
            let place = self.place(shape, &k.into(), &mut stmts);
            self.places.clear();
            self.copy_row((matrix.into(), place), &row.into(), shape, &mut stmts);
            out.push(Stmt::loop_over(k, [Operand::Integer(0), self.shapes[shape].rows.clone()], stmts));
            self.copied.insert(x, matrix);
        }
        let mut numbers: Vec<(Local, Size)> =
            self.plan.numbers.iter().filter_map(|(x, n)| Some((*x, n.clone()?))).collect();
        numbers.sort_by_key(|(x, _)| *x);
        for (x, number) in numbers {
            let number = self.compute(&number, out);
            self.numbers.insert(x, number);
        }
        for (x, size) in &self.plan.computed {
            self.known.extend(self.sizes.known(size).map(|value| (*x, value.clone())));
        }
    }

    pub(super) fn compute(&mut self, size: &Size, out: &mut Vec<Stmt>) -> Operand {
        let given = |size: &Size| match size {
            Size::Known(x) => (*x).into(),
            size => panic!("{size:?} is not known at the start"),
        };
        let mut builder = Builder { locals: self.locals };
        self.sizes.operand(size, &given, &mut |op, args| builder.op(op, args, out))
    }

    pub(super) fn ty(&self, x: Local) -> Ty {
        self.locals[x.0 as usize].ty
    }

    fn change_types(&mut self) {
        for x in self.plan.matrices.keys().chain(&self.plan.outer) {
            let info = &mut self.locals[x.0 as usize];
            info.ty = info.ty.element().expect("a table has rows");
        }
    }

    pub(super) fn matrix(&self, a: &Operand) -> Option<usize> {
        self.plan.matrices.get(&a.local()?).copied()
    }

    fn is_number(&self, a: &Operand) -> bool {
        a.local().is_some_and(|x| self.plan.numbers.contains_key(&x))
    }

    pub(super) fn alloc(&self, buffer: Local, count: Operand) -> Stmt {
        Stmt::Memory(Memory::Alloc { buffer, count, span: self.span })
    }

    /// Where row k begins.
    pub(super) fn place(&mut self, shape: usize, k: &Operand, out: &mut Vec<Stmt>) -> Operand {
        if let Some((_, _, place)) = self.places.iter().find(|(s, other, _)| *s == shape && other.same(k)) {
            return place.clone();
        }
        let size = self.shapes[shape].size.clone();
        let place = self.builder().op(Op::MulI, [k.clone(), size], out);
        self.places.push((shape, k.clone(), place.clone()));
        place
    }

    /// Sets a local to a row of a matrix.
    fn row(&mut self, x: Local, (matrix, place): (Operand, Operand), out: &mut Vec<Stmt>) {
        out.push(Stmt::Memory(Memory::View(x, matrix.clone(), place.clone())));
        self.rows.insert(x, (matrix, place));
    }

    /// The element of a row, or of another buffer, as one of a buffer.
    fn element(&mut self, b: &Operand, i: &Operand, out: &mut Vec<Stmt>) -> (Operand, Operand) {
        match b.local().and_then(|x| self.rows.get(&x)).cloned() {
            Some((matrix, place)) => {
                let at = self.builder().op(Op::AddI, [place, i.clone()], out);
                (matrix, at)
            }
            None => (b.clone(), i.clone()),
        }
    }

    /// Stores what lies in another buffer in a row of a matrix.
    fn copy_row(&mut self, (to, place): (Operand, Operand), from: &Operand, shape: usize, out: &mut Vec<Stmt>) {
        let size = self.shapes[shape].size.clone();
        let ty = from.ty(self.locals).element().expect("a row is a buffer");
        let [e, x] = [Scalar::Integer.ty(), ty].map(|ty| self.builder().local(ty));
        let mut stmts = vec![];
        let to_at = self.builder().op(Op::AddI, [place.clone(), e.into()], &mut stmts);
        let own = from.local().and_then(|x| self.rows.get(&x)).cloned();
        let (source, at) = match &own {
            Some((matrix, own)) if own.same(&place) => (matrix.clone(), to_at.clone()),
            _ => self.element(from, &e.into(), &mut stmts),
        };
        stmts.push(Stmt::Memory(Memory::Load(x, source, at)));
        stmts.push(Stmt::Memory(Memory::Store(to, to_at, x.into())));
        out.push(Stmt::loop_over(e, [Operand::Integer(0), size], stmts));
    }

    fn rewrite(&mut self, block: &mut Block) {
        let keeps = keeps(block).expect("the ends of scopes are understood");
        let direct = self.direct_rows(block);
        let stmts = std::mem::take(&mut block.stmts);
        let known_places = self.places.len();
        let mut out = Vec::with_capacity(stmts.len());
        for (i, stmt) in stmts.into_iter().enumerate() {
            match keeps.iter().find(|keep| keep.range[0] <= i && i < keep.range[1]).filter(|keep| self.concerns(keep)) {
                Some(keep) if keep.range[0] == i => self.keep(keep, &mut out),
                Some(_) => {}
                None => self.rewrite_stmt(stmt, &direct, &mut out),
            }
        }
        block.stmts = out;
        self.places.truncate(known_places);
    }

    /// What becomes a matrix is given the copy of a parameter.
    fn give(&self, x: Local, a: &mut Operand) {
        let is_flat = self.plan.matrices.contains_key(&x) || self.plan.outer.contains(&x);
        if is_flat && let Some(copy) = a.local().and_then(|x| self.copied.get(&x)) {
            *a = (*copy).into();
        }
    }

    fn concerns(&self, keep: &Keep) -> bool {
        keep.kept.iter().any(|kept| self.matrix(&kept.to.into()).is_some() || self.is_number(&kept.to.into()))
    }

    fn keep(&mut self, keep: &Keep, out: &mut Vec<Stmt>) {
        let mut kept = vec![];
        for buffer in &keep.kept {
            let to: Operand = buffer.to.into();
            if self.is_number(&to) {
                continue;
            }
            let matrix = self.matrix(&to).map(|shape| self.shapes[shape].count.clone());
            let copied = self.copied.get(&buffer.from).filter(|_| matrix.is_some());
            let count = matrix.or(buffer.count.clone()).expect("it is known how many elements there are");
            kept.push((copied.copied().unwrap_or(buffer.from), buffer.to, count));
        }
        let span = self.span;
        keep.emit(&kept, &mut Builder { locals: self.locals }, span, out);
    }

    /// Returns whether a number is that of a row, without a check: the index of a loop over all rows, or a constant.
    fn is_row_of(&self, table: Local, k: &Operand) -> bool {
        let Some(shape) = self.plan.matrices.get(&table) else { return false };
        let rows = &self.shapes[*shape].rows;
        match (k, rows) {
            (Operand::Integer(k), Operand::Integer(n)) => 0 <= *k && k < n,
            _ => self.inside.iter().any(|(i, n)| i.same(k) && n.same(rows)),
        }
    }

    /// Returns the rows that are made to be put into a table by the same block: they may lie there from the start. A scope
    /// may end before a row is put there; it stays where it is then.
    fn direct_rows(&mut self, block: &Block) -> FxHashMap<Local, (Operand, Operand)> {
        let mut made: FxHashSet<Local> = FxHashSet::default();
        let mut kept_rows: FxHashMap<Local, Local> = FxHashMap::default();
        let mut set: FxHashMap<Local, usize> = FxHashMap::default();
        let mut direct = FxHashMap::default();
        for (i, stmt) in block.stmts.iter().enumerate() {
            set.extend(stmt.targets().into_iter().map(|x| (x, i)));
            match stmt {
                Stmt::Memory(Memory::Alloc { buffer, .. }) => drop(made.insert(*buffer)),
                Stmt::If(..) => kept_rows.extend(kept(stmt).map(|kept| (kept.result, kept.buffer))),
                Stmt::Memory(Memory::Store(Operand::Local(table), k, Operand::Local(stored))) => {
                    let row = kept_rows.get(stored).unwrap_or(stored);
                    let is_own = self.plan.matrices.contains_key(table) && self.plan.made.contains(table);
                    if !is_own || !made.contains(row) || direct.contains_key(row) {
                        continue;
                    }
                    let first = set[row];
                    let is_set = |x: Local| set.get(&x).is_none_or(|i| *i < first);
                    let others = block.stmts.iter().enumerate().skip(first).filter(|(j, _)| *j != i);
                    if is_set(*table)
                        && self.is_row_of(*table, k)
                        && !others.clone().any(|(_, stmt)| stmt.mentions(*table))
                    {
                        if stored != row {
                            self.known.insert(*stored, (*row).into());
                        }
                        direct.insert(*row, ((*table).into(), k.clone()));
                    }
                }
                _ => {}
            }
        }
        direct
    }

    fn rewrite_stmt(&mut self, mut stmt: Stmt, direct: &FxHashMap<Local, (Operand, Operand)>, out: &mut Vec<Stmt>) {
        stmt.operands_mut().into_iter().for_each(|a| *a = self.resolved(a));
        match &mut stmt {
            Stmt::For(_) => return self.rewrite_loop(stmt, out),
            Stmt::If(xs, ..) if xs.len() == 1 && self.known.contains_key(&xs[0]) => return,
            Stmt::If(xs, _, then, other) => {
                for arm in [&mut *then, &mut *other] {
                    self.rewrite(arm);
                    xs.iter().zip(&mut arm.results).for_each(|(x, a)| self.give(*x, a));
                }
                let stays: Vec<bool> = xs.iter().map(|x| !self.is_number(&(*x).into())).collect();
                retain(xs, &stays);
                retain(&mut then.results, &stays);
                retain(&mut other.results, &stays);
                let works_on_matrices = [&*then, &*other].into_iter().all(|arm| {
                    let mut works = false;
                    arm.visit_operands(&mut |a| works |= self.matrix(a).is_some());
                    works
                });
                if works_on_matrices && let Some(stmts) = in_one_loop(&stmt, &mut self.builder()) {
                    return out.extend(stmts);
                }
            }
            Stmt::Let(x, ..) if self.known.contains_key(x) => return,
            Stmt::Let(x, Op::Below, args) if self.inside.iter().any(|(i, n)| args[0].same(i) && args[1].same(n)) => {
                self.known.insert(*x, Operand::Bool(true));
                return;
            }
            Stmt::Let(x, Op::EqI, args) if args[0].same(&args[1]) => {
                self.known.insert(*x, Operand::Bool(true));
                return;
            }
            Stmt::Check { condition: Operand::Bool(true), .. } => return,
            Stmt::Memory(memory) => match self.rewrite_memory(memory.clone(), direct, out) {
                Some(changed) => *memory = changed,
                None => return,
            },
            _ => {}
        }
        out.push(stmt);
    }

    fn rewrite_loop(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) {
        let Stmt::For(mut looped) = stmt else { panic!("it is a loop") };
        let For { results, carried, body, from, to, index, .. } = &mut *looped;
        let is_natural = matches!(from, Operand::Integer(0));
        self.inside.extend(is_natural.then(|| ((*index).into(), to.clone())));
        self.rewrite(body);
        self.inside.truncate(self.inside.len() - usize::from(is_natural));
        for ((x, init), next) in carried.iter_mut().zip(&mut body.results) {
            self.give(*x, init);
            self.give(*x, next);
        }
        let stays: Vec<bool> = carried.iter().map(|(x, _)| !self.is_number(&(*x).into())).collect();
        retain(results, &stays);
        retain(carried, &stays);
        retain(&mut body.results, &stays);
        match self.for_all_rows(&looped) {
            Some(stmt) => out.push(stmt),
            None if looped.body.stmts.is_empty() && looped.carried.is_empty() => {}
            None => out.push(Stmt::For(looped)),
        }
    }

    fn resolved(&self, a: &Operand) -> Operand {
        let mut a = a.clone();
        while let Some(value) = a.local().and_then(|x| self.known.get(&x)) {
            a = value.clone();
        }
        a
    }

    /// Returns what is left of a statement, if not all is emitted.
    fn rewrite_memory(
        &mut self,
        memory: Memory,
        direct: &FxHashMap<Local, (Operand, Operand)>,
        out: &mut Vec<Stmt>,
    ) -> Option<Memory> {
        match memory {
            Memory::Alloc { buffer, count, span } => {
                let table: Operand = buffer.into();
                if self.is_number(&table) {
                    return None;
                }
                if let Some((matrix, k)) = direct.get(&buffer) {
                    let shape = self.matrix(matrix).expect("a row is of a matrix");
                    let place = self.place(shape, k, out);
                    self.row(buffer, (matrix.clone(), place), out);
                    return None;
                }
                let count = self.matrix(&table).map_or(count, |shape| self.shapes[shape].count.clone());
                Some(Memory::Alloc { buffer, count, span })
            }
            Memory::Load(x, b, i) => {
                if self.is_number(&x.into()) {
                    return None;
                }
                if self.is_number(&b) {
                    let number = self.numbers[&b.local().expect("a buffer is a local")].clone();
                    self.known.insert(x, number);
                    return None;
                }
                if let Some(shape) = self.matrix(&b) {
                    let place = self.place(shape, &i, out);
                    self.row(x, (b, place), out);
                    return None;
                }
                let (b, i) = self.element(&b, &i, out);
                Some(Memory::Load(x, b, i))
            }
            Memory::Store(b, i, mut a) => {
                if self.is_number(&b) {
                    return None;
                }
                if let Some(shape) = self.matrix(&b) {
                    let is_direct = a.local().and_then(|row| direct.get(&row));
                    if !is_direct.is_some_and(|(matrix, k)| matrix.same(&b) && k.same(&i)) {
                        let place = self.place(shape, &i, out);
                        self.copy_row((b, place), &a, shape, out);
                    }
                    return None;
                }
                self.give(b.local().expect("a buffer is a local"), &mut a);
                let (b, i) = self.element(&b, &i, out);
                Some(Memory::Store(b, i, a))
            }
            Memory::Add(b, i, a) => {
                let (b, i) = self.element(&b, &i, out);
                Some(Memory::Add(b, i, a))
            }
            Memory::Zero(b, n) => {
                let Some((matrix, place)) = b.local().and_then(|x| self.rows.get(&x)).cloned() else {
                    return (!self.is_number(&b)).then_some(Memory::Zero(b, n));
                };
                let e = self.builder().local(Scalar::Integer.ty());
                let zero = b.ty(self.locals).element().and_then(Ty::zero).expect("what is zero are numbers");
                let mut stmts = vec![];
                let at = self.builder().op(Op::AddI, [place.clone(), e.into()], &mut stmts);
                stmts.push(Stmt::Memory(Memory::Store(matrix.clone(), at, zero)));
                out.push(Stmt::loop_over(e, [Operand::Integer(0), n.clone()], stmts));
                None
            }
            Memory::Move { to, from, count } => {
                if self.is_number(&to) {
                    return None;
                }
                let is_row = |a: &Operand| a.local().is_some_and(|x| self.rows.contains_key(&x));
                if is_row(&to) || is_row(&from) {
                    self.move_elements(&to, &from, count, out);
                    return None;
                }
                let count = match self.matrix(&to) {
                    Some(shape) if count.same(&self.shapes[shape].rows) => self.shapes[shape].count.clone(),
                    Some(shape) => {
                        let size = self.shapes[shape].size.clone();
                        self.builder().op(Op::Count, [count, size], out)
                    }
                    None => count,
                };
                Some(Memory::Move { to, from, count })
            }
            Memory::Slid { target, .. } if self.is_number(&target.into()) => None,
            Memory::Above(x, b, _) | Memory::Before(x, b, _) if self.is_number(&b) => {
                panic!("{x:?}: a question about a table of one number")
            }
            memory => Some(memory),
        }
    }

    /// Moves elements one by one, to a row or from one. The two are not the same memory.
    fn move_elements(&mut self, to: &Operand, from: &Operand, count: Operand, out: &mut Vec<Stmt>) {
        let ty = from.ty(self.locals).element().expect("what is moved is in a buffer");
        let [e, x] = [Scalar::Integer.ty(), ty].map(|ty| self.builder().local(ty));
        let mut stmts = vec![];
        let (b, i) = self.element(from, &e.into(), &mut stmts);
        stmts.push(Stmt::Memory(Memory::Load(x, b, i)));
        let (b, i) = self.element(to, &e.into(), &mut stmts);
        stmts.push(Stmt::Memory(Memory::Store(b, i, x.into())));
        out.push(Stmt::loop_over(e, [Operand::Integer(0), count], stmts));
    }
}

fn retain<T>(all: &mut Vec<T>, stays: &[bool]) {
    let mut stays = stays.iter();
    all.retain(|_| *stays.next().expect("there is an answer for each"));
}
