//! Removes nodes that nothing reads, and states of loops that nothing reads. Checks stay, and what they read.

use crate::ir::{Block, Function, Id, Node, Op};
use rustc_hash::FxHashMap;

/// Removes nodes and states that no result and no check needs.
pub fn remove(function: &mut Function) {
    let mut search = Search::new(&function.nodes);
    search.need_block(&function.body);
    let (needed, loops) = (search.needed, search.loops);
    prune(&mut function.body, &needed);
    for k in 0..function.nodes.len() {
        let id = Id(k as u32);
        let args = function.nodes[k].args.clone();
        match &mut function.nodes[k].op {
            Op::If(blocks) => blocks.iter_mut().for_each(|block| prune(block, &needed)),
            Op::Loop(block) => {
                prune(block, &needed);
                let kept = &loops[&id];
                retain(&mut block.results, kept, 0);
                retain(&mut block.parameters, kept, 1);
                let args = args.into_iter().enumerate().filter(|(k, _)| *k == 0 || kept[k - 1]).map(|(_, arg)| arg);
                function.nodes[k].args = args.collect();
            }
            Op::Part(part) => {
                if let Some(kept) = loops.get(&args[0]) {
                    *part = kept[..*part].iter().filter(|kept| **kept).count();
                }
            }
            _ => {}
        }
    }
}

fn prune(block: &mut Block, needed: &[bool]) {
    block.nodes.retain(|id| needed[id.index()]);
}

/// Keeps what a loop has, after the first few, of the results that are needed.
fn retain(ids: &mut Vec<Id>, kept: &[bool], first: usize) {
    let mut k = 0;
    ids.retain(|_| {
        k += 1;
        k <= first || kept[k - 1 - first]
    });
}

/// The search for what is needed.
struct Search<'a> {
    nodes: &'a [Node],
    needed: Vec<bool>,
    /// Which results of each loop are needed: its states, then what it keeps.
    loops: FxHashMap<Id, Vec<bool>>,
    /// The loop of each state's parameter, and the state's number.
    states: FxHashMap<Id, (Id, usize)>,
}

impl Search<'_> {
    fn new(nodes: &[Node]) -> Search<'_> {
        let (mut loops, mut states) = (FxHashMap::default(), FxHashMap::default());
        for (k, node) in nodes.iter().enumerate() {
            if let Op::Loop(block) = &node.op {
                let id = Id(k as u32);
                loops.insert(id, vec![false; block.results.len()]);
                states.extend(block.parameters[1..].iter().enumerate().map(|(k, &state)| (state, (id, k))));
            }
        }
        Search { nodes, needed: vec![false; nodes.len()], loops, states }
    }

    /// Marks what a block needs: its results, its checks, and operations with blocks that have checks.
    fn need_block(&mut self, block: &Block) {
        block.results.iter().for_each(|&id| self.need(id));
        block.nodes.iter().filter(|&&id| stops(self.nodes, id)).for_each(|&id| self.need(id));
    }

    fn need(&mut self, id: Id) {
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            if std::mem::replace(&mut self.needed[id.index()], true) {
                continue;
            }
            let node = &self.nodes[id.index()];
            todo.extend(&node.dims);
            match &node.op {
                Op::Loop(block) => {
                    todo.extend([node.args[0], block.parameters[0]]);
                    todo.extend(block.nodes.iter().filter(|&&id| stops(self.nodes, id)));
                }
                Op::If(blocks) => {
                    todo.extend(&node.args);
                    for block in blocks.iter() {
                        todo.extend(block.results.iter().chain(&block.parameters));
                        todo.extend(block.nodes.iter().filter(|&&id| stops(self.nodes, id)));
                    }
                }
                Op::Part(k) if self.loops.contains_key(&node.args[0]) => {
                    todo.push(node.args[0]);
                    self.need_result(node.args[0], *k, &mut todo);
                }
                Op::Parameter => {
                    if let Some(&(of, k)) = self.states.get(&id) {
                        self.need_result(of, k, &mut todo);
                    }
                }
                _ => todo.extend(&node.args),
            }
        }
    }

    /// Marks a result of a loop as needed, and its state if it is one.
    fn need_result(&mut self, id: Id, k: usize, todo: &mut Vec<Id>) {
        let kept = self.loops.get_mut(&id).expect("a loop");
        if std::mem::replace(&mut kept[k], true) {
            return;
        }
        let node = &self.nodes[id.index()];
        let Op::Loop(block) = &node.op else { unreachable!("a loop") };
        todo.push(block.results[k]);
        if let Some(&start) = node.args.get(1 + k) {
            todo.extend([start, block.parameters[1 + k]]);
        }
    }
}

/// Returns whether a node may stop the program.
fn stops(nodes: &[Node], id: Id) -> bool {
    let any = |block: &Block| block.nodes.iter().any(|&id| stops(nodes, id));
    match &nodes[id.index()].op {
        Op::Check(_) => true,
        Op::If(blocks) => blocks.iter().any(any),
        Op::Loop(block) => any(block),
        _ => false,
    }
}
