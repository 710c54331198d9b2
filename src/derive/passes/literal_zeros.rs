//! Zeros become literals.
//!
//! ```text
//! ts_zero w   =   0.0, or a tuple of such
//! ```
//!
//! Up to here a zero tangent is `ts_zero`, so that `x + 0 = x` is never applied to the program's own
//! literals. Takes: terms without linear maps. Gives: the same without `ts_zero` of fixed shape.

use crate::derive::postcondition::Facts;
use lm::prim::Prim;
use lm::term::{Def, Expr, Kind};
use lm::types::Type;

/// The definition with its zeros as literals.
pub fn literal_zeros(def: &Def) -> Def {
    Def { body: term(&def.body), ..def.clone() }
}

fn term(e: &Expr) -> Expr {
    match e.args_of_prim(Prim::ZeroOf) {
        Some(_) => zero(e.ty()).unwrap_or_else(|| e.clone()),
        None => match e.kind() {
            Kind::Const(_) | Kind::Var(_) => e.clone(),
            Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => e.map_children(term),
        },
    }
}

/// The zero of a tangent type whose values all have one shape.
fn zero(ty: &Type) -> Option<Expr> {
    match ty {
        Type::Float => Some(Expr::float(0.0)),
        Type::Tuple(parts) => Some(Expr::tuple(parts.iter().map(zero).collect::<Option<Vec<_>>>()?)),
        Type::Integer
        | Type::Bool
        | Type::String
        | Type::Tensor(..)
        | Type::Lam(..)
        | Type::LM(..)
        | Type::Record(_) => None,
    }
}

/// The postcondition: no zero is left that has a literal, but for what only the witness of another zero has.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    zero_with_literal(&def.body).cloned()
}

fn zero_with_literal(e: &Expr) -> Option<&Expr> {
    match e.args_of_prim(Prim::ZeroOf) {
        Some(_) => zero(e.ty()).map(|_| e),
        None => e.children().find_map(zero_with_literal),
    }
}
