//! Explains a derivative: its row of the table of recipes, as text.

use crate::derive::recipes::{Entry, Recipe, Start, entry};
use lm::term::Derivative;
use std::fmt::Write;

/// Explains the derivative of that name, such as `rev`. Returns `None` for other words.
pub fn derivative(word: &str) -> Option<String> {
    let derivative: Derivative = word.parse().ok()?;
    let Entry { typing, title, recipes } = entry(&derivative);
    let mut text = format!("[{derivative} f]: {title}\n\nFor f : S -> T its type is\n\n    {}\n", typing.text());
    let several = recipes.len() > 1;
    text.push_str(match several {
        true => "\nIt is made in the first of these ways that fits f; the passes run in order.\n",
        false => "\nThe passes that make it, in order:\n",
    });
    for (i, recipe) in recipes.iter().enumerate() {
        let number = if several { format!("{}. ", i + 1) } else { String::new() };
        let start = start(&recipe.from);
        let _ = write!(
            text,
            "\n{number}{}: {start}\n   source: {}\n\n{}",
            recipe.when.text(),
            recipe.source,
            passes(recipe)
        );
    }
    Some(text)
}

/// Tells what the first pass is given.
fn start(from: &Start) -> String {
    let listed = |derivatives: &[Derivative]| {
        let names: Vec<String> = derivatives.iter().map(|derivative| format!("[{derivative} f]")).collect();
        names.join(" and ")
    };
    match from {
        Start::Marked | Start::Written | Start::Function => "from f".into(),
        Start::Differentiable => "from f, with calls in place of records".into(),
        Start::Derivative(derivative) => format!("from [{derivative} f], before it is shared"),
        Start::Recipe(_, derivative) => format!("from [{derivative} f], before it is shared"),
        Start::Calls(derivatives) => format!("from f, with {}", listed(derivatives)),
    }
}

/// Lists the passes, a line for each step, with the heading that `lmc demo` prints.
fn passes(recipe: &Recipe) -> String {
    let line = |step: &crate::derive::recipes::Step| {
        let passes: Vec<String> = step.passes.iter().map(|pass| pass.name()).collect();
        let heading = step.heading.map(|heading| format!("   \"{heading}\"")).unwrap_or_default();
        format!("       {}{heading}\n", passes.join(", "))
    };
    recipe.steps.iter().map(line).collect()
}
