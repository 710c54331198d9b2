//! Gathers what reaches a component of the argument as what reaches a bound map: π(i,n) has a name while a block is
//! transposed.
//!
//! ```text
//! ⊕(build(n, λi. m × 0 × p))  =  let R = ⊕(build(n, λi. m × p)) in (π(1,2) ∘ R) × 0 × (π(2,2) ∘ R)
//! ```
//!
//! So a loop or a branch sends only to the components that it uses, and no tuple that is zero elsewhere.

use super::{Scope, Transpose, after, transposed};
use lm::law::component_source;
use lm::rewriter::{OutOfFuel, Rewriter};
use lm::term::{Expr, Op, Var};

/// A component of the argument.
pub(super) struct Part {
    pub name: Var,
    projection: Expr,
}

impl Part {
    /// Names the components of an argument like `to`, if it is a tuple.
    pub fn all_of(to: &Expr, cx: &mut Rewriter) -> Vec<Part> {
        let whole = Expr::witness(&component_source(to));
        let n = to.ty().as_tuple().map_or(0, <[_]>::len);
        let part = |i| {
            let projection = Expr::app(Op::LmGet(i, n), vec![whole.clone()]);
            let name = cx.supply.fresh("D", projection.ty().clone());
            cx.context.spaces.bind(&name, &projection);
            Part { name, projection }
        };
        (1..=n).map(part).collect()
    }
}

impl Transpose<'_, '_> {
    /// Puts what reached the components of the argument where they are in it.
    pub(super) fn gather_parts(&mut self, scope: &mut Scope) -> Result<(), OutOfFuel> {
        for part in std::mem::take(&mut self.parts) {
            if let Some(total) = self.total(&part.name, &part.projection, scope)? {
                scope.direct.push(after(transposed(&part.projection), total));
            }
        }
        Ok(())
    }

    /// Returns the map of a name: a component of the argument has none outside of this pass.
    pub(super) fn named(&self, dx: &Var) -> Expr {
        let part = self.parts.iter().find(|part| part.name == *dx);
        part.map_or_else(|| Expr::var(dx), |part| part.projection.clone())
    }
}
