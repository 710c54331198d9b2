//! Computes the order of calls, and finds recursion.

use indexmap::IndexMap;
use lm::term::{Def, Derivative, Expr, Fun, FunName, Kind, Op, Program};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The functions that a term calls, or whose Jacobian it takes, in order, with repetitions.
pub fn calls(e: &Expr, out: &mut Vec<FunName>) {
    e.visit(|e| {
        let Kind::App(op, _) = e.kind() else { return };
        match op {
            Op::Call(f) => out.push(f.name.clone()),
            Op::JacobianOfFun(f) => out.push(f.name.derived(Derivative::D)),
            Op::JacobianAt(f) => out.push(f.name.derived(Derivative::SufRevPass)),
            Op::Tuple
            | Op::Get(..)
            | Op::If
            | Op::Assert
            | Op::Dummy
            | Op::Prim(_)
            | Op::JacobianOf(_)
            | Op::LmGet(..)
            | Op::Pack(_)
            | Op::Unpack(_) => {}
        }
    });
}

/// Returns a definition as a program, with what it needs of the known functions: those that it mentions, directly or
/// not, each after those from which it is derived. Both halves of a pair come together, since they share the record.
pub fn with_needed(def: &Def, known: &IndexMap<FunName, Def>, externals: &IndexMap<FunName, Arc<Fun>>) -> Program {
    let mut waiting = Vec::new();
    note(def, &mut waiting);
    let mut needed = Program::default();
    while let Some(name) = waiting.pop() {
        if needed.defs.contains_key(&name) || name == def.fun.name {
            continue;
        }
        if let Some(found) = known.get(&name) {
            note(found, &mut waiting);
            needed.defs.insert(name, found.clone());
        } else if let Some(external) = externals.get(&name) {
            needed.externals.insert(name, external.clone());
        }
    }
    let order = |name: &FunName| (name.derivations.len(), known.get_index_of(name));
    needed.defs.sort_by(|a, _, b, _| order(a).cmp(&order(b)));
    needed.defs.insert(def.fun.name.clone(), def.clone());
    needed
}

/// Collects the functions that a definition mentions, each with its origins.
fn note(def: &Def, names: &mut Vec<FunName>) {
    let mut called = vec![def.fun.name.clone()];
    calls(&def.body, &mut called);
    for name in called {
        if name.derivative() == Some(&Derivative::SufRevPass) {
            let of = name.without_derivatives(1);
            names.push(of.derived(Derivative::SufFwdPass));
        }
        for i in 0..=name.derivations.len() {
            names.push(name.without_derivatives(i));
        }
    }
}

/// Returns whether a function calls itself, directly or not.
pub fn is_recursive(program: &Program, name: &FunName) -> bool {
    let mut seen = FxHashSet::default();
    let mut waiting = vec![name.clone()];
    while let Some(caller) = waiting.pop() {
        let Some(def) = program.defs.get(&caller) else { continue };
        let mut called = Vec::new();
        calls(&def.body, &mut called);
        if called.contains(name) {
            return true;
        }
        waiting.extend(called.into_iter().filter(|callee| seen.insert(callee.clone())));
    }
    false
}

/// Returns the functions of a program, as written, that call derivatives of themselves, directly or through others.
/// Such a derivative has no definition: it would need derivatives of ever higher order. One that is written by hand is
/// a function like others.
pub fn deriving_themselves(program: &Program) -> FxHashSet<FunName> {
    let mut graph: DiGraphMap<usize, bool> = DiGraphMap::new();
    let number = |name: &FunName| program.defs.get_index_of(name);
    for (caller, def) in program.defs.values().enumerate() {
        let mut called = Vec::new();
        calls(&def.body, &mut called);
        for name in called {
            // The derivations that are not written by hand are made, from what is left.
            let made = (0..=name.derivations.len()).find(|n| number(&without(&name, *n)).is_some());
            let Some(made) = made else { continue };
            let is_derivative = name.derivations[..made].iter().any(Derivative::is_proper);
            let callee = number(&without(&name, made)).expect("just found");
            let before = graph.edge_weight(caller, callee).copied().unwrap_or(false);
            graph.add_edge(caller, callee, before || is_derivative);
        }
    }
    let groups = tarjan_scc(&graph);
    let group_of: FxHashMap<usize, usize> =
        groups.iter().enumerate().flat_map(|(number, group)| group.iter().map(move |&i| (i, number))).collect();
    let inside = graph.all_edges().filter(|(a, b, is_derivative)| **is_derivative && group_of[a] == group_of[b]);
    let guilty: FxHashSet<usize> = inside.map(|(a, ..)| group_of[&a]).collect();
    let members = guilty.into_iter().flat_map(|number| &groups[number]);
    members.map(|&i| program.defs.get_index(i).expect("it has a number").0.clone()).collect()
}

/// Returns the name without its n outermost derivations.
fn without(name: &FunName, n: usize) -> FunName {
    name.without_derivatives(n)
}
