//! Sums of what loops add up: where only the sum along an axis is needed, each step adds the sum of what it adds.
//!
//! ```text
//! sum (loop n s (λi s. s + e)) = loop n (sum s) (λi s. s + sum e)
//! ```
//!
//! So a loop around a loop does not keep an array for each of its iterations. The loop gets a further state; the one that
//! nothing reads any more is removed with other nodes like that.

use super::Builder;
use crate::ir::{Block, Fun, Id, Op};
use rustc_hash::FxHashSet;

impl Builder {
    /// Returns which states each step of a loop only adds to, if steps do not need what others made: the other states stay
    /// as they are. `is_small` tells whether a term may be there for all steps at once. `None` if there is no such state.
    pub fn added_states(
        &self,
        block: &Block,
        count: usize,
        is_small: &dyn Fn(&Builder, usize, Id) -> bool,
    ) -> Option<Vec<bool>> {
        let states = &block.parameters[1..];
        let added: Vec<bool> = states.iter().zip(&block.results).map(|(state, result)| state != result).collect();
        if block.results.len() > count || !added.contains(&true) {
            return None;
        }
        let mut known: FxHashSet<Id> =
            states.iter().zip(&added).filter(|(_, added)| **added).map(|(id, _)| *id).collect();
        for &id in &block.nodes {
            let node = self.node(id);
            let reads = |ids: &[Id]| ids.iter().any(|id| known.contains(id));
            if reads(&node.args) || reads(&node.dims) || node.op.blocks().iter().any(|block| self.reads(block, &known))
            {
                if self.may_stop(&node.op) {
                    return None;
                }
                known.insert(id);
            }
        }
        let is_added = |k: usize| self.is_added(block.results[k], states[k], &known, &|term| is_small(self, k, term));
        (0..count).all(|k| !added[k] || is_added(k)).then_some(added)
    }

    /// Returns whether an array is a state with terms added to it that are not made of states.
    fn is_added(&self, id: Id, state: Id, known: &FxHashSet<Id>, is_small: &dyn Fn(Id) -> bool) -> bool {
        if id == state {
            return true;
        }
        let node = self.node(id);
        let [x, y] = match &node.op {
            Op::Each(Fun::Add | Fun::Sub) => [node.args[0], node.args[1]],
            // Where a condition holds, one thing is added, and another elsewhere.
            Op::Each(Fun::Select) if !known.contains(&node.args[0]) => {
                let [x, y] = [node.args[1], node.args[2]];
                return self.is_added(x, state, known, is_small) && self.is_added(y, state, known, is_small);
            }
            Op::Scatter => {
                let is_free = node.args[1..].iter().all(|arg| !known.contains(arg));
                return is_free && self.is_added(node.args[0], state, known, is_small);
            }
            _ => return false,
        };
        match (known.contains(&x), known.contains(&y)) {
            (true, false) => is_small(y) && self.is_added(x, state, known, is_small),
            (false, true) if node.op == Op::Each(Fun::Add) => is_small(x) && self.is_added(y, state, known, is_small),
            _ => false,
        }
    }

    /// Returns whether a block reads some nodes.
    fn reads(&self, block: &Block, known: &FxHashSet<Id>) -> bool {
        let reads = |ids: &[Id]| ids.iter().any(|id| known.contains(id));
        reads(&block.results)
            || block.nodes.iter().map(|&id| self.node(id)).any(|node| {
                reads(&node.args) || reads(&node.dims) || node.op.blocks().iter().any(|block| self.reads(block, known))
            })
    }

    /// Returns whether a check is made.
    fn may_stop(&self, op: &Op) -> bool {
        let stops = |block: &Block| block.nodes.iter().any(|&id| self.may_stop(&self.node(id).op));
        matches!(op, Op::Check(_)) || op.blocks().iter().any(stops)
    }

    /// Returns the loop and the number of a state that each step only adds to, from zeros on, if an array is one.
    pub(super) fn accumulator(&self, part: Id) -> Option<(Id, usize)> {
        let Op::Part(k) = self.node(part).op else { return None };
        let id = self.node(part).args[0];
        let Op::Loop(block) = &self.node(id).op else { return None };
        let start = *self.node(id).args.get(1 + k)?;
        let state = block.parameters[1 + k];
        let readers = self.nodes.iter().filter(|node| node.args.contains(&state)).count();
        let is_added_to = readers == 1 && self.adds_to(block.results[k], state);
        (self.is_zero(start) && is_added_to).then_some((id, k))
    }

    fn adds_to(&self, id: Id, state: Id) -> bool {
        let (mut todo, mut seen) = (vec![id], FxHashSet::default());
        while let Some(id) = todo.pop() {
            if id == state {
                return true;
            }
            let node = self.node(id);
            if seen.insert(id) {
                match node.op {
                    Op::Each(Fun::Add) => todo.extend(&node.args),
                    Op::Each(Fun::Sub) | Op::Scatter => todo.push(node.args[0]),
                    _ => {}
                }
            }
        }
        false
    }

    /// Returns whether an array is a state that is being summed along an axis, and what was added to it.
    pub(super) fn has_sum_of_state(&self, id: Id, axis: usize) -> bool {
        let states = self.sums_of_states.keys().filter(|(_, along)| *along == axis);
        states.into_iter().any(|(state, _)| self.adds_to(id, *state))
    }

    /// Returns the sum of a state along an axis, as a state of its own.
    pub(super) fn sum_of_accumulator(&mut self, part: Id, axis: usize) -> Option<Id> {
        if let Some(&sum) = self.known_sums.get(&(part, axis)) {
            return Some(sum);
        }
        let (id, k) = self.accumulator(part)?;
        let home = self.scopes.len() - 1;
        let place = self.scopes[home].block.nodes.iter().position(|&node| node == id)?;
        let Op::Loop(block) = self.node(id).op.clone() else { unreachable!("a loop has states") };
        let states = self.node(id).args.len() - 1;
        let (state, result) = (block.parameters[1 + k], block.results[k]);
        let mut dims = self.dims(state);
        dims.remove(axis);
        let start = self.zeros(self.node(part).scalar, &dims);
        self.list_before(start, home, place);
        self.reopen((*block).clone(), false);
        let sum = self.parameter(self.node(part).scalar, dims.clone());
        self.sums_of_states.insert((state, axis), sum);
        let next = self.sum(result, axis);
        self.sums_of_states.remove(&(state, axis));
        let is_own = self.is_free_of(next, state, home + 1);
        let mut results = block.results.clone();
        results.insert(states, next);
        let changed = self.close(results);
        if !is_own {
            return None;
        }
        // What a step adds up of arrays outside of the loop is made, or was made, after it.
        let place = self.scopes[home].block.nodes.iter().position(|&node| node == id)?;
        self.list_before(next, home, place);
        let node = &mut self.nodes[id.index()];
        (node.op, node.args) = (Op::Loop(Box::new(changed)), [node.args.as_slice(), &[start]].concat());
        for node in &mut self.nodes {
            match &mut node.op {
                Op::Part(kept) if node.args[0] == id && *kept >= states => *kept += 1,
                _ => {}
            }
        }
        let sum = self.make(Op::Part(states), vec![id], self.node(part).scalar, dims);
        self.known_sums.insert((part, axis), sum);
        Some(sum)
    }

    /// Lists a node, and what it is made of, before a place of a block.
    fn list_before(&mut self, id: Id, block: usize, place: usize) {
        let (mut todo, mut parts) = (vec![id], FxHashSet::default());
        while let Some(id) = todo.pop() {
            if parts.insert(id) {
                let node = self.node(id);
                todo.extend(node.args.iter().chain(&node.dims));
            }
        }
        let nodes = &mut self.scopes[block].block.nodes;
        let (early, late): (Vec<Id>, Vec<Id>) = nodes.split_off(place).into_iter().partition(|id| parts.contains(id));
        nodes.extend(early.into_iter().chain(late));
    }

    /// Returns whether nothing inside of a block at a depth leads from a node to another.
    fn is_free_of(&self, id: Id, other: Id, depth: usize) -> bool {
        let (mut todo, mut seen) = (vec![id], FxHashSet::default());
        while let Some(id) = todo.pop() {
            if id == other {
                return false;
            }
            if self.depths[id.index()] >= depth && seen.insert(id) {
                let node = self.node(id);
                todo.extend(&node.args);
                let blocks: &[Block] = match &node.op {
                    Op::If(blocks) => &**blocks,
                    Op::Loop(block) => std::slice::from_ref(&**block),
                    _ => &[],
                };
                todo.extend(blocks.iter().flat_map(|block| &block.results));
            }
        }
        true
    }
}
