//! Names the parameters of functions in C.

use indexmap::IndexSet;
use loops::interface::{Interface, Parameter};
use loops::symbol::is_reserved;

/// Returns the names in C of the parameters after the context.
pub(crate) fn parameter_names(interface: &Interface) -> Vec<String> {
    let mut names = Names::default();
    let parameters = interface.inputs.iter().chain(&interface.outputs);
    parameters.map(|Parameter { name, .. }| names.unused(name)).collect()
}

/// The names of a declaration's parameters so far.
pub(super) struct Names {
    taken: IndexSet<String>,
}

impl Default for Names {
    fn default() -> Names {
        Names { taken: IndexSet::from(["ctx".to_string()]) }
    }
}

impl Names {
    /// Returns an identifier of C, not used before in the declaration.
    pub(super) fn unused(&mut self, name: &str) -> String {
        let mut name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if is_reserved(&name) {
            name = format!("x_{name}");
        }
        while !self.taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}
