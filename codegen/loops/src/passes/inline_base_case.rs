//! Inlines the base case of a recursion into the caller.
//!
//! ```text
//! fun f(y) { p; r = if c { b } else { s }; yield r }      where s calls f, and b calls nothing
//!
//! x = call f(a), in s      =      p; x = if c { b } else { call f(a) },  with y := a, and locals of their own
//! ```
//!
//! A recursion that branches spends most of its calls on base cases: k - 1 of k calls if a function calls itself k
//! times. There a call costs more than its work: arguments, a check of the stack, the status. Other calls run the test
//! twice, and the processor predicts the second result. So the pass takes functions that call themselves more than
//! once, or in a loop. p and b must be short, take nothing from the arena and have no loops, and p must write nothing.
//! If the recursion goes on, p runs in the caller and again in the callee. Unlikely code stays.
//!
//! Checks in p and b come in their order, where the call was.

use super::pass::FunctionCx;
use crate::ir::{Block, Builder, FunId, Function, Local, LocalInfo, Memory, Op, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// So many statements are short: about what a call takes itself.
const SHORT: usize = 24;

/// A function does not grow beyond so many statements by this.
const MOST_STATEMENTS: usize = 400;

pub(super) fn run(cx: &mut FunctionCx) {
    let id = cx.id;
    if self_calls(&cx.function.body, id) < 2 {
        return;
    }
    let mut locals = std::mem::take(&mut cx.function.locals);
    cx.rewrite(|body, function| {
        if let Some(end) = BaseCase::find_in(function, body, &mut locals, id) {
            let likely = body.likely_conditions();
            let room = MOST_STATEMENTS.saturating_sub(body.len());
            Peeler { id, end, likely, locals: &mut locals, room }.inline_in_block(body);
        }
    });
    cx.function.locals = locals;
}

/// Returns how often a block calls a function, at most: in loops that is more than once.
fn self_calls(block: &Block, id: FunId) -> usize {
    let calls = |stmt: &Stmt| match stmt {
        Stmt::Call(_, callee, _) => usize::from(*callee == id),
        Stmt::For(looped) => 2 * self_calls(&looped.body, id),
        stmt => stmt.blocks().map(|block| self_calls(block, id)).max().unwrap_or(0),
    };
    block.stmts.iter().map(calls).sum()
}

/// The base case of a recursive function.
struct BaseCase {
    params: Vec<Local>,
    /// Ends with the conditional.
    block: Block,
    length: usize,
}

impl BaseCase {
    /// Returns the base case of a function, if the function begins with it.
    fn find_in(function: &Function, body: &Block, locals: &mut Vec<LocalInfo>, id: FunId) -> Option<BaseCase> {
        let at = body.stmts.iter().position(|stmt| matches!(stmt, Stmt::If(..)))?;
        let Stmt::If(results, condition, then, other) = &body.stmts[at] else { return None };
        let is_end = |block: &Block| block.stmts.iter().all(is_plain) && self_calls(block, id) == 0;
        let arms = [is_end(then), is_end(other)];
        let (before, behind) = (&body.stmts[..at], &body.stmts[at + 1..]);
        let gives_back = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Release(_)));
        if arms[0] == arms[1] || !before.iter().all(may_run_twice) || !behind.iter().all(gives_back) {
            return None;
        }
        // What is given may be known before the conditional.
        let given = |block: &Block, a: &Operand| {
            let place = results.iter().position(|x| a.local() == Some(*x));
            place.map_or_else(|| a.clone(), |place| block.results[place].clone())
        };
        let (ends, arm) = if arms[0] { (true, then) } else { (false, other) };
        let ended = Block { stmts: arm.stmts.clone(), results: body.results.iter().map(|a| given(arm, a)).collect() };
        let mut build = Builder { locals };
        let mut fresh = || -> Vec<Local> { function.results.iter().map(|ty| build.local(*ty)).collect() };
        let (called, all) = (fresh(), fresh());
        let args = function.params.iter().map(|x| (*x).into()).collect();
        let results = called.iter().map(|x| (*x).into()).collect();
        let goes_on = Block { stmts: vec![Stmt::Call(called, id, args)], results };
        let (then, other) = if ends { (ended, goes_on) } else { (goes_on, ended) };
        let mut stmts = before.to_vec();
        stmts.push(Stmt::If(all, condition.clone(), then, other));
        let block = without_marks(Block { stmts, results: vec![] });
        let length = block.len();
        (length <= SHORT).then(|| BaseCase { params: function.params.clone(), block, length })
    }
}

/// Removes marks and releases from a block that takes nothing from the arena.
fn without_marks(mut block: Block) -> Block {
    block.stmts.retain(|stmt| !matches!(stmt, Stmt::Memory(Memory::Mark(_) | Memory::Release(_))));
    block.stmts = block.stmts.into_iter().map(inside_without_marks).collect();
    block
}

fn inside_without_marks(mut stmt: Stmt) -> Stmt {
    for block in stmt.blocks_mut() {
        *block = without_marks(std::mem::take(block));
    }
    stmt
}

/// Returns whether a statement is one of a few instructions, that leaves the arena as it is.
fn is_plain(stmt: &Stmt) -> bool {
    use Memory::{Add, Cast, Load, Mark, Release, Store, View};
    match stmt {
        Stmt::Let(_, op, _) => !op.is_libm() && *op != Op::Chunk,
        Stmt::Check { .. } => true,
        Stmt::Memory(memory) => {
            matches!(memory, Load(..) | Store(..) | Add(..) | View(..) | Cast(..) | Mark(_) | Release(_))
        }
        Stmt::If(_, _, then, other) => then.stmts.iter().chain(&other.stmts).all(is_plain),
        Stmt::For(_) | Stmt::Call(..) | Stmt::External { .. } | Stmt::Write(_) | Stmt::Bench { .. } => false,
    }
}

/// Returns whether a statement is plain, and does the second time what it did the first time.
fn may_run_twice(stmt: &Stmt) -> bool {
    is_plain(stmt) && !matches!(stmt, Stmt::If(..) | Stmt::Memory(Memory::Store(..) | Memory::Add(..)))
}

struct Peeler<'a> {
    id: FunId,
    end: BaseCase,
    likely: FxHashSet<Local>,
    locals: &'a mut Vec<LocalInfo>,
    /// How many statements may be added.
    room: usize,
}

impl Peeler<'_> {
    fn inline_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            match stmt {
                Stmt::Call(xs, callee, args) if callee == self.id && self.end.length <= self.room => {
                    self.room -= self.end.length;
                    block.stmts.extend(self.inline_call(xs, args));
                    continue;
                }
                Stmt::If(_, ref condition, ref mut then, ref mut other) => {
                    let is_likely = condition.local().is_some_and(|c| self.likely.contains(&c));
                    self.inline_in_block(then);
                    if !is_likely {
                        self.inline_in_block(other);
                    }
                }
                ref mut stmt => stmt.blocks_mut().for_each(|block| self.inline_in_block(block)),
            }
            block.stmts.push(stmt);
        }
    }

    /// Returns the statements that replace a call.
    fn inline_call(&mut self, xs: Vec<Local>, args: Vec<Operand>) -> Vec<Stmt> {
        let given: FxHashMap<Local, Operand> = self.end.params.iter().copied().zip(args).collect();
        let mut stmts = self.end.block.copy(self.locals, given).stmts;
        let Some(Stmt::If(results, ..)) = stmts.last_mut() else { unreachable!("it ends with the conditional") };
        *results = xs;
        stmts
    }
}
