//! Shapes as programs give them: the shape of a vector of Floats is its size, or a vector of empty tuples of that size.
//!
//! ```text
//! T               shapes of a T                          the shorter shape, of a shape s
//! Float           ()
//! Tensor d T      the size, or Tensor d (shape of T)     size(s) if T is of fixed shape, else build(size(s), \i. s[i])
//! (T1, .., Tn)    (shape of T1, .., shape of Tn)         by component
//! ```

use crate::ks::check::checker::Checker;
use crate::ks::check::terms::apply;
use lm::prim::Prim;
use lm::term::{Expr, Op, Span};
use lm::types::Type;

/// Returns whether a type is that of shapes of values of type `ty`, shorter or longer ones.
pub fn is_shape_of(ty: &Type, shape: &Type) -> bool {
    match (ty, shape) {
        _ if ty.shape() == *shape => true,
        (Type::Tensor(rank, element), Type::Tensor(r, part)) => rank == r && is_shape_of(element, part),
        (Type::Tuple(parts), Type::Tuple(shapes)) => {
            parts.len() == shapes.len() && parts.iter().zip(shapes.iter()).all(|(ty, shape)| is_shape_of(ty, shape))
        }
        _ => false,
    }
}

impl Checker {
    /// Returns the shorter shape of a value of type `ty`, from one that [`is_shape_of`] admits.
    pub(super) fn shorter_shape(&mut self, ty: &Type, shape: Expr, span: Span) -> Expr {
        if *shape.ty() == ty.shape() {
            return shape;
        }
        let (bindings, shape) = self.name_of(shape);
        let shorter = match ty {
            Type::Tensor(_, element) => {
                let size = apply(Op::Prim(Prim::Size), vec![shape.clone()], span);
                if element.has_fixed_shape() {
                    size
                } else {
                    self.over(ty, size, span, |cx, i| {
                        let part = apply(Op::Prim(Prim::Index), vec![i, shape], span);
                        cx.shorter_shape(element, part, span)
                    })
                }
            }
            _ => {
                let parts = ty.as_tuple().unwrap_or_default();
                let part = |i| apply(Op::Get(i + 1, parts.len()), vec![shape.clone()], span);
                let parts = parts.iter().enumerate().map(|(i, ty)| self.shorter_shape(ty, part(i), span)).collect();
                apply(Op::Tuple, parts, span)
            }
        };
        Expr::block(bindings, shorter)
    }
}
