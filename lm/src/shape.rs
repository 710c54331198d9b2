//! Makes terms for shapes and zeros.
//!
//! ```text
//! shape(e) = size(e)      zero(e) = ts_zero(e)      where the elements of e are of fixed shape, Floats
//! shape(e) = build(size(e), \i. shape(e[i]))        and else element by element; tuples by component
//! ```

use crate::prim::Prim;
use crate::term::{Binding, Constant, Expr, Op, Pattern, Supply};
use crate::types::Type;

/// Returns the shape of the value of a variable or another atom.
pub fn of(e: &Expr, supply: &mut Supply) -> Expr {
    match e.ty() {
        ty if ty.has_fixed_shape() => unit(ty),
        Type::Tuple(parts) => {
            let parts = (1..=parts.len()).map(|i| Expr::get(i, e.clone())).collect::<Vec<_>>();
            Expr::tuple(parts.iter().map(|part| of(part, supply)).collect::<Vec<_>>())
        }
        Type::Tensor(_, element) if element.has_fixed_shape() => size(e),
        Type::Tensor(rank, _) => over(*rank, size(e), supply, |supply, i| of_term(element(i, e), supply)),
        Type::Float | Type::Integer | Type::Bool | Type::String | Type::Lam(..) | Type::LM(..) | Type::Record(_) => {
            unit(e.ty())
        }
    }
}

/// Returns the shape of the value of a term, which evaluates the term.
pub fn of_term(e: Expr, supply: &mut Supply) -> Expr {
    if e.is_atom() {
        return of(&e, supply);
    }
    let t = supply.fresh("t", e.ty().clone());
    let shape = of(&Expr::var(&t), supply);
    Expr::block(vec![Binding { pattern: Pattern::Var(t), rhs: e }], shape)
}

/// Returns the shape of all values of a type of fixed shape.
pub fn unit(ty: &Type) -> Expr {
    Expr::tuple(ty.as_tuple().unwrap_or_default().iter().map(unit).collect::<Vec<_>>())
}

/// Returns the size of a tensor of the given type, from its shape.
pub fn size_of_shape(ty: &Type, shape: &Expr) -> Expr {
    match ty {
        Type::Tensor(_, element) if element.has_fixed_shape() => shape.clone(),
        _ => size(shape),
    }
}

/// Returns the zero of a type. `shape` is its shape, an atom. `None` for functions and linear maps.
pub fn zeros(ty: &Type, shape: &Expr, supply: &mut Supply) -> Option<Expr> {
    Some(match ty {
        Type::Float => Expr::prim(Prim::ZeroOf, [Expr::dummy(Type::Float)]),
        Type::Integer => Expr::integer(0),
        Type::Bool => Expr::constant(Constant::Bool(false)),
        Type::String => Expr::constant(Constant::String("".into())),
        Type::Tuple(parts) => {
            let part = |(i, ty): (usize, &Type)| zeros(ty, &Expr::get(i + 1, shape.clone()), supply);
            Expr::tuple(parts.iter().enumerate().map(part).collect::<Option<Vec<_>>>()?)
        }
        Type::Tensor(rank, inner) => {
            let is_size = inner.has_fixed_shape();
            let mut zero = None;
            let built = over(*rank, size_of_shape(ty, shape), supply, |supply, i| {
                let part = if is_size { unit(inner) } else { element(i, shape) };
                zero = zeros(inner, &part, supply);
                zero.clone().unwrap_or(Expr::dummy((**inner).clone()))
            });
            zero.map(|_| built)?
        }
        Type::Lam(..) | Type::LM(..) | Type::Record(_) => return None,
    })
}

/// Returns `build bounds (lam i. f(i))`.
pub fn over(rank: usize, bounds: Expr, supply: &mut Supply, f: impl FnOnce(&mut Supply, &Expr) -> Expr) -> Expr {
    let i = supply.fresh("i", Type::index(rank));
    let body = f(supply, &Expr::var(&i));
    Expr::prim(Prim::Build, [bounds, Expr::lam(i, body)])
}

fn size(tensor: &Expr) -> Expr {
    Expr::prim(Prim::Size, [tensor.clone()])
}

fn element(i: &Expr, tensor: &Expr) -> Expr {
    Expr::app(Op::Prim(Prim::Index), vec![i.clone(), tensor.clone()])
}
