//! Ends scopes: gives back what was taken from the arena since a mark, but keeps a value.
//!
//! ```text
//! one buffer       release; alloc; move down
//! several          the same one by one, when they lie in order
//! else, or nested  copied to the top as one piece; the piece slides down; addresses are moved with it
//! ```
//!
//! What does not lie above the mark stays where it is.

use super::body::Body;
use super::value::{Tensor, Val};
use crate::error::Error;
use crate::ir::{Local, Memory, Op, Operand, Scalar, Stmt, Ty};
use std::rc::Rc;

type Operands = Result<Vec<Operand>, Error>;

const BOOL: Ty = Scalar::Bool.ty();

impl Body<'_> {
    /// Releases the arena to the mark; gives the value where it is then.
    pub(super) fn keep(&mut self, value: &Val, mark: Local) -> Result<Val, Error> {
        let outer = self.allocated.clone();
        let tensors = value.tensors();
        let kept = match tensors.iter().map(|t| t.buffers.len()).sum() {
            0 => {
                self.release(mark);
                vec![]
            }
            1 if tensors.iter().all(|t| t.is_flat()) => self.keep_one(&tensors, mark)?,
            _ if tensors.iter().all(|t| t.is_flat()) => self.keep_flat(&tensors, mark)?,
            _ => self.keep_nested(&tensors, mark)?,
        };
        self.allocated = outer;
        let mut kept = kept.into_iter();
        let mut tensors = tensors.into_iter().map(|t| {
            let buffers = kept.by_ref().take(t.buffers.len()).collect();
            Tensor { buffers, ..(*t).clone() }
        });
        Ok(if value.tensors().is_empty() { value.clone() } else { value.with_tensors(&mut tensors) })
    }

    fn release(&mut self, mark: Local) {
        self.stmts.push(Stmt::Memory(Memory::Release(Operand::Local(mark))));
    }

    fn above(&mut self, buffer: &Operand, mark: Local) -> Operand {
        self.memory(BOOL, |x| Memory::Above(x, buffer.clone(), Operand::Local(mark)))
    }

    fn before(&mut self, a: &Operand, b: &Operand) -> Operand {
        self.memory(BOOL, |x| Memory::Before(x, a.clone(), b.clone()))
    }

    fn keep_one(&mut self, tensors: &[Rc<Tensor>], mark: Local) -> Operands {
        let tensor = tensors.iter().find(|t| !t.buffers.is_empty()).expect("there is one buffer").clone();
        let count = self.count(&tensor.sizes);
        let above = self.above(&tensor.buffers[0], mark);
        self.release(mark);
        let stays = vec![tensor.buffers[0].clone()];
        self.choose(above, |body| Ok(vec![body.move_down(&tensor.buffers[0], &count)]), |_| Ok(stays))
    }

    fn move_down(&mut self, buffer: &Operand, count: &Operand) -> Operand {
        let to = self.alloc(self.ty_of(buffer), count.clone());
        self.stmts.push(Stmt::Memory(Memory::Move { to: to.clone(), from: buffer.clone(), count: count.clone() }));
        to
    }

    fn keep_flat(&mut self, tensors: &[Rc<Tensor>], mark: Local) -> Operands {
        let counts: Vec<Operand> = tensors.iter().map(|t| self.count(&t.sizes)).collect();
        let counted = |t: &Rc<Tensor>, count: &Operand| t.buffers.iter().map(|b| (b.clone(), count.clone())).collect();
        let buffers: Vec<(Operand, Operand)> =
            tensors.iter().zip(&counts).flat_map(|(t, count)| -> Vec<_> { counted(t, count) }).collect();
        let first = self.above(&buffers[0].0, mark);
        let last = self.above(&buffers[buffers.len() - 1].0, mark);
        let mut in_order = self.op(Op::And, [first, last]);
        for pair in buffers.windows(2) {
            let before = self.before(&pair[0].0, &pair[1].0);
            in_order = self.op(Op::And, [in_order, before]);
        }
        let one_by_one = |body: &mut Self| {
            body.release(mark);
            Ok(buffers.iter().map(|(buffer, count)| body.move_down(buffer, count)).collect())
        };
        self.choose(in_order, one_by_one, |body| body.keep_nested(tensors, mark))
    }

    fn keep_nested(&mut self, tensors: &[Rc<Tensor>], mark: Local) -> Operands {
        let piece = self.local(Scalar::Mark.ty());
        self.stmts.push(Stmt::Memory(Memory::Mark(piece)));
        let copies = tensors.iter().map(|t| self.copy_above(t, mark)).collect::<Result<Vec<_>, _>>()?;
        let distance =
            self.memory(Scalar::Integer.ty(), |d| Memory::Slide(d, Operand::Local(piece), Operand::Local(mark)));
        let slid = copies.iter().map(|t| self.slid(t, piece, &distance)).collect::<Result<Vec<_>, _>>()?;
        Ok(slid.into_iter().flatten().collect())
    }

    /// The tensor with all that lies above the mark copied to the top.
    fn copy_above(&mut self, tensor: &Rc<Tensor>, mark: Local) -> Result<Tensor, Error> {
        let mut any = Operand::Bool(false);
        for buffer in &tensor.buffers {
            let above = self.above(buffer, mark);
            any = self.op(Op::Or, [any, above]);
        }
        let stays = tensor.buffers.clone();
        let copy = |body: &mut Self| Ok(body.copy_tensor(tensor, Some(mark))?.buffers);
        let buffers = self.choose(any, copy, |_| Ok(stays))?;
        Ok(Tensor { buffers, ..(**tensor).clone() })
    }

    /// A copy of a tensor; of the tensors inside, too, or only of those above the mark.
    pub(super) fn copy_tensor(&mut self, tensor: &Rc<Tensor>, above: Option<Local>) -> Result<Tensor, Error> {
        let count = self.count(&tensor.sizes);
        if tensor.is_flat() {
            let buffers = tensor.buffers.iter().map(|buffer| self.move_down(buffer, &count)).collect();
            return Ok(Tensor { buffers, ..(**tensor).clone() });
        }
        let copy = self.alloc_tensor(&tensor.element, &tensor.sizes)?;
        self.count_to(&count, vec![], |body, i, _| {
            let element = body.load_element(tensor, &i);
            let element = body.copy_value(&element, above)?;
            body.store_element(&copy, &i, &element);
            Ok(vec![])
        })?;
        Ok(copy)
    }

    fn copy_value(&mut self, value: &Val, above: Option<Local>) -> Result<Val, Error> {
        let copy = |body: &mut Self, tensor| match above {
            Some(mark) => body.copy_above(tensor, mark),
            None => body.copy_tensor(tensor, None),
        };
        let tensors = value.tensors().iter().map(|t| copy(self, t)).collect::<Result<Vec<_>, _>>()?;
        Ok(value.with_tensors(&mut tensors.into_iter()))
    }

    /// Returns the value itself, or a copy with a single owner.
    pub(super) fn copy_for(&mut self, sharing: super::body::Sharing, value: Val) -> Result<Val, Error> {
        match sharing {
            super::body::Sharing::Shared => Ok(value),
            super::body::Sharing::Owned => self.copy_value(&value, None),
        }
    }

    /// The buffers of a tensor after a slide; those inside of it are set right.
    fn slid(&mut self, tensor: &Tensor, piece: Local, distance: &Operand) -> Operands {
        let slide = |body: &mut Self, buffer: &Operand| {
            body.memory(body.ty_of(buffer), |target| Memory::Slid {
                target,
                buffer: buffer.clone(),
                piece: Operand::Local(piece),
                distance: distance.clone(),
            })
        };
        let buffers: Vec<Operand> = tensor.buffers.iter().map(|buffer| slide(self, buffer)).collect();
        if tensor.is_flat() {
            return Ok(buffers);
        }
        // All of them slid, or none.
        let did_slide = self.before(&buffers[0], &tensor.buffers[0]);
        let slid = Tensor { buffers: buffers.clone(), ..tensor.clone() };
        self.choose(
            did_slide,
            |body| {
                let count = body.count(&slid.sizes);
                body.count_to(&count, vec![], |body, i, _| {
                    let element = body.load_element(&slid, &i);
                    let mut inner = Vec::new();
                    for tensor in element.tensors() {
                        inner.push(Tensor { buffers: body.slid(&tensor, piece, distance)?, ..(*tensor).clone() });
                    }
                    // What is no buffer stays as it is.
                    let moved = element.with_tensors(&mut inner.into_iter()).flatten();
                    for (buffer, component) in slid.buffers.iter().zip(moved) {
                        if body.ty_of(&component).as_scalar().is_none() {
                            body.stmts.push(Stmt::Memory(Memory::Store(buffer.clone(), i.clone(), component)));
                        }
                    }
                    Ok(vec![])
                })
            },
            |_| Ok(vec![]),
        )?;
        Ok(buffers)
    }
}
