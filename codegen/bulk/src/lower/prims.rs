//! The rule of each primitive.

use super::value::{Array, Value};
use super::{Lowering, Outcome};
use crate::ir::{Failure, Fun, Scalar};
use crate::refusal::Reason;
use lm::prim::Prim;
use lm::term::Expr;
use lm::types::Type;

impl Lowering<'_> {
    pub(super) fn prim(&mut self, p: Prim, args: &[Expr], e: &Expr) -> Outcome {
        match (p, args) {
            (Prim::Build, [n, f]) => self.build(n, f),
            (Prim::SumBuild, [n, f]) => self.sumbuild(n, f),
            (Prim::SumBuild, [w, n, f]) => self.sumbuild_like(w, n, f),
            (Prim::Fold, [f, start, v]) | (Prim::Checkpoint, [_, f, start, v]) => self.fold(f, start, v),
            (Prim::Scanl, [f, start, v]) | (Prim::Replay, [_, f, start, v]) => self.scanl(f, start, v),
            (Prim::States, [stride, f, start, v]) => self.states(stride, f, start, v),
            (Prim::Place, [c, f, start, v]) => self.place(c, f, start, v),
            (Prim::Loop, [n, f, start, w]) => self.accumulate(n, f, start, w, e.ty()),
            (Prim::Into, [_, x]) => self.expr(x),
            _ => {
                let mut values = args.iter().map(|arg| self.strict(arg)).collect::<Result<Vec<Value>, _>>()?;
                if takes_numbers(p) {
                    values = values.into_iter().map(|value| self.number(value)).collect();
                }
                self.of_values(p, &values, e)
            }
        }
    }

    /// Returns a value of which a number is asked for. Of one that is never read, any number will do: what is computed of
    /// it is not read, either.
    pub(super) fn number(&mut self, value: Value) -> Value {
        match value {
            Value::Dummy(ty) if matches!(ty, Type::Float | Type::Integer | Type::Bool) => self.zero_of_type(&ty, &[]),
            value => value,
        }
    }

    /// Returns the value of an argument that is no function.
    fn strict(&mut self, e: &Expr) -> Outcome {
        match e.kind() {
            lm::term::Kind::Lam(..) => self.refuse(Reason::Operation, "a function is no array"),
            _ => self.expr(e),
        }
    }

    fn of_values(&mut self, p: Prim, values: &[Value], e: &Expr) -> Outcome {
        let is_unread = values.iter().any(|value| matches!(value, Value::Dummy(Type::Tensor(..))));
        Ok(match (p, values) {
            // What is made of a tensor that is never read is not read, either. It has no elements where a size is asked for.
            (Prim::Size | Prim::CommonSize, _) if is_unread => self.zero_of_type(e.ty(), &[]),
            (Prim::Index | Prim::Sum | Prim::Imax | Prim::Unzip | Prim::DeltaAt | Prim::AddAt, _) if is_unread => {
                Value::Dummy(e.ty().clone())
            }
            (Prim::Add, [x, y]) => self.zip(Fun::Add, x, y),
            (Prim::Sub, [x, y]) => self.zip(Fun::Sub, x, y),
            (Prim::Neg, [x]) => self.negative(x),
            (Prim::Mul, [k, x]) => self.scale(k.array(), x),
            (Prim::Dot, [x, y]) => Value::Array(self.dot(x, y)),
            (Prim::ZeroOf, [w]) => self.zero_of(w),
            (Prim::Div, [a, b]) => self.quotient(a.array(), b.array()),
            (Prim::Min, [a, b]) => self.extreme(Fun::Lte, a.array(), b.array()),
            (Prim::Max, [a, b]) => self.extreme(Fun::Gte, a.array(), b.array()),
            (Prim::Eq, [x, y]) => Value::Array(self.equal(x, y)),
            (Prim::Ne, [x, y]) => {
                let equal = self.equal(x, y);
                Value::Array(self.each(Fun::Not, &[equal]))
            }
            (Prim::Index, [i, v]) => self.element(i, v),
            (Prim::DeltaAt, [w, i, x]) => self.one_hot(w, i, x),
            (Prim::AddAt, [v, pairs]) => self.add_pairs(v, pairs),
            (Prim::Sum, [v]) => self.sum_of(v),
            (Prim::Imax, [v]) => self.imax(v),
            (Prim::Size, [v]) => {
                let sizes = v.tensor().0.to_vec();
                self.size_of(&sizes)
            }
            (Prim::CommonSize, [v, w]) => {
                let (n, m) = (v.tensor().0.to_vec(), w.tensor().0.to_vec());
                let sizes: Vec<_> = n.into_iter().zip(m).map(|(n, m)| self.b.require_same(n, m)).collect();
                self.size_of(&sizes)
            }
            (Prim::AsSize, [n]) => {
                if !self.b.is_natural(n.array().id) {
                    let zero = Array::fixed(self.b.integer(0));
                    let ok = self.each(Fun::Lte, &[zero, n.array().clone()]);
                    self.check(&ok, Failure::NegativeSize);
                }
                n.clone()
            }
            (Prim::SameSize, [n, m]) => {
                self.require_equal(n.array(), m.array());
                Value::Array(Array::fixed(self.b.boolean(true)))
            }
            (Prim::InRange, [k, n]) => {
                let zero = Array::fixed(self.b.integer(0));
                let low = self.each(Fun::Lte, &[zero, k.array().clone()]);
                let high = self.each(Fun::Lt, &[k.array().clone(), n.array().clone()]);
                let inside = self.each(Fun::And, &[low, high]);
                self.check(&inside, Failure::Index);
                Value::Array(Array::fixed(self.b.boolean(true)))
            }
            (Prim::VecInit, parts) => self.vec_init(parts.to_vec()),
            (Prim::Unzip, [v]) => {
                let (sizes, element) = v.tensor();
                let part = |part: &Value| Value::Tensor { sizes: sizes.to_vec(), element: Box::new(part.clone()) };
                Value::Tuple(element.tuple().iter().map(part).collect())
            }
            (Prim::StopGradient, [x]) if self.b.for_derivation => {
                x.map(&mut |array| self.each(Fun::Stop, std::slice::from_ref(array)))
            }
            (Prim::StopGradient, [x]) => x.clone(),
            (Prim::Print | Prim::Trace | Prim::Bench, _) => {
                return self.refuse(Reason::Effect, format!("`{}` has no form in arrays", p.name()));
            }
            _ => match scalar(p) {
                Some(fun) => {
                    let arrays: Vec<Array> = values.iter().map(|value| value.array().clone()).collect();
                    Value::Array(self.each(fun, &arrays))
                }
                None if e.ty().mentions_lm() => return self.refuse(Reason::LinearMap, "a linear map is no array"),
                None => return self.refuse(Reason::Operation, format!("`{}` has no form in arrays", p.name())),
            },
        })
    }

    fn quotient(&mut self, a: &Array, b: &Array) -> Value {
        if self.b.node(a.id).scalar == Scalar::Float {
            return Value::Array(self.each(Fun::Div, &[a.clone(), b.clone()]));
        }
        let zero = Array::fixed(self.b.integer(0));
        let ok = self.each(Fun::Ne, &[b.clone(), zero]);
        self.check(&ok, Failure::Division);
        if let Some(mask) = self.mask.clone().filter(|_| self.b.for_derivation) {
            return Value::Array(self.guarded(Fun::Div, mask, &[a.clone(), b.clone()]));
        }
        // Elsewhere, under a mask, the divisor may be 0.
        let one = Array::fixed(self.b.integer(1));
        let divisor = match self.mask {
            Some(_) => self.each(Fun::Select, &[ok, b.clone(), one]),
            None => b.clone(),
        };
        Value::Array(self.each(Fun::Div, &[a.clone(), divisor]))
    }

    fn extreme(&mut self, order: Fun, a: &Array, b: &Array) -> Value {
        let first = self.each(order, &[a.clone(), b.clone()]);
        Value::Array(self.each(Fun::Select, &[first, a.clone(), b.clone()]))
    }

    fn require_equal(&mut self, n: &Array, m: &Array) {
        if n.axes.is_empty() && m.axes.is_empty() && self.mask.is_none() {
            self.b.require_same(n.id, m.id);
            return;
        }
        let equal = self.each(Fun::Eq, &[n.clone(), m.clone()]);
        self.check(&equal, Failure::Size);
    }
}

/// Returns whether a primitive takes numbers, and so none that are never read.
fn takes_numbers(p: Prim) -> bool {
    let others = [
        Prim::Mul,
        Prim::Div,
        Prim::Min,
        Prim::Max,
        Prim::Eq,
        Prim::Ne,
        Prim::Index,
        Prim::AsSize,
        Prim::SameSize,
        Prim::InRange,
    ];
    scalar(p).is_some() || others.contains(&p)
}

/// Returns the operation on numbers that a primitive is.
fn scalar(p: Prim) -> Option<Fun> {
    Some(match p {
        Prim::Libm(f) => Fun::Libm(f),
        Prim::Sqrt => Fun::Sqrt,
        Prim::Powi => Fun::Powi,
        Prim::Abs => Fun::Abs,
        Prim::Gt => Fun::Gt,
        Prim::Lt => Fun::Lt,
        Prim::Gte => Fun::Gte,
        Prim::Lte => Fun::Lte,
        Prim::And => Fun::And,
        Prim::Or => Fun::Or,
        Prim::Not => Fun::Not,
        Prim::ToFloat => Fun::ToFloat,
        Prim::ToInteger => Fun::ToInteger,
        Prim::BoolToFloat => Fun::BoolToFloat,
        Prim::Ranhashdoub => Fun::Hash,
        _ => return None,
    })
}
