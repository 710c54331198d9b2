//! Takes a buffer out of the end of a scope that keeps several: it is made before the scope then, and stays.
//!
//! ```text
//! x = b above m; y = c above m; .. ; b', c' = if in order { release m; (copies of b, c) } else { .. slide .. }
//!   =  y = c above m; release m; c' = if y { (copy of c) } else { c };  b' := b
//! ```

use crate::analyses::scopes::{KeptSeveral, drop_question, kept_several};
use crate::ir::{Block, Builder, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the body of a loop where the buffer that was kept by a name is taken out; none if no such scope keeps it.
pub(super) fn taken_out(body: &Block, kept: Local, locals: &mut Vec<LocalInfo>) -> Option<Block> {
    let several = |stmt: &Stmt| kept_several(stmt).filter(|several| several.kept.iter().any(|(x, _)| *x == kept));
    let (at, several) = body.stmts.iter().enumerate().find_map(|(at, stmt)| Some((at, several(stmt)?)))?;
    let taken = several.kept.iter().position(|(x, _)| *x == kept)?;
    let mut body = body.clone();
    let Stmt::If(xs, condition, mut then, mut other) = body.stmts.remove(at) else { unreachable!("it is a choice") };
    let before = drop_question(&mut body.stmts, at, &condition);
    let KeptSeveral { mark, kept: mut all } = several;
    let (_, buffer) = all.remove(taken);
    let mut end = Vec::new();
    let mut build = Builder { locals };
    if all.is_empty() {
        end.push(then.stmts.remove(0));
    } else if let [(x, one)] = all[..] {
        let above = build.local(Scalar::Bool.ty());
        end.push(Stmt::Memory(Memory::Above(above, one.into(), mark.into())));
        end.push(then.stmts.remove(0));
        // The copy of the one that is left.
        then.stmts.drain(2 * taken..2 * taken + 2);
        then.results.remove(taken);
        let stays = Block { stmts: vec![], results: vec![one.into()] };
        end.push(Stmt::If(vec![x], above.into(), then, stays));
    } else {
        let mut above = |b: Local, end: &mut Vec<Stmt>| {
            let x = build.local(Scalar::Bool.ty());
            end.push(Stmt::Memory(Memory::Above(x, b.into(), mark.into())));
            Operand::Local(x)
        };
        let ends = [all[0].1, all[all.len() - 1].1].map(|b| above(b, &mut end));
        let mut in_order = build.op(Op::And, ends, &mut end);
        for pair in all.windows(2) {
            let x = build.local(Scalar::Bool.ty());
            end.push(Stmt::Memory(Memory::Before(x, pair[0].1.into(), pair[1].1.into())));
            in_order = build.op(Op::And, [in_order, x.into()], &mut end);
        }
        then.stmts.drain(2 * taken + 1..2 * taken + 3);
        then.results.remove(taken);
        other.results.remove(taken);
        prune(&mut other);
        let xs = xs.into_iter().filter(|x| *x != kept).collect();
        end.push(Stmt::If(xs, in_order, then, other));
    }
    body.stmts.splice(before..before, end);
    body.rename(&FxHashMap::from_iter([(kept, buffer)]));
    Some(body)
}

/// Drops copies of a block that nothing uses any more.
fn prune(block: &mut Block) {
    loop {
        let mut used: FxHashSet<Local> = block.results.iter().filter_map(Operand::local).collect();
        let mut see = |a: &Operand| used.extend(a.local());
        for stmt in &block.stmts {
            match stmt {
                // What is only copied to is not used.
                Stmt::Memory(Memory::Move { from, count, .. }) => [from, count].into_iter().for_each(&mut see),
                stmt => stmt.operands().into_iter().for_each(&mut see),
            }
            stmt.blocks().for_each(|inner| inner.visit_operands(&mut see));
        }
        let is_used = |x: &Local| used.contains(x);
        let count = block.stmts.len();
        let mut is_changed = false;
        block.stmts.retain_mut(|stmt| match stmt {
            Stmt::Let(x, ..) => is_used(x),
            Stmt::Memory(Memory::Alloc { buffer: x, .. } | Memory::Above(x, ..) | Memory::Slid { target: x, .. }) => {
                is_used(x)
            }
            Stmt::Memory(Memory::Move { to, .. }) => to.local().is_none_or(|x| is_used(&x)),
            Stmt::If(xs, _, then, other) => {
                for i in (0..xs.len()).rev().filter(|i| !is_used(&xs[*i])).collect::<Vec<_>>() {
                    xs.remove(i);
                    [&mut *then, &mut *other].into_iter().for_each(|arm| drop(arm.results.remove(i)));
                    is_changed = true;
                }
                [&mut *then, &mut *other].into_iter().for_each(prune);
                !(xs.is_empty() && then.stmts.is_empty() && other.stmts.is_empty())
            }
            _ => true,
        });
        if block.stmts.len() == count && !is_changed {
            return;
        }
    }
}
