//! Changes the nest that adds: it stores what elements take.

use super::Gathered;
use crate::ir::{Block, Local, Memory, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// Changes the nest that adds: it stores what is gathered.
pub(super) struct Storing<'a> {
    pub(super) buffers: &'a [Gathered<'a>],
    /// By value.
    pub(super) tables: FxHashMap<Local, Local>,
    /// The values that are set in an arm of a conditional: they are stored there.
    pub(super) inside: FxHashSet<Local>,
    /// The place of the iteration in tables.
    pub(super) place: Operand,
}

impl Storing<'_> {
    /// Changes the innermost block; `own` computes the place of the iteration.
    pub(super) fn store_values(&self, innermost: &mut Block, own: Vec<Stmt>) {
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
