//! Prints the rewrites of a derivation: as text for people, and as data for programs.
//!
//! As data, a step is an edit of the text of the definition in KS-Lisp: in the list at a path, some items are replaced
//! by others. So the definition after the last step can be made from the one before the first, with no more than a
//! reader of s-expressions.

use crate::derive::pipeline::{Stage, TraceStep};
use crate::ks::reader::{Sexp, Shape, read};
use bulk::rules::Rule;
use indexmap::IndexMap;
use lm::notation::change::{Part, change};
use lm::notation::names::Names;
use lm::notation::{infix, ks};
use lm::term::{Def, Expr};
use serde::Serialize;
use std::fmt::Write;

/// The width of lines with terms.
const WIDTH: usize = 94;

/// The notation of the terms of a step.
#[derive(Clone, Copy, PartialEq)]
pub enum Notation {
    /// Infix operators.
    Infix(infix::Format),
    /// KS-Lisp.
    Ks,
}

/// Returns the steps of a stage as lines. A function that becomes operations on whole arrays does so in one walk: its
/// lines are the rules that this took, each at its first place, with the number of places.
pub fn text(stage: &Stage, notation: Notation) -> String {
    let mut out = String::new();
    let rules = rules(stage);
    let width = rules.keys().map(|rule| rule.row().name.len()).max().unwrap_or(0);
    for (i, (rule, places)) in rules.iter().enumerate() {
        let row = rule.row();
        let plural = if *places == 1 { "" } else { "s" };
        writeln!(out, "{}. {:<width$}  {}   at {places} place{plural}", i + 1, row.name, row.text)
            .expect("a String takes all");
    }
    for (i, Named { step, before, after }) in named(stage).iter().enumerate() {
        let change = change(&step.before, &step.after, step.instance.as_ref());
        let is_block = !change.before.bindings.is_empty() && step.instance.is_none();
        let place = match &change.place {
            Some(x) => format!(", in the definition of {}", before.1.of_var(x)),
            None if is_block => String::new(),
            None => ", in the result".into(),
        };
        writeln!(out, "{}. {}{place}", i + 1, step.law).expect("a String takes all");
        for (sign, part, (_, names)) in [(" ", &change.before, before), ("=", &change.after, after)] {
            let lines = part_text(part, names, notation);
            for (j, line) in lines.lines().enumerate() {
                writeln!(out, "  {} {line}", if j == 0 { sign } else { " " }).expect("a String takes all");
            }
        }
    }
    if !stage.steps.is_empty() {
        let (n, plural) = (stage.steps.len(), if stage.steps.len() == 1 { "" } else { "s" });
        writeln!(out, "{n} step{plural}").expect("a String takes all");
    }
    out
}

/// Returns the rules of whole arrays that a stage took, in order, with the number of places of each.
fn rules(stage: &Stage) -> IndexMap<Rule, usize> {
    let mut rules = IndexMap::new();
    for (rule, _) in stage.bulk.iter().flat_map(|form| &form.rules) {
        *rules.entry(*rule).or_default() += 1;
    }
    rules
}

fn part_text(part: &Part, names: &Names, notation: Notation) -> String {
    let result = |e: &Expr| match notation {
        Notation::Infix(format) => infix::term(e, names, format, WIDTH),
        Notation::Ks => ks::expr_named(e, names, WIDTH),
    };
    let bindings = match notation {
        Notation::Infix(format) => infix::bindings(&part.bindings, names, format, WIDTH),
        Notation::Ks => ks::bindings_named(&part.bindings, names, WIDTH),
    };
    let texts: Vec<String> =
        [bindings].into_iter().filter(|t| !t.is_empty()).chain(part.result.as_ref().map(result)).collect();
    if texts.is_empty() { "(nothing)".into() } else { texts.join("\n") }
}

/// The definitions before and after a step, with the names of their variables.
struct Named<'a> {
    step: &'a TraceStep,
    before: (Def, Names),
    after: (Def, Names),
}

/// Returns the steps of a stage with names: those of its definition are as it is printed, and a variable keeps its name
/// from step to step.
fn named(stage: &Stage) -> Vec<Named<'_>> {
    let with = |body: &Expr| Def { body: body.clone(), ..stage.def.clone() };
    let mut next = (stage.def.clone(), Names::of(&stage.def));
    let Some(first) = stage.steps.first() else { return Vec::new() };
    let wanted = Names::of_forms(&with(&first.before), stage.steps.iter().map(|step| &step.after));
    let mut all: Vec<Named> = Vec::new();
    for step in stage.steps.iter().rev() {
        let (before, after) = (with(&step.before), with(&step.after));
        let after = (after.clone(), Names::alike(&after, &next.0, &next.1));
        let before = (before.clone(), Names::before(&before, &after.0, &after.1, &wanted));
        next = before.clone();
        all.push(Named { step, before, after });
    }
    all.reverse();
    all
}

/// The derivation of one function.
#[derive(Debug, Serialize)]
pub struct DerivationData {
    /// The name of the function.
    pub function: String,
    /// The derivation, such as `jacobian`.
    pub derivation: &'static str,
    /// The stages, in order.
    pub stages: Vec<StageData>,
}

/// A stage of a derivation.
#[derive(Debug, Serialize)]
pub struct StageData {
    /// The heading.
    pub heading: String,
    /// The definition before the first step, in KS-Lisp.
    pub start: String,
    /// The steps, in order.
    pub steps: Vec<Edit>,
    /// The rules by which the function became operations on whole arrays, at the stage that has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<&'static str>,
    /// The definition after the last step.
    pub definition: String,
}

/// A step: in the list at `path`, the items from `first` on that are `before` become those that are `after`.
#[derive(Debug, Serialize)]
pub struct Edit {
    /// The name of the pass.
    pub pass: &'static str,
    /// The name of the law.
    pub law: String,
    /// The instance of the law, where it is one of the table of laws: left side and right side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<[String; 2]>,
    /// The way to the list: the number of an item of the definition, of an item of that one, and so on, from 0.
    pub path: Vec<usize>,
    /// The number of items before those that change.
    pub first: usize,
    /// The items that go.
    pub before: Vec<String>,
    /// The items that take their place.
    pub after: Vec<String>,
}

/// Returns a stage as data.
pub fn data(stage: &Stage) -> StageData {
    let text = |(def, names): &(Def, Names)| ks::def_named(def, names, WIDTH);
    let steps = named(stage);
    let definition = ks::def_named(&stage.def, &Names::of(&stage.def), WIDTH);
    let start = steps.first().map_or_else(|| definition.clone(), |step| text(&step.before));
    let steps = steps.iter().map(|step| edit(step, &text(&step.before), &text(&step.after))).collect();
    let rules = rules(stage).keys().map(|rule| rule.row().name).collect();
    StageData { heading: stage.heading.to_string(), start, steps, rules, definition }
}

fn edit(named: &Named, before: &str, after: &str) -> Edit {
    let [old, new] = [before, after].map(|text| read(text).forms.remove(0));
    let mut path = Vec::new();
    let (first, old, new) = difference((before, &old), (after, &new), &mut path);
    let Named { step, before: (_, old_names), after: (_, new_names) } = named;
    let print = |e: &Expr, names: &Names| ks::expr_named(e, names, WIDTH);
    Edit {
        pass: step.pass,
        law: step.law.to_string(),
        instance: step.instance.as_ref().map(|(left, right)| [print(left, old_names), print(right, new_names)]),
        path,
        first,
        before: old.iter().map(|s| slice(before, s)).collect(),
        after: new.iter().map(|s| slice(after, s)).collect(),
    }
}

fn slice(text: &str, s: &Sexp) -> String {
    text[s.span.start as usize..s.span.end as usize].to_string()
}

/// Returns the items in which two lists differ, and the number of those before them. Pushes the way to the lists.
fn difference<'a>(
    (old_text, old): (&str, &'a Sexp),
    (new_text, new): (&str, &'a Sexp),
    path: &mut Vec<usize>,
) -> (usize, &'a [Sexp], &'a [Sexp]) {
    let (Some(a), Some(b)) = (items(old), items(new)) else { unreachable!("a definition is a list") };
    let is_same = |(x, y): &(&Sexp, &Sexp)| slice(old_text, x) == slice(new_text, y);
    let first = a.iter().zip(b).take_while(is_same).count();
    let shorter = a.len().min(b.len());
    let last = a.iter().rev().zip(b.iter().rev()).take(shorter - first).take_while(is_same).count();
    let (old_items, new_items) = (&a[first..a.len() - last], &b[first..b.len() - last]);
    match (old_items, new_items) {
        ([x], [y]) if items(x).is_some() && items(y).is_some() && matches_shape(x, y) => {
            path.push(first);
            difference((old_text, x), (new_text, y), path)
        }
        _ => (first, old_items, new_items),
    }
}

fn matches_shape(a: &Sexp, b: &Sexp) -> bool {
    std::mem::discriminant(&a.shape) == std::mem::discriminant(&b.shape)
}

fn items(s: &Sexp) -> Option<&[Sexp]> {
    match &s.shape {
        Shape::List(items) | Shape::Bracket(items) => Some(items),
        Shape::Symbol(_) | Shape::Float(_) | Shape::Integer(_) | Shape::String(_) | Shape::Bad => None,
    }
}
