//! Who calls whom, and what follows from that.

use super::{Block, FunId, Module, Stmt};
use petgraph::graph::{DiGraph, NodeIndex};

impl Module {
    /// Finds anew which functions are recursive, and which allocate.
    pub fn mark(&mut self) {
        self.mark_recursive();
        self.mark_allocating();
    }

    /// A function is recursive when it stands on a cycle of calls.
    fn mark_recursive(&mut self) {
        let mut calls: DiGraph<(), ()> = DiGraph::new();
        self.functions.iter().for_each(|_| {
            calls.add_node(());
        });
        for (caller, function) in self.functions.iter().enumerate() {
            function.body.callees(&mut |callee| {
                calls.add_edge(NodeIndex::new(caller), NodeIndex::new(callee.0), ());
            });
        }
        for component in petgraph::algo::tarjan_scc(&calls) {
            let cyclic = component.len() > 1 || calls.contains_edge(component[0], component[0]);
            component.iter().for_each(|node| self.functions[node.index()].recursive = cyclic);
        }
    }

    /// A function allocates when it does itself, or calls one that does.
    fn mark_allocating(&mut self) {
        let mut changed = true;
        while changed {
            changed = false;
            // Callees mostly come later than their callers.
            for i in (0..self.functions.len()).rev() {
                let mut allocates = false;
                self.functions[i].body.visit(&mut |stmt| {
                    allocates |= match stmt {
                        Stmt::Call(_, callee, _) => self.functions[callee.0].allocates,
                        stmt => stmt.uses_arena(),
                    }
                });
                changed |= allocates != self.functions[i].allocates;
                self.functions[i].allocates = allocates;
            }
        }
    }
}

impl Block {
    /// Visits the functions that a block calls.
    pub fn callees(&self, visit: &mut impl FnMut(FunId)) {
        self.visit(&mut |stmt| {
            if let Stmt::Call(_, callee, _) = stmt {
                visit(*callee);
            }
        });
    }
}
