//! The file tests of passes, run: each function does the same before and after the pass.

use super::compare::{Does, Rules, compare};
use super::draw::Draw;
use super::with_stack;
use crate::passes::{BECOMES, files};
use lm::timing::Timings;
use loops::ir::parse::parse;
use loops::ir::{FunId, Module};
use loops::passes::{Checks, PASSES, Pass, Selection, run};

/// The pass that leaves checks out.
const UNCHECKED: &str = "drop_checks";

/// How close Floats are after a pass that adds up sums in another order.
const REORDERED: f64 = 1e-9;

/// Functions that give nothing, whatever the arguments: recursions without an end, and a loop of 9000 iterations over
/// buffers of fewer elements.
const SILENT: &[&str] = &[
    "arena_scopes/recursive, f",
    "propagate_arguments/calls, f",
    "propagate_arguments/calls, g",
    "propagate_arguments/calls, r",
    "inline_base_case/others, unasked",
    "parallelize/others, f",
];

/// Counts the outcomes of calls.
#[derive(Debug, Default)]
struct Tally {
    functions: usize,
    gave: usize,
    failed: usize,
    silent: Vec<String>,
}

impl Tally {
    fn add(&mut self, function: String, does: &[Does]) {
        let count = |one: Does| does.iter().filter(|does| **does == one).count();
        self.functions += 1;
        self.gave += count(Does::Gives);
        self.failed += count(Does::Fails);
        self.silent.extend((count(Does::Gives) == 0).then_some(function));
    }
}

/// The module with one function exported, and what it calls.
fn alone(module: &Module, function: FunId) -> Module {
    let mut module = Module { exported: vec![function], ..module.clone() };
    module.drop_unused();
    module.mark();
    module
}

fn after(pass: &Pass, before: &Module, rules: Rules) -> Module {
    let mut module = before.clone();
    let only = Selection::Only(vec![pass.name.to_string()]);
    let checks = if rules.unchecked { Checks::None } else { Checks::Hoisted };
    run(&mut module, &only, checks, &Timings::default()).expect("there is such a pass");
    module
}

/// Errors: what differs, with the pass, the function and the arguments.
fn runs_alike(pass: &Pass, module: &Module, name: &str, tolerance: f64, tally: &mut Tally) -> Result<(), String> {
    let rules = Rules { tolerance, unchecked: pass.name == UNCHECKED };
    for i in 0..module.functions.len() {
        let before = alone(module, FunId(i));
        let after = after(pass, &before, rules);
        let function = format!("{name}, {}", module.functions[i].name);
        let does = Draw::all().into_iter().map(|draw| {
            let compared = compare([&before, &after], draw, rules);
            compared.map_err(|what| format!("{function}, {draw:?}: {what}\n{after}"))
        });
        tally.add(function.clone(), &does.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(())
}

#[test]
fn functions_do_the_same_before_and_after_a_pass() {
    with_stack(all_files);
}

fn all_files() {
    let mut tally = Tally::default();
    let mut wrong = vec![];
    for pass in PASSES {
        let tolerance = if pass.reorders { REORDERED } else { 0.0 };
        let mut reorders = false;
        for file in files(pass) {
            let text = std::fs::read_to_string(&file).expect("it can be read");
            let (before, _) = text.split_once(BECOMES).expect("a file has two parts");
            let name = format!("{}/{}", pass.name, file.file_stem().expect("it has a name").to_string_lossy());
            let module = parse(before);
            wrong.extend(runs_alike(pass, &module, &name, tolerance, &mut tally).err());
            reorders |= pass.reorders && runs_alike(pass, &module, &name, 0.0, &mut Tally::default()).is_err();
        }
        assert_eq!(reorders, pass.reorders, "no example of {} rounds in another way", pass.name);
    }
    println!("{tally:#?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(tally.silent, SILENT);
}
