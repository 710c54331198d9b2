//! Who calls whom, and whether in circles.

use lm::term::{Expr, FunName, Kind, Op, Program};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

/// The functions that a term calls, or whose Jacobian it takes, in order, with repetitions.
pub fn calls(e: &Expr, out: &mut Vec<FunName>) {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => {}
        Kind::App(op, args) => {
            match op {
                Op::Call(f) => out.push(f.name.clone()),
                Op::JacobianOfFun(f) => out.push(f.name.derived("D")),
                Op::Tuple
                | Op::Get(..)
                | Op::If
                | Op::Assert
                | Op::Dummy
                | Op::Prim(_)
                | Op::JacobianOf(_)
                | Op::LmGet(..) => {}
            }
            args.iter().for_each(|a| calls(a, out));
        }
        Kind::Let(bindings, body) => {
            bindings.iter().for_each(|b| calls(&b.rhs, out));
            calls(body, out);
        }
        Kind::Lam(_, body) => calls(body, out),
    }
}

/// The derivatives of its callees that a derivation ends up calling: where they are written by hand,
/// the callees are not looked into.
pub fn written_for(derivation: &str) -> impl Iterator<Item = &'static str> {
    let (fwd, rev) = match derivation {
        "fwd" | "jvp" => (true, false),
        "rev" | "vjp" | "suffwdpass" | "sufrevpass" | "sufrev" => (false, true),
        _ => (true, true),
    };
    fwd.then_some("fwd").into_iter().chain(rev.then_some("rev"))
}

/// A function that calls itself, directly or not, and is called by `from`, directly or not; paths
/// end at functions whose derivatives for this derivation are written in the program.
pub fn cycle_below(program: &Program, from: &FunName, derivation: &str) -> Option<FunName> {
    let mut graph = DiGraphMap::<usize, ()>::new();
    let mut waiting = vec![from.clone()];
    while let Some(name) = waiting.pop() {
        let Some((caller, _, def)) = program.defs.get_full(&name) else { continue };
        if !graph.contains_node(caller) {
            graph.add_node(caller);
        }
        let mut called = Vec::new();
        calls(&def.body, &mut called);
        for callee in called {
            let Some(index) = program.defs.get_index_of(&callee) else { continue };
            if written_for(derivation).all(|d| program.has(&callee.derived(d))) {
                continue;
            }
            if !graph.contains_node(index) {
                waiting.push(callee);
            }
            graph.add_edge(caller, index, ());
        }
    }
    let in_cycle = |scc: &Vec<usize>| scc.len() > 1 || graph.contains_edge(scc[0], scc[0]);
    let cycle = tarjan_scc(&graph).into_iter().find(in_cycle)?;
    let first = cycle.into_iter().min()?;
    program.defs.get_index(first).map(|(name, _)| name.clone())
}
