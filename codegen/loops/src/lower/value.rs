//! Holds a lowered term: a tree of operands in the form of its type.

use crate::ir::{Local, Operand};
use lm::types::Type;
use std::rc::Rc;

/// The value of a term. Cheap to clone, whatever its size.
#[derive(Clone, Debug)]
pub(super) enum Val {
    Leaf(Operand),
    Tuple(Rc<[Val]>),
    Tensor(Rc<Tensor>),
}

/// A tensor: its sizes, and a buffer for each component of its elements.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) element: Type,
    pub(super) sizes: Vec<Operand>,
    pub(super) buffers: Vec<Operand>,
}

impl Tensor {
    pub(super) fn val(self) -> Val {
        Val::Tensor(Rc::new(self))
    }

    /// Returns each buffer that is a local, with the sizes whose product is the number of its elements.
    pub(super) fn extents(&self) -> Vec<(Local, Vec<Operand>)> {
        self.buffers.iter().filter_map(|buffer| Some((buffer.local()?, self.sizes.clone()))).collect()
    }

    /// Returns whether no tensors are inside.
    pub(super) fn is_flat(&self) -> bool {
        self.element.has_fixed_shape()
    }
}

impl Val {
    /// Finds the sizes of outermost tensors, each with that of the same tensor in a value of the same form.
    pub(super) fn sizes_beside(&self, other: &Val, found: &mut Vec<[Local; 2]>) {
        match (self, other) {
            (Val::Tuple(parts), Val::Tuple(others)) => {
                parts.iter().zip(others.iter()).for_each(|(part, other)| part.sizes_beside(other, found));
            }
            (Val::Tensor(tensor), Val::Tensor(other)) => {
                let sizes = tensor.sizes.iter().zip(&other.sizes);
                found.extend(sizes.filter_map(|(size, other)| Some([size.local()?, other.local()?])));
            }
            _ => {}
        }
    }

    pub(super) fn tuple(parts: impl IntoIterator<Item = Val>) -> Val {
        Val::Tuple(parts.into_iter().collect())
    }

    /// Returns the value of a part that was added to a destination, or that is not read.
    pub(super) fn nothing() -> Val {
        Val::tuple([])
    }

    /// Returns a value of a type with layout, from its components in order.
    pub(super) fn from_components(ty: &Type, components: &mut impl Iterator<Item = Operand>) -> Val {
        match ty {
            Type::Tuple(parts) => {
                Val::tuple(parts.iter().map(|part| Val::from_components(part, components)).collect::<Vec<_>>())
            }
            Type::Tensor(rank, element) => {
                let sizes = components.take(*rank).collect();
                let width = crate::layout::components(element).expect("the whole has a layout").len();
                let buffers = components.take(width).collect();
                Tensor { element: (**element).clone(), sizes, buffers }.val()
            }
            Type::Float
            | Type::Integer
            | Type::Bool
            | Type::String
            | Type::Lam(..)
            | Type::LM(..)
            | Type::Record(_) => Val::Leaf(components.next().expect("there is an operand for each component")),
        }
    }

    /// Returns the operand of a scalar.
    pub(super) fn leaf(&self) -> Operand {
        match self {
            Val::Leaf(operand) => operand.clone(),
            Val::Tuple(_) | Val::Tensor(_) => panic!("no scalar where the type says scalar"),
        }
    }

    /// Returns the components of a tuple.
    pub(super) fn parts(&self) -> &[Val] {
        match self {
            Val::Tuple(parts) => parts,
            Val::Leaf(_) | Val::Tensor(_) => panic!("no tuple where the type says tuple"),
        }
    }

    /// Returns the tensor.
    pub(super) fn tensor(&self) -> &Rc<Tensor> {
        match self {
            Val::Tensor(tensor) => tensor,
            Val::Leaf(_) | Val::Tuple(_) => panic!("no tensor where the type says tensor"),
        }
    }

    /// Returns the numbers of an index or a size: an Integer, or a tuple of them.
    pub(super) fn numbers(&self) -> Vec<Operand> {
        self.flatten()
    }

    /// Returns the operands in order of layout.
    pub(super) fn flatten(&self) -> Vec<Operand> {
        let mut out = Vec::new();
        self.push_leaves(&mut out);
        out
    }

    fn push_leaves(&self, out: &mut Vec<Operand>) {
        match self {
            Val::Leaf(operand) => out.push(operand.clone()),
            Val::Tuple(parts) => parts.iter().for_each(|part| part.push_leaves(out)),
            Val::Tensor(tensor) => out.extend(tensor.sizes.iter().chain(&tensor.buffers).cloned()),
        }
    }

    /// Returns a value of the same form, from its components in order.
    pub(super) fn rebuilt(&self, components: &mut impl Iterator<Item = Operand>) -> Val {
        match self {
            Val::Leaf(_) => Val::Leaf(components.next().expect("there is an operand for each component")),
            Val::Tuple(parts) => Val::tuple(parts.iter().map(|part| part.rebuilt(components)).collect::<Vec<_>>()),
            Val::Tensor(tensor) => {
                let sizes = components.take(tensor.sizes.len()).collect();
                let buffers = components.take(tensor.buffers.len()).collect();
                Tensor { element: tensor.element.clone(), sizes, buffers }.val()
            }
        }
    }

    /// Returns the tensors in it, but for those inside of tensors.
    pub(super) fn tensors(&self) -> Vec<Rc<Tensor>> {
        match self {
            Val::Leaf(_) => vec![],
            Val::Tuple(parts) => parts.iter().flat_map(Val::tensors).collect(),
            Val::Tensor(tensor) => vec![tensor.clone()],
        }
    }

    /// Returns the value with other tensors, in the order of [`Val::tensors`].
    pub(super) fn with_tensors(&self, tensors: &mut impl Iterator<Item = Tensor>) -> Val {
        match self {
            Val::Leaf(_) => self.clone(),
            Val::Tuple(parts) => Val::tuple(parts.iter().map(|part| part.with_tensors(tensors)).collect::<Vec<_>>()),
            Val::Tensor(_) => tensors.next().expect("there is a tensor for each").val(),
        }
    }
}
