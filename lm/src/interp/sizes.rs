//! Checks sizes and indices of tensors.

use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::tensor::{Position, Tensor};
use crate::value::Value;

/// A tensor of more elements than this is refused before it is made. Dimensionless.
const MOST_ELEMENTS: usize = 1 << 28;

/// A size that a tensor can have.
pub(super) fn size_of(n: &Position) -> Result<Vec<usize>, RuntimeError> {
    let size = n.as_size().ok_or(RuntimeError::new(ErrorKind::NegativeSize(n.clone())))?;
    let count = size.iter().try_fold(1, |count: usize, &n| count.checked_mul(n));
    if count.is_none_or(|count| count > MOST_ELEMENTS) {
        return Err(RuntimeError::new(ErrorKind::TooLarge(n.clone())));
    }
    Ok(size)
}

/// The place of the element at an index.
///
/// Errors: the index is outside of the tensor.
pub(super) fn offset(v: &Tensor, i: &Value) -> Result<usize, RuntimeError> {
    let index = Position::of(i);
    v.offset(&index).ok_or_else(|| {
        let size = v.size().into();
        RuntimeError::new(ErrorKind::IndexOutOfRange { index, size })
    })
}

/// The size of both tensors.
///
/// Errors: they have different sizes.
pub(super) fn common_size<'a>(x: &'a Tensor, y: &Tensor) -> Result<&'a [usize], RuntimeError> {
    if x.size() == y.size() {
        return Ok(x.size());
    }
    Err(RuntimeError::new(ErrorKind::SizeMismatch { left: x.size().into(), right: y.size().into() }))
}
