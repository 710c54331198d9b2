//! Declarations that say nothing new: `(edef sin Float (Float))`, where `sin` is there already.
//!
//! Programs for other compilers declare the built-ins that they use, and functions before they define them. Such a
//! declaration has no effect, if it gives the type that the function has.

use crate::derive::typing;
use crate::ks::check::builtins::{Builtin, builtin_function, rows};
use crate::ks::check::head::Header;
use crate::ks::check::terms::argument_type;
use lm::term::{Derivative, Fun, FunName};
use lm::types::Type;
use rustc_hash::FxHashSet;

/// Returns whether the declaration gives a built-in, or the Jacobian of a built-in, the type that it has.
///
/// Only the compiler can make linear maps, so a Jacobian cannot be implemented elsewhere. Other derivatives can, and
/// functions of the library.
pub fn is_of_builtin(declared: &Fun) -> bool {
    let Fun { name, params: _, result } = declared;
    let is_map = |derivative: &Derivative| matches!(derivative, Derivative::D | Derivative::Dt);
    if !name.derivations.iter().all(is_map) || rows(&name.base).any(Builtin::is_library) {
        return false;
    }
    let argument = declared.argument();
    let Some(base) = builtin_function(&name.base, &argument) else { return false };
    let known = typing::derive_all(&name.derivations, &base, &mut |_| None);
    name.overload.as_ref().is_none_or(|ty| *ty == argument) && known.is_some_and(|known| known.result == *result)
}

/// Drops each declaration of a function that is also defined, or declared before, with these types.
pub fn without_repeated(headers: Vec<Header>) -> Vec<Header> {
    let defined = headers.iter().filter(|header| header.body.is_some());
    let mut known: FxHashSet<Signature> = defined.filter_map(signature).collect();
    let is_new = |header: &Header| header.body.is_some() || signature(header).is_none_or(|it| known.insert(it));
    headers.into_iter().filter(is_new).collect()
}

/// A name, an argument type and a result type.
type Signature = (FunName, Type, Type);

fn signature(header: &Header) -> Option<Signature> {
    let mut name = header.name.clone()?;
    if name.derivations.is_empty() {
        // It is the argument type.
        name.overload = None;
    }
    Some((name, argument_type(&header.types()?), header.result.clone()?))
}
