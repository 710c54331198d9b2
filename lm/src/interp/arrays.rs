//! The value of each primitive on tensors.

use super::space::common_size;
use super::{Closure, ErrorKind, Interpreter, RuntimeError, witness};
use crate::prim::Prim;
use crate::tensor::{Position, Tensor};
use crate::types::Type;
use crate::value::Value::{self, Function, Tuple};
use std::sync::Arc;

type Outcome = Result<Value, RuntimeError>;

/// A tensor of more elements than this is refused before it is made. Dimensionless.
const MOST_ELEMENTS: usize = 1 << 28;

impl Interpreter<'_> {
    /// The value of `p(args)`, of type `ty`; `None` when `p` is no primitive on tensors.
    pub(super) fn array(&mut self, p: Prim, args: &[Value], ty: &Type) -> Option<Outcome> {
        Some(match (p, args) {
            (Prim::Build, [n, Function(f)]) => self.build(&Position::of(n), f),
            (Prim::Size, [Value::Tensor(v)]) => Ok(Position::from(v.size()).value()),
            (Prim::CommonSize, [Value::Tensor(v), Value::Tensor(w)]) => {
                common_size(v, w).map(|size| Position::from(size).value())
            }
            (Prim::Index, [i, Value::Tensor(v)]) => offset(v, i).map(|offset| v.elements()[offset].clone()),
            (Prim::Sum, [Value::Tensor(v)]) => self.sum_of(v, ty),
            (Prim::VecInit, _) => Ok(Value::vector(args.to_vec())),
            (Prim::Fold, [Function(f), a, Value::Tensor(v)]) => self.fold(f, a, v),
            (Prim::Scanl, [Function(f), a, Value::Tensor(v)]) => self.scan(f, a, v),
            (Prim::AddAt, [v, Value::Tensor(pairs)]) => self.add_at(v, pairs),
            _ => return None,
        })
    }

    fn build(&mut self, n: &Position, f: &Closure) -> Outcome {
        let size = n.as_size().ok_or(RuntimeError::new(ErrorKind::NegativeSize(n.clone())))?;
        let count = size.iter().try_fold(1, |count: usize, &n| count.checked_mul(n));
        if count.is_none_or(|count| count > MOST_ELEMENTS) {
            return Err(RuntimeError::new(ErrorKind::TooLarge(n.clone())));
        }
        let elements = Tensor::positions(&size).map(|i| self.apply_closure(f, i.value()));
        let elements = elements.collect::<Result<_, _>>()?;
        Ok(Value::Tensor(Arc::new(Tensor::new(size, elements))))
    }

    fn sum_of(&mut self, v: &Tensor, ty: &Type) -> Outcome {
        let sum = self.sum(v.elements().to_vec())?.or_else(|| witness(ty));
        sum.ok_or(RuntimeError::shape_unknown())
    }

    fn fold(&mut self, f: &Closure, a: &Value, v: &Tensor) -> Outcome {
        v.elements().iter().try_fold(a.clone(), |a, x| self.apply_closure(f, Tuple(vec![a, x.clone()])))
    }

    fn scan(&mut self, f: &Closure, a: &Value, v: &Tensor) -> Outcome {
        let mut results = vec![a.clone()];
        for x in v.elements() {
            let before = results[results.len() - 1].clone();
            results.push(self.apply_closure(f, Tuple(vec![before, x.clone()]))?);
        }
        Ok(Value::vector(results))
    }

    /// `v` with every `(i, x)` of `pairs` added at i, in order.
    fn add_at(&mut self, v: &Value, pairs: &Tensor) -> Outcome {
        let Value::Tensor(v) = v else { panic!("{v:?} is no tensor") };
        let mut elements = v.elements().to_vec();
        for pair in pairs.elements() {
            let Tuple(parts) = pair else { panic!("{pair:?} is no pair") };
            let offset = offset(v, &parts[0])?;
            elements[offset] = self.add(&elements[offset], &parts[1])?;
        }
        Ok(Value::Tensor(Arc::new(v.with(elements))))
    }
}

fn offset(v: &Tensor, i: &Value) -> Result<usize, RuntimeError> {
    let index = Position::of(i);
    v.offset(&index).ok_or_else(|| {
        let size = v.size().into();
        RuntimeError::new(ErrorKind::IndexOutOfRange { index, size })
    })
}
