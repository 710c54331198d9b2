//! Prints bulk programs as Python, on arrays of NumPy or of JAX.
//!
//! One line for each node that has a name or that several read; others stand where they are read. An axis along which an
//! array does not vary is left to broadcasting, so a `spread` is an index with `None`, or nothing.
//!
//! A check raises an error. JAX cannot raise one for data: there a failed check makes each Float of the result NaN, and
//! `status_f` tells which check it was. Sizes are Python numbers in both, so what depends on sizes alone is checked, and
//! decided, when JAX traces the function.

mod block;
mod expr;
mod functions;
mod names;
mod runtime;
mod thick;

use super::place::Places;
use crate::ir::{Function, Id, Op, Scalar};
use crate::refusal::{Reason, Refusal};
use names::Names;
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
    fn np(self) -> &'static str {
        match self {
            Library::Numpy => "np",
            Library::Jax => "jnp",
        }
    }
}

/// Returns a module with the functions.
///
/// Errors: JAX has no form of a size that depends on data.
pub fn module<'a>(library: Library, functions: &'a [Function], place: Places<'a>) -> Result<String, Refusal> {
    let mut module = Module { library, place, needed: BTreeSet::new(), text: String::new() };
    functions::write(&mut module, functions)?;
    Ok(format!("{}{}", runtime::head(library, &module.needed), module.text))
}

/// A module under construction.
struct Module<'a> {
    library: Library,
    place: Places<'a>,
    /// The functions of the run-time support that it calls.
    needed: BTreeSet<&'static str>,
    text: String,
}

/// A function under construction.
struct Printer<'a, 'm> {
    module: &'m mut Module<'a>,
    function: &'a Function,
    text: String,
    depth: usize,
    names: Names,
    /// The variables that hold nodes.
    variables: FxHashMap<Id, String>,
    /// How often a node is read.
    uses: Vec<u32>,
    /// The block that a node is in, and the one that reads it last, by the number of their first line of recursion.
    homes: Vec<usize>,
    readers: Vec<usize>,
    /// Nodes that are Python numbers: they depend on sizes alone.
    fixed: Vec<bool>,
    /// Along which axes the text of a node has elements of its own.
    thick: Vec<Vec<bool>>,
    /// What checks told: an Integer that is below a size, and sizes that are not 0.
    below: HashSet<(Id, Id)>,
    some: HashSet<Id>,
    /// The numbers of steps that indices of loops count.
    counts: FxHashMap<Id, Id>,
    /// The messages of the checks whose outcome depends on data.
    checks: Vec<String>,
}

/// A Python expression: its text, and how tightly its outermost operator binds.
#[derive(Clone, Debug)]
struct Term {
    text: String,
    binds: u8,
}

/// Binds as a name, a call or an index.
const ATOM: u8 = 13;

impl Term {
    fn atom(text: impl Into<String>) -> Term {
        Term { text: text.into(), binds: ATOM }
    }

    /// Returns the text as an operand of an operator that binds so tightly.
    fn within(&self, binds: u8) -> String {
        if self.binds >= binds { self.text.clone() } else { format!("({})", self.text) }
    }
}

impl<'a, 'm> Printer<'a, 'm> {
    fn new(module: &'m mut Module<'a>, function: &'a Function) -> Result<Printer<'a, 'm>, Refusal> {
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

    fn line(&mut self, text: impl AsRef<str>) {
        self.text.push_str(&"    ".repeat(self.depth));
        self.text.push_str(text.as_ref());
        self.text.push('\n');
    }

    fn np(&self, name: &str) -> String {
        format!("{}.{name}", self.module.library.np())
    }

    fn is_jax(&self) -> bool {
        self.module.library == Library::Jax
    }

    /// Counts how often each node is read, and by which blocks.
    fn count_uses(&mut self) {
        let mut next = 1;
        let body = &self.function.body;
        self.count_block(body, 0, &mut next);
    }

    fn count_block(&mut self, block: &crate::ir::Block, number: usize, next: &mut usize) {
        let function = self.function;
        block.parameters.iter().for_each(|id| self.homes[id.index()] = number);
        for &id in &block.nodes {
            self.homes[id.index()] = number;
            let node = function.node(id);
            node.args.iter().for_each(|&arg| self.read(arg, number));
            match node.op {
                // Their sizes are in their texts.
                Op::Iota | Op::Slice(_) => node.dims.iter().for_each(|&size| self.read(size, number)),
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

    fn read(&mut self, id: Id, by: usize) {
        self.uses[id.index()] += 1;
        self.readers[id.index()] = by;
    }

    /// Finds the nodes that are Python numbers.
    ///
    /// Errors: a size is none, and JAX needs all of them.
    fn fix(&mut self) -> Result<(), Refusal> {
        let function = self.function;
        let sizes = sizes_of(function);
        for (k, node) in function.nodes.iter().enumerate() {
            let is_number = node.dims.is_empty() && node.scalar != Scalar::Float;
            self.fixed[k] = is_number
                && match &node.op {
                    Op::InputSize(..) | Op::Constant(_) => true,
                    Op::Input(_) => !self.is_jax() || sizes[k],
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

    fn is_fixed(&self, id: Id) -> bool {
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
