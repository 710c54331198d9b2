//! Writes a trace and the sweeps back over it, shortened where they are long.

use super::run::{Run, TERMS, short};
use lm::delta::{ByPaths, Link, Operation, Place, ReversePass, Rule};
use lm::map;
use lm::tensor::Tensor;
use lm::value::Value;
use std::fmt::Write;

/// The most lines of a table: half of them from its start, half from its end.
const LINES: usize = 40;
/// The most characters of a value.
const LONGEST: usize = 10_000;

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

/// Returns the rules of the operations of a run.
pub fn duals(run: &Run) -> String {
    let rule = |(operation, _): (&Operation, usize)| match operation {
        Operation::Prim(p) => Rule::of(*p).to_string(),
        Operation::Sum => {
            "D[sum(v)] = let { [(v0, d0), ..] = D[v]; id = genID } in (sum(v), Share id (Add (Add d0 d1) ..))".into()
        }
        Operation::ByHand(reverse) => format!(
            "D[f(s)] = let {{ (s, ds) = D[s]; id = genID; k = {reverse}(s, 1) }} in (f(s), Share id (Scale k ds))"
        ),
    };
    let rest = ["D[r] = (r, Zero)".to_string(), "D[anything else] moves numbers about".to_string()];
    let rules: Vec<String> = run.traced.trace.operations().into_iter().map(rule).chain(rest).collect();
    rules.join("\n")
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
        let (id, name, value) = (i + 1, node.operation.to_string(), short(node.value));
        Some(format!("{id:>digits$}  {name:<width$}  {value:<11}  {}", run.delta(id, node)))
    })
}

/// Returns the widths of the columns of IDs and operations.
fn widths(run: &Run) -> (usize, usize) {
    let trace = &run.traced.trace;
    let longest = trace.operations().iter().map(|(operation, _)| operation.to_string().len()).max().unwrap_or(0);
    (trace.len().to_string().len(), longest)
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
        let (id, name, cotangent) = (visit.id, node.operation.to_string(), short(visit.cotangent));
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
fn waiting(pass: &ReversePass) -> String {
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
        Some(format!("{id:>digits$}  {:<width$}  {times}", trace.node(id).operation.to_string()))
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
    let each = traced.trace.operations().into_iter().map(|(operation, count)| format!("{count} {operation}"));
    let operations: Vec<String> = each.collect();
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
