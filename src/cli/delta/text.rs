//! Writes a trace and the sweeps back over it, shortened where they are long.

use lm::delta::{ByPaths, Link, Node, Operation, Place, Traced};
use lm::map;
use lm::tensor::Tensor;
use lm::term::Var;
use lm::value::Value;
use std::fmt::Write;

/// The most lines of a table: half of them from its start, half from its end.
const LINES: usize = 40;
/// The most terms of an operation, and the most cotangents that wait, on a line.
const TERMS: usize = 6;
/// The most characters of a value.
const LONGEST: usize = 10_000;

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
    fn input(&self, mut k: usize) -> String {
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
    fn delta(&self, id: usize, node: Node) -> String {
        let mut terms = node.links.iter().map(|link| self.term(link));
        match node.links.len() {
            1 => format!("Share {id} {}", terms.next().expect("one term")),
            n if n <= TERMS => {
                let terms: Vec<String> = terms.collect();
                let (last, before) = terms.split_last().expect("more than one");
                let sum = before.iter().rfold(last.clone(), |rest, term| format!("(Add {term} {rest})"));
                format!("Share {id} {sum}")
            }
            n => {
                let (first, second) = (terms.next().expect("many terms"), terms.next().expect("many terms"));
                let last = self.term(&node.links[n - 1]);
                format!("Share {id} (Add {first} (Add {second} .. {last})), {n} terms")
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
fn short(x: f64) -> String {
    const WHOLE: f64 = 1e5;
    if x.fract() == 0.0 && x.abs() < WHOLE {
        return x.to_string();
    }
    let rounded = format!("{x:.4e}");
    let number: f64 = rounded.parse().expect("what was printed is a number");
    let size = number.abs();
    if !size.is_finite() || (1e-4..WHOLE).contains(&size) { number.to_string() } else { format!("{number:e}") }
}

/// Returns the lines of a table: the first and the last of many.
fn lines(count: usize, mut line: impl FnMut(usize) -> Option<String>) -> String {
    let mut text = String::new();
    for i in 0..count {
        let is_shown = count <= LINES || i < LINES / 2 || i >= count - LINES / 2;
        if i == LINES / 2 && !is_shown {
            let _ = writeln!(text, ".. {} more", count - LINES);
        }
        if let (Some(line), true) = (line(i), is_shown) {
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    text
}

fn operation(operation: &Operation) -> String {
    operation.to_string()
}

/// Returns the rules of the operations of a run.
pub fn duals(run: &Run) -> String {
    let trace = &run.traced.trace;
    let mut text: String = trace.rules().iter().map(|rule| format!("{rule}\n")).collect();
    let mut sums = false;
    let mut by_hand: Vec<&Operation> = Vec::new();
    for id in 1..=trace.len() {
        match trace.node(id).operation {
            Operation::Prim(_) => {}
            Operation::Sum => sums = true,
            call => {
                if !by_hand.contains(&call) {
                    by_hand.push(call);
                }
            }
        }
    }
    if sums {
        text.push_str(
            "D[sum(v)] = let { ds = tangents of D[v]; id = genID } in (sum(v), Share id (Add (Add ds[0] ds[1]) ..))\n",
        );
    }
    for call in by_hand {
        let _ = writeln!(
            text,
            "D[f(s)] = (f(s), Share id (Add (Scale k ds) ..)) for each Float of f(s), with k from {call}(s, dr), dr = 1 there"
        );
    }
    text.push_str("D[r] = (r, Zero)\nD[anything else] moves numbers about\n");
    text
}

/// Returns the nodes of the trace, by ID.
pub fn nodes(run: &Run) -> String {
    let trace = &run.traced.trace;
    if trace.is_empty() {
        return "no operation depends on an input\n".into();
    }
    let (digits, width) = widths(run);
    lines(trace.len(), |i| {
        let node = trace.node(i + 1);
        let (id, name, value) = (i + 1, operation(node.operation), short(node.value));
        Some(format!("{id:>digits$}  {name:<width$}  {value:<11}  {}", run.delta(id, node)))
    })
}

/// Returns the widths of the columns of IDs and operations.
fn widths(run: &Run) -> (usize, usize) {
    let trace = &run.traced.trace;
    let longest = operations(run).iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    (trace.len().to_string().len(), longest)
}

/// Returns the operations with their numbers of nodes, in the order of their first nodes.
fn operations(run: &Run) -> Vec<(String, usize)> {
    let trace = &run.traced.trace;
    let mut found: Vec<(&Operation, usize)> = Vec::new();
    for id in 1..=trace.len() {
        let operation = trace.node(id).operation;
        match found.iter_mut().find(|(known, _)| *known == operation) {
            Some((_, count)) => *count += 1,
            None => found.push((operation, 1)),
        }
    }
    found.into_iter().map(|(known, count)| (operation(known), count)).collect()
}

/// Returns the sweep back by IDs: each node's cotangent, what it adds to which, and the map of those that wait.
pub fn by_ids(run: &Run) -> String {
    let cotangent = run.cotangent();
    let visits = run.traced.reverse_pass(&cotangent).count();
    let (digits, width) = widths(run);
    let mut pass = run.traced.reverse_pass(&cotangent);
    let start = pass.waiting().last().map_or("no node is reached".into(), |_| format!("start: {}", waiting(&pass)));
    let table = lines(visits, |i| {
        let visit = pass.next()?;
        if visits > LINES && i >= LINES / 2 && i < visits - LINES / 2 {
            return None;
        }
        let node = run.traced.trace.node(visit.id);
        let add = |link: &Link| format!("{} += {}", target(run, link.of), short(link.partial() * visit.cotangent));
        let mut added: Vec<String> = node.links.iter().take(TERMS).map(add).collect();
        if node.links.len() > TERMS {
            added.push(format!(".. {} terms", node.links.len()));
        }
        let (id, name, cotangent) = (visit.id, operation(node.operation), short(visit.cotangent));
        let added = added.join(", ");
        Some(format!("{id:>digits$}  {name:<width$}  {cotangent:<11}  {added:<36}  {}", waiting(&pass)))
    });
    format!("{start}\n{table}")
}

/// Returns what a cotangent is added to.
fn target(run: &Run, place: Place) -> String {
    match place {
        Place::Node(id) => format!("#{id}"),
        Place::Input(k) => run.input(k as usize),
    }
}

/// Returns the map of cotangents.
fn waiting(pass: &lm::delta::ReversePass) -> String {
    let mut first: Vec<String> =
        pass.waiting().take(TERMS + 1).map(|visit| format!("{}: {}", visit.id, short(visit.cotangent))).collect();
    if first.len() > TERMS {
        first[TERMS] = "..".into();
    }
    format!("{{{}}}", first.join(", "))
}

/// Returns how often each node is visited without IDs, from the largest ID.
pub fn by_paths(run: &Run, found: &ByPaths) -> String {
    let trace = &run.traced.trace;
    let (digits, width) = widths(run);
    lines(trace.len(), |i| {
        let id = trace.len() - i;
        let times = match found.visits[id - 1] {
            1 => "once".into(),
            n => format!("{n} times"),
        };
        Some(format!("{id:>digits$}  {:<width$}  {times}", operation(trace.node(id).operation)))
    })
}

/// Returns the value and the gradient.
pub fn gradient(run: &Run) -> String {
    let cotangent = run.cotangent();
    let mut numbers = run.traced.reverse_pass(&cotangent).gradient().into_iter();
    let gradient = filled(&map::zero(&run.point), &mut numbers);
    let mut text = format!("value: {}\n", clipped(&run.traced.value));
    if cotangent.len() != 1 {
        let _ = writeln!(
            text,
            "cotangent: 1 for each of the value's {} Floats, so this is the gradient of their sum",
            cotangent.len()
        );
    }
    let _ = writeln!(text, "gradient: {}", clipped(&gradient));
    text
}

/// Returns a tangent with other Floats.
fn filled(tangent: &Value, numbers: &mut impl Iterator<Item = f64>) -> Value {
    match tangent {
        Value::Float(_) => Value::Float(numbers.next().expect("a number for each input")),
        Value::Tuple(parts) => Value::Tuple(parts.iter().map(|part| filled(part, numbers)).collect()),
        Value::Tensor(v) => {
            let elements = v.elements().iter().map(|x| filled(x, numbers)).collect();
            Value::Tensor(Tensor::new(v.size().to_vec(), elements).into())
        }
        other => other.clone(),
    }
}

fn clipped(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ..", &text[..end]),
        None => text,
    }
}

/// Returns the counts of inputs, operations, nodes and visits.
pub fn counts(run: &Run) -> String {
    let (traced, cotangent) = (&run.traced, run.cotangent());
    let kinds = traced.trace.kinds();
    let operations: Vec<String> = operations(run).iter().map(|(name, count)| format!("{count} {name}")).collect();
    let operations = if operations.is_empty() { String::new() } else { format!(" ({})", operations.join(", ")) };
    let by_ids = traced.reverse_pass(&cotangent).count();
    let by_paths = traced.paths(&cotangent).map_or("more than 2^128".into(), |visits| visits.to_string());
    format!(
        "inputs: {}\noperations: {}{operations}\nnodes: {} ({} Share, {} Scale, {} Add)\nvisits: {by_ids} by IDs, \
         {by_paths} along paths without them\n",
        traced.trace.inputs(),
        traced.trace.len(),
        kinds.total(),
        kinds.share,
        kinds.scale,
        kinds.add
    )
}
