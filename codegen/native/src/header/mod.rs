//! Writes the C header of a module.
//!
//! For each external function of the program: its type, and the declaration of what it must define.
//! For each entry with a name that C can write: a comment with its KS type, its symbols and its
//! errors, and a declaration. Compiles as C11 and C++17 without warnings. `$` in a name is an extension of
//! compilers: such declarations stand behind `LMC_DOLLAR_NAMES`, and the plain alias is always declared.

mod names;

pub(crate) use names::parameter_names;

use crate::error::Error;
use crate::module::{Entry, Module};
use indexmap::IndexSet;
use lm::sizes::Signature;
use lm::term::Fun;
use lm::types::Type;
use loops::interface::{CForm, Interface, Parameter, c_type};
use loops::ir::{Block, Failure, Function, Memory, Stmt};
use loops::symbol::c_symbol;
use names::Names;

const PRELUDE: &str = include_str!("prelude.h");

/// Returns the text of the header.
///
/// Errors: [`Error::NoInterface`], and two functions of one name in C.
pub(crate) fn header(module: &Module) -> Result<String, Error> {
    let interfaces = module.interfaces()?;
    let name = module.source().name();
    let from = if name.is_empty() { String::new() } else { format!(" from {}", comment_safe(name)) };
    let mut out = format!("/* Functions that lmc compiled{from}. */\n\n{PRELUDE}");
    let externals: Vec<External> = module
        .externals()
        .iter()
        .filter_map(|(fun, parameters)| parameters.as_ref().map(|parameters| (&**fun, parameters)))
        .collect();
    let needed = interfaces.iter().flat_map(|interface| interface.inputs.iter().chain(&interface.outputs));
    let needed = needed.chain(externals.iter().flat_map(|(_, parameters)| parameters.iter().flatten()));
    let structures: IndexSet<String> = needed.filter_map(|parameter| parameter.form.definition()).collect();
    structures.iter().for_each(|structure| out.push_str(&format!("\n{structure}")));
    externals.iter().for_each(|external| out.push_str(&external_declaration(external)));
    let failures = failures(module);
    for (entry, interface) in module.entries().iter().zip(interfaces) {
        out.push_str(&declaration(entry, interface, &failures[interface.function.0]));
    }
    out.push_str("\n#ifdef __cplusplus\n}\n#endif\n");
    Ok(out)
}

/// An external function, with its inputs and outputs.
type External<'a> = (&'a Fun, &'a [Vec<Parameter>; 2]);

fn external_declaration((fun, [inputs, outputs]): &External) -> String {
    let params = c_parameters(inputs, Some(outputs));
    format!("\n/* {}\n   Defined elsewhere. */\nint32_t {}({params});\n", type_of(fun), c_symbol(&fun.name))
}

fn type_of(fun: &Fun) -> String {
    let params: Vec<String> = fun.params.iter().map(Type::to_string).collect();
    comment_safe(&format!("{} : ({}) -> {}", fun.name, params.join(", "), fun.result))
}

/// The type, with the sizes that the function checks.
fn type_with_sizes(fun: &Fun, sizes: &Signature) -> String {
    let params: Vec<String> = sizes.params.iter().map(|(_, ty)| ty.to_string()).collect();
    comment_safe(&format!("{} : ({}) -> {}", fun.name, params.join(", "), sizes.result))
}

fn declaration(entry: &Entry, interface: &Interface, failures: &[Failure]) -> String {
    let (fun, symbol) = (&entry.def.fun, &entry.symbol);
    let ty = entry.sizes.as_ref().map_or_else(|| type_of(fun), |sizes| type_with_sizes(fun, sizes));
    let symbols = comment_safe(&symbol.names().collect::<Vec<_>>().join(", "));
    let argument = interface.has_tensors().then_some(Failure::BadArgument.constant());
    let errors: IndexSet<&str> = failures.iter().map(|failure| failure.constant()).chain(argument).collect();
    let errors: Vec<&str> = errors.into_iter().collect();
    let errors = if errors.is_empty() { "none".to_string() } else { errors.join(", ") };
    let mut out = format!("\n/* {ty}\n   Symbols: {symbols}. Errors: {errors}. */\n");
    let params = c_parameters(&interface.inputs, Some(&interface.outputs));
    let name = symbol.c_name().expect("only functions that want one name in C have none, and they are refused");
    out.push_str(&format!("int32_t {name}({params});\n"));
    if let Some(query) = symbol.workspace_c_name() {
        out.push_str(&format!("int32_t {query}({});\n", c_parameters(&interface.inputs, None)));
    }
    let dollar =
        symbol.name.contains('$') && symbol.name.chars().all(|c| c.is_ascii_alphanumeric() || "_$".contains(c));
    if dollar {
        out.push_str(&format!("#ifdef LMC_DOLLAR_NAMES\nint32_t {}({params});\n#endif\n", symbol.name));
    }
    out
}

/// Inputs by value, tensors as constant structures; results through pointers, or in place of them the number of
/// bytes.
fn c_parameters(inputs: &[Parameter], outputs: Option<&[Parameter]>) -> String {
    let mut names = Names::default();
    let mut out = vec!["lmc_context *ctx".to_string()];
    for Parameter { name, form } in inputs {
        let name = names.unused(name);
        out.push(match form {
            CForm::Scalar(scalar) => format!("{}{name}", c_type(*scalar)),
            form => format!("const {} *{name}", form.structure().expect("tensors are structures")),
        });
    }
    let Some(outputs) = outputs else {
        out.push(format!("int64_t *{}", names.unused("bytes")));
        return out.join(", ");
    };
    for Parameter { name, form } in outputs {
        let name = names.unused(name);
        out.push(match form {
            CForm::Scalar(scalar) => format!("{}*{name}", c_type(*scalar)),
            form => format!("{} *{name}", form.structure().expect("tensors are structures")),
        });
    }
    out.join(", ")
}

/// Returns the failures of each function: its own and those of what it calls.
fn failures(module: &Module) -> Vec<Vec<Failure>> {
    let functions = &module.loops().functions;
    let mut all: Vec<u32> = functions.iter().map(|f| own_failures(&f.body) | recursion(f)).collect();
    let mut changed = true;
    while changed {
        changed = false;
        // Callees mostly come later than their callers.
        for (i, function) in functions.iter().enumerate().rev() {
            let mut set = all[i];
            function.body.callees(&mut |callee| set |= all[callee.0]);
            changed |= set != all[i];
            all[i] = set;
        }
    }
    let listed = |set: u32| loops::ir::ALL_FAILURES.iter().copied().filter(move |f| set & bit(*f) != 0).collect();
    all.into_iter().map(listed).collect()
}

fn bit(failure: Failure) -> u32 {
    1 << failure as u32
}

fn recursion(function: &Function) -> u32 {
    if function.recursive { bit(Failure::RecursionTooDeep) } else { 0 }
}

fn own_failures(block: &Block) -> u32 {
    let mut set = 0;
    block.visit(&mut |stmt| {
        set |= match stmt {
            Stmt::Check { failure, .. } => bit(*failure),
            Stmt::Memory(Memory::Alloc { .. }) => bit(Failure::OutOfMemory),
            Stmt::External { .. } => bit(Failure::ExternalFailed),
            _ => 0,
        }
    });
    set
}

/// Names of the language may hold what ends a comment, or begins one.
fn comment_safe(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *")
}

#[cfg(test)]
mod tests {
    use super::*;
    use loops::ir::{ALL_FAILURES, MOST_NUMBERS};

    #[test]
    fn the_prelude_has_every_failure() {
        for failure in ALL_FAILURES {
            let row = format!("  {} = {}", failure.constant(), *failure as i32);
            assert!(PRELUDE.contains(&row), "{row}");
        }
        assert!(PRELUDE.contains(&format!("int64_t number[{MOST_NUMBERS}];")));
    }
}
