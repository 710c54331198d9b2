//! Holds the Delta terms of a run, a node for each operation on Floats.
//!
//! ```text
//! a node of n links:  Share id (Add (Add (Scale k1 d1) (Scale k2 d2)) ..)      d: an input, or a node of smaller ID
//! ```
//!
//! The ID of a node is its place, from 1. A link leads to what was there before, so terms of IDs have smaller IDs only
//! (invariant 1 of sec. 2.5), and one ID is one term (invariant 2). The paper has a map of IDs; here it is a vector.

use super::backward::{ByPaths, ReversePass, TooManyVisits, paths};
use crate::prim::Prim;
use crate::term::FunName;
use crate::value::Value;
use std::fmt;
use std::sync::Arc;

/// Where a Delta term lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A Float of the arguments, by its number in order, from 0.
    Input(u32),
    /// A node, by its ID.
    Node(u32),
}

/// `Scale k d`, or `d` alone, inside a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The term d.
    pub of: Place,
    /// The factor k, a partial derivative; none where the rule of the operation has no `Scale`.
    pub scale: Option<f64>,
}

impl Link {
    /// Returns the partial derivative with respect to the term.
    pub fn partial(&self) -> f64 {
        self.scale.unwrap_or(1.0)
    }
}

/// What made a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A primitive on numbers.
    Prim(Prim),
    /// A sum of any number of terms: `Add (Add d1 d2) ..` under one `Share` (sec. 4.1, Eq. 3).
    Sum,
    /// A call of a function whose derivative is written by hand: this one.
    ByHand(Arc<FunName>),
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Prim(p) => f.write_str(p.name()),
            Operation::Sum => f.write_str("sum"),
            Operation::ByHand(name) => name.fmt(f),
        }
    }
}

/// A node of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// What made the number.
    pub operation: &'a Operation,
    /// The number.
    pub value: f64,
    /// The terms below the node; at least one.
    pub links: &'a [Link],
}

/// How many constructors the Delta terms of a trace have; an input has one outside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// `Share`: one for each ID.
    pub share: usize,
    /// `Scale`.
    pub scale: usize,
    /// `Add`.
    pub add: usize,
}

impl Kinds {
    /// Returns how many there are.
    pub fn total(&self) -> usize {
        self.share + self.scale + self.add
    }
}

/// The Delta terms of a run.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    inputs: usize,
    /// Each node with the end of its links.
    nodes: Vec<(Operation, f64, usize)>,
    links: Vec<Link>,
}

impl Trace {
    /// Returns an empty trace of so many inputs.
    pub(crate) fn new(inputs: usize) -> Trace {
        Trace { inputs, ..Trace::default() }
    }

    /// Adds a node. Panics where it has no links.
    pub(crate) fn push(&mut self, operation: Operation, value: f64, links: &[Link]) -> Place {
        assert!(!links.is_empty(), "a number that depends on no input has no node");
        self.links.extend(links);
        self.nodes.push((operation, value, self.links.len()));
        Place::Node(u32::try_from(self.nodes.len()).expect("memory ends before 2^32 nodes"))
    }

    /// Returns the number of Floats of the arguments.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns the number of nodes, which is the largest ID.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether no operation was traced.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the node of an ID. Panics where there is none.
    pub fn node(&self, id: usize) -> Node<'_> {
        let (operation, value, end) = &self.nodes[id - 1];
        let start = if id == 1 { 0 } else { self.nodes[id - 2].2 };
        Node { operation, value: *value, links: &self.links[start..*end] }
    }

    /// Counts the constructors of the terms.
    pub fn kinds(&self) -> Kinds {
        let scale = self.links.iter().filter(|link| link.scale.is_some()).count();
        Kinds { share: self.len(), scale, add: self.links.len() - self.len() }
    }

    /// Returns the operations, each with the number of its nodes, in the order of their first nodes.
    pub fn operations(&self) -> Vec<(&Operation, usize)> {
        let mut found: Vec<(&Operation, usize)> = Vec::new();
        for (operation, ..) in &self.nodes {
            match found.iter_mut().find(|(known, _)| *known == operation) {
                Some((_, count)) => *count += 1,
                None => found.push((operation, 1)),
            }
        }
        found
    }
}

/// A run: its value, and where from each Float of it comes.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The value.
    pub value: Value,
    /// The term of each Float of the value, in order; none where it depends on no input.
    pub results: Vec<Option<Place>>,
    /// The terms.
    pub trace: Trace,
}

impl Traced {
    /// Starts a reverse pass by IDs from a cotangent of each Float of the value, in order.
    pub fn reverse_pass(&self, cotangent: &[f64]) -> ReversePass<'_> {
        ReversePass::new(&self.trace, self.seeds(cotangent))
    }

    /// Evaluates the terms without IDs, along every path: `eval_3` of sec. 2.4.
    ///
    /// Errors: nodes would be visited more often than `limit`.
    pub fn by_paths(&self, cotangent: &[f64], limit: u64) -> Result<ByPaths, TooManyVisits> {
        ByPaths::new(&self.trace, &self.seeds(cotangent), limit)
    }

    /// Returns the number of visits along every path; none beyond 2^128.
    pub fn paths(&self, cotangent: &[f64]) -> Option<u128> {
        paths(&self.trace, &self.seeds(cotangent))
    }

    fn seeds(&self, cotangent: &[f64]) -> Vec<(Place, f64)> {
        assert_eq!(cotangent.len(), self.results.len(), "a cotangent for each Float of the value");
        self.results.iter().zip(cotangent).filter_map(|(place, c)| Some(((*place)?, *c))).collect()
    }
}
