//! Whole functions: parameters in, results out.

use super::block::{is_float, tuple};
use super::names::{Names, identifier};
use super::printer::{Library, Module, Printer, sizes_of};
use super::reverse::{Halves, halves};
use crate::ir::{Function, Id, Op, Parameter, Scalar, Shape};
use crate::refusal::Refusal;
use lm::term::{Derivative, FunName};

/// Writes functions, and for JAX what ties a function to its derivative.
pub(super) fn write<'a>(module: &mut Module<'a>, functions: &'a [Function], ties: &'a [Tie]) -> Result<(), Refusal> {
    let mut names = Names::default();
    let called: Vec<String> = functions.iter().map(|function| names.fresh(&python_name(&function.name))).collect();
    for (k, (function, name)) in functions.iter().zip(&called).enumerate() {
        let told = ["status", "checks"].map(|what| format!("{what}_{name}"));
        let told = told.map(|name| if called.contains(&name) { names.fresh(&name) } else { name });
        let text = plain(module, function, name, &told)?;
        module.text.push_str(&text);
        if let Some(tie) = ties.iter().find(|tie| tie.primal == k) {
            let text = tied(module, function, name, tie)?;
            module.text.push_str(&text);
        }
    }
    Ok(())
}

/// A function and the halves of its derivative.
pub(super) struct Tie {
    /// The number of the function.
    primal: usize,
    halves: Halves,
    /// The shapes of the cotangent and of the gradient.
    cotangent: Shape<usize>,
    gradient: Shape<usize>,
}

/// Returns the functions whose derivative is there, too, with respect to all that varies.
pub(super) fn ties(functions: &[Function]) -> Vec<Tie> {
    let tie = |(primal, function): (usize, &Function)| {
        let name = function.name.derived(Derivative::Vjp);
        let vjp = functions.iter().find(|other| other.name == name)?;
        let count = function.inputs.len();
        let mut halves = halves(vjp, count)?;
        halves.forward.parameters = function.parameters.clone();
        halves.forward.inputs.truncate(count);
        let flat = |k: usize| Parameter { name: format!("x{}", k + 1).into(), shape: Shape::Array(k) };
        halves.backward.parameters = (0..halves.backward.inputs.len()).map(flat).collect();
        let Shape::Tuple(parts) = &vjp.result else { return None };
        let first = halves.values;
        let gradient = parts.get(1)?.map(&mut |k| k - first);
        let cotangent = vjp.parameters.last()?.shape.map(&mut |k| k - count);
        Some(Tie { primal, halves, cotangent, gradient })
    };
    functions.iter().enumerate().filter_map(tie).collect()
}

/// Returns a function that gives its status beside its results.
fn raw<'a>(module: &mut Module<'a>, function: &'a Function, name: &str) -> Result<String, Refusal> {
    let mut printer = Printer::new(module, function)?;
    let parameters = printer.parameters().join(", ");
    printer.line("status = 0");
    printer.block(&function.body);
    let results: Vec<String> = function.body.results.iter().map(|&id| printer.whole(id).text).collect();
    let body = printer.text.clone();
    Ok(format!("\n\ndef {name}({parameters}):\n{body}    return status, ({})\n", tuple(&results)))
}

/// Returns the text that gives a function its derivative in JAX.
fn tied<'a>(module: &mut Module<'a>, function: &'a Function, name: &str, tie: &'a Tie) -> Result<String, Refusal> {
    let (forward, backward) = (format!("_forward_{name}"), format!("_backward_{name}"));
    let sizes = sizes_of(&tie.halves.backward);
    let is_size = |k: usize| {
        let id = function.inputs[k];
        function.node(id).dims.is_empty()
            && function.node(id).scalar == Scalar::Integer
            && (sizes_of(function)[id.index()] || sizes[tie.halves.backward.inputs[k].index()])
    };
    // A number that sizes are made of is no array: JAX must know it when it traces the function.
    let fixed: Vec<usize> = (0..function.parameters.len())
        .filter(|&p| matches!(function.parameters[p].shape, Shape::Array(k) if is_size(k)))
        .collect();
    let hidden = function.parameters.iter().any(|parameter| {
        matches!(parameter.shape, Shape::Tuple(_)) && parameter.shape.leaves().into_iter().any(|&k| is_size(k))
    });
    if hidden {
        return Ok(format!(
            "\n\n# `{name}` has a size in a tuple, so JAX cannot be told its derivative: call `vjp_{name}`.\n"
        ));
    }
    let mut text = raw(module, &tie.halves.forward, &forward)? + &raw(module, &tie.halves.backward, &backward)?;
    let mut names = Names::default();
    let parameters: Vec<String> = function.parameters.iter().map(|parameter| names.fresh(&parameter.name)).collect();
    let all = parameters.join(", ");
    let poisoned = |k: &usize| {
        let id = tie.halves.forward.body.results[*k];
        match is_float(tie.halves.forward.node(id).scalar) {
            true => format!("jnp.where(_status == 0, _y[{k}], jnp.nan)"),
            false => format!("_y[{k}]"),
        }
    };
    let value = nested(&function.result.map(&mut |k| poisoned(k)));
    let values = tie.halves.values;
    text += &format!(
        "\n\ndef _fwd_{name}({all}):\n    _status, _y = {forward}({all})\n    return {value}, (_status, ({}), _y[{values}:])\n",
        tuple(&parameters)
    );
    let given: Vec<String> = fixed.iter().map(|&p| parameters[p].clone()).collect();
    let leading: Vec<String> = given.iter().cloned().chain(["_saved".into(), "_dr".into()]).collect();
    let inputs: Vec<String> = (function.parameters.iter().zip(&parameters))
        .flat_map(|(parameter, name)| paths(&parameter.shape, name))
        .chain(paths(&tie.cotangent, "_dr"))
        .chain(["*_kept".into()])
        .collect();
    let gradients: Vec<&Shape<usize>> = match (&tie.gradient, function.parameters.len()) {
        (one, 1) => vec![one],
        (Shape::Tuple(parts), _) => parts.iter().collect(),
        (one, _) => vec![one],
    };
    let cotangents: Vec<String> = (function.parameters.iter().zip(gradients).enumerate())
        .filter(|(p, _)| !fixed.contains(p))
        .map(|(_, (parameter, gradient))| cotangent(&parameter.shape, gradient))
        .collect();
    // The numbers among the parameters are given, not saved.
    let bound: Vec<String> = parameters
        .iter()
        .enumerate()
        .map(|(p, name)| if fixed.contains(&p) { "_".into() } else { name.clone() })
        .collect();
    text += &format!(
        "\n\ndef _bwd_{name}({}):\n    _status, ({}), _kept = _saved\n    _failed, _dx = {backward}({})\n    _status = jnp.where(_status == 0, _failed, _status)\n    return ({})\n",
        leading.join(", "),
        tuple(&bound),
        inputs.join(", "),
        tuple(&cotangents)
    );
    let numbers = match fixed.is_empty() {
        true => String::new(),
        false => format!(", nondiff_argnums=({})", tuple(&fixed.iter().map(usize::to_string).collect::<Vec<_>>())),
    };
    text += &format!("\n\n{name} = jax.custom_vjp({name}{numbers})\n{name}.defvjp(_fwd_{name}, _bwd_{name})\n");
    Ok(text)
}

/// Returns the parts of a value that are arrays, as Python.
fn paths(shape: &Shape<usize>, path: &str) -> Vec<String> {
    match shape {
        Shape::Array(_) => vec![path.into()],
        Shape::Tuple(parts) => {
            parts.iter().enumerate().flat_map(|(k, part)| paths(part, &format!("{path}[{k}]"))).collect()
        }
    }
}

/// Returns the cotangent of a parameter: nothing for what does not vary.
fn cotangent(parameter: &Shape<usize>, gradient: &Shape<usize>) -> String {
    match (parameter, gradient) {
        (_, Shape::Array(k)) => format!("jnp.where(_status == 0, _dx[{k}], jnp.nan)"),
        (Shape::Tuple(parts), Shape::Tuple(gradients)) if parts.len() == gradients.len() => {
            let parts = parts.iter().zip(gradients).map(|(part, gradient)| cotangent(part, gradient));
            format!("({})", tuple(&parts.collect::<Vec<_>>()))
        }
        _ => "None".into(),
    }
}

/// Returns the name of a function in Python: `vjp_f`.
fn python_name(name: &FunName) -> String {
    let is_restriction = |derivative: &&Derivative| matches!(derivative, Derivative::Wrt(_));
    let mut plain = name.clone();
    plain.derivations = name.derivations.iter().filter(|d| !is_restriction(d)).cloned().collect();
    let words: String = plain.to_string().chars().filter(|c| !"[]".contains(*c)).collect();
    identifier(&words.replace(' ', "_"))
}

fn plain<'a>(
    module: &mut Module<'a>,
    function: &'a Function,
    name: &str,
    [status, checked]: &[String; 2],
) -> Result<String, Refusal> {
    let mut printer = Printer::new(module, function)?;
    let parameters = printer.parameters();
    let has_status = printer.has_status(&function.body);
    if has_status {
        printer.line("status = 0");
    }
    printer.block(&function.body);
    let results: Vec<String> = function.body.results.iter().map(|&id| printer.whole(id).text).collect();
    let result = nested(&function.result.map(&mut |&k| results[k].clone()));
    let (body, checks) = (printer.text.clone(), printer.checks.clone());
    let signature = parameters.join(", ");
    let doc = format!("    \"\"\"{}\"\"\"\n", signature_text(function));
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
                "\n\ndef {status}({signature}):\n    \"\"\"0, or the number of the first check that fails: from 1, of {checked}.\"\"\"\n    return _{name}({signature})[0]\n\n\n{checked} = [\n{}]\n",
                messages.concat()
            );
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
            if let (Shape::Tuple(parts), Some(labels)) =
                (&parameter.shape, self.module.labels.get(&function.name.as_written()))
                && !function.name.derivations.is_empty()
                && parts.len() == labels.len()
                && parameters.is_empty()
            {
                // The argument of a derivative is the tuple of the function's parameters.
                let names: Vec<String> = labels.clone().iter().map(|label| self.names.fresh(label)).collect();
                lines.push(format!("({}) = {name}", tuple(&names)));
                parts.iter().zip(&names).for_each(|(part, name)| self.take(part, name, &mut inputs, &mut lines));
                parameters.push(name);
                continue;
            }
            self.take(&parameter.shape, &name, &mut inputs, &mut lines);
            parameters.push(name);
        }
        lines.into_iter().for_each(|line| self.line(line));
        for (&id, name) in function.inputs.iter().zip(&inputs) {
            let node = function.node(id);
            self.variables.insert(id, name.clone());
            let kind = self.dtype(node.scalar);
            match node.dims.is_empty() && self.is_fixed(id) {
                true => {
                    self.module.needed.insert("_integer");
                    self.line(format!("{name} = _integer({name}, {name:?})"));
                }
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
