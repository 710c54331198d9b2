//! Bulk programs: straight-line programs of operations on whole arrays.
//!
//! ```text
//! function ::= inputs; block                block ::= parameters; nodes; results
//! node     ::= array of numbers of one type, rectangular, with a size for each dimension
//! ```
//!
//! A node is an operation on earlier nodes, and never changes. Sizes are nodes, too: Integers without dimensions. A
//! block has nodes of its own, and reads those of the blocks around it. Checks are nodes without a value, and fail in
//! the order of their block.
//!
//! | node | value, at index `i ..` |
//! | --- | --- |
//! | `each op a b ..` | `op(a[i ..], b[i ..], ..)` |
//! | `guarded op m a b ..` | the same where `m[i ..]`, otherwise 0 |
//! | `iota` | `i` |
//! | `spread axes a` | `a[j ..]`: axis k of a is axis `axes[k]` of the result |
//! | `permute axes a` | axis k of the result is axis `axes[k]` of a |
//! | `reduce op axis a` | a's elements along an axis, added up, or the place of the first largest, .. |
//! | `slice axis a start` | a, from `start` on along an axis |
//! | `window axis a start` | the same, where `start` may lie before a, and the end behind it |
//! | `reverse axis a` | a, backwards along an axis |
//! | `at axis a e` | a, at place e of an axis |
//! | `gather axis a e1 .. em` | `a[h .., e1[i ..], .., em[i ..], j ..]` at index `h .., i .., j ..`, h up to the axis |
//! | `scatter a x e1 .. em` | a, and `x[i ..]` added to element `e1[i ..], .., em[i ..]`, for each i |
//! | `stack axis a b ..` | a, b, .. along a new axis |
//! | `concat axis a b` | a, then b, along an axis |
//! | `contract a b` | products of a and b added up, as an einsum |
//! | `if c` | the results of one of two blocks |
//! | `loop n s` | the results of a block, again and again |
//!
//! A place outside of its array has the element 0, or `false`, and nothing is added to it. A check before it tells where
//! such an element would be used.
//!
//! Source: *Dual-numbers reverse AD for functional array languages*, sec. 3 and 5, with axes in place of `sumOuter`.

use crate::rules::Rule;
use lm::libm::Libm;
use lm::term::{Constant, Span};
use std::sync::Arc;

/// The number of a node in its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u32);

impl Id {
    /// Returns the number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The type of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// IEEE binary64.
    Float,
    /// 64-bit two's complement.
    Integer,
    /// `true` or `false`.
    Bool,
}

/// An operation on numbers, element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it
pub enum Fun {
    Add,
    Sub,
    Mul,
    /// Of Floats; of Integers, towards zero, and anything for a zero divisor.
    Div,
    Neg,
    Abs,
    Sqrt,
    /// A Float to the power of an Integer.
    Powi,
    Gt,
    Lt,
    Gte,
    Lte,
    Eq,
    Ne,
    And,
    Or,
    Not,
    ToFloat,
    /// Towards zero, the nearest Integer if there is none, 0 for NaN.
    ToInteger,
    BoolToFloat,
    /// `lm::random`'s number in [0, 1) for an Integer.
    Hash,
    /// The second argument where the first is true, otherwise the third.
    Select,
    /// The argument, whose derivative is not asked for. [`lower_for_derivation`](crate::lower_for_derivation) makes it.
    Stop,
    /// The second argument, a place, where the first is true, otherwise 0: nothing uses the element there.
    /// [`lower_for_derivation`](crate::lower_for_derivation) makes it.
    Used,
    /// A function of the C library.
    Libm(Libm),
}

/// What becomes of the elements along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The sum, 0 of none.
    Sum,
    /// Whether all are true.
    All,
    /// The largest Integer, and not below 0.
    Max,
    /// The largest of Floats without NaN, -infinity of none.
    Largest,
    /// The place of the first largest Float, of at least one.
    Argmax,
}

/// The axes of a product, as letters: `left, right -> out`. An axis that `out` lacks is summed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    /// A letter for each axis of the first factor, from 0.
    pub left: Vec<u8>,
    /// A letter for each axis of the second factor.
    pub right: Vec<u8>,
    /// A letter for each axis of the result.
    pub out: Vec<u8>,
}

impl Spec {
    /// Returns the spec as einsum writes it.
    pub fn einsum(&self) -> String {
        let word = |axes: &[u8]| axes.iter().map(|&axis| char::from(b'a' + axis)).collect::<String>();
        format!("{},{}->{}", word(&self.left), word(&self.right), word(&self.out))
    }
}

/// Why a check fails.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// An index outside of its array.
    Index,
    /// Two sizes that should be one.
    Size,
    /// A size below zero.
    NegativeSize,
    /// Another number than the function was compiled for.
    Specialised,
    /// An Integer division by zero.
    Division,
    /// An `assert`.
    Assert,
}

impl Failure {
    /// Returns the message.
    pub fn message(&self) -> &'static str {
        match self {
            Failure::Index => "index out of range",
            Failure::Size => "sizes differ",
            Failure::NegativeSize => "negative size",
            Failure::Specialised => "compiled for another number or size",
            Failure::Division => "division by zero",
            Failure::Assert => "assertion failed",
        }
    }
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// An input of the function.
    Input(usize),
    /// The size of an input along an axis.
    InputSize(usize, usize),
    /// A parameter of the block around it.
    Parameter,
    /// A number.
    Constant(Constant),
    /// An operation on each element of arrays of one size.
    Each(Fun),
    /// `[m, a, ..]`: an operation on the elements where m is true, zero elsewhere. What is not computed has no derivative,
    /// so no infinite one that a zero is multiplied by. [`lower_for_derivation`](crate::lower_for_derivation) makes it.
    Guarded(Fun),
    /// The Integers from 0 on, along the one dimension.
    Iota,
    /// The argument, repeated along the axes that are not named.
    Spread(Vec<usize>),
    /// The argument with its axes in another order.
    Permute(Vec<usize>),
    /// The elements along an axis made one.
    Reduce(Reduction, usize),
    /// `[a, start]`: a part of a, as long as the node's size says.
    Slice(usize),
    /// `[a, start]`: as long a part of a as the node's size says, of which some may lie outside of a. Sizes alone say
    /// where it starts.
    Window(usize),
    /// The argument backwards along an axis.
    Reverse(usize),
    /// `[a, e]`: the argument at place e of an axis.
    At(usize),
    /// `[a, e1, .., em]`: elements of a, with indices from an axis on.
    Gather(usize),
    /// `[a, x, e1, .., em]`.
    Scatter,
    /// The arguments along a new axis.
    Stack(usize),
    /// The arguments one after the other along an axis.
    Concat(usize),
    /// `[a, b]`.
    Contract(Spec),
    /// `[c]`: the results of one of two blocks, each a `Part`.
    If(Box<[Block; 2]>),
    /// `[n, s ..]`: runs the block for i from 0 up to n. Its parameters are i and the state; its results the next state,
    /// then values to keep. The parts are the last state, then each value to keep, stacked.
    Loop(Box<Block>),
    /// The k-th result of an `If` or a `Loop`.
    Part(usize),
    /// `[c]`: stops the program if c is false.
    Check(Failure),
}

impl Op {
    /// Returns the blocks in an operation.
    pub fn blocks(&self) -> &[Block] {
        match self {
            Op::If(blocks) => &**blocks,
            Op::Loop(block) => std::slice::from_ref(&**block),
            _ => &[],
        }
    }
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does.
    pub op: Op,
    /// What it reads.
    pub args: Vec<Id>,
    /// The type of its elements.
    pub scalar: Scalar,
    /// Its sizes.
    pub dims: Vec<Id>,
    /// The name of the variable that it is the value of.
    pub name: Option<Arc<str>>,
    /// Its place in the source.
    pub span: Span,
}

/// A list of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Block {
    /// What differs each time it runs.
    pub parameters: Vec<Id>,
    /// Its nodes, each after those that it reads.
    pub nodes: Vec<Id>,
    /// Its results.
    pub results: Vec<Id>,
}

/// The form of a value in terms of arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape<T> {
    /// One array of so many dimensions.
    Array(T),
    /// A tuple. A tensor of tuples is a tuple of tensors.
    Tuple(Vec<Shape<T>>),
}

impl<T> Shape<T> {
    /// Returns the arrays from left to right.
    pub fn leaves(&self) -> Vec<&T> {
        match self {
            Shape::Array(array) => vec![array],
            Shape::Tuple(parts) => parts.iter().flat_map(Shape::leaves).collect(),
        }
    }

    /// Returns the value with other arrays.
    pub fn map<U>(&self, f: &mut impl FnMut(&T) -> U) -> Shape<U> {
        match self {
            Shape::Array(array) => Shape::Array(f(array)),
            Shape::Tuple(parts) => Shape::Tuple(parts.iter().map(|part| part.map(f)).collect()),
        }
    }
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name in the source.
    pub name: Arc<str>,
    /// The inputs that it is made of.
    pub shape: Shape<usize>,
}

/// How the command line names an input, and the sizes of it: `v.2`, `v.size`.
#[derive(Clone, Debug)]
pub struct Path {
    /// The name of the parameter, or of the part of it.
    pub number: String,
    /// The name of the size of each dimension.
    pub sizes: Vec<String>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name, as in the source.
    pub name: lm::term::FunName,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The node of each input.
    pub inputs: Vec<Id>,
    /// The name of each input.
    pub paths: Vec<Path>,
    /// All nodes, by number.
    pub nodes: Vec<Node>,
    /// What it does. Its results are the arrays of its value.
    pub body: Block,
    /// Its value: numbers of results.
    pub result: Shape<usize>,
    /// The rules that were taken, each with the place of the term that it was taken for, once.
    pub rules: Vec<(Rule, Span)>,
}

impl Function {
    /// Returns a node.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id.index()]
    }

    /// Returns the number that an Integer node always has, if that is known.
    pub fn number(&self, id: Id) -> Option<i64> {
        match &self.node(id).op {
            Op::Constant(Constant::Integer(n)) => Some(*n),
            _ => None,
        }
    }

    /// Returns the blocks in a node.
    pub fn blocks(&self, id: Id) -> &[Block] {
        self.node(id).op.blocks()
    }
}
