//! Gradients by dual numbers as they are left, and what they cost: each `tests/cases/dual/*.ks` has the texts beside it.
//!
//! A comment `; f by x, paper` asks for the derivative of f by the parameter x, by the strategy `paper`; `; f itself` asks
//! for what the laws of directions make of f.

use super::each::{self, Outcome};
use common::cost::pipeline;
use common::files::{self, expect};
use libtest_mimic::Trial;
use lm::notation::infix;
use lm::strategy::VARIANTS;
use lm::term::{Def, FunName};
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::derive::schedule::Strategies;
use lmc::ks::front::Choices;
use std::path::Path;

/// The tests.
pub fn tests() -> Vec<Trial> {
    each::program("dual::final_forms_are_as_expected", "tests/cases/dual", forms_are_as_expected)
}

fn forms_are_as_expected(path: &Path) -> Outcome {
    let text = files::text(path);
    let asked = text.lines().filter_map(|line| line.strip_prefix("; "));
    let forms: Vec<String> = asked.filter_map(|line| form(&text, line)).collect::<Result<_, String>>()?;
    assert!(!forms.is_empty(), "{path:?} asks for nothing");
    expect(&forms.join("\n"), &path.with_extension("final"))
}

/// Returns what a comment asks for; `None` for other comments.
fn form(text: &str, line: &str) -> Option<Result<String, String>> {
    let (what, strategy) = line.split_once(", ").unwrap_or((line, ""));
    let words: Vec<&str> = what.split(' ').collect();
    let made = match words[..] {
        [f, "by", x] => derivative(&mut choosing(text, strategy)?, f, x),
        [f, "itself"] => by_laws(&mut choosing(text, strategy)?, f),
        _ => return None,
    };
    Some(made.map(|form| format!("{line}\n{form}")))
}

/// Returns the pipeline of the program by a strategy that comes with lmc; `None` if there is none of that name.
fn choosing(text: &str, strategy: &str) -> Option<Pipeline> {
    let strategies = match strategy {
        "" => Strategies::default(),
        name => {
            let (name, text) = VARIANTS.iter().find(|(variant, _)| *variant == name)?;
            Strategies::with(name, text).expect("strategies of lmc are right")
        }
    };
    let choices = Choices { derivation: Derivation::Dual, strategies, ..Choices::default() };
    Some(pipeline(text, choices).expect("the program is right"))
}

/// Returns the last form of a derivative, and its cost.
fn derivative(p: &mut Pipeline, f: &str, x: &str) -> Result<String, String> {
    let f = FunName::base(f);
    let params = &p.program().defs[&f].params;
    let at = params.iter().position(|y| &**y.name() == x).expect("the function has the parameter");
    let name = if params.len() == 1 { f } else { f.restricted(&[vec![at + 1]]) };
    let stages = p.stages(&name, false).map_err(|error| error.to_string())?;
    let [.., last, cost] = stages.as_slice() else { panic!("a derivation has stages") };
    let cost = cost.cost.as_ref().expect("the last stage has the cost");
    Ok(format!("{}\n{cost}\n", shown(&last.def)))
}

/// Returns what the laws of directions make of a function.
fn by_laws(p: &mut Pipeline, f: &str) -> Result<String, String> {
    let def = p.program().defs[&FunName::base(f)].clone();
    let made = p.follow("directions", &def, &mut |_, _, _| {});
    made.map(|def| shown(&def)).map_err(|error| error.to_string())
}

fn shown(def: &Def) -> String {
    format!("{}\n", infix::definition(def, infix::Format::Plain, 100).trim_end())
}
