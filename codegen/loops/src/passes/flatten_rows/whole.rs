//! Makes one statement of a loop that does the same with all rows.

use super::rewrite::{Flattener, Shape};
use crate::ir::{For, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::FxHashSet;

impl Flattener<'_> {
    /// Returns what a loop does with all rows at once: it zeros or copies a matrix, or adds one to another.
    pub(super) fn for_all_rows(&mut self, looped: &For) -> Option<Stmt> {
        let (Stmt::For(inner), before) = looped.body.stmts.split_last()? else { return None };
        if !looped.carried.is_empty() || !inner.carried.is_empty() {
            return None;
        }
        let is_row = |stmt: &Stmt| matches!(stmt, Stmt::Let(..) | Stmt::Memory(Memory::View(..) | Memory::Load(..)));
        if !before.iter().all(is_row) {
            return None;
        }
        let is_place = |a: &Operand| {
            let sets = |stmt: &Stmt| matches!(stmt, Stmt::Let(x, Op::MulI, args) if a.local() == Some(*x) && args[0].local() == Some(looped.index));
            before.iter().any(sets)
        };
        let (mut cells, mut loaded, mut done) = (FxHashSet::default(), None, None);
        for stmt in &inner.body.stmts {
            match stmt {
                Stmt::Let(x, Op::AddI, args) if is_place(&args[0]) && args[1].local() == Some(inner.index) => {
                    cells.insert(*x);
                }
                Stmt::Memory(Memory::Load(x, b, Operand::Local(i))) if cells.contains(i) && loaded.is_none() => {
                    loaded = Some((*x, b));
                }
                Stmt::Memory(Memory::Store(b, Operand::Local(i), a)) if cells.contains(i) && done.is_none() => {
                    done = Some((b, a, false));
                }
                Stmt::Memory(Memory::Add(b, Operand::Local(i), a)) if cells.contains(i) && done.is_none() => {
                    done = Some((b, a, true));
                }
                _ => return None,
            }
        }
        let (to, value, adds) = done?;
        let shape = self.matrix(to)?;
        let Shape { rows, size, count } = &self.shapes[shape];
        let is_all = |looped: &For, n: &Operand| matches!(looped.from, Operand::Integer(0)) && looped.to.same(n);
        if !is_all(looped, rows) || !is_all(inner, size) {
            return None;
        }
        let (to, count) = (to.clone(), count.clone());
        match loaded {
            None if !adds && to.ty(self.locals).element()?.zero()?.same(value) => {
                Some(Stmt::Memory(Memory::Zero(to, count)))
            }
            Some((x, from)) if value.local() == Some(x) && self.matrix(from) == Some(shape) => {
                let from = from.clone();
                Some(if adds { self.add_all(to, from, count) } else { Stmt::Memory(Memory::Move { to, from, count }) })
            }
            _ => None,
        }
    }

    fn add_all(&mut self, to: Operand, from: Operand, count: Operand) -> Stmt {
        let ty = from.ty(self.locals).element().expect("a matrix has elements");
        let [i, x] = [Scalar::Integer.ty(), ty].map(|ty| self.builder().local(ty));
        let load = Memory::Load(x, from, i.into());
        let add = Memory::Add(to, i.into(), x.into());
        Stmt::loop_over(i, [Operand::Integer(0), count], vec![Stmt::Memory(load), Stmt::Memory(add)])
    }
}
