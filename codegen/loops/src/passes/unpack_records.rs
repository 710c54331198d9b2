//! Takes records apart that are made and read in one function: their words are locals, and there is no record.
//!
//! ```text
//! r = alloc [integer] n; p = r as [T]; store p[i] = a; ..; q = r as [T]; x = load q[i]; s     =     ..; s[x := a]
//! ```
//!
//! The first half of a derivative makes a record for the second one, as large as what it computes. Once both halves are
//! inlined, nothing else has the record. What the second half reads is then known to be what the first one had: a
//! condition that was decided, an index that was checked.
//!
//! Each word is written once, in the block that makes the record. So whatever comes later in the function and sees the
//! record sees that word. A record that is a word of another one follows when the other one is gone.

use super::pass::FunctionCx;
use crate::ir::{Block, Local, LocalInfo, Memory, Operand, Scalar, Stmt, Ty};
use rustc_hash::{FxHashMap, FxHashSet};

/// As deep are records in records that are taken apart, at most.
const MOST_ROUNDS: usize = 16;

pub(super) fn run(cx: &mut FunctionCx) {
    for _ in 0..MOST_ROUNDS {
        let records = Records::of(&cx.function.body, &cx.function.locals);
        if records.words.is_empty() {
            return;
        }
        records.take_apart(&mut cx.function.body);
        let values = &records.values;
        cx.function.body.change_operands(&mut |a| {
            while let Some(value) = a.local().and_then(|x| values.get(&x)) {
                *a = value.clone();
            }
        });
    }
}

/// A word of a record: the record, and the byte at which the word is.
type Word = (Local, u64);

/// Holds the records of a function that nothing but casts, loads and stores of words mentions.
#[derive(Default)]
struct Records {
    /// What each of their words is, and its type.
    words: FxHashMap<Word, (Operand, Ty)>,
    /// The records by the locals that are their memory, the records themselves included.
    of: FxHashMap<Local, Local>,
    /// What was loaded of them, by the locals that were loaded.
    values: FxHashMap<Local, Operand>,
}

impl Records {
    fn of(body: &Block, locals: &[LocalInfo]) -> Records {
        let mut records = Records::default();
        body.visit(&mut |stmt| match stmt {
            Stmt::Memory(Memory::Alloc { buffer, count: Operand::Integer(_), .. })
                if locals[buffer.0 as usize].ty == Scalar::Integer.ty().buffer() =>
            {
                records.of.insert(*buffer, *buffer);
            }
            Stmt::Memory(Memory::Cast(x, b)) => records.of.extend(records.record_of(b).map(|r| (*x, r))),
            _ => {}
        });
        if records.of.is_empty() {
            return records;
        }
        let mut shared = FxHashSet::default();
        records.find_shared(body, &mut shared);
        records.read_block(body, locals, &mut FxHashSet::default(), &mut shared);
        records.of.retain(|_, r| !shared.contains(r));
        records.words.retain(|(r, _), _| !shared.contains(r));
        let Records { of, values, .. } = &mut records;
        // What was loaded of a record that stays is still loaded.
        body.visit(&mut |stmt| {
            if let Stmt::Memory(Memory::Load(x, b, _)) = stmt
                && !b.local().is_some_and(|b| of.contains_key(&b))
            {
                values.remove(x);
            }
        });
        records
    }

    fn record_of(&self, buffer: &Operand) -> Option<Local> {
        buffer.local().and_then(|b| self.of.get(&b)).copied()
    }

    /// Finds the records that are used in any way but word by word.
    fn find_shared(&self, block: &Block, shared: &mut FxHashSet<Local>) {
        for stmt in &block.stmts {
            let others: Vec<&Operand> = match stmt {
                Stmt::Memory(Memory::Load(_, _, Operand::Integer(_)) | Memory::Cast(..)) => vec![],
                Stmt::Memory(Memory::Store(_, Operand::Integer(_), value)) => vec![value],
                stmt => stmt.operands(),
            };
            shared.extend(others.into_iter().filter_map(|a| self.record_of(a)));
            stmt.blocks().for_each(|inner| self.find_shared(inner, shared));
        }
        shared.extend(block.results.iter().filter_map(|a| self.record_of(a)));
    }

    /// Reads what is stored and loaded, in order. `made` are the records that the block makes, up to a statement.
    /// Records whose words are not known where they are loaded are shared, too.
    fn read_block(
        &mut self,
        block: &Block,
        locals: &[LocalInfo],
        made: &mut FxHashSet<Local>,
        shared: &mut FxHashSet<Local>,
    ) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Memory(Memory::Alloc { buffer, .. }) => drop(made.insert(*buffer)),
                Stmt::Memory(Memory::Store(b, Operand::Integer(i), value)) => {
                    let Some(record) = self.record_of(b) else { continue };
                    let word = word(record, b, *i, locals);
                    let is_new = word.is_some_and(|word| {
                        made.contains(&record) && self.words.insert(word, (value.clone(), value.ty(locals))).is_none()
                    });
                    if !is_new {
                        shared.insert(record);
                    }
                }
                Stmt::Memory(Memory::Load(x, b, Operand::Integer(i))) => {
                    let Some(record) = self.record_of(b) else { continue };
                    let known = word(record, b, *i, locals).and_then(|word| self.words.get(&word));
                    match known {
                        Some((value, ty)) if *ty == locals[x.0 as usize].ty => {
                            self.values.insert(*x, value.clone());
                        }
                        _ => drop(shared.insert(record)),
                    }
                }
                stmt => {
                    for inner in stmt.blocks() {
                        self.read_block(inner, locals, &mut FxHashSet::default(), shared);
                    }
                }
            }
        }
    }

    /// Drops the records, with what is stored in them and loaded of them.
    fn take_apart(&self, block: &mut Block) {
        block.stmts.retain_mut(|stmt| {
            stmt.blocks_mut().for_each(|inner| self.take_apart(inner));
            let memory = match stmt {
                Stmt::Memory(Memory::Alloc { buffer, .. } | Memory::Cast(buffer, _)) => Some(*buffer),
                Stmt::Memory(Memory::Store(b, ..) | Memory::Load(_, b, _)) => b.local(),
                _ => None,
            };
            !memory.is_some_and(|b| self.of.contains_key(&b))
        });
    }
}

/// The word of a record that is the i-th element of a buffer, if elements of this type are whole words.
fn word(record: Local, buffer: &Operand, i: i64, locals: &[LocalInfo]) -> Option<Word> {
    let bytes = buffer.ty(locals).element()?.bytes();
    let at = u64::try_from(i).ok()?.checked_mul(bytes)?;
    at.is_multiple_of(WORD).then_some((record, at))
}

/// Bytes of a word.
const WORD: u64 = 8;
