//! Makes nodes: equal ones once, each in the outermost block that has what it reads.
//!
//! What a node is made of goes through the laws of this folder first. A node leaves loops that it
//! does not depend on. It stays in the branch of a conditional, since only one branch runs.

mod accumulators;
mod folds;
mod indices;
mod integers;
mod laws;
mod products;
mod scatters;

use crate::ir::{Block, Failure, Fun, Id, Node, Op, Scalar};
use crate::rules::Rule;
use lm::term::{Constant, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

pub use integers::Line;

/// The nodes of a function under construction.
#[derive(Default)]
pub struct Builder {
    pub(crate) nodes: Vec<Node>,
    scopes: Vec<Scope>,
    /// The depth of the block of each node.
    depths: Vec<usize>,
    /// Whether each node is zeros with some of its elements added to.
    sparse: Vec<bool>,
    known: FxHashMap<Key, Id>,
    /// Sizes that are known to be equal to others, each with the depth of the block whose check says so.
    same: FxHashMap<Id, (Id, usize)>,
    /// Conditions that hold within the bounds of a loop.
    pub(crate) bounds: FxHashSet<Id>,
    /// The steps of loops, with their numbers: a step is below that.
    pub(crate) steps: FxHashMap<Id, Id>,
    /// States of loops that are being summed along an axis, and what stands for their sums.
    sums_of_states: FxHashMap<(Id, usize), Id>,
    /// Sums of parts of loops along an axis that are parts, too.
    known_sums: FxHashMap<(Id, usize), Id>,
    /// What numbers depend on, as far as that was asked.
    sources: FxHashMap<Id, Source>,
    /// The first place where two sizes are taken to be one, and nothing says so.
    pub(crate) unsure: Option<Span>,
    /// Whether the program is to be differentiated.
    pub(crate) for_derivation: bool,
    /// The place of what is being lowered.
    pub(crate) span: Span,
    /// The rules that were taken, each with its place.
    rules: FxHashSet<(Rule, Span)>,
    /// The same, in order.
    pub(crate) taken: Vec<(Rule, Span)>,
}

/// A block under construction.
struct Scope {
    block: Block,
    /// Whether it runs under a condition, so that its nodes stay in it.
    conditional: bool,
    /// What was learned in it, and holds in it only.
    keys: Vec<Key>,
    sizes: Vec<Id>,
}

/// What a number depends on at most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Sizes,
    /// Sizes and Integer inputs.
    Integers,
    Data,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    op: Op,
    args: Vec<Id>,
    dims: Vec<Id>,
}

/// Returns whether nodes with the same operation and arguments are the same. Those with blocks never are.
fn is_shared(op: &Op) -> bool {
    !matches!(op, Op::Input(_) | Op::Parameter | Op::If(_) | Op::Loop(_) | Op::Part(_))
}

impl Builder {
    /// Returns a builder inside the block of a function, which is to be differentiated or not.
    pub fn new(for_derivation: bool) -> Builder {
        let mut builder = Builder { for_derivation, ..Builder::default() };
        builder.open(false);
        builder
    }

    /// Notes that a rule was taken.
    pub fn by(&mut self, rule: Rule) {
        if self.rules.insert((rule, self.span)) {
            self.taken.push((rule, self.span));
        }
    }

    /// Returns a node.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id.index()]
    }

    /// Returns the sizes of a node.
    pub fn dims(&self, id: Id) -> Vec<Id> {
        self.node(id).dims.clone()
    }

    /// Returns the number of dimensions of a node.
    pub fn rank(&self, id: Id) -> usize {
        self.node(id).dims.len()
    }

    /// Begins a block inside the present one.
    pub fn open(&mut self, conditional: bool) {
        let (block, keys, sizes) = (Block::default(), Vec::new(), Vec::new());
        self.scopes.push(Scope { block, conditional, keys, sizes });
    }

    /// Ends the present block.
    pub fn close(&mut self, results: Vec<Id>) -> Block {
        let scope = self.scopes.pop().expect("a block is open");
        for key in &scope.keys {
            self.known.remove(key);
        }
        for size in &scope.sizes {
            self.same.remove(size);
        }
        Block { results, ..scope.block }
    }

    /// Goes on with a block that was closed.
    pub fn reopen(&mut self, block: Block, conditional: bool) {
        self.scopes.push(Scope { block, conditional, keys: Vec::new(), sizes: Vec::new() });
    }

    /// Returns a new parameter of the present block.
    pub fn parameter(&mut self, scalar: Scalar, dims: Vec<Id>) -> Id {
        let depth = self.scopes.len() - 1;
        let id = self.push(Op::Parameter, vec![], scalar, dims, depth, false);
        self.scopes[depth].block.parameters.push(id);
        id
    }

    /// Gives a node a name, if it has none and is no constant.
    pub fn name(&mut self, id: Id, name: &Arc<str>) {
        let node = &mut self.nodes[id.index()];
        let may = !matches!(node.op, Op::Constant(_) | Op::Input(_) | Op::InputSize(..));
        if may && node.name.is_none() {
            node.name = Some(name.clone());
        }
    }

    /// Returns an input of the function, with a size for each dimension where that is known.
    pub fn input(&mut self, number: usize, scalar: Scalar, sizes: &[Option<i64>]) -> Id {
        let size = |(axis, known): (usize, &Option<i64>)| match known {
            Some(n) => self.integer(*n),
            None => self.make(Op::InputSize(number, axis), vec![], Scalar::Integer, vec![]),
        };
        let dims = sizes.iter().enumerate().map(size).collect();
        self.push(Op::Input(number), vec![], scalar, dims, 0, true)
    }

    /// Returns the size that stands for all that equal it.
    pub fn size(&self, id: Id) -> Id {
        let mut id = id;
        while let Some(&(other, _)) = self.same.get(&id) {
            id = other;
        }
        id
    }

    /// Requires that two sizes are one, in this block, though the program does not ask for it. Derivatives do not see
    /// checks, so in a program that is to be differentiated they must be known to be one.
    pub fn assume_same(&mut self, a: Id, b: Id) -> Id {
        let (a, b) = (self.size(a), self.size(b));
        // Before all loops, a check is a part of the size (`raise`), unless that is a number.
        let is_kept = self.scopes.len() == 1 && !self.is_constant(a) && !self.is_constant(b);
        if a != b && !is_kept {
            self.unsure.get_or_insert(self.span);
        }
        self.require_same(a, b)
    }

    /// The same in the block of a loop. What is known before the loop is checked there, with the number of steps.
    pub fn assume_same_in_loop(&mut self, a: Id, b: Id) -> Id {
        let is_known_before = [a, b].iter().all(|&size| self.is_outer(self.size(size)));
        if is_known_before { self.require_same(a, b) } else { self.assume_same(a, b) }
    }

    /// Requires that two sizes are one. From here on they are, in this block.
    pub fn require_same(&mut self, a: Id, b: Id) -> Id {
        let (a, b) = (self.size(a), self.size(b));
        if a == b {
            return a;
        }
        let equal = self.each(Fun::Eq, &[a, b]);
        self.check(equal, Failure::Size);
        if self.is_constant(a) && self.is_constant(b) {
            // Nothing goes on after this check, so what follows must not leave the block.
            self.scopes.last_mut().expect("a block is open").conditional = true;
        }
        let (older, newer) = (a.min(b), a.max(b));
        // A number stands for a name, not the other way round.
        let (kept, gone) = if self.is_constant(newer) { (newer, older) } else { (older, newer) };
        self.same.insert(gone, (kept, self.scopes.len() - 1));
        self.scopes.last_mut().expect("a block is open").sizes.push(gone);
        kept
    }

    /// Adds a check that c is true, unless it always is.
    pub fn check(&mut self, c: Id, failure: Failure) {
        if !matches!(self.node(c).op, Op::Constant(Constant::Bool(true))) {
            let here = self.scopes.len() - 1;
            let key = Key { op: Op::Check(failure.clone()), args: vec![c], dims: vec![] };
            if !self.known.contains_key(&key) {
                let id = self.push(Op::Check(failure), vec![c], Scalar::Bool, vec![], here, true);
                self.learn(key, id, here);
            }
        }
    }

    fn is_constant(&self, id: Id) -> bool {
        matches!(self.node(id).op, Op::Constant(_))
    }

    /// Returns a node, by no law.
    pub(crate) fn make(&mut self, op: Op, args: Vec<Id>, scalar: Scalar, dims: Vec<Id>) -> Id {
        let dims: Vec<Id> = dims.into_iter().map(|size| self.size(size)).collect();
        let key = is_shared(&op).then(|| Key { op: op.clone(), args: args.clone(), dims: dims.clone() });
        if let Some(&id) = key.as_ref().and_then(|key| self.known.get(key)) {
            return id;
        }
        let floor = self.scopes.iter().rposition(|scope| scope.conditional).unwrap_or(0);
        let of = |ids: &[Id]| ids.iter().map(|id| self.depths[id.index()]).max().unwrap_or(0);
        // An operation with blocks stays here, as its blocks may read anything.
        let depth = match op {
            // A number is the same everywhere, also as a size.
            Op::Constant(_) => 0,
            _ if key.is_none() => self.scopes.len() - 1,
            // Before a loop there may be no such element, where the loop has no steps.
            Op::At(_) | Op::Slice(_) | Op::Gather(_) if self.for_derivation => self.scopes.len() - 1,
            _ => floor.max(of(&args)).max(of(&dims)).max(self.depth_of_equal_sizes(&args)),
        };
        let id = self.push(op, args, scalar, dims, depth, true);
        if let Some(key) = key {
            self.learn(key, id, depth);
        }
        id
    }

    /// Returns the depth of the innermost block whose checks say that sizes of arguments are those that stand for them.
    fn depth_of_equal_sizes(&self, args: &[Id]) -> usize {
        let mut deepest = 0;
        for &size in args.iter().flat_map(|id| &self.node(*id).dims) {
            let mut size = size;
            while let Some(&(other, depth)) = self.same.get(&size) {
                deepest = deepest.max(depth);
                size = other;
            }
        }
        deepest
    }

    fn learn(&mut self, key: Key, id: Id, depth: usize) {
        self.known.insert(key.clone(), id);
        self.scopes[depth].keys.push(key);
    }

    fn push(&mut self, op: Op, args: Vec<Id>, scalar: Scalar, dims: Vec<Id>, depth: usize, listed: bool) -> Id {
        let id = Id(self.nodes.len() as u32);
        let is_sparse = self.makes_sparse(&op, &args);
        self.sparse.push(is_sparse);
        self.nodes.push(Node { op, args, scalar, dims, name: None, span: self.span });
        self.depths.push(depth);
        if listed {
            self.scopes[depth].block.nodes.push(id);
        }
        id
    }

    /// Returns a conditional, whose results are its parts.
    pub fn conditional(&mut self, c: Id, blocks: [Block; 2]) -> Id {
        self.make(Op::If(Box::new(blocks)), vec![c], Scalar::Bool, vec![])
    }

    /// Returns the k-th result of a conditional.
    pub fn part(&mut self, op: Id, k: usize, scalar: Scalar, dims: Vec<Id>) -> Id {
        self.make(Op::Part(k), vec![op], scalar, dims)
    }

    /// Returns whether a node is in a block that is closed, so that the present one cannot read it.
    pub fn is_within(&self, id: Id) -> bool {
        self.depths[id.index()] >= self.scopes.len()
    }

    /// Returns whether a node is there outside of the present block.
    pub fn is_outer(&self, id: Id) -> bool {
        self.depths[id.index()] < self.scopes.len() - 1
    }

    /// Returns the results of a loop: the last state, and the values of all steps, whose sizes are given.
    pub fn repeat(&mut self, n: Id, start: Vec<Id>, block: Block, kept: Vec<Vec<Id>>) -> Vec<Id> {
        let values = block.results[start.len()..].iter().zip(kept);
        let types: Vec<(Scalar, Vec<Id>)> = (start.iter().map(|&id| (self.node(id).scalar, self.dims(id))))
            .chain(values.map(|(&id, dims)| (self.node(id).scalar, [vec![n], dims].concat())))
            .collect();
        let args = [vec![n], start].concat();
        let states: Vec<Option<Id>> = (0..args.len() - 1).map(|k| self.state_without_loop(&block, k, &args)).collect();
        let op = self.make(Op::Loop(Box::new(block)), args, Scalar::Bool, vec![]);
        let part = |(k, (scalar, dims))| match states.get(k) {
            Some(&Some(state)) => state,
            _ => self.make(Op::Part(k), vec![op], scalar, dims),
        };
        types.into_iter().enumerate().map(part).collect()
    }
}
