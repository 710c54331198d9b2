//! Hands the elements that an iteration reads of the one before it on in a register.
//!
//! ```text
//! for i in 0..n { store b[i] = x; y = load b[i - 1] }
//!   =   for i in 0..n carrying (z = 0) { store b[i] = x; y := z; yield x }
//! zero b[0..n]; for i from n - 1 down to 0 { if c { add b[i - 1] += x }; y = load b[i] }
//!   =   zero b[0..n];
//!       for k in 0..n carrying (z = 0) { i = n - 1 - k; s = if c { add ..; 0 + x } else { 0 }; y := z; yield s }
//! ```
//!
//! `neighbours` finds these loops and buffers. `dce` drops the dead stores that remain.

use super::Fuser;
use super::neighbours::{Way, collect_touches, handed};
use crate::ir::{Block, Builder, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

impl Fuser<'_> {
    /// Hands on in the loops of a block, and of those inside, that were merged to run that way.
    pub(super) fn hand_on(&mut self, way: Way, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.blocks_mut().for_each(|inner| self.hand_on(way, inner));
            match stmt {
                Stmt::For(looped) if self.merged.contains(&looped.index) => {
                    let mut looped = self.hand_on_in_loop(way, &block.stmts, *looped);
                    if way == Way::Down {
                        self.turn(&mut looped, &mut block.stmts);
                    }
                    block.stmts.push(Stmt::For(Box::new(looped)));
                }
                stmt => block.stmts.push(stmt),
            }
        }
    }

    fn hand_on_in_loop(&mut self, way: Way, before: &[Stmt], mut looped: For) -> For {
        let all = collect_touches(&looped).expect("only loops that can be looked through are merged");
        let written: BTreeSet<Local> = all.iter().filter(|touch| touch.writes()).map(|touch| touch.buffer).collect();
        for buffer in written {
            let loads = handed(&all, buffer, way);
            if !loads.is_empty() && self.hands_on(way, before.iter(), &looped, &all, buffer) {
                self.carry_element(&mut looped, buffer, &loads);
            }
        }
        looped
    }

    /// Passes the value that a loop writes to a buffer on to the next iteration, instead of loading it.
    fn carry_element(&mut self, looped: &mut For, buffer: Local, loads: &[Local]) {
        let ty = self.locals[buffer.0 as usize].ty.element().expect("it is a buffer");
        let zero = if ty.as_scalar() == Some(Scalar::Float) { Operand::Float(0.0) } else { Operand::Integer(0) };
        let [z, last] = [(); 2].map(|()| Builder { locals: self.locals }.local(ty));
        drop_loads(&mut looped.body, loads);
        looped.body.rename(&loads.iter().map(|x| (*x, z)).collect::<FxHashMap<Local, Local>>());
        let next = written(&mut looped.body, buffer, &zero, self.locals).expect("the loop writes to the buffer");
        looped.body.results.push(next);
        looped.carried.push((z, zero));
        looped.results.push(last);
    }

    /// Turns a loop to run down from its last index.
    fn turn(&mut self, looped: &mut For, before: &mut Vec<Stmt>) {
        let mut builder = Builder { locals: self.locals };
        let last = builder.op(Op::SubI, [looped.to.clone(), Operand::Integer(1)], before);
        let k = builder.local(Scalar::Integer.ty());
        let index = std::mem::replace(&mut looped.index, k);
        looped.body.stmts.insert(0, Stmt::Let(index, Op::SubI, vec![last, Operand::Local(k)]));
    }
}

fn drop_loads(block: &mut Block, loads: &[Local]) {
    block.stmts.retain(|stmt| !matches!(stmt, Stmt::Memory(Memory::Load(x, ..)) if loads.contains(x)));
    block.stmts.iter_mut().flat_map(Stmt::blocks_mut).for_each(|inner| drop_loads(inner, loads));
}

/// Returns what the one statement of a block that writes to a buffer leaves there, which was zero if it adds; zero
/// where it does not run.
fn written(block: &mut Block, buffer: Local, zero: &Operand, locals: &mut Vec<LocalInfo>) -> Option<Operand> {
    for (i, stmt) in block.stmts.iter_mut().enumerate() {
        match stmt {
            Stmt::Memory(Memory::Store(b, _, a)) if b.local() == Some(buffer) => return Some(a.clone()),
            Stmt::Memory(Memory::Add(b, _, a)) if b.local() == Some(buffer) => {
                let op = if matches!(zero, Operand::Float(_)) { Op::AddF } else { Op::AddI };
                let sum = Builder { locals }.local(op.result().ty());
                let stmt = Stmt::Let(sum, op, vec![zero.clone(), a.clone()]);
                block.stmts.insert(i, stmt);
                return Some(Operand::Local(sum));
            }
            Stmt::If(xs, _, then, other) => {
                let arms = [written(then, buffer, zero, locals), written(other, buffer, zero, locals)];
                if arms.iter().any(Option::is_some) {
                    let ty = zero.ty(locals);
                    let x = Builder { locals }.local(ty);
                    xs.push(x);
                    for (arm, value) in [then, other].into_iter().zip(arms) {
                        arm.results.push(value.unwrap_or_else(|| zero.clone()));
                    }
                    return Some(Operand::Local(x));
                }
            }
            _ => {}
        }
    }
    None
}
