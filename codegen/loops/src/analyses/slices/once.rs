//! Runs a loop of a slice once, or for as many iterations as it has lanes, if all its iterations do the same.
//!
//! ```text
//! for i in a..b lanes W { s }   =   for i in a..min(b, a + W) lanes W { s }
//! ```
//!
//! s does not use i, carries nothing, gives back what it takes, and writes to nothing from outside. So each iteration
//! begins as the first one did, and takes as much. The chunks of a loop on threads stay, since their number tells how
//! many workers have an arena; in loops in lanes, inner loops stay.

use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::cache::summaries;
use crate::ir::{Block, Builder, For, Function, Local, Module, Op, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) fn once(module: &mut Module, slices: &FxHashMap<usize, usize>) {
    let summaries = summaries(module);
    let takes: Vec<bool> = module.functions.iter().map(|function| function.allocates).collect();
    for i in 0..module.functions.len() {
        if slices.contains_key(&i) {
            shorten_in_function(&mut module.functions[i], &summaries, &takes);
        }
    }
}

fn shorten_in_function(function: &mut Function, summaries: &[Summary], takes: &[bool]) {
    let mut has_loops = false;
    function.body.visit(&mut |stmt| has_loops |= matches!(stmt, Stmt::For(_)));
    if !has_loops {
        return;
    }
    let aliases = Aliases::of(function, summaries);
    let mut body = std::mem::take(&mut function.body);
    let mut once = Once { aliases, summaries, takes, builder: Builder { locals: &mut function.locals } };
    once.shorten_in_block(&mut body);
    function.body = body;
}

struct Once<'a> {
    aliases: Aliases,
    summaries: &'a [Summary],
    takes: &'a [bool],
    builder: Builder<'a>,
}

impl Once<'_> {
    fn shorten_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let Stmt::For(looped) = &mut stmt {
                if looped.lanes == 1 {
                    self.shorten_in_block(&mut looped.body);
                }
                if self.is_uniform(looped) {
                    looped.to = self.emit_end(looped, &mut block.stmts);
                }
            } else {
                stmt.blocks_mut().for_each(|inner| self.shorten_in_block(inner));
            }
            block.stmts.push(stmt);
        }
    }

    fn is_uniform(&self, looped: &For) -> bool {
        !looped.on_threads
            && looped.carried.is_empty()
            && !looped.body.uses().contains(&looped.index)
            && looped.body.gives_back(self.takes)
            && self.keeps_to_itself(&looped.body)
    }

    /// Returns whether a block writes only to what it makes.
    fn keeps_to_itself(&self, block: &Block) -> bool {
        let mut made = FxHashSet::default();
        block.visit(&mut |stmt| made.extend(stmt.targets()));
        let mut own = true;
        block.visit(&mut |stmt| {
            let written: Vec<Local> = stmt.writes().into_iter().chain(stmt.hands_over(self.summaries)).collect();
            own &= written.into_iter().all(|b| self.aliases.is_made_among(b, &made));
            own &= !matches!(stmt, Stmt::External { .. } | Stmt::Bench { .. } | Stmt::Write(_));
        });
        own
    }

    /// min(b, a + W), where a is no more than b.
    fn emit_end(&mut self, looped: &For, before: &mut Vec<Stmt>) -> Operand {
        let lanes = i64::from(looped.lanes);
        let after = match &looped.from {
            Operand::Integer(from) => Operand::Integer(from.saturating_add(lanes)),
            from => self.builder.op(Op::AddI, [from.clone(), Operand::Integer(lanes)], before),
        };
        let is_less = self.builder.op(Op::LtI, [after.clone(), looped.to.clone()], before);
        let end = self.builder.local(Scalar::Integer.ty());
        let arm = |a: Operand| Block { stmts: vec![], results: vec![a] };
        before.push(Stmt::If(vec![end], is_less, arm(after), arm(looped.to.clone())));
        Operand::Local(end)
    }
}
