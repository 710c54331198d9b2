//! Writes zeros of known shape as literals.
//!
//! ```text
//! ts_zero w   =   0.0, or a tuple of such
//! ```
//!
//! Until this pass a zero tangent is `ts_zero`, so that the law `x + 0 = x` never applies to literals of the program.
//! Takes: terms without linear maps. Gives: the same without `ts_zero` of fixed shape.

use crate::derive::postcondition::Facts;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::term::{Def, Expr, Kind};
use lm::types::Type;

/// Writes the zeros of a definition as literals.
pub fn literal_zeros(def: &Def, rewrites: &mut Rewrites) -> Def {
    Def { body: term(&def.body, rewrites), ..def.clone() }
}

fn term(e: &Expr, rewrites: &mut Rewrites) -> Expr {
    match e.args_of_prim(Prim::ZeroOf) {
        Some(_) => zero(e.ty()).filter(|_| rewrites.may("zero-literal")).unwrap_or_else(|| e.clone()),
        None => match e.kind() {
            Kind::Const(_) | Kind::Var(_) => e.clone(),
            Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => e.map_children(|c| term(c, rewrites)),
        },
    }
}

/// Returns the zero of a tangent type, if all values of the type have one shape.
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

/// Returns what breaks the postcondition: a zero that has a literal, outside of the witness of another zero.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    zero_with_literal(&def.body).cloned()
}

fn zero_with_literal(e: &Expr) -> Option<&Expr> {
    match e.args_of_prim(Prim::ZeroOf) {
        Some(_) => zero(e.ty()).map(|_| e),
        None => e.children().find_map(zero_with_literal),
    }
}
