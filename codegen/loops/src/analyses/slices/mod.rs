//! Slices functions: keeps what the memory of a call depends on, and nothing else.
//!
//! ```text
//! alloc, release, slide                 stay
//! x = op a.., x = load b[i], ..         stays where x is used by what stays
//! store, add, zero, move to b           stays where what lies in b is read by what stays
//! if, for, call                         stays where something in it does
//! check a                               stays before a load, a store or a division that stays, and where a depends on
//!                                       numbers and sizes that were passed, and on nothing else
//! for i in a..b { s }                   one iteration, where all of them take and give back the same (`once`)
//! ```
//!
//! So a slice takes from an arena, and gives back, what the function would, in the same order: its peak is that of the
//! call. Where the function computes Floats, it does not. What sizes depend on is computed, whatever it is.
//!
//! Functions that are measured or hand the arena to functions of C have no slice, nor what calls them: a C function may
//! take what it likes.

mod cut;
mod facts;
mod needs;
mod once;

use crate::analyses::cache::summaries;
use crate::ir::{Block, FunId, Function, Local, Memory, Module, Operand, Stmt};
use cut::Cut;
use needs::Needs;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// A module with the slices of some of its functions behind them.
#[derive(Debug)]
pub struct Slices {
    /// All functions, with the numbers that they had, then the slices.
    pub module: Module,
    /// The slice of each requested function, if there is one.
    pub queries: Vec<Option<Query>>,
    /// For each slice, the function that it was cut out of, by number.
    pub origins: FxHashMap<usize, usize>,
    /// Whether a slice writes to the arena; otherwise none looks at what lies there.
    pub touches: bool,
}

/// A slice to be called from outside.
#[derive(Clone, Debug)]
pub struct Query {
    /// The slice.
    pub function: FunId,
    /// Which of the function's parameters it gets.
    pub params: Vec<usize>,
    /// Whether it needs memory for an arena, or only numbers that look like one.
    pub touches: bool,
}

/// A function whose slice is asked for.
pub struct Wanted {
    /// The function.
    pub function: FunId,
    /// Its parameters, all of them Bools, that are known to be false.
    pub absent: Vec<usize>,
}

impl Slices {
    /// Returns the slices of functions of a module that all passes are done with.
    pub fn of(module: &Module, wanted: &[Option<Wanted>]) -> Slices {
        let mut functions = module.functions.clone();
        let mut all = BTreeSet::new();
        let mut roots = vec![];
        for root in wanted {
            let reached = root.as_ref().map(|root| (root.function, reachable(&functions, root.function)));
            let sliced = reached.filter(|(_, reached)| !reached.iter().any(|i| is_opaque(&functions[*i])));
            if let (Some(root), Some((_, reached))) = (root, &sliced) {
                specialise(&mut functions[root.function.0], &root.absent);
                all.extend(reached);
            }
            roots.push(sliced.map(|(function, _)| function));
        }
        let summaries = summaries(module);
        let mut cut = Cut::new(module, Needs::solve(&functions, &all, &summaries));
        let queries: Vec<_> = roots.into_iter().map(|root| root.map(|root| cut.query(&functions, root))).collect();
        let Cut { mut module, origins, .. } = cut;
        once::once(&mut module, &origins);
        let touching = touching(&module, &origins);
        let touches = !touching.is_empty();
        let told = |query: Query| {
            let reached = reachable(&module.functions, query.function);
            let is_one = |i: &usize| touching.contains(i) || touches && slides(&module.functions[*i]);
            Query { touches: reached.iter().any(is_one), ..query }
        };
        let queries = queries.into_iter().map(|query| query.map(told)).collect();
        Slices { module, queries, origins, touches }
    }
}

fn reachable(functions: &[Function], root: FunId) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![root.0];
    while let Some(i) = waiting.pop() {
        if reached.insert(i) {
            functions[i].body.visit(&mut |stmt| {
                if let Stmt::Call(_, callee, _) = stmt {
                    waiting.push(callee.0);
                }
            });
        }
    }
    reached
}

/// Returns whether only a call can tell how much memory the function takes.
fn is_opaque(function: &Function) -> bool {
    let mut opaque = false;
    function.body.visit(&mut |stmt| {
        opaque |= match stmt {
            Stmt::Bench { .. } => true,
            Stmt::External { .. } => stmt.takes_memory(),
            _ => false,
        };
    });
    opaque
}

/// Returns those of the slices that write to memory which is not on the stack.
fn touching(module: &Module, origins: &FxHashMap<usize, usize>) -> FxHashSet<usize> {
    let touches = |function: &Function| {
        let mut stacks = FxHashSet::default();
        function.body.visit(&mut |stmt| {
            if let Stmt::Memory(Memory::Stack(x, _)) = stmt {
                stacks.insert(*x);
            }
        });
        let mut touches = false;
        function.body.visit(&mut |stmt| {
            touches |= stmt.writes().is_some_and(|b| !stacks.contains(&b));
        });
        touches
    };
    origins.keys().copied().filter(|i| touches(&module.functions[*i])).collect()
}

fn slides(function: &Function) -> bool {
    let mut slides = false;
    function.body.visit(&mut |stmt| slides |= matches!(stmt, Stmt::Memory(Memory::Slide(..))));
    slides
}

/// The function for a caller who has no storage for results.
fn specialise(function: &mut Function, absent: &[usize]) {
    let absent: FxHashSet<_> = absent.iter().map(|i| function.params[*i]).collect();
    function.body.change_operands(&mut |a| {
        if a.local().is_some_and(|x| absent.contains(&x)) {
            *a = Operand::Bool(false);
        }
    });
    let mut body = std::mem::take(&mut function.body);
    let mut known = FxHashMap::default();
    choose(&mut body, &mut known);
    function.body = body;
}

/// Replaces each conditional with a known condition by the arm that is taken.
fn choose(block: &mut Block, known: &mut FxHashMap<Local, Operand>) {
    for mut stmt in std::mem::take(&mut block.stmts) {
        stmt.operands_mut().into_iter().for_each(|a| replace(a, known));
        match stmt {
            Stmt::If(xs, Operand::Bool(taken), then, other) => {
                let mut arm = if taken { then } else { other };
                choose(&mut arm, known);
                known.extend(xs.into_iter().zip(arm.results));
                block.stmts.extend(arm.stmts);
            }
            mut stmt => {
                stmt.blocks_mut().for_each(|inner| choose(inner, known));
                block.stmts.push(stmt);
            }
        }
    }
    block.results.iter_mut().for_each(|a| replace(a, known));
}

fn replace(a: &mut Operand, known: &FxHashMap<Local, Operand>) {
    if let Some(other) = a.local().and_then(|x| known.get(&x)) {
        *a = other.clone();
    }
}
