//! Replaces loads from rows that are one number throughout by the number.
//!
//! ```text
//! for i { r = alloc m; zero r[0..m]; store b[i] = r }; x = load b[k]; .. load x[j] ..; move c[0..l] <- x
//!   =   .. 0 ..; zero c[0..l]                    as well with  for j in 0..m { store r[j] = a number }  for `zero`
//! ```
//!
//! So a tangent of zeros, or of ones, of a vector of vectors costs nothing. The rows and b are made here and do not
//! escape. Only loads and moves use b, and only loads and moves use the rows loaded from it. So a row holds only the
//! number that fills it. The same is done for buffers that are not rows. `dce` drops the dead code that remains.

use crate::ir::{Block, For, Local, LocalInfo, Memory, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) fn rows(body: &mut Block, locals: &[LocalInfo]) {
    let found = BufferFacts::of(body, locals);
    let (known, rows) = (found.known(), found.alone());
    let mut replacer = Replacer { known, rows, values: FxHashMap::default() };
    replacer.replace_in_block(body);
    body.change_operands(&mut |a| {
        if let Some(value) = a.local().and_then(|x| replacer.values.get(&x)) {
            *a = value.clone();
        }
    });
}

/// Counts the uses of buffers that this pass asks for.
#[derive(Default)]
struct BufferFacts {
    /// How often each local is used.
    uses: FxHashMap<Local, usize>,
    /// Rows that are made, and filled with a number by a later statement of the block.
    filled: FxHashMap<Local, Operand>,
    /// The buffers that are made.
    made: FxHashSet<Local>,
    /// Maps a buffer to the buffers stored in it.
    stored: FxHashMap<Local, Vec<Local>>,
    /// The loaded buffers, each with the buffer that it was loaded from.
    loaded: Vec<(Local, Local)>,
    /// How often elements of a buffer are loaded, or all is moved from it.
    read: FxHashMap<Local, usize>,
}

impl BufferFacts {
    fn of(body: &Block, locals: &[LocalInfo]) -> BufferFacts {
        let mut found = BufferFacts { uses: body.use_counts(), ..BufferFacts::default() };
        found.collect_in_block(body, locals);
        found
    }

    fn collect_in_block(&mut self, block: &Block, locals: &[LocalInfo]) {
        self.collect_fills(block, locals);
        for stmt in &block.stmts {
            match stmt {
                Stmt::Memory(Memory::Alloc { buffer, .. }) => drop(self.made.insert(*buffer)),
                Stmt::Memory(Memory::Load(x, Operand::Local(b), _)) => {
                    self.loaded.push((*x, *b));
                    *self.read.entry(*b).or_default() += 1;
                }
                Stmt::Memory(Memory::Move { from: Operand::Local(b), .. }) => *self.read.entry(*b).or_default() += 1,
                Stmt::Memory(Memory::Store(Operand::Local(b), _, Operand::Local(r))) => {
                    self.stored.entry(*b).or_default().push(*r);
                }
                _ => {}
            }
            stmt.blocks().for_each(|block| self.collect_in_block(block, locals));
        }
    }

    fn collect_fills(&mut self, block: &Block, locals: &[LocalInfo]) {
        let mut made: FxHashMap<Local, &Operand> = FxHashMap::default();
        for stmt in &block.stmts {
            match stmt {
                Stmt::Memory(Memory::Alloc { buffer, count, .. }) => drop(made.insert(*buffer, count)),
                stmt => {
                    let Some((r, count, value)) = fill(stmt, locals) else { continue };
                    if made.get(&r).is_some_and(|made| made.same(count)) {
                        self.filled.insert(r, value);
                    }
                }
            }
        }
    }

    /// Returns whether a buffer is read, and used in so many other ways.
    fn only_read(&self, b: Local, others: usize) -> bool {
        let count = |of: &FxHashMap<Local, usize>| of.get(&b).copied().unwrap_or_default();
        count(&self.uses) == count(&self.read) + others
    }

    /// Returns the buffers that are filled with a number, and read, no more.
    fn alone(&self) -> FxHashMap<Local, Operand> {
        self.filled.keys().filter(|r| self.only_read(**r, 1)).map(|r| (*r, self.filled[r].clone())).collect()
    }

    /// Returns the buffers of rows that are all one number, and that number.
    fn known(&self) -> FxHashMap<Local, Operand> {
        // A row is used where it is filled and where it is stored.
        let value = |r: &Local| self.filled.get(r).filter(|_| self.uses.get(r) == Some(&2));
        let all_read = |b: &Local| self.loaded.iter().all(|(x, from)| from != b || self.only_read(*x, 0));
        let known = self.stored.iter().filter_map(|(b, rows)| match &rows[..] {
            [r] if self.made.contains(b) && self.only_read(*b, 1) && all_read(b) => Some((*b, value(r)?.clone())),
            _ => None,
        });
        known.filter(|(b, _)| self.loaded.iter().any(|(_, from)| from == b)).collect()
    }
}

/// Returns a buffer that the statement fills with a number, and so many elements.
fn fill<'a>(stmt: &'a Stmt, locals: &[LocalInfo]) -> Option<(Local, &'a Operand, Operand)> {
    match stmt {
        Stmt::Memory(Memory::Zero(r, count)) => {
            let zero = r.ty(locals).element()?.zero()?;
            Some((r.local()?, count, zero))
        }
        Stmt::For(looped) => {
            let For { index, from: Operand::Integer(0), to, body, .. } = &**looped else { return None };
            let does = |stmt: &&Stmt| !matches!(stmt, Stmt::Let(..) | Stmt::Memory(Memory::Load(..)));
            let done: Vec<&Stmt> = body.stmts.iter().filter(does).collect();
            let [Stmt::Memory(Memory::Store(r, i, value))] = &done[..] else { return None };
            let is_number = matches!(value, Operand::Float(_) | Operand::Integer(_));
            (is_number && i.local() == Some(*index)).then_some((r.local()?, to, value.clone()))
        }
        _ => None,
    }
}

/// Replaces loads from such rows by the number, and copies of such rows by zeros.
struct Replacer {
    /// The buffers of rows, and the rows that were loaded from there.
    known: FxHashMap<Local, Operand>,
    rows: FxHashMap<Local, Operand>,
    /// Maps values loaded from rows to numbers.
    values: FxHashMap<Local, Operand>,
}

impl Replacer {
    fn replace_in_block(&mut self, block: &mut Block) {
        block.stmts.retain_mut(|stmt| {
            let stays = self.stays(stmt);
            stmt.blocks_mut().for_each(|block| self.replace_in_block(block));
            stays
        });
    }

    fn stays(&mut self, stmt: &mut Stmt) -> bool {
        match stmt {
            Stmt::Memory(Memory::Load(x, Operand::Local(b), _)) => {
                self.rows.extend(self.known.get(b).map(|value| (*x, value.clone())));
                let value = self.rows.get(b).map(|value| (*x, value.clone()));
                let is_known = value.is_some();
                self.values.extend(value);
                !is_known
            }
            Stmt::Memory(Memory::Move { to, from: Operand::Local(r), count }) if self.is_zero(*r) => {
                *stmt = Stmt::Memory(Memory::Zero(to.clone(), count.clone()));
                true
            }
            _ => true,
        }
    }

    fn is_zero(&self, row: Local) -> bool {
        let zeros = [Operand::Float(0.0), Operand::Integer(0)];
        self.rows.get(&row).is_some_and(|value| zeros.iter().any(|zero| zero.same(value)))
    }
}
