//! Declarations that say nothing new: `(edef sin Float (Float))`, where `sin` is there already.
//!
//! Programs for other compilers declare the built-ins that they use. Such a declaration has no effect, if it
//! gives the type that the built-in has.

use crate::derive::typing;
use crate::ks::check::builtins::builtin_function;
use lm::term::{Derivative, Fun};

/// Returns whether the declaration gives a built-in, or the Jacobian of a built-in, the type that it has.
///
/// Only the compiler can make linear maps, so a Jacobian cannot be implemented elsewhere. Other derivatives can.
pub fn is_of_builtin(declared: &Fun) -> bool {
    let Fun { name, params: _, result } = declared;
    if !name.derivations.iter().all(|derivative| matches!(derivative, Derivative::D | Derivative::Dt)) {
        return false;
    }
    let argument = declared.argument();
    let Some(base) = builtin_function(&name.base, &argument) else { return false };
    let known = typing::derive_all(&name.derivations, &base, &mut |_| None);
    name.overload.as_ref().is_none_or(|ty| *ty == argument) && known.is_some_and(|known| known.result == *result)
}
