//! Divides loops with independent iterations into chunks, which may run on several threads.
//!
//! ```text
//! for i in 0..n { s }      =   l = chunk n, cost, own, W; k = n / l, rounded up
//!                              for c in 0..k on threads { for i in c l..min((c + 1) l, n) { s } }
//! y' = y + e, carried      =   the sum of each chunk, from -0 but for the first; then all, in the order of chunks
//! y' = max y x, carried    =   the best of each chunk, from y; then the best of them, in the order of chunks
//! add b[e] += x, in s      =   the first chunk adds to b itself, each other one to a copy of the zeros that b was made
//!                              as; these are added to b afterwards, in the order of chunks
//! ```
//!
//! How many chunks there are depends on n and on an estimate of what an iteration costs, computed before the loop:
//! never on threads. A loop too short to be divided is one chunk, which is the loop as it was. Where chunks need memory for
//! sums, there is a version of a short loop without.
//!
//! Only the outermost loops that can be divided are divided, and none in loops that may run in lanes. Loops that pass rows
//! on, and do nothing with what is in them, stay whole, and so do those that only store numbers, and those at borders. Only functions that are
//! called from outside, or not from loops, have their loops divided. What loops call works on a part of something: there
//! loops of a few plain statements stay.

mod build;
mod cost;
mod legality;
mod planner;
mod private;
mod slice;
mod vectors;

use super::pass::ModuleCx;
use crate::analyses::arena_balance::gives_all_back;
use crate::analyses::cache::Analyses;
use crate::analyses::independence::FunctionEffects;
use crate::analyses::single_iterations::single_iterations;
use crate::ir::{Block, FunId, Local, Module, Stmt};
use build::ChunkBuilder;
pub use cost::GRAIN;
use legality::{is_short, only_fills};
use planner::{Plan, Planner, World};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) fn run(cx: &mut ModuleCx) {
    let module = &mut *cx.module;
    let world = World::collect(module, cx.analyses);
    let in_loops = called_in_loops(module);
    for i in chosen_functions(module, &in_loops) {
        let plans = Planner::plan_function(FunId(i), module, &world, in_loops.contains(&FunId(i)), cx.analyses);
        if plans.is_empty() {
            continue;
        }
        let function = &mut module.functions[i];
        let mut body = std::mem::take(&mut function.body);
        ChunkBuilder { locals: &mut function.locals, span: function.span, plans }.divide_in_block(&mut body);
        function.body = body;
    }
}

impl World {
    fn collect(module: &Module, analyses: &mut Analyses) -> World {
        let mut keeps: Vec<bool> = module.functions.iter().map(|function| function.allocates).collect();
        let mut recurs: Vec<bool> = module.functions.iter().map(|function| function.recursive).collect();
        // Those on a cycle of calls recur, so one look at each of the others is enough.
        for id in module.callees_first() {
            let mut calls = false;
            let function = &module.functions[id.0];
            function.body.callees(&mut |callee| calls |= recurs[callee.0]);
            recurs[id.0] |= calls;
            let set = (0..function.locals.len() as u32).map(Local).collect();
            keeps[id.0] &= function.recursive || !gives_all_back(&function.body, &set, &keeps);
        }
        World { effects: FunctionEffects::of(module, analyses), keeps, recurs }
    }
}

/// Returns the functions that loops call, or functions that they call.
fn called_in_loops(module: &Module) -> FxHashSet<FunId> {
    let mut in_loops = FxHashSet::default();
    for function in &module.functions {
        function.body.visit(&mut |stmt| {
            if let Stmt::For(looped) = stmt {
                looped.body.callees(&mut |callee| {
                    in_loops.insert(callee);
                });
            }
        });
    }
    let mut waiting: Vec<FunId> = in_loops.iter().copied().collect();
    while let Some(id) = waiting.pop() {
        module.functions[id.0].body.callees(&mut |callee| {
            if in_loops.insert(callee) {
                waiting.push(callee);
            }
        });
    }
    in_loops
}

/// Returns the functions whose loops are looked at.
fn chosen_functions(module: &Module, in_loops: &FxHashSet<FunId>) -> Vec<usize> {
    let is_chosen = |i: &usize| {
        let function = &module.functions[*i];
        let called = module.exported.contains(&FunId(*i)) || !in_loops.contains(&FunId(*i));
        called && !function.c_wrapper && !function.cold && !function.recursive
    };
    (0..module.functions.len()).filter(is_chosen).collect()
}

impl<'a> Planner<'a> {
    /// Returns how to divide loops, by the locals that are their indices.
    fn plan_function(
        id: FunId,
        module: &'a Module,
        world: &'a World,
        is_part: bool,
        analyses: &mut Analyses,
    ) -> FxHashMap<Local, Plan> {
        let function = &module.functions[id.0];
        let aliases = analyses.aliases(id, function, &world.effects.summaries);
        let likely = function.body.likely_conditions();
        let once = single_iterations(function);
        let (before, plans) = (vec![], FxHashMap::default());
        let mut planner =
            Planner { module, world, function, aliases, likely, once, before, is_in_loop: false, is_part, plans };
        planner.plan_block(&function.body);
        planner.plans
    }

    fn plan_block(&mut self, block: &'a Block) {
        for (i, stmt) in block.stmts.iter().enumerate() {
            self.before.push(&block.stmts[..i]);
            let plan = match stmt {
                Stmt::For(looped) if self.once.contains(&looped.index) => None,
                Stmt::For(looped) if self.function.passes_rows_on(looped) || only_fills(looped) => None,
                Stmt::For(looped) if !(self.is_part && is_short(looped)) => {
                    self.plan(looped).filter(|plan| plan.cost.is_worth_it(looped))
                }
                _ => None,
            };
            match (stmt, plan) {
                (Stmt::For(looped), Some(plan)) => {
                    self.plans.insert(looped.index, plan);
                }
                (Stmt::Bench { .. }, _) => {}
                // What runs in lanes is divided as a whole, or not at all.
                (Stmt::For(looped), None) if looped.lanes > 1 || self.independence(looped).is_some() => {}
                (Stmt::For(looped), None) => {
                    let outer = std::mem::replace(&mut self.is_in_loop, true);
                    self.plan_block(&looped.body);
                    self.is_in_loop = outer;
                }
                (Stmt::If(_, condition, then, _), _) if condition.local().is_some_and(|c| self.likely.contains(&c)) => {
                    self.plan_block(then);
                }
                (stmt, _) => stmt.blocks().for_each(|block| self.plan_block(block)),
            }
            self.before.pop();
        }
    }
}
