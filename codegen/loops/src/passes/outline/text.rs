//! The statements of a module in sequence, with numbers: those that may be equal have the same one.

use super::shape::{is_stack, value_of};
use crate::ir::{Block, Function, Local, Memory, Module, Scalar, Stmt};
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

/// A statement of a block that is in order with the others.
pub(super) struct Item {
    /// The number of its block in [`Text::blocks`].
    pub(super) block: usize,
    /// Its place in the block.
    pub(super) stmt: usize,
    /// The item that it is in.
    pub(super) parent: Option<usize>,
    /// One behind the last item in it.
    pub(super) end: usize,
}

pub(super) struct TextBlock<'a> {
    pub(super) function: usize,
    /// Its number in the function: outer blocks come before inner ones, and those before others.
    pub(super) number: usize,
    pub(super) block: &'a Block,
    pub(super) cold: bool,
}

/// The statements of a module, with numbers.
#[derive(Default)]
pub(super) struct Text<'a> {
    pub(super) blocks: Vec<TextBlock<'a>>,
    pub(super) items: Vec<Item>,
    /// The items of each block that may have calls, in order.
    pub(super) sequences: Vec<Vec<usize>>,
    /// For each item a number that those have, too, that may be equal; none for one that has to stay where it is.
    pub(super) symbols: Vec<Option<u64>>,
    /// Whether an item takes time beside a call: it is a loop or a call, or has one in it.
    pub(super) works: Vec<bool>,
}

impl<'a> Text<'a> {
    pub(super) fn of(module: &'a Module, likely: &[FxHashSet<Local>]) -> Text<'a> {
        let mut text = Text::default();
        for (i, function) in module.functions.iter().enumerate().filter(|(_, function)| !function.c_wrapper) {
            let mut reader = Reader { text: &mut text, function, number: i, likely: &likely[i], blocks: 0 };
            reader.add_block(&function.body, function.cold, None);
        }
        text
    }
}

struct Reader<'r, 'a> {
    text: &'r mut Text<'a>,
    function: &'a Function,
    number: usize,
    likely: &'r FxHashSet<Local>,
    blocks: usize,
}

/// What a statement uses of the marks of the arena, and what is to be compared of it.
#[derive(Default)]
struct Summed {
    hash: FxHasher,
    /// The marks from outside.
    marks: FxHashSet<Local>,
    stays: bool,
    works: bool,
}

impl<'a> Reader<'_, 'a> {
    /// Adds the items of a block and of those in it. Returns a summary of each statement that is in order with others.
    fn add_block(&mut self, block: &'a Block, cold: bool, parent: Option<usize>) -> Vec<Summed> {
        let blocks = self.text.blocks.len();
        self.text.blocks.push(TextBlock { function: self.number, number: self.blocks, block, cold });
        self.blocks += 1;
        let own_marks: FxHashSet<Local> = block.stmts.iter().filter_map(mark_of).collect();
        let (mut sequence, mut summed) = (vec![], vec![]);
        for (i, stmt) in block.stmts.iter().enumerate() {
            if value_of(stmt).is_some() || is_stack(stmt) {
                continue;
            }
            let item = self.text.items.len();
            self.text.items.push(Item { block: blocks, stmt: i, parent, end: 0 });
            self.text.symbols.push(None);
            self.text.works.push(false);
            let sum = self.sum(stmt, cold, item);
            self.text.items[item].end = self.text.items.len();
            let stays = sum.stays || !sum.marks.is_subset(&own_marks);
            self.text.symbols[item] = (!stays).then(|| sum.hash.finish());
            self.text.works[item] = sum.works;
            sequence.push(item);
            summed.push(sum);
        }
        self.text.sequences.push(sequence);
        summed
    }

    fn sum(&mut self, stmt: &'a Stmt, cold: bool, item: usize) -> Summed {
        let mut sum = Summed {
            stays: matches!(stmt, Stmt::Bench { .. }),
            works: matches!(stmt, Stmt::For(_) | Stmt::Call(..)),
            ..Summed::default()
        };
        self.add_head(stmt, &mut sum);
        let likely =
            matches!(stmt, Stmt::If(_, condition, ..) if condition.local().is_some_and(|x| self.likely.contains(&x)));
        for (i, inner) in stmt.blocks().enumerate() {
            let at_once = matches!(stmt, Stmt::For(looped) if looped.lanes > 1 || looped.jam > 1);
            let sequences = self.text.sequences.len();
            let cold = cold || likely && i == 1;
            for part in self.add_block(inner, cold, Some(item)) {
                part.hash.finish().hash(&mut sum.hash);
                sum.marks.extend(part.marks);
                sum.stays |= part.stays;
                sum.works |= part.works;
            }
            if at_once || matches!(stmt, Stmt::Bench { .. }) {
                // Iterations at once, in lanes or side by side, have no calls. What is measured stays as it is.
                self.text.sequences.truncate(sequences);
            }
            inner.stmts.iter().filter_map(mark_of).for_each(|m| _ = sum.marks.remove(&m));
            inner.stmts.iter().filter(|stmt| value_of(stmt).is_some()).for_each(|stmt| self.add_head(stmt, &mut sum));
        }
        sum
    }

    /// Adds the statement itself, with the types of what it uses.
    fn add_head(&self, stmt: &Stmt, sum: &mut Summed) {
        let hash = &mut sum.hash;
        std::mem::discriminant(stmt).hash(hash);
        match stmt {
            Stmt::Let(_, op, _) => op.hash(hash),
            Stmt::Call(_, callee, _) => callee.hash(hash),
            Stmt::For(looped) => (looped.lanes, looped.jam, looped.on_threads).hash(hash),
            Stmt::Check { failure, span, .. } => (failure, span).hash(hash),
            Stmt::External { symbol, span, .. } => (symbol, span).hash(hash),
            Stmt::Memory(memory) => std::mem::discriminant(memory).hash(hash),
            Stmt::If(..) | Stmt::Bench { .. } | Stmt::Write(_) => {}
        }
        for operand in stmt.operands() {
            match operand.local() {
                Some(x) => {
                    let ty = self.function.locals[x.0 as usize].ty;
                    ty.hash(hash);
                    if ty.as_scalar() == Some(Scalar::Mark) {
                        sum.marks.insert(x);
                    }
                }
                None => operand.hash(hash),
            }
        }
    }
}

fn mark_of(stmt: &Stmt) -> Option<Local> {
    if let Stmt::Memory(Memory::Mark(m)) = stmt { Some(*m) } else { None }
}
