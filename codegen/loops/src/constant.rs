//! Tells what in the type of a tangent cannot vary: tensors of Integers have tangents that are tensors of units.

use lm::types::Type;
use std::sync::Arc;

/// Returns whether a tangent type holds tensors that cannot vary.
pub(crate) fn has_constant(ty: &Type) -> bool {
    match ty {
        Type::Tuple(parts) => parts.iter().any(has_constant),
        Type::Tensor(..) if is_constant(ty) => true,
        Type::Tensor(rank, element) => match &**element {
            // A tensor for each component.
            Type::Tuple(parts) if !element.has_fixed_shape() => {
                parts.iter().any(|part| has_constant(&Type::Tensor(*rank, Arc::new(part.clone()))))
            }
            element => has_constant(element),
        },
        Type::Float | Type::Integer | Type::Bool | Type::String => false,
        Type::Lam(..) | Type::LM(..) | Type::Record(_) => false,
    }
}

/// Returns whether a tangent type holds tensors, and nothing in it can vary.
pub(crate) fn is_constant(ty: &Type) -> bool {
    !ty.is_differentiable() && ty.mentions_array()
}
