//! Modules: functions with their signatures, and tables of their checks.

use super::names::word;
use super::{Options, Printer, Val};
use crate::emit::place::Places;
use crate::ir::{Function, Id};
use crate::refusal::Refusal;
use lm::term::{Derivative, FunName};
use std::fmt::Write;

pub(super) fn module(functions: &[Function], place: Places, options: &Options) -> Result<String, Refusal> {
    let mut text = String::from("// Made by lmc.\n");
    let names = names(functions);
    let mut bodies = String::new();
    for (function, name) in functions.iter().zip(&names) {
        let mut printer = Printer::new(function, place, options)?;
        bodies += &printer.whole(name);
        text += &head(function, name, &printer.checks);
    }
    let partitions = options.mesh.devices();
    let _ = writeln!(
        text,
        "module @lmc attributes {{mhlo.num_partitions = {partitions} : i32, mhlo.num_replicas = 1 : i32}} {{"
    );
    text += &options.mesh.declaration();
    Ok(format!("{text}{bodies}}}\n"))
}

/// Returns the names of functions: `vjp_f`, or `main` for one that is alone.
fn names(functions: &[Function]) -> Vec<String> {
    match functions {
        [_] => vec!["main".into()],
        several => {
            let mut names: Vec<String> = Vec::new();
            for function in several {
                let plain = plain_name(&function.name);
                let numbered = |k: usize| if k == 0 { plain.clone() } else { format!("{plain}_{k}") };
                let free = (0..).map(numbered).find(|name| !names.contains(name));
                names.push(free.expect("there are more numbers than names"));
            }
            names
        }
    }
}

fn plain_name(name: &FunName) -> String {
    let mut plain = name.clone();
    plain.derivations.retain(|derivative| !matches!(derivative, Derivative::Wrt(_)));
    let words: String = plain.to_string().chars().filter(|c| !"[]".contains(*c)).collect();
    word(&words)
}

/// Returns the comment on a function: what it is, and which number each check has.
fn head(function: &Function, name: &str, checks: &[String]) -> String {
    let mut text = format!(
        "//\n// @{name} is {}. Its first result is 0, or the number of the first check that failed",
        function.name
    );
    match checks {
        [] => text += ": it has none.\n",
        some => {
            text += ":\n";
            for (k, message) in some.iter().enumerate() {
                let _ = writeln!(text, "//   {}  {message}", k + 1);
            }
        }
    }
    text
}

impl Printer<'_> {
    /// Returns the text of the function.
    fn whole(&mut self, name: &str) -> String {
        let function = self.function;
        let inputs: Vec<String> = (0..function.inputs.len()).map(|k| self.input(k)).collect();
        self.block(&function.body);
        let mut results = vec![self.status()];
        results.extend(function.body.results.iter().map(|&id| self.value(id)).collect::<Vec<_>>());
        let names: Vec<&str> = results.iter().map(|value| value.name.as_str()).collect();
        let types: Vec<String> = results.iter().map(|value| value.ty.to_string()).collect();
        self.line(format!("return {} : {}", names.join(", "), types.join(", ")));
        let attributes = self.options.mesh.result_attributes(function, &self.options.shards);
        let given = types.iter().zip(attributes).map(|(ty, attribute)| format!("{ty}{attribute}"));
        let result = given.collect::<Vec<_>>().join(", ");
        let body = std::mem::take(&mut self.text);
        format!("  func.func public @{name}({}) -> ({result}) {{\n{body}  }}\n", inputs.join(", "))
    }

    /// Returns an input as the signature has it.
    fn input(&mut self, k: usize) -> String {
        let id: Id = self.function.inputs[k];
        let (path, ty) = (&self.function.paths[k].number, self.ty(id));
        let value = Val { name: self.names.fresh(path), ty };
        let attribute = self.options.mesh.attribute(self.function, k, &self.options.shards);
        let text = format!("{}: {}{attribute}", value.name, value.ty);
        self.values.insert(id, value);
        text
    }
}
