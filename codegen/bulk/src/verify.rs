//! Checks that each block reads what is there: its own earlier nodes, and those of the blocks around it.

use crate::ir::{Block, Function, Id};

/// Panics where a function reads what is not there: that is a bug of the lowering.
pub fn verify(function: &Function) {
    let mut there = vec![false; function.nodes.len()];
    block(function, &function.body, &mut there);
}

fn block(function: &Function, b: &Block, there: &mut Vec<bool>) {
    let outer = there.clone();
    let need = |there: &[bool], by: Option<Id>, id: Id| {
        assert!(
            there[id.index()],
            "{}: {by:?} reads {id:?}, which is not there\n{}",
            function.name,
            crate::emit::text(function)
        );
    };
    b.parameters.iter().for_each(|id| there[id.index()] = true);
    for &id in &b.nodes {
        let node = function.node(id);
        node.args.iter().chain(&node.dims).for_each(|&read| need(there, Some(id), read));
        function.blocks(id).iter().for_each(|inner| block(function, inner, there));
        there[id.index()] = true;
    }
    b.results.iter().for_each(|&id| need(there, None, id));
    *there = outer;
}
