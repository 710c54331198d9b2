//! Lists the operators, and gives them types.

use super::{Fun, FunName};
use crate::prim::Prim;
use crate::types::Type;
use std::sync::Arc;

/// An operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `(e1, ..., en)`.
    Tuple,
    /// `get$i$n`, 1-based.
    Get(usize, usize),
    /// `if c then a else b`; only the chosen branch is evaluated.
    If,
    /// `assert c e`: e, or an error when c is false.
    Assert,
    /// A value of the node's type that is never read.
    Dummy,
    /// A primitive.
    Prim(Prim),
    /// A call of a top-level function, one argument per parameter.
    Call(Arc<Fun>),
    /// The Jacobian `∂p(e1, ..., en)` of a primitive (`D*(x, y)` in the notes): a linear map from
    /// the argument, or from the tuple of all of them.
    JacobianOf(Prim),
    /// The Jacobian `∂f(e1, ..., en)` of a top-level function.
    JacobianOfFun(Arc<Fun>),
    /// The Jacobian of a top-level function at the point that a record of its first half holds. Its arguments are the
    /// record, and witnesses of what varies and of the result. It is applied in reverse only.
    JacobianAt(Arc<Fun>),
    /// The linear map that selects the i-th component of an n-tuple, 1-based. Its argument is a
    /// witness of the tuple.
    LmGet(usize, usize),
    /// A value as the record of a function.
    Pack(Arc<FunName>),
    /// The value of that type that a record was made of.
    Unpack(Type),
}

impl Op {
    /// Returns the result type for the given argument types, or `None` when they do not fit (and for `Dummy`, whose
    /// type nothing tells).
    pub fn result(&self, args: &[Type]) -> Option<Type> {
        match (self, args) {
            (Op::Tuple, _) => Some(Type::tuple(args.iter().cloned())),
            (Op::Get(i, n), [Type::Tuple(parts)]) if parts.len() == *n => parts.get(i - 1).cloned(),
            (Op::If, [Type::Bool, a, b]) if a == b => Some(a.clone()),
            (Op::Assert, [Type::Bool, t]) => Some(t.clone()),
            (Op::Prim(p), _) => p.result(args),
            (Op::Call(f), _) if f.params == args => Some(f.result.clone()),
            (Op::JacobianOfFun(f), _) if f.params == args => Some(Type::lm(f.varying(), f.result.clone())),
            (Op::JacobianAt(f), [_, s, t]) if *s == f.varying() && *t == f.result => {
                Some(Type::lm(s.clone(), t.clone()))
            }
            (Op::JacobianOf(p), [one]) => Some(Type::lm(one.clone(), p.result(args)?)),
            (Op::JacobianOf(p), _) => Some(Type::lm(Type::tuple(args.iter().cloned()), p.result(args)?)),
            (Op::LmGet(i, n), [Type::Tuple(parts)]) if parts.len() == *n => {
                Some(Type::lm(Type::Tuple(parts.clone()), parts.get(i - 1)?.clone()))
            }
            (Op::Pack(f), [_]) => Some(Type::Record(f.clone())),
            (Op::Unpack(ty), [Type::Record(_)]) => Some(ty.clone()),
            (Op::Get(..) | Op::If | Op::Assert | Op::Dummy | Op::Call(_) | Op::JacobianOfFun(_) | Op::LmGet(..), _)
            | (Op::JacobianAt(_) | Op::Pack(_) | Op::Unpack(_), _) => None,
        }
    }
}
