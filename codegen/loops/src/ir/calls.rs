//! Walks the graph of calls, and marks what follows from it: recursive functions, and those that take memory.

use super::{Block, FunId, Module, Stmt};
use petgraph::graph::{DiGraph, NodeIndex};

impl Module {
    /// Returns the functions in an order in which those that a function calls come before it, but for recursion.
    pub fn callees_first(&self) -> Vec<FunId> {
        let components = petgraph::algo::tarjan_scc(&self.calls());
        components.into_iter().flatten().map(|node| FunId(node.index())).collect()
    }

    /// Drops the functions without calls. The others keep their order.
    pub fn drop_unused(&mut self) {
        let mut used = vec![false; self.functions.len()];
        let mut waiting = self.exported.clone();
        while let Some(function) = waiting.pop() {
            if !std::mem::replace(&mut used[function.0], true) {
                self.functions[function.0].body.callees(&mut |callee| waiting.push(callee));
            }
        }
        let mut next = 0..;
        let numbers: Vec<Option<FunId>> =
            used.iter().map(|used| used.then(|| FunId(next.next().expect("numbers do not end")))).collect();
        let new = |old: FunId| numbers[old.0].expect("what is called is used");
        let mut used = used.into_iter();
        self.functions.retain(|_| used.next().expect("there is one for each"));
        self.functions.iter_mut().for_each(|function| function.body.renumber(&new));
        self.exported.iter_mut().for_each(|function| *function = new(*function));
    }

    fn calls(&self) -> DiGraph<(), ()> {
        let mut calls: DiGraph<(), ()> = DiGraph::new();
        self.functions.iter().for_each(|_| {
            calls.add_node(());
        });
        for (caller, function) in self.functions.iter().enumerate() {
            function.body.callees(&mut |callee| {
                calls.add_edge(NodeIndex::new(caller), NodeIndex::new(callee.0), ());
            });
        }
        calls
    }

    /// Returns, for each function, whether one call of an exported function may run it repeatedly. Such a function is
    /// recursive, called in a loop, or called by a repeated one. Several separate calls do not count.
    pub fn repeated(&self) -> Vec<bool> {
        let mut repeated: Vec<bool> = self.functions.iter().map(|function| function.recursive).collect();
        for caller in self.callees_first().into_iter().rev() {
            let often = repeated[caller.0];
            self.functions[caller.0].body.calls_at_pace(often, &mut |callee, often| repeated[callee.0] |= often);
        }
        repeated
    }

    /// Finds anew which functions are recursive, and which allocate.
    pub fn mark(&mut self) {
        self.mark_recursive();
        self.mark_allocating();
    }

    /// Marks the functions on cycles of calls as recursive.
    fn mark_recursive(&mut self) {
        let calls = self.calls();
        for component in petgraph::algo::tarjan_scc(&calls) {
            let cyclic = component.len() > 1 || calls.contains_edge(component[0], component[0]);
            component.iter().for_each(|node| self.functions[node.index()].recursive = cyclic);
        }
    }

    /// A function needs the arena when it looks at it itself, or calls one that does.
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
    fn renumber(&mut self, new: &impl Fn(FunId) -> FunId) {
        for stmt in &mut self.stmts {
            if let Stmt::Call(_, callee, _) = stmt {
                *callee = new(*callee);
            }
            stmt.blocks_mut().for_each(|block| block.renumber(new));
        }
    }

    /// Visits the functions that a block calls, with whether they are called in a loop, or all of it is repeated.
    fn calls_at_pace(&self, often: bool, visit: &mut impl FnMut(FunId, bool)) {
        for stmt in &self.stmts {
            if let Stmt::Call(_, callee, _) = stmt {
                visit(*callee, often);
            }
            let often = often || matches!(stmt, Stmt::For(_) | Stmt::Bench { .. });
            stmt.blocks().for_each(|block| block.calls_at_pace(often, visit));
        }
    }

    /// Visits the functions that a block calls.
    pub fn callees(&self, visit: &mut impl FnMut(FunId)) {
        self.visit(&mut |stmt| {
            if let Stmt::Call(_, callee, _) = stmt {
                visit(*callee);
            }
        });
    }
}
