//! Carries the number of stores through a nest: the place of an element in a log.

use super::skeleton::{has_store, stores_to};
use crate::ir::{Block, Builder, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};

/// What stands for a store.
pub(super) enum Leaf {
    /// Nothing: stores are counted.
    Count,
    /// The store, after the old element was stored in a log.
    Log { log: Local, state: Local },
    /// A store of what a log has.
    Undo { log: Local },
}

/// Carries the number of stores through a nest.
pub(super) struct Threading<'a> {
    pub(super) locals: &'a mut Vec<LocalInfo>,
    /// The buffer of the stores.
    pub(super) buffer: Local,
    pub(super) leaf: &'a Leaf,
}

impl Threading<'_> {
    /// Returns the number at the end of a block.
    pub(super) fn thread(&mut self, block: &mut Block, mut number: Operand) -> Operand {
        for mut stmt in std::mem::take(&mut block.stmts) {
            if stores_to(&stmt, self.buffer) {
                number = self.leaf(stmt, number, &mut block.stmts);
                continue;
            }
            if has_store(&stmt, self.buffer) {
                number = self.through(&mut stmt, number);
            }
            block.stmts.push(stmt);
        }
        number
    }

    fn through(&mut self, stmt: &mut Stmt, number: Operand) -> Operand {
        let [inner, after] = [(); 2].map(|()| Builder { locals: self.locals }.local(Scalar::Integer.ty()));
        match stmt {
            Stmt::If(xs, _, then, other) => {
                xs.push(after);
                for arm in [then, other] {
                    let next = self.thread(arm, number.clone());
                    arm.results.push(next);
                }
            }
            Stmt::For(looped) => {
                looped.carried.push((inner, number));
                looped.results.push(after);
                let next = self.thread(&mut looped.body, inner.into());
                looped.body.results.push(next);
            }
            _ => unreachable!("stores lie in loops and conditionals"),
        }
        after.into()
    }

    fn leaf(&mut self, stmt: Stmt, number: Operand, out: &mut Vec<Stmt>) -> Operand {
        let Stmt::Memory(Memory::Store(b, place, value)) = stmt else { unreachable!("it is a store") };
        let ty = self.locals[self.buffer.0 as usize].ty.element().expect("a state is a buffer");
        let mut build = Builder { locals: self.locals };
        match self.leaf {
            Leaf::Count => {}
            Leaf::Log { log, state } => {
                let old = build.local(ty);
                out.push(Stmt::Memory(Memory::Load(old, (*state).into(), place.clone())));
                out.push(Stmt::Memory(Memory::Store((*log).into(), number.clone(), old.into())));
                out.push(Stmt::Memory(Memory::Store((*state).into(), place, value)));
            }
            Leaf::Undo { log } => {
                let old = build.local(ty);
                out.push(Stmt::Memory(Memory::Load(old, (*log).into(), number.clone())));
                out.push(Stmt::Memory(Memory::Store(b, place, old.into())));
            }
        }
        build.op(Op::AddI, [number, Operand::Integer(1)], out)
    }
}
