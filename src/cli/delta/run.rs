//! A run that was traced, with the names of its inputs and the texts of its Delta terms.

use lm::delta::{Link, Node, Place, Traced};
use lm::term::Var;
use lm::value::Value;

/// The most terms of an operation, and the most cotangents that wait, on a line.
pub const TERMS: usize = 6;

/// A run that was traced.
pub struct Run {
    /// The parameters of the function.
    pub params: Vec<Var>,
    /// The argument of each.
    pub args: Vec<Value>,
    /// All arguments as one value.
    pub point: Value,
    /// The value and its trace.
    pub traced: Traced,
}

impl Run {
    /// Returns the cotangent of the value: 1 for each Float.
    pub fn cotangent(&self) -> Vec<f64> {
        vec![1.0; self.traced.results.len()]
    }

    /// Returns a Delta term below a node.
    fn place(&self, place: Place) -> String {
        match place {
            Place::Node(id) => format!("#{id}"),
            Place::Input(k) => format!("(Input {})", self.input(k as usize)),
        }
    }

    /// Returns the name of an input: that of its parameter, with the way to it, as in `t.2[0]`.
    pub fn input(&self, mut k: usize) -> String {
        let mut params = self.params.iter().zip(&self.args);
        let (param, arg) = params.find(|(_, arg)| is_in(arg, &mut k)).expect("each input is part of an argument");
        let mut name = param.name().to_string();
        way(arg, k, &mut name);
        name
    }

    fn term(&self, link: &Link) -> String {
        match link.scale {
            Some(k) => format!("(Scale {} {})", short(k), self.place(link.of)),
            None => self.place(link.of),
        }
    }

    /// Returns the Delta term of a node.
    pub fn delta(&self, id: usize, node: Node) -> String {
        let mut terms = node.links.iter().map(|link| self.term(link));
        match node.links.len() {
            1 => format!("Share {id} {}", terms.next().expect("one term")),
            n if n <= TERMS => {
                let sum = terms.reduce(|sum, term| format!("(Add {sum} {term})")).expect("more than one term");
                format!("Share {id} {sum}")
            }
            n => {
                let (first, second) = (terms.next().expect("many terms"), terms.next().expect("many terms"));
                let last = self.term(&node.links[n - 1]);
                format!("Share {id} (Add (Add {first} {second}) .. {last}), {n} terms")
            }
        }
    }
}

/// Returns whether the Float is one of the value; lowers its number by those of the value if not.
fn is_in(value: &Value, k: &mut usize) -> bool {
    let count = count(value);
    let is_in = *k < count;
    *k -= if is_in { 0 } else { count };
    is_in
}

fn count(value: &Value) -> usize {
    match value {
        Value::Float(_) => 1,
        Value::Tuple(parts) => parts.iter().map(count).sum(),
        Value::Tensor(v) => v.elements().iter().map(count).sum(),
        _ => 0,
    }
}

/// Adds the way to the k-th Float of a value.
fn way(value: &Value, mut k: usize, name: &mut String) {
    let parts = match value {
        Value::Tuple(parts) => parts.as_slice(),
        Value::Tensor(v) => v.elements(),
        _ => return,
    };
    let at = parts.iter().position(|part| is_in(part, &mut k)).expect("the Float is in a part");
    match value {
        Value::Tensor(v) => name.push_str(&format!("[{}]", index(at, v.size()))),
        _ => name.push_str(&format!(".{}", at + 1)),
    }
    way(&parts[at], k, name);
}

fn index(mut at: usize, size: &[usize]) -> String {
    let mut numbers: Vec<String> = Vec::new();
    for n in size.iter().rev() {
        numbers.push((at % n).to_string());
        at /= n;
    }
    numbers.reverse();
    numbers.join(", ")
}

/// Returns a number with five digits.
pub fn short(x: f64) -> String {
    const WHOLE: f64 = 1e5;
    if x.fract() == 0.0 && x.abs() < WHOLE {
        return x.to_string();
    }
    let rounded = format!("{x:.4e}");
    let number: f64 = rounded.parse().expect("what was printed is a number");
    let size = number.abs();
    if !size.is_finite() || (1e-4..WHOLE).contains(&size) { number.to_string() } else { format!("{number:e}") }
}
