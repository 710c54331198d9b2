//! Reading elements of arrays: what only says where they lie changes the index.

use super::Raising;
use super::ops::number;
use crate::ir::{Id, Op, Scalar};
use lm::prim::Prim;
use lm::term::{Binding, Constant, Expr, Kind, Pattern, Var};
use lm::types::Type;

/// A value, and how an element of an array is read from it.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    base: Expr,
    path: Vec<Step>,
}

/// A step on the way from a value to a number.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// An index of so many numbers.
    Index(usize),
    /// An index of one number, and one more than that.
    Next,
    /// A component of a tuple, from 1.
    Part(usize),
}

impl Reader {
    /// Returns the reader of a tensor of numbers.
    pub(super) fn array(base: Expr, rank: usize) -> Reader {
        Reader { base, path: if rank == 0 { vec![] } else { vec![Step::Index(rank)] } }
    }

    /// Returns the reader of what the steps of a loop kept: for each step an array, a component where a number is given,
    /// of the step or of the one after it.
    pub(super) fn of_steps(base: Expr, is_next: bool, part: Option<usize>, rank: usize) -> Reader {
        let mut path = vec![if is_next { Step::Next } else { Step::Index(1) }];
        path.extend(part.map(|k| Step::Part(k + 1)));
        path.extend((rank > 0).then_some(Step::Index(rank)));
        Reader { base, path }
    }

    /// Returns the reader of an element of what this one reads.
    pub(super) fn elements(mut self, rank: usize) -> Reader {
        self.path.push(Step::Index(rank));
        self
    }

    /// Returns the reader of a component of what this one reads.
    pub(super) fn part(mut self, k: usize) -> Reader {
        self.path.push(Step::Part(k));
        self
    }

    /// Returns the element at an index; of a shorter index, the tensor that it leads to.
    pub(super) fn read(&self, index: &[Expr]) -> Expr {
        let mut index = index;
        let mut value = self.base.clone();
        for step in &self.path {
            value = match *step {
                Step::Part(k) => Expr::get(k, value),
                Step::Index(_) | Step::Next if index.is_empty() => return value,
                Step::Index(n) => {
                    let (own, rest) = index.split_at(n);
                    index = rest;
                    Expr::prim(Prim::Index, [as_index(own), value])
                }
                Step::Next => {
                    let (own, rest) = index.split_at(1);
                    index = rest;
                    Expr::prim(Prim::Index, [plus(&own[0], 1), value])
                }
            };
        }
        value
    }

    /// Returns the tensor of numbers that is read, if it is one as it stands.
    fn as_tensor(&self, rank: usize) -> Option<&Expr> {
        let is_tensor = match self.path.as_slice() {
            [] => rank == 0,
            [Step::Index(n)] => *n == rank,
            _ => false,
        };
        is_tensor.then_some(&self.base)
    }
}

/// Returns whether an operation only says where elements lie.
fn is_place(op: &Op) -> bool {
    match op {
        Op::Constant(_) | Op::Iota | Op::Spread(_) | Op::Permute(_) => true,
        Op::Slice(_) | Op::Reverse(_) | Op::At(_) => true,
        Op::Input(_) | Op::InputSize(..) | Op::Parameter | Op::Each(_) | Op::Guarded(_) | Op::Reduce(..) => false,
        Op::Window(_) | Op::Gather(_) | Op::Scatter | Op::Stack(_) | Op::Concat(_) | Op::Contract(_) => false,
        Op::If(_) | Op::Loop(_) | Op::Part(_) | Op::Check(_) => false,
    }
}

/// Returns the number of dimensions of a type.
pub(super) fn rank(ty: &Type) -> usize {
    match ty {
        Type::Tensor(rank, _) => *rank,
        _ => 0,
    }
}

/// Returns the numbers of an index as one term.
pub(super) fn as_index(numbers: &[Expr]) -> Expr {
    match numbers {
        [one] => one.clone(),
        several => Expr::tuple(several.iter().cloned()),
    }
}

fn plus(a: &Expr, k: i64) -> Expr {
    add(a.clone(), Expr::integer(k))
}

/// Returns the sum of two Integers.
pub(super) fn add(a: Expr, b: Expr) -> Expr {
    let number = |e: &Expr| match e.kind() {
        Kind::Const(Constant::Integer(n)) => Some(*n),
        _ => None,
    };
    match (number(&a), number(&b)) {
        (Some(0), _) => b,
        (_, Some(0)) => a,
        (_, Some(n)) if n < 0 && n > i64::MIN => Expr::prim(Prim::Sub, [a, Expr::integer(-n)]),
        _ => Expr::prim(Prim::Add, [a, b]),
    }
}

impl Raising<'_> {
    /// Returns whether a node has no loop of its own: it only says where elements lie, or computes indices or conditions
    /// for one reader.
    pub(super) fn is_part_of_index(&self, id: Id) -> bool {
        let node = self.function.node(id);
        let computes = matches!(node.op, Op::Each(_)) && node.scalar != Scalar::Float && !node.dims.is_empty();
        is_place(&node.op) || (computes && self.uses[id.index()] == 1)
    }

    /// Returns the element of an array at an index.
    pub(super) fn at(&mut self, id: Id, index: &[Expr]) -> Expr {
        let function = self.function;
        let node = function.node(id);
        let mut index = index.to_vec();
        match &node.op {
            Op::Constant(c) => return Expr::constant(c.clone()),
            Op::Iota => return index.remove(0),
            Op::Spread(axes) => index = axes.iter().map(|&axis| index[axis].clone()).collect(),
            Op::Permute(axes) => {
                let mut inner = index.clone();
                axes.iter().zip(&index).for_each(|(&axis, i)| inner[axis] = i.clone());
                index = inner;
            }
            Op::Slice(axis) => {
                let start = self.at(node.args[1], &[]);
                index[*axis] = add(start, index[*axis].clone());
            }
            Op::Reverse(axis) => {
                let last = plus(&self.at(node.dims[*axis], &[]), -1);
                index[*axis] = Expr::prim(Prim::Sub, [last, index[*axis].clone()]);
            }
            Op::At(axis) => {
                let place = self.at(node.args[1], &[]);
                index.insert(*axis, place);
            }
            Op::Each(fun) if self.is_part_of_index(id) => {
                let numbers = node.args.iter().map(|&arg| self.at(arg, &index)).collect();
                return number(*fun, numbers);
            }
            _ => {
                let reader = self.readers[id.index()].as_ref();
                return reader
                    .unwrap_or_else(|| panic!("node {id:?} is read before it is made: {node:?}"))
                    .read(&index);
            }
        }
        self.at(node.args[0], &index)
    }

    /// Returns an array as a tensor of numbers.
    pub(super) fn whole(&mut self, id: Id) -> Expr {
        let node = self.function.node(id);
        let rank = node.dims.len();
        if let Some(tensor) = self.readers[id.index()].as_ref().and_then(|reader| reader.as_tensor(rank)) {
            return tensor.clone();
        }
        let dims = node.dims.clone();
        self.array(&dims, |cx, index| cx.at(id, index))
    }

    /// Returns a tensor of some sizes, given the element at each index; the element, where there is no dimension.
    pub(super) fn array(&mut self, dims: &[Id], element: impl FnOnce(&mut Self, &[Expr]) -> Expr) -> Expr {
        if dims.is_empty() {
            return element(self, &[]);
        }
        let sizes: Vec<Expr> = dims.iter().map(|&size| self.at(size, &[])).collect();
        let f = self.function_of_index(sizes.len(), element);
        Expr::prim(Prim::Build, [as_index(&sizes), f])
    }

    /// Returns a function of an index.
    pub(super) fn function_of_index(&mut self, rank: usize, element: impl FnOnce(&mut Self, &[Expr]) -> Expr) -> Expr {
        const NAMES: [&str; 4] = ["i", "j", "k", "l"];
        let numbers: Vec<Var> =
            (0..rank).map(|k| self.supply.fresh(NAMES.get(k).unwrap_or(&"m"), Type::Integer)).collect();
        let index: Vec<Expr> = numbers.iter().map(Expr::var).collect();
        let body = element(self, &index);
        match numbers.as_slice() {
            [i] => Expr::lam(i.clone(), body),
            several => {
                let all = self.supply.fresh("i", Type::tuple(vec![Type::Integer; rank]));
                let parts = Binding { pattern: Pattern::Tuple(several.to_vec()), rhs: Expr::var(&all) };
                Expr::lam(all, Expr::block(vec![parts], body))
            }
        }
    }
}
