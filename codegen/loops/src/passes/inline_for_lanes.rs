//! Inlines the functions that a loop calls, where nothing but the calls keeps the loop from running in lanes.
//!
//! ```text
//! for i { x = call f(a); s }     =     for i { s'[y := a]; s[x := r'] }                    fun f(y) { s'; yield r' }
//! ```
//!
//! Lanes have no calls: a function would have to be compiled for vectors, once for each way in which its parameters are
//! spread. A copy in the loop is just that, and the passes to come see both sides. `inline` takes short functions
//! before anything is known. This pass comes when untaken sides are gone, loops have been unrolled, and likely code is
//! told from unlikely code. So a function may be long here. But only loops get copies whose iterations are independent
//! (`independence`), of a nest the outermost, without a recursive function in them; and never code that is unlikely to
//! run.

use super::pass::ModuleCx;
use crate::analyses::alias::Aliases;
use crate::analyses::cache::Analyses;
use crate::analyses::independence::{FunctionEffects, Independence};
use crate::ir::inlined::{Inlined, body_of};
use crate::ir::{Block, For, FunId, Function, Local, LocalInfo, Module, Operand, Stmt};
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// A loop's body has no more statements than this with all that it calls.
const MOST_STATEMENTS: usize = 1_600;

pub(super) fn run(cx: &mut ModuleCx) {
    let module = &mut *cx.module;
    if module.vectors.floats == 1 {
        return;
    }
    for caller in module.callees_first() {
        let chosen = choose_loops(module, caller, cx.analyses);
        if chosen.is_empty() {
            continue;
        }
        let function = &mut module.functions[caller.0];
        let (mut body, mut locals) = (std::mem::take(&mut function.body), std::mem::take(&mut function.locals));
        LoopInliner { module, chosen: &chosen, locals: &mut locals, inlined: Inlined::default() }
            .inline_in_block(&mut body, false);
        let function = &mut module.functions[caller.0];
        (function.body, function.locals) = (body, locals);
    }
    module.drop_unused();
}

/// Returns the loops of a function whose calls go, by their indices.
fn choose_loops(module: &Module, id: FunId, analyses: &mut Analyses) -> FxHashSet<Local> {
    let function = &module.functions[id.0];
    let mut chosen = FxHashSet::default();
    let is_candidate = !function.c_wrapper && !function.cold && !function.recursive;
    if is_candidate && has_calls(&function.body) {
        let effects = FunctionEffects::of(module, analyses);
        let aliases = analyses.aliases(id, function, &effects.summaries);
        let likely = function.body.likely_conditions();
        CallChooser { module, function, aliases, effects, likely, chosen: &mut chosen }.choose_in_block(&function.body);
    }
    chosen
}

fn has_calls(block: &Block) -> bool {
    let mut has = false;
    block.callees(&mut |_| has = true);
    has
}

struct CallChooser<'a> {
    module: &'a Module,
    function: &'a Function,
    aliases: Rc<Aliases>,
    effects: FunctionEffects,
    likely: FxHashSet<Local>,
    chosen: &'a mut FxHashSet<Local>,
}

impl CallChooser<'_> {
    fn choose_in_block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::For(looped) if !has_calls(&looped.body) => {}
                Stmt::For(looped) if self.gains(looped) => drop(self.chosen.insert(looped.index)),
                Stmt::If(_, condition, then, other) => {
                    self.choose_in_block(then);
                    if condition.local().is_none_or(|c| !self.likely.contains(&c)) {
                        self.choose_in_block(other);
                    }
                }
                // What is measured is measured as it would run elsewhere.
                stmt => stmt.blocks().for_each(|block| self.choose_in_block(block)),
            }
        }
    }

    fn gains(&self, looped: &For) -> bool {
        let statements = full_length(self.module, &looped.body);
        statements.is_some_and(|n| n <= MOST_STATEMENTS)
            && Independence::of(self.function, &self.aliases, &self.effects, looped).is_ok()
    }
}

/// Returns how many statements a block has with all that it calls; none if one of that is recursive.
fn full_length(module: &Module, block: &Block) -> Option<usize> {
    let mut length = Some(block.len());
    block.callees(&mut |callee| {
        let function = &module.functions[callee.0];
        let of_callee = if function.recursive { None } else { full_length(module, &function.body) };
        length = length.zip(of_callee).map(|(a, b)| a + b);
    });
    length
}

struct LoopInliner<'a> {
    module: &'a Module,
    chosen: &'a FxHashSet<Local>,
    /// The locals of the caller.
    locals: &'a mut Vec<LocalInfo>,
    inlined: Inlined,
}

impl LoopInliner<'_> {
    /// `inside` of a chosen loop, all calls go.
    fn inline_in_block(&mut self, block: &mut Block, inside: bool) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.operands_mut().into_iter().for_each(|a| self.inlined.rename(a));
            let inside = inside || matches!(&stmt, Stmt::For(looped) if self.chosen.contains(&looped.index));
            stmt.blocks_mut().for_each(|block| self.inline_in_block(block, inside));
            match stmt {
                Stmt::Call(xs, callee, args) if inside => {
                    let body = self.inlined_body(callee, args);
                    self.inlined.put(body, xs, block);
                }
                stmt => block.stmts.push(stmt),
            }
        }
        block.results.iter_mut().for_each(|a| self.inlined.rename(a));
    }

    /// Returns the body of a callee, with all of its calls inlined.
    fn inlined_body(&mut self, callee: FunId, args: Vec<Operand>) -> Block {
        let mut body = body_of(&self.module.functions[callee.0], args, self.locals);
        self.inline_in_block(&mut body, true);
        body
    }
}
