//! Prints bulk programs for people: one line for each node.

use crate::ir::{Block, Function, Id, Op};
use std::fmt::Write;

/// Returns the text of a function.
pub fn function(function: &Function) -> String {
    let mut text = String::new();
    let inputs: Vec<String> =
        function.inputs.iter().map(|&id| format!("{}: {}", name(id), array(function, id))).collect();
    let _ = writeln!(text, "{}({})", function.name, inputs.join(", "));
    block(function, &function.body, 1, &mut text);
    text
}

fn block(function: &Function, b: &Block, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for &id in &b.nodes {
        let node = function.node(id);
        if matches!(node.op, Op::Input(_)) {
            continue;
        }
        let args: Vec<String> = node.args.iter().map(|&id| name(id)).collect();
        let op = operation(&node.op);
        let of = if args.is_empty() { String::new() } else { format!(" {}", args.join(" ")) };
        let label = node.name.as_ref().map_or(String::new(), |name| format!("    # {name}"));
        let _ = writeln!(text, "{indent}{} = {op}{of} : {}{label}", name(id), array(function, id));
        for inner in function.blocks(id) {
            let parameters: Vec<String> = inner.parameters.iter().map(|&id| name(id)).collect();
            let _ = writeln!(text, "{indent}  ({})", parameters.join(", "));
            block(function, inner, depth + 2, text);
        }
    }
    let results: Vec<String> = b.results.iter().map(|&id| name(id)).collect();
    let _ = writeln!(text, "{indent}give {}", results.join(", "));
}

fn name(id: Id) -> String {
    format!("%{}", id.0)
}

fn array(function: &Function, id: Id) -> String {
    let node = function.node(id);
    let size = |&id: &Id| function.number(id).map_or_else(|| name(id), |n| n.to_string());
    let dims: Vec<String> = node.dims.iter().map(size).collect();
    format!("{:?}[{}]", node.scalar, dims.join(", "))
}

fn operation(op: &Op) -> String {
    match op {
        Op::Constant(c) => format!("{c:?}"),
        Op::Each(fun) => format!("each {fun:?}"),
        Op::Guarded(fun) => format!("guarded {fun:?}"),
        Op::Contract(spec) => format!("contract {}", spec.einsum()),
        Op::If(_) => "if".into(),
        Op::Loop(_) => "loop".into(),
        Op::Check(failure) => format!("check {failure:?}"),
        other => format!("{other:?}").to_lowercase(),
    }
}
