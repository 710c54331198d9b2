//! The language, row by row: each `language/*.ks` asserts what it says of itself, and prints `language/*.out`. So does
//! each `language/compat/*.ks`, a program in the style of another compiler. Each `language/errors/*.ks` stops with the
//! message beside it.
//!
//! Programs run interpreted and natively, with the same text and the same errors. Each is printed as KS and read back.

use super::each::{self, Outcome};
use common::files::{self, expect};
use common::native::unoptimised;
use libtest_mimic::Trial;
use lm::alpha;
use lm::interp::{ErrorKind, Interpreter, RuntimeError};
use lm::notation::{infix, ks};
use lm::term::{Derivative, FunName, Program};
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::pipeline::{Error, Pipeline};
use lmc::ks::check::Checked;
use lmc::ks::front;
use lmc::ks::source::Source;
use native::{Jit, SourceInfo};
use std::collections::BTreeSet;
use std::path::Path;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::program("language::programs_do_what_they_say", "tests/language", does_what_it_says);
    tests.extend(each::program("language::programs_of_others", "tests/language/compat", does_what_it_says));
    let each_way = "language::programs_do_the_same_by_each_derivation";
    tests.extend(each::program(each_way, "tests/language", does_the_same_by_each_derivation));
    let failing = "language::failing_programs_say_why_and_where";
    tests.extend(each::program(failing, "tests/language/errors", says_why_and_where));
    let derivations = "language::derivations_say_what_they_lack";
    tests.extend(each::program(derivations, "tests/language/derivations", says_what_it_lacks));
    let alone = |name, check| each::one("language", name, check);
    tests.push(alone("arrays_have_an_infix_form", arrays_have_an_infix_form));
    tests.push(alone("shapes_are_known_without_values", shapes_are_known_without_values));
    tests.push(alone("rules_that_do_not_end_are_left_out_by_name", rules_that_do_not_end_are_left_out_by_name));
    tests
}

fn source(path: &Path) -> Source {
    let name = path.file_name().expect("a file").to_string_lossy();
    Source::new(&name, &files::text(path))
}

/// The program with the derivatives that `main` calls, and with the linear maps that it computes with.
fn pipeline(source: &Source) -> Pipeline {
    let checked = front::load(source).unwrap_or_else(|errors| panic!("{}: {errors:?}", source.name()));
    let mut pipeline = Pipeline::new(checked);
    pipeline.keep_maps();
    pipeline.require(&FunName::base("main")).unwrap_or_else(|error| panic!("{}: {error}", source.name()));
    pipeline
}

fn interpreted(program: &Program) -> (String, Result<(), RuntimeError>) {
    let mut text = Vec::new();
    let result = Interpreter::with_output(program, &mut text).call(&FunName::base("main"), &[]);
    (String::from_utf8(text).expect("programs print text"), result.map(|_| ()))
}

fn jit(program: &Program, source: &Source) -> Result<Jit, native::Error> {
    let info = SourceInfo::new(source.name(), source.text());
    Jit::new(program, &[FunName::base("main")], &info, &unoptimised())
}

/// The output of a program, and its result or error.
type Ended = (String, Result<(), RuntimeError>);

/// Checks that native code prints the same and ends the same way.
fn native(source: &Source, interpreted: &Ended) -> Result<(), String> {
    // The limit of depth depends on the stack, and LLVM turns some recursions into loops.
    if let Err(RuntimeError { kind: ErrorKind::RecursionTooDeep(_), .. }) = interpreted.1 {
        return Ok(());
    }
    let checked = front::load(source).map_err(|errors| format!("{errors:?}"))?;
    let mut pipeline = Pipeline::new(checked);
    match pipeline.require(&FunName::base("main")) {
        Ok(()) => {}
        // A map that no law applies to a vector: the sum over all Integers.
        Err(Error::MapLeft(_)) if interpreted.1.is_err() => return Ok(()),
        Err(error) => return Err(format!("native: {error}")),
    }
    let jit = match jit(pipeline.program(), source) {
        Ok(jit) => jit,
        // An external function, which is not linked.
        Err(native::Error::Missing(_)) if interpreted.1.is_err() => return Ok(()),
        Err(error) => return Err(format!("native: {error}")),
    };
    let mut text = Vec::new();
    let result = jit.call_with_output(&FunName::base("main"), &[], &mut text).map(|_| ());
    let native = (String::from_utf8(text).expect("programs print text"), result);
    if *interpreted == native { Ok(()) } else { Err(format!("interpreted: {interpreted:?}\nnative: {native:?}")) }
}

/// Printed as KS and read back, a program is the same; the infix form is printed, too.
fn comes_back(source: &Source) -> Result<(), String> {
    let program = front::load(source).map_err(|errors| format!("{errors:?}"))?.program;
    for width in [40, 100] {
        let text = ks::program(&program, width);
        let again = front::load(&Source::new("printed.ks", &text)).map_err(|errors| format!("{errors:?}\n{text}"))?;
        if !alpha::programs(&program, &again.program) {
            return Err(format!("reads back as another program:\n{text}"));
        }
    }
    let shown = |def| infix::definition(def, infix::Format::Plain, 100).is_empty();
    if program.defs.values().any(shown) { Err("has no infix form".into()) } else { Ok(()) }
}

fn does_what_it_says(path: &Path) -> Outcome {
    let source = source(path);
    let (text, result) = interpreted(pipeline(&source).program());
    result.map_err(|error| format!("line {}: {error}", source.position(error.span.start).line))?;
    expect(&text, &path.with_extension("out"))?;
    native(&source, &(text, Ok(())))?;
    comes_back(&source)
}

/// Checks that a program that calls derivatives prints the same lines, wherever it does not choose, by each derivation.
/// How often a derivative prints what its function prints depends on the derivation.
fn does_the_same_by_each_derivation(path: &Path) -> Outcome {
    let source = source(path);
    for derivation in Derivation::OF_ALL_PROGRAMS.into_iter().filter(|d| *d != Derivation::default()) {
        let checked = front::load(&source).map_err(|errors| format!("{errors:?}"))?;
        let mut pipeline = Pipeline::new(Checked { derivation, ..checked });
        pipeline.require(&FunName::base("main")).map_err(|error| error.to_string())?;
        let (text, result) = interpreted(pipeline.program());
        // A half computes the value, too, which may be that of an external function.
        if let Err(RuntimeError { kind: ErrorKind::External(_), .. }) = result {
            continue;
        }
        result.map_err(|error| format!("{}: {error}", derivation.name()))?;
        let expected = files::text(&path.with_extension("out"));
        let [lines, expected] = [&text, &expected].map(|text| text.lines().collect::<BTreeSet<_>>());
        let is_in = |line: &&str, lines: &BTreeSet<&str>| lines.iter().any(|other| is_close(line, other));
        if !lines.iter().all(|line| is_in(line, &expected)) || !expected.iter().all(|line| is_in(line, &lines)) {
            return Err(format!("{}: {lines:?} instead of {expected:?}", derivation.name()));
        }
    }
    Ok(())
}

/// Returns whether two lines are equal, up to the rounding of numbers: sums may be in another order.
fn is_close(line: &str, other: &str) -> bool {
    let words = |line: &str| line.split([' ', ',', '(', ')', '[', ']']).map(str::to_string).collect::<Vec<_>>();
    let (a, b) = (words(line), words(other));
    let same = |(a, b): (&String, &String)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => a == b || (x - y).abs() <= 1e-14 * x.abs().max(y.abs()),
        _ => a == b,
    };
    a.len() == b.len() && a.iter().zip(&b).all(same)
}

fn says_why_and_where(path: &Path) -> Outcome {
    let source = source(path);
    let (text, result) = interpreted(pipeline(&source).program());
    native(&source, &(text, result.clone()))?;
    let error = result.err().ok_or("does not fail")?;
    let position = source.position(error.span.start);
    let message = format!("{}:{}:{}: {error}\n", source.name(), position.line, position.column);
    expect(&message, &path.with_extension("err"))?;
    comes_back(&source)
}

fn arrays_have_an_infix_form() {
    let text = "(def f Float ((v : Vec Float) (m : Tensor 2 Float))
      (sum (build (size v) (lam (i : Integer) (mul (index i v) (index (tuple i 0) m))))))";
    let shown = |format| {
        let program = front::load(&Source::new("f.ks", text)).expect("a right program").program;
        infix::definition(&program.defs[0], format, 100)
    };
    assert_eq!(shown(infix::Format::Plain), "fun f(v, m)\n  = sum(build(size(v), \\i. v[i] * m[i, 0]))");
    assert_eq!(shown(infix::Format::Signs), "fun f(v, m)\n  = sum(build(size(v), λi. v[i] * m[i, 0]))");
}

fn shapes_are_known_without_values() {
    let source = source(&files::path("tests/language/shape_derivation.ks"));
    let mut pipeline = pipeline(&source);
    let v = Value::vector(vec![Value::Float(1.0), Value::Float(2.0)]);
    let rows = Value::vector(vec![v.clone(), v.clone()]);
    let cases = [
        ("elementwise", vec![v.clone()]),
        ("branches", vec![v.clone(), Value::Bool(true)]),
        ("scans", vec![v.clone()]),
        ("through_a_copy", vec![v.clone()]),
        ("countdown", vec![v.clone(), Value::Integer(1)]),
        ("jagged", vec![v, Value::Integer(2)]),
        ("total", vec![rows]),
    ];
    for (function, args) in cases {
        let name = FunName::base(function).derived(Derivative::Shape);
        pipeline.require(&name).unwrap_or_else(|error| panic!("{function}: {error}"));
        let mut interpreter = Interpreter::new(pipeline.program());
        interpreter.call(&name, &args).unwrap_or_else(|error| panic!("{function}: {error}"));
        let (arithmetic, moves) = (interpreter.counts.arithmetic(), interpreter.counts.moves);
        // The elements of the sum are not known; the argument of the call is a value.
        let is_computed = matches!(function, "total" | "countdown");
        assert_eq!(arithmetic > 0 || moves > 0, is_computed, "{function}: {arithmetic} operations, {moves} moves");
    }
}

/// Checks the result or the error of each derivative that a program requests.
fn says_what_it_lacks(path: &Path) -> Outcome {
    let source = source(path);
    let checked = front::load(&source).map_err(|errors| format!("{errors:?}"))?;
    let requested = checked.requested.clone();
    let mut pipeline = Pipeline::new(checked);
    let mut text = String::new();
    for name in requested {
        let outcome = match pipeline.require(&name) {
            Ok(()) => "made".into(),
            Err(error) => format!("{}: {error}", error.code()),
        };
        text.push_str(&format!("{name}: {outcome}\n"));
    }
    text.push_str(&format!("\n{}", ks::program(pipeline.program(), 100)));
    expect(&text, &path.with_extension("out"))
}

fn rules_that_do_not_end_are_left_out_by_name() {
    let text = "(rule \"swap\" ((x : Float) (y : Float)) (add x y) (add y x))
      (rule \"grow\" (x : Float) (sin x) (sin (sin x)))
      (rule \"shrink\" (x : Float) (mul x 1.0) x)
      (def f Float (x : Float) (add (mul x 1.0) (sin x)))
      (def g Float (x : Float) (mul x 1.0))
      (def main Integer () (print (f 0.0) (g 0.0)))";
    let source = Source::new("f.ks", text);
    let mut pipeline = pipeline(&source);
    let left_out = pipeline.take_endless_rules();
    let shown: Vec<String> = left_out.iter().map(|rule| format!("{} in {}", rule.rule, rule.function)).collect();
    assert_eq!(shown, ["grow in f", "swap in f"]);
    assert!(left_out.iter().all(|rule| source.text()[rule.span.start as usize..].starts_with('"')));
    assert!(pipeline.take_endless_rules().is_empty());
    let f = &pipeline.program().defs[&FunName::base("f")];
    assert_eq!(ks::def(f, 100), "(def f Float (x : Float)\n  (add x (sin x)))\n");
}
