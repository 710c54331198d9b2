//! The bulk operation transform on random programs, each with its value and gradient: what the operations on whole arrays
//! give is what the program gives, at two sizes, and how many elements they write does not grow beside what the program
//! does. `LMC_SEED=5 LMC_CASES=8000 cargo test --test files whole_arrays -- --nocapture` is the run of docs/campaign.md.
//!
//! Source: *Dual-numbers reverse AD for functional array languages*, Theorem 5.1 and its sec. 5.1 on costs.

use super::derivations::is_close;
use super::each::alone;
use ::bulk::rules::{RULES, Rule};
use common::cost::{arguments, call, pipeline, point_of_size};
use common::random::{cases, seed};
use common::shrink::smallest;
use common::{bulk, files, generate_scaled};
use libtest_mimic::Trial;
use lm::tensor::Tensor;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::Random;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The tests.
pub fn tests() -> Vec<Trial> {
    alone!("whole_arrays": each_rule_is_taken_by_the_function_of_its_name, random_programs_mean_the_same_and_write_no_more)
}

/// The program with a function for each rule. `oracle` compares its values and derivatives.
const OF_RULES: &str = "tests/cases/bulk/rules.ks";

/// Each by its value or by its gradient.
fn each_rule_is_taken_by_the_function_of_its_name() {
    let text = files::text(Path::new(OF_RULES));
    let mut p = pipeline(&text, Derivation::default()).expect("it reads");
    let mut missing = Vec::new();
    for row in RULES {
        let f = FunName::base(&row.name.replace('-', "_"));
        assert!(p.program().defs.contains_key(&f), "{OF_RULES} has no function for `{}`", row.name);
        let gradient = f.derived(Derivative::Vjp);
        p.require(&gradient).expect("it derives");
        let forms = [&f, &gradient].into_iter().flat_map(|name| bulk::lowered(p.program(), name));
        let all: Vec<_> = forms.flat_map(|form| form.rules).map(|(rule, _)| rule).collect();
        if !all.contains(&row.rule) {
            let names: BTreeSet<&str> = all.iter().map(|rule| rule.row().name).collect();
            missing.push(format!("`{}`, only {names:?}", row.name));
        }
    }
    assert!(missing.is_empty(), "the functions of these do not take them:\n{}", missing.join("\n"));
    let functions = p.program().defs.keys().filter(|f| f.derivations.is_empty() && f.base.contains('_'));
    let unnamed: Vec<_> =
        functions.filter(|f| !RULES.iter().any(|row| row.name.replace('-', "_") == *f.base)).collect();
    let of_none = ["mod_size", "sum_of_positive"];
    assert!(unnamed.iter().all(|f| of_none.contains(&&*f.base)), "no rule has these names: {unnamed:?}");
}

/// Sizes at which elements are counted.
const SIZES: [i64; 2] = [6, 12];

/// The most elements that are written for each number that the program moves or computes,
/// and each number of its arguments and result.
const MOST: f64 = 0.5;

/// The most that this may grow from the first size to the second, where it is not small. What grew with the size would
/// become nearly twice as much.
const GROWTH: f64 = 1.5;
const SMALL: f64 = 0.25;

/// What became of the functions.
#[derive(Debug, Default)]
struct Tally {
    /// Programs that have a derivative.
    read: u64,
    /// Calls whose values are equal.
    equal: usize,
    /// Functions without a form.
    refused: usize,
    /// Calls of forms that stop where sizes differ that the program never asks for.
    stopped: usize,
    /// Functions with conditionals in loops, whose elements are not counted.
    masked: usize,
    /// Elements written for each number moved: all functions, at the first size.
    ratios: Vec<f64>,
    /// How much that grew.
    growths: Vec<f64>,
}

fn random_programs_mean_the_same_and_write_no_more() {
    let (seed, count) = (seed(), u64::from(cases(80)));
    println!("LMC_SEED={seed} LMC_CASES={count}");
    let mut all = Tally::default();
    for number in 0..count {
        let text = generate_scaled::program(seed, number);
        if let Err(why) = program(&text, &mut all) {
            // A shrunk program may be wrong in other ways.
            let fails = |text: &str| program(text, &mut Tally::default()).err().filter(|at| kind(at) == kind(&why));
            let small = smallest(&text, |text| fails(text).is_some());
            let at = fails(&small).unwrap_or(why.clone());
            panic!("program {number}: {at}\n{small}");
        }
    }
    let Tally { equal, refused, stopped, .. } = all;
    println!("{equal} values are equal, {refused} functions have no form, {stopped} calls stop at sizes");
    println!("{} functions have conditionals in loops, {} others", all.masked, all.ratios.len());
    for (name, list) in [(GROWS, &mut all.ratios), ("growth", &mut all.growths)] {
        list.sort_by(f64::total_cmp);
        let at = |share: f64| list[((list.len() - 1) as f64 * share) as usize];
        println!("{name}: median {:.2}, 99 of 100 at most {:.2}, all at most {:.2}", at(0.5), at(0.99), at(1.0));
    }
    assert!(all.read == count && equal > 4 * (refused + stopped), "all have derivatives, and most have a form");
}

/// What is wrong, without numbers.
fn kind(why: &str) -> Option<&'static str> {
    [GROWS, STOPS, DIFFERS, PANICS].into_iter().find(|kind| why.contains(kind))
}

const GROWS: &str = "elements written for a number moved";
const STOPS: &str = "stops";
const DIFFERS: &str = "in whole arrays";
const PANICS: &str = "panics";

/// What panics is a difference, too.
fn program(text: &str, tally: &mut Tally) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| of_program(text, tally))).unwrap_or_else(|_| Err(PANICS.into()))
}

fn of_program(text: &str, tally: &mut Tally) -> Result<(), String> {
    // A shrunk program may be none.
    let (f, point) = (FunName::base("f"), FunName::base("point"));
    let Ok(mut p) = pipeline(text, Derivation::default()) else { return Ok(()) };
    let gradient = f.derived(Derivative::Vjp);
    if !p.program().defs.contains_key(&point) || p.require(&gradient).is_err() {
        return Ok(());
    }
    tally.read += 1;
    for name in [&f, &gradient] {
        let forms = bulk::lowered(p.program(), name);
        tally.refused += usize::from(forms.is_empty());
        for form in &forms {
            let mut ratios = Vec::new();
            for n in SIZES {
                match written(text, &p, &f, name, form, n)? {
                    Some(ratio) => ratios.push(ratio),
                    None => tally.stopped += 1,
                }
            }
            tally.equal += ratios.len();
            let [first, last] = ratios[..] else { continue };
            // Both branches of a conditional in a loop are computed, whatever the one that is not taken costs.
            if form.rules.iter().any(|(rule, _)| *rule == Rule::BulkIf) {
                tally.masked += 1;
                continue;
            }
            tally.ratios.push(first);
            tally.growths.push(last / first);
            if first.max(last) > MOST || last > GROWTH * first.max(SMALL) {
                return Err(format!("{name}: {ratios:.2?} {GROWS}, at the sizes {SIZES:?}"));
            }
        }
    }
    Ok(())
}

/// Calls a function in both forms, at a size; returns how many elements are written for each number that the program moves.
/// `None` where it has no value, or the form stops at sizes.
fn written(
    text: &str,
    p: &Pipeline,
    f: &FunName,
    name: &FunName,
    form: &::bulk::ir::Function,
    n: i64,
) -> Result<Option<f64>, String> {
    let Ok(args) = arguments_at(p, f, name, n) else { return Ok(None) };
    let Ok((wanted, counts)) = call(p, name, &args) else { return Ok(None) };
    let fun = &p.program().defs[name].fun;
    let Some((found, written)) = bulk::counted(form, &fun.params, &fun.result, &args, Some(&wanted)) else {
        return Ok(None);
    };
    let found = match found {
        Ok(found) => found,
        Err(stop) if stop.failure == ::bulk::ir::Failure::Size => return Ok(None),
        Err(stop) => return Err(format!("{name} {STOPS}: {}", stop.failure.message())),
    };
    if !is_close(&wanted, &found) && is_stable(text, name, n, &wanted) {
        return Err(format!("{name}: {wanted}, {DIFFERS} {found}"));
    }
    let numbers = args.iter().chain([&wanted]).map(|value| value.floats().len()).sum::<usize>();
    Ok(Some(written as f64 / (counts.accesses + counts.arithmetic() + counts.moves + numbers as u64) as f64))
}

/// Returns the arguments of f or of its gradient, at a size.
fn arguments_at(p: &Pipeline, f: &FunName, name: &FunName, n: i64) -> Result<Vec<Value>, String> {
    let point = point_of_size(p, n)?;
    let args = arguments(p, f, &point);
    if name == f {
        return Ok(args);
    }
    let value = call(p, f, &args)?.0;
    Ok(vec![point, Random::new(1).direction(&value)])
}

/// Returns whether a value stays about the same where all numbers of the program change in their last digits. Otherwise
/// the order of a sum decides it.
fn is_stable(text: &str, name: &FunName, n: i64, wanted: &Value) -> bool {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let mut other = String::new();
    for word in text.split_inclusive([' ', '(', ')', '\n']) {
        let number = word.trim_end_matches([' ', '(', ')', '\n']);
        other += number;
        if digit(number.chars().next()) && number.contains('.') && digit(number.chars().last()) {
            other += "0000000000001";
        }
        other += &word[number.len()..];
    }
    let Ok(mut p) = pipeline(&other, Derivation::default()) else { return true };
    let f = FunName::base("f");
    if name != &f && p.require(name).is_err() {
        return true;
    }
    let again = arguments_at(&p, &f, name, n).ok().and_then(|args| {
        let args: Vec<Value> = args.iter().map(changed_a_little).collect();
        call(&p, name, &args).ok()
    });
    again.is_none_or(|(again, _)| is_near(wanted, &again))
}

fn changed_a_little(value: &Value) -> Value {
    match value {
        Value::Float(x) => Value::Float(x * (1.0 + 1e-13)),
        Value::Tuple(parts) => Value::Tuple(parts.iter().map(changed_a_little).collect()),
        Value::Tensor(tensor) => {
            let elements = tensor.elements().iter().map(changed_a_little).collect();
            Value::Tensor(Tensor::new(tensor.size().to_vec(), elements).into())
        }
        other => other.clone(),
    }
}

fn is_near(a: &Value, b: &Value) -> bool {
    let (a, b) = (a.floats(), b.floats());
    let scale = a.iter().chain(&b).filter(|x| x.is_finite()).fold(1.0, |scale: f64, x| scale.max(x.abs()));
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-8 * scale || a.to_bits() == b.to_bits())
}
