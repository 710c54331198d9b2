//! Divides a function and its derivative in two, as JAX's `custom_vjp` wants them: what the value needs, and what the
//! gradient needs when the cotangent is known.
//!
//! ```text
//! vjp f (x, dr) = (y, dx)      forward x = (y, kept)      backward (x, dr, kept) = dx
//! ```
//!
//! What does not depend on the cotangent is forward. What the rest reads of it is kept, but for sizes and numbers.

use crate::ir::{Block, Function, Id, Op, Shape};
use crate::unused;

/// A function in two halves.
pub(super) struct Halves {
    /// Its results are those of the value, then what is kept.
    pub forward: Function,
    /// Its inputs are those of the derivative, then what is kept. Its results are those of the gradient.
    pub backward: Function,
    /// The number of results of the value.
    pub values: usize,
}

/// Returns the halves of a derivative `(y, dx)` whose first inputs, so many of them, are those of the function; `None`
/// where the value depends on the cotangent.
pub(super) fn halves(vjp: &Function, primal: usize) -> Option<Halves> {
    let Shape::Tuple(parts) = &vjp.result else { return None };
    let [value, _] = parts.as_slice() else { return None };
    let late = late(vjp, primal);
    let values = value.leaves().len();
    let (value, gradient) = vjp.body.results.split_at(values);
    if value.iter().any(|id| late[id.index()]) {
        return None;
    }
    let mut kept = Vec::new();
    let mut keep = |id: Id| {
        let node = vjp.node(id);
        let is_plain = matches!(node.op, Op::Constant(_) | Op::InputSize(..) | Op::Iota | Op::Input(_));
        if !late[id.index()] && !is_plain && !is_of_sizes(vjp, id) && !kept.contains(&id) {
            kept.push(id);
        }
    };
    let reads = |block: &Block, keep: &mut dyn FnMut(Id)| visit(vjp, block, &late, keep);
    reads(&vjp.body, &mut keep);
    gradient.iter().for_each(|&id| keep(id));
    // A node that is repeated is kept as it was before.
    let mut forward = vjp.clone();
    forward.body.nodes.retain(|id| !late[id.index()]);
    forward.body.results = value.iter().chain(&kept).copied().collect();
    unused::remove(&mut forward);
    let mut backward = vjp.clone();
    for (k, &id) in kept.iter().enumerate() {
        let node = &mut backward.nodes[id.index()];
        node.op = Op::Input(vjp.inputs.len() + k);
        node.args.clear();
    }
    backward.inputs.extend(&kept);
    let is_kept = |id: &Id| kept.contains(id);
    let may_stop = |id: &Id| matches!(vjp.node(*id).op, Op::Check(_) | Op::If(_) | Op::Loop(_));
    backward.body.nodes.retain(|id| late[id.index()] || is_kept(id) || !may_stop(id));
    backward.body.results = gradient.to_vec();
    unused::remove(&mut backward);
    Some(Halves { forward, backward, values })
}

/// Returns which nodes depend on inputs after the first.
fn late(function: &Function, primal: usize) -> Vec<bool> {
    let mut late = vec![false; function.nodes.len()];
    // A node reads earlier ones, and a block of it was made before it.
    for (k, node) in function.nodes.iter().enumerate() {
        let in_blocks = function
            .blocks(Id(k as u32))
            .iter()
            .any(|block| block.nodes.iter().chain(&block.results).any(|id| late[id.index()]));
        late[k] = match node.op {
            Op::Input(input) | Op::InputSize(input, _) => input >= primal,
            _ => in_blocks || node.args.iter().chain(&node.dims).any(|id| late[id.index()]),
        };
    }
    late
}

/// Visits what late nodes read, in inner blocks, too.
fn visit(function: &Function, block: &Block, late: &[bool], see: &mut dyn FnMut(Id)) {
    for &id in block.nodes.iter().filter(|id| late[id.index()]) {
        function.node(id).args.iter().for_each(|&arg| see(arg));
        function.blocks(id).iter().for_each(|inner| whole(function, inner, see));
    }
}

/// Visits what all nodes of a block read from outside of it.
fn whole(function: &Function, block: &Block, see: &mut dyn FnMut(Id)) {
    let mut own = Vec::new();
    inside(function, block, &mut own);
    let mut read = |id: Id| {
        if !own.contains(&id) {
            see(id);
        }
    };
    block.results.iter().for_each(|&id| read(id));
    let mut todo: Vec<&Block> = vec![block];
    while let Some(block) = todo.pop() {
        block.results.iter().for_each(|&id| read(id));
        for &id in &block.nodes {
            function.node(id).args.iter().for_each(|&arg| read(arg));
            todo.extend(function.blocks(id));
        }
    }
}

fn inside(function: &Function, block: &Block, own: &mut Vec<Id>) {
    own.extend(block.nodes.iter().chain(&block.parameters));
    for &id in &block.nodes {
        function.blocks(id).iter().for_each(|inner| inside(function, inner, own));
    }
}

/// Returns whether a node is made of sizes and numbers alone, which both halves can compute.
fn is_of_sizes(function: &Function, id: Id) -> bool {
    let node = function.node(id);
    match node.op {
        Op::Constant(_) | Op::InputSize(..) | Op::Iota => true,
        Op::Input(_) => node.dims.is_empty() && node.scalar == crate::ir::Scalar::Integer,
        Op::Each(_) | Op::Spread(_) | Op::Permute(_) => node.args.iter().all(|&arg| is_of_sizes(function, arg)),
        _ => false,
    }
}
