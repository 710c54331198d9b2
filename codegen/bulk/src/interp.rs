//! The meaning of bulk programs.
//!
//! Each node is computed by its definition, element by element. Tests compare it with the reference interpreter.

mod closed;

use crate::ir::{Block, Failure, Fun, Function, Id, Node, Op, Reduction, Scalar, Spec};
use crate::scalar::apply;
use lm::term::{Constant, Span};

pub use closed::Closed;

/// An array: its size in each dimension, and its elements, the last index running fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The sizes.
    pub dims: Vec<usize>,
    /// The elements.
    pub elements: Vec<Constant>,
}

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Why.
    pub failure: Failure,
    /// The place in the source.
    pub span: Span,
}

/// Returns the results of a function, given its inputs.
///
/// Errors: a check fails. Panics where the inputs do not fit.
pub fn run(function: &Function, inputs: &[Array]) -> Result<Vec<Array>, Stop> {
    counted(function, inputs).0
}

/// Returns the results as [`run`] does, and how many elements its operations wrote. A spread, a permutation and a slice
/// write none: whoever reads them reads the array that they are of. A scatter into the state of a loop writes what it adds.
pub fn counted(function: &Function, inputs: &[Array]) -> (Result<Vec<Array>, Stop>, u64) {
    let mut run = Run { function, inputs, values: vec![None; function.nodes.len()], written: 0 };
    (run.block(&function.body), run.written)
}

struct Run<'a> {
    function: &'a Function,
    inputs: &'a [Array],
    values: Vec<Option<Value>>,
    written: u64,
}

#[derive(Clone, Debug)]
enum Value {
    One(Array),
    Parts(Vec<Array>),
}

impl Array {
    fn number(c: Constant) -> Array {
        Array { dims: vec![], elements: vec![c] }
    }

    /// Returns an array of a size, given the element at each index.
    fn of(dims: &[usize], mut element: impl FnMut(&[usize]) -> Constant) -> Array {
        let count = dims.iter().product();
        let mut index = vec![0; dims.len()];
        let mut elements = Vec::with_capacity(count);
        for _ in 0..count {
            elements.push(element(&index));
            for axis in (0..dims.len()).rev() {
                index[axis] += 1;
                if index[axis] < dims[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
        Array { dims: dims.to_vec(), elements }
    }

    fn offset(&self, index: &[usize]) -> usize {
        assert_eq!(index.len(), self.dims.len(), "an index for each dimension");
        index.iter().zip(&self.dims).fold(0, |offset, (&i, &n)| {
            assert!(i < n, "index {index:?} of an array of size {:?}", self.dims);
            offset * n + i
        })
    }

    fn at(&self, index: &[usize]) -> &Constant {
        &self.elements[self.offset(index)]
    }

    /// Returns the element at an index, or 0 where there is none.
    fn at_or_zero(&self, index: &[i64], scalar: Scalar) -> Constant {
        match self.inside(index) {
            Some(index) => self.at(&index).clone(),
            None => zero(scalar),
        }
    }

    fn inside(&self, index: &[i64]) -> Option<Vec<usize>> {
        let is_inside = index.iter().zip(&self.dims).all(|(&i, &n)| 0 <= i && i < n as i64);
        is_inside.then(|| index.iter().map(|&i| i as usize).collect())
    }

    fn integer(&self) -> i64 {
        integer(&self.elements[0])
    }
}

fn zero(scalar: Scalar) -> Constant {
    match scalar {
        Scalar::Float => Constant::Float(0.0),
        Scalar::Integer => Constant::Integer(0),
        Scalar::Bool => Constant::Bool(false),
    }
}

fn integer(c: &Constant) -> i64 {
    match c {
        Constant::Integer(n) => *n,
        other => panic!("{other:?} is no Integer"),
    }
}

impl Run<'_> {
    fn array(&self, id: Id) -> &Array {
        match &self.values[id.index()] {
            Some(Value::One(array)) => array,
            other => panic!("node {id:?} has {other:?}, where an array is read"),
        }
    }

    fn block(&mut self, block: &Block) -> Result<Vec<Array>, Stop> {
        for &id in &block.nodes {
            let value = self.node(id)?;
            self.values[id.index()] = Some(value);
        }
        Ok(block.results.iter().map(|&id| self.array(id).clone()).collect())
    }

    fn node(&mut self, id: Id) -> Result<Value, Stop> {
        let function = self.function;
        let node = function.node(id);
        // Sizes are checked. A negative one is of a loop without iterations, before which it stands.
        let size = |&id: &Id| usize::try_from(self.array(id).integer());
        let Ok(dims) = node.dims.iter().map(size).collect::<Result<Vec<usize>, _>>() else {
            return Err(Stop { failure: Failure::Size, span: node.span });
        };
        match &node.op {
            Op::Check(failure) => match self.array(node.args[0]).elements[0] {
                Constant::Bool(true) => Ok(Value::Parts(vec![])),
                _ => Err(Stop { failure: failure.clone(), span: node.span }),
            },
            Op::If(blocks) => {
                let chosen = self.array(node.args[0]).elements[0] == Constant::Bool(true);
                Ok(Value::Parts(self.block(&blocks[usize::from(!chosen)])?))
            }
            Op::Loop(block) => Ok(Value::Parts(self.repeat(node, block)?)),
            Op::Part(k) => match &self.values[node.args[0].index()] {
                // Of no steps there is nothing to show the size.
                Some(Value::Parts(parts)) if parts[*k].elements.is_empty() => {
                    Ok(Value::One(Array { dims, elements: vec![] }))
                }
                Some(Value::Parts(parts)) => Ok(self.sized(&dims, parts[*k].clone())),
                other => panic!("{other:?} has no parts"),
            },
            _ => {
                let array = self.plain(node, &dims);
                self.written += match &node.op {
                    Op::Input(_) | Op::InputSize(..) | Op::Constant(_) => 0,
                    Op::Spread(_) | Op::Permute(_) | Op::Slice(_) => 0,
                    // A state, or a sum that nothing else reads, is added to in place.
                    Op::Scatter if self.is_in_place(node.args[0]) => self.array(node.args[1]).elements.len() as u64,
                    _ => array.elements.len() as u64,
                };
                Ok(self.sized(&dims, array))
            }
        }
    }

    fn is_in_place(&self, base: Id) -> bool {
        matches!(self.function.node(base).op, Op::Parameter | Op::Part(_) | Op::Scatter)
    }

    fn sized(&self, dims: &[usize], array: Array) -> Value {
        assert_eq!(array.dims, dims, "the sizes of a node");
        Value::One(array)
    }

    fn repeat(&mut self, node: &Node, block: &Block) -> Result<Vec<Array>, Stop> {
        let n = self.array(node.args[0]).integer();
        let mut state: Vec<Array> = node.args[1..].iter().map(|&id| self.array(id).clone()).collect();
        let mut kept: Vec<Vec<Array>> = vec![Vec::new(); block.results.len() - state.len()];
        for i in 0..n {
            let values = std::iter::once(Array::number(Constant::Integer(i))).chain(state.iter().cloned());
            for (&id, value) in block.parameters.iter().zip(values) {
                self.values[id.index()] = Some(Value::One(value));
            }
            let mut results = self.block(block)?;
            let rest = results.split_off(state.len());
            state = results;
            kept.iter_mut().zip(rest).for_each(|(kept, value)| kept.push(value));
        }
        let stacks = kept.into_iter().zip(&block.results[state.len()..]).map(|(kept, &id)| {
            // Without steps, the sizes are those of the node.
            let inner: Vec<usize> = match kept.first() {
                Some(first) => first.dims.clone(),
                None => self.function.node(id).dims.iter().map(|&size| self.size_or_zero(size)).collect(),
            };
            let dims = [vec![kept.len()], inner].concat();
            Array { dims, elements: kept.into_iter().flat_map(|array| array.elements).collect() }
        });
        let stacks: Vec<Array> = stacks.collect();
        Ok(state.into_iter().chain(stacks).collect())
    }

    fn size_or_zero(&self, id: Id) -> usize {
        match &self.values[id.index()] {
            Some(Value::One(array)) => array.integer() as usize,
            _ => 0,
        }
    }

    fn plain(&self, node: &Node, dims: &[usize]) -> Array {
        let arg = |k: usize| self.array(node.args[k]);
        match &node.op {
            Op::Input(k) => self.inputs[*k].clone(),
            Op::InputSize(k, axis) => Array::number(Constant::Integer(self.inputs[*k].dims[*axis] as i64)),
            Op::Constant(c) => Array::number(c.clone()),
            Op::Each(fun) => {
                let args: Vec<&Array> = node.args.iter().map(|&id| self.array(id)).collect();
                args.iter().for_each(|array| assert_eq!(array.dims, dims, "the operands of {fun:?}"));
                let element = |k: usize| {
                    let operands: Vec<Constant> = args.iter().map(|array| array.elements[k].clone()).collect();
                    // A division by 0 is one that nothing uses: a check sees to the others.
                    apply(*fun, &operands).unwrap_or_else(|| match fun {
                        Fun::Div => Constant::Integer(0),
                        other => panic!("{other:?} of {operands:?}"),
                    })
                };
                let count = dims.iter().product::<usize>();
                Array { dims: dims.to_vec(), elements: (0..count).map(element).collect() }
            }
            Op::Guarded(fun) => Array::of(dims, |i| match arg(0).at(i) {
                Constant::Bool(true) => {
                    let operands: Vec<Constant> = (1..node.args.len()).map(|k| arg(k).at(i).clone()).collect();
                    apply(*fun, &operands).unwrap_or_else(|| panic!("{fun:?} of {operands:?}"))
                }
                _ => zero(node.scalar),
            }),
            Op::Iota => Array::of(dims, |i| Constant::Integer(i[0] as i64)),
            Op::Spread(axes) => {
                axes.iter().zip(&arg(0).dims).for_each(|(&axis, &n)| assert_eq!(dims[axis], n, "the axes of a spread"));
                Array::of(dims, |i| arg(0).at(&axes.iter().map(|&axis| i[axis]).collect::<Vec<_>>()).clone())
            }
            Op::Permute(axes) => Array::of(dims, |i| {
                let mut index = vec![0; axes.len()];
                axes.iter().zip(i).for_each(|(&axis, &i)| index[axis] = i);
                arg(0).at(&index).clone()
            }),
            Op::Reduce(how, axis) => Array::of(dims, |i| {
                let column = (0..arg(0).dims[*axis]).map(|k| {
                    let mut index = i.to_vec();
                    index.insert(*axis, k);
                    arg(0).at(&index).clone()
                });
                reduced(*how, node.scalar, column.collect())
            }),
            Op::Slice(axis) | Op::Window(axis) => {
                let start = arg(1).integer();
                Array::of(dims, |i| {
                    let mut index: Vec<i64> = i.iter().map(|&i| i as i64).collect();
                    index[*axis] += start;
                    arg(0).at_or_zero(&index, node.scalar)
                })
            }
            Op::Reverse(axis) => Array::of(dims, |i| {
                let mut index = i.to_vec();
                index[*axis] = dims[*axis] - 1 - i[*axis];
                arg(0).at(&index).clone()
            }),
            Op::At(axis) => Array::of(dims, |i| {
                let mut index: Vec<i64> = i.iter().map(|&i| i as i64).collect();
                index.insert(*axis, arg(1).integer());
                arg(0).at_or_zero(&index, node.scalar)
            }),
            Op::Gather(axis) => {
                let end = axis + arg(1).dims.len();
                Array::of(dims, |i| {
                    let places = node.args[1..].iter().map(|&e| integer(self.array(e).at(&i[*axis..end])));
                    let own = |part: &[usize]| part.iter().map(|&i| i as i64).collect::<Vec<i64>>();
                    let index: Vec<i64> = own(&i[..*axis]).into_iter().chain(places).chain(own(&i[end..])).collect();
                    arg(0).at_or_zero(&index, node.scalar)
                })
            }
            Op::Scatter => self.scatter(node),
            Op::Stack(axis) => Array::of(dims, |i| {
                let mut index = i.to_vec();
                let k = index.remove(*axis);
                arg(k).at(&index).clone()
            }),
            Op::Concat(axis) => {
                let first = arg(0).dims[*axis];
                Array::of(dims, |i| {
                    let mut index = i.to_vec();
                    let k = usize::from(index[*axis] >= first);
                    index[*axis] -= k * first;
                    arg(k).at(&index).clone()
                })
            }
            Op::Contract(spec) => contraction(spec, arg(0), arg(1), dims, node.scalar),
            Op::Parameter | Op::Check(_) | Op::If(_) | Op::Loop(_) | Op::Part(_) => unreachable!("handled before"),
        }
    }

    fn scatter(&self, node: &Node) -> Array {
        let (base, x) = (self.array(node.args[0]), self.array(node.args[1]));
        let places: Vec<&Array> = node.args[2..].iter().map(|&e| self.array(e)).collect();
        let batch = places[0].dims.len();
        let mut sum = base.clone();
        Array::of(&x.dims, |i| {
            let at = places.iter().map(|e| integer(e.at(&i[..batch])));
            let index: Vec<i64> = at.chain(i[batch..].iter().map(|&i| i as i64)).collect();
            if let Some(index) = sum.inside(&index) {
                let offset = sum.offset(&index);
                let terms = [sum.elements[offset].clone(), x.at(i).clone()];
                sum.elements[offset] = apply(Fun::Add, &terms).expect("a sum");
            }
            Constant::Bool(true)
        });
        sum
    }
}

fn reduced(how: Reduction, scalar: Scalar, column: Vec<Constant>) -> Constant {
    match how {
        Reduction::Sum => total(column.into_iter(), scalar),
        Reduction::All => Constant::Bool(column.iter().all(|c| *c == Constant::Bool(true))),
        Reduction::Max => Constant::Integer(column.iter().map(integer).max().unwrap_or(0).max(0)),
        Reduction::Largest => {
            let larger =
                |x: &Constant, y: &Constant| apply(Fun::Gt, &[x.clone(), y.clone()]) == Some(Constant::Bool(true));
            let none = Constant::Float(f64::NEG_INFINITY);
            column.into_iter().fold(none, |best, x| if larger(&x, &best) { x } else { best })
        }
        Reduction::Argmax => {
            let mut best = 0;
            for (k, x) in column.iter().enumerate() {
                if apply(Fun::Gt, &[x.clone(), column[best].clone()]) == Some(Constant::Bool(true)) {
                    best = k;
                }
            }
            Constant::Integer(best as i64)
        }
    }
}

fn total(terms: impl Iterator<Item = Constant>, scalar: Scalar) -> Constant {
    terms.fold(zero(scalar), |sum, x| apply(Fun::Add, &[sum, x]).expect("numbers of one type"))
}

fn contraction(spec: &Spec, a: &Array, b: &Array, dims: &[usize], scalar: Scalar) -> Array {
    let mut letters: Vec<(u8, usize)> = Vec::new();
    for (&letter, &n) in spec.left.iter().zip(&a.dims).chain(spec.right.iter().zip(&b.dims)) {
        match letters.iter().find(|(l, _)| *l == letter) {
            Some((_, known)) => assert_eq!(*known, n, "an axis has one size"),
            None => letters.push((letter, n)),
        }
    }
    let summed: Vec<(u8, usize)> = letters.iter().filter(|(l, _)| !spec.out.contains(l)).copied().collect();
    let inner: Vec<usize> = summed.iter().map(|(_, n)| *n).collect();
    Array::of(dims, |i| {
        let mut sum = total(std::iter::empty(), scalar);
        Array::of(&inner, |j| {
            let value = |letter: &u8| match spec.out.iter().position(|l| l == letter) {
                Some(k) => i[k],
                None => j[summed.iter().position(|(l, _)| l == letter).expect("an axis of a factor")],
            };
            let at = |letters: &[u8], array: &Array| array.at(&letters.iter().map(value).collect::<Vec<_>>()).clone();
            let product = apply(Fun::Mul, &[at(&spec.left, a), at(&spec.right, b)]).expect("numbers of one type");
            sum = apply(Fun::Add, &[sum.clone(), product]).expect("numbers of one type");
            Constant::Bool(true)
        });
        sum
    })
}
