//! How values lie in components: a tuple is its components in order, unit is none.

use crate::loops::Scalar;
use lm::types::Type;

/// The components of a type; the first part of it that has no layout, otherwise.
pub fn components(ty: &Type) -> Result<Vec<Scalar>, Type> {
    let mut out = Vec::new();
    push_components(ty, &mut out)?;
    Ok(out)
}

fn push_components(ty: &Type, out: &mut Vec<Scalar>) -> Result<(), Type> {
    match ty {
        Type::Float => out.push(Scalar::Float),
        Type::Integer => out.push(Scalar::Integer),
        Type::Bool => out.push(Scalar::Bool),
        Type::String => out.push(Scalar::Text),
        Type::Tuple(parts) => parts.iter().try_for_each(|part| push_components(part, out))?,
        Type::Tensor(..) | Type::Lam(..) | Type::LM(..) | Type::Record(_) => return Err(ty.clone()),
    }
    Ok(())
}
