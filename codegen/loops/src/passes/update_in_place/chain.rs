//! Changes a buffer that a block has made in place, where a step changes its state twice.
//!
//! ```text
//! M = alloc n; .. ; N = alloc n; for x { store N[x] = if c { e } else { load M[x] } }     M is not used again
//!   =  N = alloc n; .. ; for x { if c { store N[x] = e } }
//! ```
//!
//! It is a step of a loop that runs once, and so it is for sums. A nest that changes all elements is left to other passes.
//! What a loop puts into a table of states is left alone: two nests that fill it become one (`fusion`), of which there is a
//! log.

use super::others::Way;
use super::skeleton::{always_stores, skeleton};
use super::step::{Change, passing};
use super::{First, Updater};
use crate::ir::{Block, Builder, For, Local, Memory, Operand, Scalar, Stmt};
use rustc_hash::FxHashMap;

impl Updater<'_> {
    /// Updates in place what a nest makes of a buffer of this block, after these statements of it. Returns what the nest
    /// is then; none if it stays.
    pub(super) fn update_again(
        &mut self,
        nest: &For,
        out: &mut Vec<Stmt>,
        is_used_later: &dyn Fn(Local) -> bool,
    ) -> Option<Vec<Stmt>> {
        let nest = Stmt::For(Box::new(nest.clone()));
        let mut made: Vec<(usize, Local)> = made(out).filter(|(_, x)| nest.mentions(*x)).collect();
        let (alloc, new) = made.pop()?;
        let ty = |x: Local| self.locals[x.0 as usize].ty;
        made.retain(|(_, old)| ty(*old) == ty(new) && !is_used_later(*old));
        if made.is_empty() {
            return None;
        }
        let uses: Vec<usize> = (alloc + 1..out.len()).filter(|at| out[*at].mentions(new)).collect();
        let is_zeroed = matches!(uses[..], [at] if matches!(&out[at], Stmt::Memory(Memory::Zero(..))));
        if !is_zeroed && (!uses.is_empty() || self.is_recorded) {
            return None;
        }
        let mut before = out.clone();
        let mut step: Vec<Stmt> = uses.iter().rev().chain([&alloc]).map(|at| before.remove(*at)).collect();
        step.reverse();
        step.push(nest);
        made.into_iter().rev().find_map(|(_, old)| {
            let mut once = self.once(&step, old, new);
            let found = self.step(&once, 0, None)?;
            let (ways, is_part) = match &found.change {
                Change::Stores { at, nest, ways } => {
                    let skeleton = skeleton(&once, 0, *at, nest, &found)?;
                    (ways, !always_stores(&skeleton, found.buffer))
                }
                Change::Sums { at, nest, ways, loaded, .. } => {
                    let innermost = nest.innermost(&once.body.stmts[*at]);
                    (ways, passing(innermost, found.buffer, *loaded, nest) == Some(true))
                }
                Change::Copy { .. } => return None,
            };
            let first = self.first(&old.into(), &found.count, &once, &before, is_used_later);
            if !is_part || ways.contains(&Way::Whole) || !matches!(first, Some(First::Own(_))) {
                return None;
            }
            self.update_state(&mut once, 0, &mut before, is_used_later, &mut vec![])?;
            *out = std::mem::take(&mut before);
            Some(once.body.stmts)
        })
    }

    /// A loop that runs these statements once, which make a buffer of an old one.
    fn once(&mut self, stmts: &[Stmt], old: Local, new: Local) -> For {
        let index = Builder { locals: self.locals }.local(Scalar::Integer.ty());
        let ty = self.locals[old.0 as usize].ty;
        let state = Builder { locals: self.locals }.local(ty);
        let mut body = Block { stmts: stmts.to_vec(), results: vec![new.into()] };
        body.rename(&FxHashMap::from_iter([(old, state)]));
        let (from, to) = (Operand::Integer(0), Operand::Integer(1));
        let carried = vec![(state, old.into())];
        For { results: vec![new], index, from, to, carried, body, lanes: 1, jam: 1, on_threads: false }
    }
}

/// Returns where buffers are made, the last one last.
fn made(stmts: &[Stmt]) -> impl Iterator<Item = (usize, Local)> {
    stmts.iter().enumerate().filter_map(|(at, stmt)| match stmt {
        Stmt::Memory(Memory::Alloc { buffer, .. }) => Some((at, *buffer)),
        _ => None,
    })
}
