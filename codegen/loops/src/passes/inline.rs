//! Inlines functions that are small, or called once.
//!
//! ```text
//! x = call f(a)   with   fun f(y) -> (t) { s; yield r }     =     s[y := a], with locals of its own;  x := r[y := a]
//! ```
//!
//! So later passes see both sides of a call. What is small depends on where the call is, and on what the function does:
//! one that may change a part of an array may be longer. Recursive functions and wrappers for C are not inlined.
//! Functions without calls are then dropped. LLVM inlines, too, but knows less about the result.

use super::pass::ModuleCx;
use crate::ir::inlined::{Inlined, body_of};
use crate::ir::{Block, FunId, Function, Local, LocalInfo, Memory, Module, Op, Operand, Stmt};
use rustc_hash::FxHashSet;

/// A function of so many statements is small.
const SMALL: usize = 40;

/// A function of so many statements is small enough for a loop. An iteration with a call in it cannot run in lanes, and
/// loop-invariant code does not move out of the call.
const SMALL_IN_LOOPS: usize = 250;

/// A function of so many statements is small enough if it may change a part of an array that a loop of it carries. Then
/// the other half of a derivative must see it: only so is what a step overwrites recorded in place of whole states.
const SMALL_WITH_STATES: usize = 1_000;

/// No function grows beyond so many statements: the work that LLVM has grows faster than functions do.
const MOST_STATEMENTS: usize = 2_400;

/// But beyond so many, where these are functions that may change a part of an array: where a call of one stays, the
/// derivative is of another order.
const MOST_WITH_STATES: usize = 6_000;

/// Calls in so many loops, and of functions of so many statements, are inlined first, as long as a function may grow:
/// what runs most often, and costs least. So loops have no calls of small functions because of a long one elsewhere.
const DEPTHS: [usize; 4] = [3, 2, 1, 0];
const LENGTHS: [usize; 4] = [SMALL, 100, SMALL_IN_LOOPS, usize::MAX];

pub(super) fn run(cx: &mut ModuleCx) {
    let module = &mut *cx.module;
    let calls = count_calls(module);
    let mut with_states = vec![false; module.functions.len()];
    for caller in module.callees_first() {
        let function = &mut module.functions[caller.0];
        if function.c_wrapper {
            continue;
        }
        let (mut body, mut locals) = (std::mem::take(&mut function.body), std::mem::take(&mut function.locals));
        let recursive = function.recursive;
        let mut inliner = Inliner {
            module,
            calls: &calls,
            with_states: &with_states,
            locals: &mut locals,
            recursive,
            length: body.len(),
            least_depth: 0,
            longest: 0,
            loops: 0,
            inlined: Inlined::default(),
        };
        for (least_depth, longest) in DEPTHS.into_iter().flat_map(|depth| LENGTHS.map(|length| (depth, length))) {
            (inliner.least_depth, inliner.longest) = (least_depth, longest);
            inliner.inline_in_block(&mut body);
        }
        let function = &mut module.functions[caller.0];
        (function.body, function.locals) = (body, locals);
        with_states[caller.0] = changes_part_of_state(function);
    }
    module.drop_unused();
}

fn count_calls(module: &Module) -> Vec<usize> {
    let mut calls = vec![0; module.functions.len()];
    for function in &module.functions {
        function.body.callees(&mut |callee| calls[callee.0] += 1);
    }
    // One that is called from outside as well is called twice.
    module.exported.iter().for_each(|exported| calls[exported.0] += 1);
    calls
}

struct Inliner<'a> {
    module: &'a Module,
    /// How often each function is called.
    calls: &'a [usize],
    /// The functions, of those that it calls, that may change a part of an array that they carry.
    with_states: &'a [bool],
    /// The locals of the caller.
    locals: &'a mut Vec<LocalInfo>,
    /// Whether the caller is recursive: then its frame should stay small.
    recursive: bool,
    /// How many statements it has.
    length: usize,
    /// Calls in fewer loops than this wait for a later round.
    least_depth: usize,
    /// So do longer functions.
    longest: usize,
    /// How many loops there are around the block at hand.
    loops: usize,
    inlined: Inlined,
}

impl Inliner<'_> {
    fn inline_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.operands_mut().into_iter().for_each(|a| self.inlined.rename(a));
            let loops = usize::from(matches!(stmt, Stmt::For(_)));
            self.loops += loops;
            stmt.blocks_mut().for_each(|block| self.inline_in_block(block));
            self.loops -= loops;
            match stmt {
                Stmt::Call(xs, callee, args) if self.should_inline(callee) => {
                    let body = self.inlined_body(callee, args);
                    self.inlined.put(body, xs, block);
                }
                stmt => block.stmts.push(stmt),
            }
        }
        block.results.iter_mut().for_each(|a| self.inlined.rename(a));
    }

    fn should_inline(&self, callee: FunId) -> bool {
        let function = &self.module.functions[callee.0];
        let length = function.body.len();
        let small = if self.loops > 0 && !self.recursive { SMALL_IN_LOOPS } else { SMALL };
        let has_states = self.with_states[callee.0] && !self.recursive;
        let (small, most) = if has_states { (SMALL_WITH_STATES, MOST_WITH_STATES) } else { (small, MOST_STATEMENTS) };
        let wanted = length <= small || self.calls[callee.0] == 1 && !self.recursive;
        let now = self.loops >= self.least_depth && length <= self.longest;
        wanted && now && !function.recursive && !function.c_wrapper && self.length + length <= most
    }

    fn inlined_body(&mut self, callee: FunId, args: Vec<Operand>) -> Block {
        let function = &self.module.functions[callee.0];
        self.length += function.body.len();
        body_of(function, args, self.locals)
    }
}

/// Returns whether a loop that carries buffers makes states that may differ from the last one in a few elements only.
fn changes_part_of_state(function: &Function) -> bool {
    let is_buffer = |x: &Local| function.locals[x.0 as usize].ty.as_scalar().is_none();
    let mut changes = false;
    function.body.visit(&mut |stmt| {
        if let Stmt::For(looped) = stmt
            && looped.carried.iter().any(|(x, _)| is_buffer(x))
        {
            changes |= chooses_elements(&looped.body);
        }
    });
    changes
}

/// Returns whether a loop of the step compares its index with something, or the step adds to an element of a buffer that
/// it made.
fn chooses_elements(step: &Block) -> bool {
    let (mut indices, mut made) = (FxHashSet::default(), FxHashSet::default());
    let mut chooses = false;
    step.visit(&mut |stmt| match stmt {
        Stmt::For(looped) => drop(indices.insert(looped.index)),
        Stmt::Memory(Memory::Alloc { buffer, .. }) => drop(made.insert(*buffer)),
        Stmt::Memory(Memory::Add(b, i, _)) => {
            let is_own = b.local().is_some_and(|b| made.contains(&b));
            chooses |= is_own && !i.local().is_some_and(|i| indices.contains(&i));
        }
        Stmt::Let(_, Op::EqI | Op::LtI | Op::LeI, args) => {
            chooses |= args.iter().filter_map(Operand::local).any(|x| indices.contains(&x));
        }
        _ => {}
    });
    chooses
}
