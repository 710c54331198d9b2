//! Whole functions: parameters in, results out.

use super::block::{is_float, tuple};
use super::names::{Names, identifier};
use super::{Library, Module, Printer};
use crate::ir::{Function, Id, Op, Scalar, Shape};
use crate::refusal::Refusal;
use lm::term::{Derivative, FunName};

/// Writes functions, and for JAX what ties a function to its derivative.
pub(super) fn write<'a>(module: &mut Module<'a>, functions: &'a [Function]) -> Result<(), Refusal> {
    let mut names = Names::default();
    let called: Vec<String> = functions.iter().map(|function| names.fresh(&python_name(&function.name))).collect();
    for (function, name) in functions.iter().zip(&called) {
        let text = plain(module, function, name)?;
        module.text.push_str(&text);
    }
    Ok(())
}

/// Returns the name of a function in Python: `vjp_f`.
fn python_name(name: &FunName) -> String {
    let is_restriction = |derivative: &&Derivative| matches!(derivative, Derivative::Wrt(_));
    let mut plain = name.clone();
    plain.derivations = name.derivations.iter().filter(|d| !is_restriction(d)).cloned().collect();
    let words: String = plain.to_string().chars().filter(|c| !"[]".contains(*c)).collect();
    identifier(&words.replace(' ', "_"))
}

fn plain<'a>(module: &mut Module<'a>, function: &'a Function, name: &str) -> Result<String, Refusal> {
    let mut printer = Printer::new(module, function)?;
    let parameters = printer.parameters();
    let has_status = printer.has_status(&function.body);
    if has_status {
        printer.line("status = 0");
    }
    printer.block(&function.body);
    let results: Vec<String> = function.body.results.iter().map(|&id| printer.whole(id).text).collect();
    let value = |printer: &Printer, poisoned: bool| {
        let text = |&k: &usize| {
            let id = function.body.results[k];
            match poisoned && is_float(printer.function.node(id).scalar) {
                true => format!("jnp.where(status == 0, {}, jnp.nan)", results[k]),
                false => results[k].clone(),
            }
        };
        nested(&function.result.map(&mut |k| text(k)))
    };
    let (body, checks) = (printer.text.clone(), printer.checks.clone());
    let signature = parameters.join(", ");
    let doc = format!("    \"\"\"{}\"\"\"\n", signature_text(function));
    let result = value(&printer, has_status);
    let raw = value(&printer, false);
    let library = printer.module.library;
    let mut text = String::new();
    match (library, has_status) {
        (Library::Numpy, _) => {
            text += &format!(
                "\n\n@np.errstate(all=\"ignore\")\ndef {name}({signature}):\n{doc}{body}    return {result}\n"
            );
        }
        (Library::Jax, false) => {
            text += &format!("\n\ndef {name}({signature}):\n{doc}{body}    return {result}\n");
        }
        (Library::Jax, true) => {
            let of_floats = nested(&function.result.map(&mut |&k| poison(function, k)));
            let all: Vec<String> = (0..function.body.results.len()).map(|k| format!("r{}", k + 1)).collect();
            text += &format!(
                "\n\ndef _{name}({signature}):\n{body}    return status, ({})\n\n\ndef {name}({signature}):\n{doc}    status, ({}) = _{name}({signature})\n    return {of_floats}\n",
                tuple(&results),
                tuple(&all),
            );
            let messages: Vec<String> = checks.iter().map(|message| format!("    {message:?},\n")).collect();
            text += &format!(
                "\n\ndef status_{name}({signature}):\n    \"\"\"0, or the number of the first check that fails: from 1, of checks_{name}.\"\"\"\n    return _{name}({signature})[0]\n\n\nchecks_{name} = [\n{}]\n",
                messages.concat()
            );
            let _ = raw;
        }
    }
    Ok(text)
}

/// Returns a result of a function that may have failed.
fn poison(function: &Function, k: usize) -> String {
    let id = function.body.results[k];
    match is_float(function.node(id).scalar) {
        true => format!("jnp.where(status == 0, r{}, jnp.nan)", k + 1),
        false => format!("r{}", k + 1),
    }
}

/// Returns a value as nested tuples.
fn nested(shape: &Shape<String>) -> String {
    match shape {
        Shape::Array(text) => text.clone(),
        Shape::Tuple(parts) => {
            let parts: Vec<String> = parts.iter().map(nested).collect();
            format!("({})", tuple(&parts))
        }
    }
}

/// Returns what a function takes, for its documentation.
fn signature_text(function: &Function) -> String {
    let array = |id: Id| {
        let node = function.node(id);
        let kind = match node.scalar {
            Scalar::Float => "float",
            Scalar::Integer => "int",
            Scalar::Bool => "bool",
        };
        if node.dims.is_empty() {
            kind.to_string()
        } else {
            format!("{kind}[{}]", vec![":"; node.dims.len()].join(", "))
        }
    };
    let parameters = function.parameters.iter().map(|parameter| {
        let shape = parameter.shape.map(&mut |&k| array(function.inputs[k]));
        format!("{}: {}", parameter.name, nested(&shape))
    });
    let result = nested(&function.result.map(&mut |&k| array(function.body.results[k])));
    format!("{}: {} -> {result}", function.name, parameters.collect::<Vec<_>>().join(", "))
}

impl Printer<'_, '_> {
    /// Names the inputs, and writes the lines that take them. Returns the parameters.
    fn parameters(&mut self) -> Vec<String> {
        let function = self.function;
        let mut parameters = Vec::new();
        let mut lines = Vec::new();
        let mut inputs: Vec<String> = vec![String::new(); function.inputs.len()];
        for parameter in &function.parameters {
            let name = self.names.fresh(&parameter.name);
            self.take(&parameter.shape, &name, &mut inputs, &mut lines);
            parameters.push(name);
        }
        lines.into_iter().for_each(|line| self.line(line));
        for (&id, name) in function.inputs.iter().zip(&inputs) {
            let node = function.node(id);
            self.variables.insert(id, name.clone());
            let kind = self.dtype(node.scalar);
            match node.dims.is_empty() && self.is_fixed(id) {
                true => self.line(format!("{name} = {kind}({name})")),
                false => {
                    self.module.needed.insert("_array");
                    self.line(format!("{name} = _array({name}, {kind}, {}, {name:?})", node.dims.len()));
                }
            }
        }
        self.take_sizes(&inputs);
        parameters
    }

    fn take(&mut self, shape: &Shape<usize>, name: &str, inputs: &mut [String], lines: &mut Vec<String>) {
        match shape {
            Shape::Array(k) => inputs[*k] = name.into(),
            Shape::Tuple(parts) if parts.is_empty() => {}
            Shape::Tuple(parts) => {
                let names: Vec<String> = (1..=parts.len()).map(|k| self.names.fresh(&format!("{name}_{k}"))).collect();
                lines.push(format!("({}) = {name}", tuple(&names)));
                parts.iter().zip(&names).for_each(|(part, name)| self.take(part, name, inputs, lines));
            }
        }
    }

    fn take_sizes(&mut self, inputs: &[String]) {
        const LETTERS: &[&str] = &["n", "m", "k", "l", "p", "q", "r"];
        let function = self.function;
        for &id in &function.body.nodes {
            if let Op::InputSize(input, axis) = function.node(id).op
                && self.uses[id.index()] > 0
            {
                let letter = LETTERS.get(axis).copied().unwrap_or("s");
                let name = self.names.fresh(&format!("{letter}_{}", inputs[input]));
                self.line(format!("{name} = {}.shape[{axis}]", inputs[input]));
                self.variables.insert(id, name);
            }
        }
    }
}
