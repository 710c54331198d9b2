//! Removes nodes that nothing reads. Checks stay, and what they read.

use crate::ir::{Block, Function, Id, Node, Op};

/// Removes nodes that no result and no check needs.
pub fn remove(function: &mut Function) {
    let mut needed = vec![false; function.nodes.len()];
    need_block(&function.nodes, &function.body, &mut needed);
    prune(&mut function.body, &needed);
    for k in 0..function.nodes.len() {
        match &mut function.nodes[k].op {
            Op::If(blocks) => blocks.iter_mut().for_each(|block| prune(block, &needed)),
            Op::Loop(block) => prune(block, &needed),
            _ => {}
        }
    }
}

fn prune(block: &mut Block, needed: &[bool]) {
    block.nodes.retain(|id| needed[id.index()]);
}

/// Marks what a block needs: its results, its checks, and operations with blocks that have checks.
fn need_block(nodes: &[Node], block: &Block, needed: &mut [bool]) {
    block.results.iter().for_each(|&id| need(nodes, id, needed));
    for &id in &block.nodes {
        if stops(nodes, id) {
            need(nodes, id, needed);
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

fn need(nodes: &[Node], id: Id, needed: &mut [bool]) {
    let mut todo = vec![id];
    while let Some(id) = todo.pop() {
        if std::mem::replace(&mut needed[id.index()], true) {
            continue;
        }
        let node = &nodes[id.index()];
        todo.extend(node.args.iter().chain(&node.dims));
        let blocks: &[Block] = match &node.op {
            Op::If(blocks) => &**blocks,
            Op::Loop(block) => std::slice::from_ref(&**block),
            _ => &[],
        };
        for block in blocks {
            todo.extend(block.results.iter().chain(&block.parameters));
            todo.extend(block.nodes.iter().filter(|&&id| stops(nodes, id)));
        }
    }
}
