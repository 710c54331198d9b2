//! Finds the parameters that a function writes to, directly or by its callees, and those that it gives back.

use super::{Aliases, Summary, is_buffer};
use crate::analyses::roots::{Root, Roots};
use crate::ir::{FunId, Function, Local, Memory, Module, Operand, Stmt};
use petgraph::Direction;
use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Finds a summary of each function, callees first.
///
/// A function is analysed again only if the result for one of its callees has changed since. Such a callee is
/// recursive, or calls a recursive function.
pub fn settled(module: &Module, mut found: impl FnMut(FunId, &Function, &[Summary]) -> Summary) -> Vec<Summary> {
    let calls = calls(module);
    let order: Vec<usize> = tarjan_scc(&calls).into_iter().flatten().map(|node| node.index()).collect();
    let mut summaries = vec![Summary::default(); module.functions.len()];
    let mut is_waiting = vec![true; summaries.len()];
    while is_waiting.contains(&true) {
        for i in &order {
            if !std::mem::take(&mut is_waiting[*i]) {
                continue;
            }
            let new = found(FunId(*i), &module.functions[*i], &summaries);
            debug_assert!(summaries[*i].is_part_of(&new), "the summary of {} shrinks", module.functions[*i].name);
            if new != summaries[*i] {
                summaries[*i] = new;
                let callers = calls.neighbors_directed((*i as u32).into(), Direction::Incoming);
                callers.for_each(|caller| is_waiting[caller.index()] = true);
            }
        }
    }
    summaries
}

/// Makes the graph of calls: an edge goes from each function to each that it calls.
fn calls(module: &Module) -> DiGraph<(), ()> {
    let mut calls = DiGraph::new();
    let numbers: Vec<_> = module.functions.iter().map(|_| calls.add_node(())).collect();
    for (i, function) in module.functions.iter().enumerate() {
        for callee in callees(function) {
            calls.add_edge(numbers[i], numbers[callee], ());
        }
    }
    calls
}

fn callees(function: &Function) -> BTreeSet<usize> {
    let mut callees = BTreeSet::new();
    function.body.visit(&mut |stmt| {
        if let Stmt::Call(_, callee, _) = stmt {
            callees.insert(callee.0);
        }
    });
    callees
}

/// Finds the summary of a function, given those of its callees: it grows as theirs do.
///
/// What is written through `b after slide` is no parameter. Lowering sets the addresses in a table right only where it
/// slid, so where it was taken since the mark; elsewhere it adds only to what it made. The roots of the table are also
/// those of what would not have slid.
pub fn summary(function: &Function, aliases: &Aliases, summaries: &[Summary]) -> Summary {
    let mut written = Roots::new();
    let mut slid = FxHashSet::default();
    function.body.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Slid { target, .. }) = stmt {
            slid.insert(*target);
        }
        let changed = stmt.writes().filter(|x| !slid.contains(x));
        changed.into_iter().for_each(|x| written.extend(aliases.roots(x)));
        stmt.hands_over(summaries).into_iter().for_each(|x| written.extend(&aliases.reach(x)));
    });
    let mut given_back = Roots::new();
    let results = function.body.results.iter().filter_map(Operand::local);
    results.filter(|x| is_buffer(function, *x)).for_each(|x| given_back.extend(&aliases.reach(x)));
    let params_of = |roots: &Roots| {
        let is_root = |x: &Local| roots.contains(&Root::Made(*x)) || roots.contains(&Root::Inside(*x));
        let params = function.params.iter().enumerate();
        params.filter(|(_, x)| is_buffer(function, **x) && is_root(x)).map(|(i, _)| i).collect()
    };
    Summary { written: params_of(&written), given_back: params_of(&given_back) }
}
