//! The derivation `dual-arrays` agrees with the default one, to 1e-10, wherever a program has a form in whole arrays: of
//! the demos, of the kernels, of the programs of `cases`, and of random programs. Where it differs, the smallest program
//! found is shown. Programs without a form are refused by E310 to E319: `tests/cases/dual_arrays.txt` has a row for each
//! program with such functions.

use super::derivations::{Functions, checkable, derivatives, is_close, point};
use super::each::{self, Outcome, alone};
use common::cost::{arguments, call, pipeline};
use common::random::{cases, seed};
use common::shrink::smallest;
use common::{files, generate_scaled, oracle};
use libtest_mimic::Trial;
use lm::tensor::Tensor;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::demos::{DEMOS, Demo};
use lmc::derive::Derivation;
use lmc::gradcheck::Random;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::demo("dual_arrays::of_demos", of_demo);
    for folder in ["bulk", "gradcheck", "in_place", "ways"] {
        let name = "dual_arrays::of_cases";
        let check = move |path: &Path| of_program(folder, path);
        tests.extend(each::program(name, &format!("tests/cases/{folder}"), check));
    }
    tests.extend(files::programs("benches/kernels/ks").into_iter().map(|path| {
        let name = files::name(&path);
        // The interpreter takes long for these: for the campaign.
        let is_long = matches!(name.as_str(), "conv2d_net_index" | "conv2d_net_fused");
        each::row("dual_arrays::of_kernels", &name, move || of_program("kernels", &path)).with_ignored_flag(is_long)
    }));
    tests.extend(alone!(
        "dual_arrays": of_random_programs, what_is_not_computed_has_no_derivative,
        derivatives_stop_at_an_index_out_of_range, derivatives_stop_where_a_state_changes_its_size,
        each_row_of_refusals_has_its_program,
        where_the_default_has_no_number_the_forward_derivative_tells,
        where_the_default_has_no_numbers_differences_tell,
    ));
    tests
}

/// The table of refusals: for each program, how many derivatives each error refuses.
const REFUSALS: &str = "tests/cases/dual_arrays.txt";

/// The demos without a form, and the errors that say so.
const REFUSED: [(&str, &str); 2] = [("ex11", "E319"), ("minors", "E311")];

/// What became of derivatives that the default derivation has.
#[derive(Debug, Default)]
struct Tally {
    compared: usize,
    /// There is no form in whole arrays: how many of each error.
    refused: BTreeMap<String, usize>,
    /// The form stops with an error: sizes that the program never asks for are not equal, or a loop has no iterations, and
    /// what none of them changes is read before it.
    stopped: usize,
}

/// Compares the derivatives of a program.
///
/// Errors: the first that differs.
fn compare(text: &str, functions: Functions) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let Ok(wanted) = derivatives(text, Derivation::default(), functions) else { return Ok(tally) };
    let found = derivatives(text, Derivation::DualArrays, functions)?;
    for ((name, wanted), (_, found)) in wanted.iter().zip(&found) {
        match (wanted, found) {
            (Err(_), _) => {}
            (Ok(wanted), Ok(found)) if is_close(wanted, found) => tally.compared += 1,
            (Ok(wanted), Ok(found)) if is_gradient(text, name, wanted, found) => tally.compared += 1,
            (Ok(wanted), Ok(found)) => return Err(format!("{name}: {wanted} and {found}")),
            (Ok(_), Err(why)) if why.starts_with("E31") => *tally.refused.entry(why[..4].to_string()).or_default() += 1,
            (Ok(_), Err(why)) if is_of_sizes(why) => tally.stopped += 1,
            (Ok(_), Err(why)) => return Err(format!("{name}: {why}")),
        }
    }
    Ok(tally)
}

/// Returns whether `found` is the gradient by default forward derivatives, where `wanted`, of the reverse one, is no
/// number: a cotangent that is zero there met an infinite partial derivative (`docs/design.md`, "Known limits"). Where
/// tangents that are zero met one, too, finite differences tell.
fn is_gradient(text: &str, name: &FunName, wanted: &Value, found: &Value) -> bool {
    let found = match (name.derivative(), found) {
        (Some(Derivative::Rev), cotangent) => cotangent,
        (Some(Derivative::Vjp), Value::Tuple(both)) => &both[1],
        _ => return false,
    };
    if !wanted.floats().iter().any(|x| x.is_nan()) {
        return false;
    }
    let (f, found) = (name.without_derivatives(1), found.floats());
    let Some(mut gradient) = lmc::with_large_stack(|| gradient_by_columns(text, &f)) else { return false };
    for (i, partial) in gradient.iter_mut().enumerate().filter(|(_, partial)| partial.is_nan()) {
        match lmc::with_large_stack(|| difference_quotient(text, &f, i)) {
            Some(quotient) if (quotient - found[i]).abs() <= 1e-5 * quotient.abs().max(1.0) => *partial = found[i],
            _ => return false,
        }
    }
    is_close(&numbers(gradient), &numbers(found))
}

/// Returns how the value of a function, times the direction of its cotangent, changes with the i-th number of its
/// argument.
fn difference_quotient(text: &str, f: &FunName, i: usize) -> Option<f64> {
    let p = pipeline(text, Derivation::default()).ok()?;
    let (at, value) = point(&p, f)?;
    let mut random = Random::new(1);
    let (_, dr) = (random.direction(&at), random.direction(&value));
    let step = 1e-6;
    let along = |h: f64| {
        let value = call(&p, f, &arguments(&p, f, &moved(&at, i, h))).ok()?.0.floats();
        Some(value.iter().zip(dr.floats()).map(|(x, dr)| x * dr).sum::<f64>())
    };
    Some((along(step)? - along(-step)?) / (2.0 * step))
}

/// Returns a value whose i-th number is larger by `step`.
fn moved(value: &Value, i: usize, step: f64) -> Value {
    fn go(value: &Value, left: &mut usize, step: f64) -> Value {
        match value {
            Value::Float(x) => {
                let is_it = *left == 0;
                *left = left.wrapping_sub(1);
                Value::Float(if is_it { x + step } else { *x })
            }
            Value::Tuple(parts) => Value::Tuple(parts.iter().map(|part| go(part, left, step)).collect()),
            Value::Tensor(t) => Value::Tensor(t.with(t.elements().iter().map(|x| go(x, left, step)).collect()).into()),
            other => other.clone(),
        }
    }
    go(value, &mut i.clone(), step)
}

/// Returns the cotangent of a function's argument by its Jacobian, which has a row for each number of the result.
fn gradient_by_columns(text: &str, f: &FunName) -> Option<Vec<f64>> {
    let mut p = pipeline(text, Derivation::default()).ok()?;
    let (point, value) = point(&p, f)?;
    let mut random = Random::new(1);
    let (ds, dr) = (random.direction(&point), random.direction(&value));
    let jacobian = f.derived(Derivative::JacFwd);
    p.require(&jacobian).ok()?;
    let partials = call(&p, &jacobian, &arguments(&p, f, &point)).ok()?.0.floats();
    let mut gradient = vec![0.0; ds.floats().len()];
    for (row, dr) in partials.chunks(gradient.len().max(1)).zip(dr.floats()) {
        gradient.iter_mut().zip(row).for_each(|(sum, partial)| *sum += dr * partial);
    }
    Some(gradient)
}

fn numbers(floats: Vec<f64>) -> Value {
    Value::Tuple(floats.into_iter().map(Value::Float).collect())
}

/// Returns whether an error at run time is one of sizes, or of an empty array: one of size 0, or (0, 3).
fn is_of_sizes(why: &str) -> bool {
    let is_empty = |size: &str| size.split(['(', ',', ')']).any(|n| n.trim() == "0");
    why.contains("the sizes ") || why.split_once("out of range for size ").is_some_and(|(_, size)| is_empty(size))
}

fn of_demo(demo: &Demo) -> Outcome {
    let f = FunName::base(demo.fun);
    let functions: Functions = &|_| vec![f.clone()];
    let refused = REFUSED.iter().find(|(name, _)| *name == demo.name);
    let Some((_, code)) = refused else {
        let tally = compare(demo.text, functions)?;
        return if tally.compared == 4 { Ok(()) } else { Err(format!("{tally:?}")) };
    };
    let all = derivatives(demo.text, Derivation::DualArrays, functions)?;
    let says_so = all.iter().all(|(_, value)| value.as_ref().is_err_and(|why| why.starts_with(code)));
    if says_so && !all.is_empty() { Ok(()) } else { Err(format!("{all:?}")) }
}

fn of_program(folder: &str, path: &Path) -> Outcome {
    let tally = compare(&files::text(path), &checkable)?;
    println!("{tally:?}");
    let found: Vec<String> = tally.refused.iter().map(|(code, count)| format!("{code} {count}")).collect();
    let found = format!("{} compared, {} refused", tally.compared, found.join(" "));
    let name = format!("{folder}/{}", files::name(path));
    let wanted = refusals().remove(&name);
    match wanted {
        None if tally.refused.is_empty() => Ok(()),
        Some(wanted) if wanted == found => Ok(()),
        _ if std::env::var_os("BLESS").is_some() => bless(name, (!tally.refused.is_empty()).then_some(found)),
        _ => Err(format!("{found}; {REFUSALS} says {wanted:?}")),
    }
}

/// The rows of the table, by program.
fn refusals() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(REFUSALS).unwrap_or_default();
    let row = |line: &str| line.split_once(": ").map(|(name, found)| (name.to_string(), found.to_string()));
    text.lines().filter_map(row).collect()
}

/// Writes a row of the table anew, or takes it out.
fn bless(name: String, found: Option<String>) -> Outcome {
    static WRITES: Mutex<()> = Mutex::new(());
    let _one_at_a_time = WRITES.lock().map_err(|_| "another test failed while it wrote".to_string())?;
    let mut rows = refusals();
    match found {
        Some(found) => rows.insert(name, found),
        None => rows.remove(&name),
    };
    let lines: String = rows.iter().map(|(name, found)| format!("{name}: {found}\n")).collect();
    std::fs::write(REFUSALS, lines).map_err(|error| error.to_string())
}

fn each_row_of_refusals_has_its_program() {
    let rows = refusals();
    let folder =
        |folder: &str| if folder == "kernels" { "benches/kernels/ks".into() } else { format!("tests/cases/{folder}") };
    for name in rows.keys() {
        let (parent, file) = name.split_once('/').expect("a folder and a file");
        let path = format!("{}/{file}.ks", folder(parent));
        assert!(Path::new(&path).is_file(), "{REFUSALS}: there is no {path}");
    }
    assert!(rows.len() > 20, "{}", rows.len());
}

/// Both branches of a conditional are computed for all elements. The derivative of the one that is not taken may be
/// infinite, and counts as zero.
fn what_is_not_computed_has_no_derivative() {
    let text = "(def f Float (v : Vec Float) (sum (build (size v) (lam (i : Integer)
        (let (x (index i v)) (if (gt x 0.0) (add (sqrt x) (div (log x) (exp (mul 9.0 x)))) 0.0))))))
      (def point (Vec Float) (n : Integer) (Vec_init 0.0 4.0 -1.0))";
    let all = derivatives(text, Derivation::DualArrays, &|_| vec![FunName::base("f")]).expect("it derives");
    let (_, gradient) = &all[1];
    let floats = gradient.as_ref().expect("it has a value").floats();
    assert!(floats[0] == 0.0 && floats[2] == 0.0 && floats[1].is_finite() && floats[1] != 0.0, "{floats:?}");
}

/// The check of the index is the value's alone, but the derivative reads the element, too. Where the condition is false,
/// it reads none.
fn derivatives_stop_at_an_index_out_of_range() {
    let text = "(def f (Vec Float) ((x : Vec Float) (ix : Vec Integer)) (map (lam (i : Integer)
      (if (gt i 0) (index i x) 1.0)) ix))";
    let vector = |values: Vec<Value>| Value::Tensor(Tensor::new(vec![values.len()], values).into());
    let point = |k: i64| {
        let x = vector([1.0, 2.0].map(Value::Float).to_vec());
        Value::Tuple(vec![x, vector([-3, k, 1].map(Value::Integer).to_vec())])
    };
    let mut p = pipeline(text, Derivation::DualArrays).expect("it is right");
    for (derivative, direction) in [
        (Derivative::Fwd, Random::new(1).direction(&point(0))),
        (Derivative::Rev, vector([1.0; 3].map(Value::Float).to_vec())),
    ] {
        let name = FunName::base("f").derived(derivative);
        p.require(&name).expect("it derives");
        let why = call(&p, &name, &[point(7), direction.clone()]).expect_err("7 is no index");
        assert!(why.contains("index 7 is out of range for size 2"), "{name}: {why}");
        assert!(call(&p, &name, &[point(1), direction]).is_ok(), "{name}");
    }
}

/// A state has one size in whole arrays: the loop that changes it stops, though nothing reads what it computes, only its
/// size. Where it has no step, the size is that of the argument.
fn derivatives_stop_where_a_state_changes_its_size() {
    let text = "(def f Float ((n : Integer) (x : Float) (v : Vec Float))
      (let (s (fold (lam (t : Tuple (Vec Float) Integer) (Vec_init 1.0 1.0 1.0)) v (build n (lam (i : Integer) i))))
        (fold (lam (p : Tuple Float Float) 1.0) x s)))";
    let mut p = pipeline(text, Derivation::DualArrays).expect("it is right");
    let vector = |n: usize| Value::Tensor(Tensor::new(vec![n], vec![Value::Float(2.0); n]).into());
    let direction = |n| Value::Tuple(vec![Value::Tuple(vec![]), Value::Float(1.0), vector(n)]);
    for derivative in [Derivative::Fwd, Derivative::Jvp] {
        let name = FunName::base("f").derived(derivative);
        p.require(&name).expect("it derives");
        let at = |steps, size| {
            let point = Value::Tuple(vec![Value::Integer(steps), Value::Float(0.5), vector(size)]);
            call(&p, &name, &[point, direction(size)])
        };
        let why = at(1, 0).expect_err("the size changes");
        assert!(why.contains("sizes"), "{name}: {why}");
        let values = [at(0, 0), at(0, 2), at(1, 3)].map(|value| value.expect("the size stays").0.floats());
        let last = values.map(|floats| floats[floats.len() - 1]);
        assert_eq!(last, [1.0, 0.0, 0.0], "{name}");
    }
}

/// The reverse derivative has 0 times an infinite partial derivative there, and the forward one has zero.
fn where_the_default_has_no_number_the_forward_derivative_tells() {
    the_gradient_is_known("(min (asin t) (mul s s))");
}

/// Both default derivatives have 0 times an infinite partial derivative there.
fn where_the_default_has_no_numbers_differences_tell() {
    the_gradient_is_known("(add s (pow (lgamma 1.0) (min (acos t) 0.0)))");
}

/// Compares the gradient of a term by t and s, at t = 1.5 and s = 0.5: by t the default reverse derivative has no number.
fn the_gradient_is_known(term: &str) {
    let text = format!(
        "(def f Float ((t : Float) (s : Float)) {term})
         (def point (Tuple Float Float) (n : Integer) (tuple 1.5 0.5))"
    );
    let f = FunName::base("f");
    let of = |derivation| derivatives(&text, derivation, &|_| vec![f.clone()]).expect("it derives");
    let [all, others] = [Derivation::default(), Derivation::DualArrays].map(of);
    let (name, wanted) = &all[1];
    let (wanted, found) = (wanted.as_ref().expect("a value"), others[1].1.as_ref().expect("a value"));
    assert!(wanted.floats()[0].is_nan() && found.floats()[0] == 0.0 && found.floats()[1] != 0.0, "{wanted} {found}");
    assert!(is_gradient(&text, name, wanted, found));
    for i in 0..2 {
        let changed = moved(found, i, 0.5);
        assert!(!is_gradient(&text, name, wanted, &changed), "{changed}");
        assert!(!is_gradient(&text, name, found, &changed), "numbers are held to numbers");
    }
    assert_eq!(compare(&text, &|_| vec![f.clone()]).map(|tally| tally.compared), Ok(4));
}

fn of_random_programs() {
    assert_eq!(REFUSED.iter().filter(|(name, _)| DEMOS.iter().any(|demo| demo.name == *name)).count(), REFUSED.len());
    let (seed, count) = (seed(), u64::from(cases(60)));
    println!("LMC_SEED={seed} LMC_CASES={count}");
    let mut all = Tally::default();
    for number in 0..count {
        let text = match number % 2 {
            0 => generate_scaled::program(seed, number),
            _ => oracle::generated(number).text,
        };
        match compare(&text, &checkable) {
            Ok(Tally { compared, refused, stopped }) => {
                all.compared += compared;
                refused.into_iter().for_each(|(code, count)| *all.refused.entry(code).or_default() += count);
                all.stopped += stopped;
            }
            Err(why) => {
                let small = smallest(&text, |text| compare(text, &checkable).is_err());
                let at = compare(&small, &checkable).err().unwrap_or(why);
                panic!("program {number}: {at}\n{small}");
            }
        }
    }
    println!("{all:?}");
    assert!(all.compared > all.refused.values().sum::<usize>() + all.stopped, "{all:?}");
}
