//! Lays out values in components.
//!
//! ```text
//! a Float, Integer, Bool or String    itself
//! a tuple                             its components in order; unit is none
//! (Tensor d T)                        d sizes; for each component of T, a buffer of it
//! (Record f)                          the words of what it was made of, one for each component
//! ```
//!
//! So a tensor of tuples is one buffer for each component, and a vector of vectors has the buffer of their
//! sizes and the buffer of their buffers. Elements stand in order, the last index running fastest.

use crate::ir::{MOST_DIMENSIONS, Scalar, Ty};
use lm::types::Type;

/// Returns the components of a type; the first part of it that has no layout, otherwise.
pub fn components(ty: &Type) -> Result<Vec<Ty>, Type> {
    let mut out = Vec::new();
    push_components(ty, &mut out)?;
    Ok(out)
}

fn push_components(ty: &Type, out: &mut Vec<Ty>) -> Result<(), Type> {
    match ty {
        Type::Float => out.push(Scalar::Float.ty()),
        Type::Integer => out.push(Scalar::Integer.ty()),
        Type::Bool => out.push(Scalar::Bool.ty()),
        Type::String => out.push(Scalar::Text.ty()),
        Type::Tuple(parts) => parts.iter().try_for_each(|part| push_components(part, out))?,
        Type::Tensor(rank, element) if *rank <= MOST_DIMENSIONS => {
            out.extend(std::iter::repeat_n(Scalar::Integer.ty(), *rank));
            let start = out.len();
            push_components(element, out)?;
            out[start..].iter_mut().for_each(|component| *component = component.buffer());
        }
        Type::Record(_) => out.push(Scalar::Integer.ty().buffer()),
        Type::Tensor(..) | Type::Lam(..) | Type::LM(..) => return Err(ty.clone()),
    }
    Ok(())
}
