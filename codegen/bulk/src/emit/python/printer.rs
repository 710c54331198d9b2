//! A function as Python, under construction: what its texts are made of.

use super::names::Names;
use super::thick;
use crate::emit::place::Places;
use crate::ir::{Function, Id, Op, Scalar};
use crate::refusal::{Reason, Refusal};
use lm::term::FunName;
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, HashSet};

/// The library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    Numpy,
    Jax,
}

impl Library {
    /// Returns the name of its module of array functions.
    pub(super) fn np(self) -> &'static str {
        match self {
            Library::Numpy => "np",
            Library::Jax => "jnp",
        }
    }
}

/// A module under construction.
pub(super) struct Module<'a> {
    pub(super) library: Library,
    pub(super) place: Places<'a>,
    /// The functions of the run-time support that it calls.
    pub(super) needed: BTreeSet<&'static str>,
    pub(super) text: String,
    /// The names of the parameters of functions as written.
    pub(super) labels: FxHashMap<FunName, Vec<String>>,
}

/// A function under construction.
pub(super) struct Printer<'a, 'm> {
    pub(super) module: &'m mut Module<'a>,
    pub(super) function: &'a Function,
    pub(super) text: String,
    pub(super) depth: usize,
    pub(super) names: Names,
    /// The variables that hold nodes.
    pub(super) variables: FxHashMap<Id, String>,
    /// How often a node is read.
    pub(super) uses: Vec<u32>,
    /// The block that a node is in, and the one that reads it last, by the number of their first line of recursion.
    pub(super) homes: Vec<usize>,
    pub(super) readers: Vec<usize>,
    /// Nodes that are Python numbers: they depend on sizes alone.
    pub(super) fixed: Vec<bool>,
    /// Along which axes the text of a node has elements of its own.
    pub(super) thick: Vec<Vec<bool>>,
    /// What checks told: an Integer that is below a size, and sizes that are not 0.
    pub(super) below: HashSet<(Id, Id)>,
    pub(super) some: HashSet<Id>,
    /// The numbers of steps that indices of loops count.
    pub(super) counts: FxHashMap<Id, Id>,
    /// The messages of the checks whose outcome depends on data.
    pub(super) checks: Vec<String>,
}

/// A Python expression: its text, and how tightly its outermost operator binds.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) text: String,
    pub(super) binds: u8,
}

/// Binds as a name, a call or an index.
pub(super) const ATOM: u8 = 13;

impl Term {
    pub(super) fn atom(text: impl Into<String>) -> Term {
        Term { text: text.into(), binds: ATOM }
    }

    /// Returns the text as an operand of an operator that binds so tightly.
    pub(super) fn within(&self, binds: u8) -> String {
        if self.binds >= binds { self.text.clone() } else { format!("({})", self.text) }
    }
}

impl<'a, 'm> Printer<'a, 'm> {
    pub(super) fn new(module: &'m mut Module<'a>, function: &'a Function) -> Result<Printer<'a, 'm>, Refusal> {
        let count = function.nodes.len();
        let mut printer = Printer {
            module,
            function,
            text: String::new(),
            depth: 1,
            names: Names::default(),
            variables: FxHashMap::default(),
            uses: vec![0; count],
            homes: vec![0; count],
            readers: vec![0; count],
            fixed: vec![false; count],
            thick: thick::thick(function),
            below: HashSet::new(),
            some: HashSet::new(),
            counts: counts(function),
            checks: Vec::new(),
        };
        printer.count_uses();
        printer.fix()?;
        Ok(printer)
    }

    pub(super) fn line(&mut self, text: impl AsRef<str>) {
        self.text.push_str(&"    ".repeat(self.depth));
        self.text.push_str(text.as_ref());
        self.text.push('\n');
    }

    pub(super) fn np(&self, name: &str) -> String {
        format!("{}.{name}", self.module.library.np())
    }

    pub(super) fn is_jax(&self) -> bool {
        self.module.library == Library::Jax
    }

    /// Counts how often each node is read, and by which blocks.
    pub(super) fn count_uses(&mut self) {
        let mut next = 1;
        let body = &self.function.body;
        self.count_block(body, 0, &mut next);
    }

    pub(super) fn count_block(&mut self, block: &crate::ir::Block, number: usize, next: &mut usize) {
        let function = self.function;
        block.parameters.iter().for_each(|id| self.homes[id.index()] = number);
        for &id in &block.nodes {
            self.homes[id.index()] = number;
            let node = function.node(id);
            node.args.iter().for_each(|&arg| self.read(arg, number));
            match node.op {
                // Their sizes are in their texts.
                Op::Iota | Op::Slice(_) | Op::Window(_) => node.dims.iter().for_each(|&size| self.read(size, number)),
                // The sizes may be in the text, in several places.
                Op::Spread(_) | Op::Loop(_) => {
                    (0..2).for_each(|_| node.dims.iter().for_each(|&size| self.read(size, number)))
                }
                _ => {}
            }
            for inner in function.blocks(id) {
                let inner_number = *next;
                *next += 1;
                self.count_block(inner, inner_number, next);
            }
        }
        block.results.iter().for_each(|&id| self.read(id, number));
    }

    pub(super) fn read(&mut self, id: Id, by: usize) {
        self.uses[id.index()] += 1;
        self.readers[id.index()] = by;
    }

    /// Finds the nodes that are Python numbers.
    ///
    /// Errors: a size is none, and JAX needs all of them.
    pub(super) fn fix(&mut self) -> Result<(), Refusal> {
        let function = self.function;
        let sizes = sizes_of(function);
        for (k, node) in function.nodes.iter().enumerate() {
            let is_number = node.dims.is_empty() && node.scalar != Scalar::Float;
            self.fixed[k] = is_number
                && match &node.op {
                    Op::InputSize(..) | Op::Constant(_) => true,
                    Op::Input(_) => sizes[k],
                    Op::Each(_) => node.args.iter().all(|&arg| self.fixed[arg.index()]),
                    _ => false,
                };
        }
        if self.is_jax()
            && let Some(k) = (0..function.nodes.len()).find(|&k| sizes[k] && !self.fixed[k] && self.uses[k] > 0)
        {
            let node = &function.nodes[k];
            return Err(Refusal {
                reason: Reason::UnknownSize,
                function: function.name.to_string(),
                what: "a size depends on data, and JAX has none of these".into(),
                span: node.span,
            });
        }
        Ok(())
    }

    pub(super) fn is_fixed(&self, id: Id) -> bool {
        self.fixed[id.index()]
    }
}

/// Returns how many steps the index of each loop counts.
fn counts(function: &Function) -> FxHashMap<Id, Id> {
    let loops = function.nodes.iter().filter_map(|node| match &node.op {
        Op::Loop(block) => Some((block.parameters[0], node.args[0])),
        _ => None,
    });
    loops.collect()
}

/// Returns which nodes sizes are made of.
pub(super) fn sizes_of(function: &Function) -> Vec<bool> {
    let mut sizes = vec![false; function.nodes.len()];
    let mut todo: Vec<Id> = function.nodes.iter().flat_map(|node| node.dims.iter().copied()).collect();
    while let Some(id) = todo.pop() {
        if !std::mem::replace(&mut sizes[id.index()], true) {
            todo.extend(function.node(id).args.iter().filter(|arg| function.node(**arg).dims.is_empty()));
        }
    }
    sizes
}
