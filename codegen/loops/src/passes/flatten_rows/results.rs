//! Makes tables of the matrices that a function gives.

use super::rewrite::Flattener;
use crate::ir::{Block, Local, Memory, Operand, Scalar, Stmt};
use rustc_hash::FxHashMap;

impl Flattener<'_> {
    /// Makes tables of the results that were tables.
    pub(super) fn end(&mut self, block: &mut Block) {
        let mut done: FxHashMap<Local, Local> = FxHashMap::default();
        for i in 0..block.results.len() {
            let Some(x) = block.results[i].local() else { continue };
            let table = match (self.matrix(&x.into()), self.plan.numbers.contains_key(&x), done.get(&x)) {
                (_, _, Some(table)) => *table,
                (Some(shape), ..) => {
                    let matrix = self.copy_of_loaded(x, shape, block);
                    self.table(matrix, shape, block)
                }
                (None, true, None) => self.table_of_number(x, block),
                (None, false, None) => continue,
            };
            done.insert(x, table);
            block.results[i] = table.into();
        }
    }

    /// A state that is one of many may be another one later, where all are updates of one: its rows are copied.
    fn copy_of_loaded(&mut self, x: Local, shape: usize, block: &mut Block) -> Local {
        let loads = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Load(y, ..)) if *y == x);
        if !block.stmts.iter().any(loads) {
            return x;
        }
        let ty = self.ty(x);
        let copy = self.builder().local(ty);
        let count = self.shapes[shape].count.clone();
        block.stmts.push(self.alloc(copy, count.clone()));
        block.stmts.push(Stmt::Memory(Memory::Move { to: copy.into(), from: x.into(), count }));
        copy
    }

    fn table(&mut self, matrix: Local, shape: usize, block: &mut Block) -> Local {
        let ty = self.ty(matrix);
        let table = self.builder().local(ty.buffer());
        let rows = self.shapes[shape].rows.clone();
        block.stmts.push(self.alloc(table, rows.clone()));
        let [k, row] = [Scalar::Integer.ty(), ty].map(|ty| self.builder().local(ty));
        let mut stmts = vec![];
        let place = self.place(shape, &k.into(), &mut stmts);
        stmts.push(Stmt::Memory(Memory::View(row, matrix.into(), place)));
        stmts.push(Stmt::Memory(Memory::Store(table.into(), k.into(), row.into())));
        block.stmts.push(Stmt::loop_over(k, [Operand::Integer(0), rows], stmts));
        table
    }

    fn table_of_number(&mut self, x: Local, block: &mut Block) -> Local {
        let table = self.builder().local(Scalar::Integer.ty().buffer());
        let length = self.plan.lengths[&x].clone();
        let length = self.compute(&length, &mut block.stmts);
        block.stmts.push(self.alloc(table, length.clone()));
        let k = self.builder().local(Scalar::Integer.ty());
        let store = Stmt::Memory(Memory::Store(table.into(), k.into(), self.numbers[&x].clone()));
        block.stmts.push(Stmt::loop_over(k, [Operand::Integer(0), length], vec![store]));
        table
    }
}
