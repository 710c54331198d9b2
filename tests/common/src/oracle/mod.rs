//! Compares every evaluator with the naive one of `lm::eval`, which shares no plan, no destination and no rule of
//! transposition with any of them.
//!
//! Compared are values, what is printed, and errors, of functions and their derivatives by all derivations, of the
//! demos, of the programs of `tests/language` and `tests/cases`, and of random programs. `LMC_SEED` chooses the random
//! programs; one that fails is shown as small as [`shrink`] makes it.

mod comparison;
mod evaluators;
mod plan;

pub use comparison::Tally;

use crate::generate_arrays::{self, Generated};
use crate::{generate, generate_scaled, random, shrink};
use comparison::{Why, agree};
use evaluators::{Call, Subject};
use lm::interp::Interpreter;
use lm::random::SplitMix;
use lm::term::{FunName, Program};
use lm::types::Type;
use lm::value::Value;
use lmc::demos::Demo;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::Random;
use lmc::ks::front;
use lmc::ks::source::Source;
use plan::Plan;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The functions of a program that can be called with arguments drawn by type.
fn callable(program: &Program) -> Vec<FunName> {
    let is_data = |ty: &Type| !ty.mentions_lm() && !ty.mentions_record() && !mentions_function(ty);
    let defs = program.defs.values().filter(|d| d.fun.name.derivations.is_empty() && *d.fun.name.base != *"main");
    let named = defs.filter(|d| d.params.iter().all(|x| is_data(x.ty())) && is_data(&d.fun.result));
    named.map(|d| d.fun.name.clone()).collect()
}

fn mentions_function(ty: &Type) -> bool {
    match ty {
        Type::Lam(..) => true,
        Type::Tuple(parts) => parts.iter().any(mentions_function),
        Type::Tensor(_, element) => mentions_function(element),
        Type::Float | Type::Integer | Type::Bool | Type::String | Type::LM(..) | Type::Record(_) => false,
    }
}

/// The point that the program's `example` gives; without one for this function, random points.
fn drawn_points(program: &Program, f: &FunName) -> Vec<Vec<Value>> {
    let fun = &program.defs[f].fun;
    let split = |whole: Value| match whole {
        Value::Tuple(parts) if fun.params.len() != 1 => parts,
        one => vec![one],
    };
    let example = FunName::base("example");
    let gives = program.defs.get(&example).is_some_and(|d| d.params.is_empty() && d.fun.result == fun.argument());
    match gives {
        true => Interpreter::new(program).call(&example, &[]).into_iter().map(split).collect(),
        false => (0..3).map(|seed| split(Random::new(seed).point(&fun.argument()))).collect(),
    }
}

/// Runs a comparison; a panic is a failure, too.
fn outcome(work: impl FnOnce(&mut Tally) -> Result<(), String>) -> (Tally, Result<(), String>) {
    let mut tally = Tally::default();
    let result = catch_unwind(AssertUnwindSafe(|| work(&mut tally)));
    let told = |panic: Box<dyn std::any::Any + Send>| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(format!("panics: {}", text.unwrap_or_default()))
    };
    (tally, result.unwrap_or_else(told))
}

/// Returns whether the Jacobian of a demo is small as a tree.
fn has_small_maps(demo: &str) -> bool {
    matches!(demo, "ex1" | "ex2" | "ex3" | "ex4" | "ex5" | "ex7" | "ex8" | "ex9" | "lse" | "kmeans" | "black_scholes")
}

/// Compares the function of a demo by a derivation.
///
/// Errors: the call that differs.
pub fn demo(demo: &Demo, derivation: Derivation) -> Result<Tally, String> {
    let functions = &|_: &Program| vec![FunName::base(demo.fun)];
    let maps = has_small_maps(demo.name);
    let mut tally = Tally::default();
    Plan { text: demo.text, derivation, functions, points: &drawn_points, natively: true, maps }.agrees(&mut tally)?;
    Ok(tally)
}

/// Compares all functions of a program by a derivation.
///
/// Errors: the call that differs.
pub fn program(text: &str, derivation: Derivation, natively: bool) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let plan = Plan { text, derivation, functions: &callable, points: &drawn_points, natively, maps: true };
    plan.agrees(&mut tally)?;
    Ok(tally)
}

/// Compares what `main` of a program prints, and how it ends.
///
/// Errors: how they differ.
pub fn main_of(text: &str) -> Result<Tally, String> {
    let checked = front::load(&Source::new("case.ks", text)).map_err(|errors| format!("does not read: {errors:?}"))?;
    let mut pipeline = Pipeline::new(checked);
    pipeline.keep_maps();
    let main = FunName::base("main");
    pipeline.require(&main).map_err(|error| error.to_string())?;
    let subject =
        Subject { program: pipeline.into_program(), loops: None, jit: None, entries: vec![], bulk: RefCell::default() };
    let mut tally = Tally::default();
    agree(&subject, &Call::plain(main, vec![]), &mut tally).map_err(Why::into_text)?;
    Ok(tally)
}

/// A random program of a kind, by its number.
type Kind = fn(u64) -> Generated;

/// The kinds: on scalars, with prints and errors; on arrays; of one size, with deep calls.
const KINDS: [Kind; 3] = [
    |number| Generated { text: generate::text(&scalars(number)), ..Generated::default() },
    |number| {
        let options = generate_arrays::Options { functions: 3, depth: 4, nodes: 10 };
        generate_arrays::program(&choices(number, 5040), options)
    },
    |number| Generated { text: generate_scaled::program(random::seed(), number), ..Generated::default() },
];

fn scalars(number: u64) -> Program {
    generate::program(
        &choices(number, u64::from(u32::MAX)),
        generate::Options { smooth: false, functions: 4, depth: 4 },
    )
}

fn choices(number: u64, below: u64) -> Vec<u32> {
    let mut draws = SplitMix::new(lm::random::hash(random::seed()) ^ number);
    let length = 20 + draws.draw() % 140;
    (0..length).map(|_| (draws.draw() % below) as u32).collect()
}

/// The points of a random program: of the sizes that its types say, where it says any.
fn sized_points(made: &Generated, program: &Program, f: &FunName) -> Vec<Vec<Value>> {
    const SIZES: [[usize; 2]; 4] = [[2, 3], [3, 2], [1, 5], [0, 2]];
    let params = &program.defs[f].fun.params;
    let fits = |signature: &&generate_arrays::Signature| {
        *signature.name == *f.base
            && signature.params.len() == params.len()
            && signature.params.iter().zip(params).all(|(ty, param)| ty.text() == param.to_string())
    };
    let mut draws = SplitMix::new(3);
    match made.functions.iter().find(fits) {
        Some(f) => {
            SIZES.iter().filter_map(|sizes| f.params.iter().map(|ty| ty.value(*sizes, &mut draws)).collect()).collect()
        }
        None => drawn_points(program, f),
    }
}

fn random_program_agrees(made: &Generated, text: &str, derivation: Derivation) -> (Tally, Result<(), String>) {
    outcome(|tally| {
        let points = &|program: &Program, f: &FunName| sized_points(made, program, f);
        Plan { text, derivation, functions: &callable, points, natively: true, maps: true }.agrees(tally)
    })
}

/// Returns a random program, by its number: of the kinds in turn.
pub fn generated(number: u64) -> Generated {
    KINDS[number as usize % KINDS.len()](number)
}

/// Compares a random program, by its number.
///
/// Errors: the call that differs, of the smallest program found.
pub fn random(number: u64) -> Result<Tally, String> {
    let made = generated(number);
    let derivation = Derivation::OF_ALL_PROGRAMS[number as usize / KINDS.len() % Derivation::OF_ALL_PROGRAMS.len()];
    let (tally, result) = random_program_agrees(&made, &made.text, derivation);
    let Err(why) = result else { return Ok(tally) };
    let fails = |text: &str| random_program_agrees(&made, text, derivation).1.is_err_and(is_difference);
    let small = shrink::smallest(&made.text, fails);
    let why = random_program_agrees(&made, &small, derivation).1.err().unwrap_or(why);
    Err(format!("program {number}, {}: {why}\n{small}", derivation.name()))
}

/// Returns whether an evaluator disagrees. A shrunk program may be wrong in other ways.
fn is_difference(why: String) -> bool {
    why.contains("oracle") || why.contains("panics")
}
