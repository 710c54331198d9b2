//! Prints bulk programs as Python, on arrays of NumPy or of JAX.
//!
//! One line for each node that has a name or that several read; others stand where they are read. An axis along which an
//! array does not vary is left to broadcasting, so a `spread` is an index with `None`, or nothing.
//!
//! A check raises an error. JAX cannot raise one for data: there a failed check makes each Float of the result NaN, and
//! `status_f` tells which check it was. Sizes are Python numbers in both, so what depends on sizes alone is checked, and
//! decided, when JAX traces the function.

mod block;
mod expr;
mod functions;
mod names;
mod printer;
mod reverse;
mod runtime;
mod thick;

use super::place::Places;
use crate::ir::Function;
use crate::refusal::Refusal;
pub use printer::Library;
use printer::Module;
use std::collections::BTreeSet;

/// Returns a module with the functions.
///
/// Errors: JAX has no form of a size that depends on data.
pub fn module<'a>(library: Library, functions: &'a [Function], place: Places<'a>) -> Result<String, Refusal> {
    let ties = if library == Library::Jax { functions::ties(functions) } else { vec![] };
    let written = functions.iter().filter(|function| function.name.derivations.is_empty());
    let named = |function: &Function| function.parameters.iter().map(|parameter| parameter.name.to_string()).collect();
    let labels = written.map(|function| (function.name.clone(), named(function))).collect();
    let mut module = Module { library, place, needed: BTreeSet::new(), text: String::new(), labels };
    functions::write(&mut module, functions, &ties)?;
    Ok(format!("{}{}", runtime::head(library, &module.needed), module.text))
}
