//! Finds along which axes the text of a node has elements of its own.
//!
//! Along other axes it has one, or none where no axis before has several: NumPy and JAX repeat it where it is read.

use crate::ir::{Function, Op};

/// Returns for each node which of its axes are there.
pub(super) fn thick(function: &Function) -> Vec<Vec<bool>> {
    let mut all: Vec<Vec<bool>> = Vec::with_capacity(function.nodes.len());
    // A node reads earlier ones.
    for node in &function.nodes {
        let rank = node.dims.len();
        let arg = |k: usize| &all[node.args[k].index()];
        all.push(match &node.op {
            Op::Each(_) => (0..rank).map(|axis| (0..node.args.len()).any(|k| arg(k)[axis])).collect(),
            Op::Spread(axes) => {
                let mut thick = vec![false; rank];
                axes.iter().zip(arg(0)).for_each(|(&axis, &one)| thick[axis] = one);
                thick
            }
            Op::Reduce(_, axis) if arg(0)[*axis] => {
                let mut thick = arg(0).clone();
                thick.remove(*axis);
                thick
            }
            _ => vec![true; rank],
        });
    }
    all
}
