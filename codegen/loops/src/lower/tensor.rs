//! Makes, reads and writes tensors in buffers, and checks sizes and indices.

use super::body::Body;
use super::value::{Tensor, Val};
use crate::error::Error;
use crate::ir::{Failure, Local, MOST_ELEMENTS, Memory, Op, Operand, Stmt, Ty};
use lm::types::Type;
use std::rc::Rc;

impl Body<'_> {
    /// A new buffer of a type.
    pub(super) fn alloc(&mut self, ty: Ty, count: Operand) -> Operand {
        let span = self.span;
        let operand = self.memory(ty, |buffer| Memory::Alloc { buffer, count, span });
        if let Operand::Local(x) = operand {
            self.allocated.push(Some(x));
        }
        operand
    }

    /// A tensor whose elements are not set.
    pub(super) fn alloc_tensor(&mut self, element: &Type, sizes: &[Operand]) -> Result<Tensor, Error> {
        let components = self.components(element)?;
        let count = if components.is_empty() { Operand::Integer(0) } else { self.count(sizes) };
        let buffers = components.into_iter().map(|ty| self.alloc(ty.buffer(), count.clone())).collect();
        self.facts.are_sizes(sizes);
        Ok(Tensor { element: element.clone(), sizes: sizes.to_vec(), buffers })
    }

    /// The number of elements of a tensor of a size.
    pub(super) fn count(&mut self, sizes: &[Operand]) -> Operand {
        let (first, rest) = sizes.split_first().expect("tensors have a dimension");
        rest.iter().fold(first.clone(), |count, n| self.op(Op::Count, [count, n.clone()]))
    }

    /// The element at a place in order.
    pub(super) fn load_element(&mut self, tensor: &Tensor, offset: &Operand) -> Val {
        let load = |body: &mut Self, buffer: &Operand| {
            let ty = body.ty_of(buffer).element().expect("tensors are made of buffers");
            body.memory(ty, |x| Memory::Load(x, buffer.clone(), offset.clone()))
        };
        let components: Vec<Operand> = tensor.buffers.iter().map(|buffer| load(self, buffer)).collect();
        let value = Val::from_components(&tensor.element, &mut components.into_iter());
        self.new_sizes(&value, 0);
        value
    }

    pub(super) fn store_element(&mut self, tensor: &Tensor, offset: &Operand, value: &Val) {
        for (buffer, component) in tensor.buffers.iter().zip(value.flatten()) {
            self.stmts.push(Stmt::Memory(Memory::Store(buffer.clone(), offset.clone(), component)));
        }
    }

    /// Checks that a tensor can have the size.
    pub(super) fn check_size(&mut self, sizes: &[Operand]) {
        self.check_not_negative(sizes);
        let unknown: Vec<&Operand> = sizes.iter().filter(|n| !self.facts.is_size(n)).collect();
        // Each of them, too: the product does not tell where another is 0.
        for n in unknown {
            let fine = self.op(Op::LeI, [n.clone(), Operand::Integer(MOST_ELEMENTS)]);
            self.check(fine, Failure::TooLarge, sizes);
        }
        if sizes.len() > 1 {
            let count = self.count(sizes);
            let fine = self.op(Op::LeI, [count, Operand::Integer(MOST_ELEMENTS)]);
            self.check(fine, Failure::TooLarge, sizes);
        }
        self.facts.are_sizes(sizes);
    }

    /// Checks that no number of a size is negative.
    pub(super) fn check_not_negative(&mut self, sizes: &[Operand]) {
        let unknown: Vec<&Operand> = sizes.iter().filter(|n| !self.facts.is_size(n)).collect();
        for n in unknown {
            let fine = self.op(Op::LeI, [Operand::Integer(0), n.clone()]);
            self.check(fine, Failure::NegativeSize, sizes);
        }
    }

    /// Checks that two tensors have one size.
    pub(super) fn check_same_size(&mut self, left: &[Operand], right: &[Operand]) {
        let numbers: Vec<Operand> = left.iter().chain(right).cloned().collect();
        for (a, b) in left.iter().zip(right) {
            if !self.facts.known_equal(a, b) {
                let equal = self.op(Op::EqI, [a.clone(), b.clone()]);
                self.check(equal, Failure::SizeMismatch, numbers.clone());
                self.facts.are_equal(a, b);
            }
        }
    }

    /// Checks that a number is an index below another, which may be negative: no size of a tensor is.
    pub(super) fn check_below(&mut self, k: &Operand, n: &Operand) {
        if self.facts.known_below(k, n) {
            return;
        }
        let inside = if self.facts.is_size(n) {
            self.op(Op::Below, [k.clone(), n.clone()])
        } else {
            let is_natural = self.op(Op::LeI, [Operand::Integer(0), k.clone()]);
            let is_less = self.op(Op::LtI, [k.clone(), n.clone()]);
            self.op(Op::And, [is_natural, is_less])
        };
        self.check(inside, Failure::IndexOutOfRange, [k.clone(), n.clone()]);
    }

    /// The place in order of the element at an index, which is checked.
    pub(super) fn offset(&mut self, sizes: &[Operand], index: &[Operand]) -> Operand {
        let numbers: Vec<Operand> = index.iter().chain(sizes).cloned().collect();
        for (i, n) in index.iter().zip(sizes) {
            if !self.facts.known_below(i, n) {
                let inside = self.op(Op::Below, [i.clone(), n.clone()]);
                self.check(inside, Failure::IndexOutOfRange, numbers.clone());
            }
        }
        let mut pairs = index.iter().zip(sizes);
        let (first, _) = pairs.next().expect("tensors have a dimension");
        pairs.fold(first.clone(), |offset, (i, n)| {
            let row = self.op(Op::MulI, [offset, n.clone()]);
            self.op(Op::AddI, [row, i.clone()])
        })
    }

    /// A tensor of the same size, each element by `f` from that element.
    pub(super) fn map_elements(
        &mut self,
        tensor: &Rc<Tensor>,
        element: &Type,
        f: &mut dyn FnMut(&mut Self, &Operand, Val) -> Result<Val, Error>,
    ) -> Result<Val, Error> {
        let result = self.alloc_tensor(element, &tensor.sizes)?;
        let count = self.count(&tensor.sizes);
        self.count_to(&count, vec![], |body, i, _| {
            let x = body.load_element(tensor, &i);
            let y = body.scoped(|body| f(body, &i, x))?;
            body.store_element(&result, &i, &y);
            Ok(vec![])
        })?;
        Ok(result.val())
    }

    /// `b[i] += x`.
    pub(super) fn add_to_cell(&mut self, buffer: &Operand, offset: &Operand, x: Operand) {
        self.stmts.push(Stmt::Memory(Memory::Add(buffer.clone(), offset.clone(), x)));
    }

    /// `b[i]`.
    pub(super) fn load_cell(&mut self, buffer: &Operand, offset: &Operand) -> Operand {
        let ty = self.ty_of(buffer).element().expect("a cell is in a buffer");
        self.memory(ty, |x: Local| Memory::Load(x, buffer.clone(), offset.clone()))
    }
}
