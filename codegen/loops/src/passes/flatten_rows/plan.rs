//! Decides which tables become matrices.

use super::keeps::{Keep, keeps};
use crate::analyses::tables::{ClassId, Size, Start, Tables, vectors_of_rows};
use crate::ir::{Block, Function, Local, Memory, Op, Operand, Scalar, Stmt, Ty};
use rustc_hash::{FxHashMap, FxHashSet};

/// What becomes of the buffers of a function.
pub(super) struct Plan {
    /// How many rows each matrix has, and of which size. Equal ones are one.
    pub(super) shapes: Vec<[Size; 2]>,
    /// The tables that become matrices, by the numbers of their shapes.
    pub(super) matrices: FxHashMap<Local, usize>,
    /// The parameters that are copied into matrices.
    pub(super) params: FxHashMap<Local, usize>,
    /// The tables that are allocated here.
    pub(super) made: FxHashSet<Local>,
    /// The tables of what become matrices.
    pub(super) outer: FxHashSet<Local>,
    /// The buffers that have one number throughout; they go. So do tables of them.
    pub(super) numbers: FxHashMap<Local, Option<Size>>,
    /// The sizes that are computed before the block.
    pub(super) before: Vec<(Size, Local)>,
    /// The sizes that are computed in it: those that the shapes have may be computed at its start.
    pub(super) computed: Vec<(Local, Size)>,
    /// How many elements the results have that are such buffers.
    pub(super) lengths: FxHashMap<Local, Size>,
}

impl Plan {
    /// Returns what there is to do in a block that comes after these statements; None if that is nothing.
    pub(super) fn of(function: &Function, before: &[Stmt], block: &Block) -> Option<Plan> {
        let start = start(function, before);
        let tables = Tables::of(function, before, block, &start);
        let is_table = |id: ClassId| {
            let ty = tables.class(id).members.first().map(|x| function.locals[x.0 as usize].ty);
            ty.and_then(Ty::element).and_then(Ty::element).is_some_and(|ty| ty.as_scalar().is_some())
        };
        let shape = |id: ClassId| match tables.matrix(id)? {
            [rows, sizes] if rows.len() == 1 && sizes.len() == 1 && is_natural(function, &sizes[0]) => {
                Some([rows[0].clone(), sizes[0].clone()])
            }
            _ => None,
        };
        let ids: Vec<ClassId> = tables.classes().into_iter().map(|(id, _)| id).collect();
        let shapes: FxHashMap<ClassId, [Size; 2]> = ids
            .iter()
            .filter(|id| is_table(**id) && !tables.class(**id).counts.is_empty())
            .filter_map(|id| Some((*id, shape(*id)?)))
            .collect();
        if !shapes.keys().any(|id| tables.class(*id).is_made_anew) {
            return None;
        }
        let mut uses = Uses { function, tables: &tables, block, flat: shapes, numbers: FxHashMap::default() };
        uses.find_numbers(&ids);
        uses.check()?;
        if !uses.flat.keys().any(|id| tables.class(*id).is_made_anew) {
            return None;
        }
        let mut plan = uses.plan(&ids);
        let lets = |stmts: &[Stmt]| -> Vec<(Local, Size)> {
            let targets = stmts.iter().filter(|stmt| matches!(stmt, Stmt::Let(..))).flat_map(Stmt::targets);
            targets.filter_map(|x| Some((x, tables.computed(x)?))).collect()
        };
        plan.before = lets(before).into_iter().map(|(x, size)| (size, x)).collect();
        block.visit(&mut |stmt| plan.computed.extend(lets(std::slice::from_ref(stmt))));
        Some(plan)
    }
}

/// Returns whether it is known before the checks of a program that rows can have the size. How many rows there are is
/// checked before the table is made.
fn is_natural(function: &Function, size: &Size) -> bool {
    match size {
        Size::Known(x) => function.locals[x.0 as usize].is_size,
        Size::Number(n) => *n >= 0,
        Size::OfRows(_) => true,
        Size::Made(Op::AddI, args) => args.iter().all(|arg| is_natural(function, arg)),
        Size::Made(..) => false,
    }
}

/// What is known where parameters are as they mostly are.
fn start(function: &Function, before: &[Stmt]) -> Start {
    let mut start = Start::of(function);
    start.locals.extend(before.iter().flat_map(Stmt::targets));
    let known = |a: &Operand| match a {
        Operand::Integer(n) => Some(Size::Number(*n)),
        a => a.local().map(Size::Known),
    };
    for rows in vectors_of_rows(function) {
        for row in &rows.rows {
            let size = function.row_sizes.iter().find(|(x, _)| x == row).and_then(|(_, size)| known(size));
            if let Some(size) = size {
                start.loads.insert(rows.sizes, size.clone());
                let count = start.lengths.get(row).cloned().unwrap_or(Size::Known(rows.count));
                start.tables.insert(*row, [count, size]);
            }
        }
    }
    start
}

/// Looks at how tables are used.
struct Uses<'a> {
    function: &'a Function,
    tables: &'a Tables<'a>,
    block: &'a Block,
    /// The tables that may become matrices.
    flat: FxHashMap<ClassId, [Size; 2]>,
    /// The buffers that may go, and the number in them; None for tables of such.
    numbers: FxHashMap<ClassId, Option<Size>>,
}

impl Uses<'_> {
    fn find_numbers(&mut self, ids: &[ClassId]) {
        for id in ids {
            let class = self.tables.class(*id);
            let is_integers = class.members.first().is_some_and(|x| {
                let ty = self.function.locals[x.0 as usize].ty;
                ty == Scalar::Integer.ty().buffer()
            });
            if is_integers
                && !class.counts.is_empty()
                && let Some(number) = self.tables.number_in(*id)
            {
                self.numbers.insert(*id, Some(number));
            }
        }
        // Tables of them.
        loop {
            let more: Vec<ClassId> = ids
                .iter()
                .filter(|id| !self.numbers.contains_key(id) && !self.tables.class(**id).is_opaque)
                .filter(|id| self.tables.class(**id).elements.is_some_and(|inner| self.numbers.contains_key(&inner)))
                .copied()
                .collect();
            if more.is_empty() {
                return;
            }
            more.iter().for_each(|id| drop(self.flat.remove(id)));
            self.numbers.extend(more.into_iter().map(|id| (id, None)));
        }
    }

    fn class(&self, a: &Operand) -> Option<ClassId> {
        self.tables.class_of(a)
    }

    fn drop(&mut self, id: Option<ClassId>) -> bool {
        let Some(id) = id else { return false };
        let is_flat = self.flat.remove(&id).is_some();
        self.numbers.remove(&id).is_some() || is_flat
    }

    /// Leaves out what is used in other ways than is understood; None if nothing is understood.
    fn check(&mut self) -> Option<()> {
        let mut writes = Writes::default();
        writes.see(self.block, 0);
        for table in writes.late() {
            let id = self.class(&table.into());
            self.drop(id);
        }
        while self.check_block(self.block)? | self.check_elements() {}
        Some(())
    }

    /// What is a table of such a class goes with it, and the other way round.
    fn check_elements(&mut self) -> bool {
        let mut changed = false;
        for (id, class) in self.tables.classes() {
            let Some(elements) = class.elements else { continue };
            // The table goes; what was in it has to go, too.
            if self.numbers.get(&id) == Some(&None) && !self.numbers.contains_key(&elements)
                || self.numbers.contains_key(&elements) && !self.numbers.contains_key(&id)
                || self.flat.contains_key(&elements) && class.is_opaque
            {
                changed |= self.drop(Some(id)) | self.drop(Some(elements));
            }
        }
        changed
    }

    /// Returns whether something was left out.
    fn check_block(&mut self, block: &Block) -> Option<bool> {
        let mut changed = false;
        let keeps = keeps(block)?;
        for keep in &keeps {
            changed |= self.check_keep(keep);
        }
        let is_kept = |i: usize| keeps.iter().any(|keep| keep.range[0] <= i && i < keep.range[1]);
        for stmt in block.stmts.iter().enumerate().filter(|(i, _)| !is_kept(*i)).map(|(_, stmt)| stmt) {
            changed |= self.check_stmt(stmt);
            for inner in stmt.blocks() {
                changed |= self.check_block(inner)?;
            }
        }
        if std::ptr::eq(block, self.block) {
            // A table of tables that is a result stays as it is.
            for a in &block.results {
                let outer = self.class(a).filter(|id| !self.flat.contains_key(id));
                let elements = outer.and_then(|id| self.tables.class(id).elements);
                changed |= self.drop(elements);
                let known = |id: &ClassId| self.numbers[id].is_some() && self.tables.length(*id).is_some();
                let unknown = outer.filter(|id| self.numbers.contains_key(id) && !known(id));
                changed |= self.drop(unknown);
            }
        }
        Some(changed)
    }

    fn check_keep(&mut self, keep: &Keep) -> bool {
        let is_done = |uses: &Self, x: Local| {
            let id = uses.class(&x.into());
            id.is_some_and(|id| uses.flat.contains_key(&id) || uses.numbers.contains_key(&id))
        };
        let is_scalars =
            |x: Local| self.function.locals[x.0 as usize].ty.element().is_some_and(|ty| ty.as_scalar().is_some());
        // What is in a table that is kept is copied with it, row by row.
        let mut inside: Vec<ClassId> = keep.kept.iter().filter_map(|kept| self.class(&kept.to.into())).collect();
        inside.retain(|id| !self.flat.contains_key(id) && !self.numbers.contains_key(id));
        let mut changed = false;
        while let Some(id) = inside.pop() {
            let Some(elements) = self.tables.class(id).elements else { continue };
            changed |= self.flat.remove(&elements).is_some();
            inside.push(elements);
        }
        if changed {
            return true;
        }
        // What is kept may be a parameter, which is in no class.
        let concerns = keep.kept.iter().any(|kept| is_done(self, kept.to));
        let suits = keep.kept.iter().all(|kept| is_done(self, kept.to) || is_scalars(kept.to) && kept.count.is_some());
        if !concerns || suits {
            return false;
        }
        let ids: Vec<Option<ClassId>> = keep.kept.iter().map(|kept| self.class(&kept.to.into())).collect();
        ids.into_iter().fold(false, |changed, id| self.drop(id) | changed)
    }

    fn check_stmt(&mut self, stmt: &Stmt) -> bool {
        let others: Vec<&Operand> = match stmt {
            Stmt::For(_) | Stmt::If(..) => vec![],
            Stmt::Memory(memory) => match memory {
                Memory::Alloc { .. } | Memory::Load(..) | Memory::Store(..) => vec![],
                // Numbers go without a look at what is moved; so does a table of them.
                Memory::Move { to, from, .. } => {
                    let is_number = self.class(to).is_some_and(|id| self.numbers.contains_key(&id));
                    let outer = [to, from].into_iter().filter(|a| {
                        self.class(a)
                            .and_then(|id| self.tables.class(id).elements)
                            .is_some_and(|inner| self.flat.contains_key(&inner))
                    });
                    if is_number { vec![] } else { outer.collect() }
                }
                Memory::Zero(b, _) => {
                    if self.class(b).is_some_and(|id| self.numbers.contains_key(&id)) {
                        vec![]
                    } else {
                        vec![b]
                    }
                }
                memory => memory.operands(),
            },
            stmt => stmt.operands(),
        };
        let mut changed = others.into_iter().fold(false, |changed, a| {
            let id = self.class(a);
            let elements = id.and_then(|id| self.tables.class(id).elements);
            self.drop(id) | self.drop(elements) | changed
        });
        // A parameter that is stored in a table of tables, or of numbers.
        if let Stmt::Memory(Memory::Move { to, from, .. }) = stmt
            && from.local().is_some_and(|x| self.function.params.contains(&x))
        {
            let id = self.class(to);
            changed |= self.drop(id);
        }
        changed
    }

    fn plan(self, ids: &[ClassId]) -> Plan {
        let mut plan = Plan {
            shapes: vec![],
            matrices: FxHashMap::default(),
            params: FxHashMap::default(),
            made: FxHashSet::default(),
            outer: FxHashSet::default(),
            numbers: FxHashMap::default(),
            before: vec![],
            computed: vec![],
            lengths: FxHashMap::default(),
        };
        let mut flat: Vec<(&ClassId, &[Size; 2])> = self.flat.iter().collect();
        flat.sort_by_key(|(id, _)| **id);
        for (id, shape) in flat {
            let number = plan.shapes.iter().position(|s| s == shape).unwrap_or_else(|| {
                plan.shapes.push(shape.clone());
                plan.shapes.len() - 1
            });
            let class = self.tables.class(*id);
            plan.matrices.extend(class.members.iter().map(|x| (*x, number)));
            plan.params.extend(class.params.iter().map(|x| (*x, number)));
        }
        self.block.visit(&mut |stmt| {
            if let Stmt::Memory(Memory::Alloc { buffer, .. }) = stmt {
                plan.made.insert(*buffer);
            }
        });
        // The tables around them, however deep.
        let mut inner: FxHashSet<ClassId> = self.flat.keys().copied().collect();
        loop {
            let is_outer = |id: &&ClassId| {
                !inner.contains(id)
                    && self.tables.class(**id).elements.is_some_and(|elements| inner.contains(&elements))
            };
            let outer: Vec<ClassId> = ids.iter().filter(is_outer).copied().collect();
            if outer.is_empty() {
                break;
            }
            for id in outer {
                plan.outer.extend(&self.tables.class(id).members);
                inner.insert(id);
            }
        }
        for (id, number) in &self.numbers {
            let members = &self.tables.class(*id).members;
            plan.numbers.extend(members.iter().map(|x| (*x, number.clone())));
            let length = self.tables.length(*id);
            plan.lengths.extend(length.iter().flat_map(|n| members.iter().map(|x| (*x, n.clone()))));
        }
        plan
    }
}

/// Looks at when rows are put into tables, and when they are written.
#[derive(Default)]
struct Writes {
    /// In how many loops a local is set.
    set: FxHashMap<Local, usize>,
    /// Which statement puts a row into which table, and in how many loops.
    stored: Vec<(Local, Local, usize, usize)>,
    /// Which statement writes to a buffer, and in how many loops.
    written: FxHashMap<Local, Vec<(usize, usize)>>,
    count: usize,
}

impl Writes {
    fn see(&mut self, block: &Block, depth: usize) {
        for stmt in &block.stmts {
            self.count += 1;
            self.set.extend(stmt.targets().into_iter().map(|x| (x, depth)));
            if let Stmt::Memory(memory) = stmt {
                if let Memory::Store(Operand::Local(t), _, Operand::Local(row)) = memory {
                    self.stored.push((*t, *row, self.count, depth));
                }
                if let Memory::Store(b, ..) | Memory::Add(b, ..) | Memory::Zero(b, _) | Memory::Move { to: b, .. } =
                    memory
                {
                    let at = (self.count, depth);
                    b.local().into_iter().for_each(|b| self.written.entry(b).or_default().push(at));
                }
            }
            let depth = depth + usize::from(matches!(stmt, Stmt::For(_)));
            self.set.extend(stmt.bound().into_iter().map(|x| (x, depth)));
            stmt.blocks().for_each(|inner| self.see(inner, depth));
        }
    }

    /// Returns the tables of rows that are written after they were put there: a copy would not have that.
    fn late(&self) -> Vec<Local> {
        let is_late = |(_, row, at, depth): &&(Local, Local, usize, usize)| {
            let own = self.set.get(row).copied().unwrap_or(0);
            let writes = self.written.get(row).into_iter().flatten();
            writes.clone().any(|(write, _)| write > at)
                || *depth > own && writes.clone().any(|(_, written)| *written > own)
        };
        self.stored.iter().filter(is_late).map(|(table, ..)| *table).collect()
    }
}
