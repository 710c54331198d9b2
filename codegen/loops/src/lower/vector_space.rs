//! Lowers the operations on values of any type: sums, multiples, zeros.
//!
//! `add`, `sub`, `neg` and `mul k` are those of any vector space: component by component, element by
//! element. Tensors that are added or multiplied must have one size.

use super::body::Body;
use super::value::{Tensor, Val};
use crate::error::Error;
use crate::ir::{Memory, Op, Operand, Scalar, Stmt};
use lm::prim::Prim;
use lm::types::Type;

type Lowered = Result<Val, Error>;

impl Body<'_> {
    pub(super) fn zip(&mut self, p: Prim, args: &[Val], float: Op, integer: Op) -> Lowered {
        let [x, y] = args else { panic!("{} has two arguments", p.name()) };
        match (x, y) {
            (Val::Tuple(xs), Val::Tuple(ys)) => {
                let parts = xs.iter().zip(ys.iter());
                let parts = parts.map(|(x, y)| self.zip(p, &[x.clone(), y.clone()], float, integer));
                Ok(Val::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
            (Val::Tensor(xs), Val::Tensor(ys)) => {
                self.check_same_size(&xs.sizes, &ys.sizes);
                self.map_elements(xs, &xs.element, &mut |body, i, x| {
                    let y = body.load_element(ys, i);
                    body.zip(p, &[x, y], float, integer)
                })
            }
            _ => match self.scalar_of(&x.leaf()) {
                Scalar::Float | Scalar::Integer => Ok(self.by_type(args, float, integer)),
                other @ (Scalar::Bool | Scalar::Text | Scalar::Mark) => {
                    Err(self.unsupported(&format!("`{}` of values with a {other} in them", p.name())))
                }
            },
        }
    }

    /// The Floats changed; what is discrete stays.
    fn each_float(&mut self, x: &Val, f: &mut dyn FnMut(&mut Self, Operand) -> Operand) -> Lowered {
        match x {
            Val::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.each_float(part, f));
                Ok(Val::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
            Val::Tensor(tensor) => self.map_elements(tensor, &tensor.element, &mut |body, _, x| body.each_float(&x, f)),
            Val::Leaf(operand) => Ok(match self.scalar_of(operand) {
                Scalar::Float => Val::Leaf(f(self, operand.clone())),
                Scalar::Integer | Scalar::Bool | Scalar::Text | Scalar::Mark => x.clone(),
            }),
        }
    }

    /// Returns zeros of the shape of x, to add to. For Floats it is -0, since -0 + x is x for both 0 and -0.
    pub(super) fn neutral_like(&mut self, x: &Val) -> Lowered {
        match x {
            Val::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.neutral_like(part));
                Ok(Val::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
            Val::Tensor(tensor) => self.map_elements(tensor, &tensor.element, &mut |body, _, x| body.neutral_like(&x)),
            Val::Leaf(operand) => Ok(Val::Leaf(match self.scalar_of(operand) {
                Scalar::Float => Operand::Float(-0.0),
                Scalar::Integer => Operand::Integer(0),
                Scalar::Bool | Scalar::Text | Scalar::Mark => operand.clone(),
            })),
        }
    }

    pub(super) fn negate(&mut self, x: &Val) -> Lowered {
        match x {
            Val::Leaf(operand) if self.scalar_of(operand) == Scalar::Integer => {
                self.scalar(Op::NegI, std::slice::from_ref(x))
            }
            _ => self.each_float(x, &mut |body, x| body.op(Op::NegF, [x])),
        }
    }

    pub(super) fn multiply(&mut self, args: &[Val]) -> Lowered {
        let k = args[0].leaf();
        match self.scalar_of(&k) {
            Scalar::Integer => self.scalar(Op::MulI, args),
            _ => self.each_float(&args[1], &mut |body, x| body.op(Op::MulF, [k.clone(), x])),
        }
    }

    pub(super) fn equal(&mut self, x: &Val, y: &Val) -> Result<Operand, Error> {
        match (x, y) {
            (Val::Tuple(xs), Val::Tuple(ys)) => {
                let mut all = Operand::Bool(true);
                for (x, y) in xs.iter().zip(ys.iter()) {
                    let equal = self.equal(x, y)?;
                    all = self.both(all, equal);
                }
                Ok(all)
            }
            (Val::Tensor(xs), Val::Tensor(ys)) => self.equal_tensors(xs, ys),
            _ => {
                let op = match self.scalar_of(&x.leaf()) {
                    Scalar::Float => Op::EqF,
                    Scalar::Integer => Op::EqI,
                    Scalar::Bool => Op::EqB,
                    Scalar::Text => Op::EqT,
                    Scalar::Mark => panic!("no value has a mark in it"),
                };
                Ok(self.op(op, [x.leaf(), y.leaf()]))
            }
        }
    }

    /// Elements are compared only where the sizes are equal.
    fn equal_tensors(&mut self, xs: &Tensor, ys: &Tensor) -> Result<Operand, Error> {
        let mut sizes = Operand::Bool(true);
        for (a, b) in xs.sizes.iter().zip(&ys.sizes) {
            let equal = self.op(Op::EqI, [a.clone(), b.clone()]);
            sizes = self.both(sizes, equal);
        }
        let elements = |body: &mut Self| {
            let count = body.count(&xs.sizes);
            body.count_to(&count, vec![Operand::Bool(true)], |body, i, all| {
                let (x, y) = (body.load_element(xs, &i), body.load_element(ys, &i));
                let equal = body.equal(&x, &y)?;
                Ok(vec![body.both(all[0].clone(), equal)])
            })
        };
        let results = self.choose(sizes, elements, |_| Ok(vec![Operand::Bool(false)]))?;
        Ok(results[0].clone())
    }

    pub(super) fn both(&mut self, a: Operand, b: Operand) -> Operand {
        if let Operand::Bool(true) = a { b } else { self.op(Op::And, [a, b]) }
    }

    /// The sum of products from left to right, as the interpreter forms it; of none, 0.
    pub(super) fn dot(&mut self, x: &Val, y: &Val) -> Result<Operand, Error> {
        // -0 + x is x, for all x.
        let (sum, some) = self.products(x, y, Operand::Float(-0.0), Operand::Bool(false))?;
        match some {
            Operand::Bool(true) => Ok(sum),
            Operand::Bool(false) => Ok(Operand::Float(0.0)),
            some => Ok(self.choose(some, |_| Ok(vec![sum]), |_| Ok(vec![Operand::Float(0.0)]))?[0].clone()),
        }
    }

    /// The sum with the products added, and whether there is one.
    fn products(&mut self, x: &Val, y: &Val, sum: Operand, some: Operand) -> Result<(Operand, Operand), Error> {
        match (x, y) {
            (Val::Tuple(xs), Val::Tuple(ys)) => {
                let mut pairs = xs.iter().zip(ys.iter());
                pairs.try_fold((sum, some), |(sum, some), (x, y)| self.products(x, y, sum, some))
            }
            (Val::Tensor(xs), Val::Tensor(ys)) => {
                self.check_same_size(&xs.sizes, &ys.sizes);
                let count = self.count(&xs.sizes);
                let results = self.count_to(&count, vec![sum, some], |body, i, carried| {
                    let (x, y) = (body.load_element(xs, &i), body.load_element(ys, &i));
                    let (sum, some) = body.products(&x, &y, carried[0].clone(), carried[1].clone())?;
                    Ok(vec![sum, some])
                })?;
                Ok((results[0].clone(), results[1].clone()))
            }
            _ if matches!(x, Val::Leaf(a) if self.scalar_of(a) == Scalar::Float) => {
                let product = self.op(Op::MulF, [x.leaf(), y.leaf()]);
                Ok((self.op(Op::AddF, [sum, product]), Operand::Bool(true)))
            }
            _ => Ok((sum, some)),
        }
    }

    /// The zero tangent, of type `ty`, at x: that of a discrete component is unit.
    pub(super) fn zero(&mut self, x: &Val, ty: &Type) -> Lowered {
        match (x, ty) {
            (Val::Tuple(parts), Type::Tuple(types)) => {
                let parts = parts.iter().zip(types.iter()).map(|(part, ty)| self.zero(part, ty));
                Ok(Val::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
            (Val::Tensor(tensor), Type::Tensor(_, element)) if !element.has_fixed_shape() => {
                self.map_elements(tensor, element, &mut |body, _, x| body.zero(&x, element))
            }
            (Val::Tensor(tensor), Type::Tensor(_, element)) => {
                let zeros = self.alloc_tensor(element, &tensor.sizes)?;
                let count = self.count(&tensor.sizes);
                for buffer in &zeros.buffers {
                    self.stmts.push(Stmt::Memory(Memory::Zero(buffer.clone(), count.clone())));
                }
                Ok(zeros.val())
            }
            (Val::Leaf(_), Type::Float) => Ok(Val::Leaf(Operand::Float(0.0))),
            (Val::Leaf(_), _) => Ok(Val::tuple([])),
            (x, ty) => panic!("no zero of type {ty} at {x:?}"),
        }
    }
}
