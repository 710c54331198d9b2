//! Tests the output of the demos: `../demos/NAME.ks` prints `../demos/NAME.out`.
//!
//! Programs run interpreted, and natively with the very same text (up to the last digits with fast arithmetic), and
//! read back the same when they are printed as KS. Numbers may differ in their last digits, as the functions of C
//! libraries do.

use super::each::{self, Outcome};
use common::files;
use libtest_mimic::Trial;
use lm::alpha;
use lm::interp::Interpreter;
use lm::notation::ks;
use lm::term::FunName;
use lmc::demos::Demo;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use native::{Jit, Options, SourceInfo};
use std::fs;

/// The largest relative difference of numbers that agree.
const TOLERANCE: f64 = 1e-12;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::demo("programs::demos_print_what_is_expected", prints_what_is_expected);
    tests.extend(each::demo("programs::printed_demos_read_back", reads_back));
    tests.push(each::one("programs", "the_last_digits_of_numbers_do_not_matter", last_digits_do_not_matter));
    tests
}

/// Returns the output of `main`, which is also that of exact native code.
fn printed(demo: &Demo) -> Result<String, String> {
    let source = Source::new(&format!("{}.ks", demo.name), demo.text);
    let checked = front::load(&source).map_err(|errors| format!("{errors:?}"))?;
    let mut pipeline = Pipeline::new(checked);
    let main = FunName::base("main");
    pipeline.require(&main).map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    let result = Interpreter::with_output(pipeline.program(), &mut text).call(&main, &[]);
    result.map_err(|error| format!("line {}: {error}", source.position(error.span.start).line))?;
    let text = String::from_utf8(text).expect("programs print text");
    let native = native(&pipeline, &main)?;
    if native == text { Ok(text) } else { Err(format!("native code prints something else:\n{native}")) }
}

/// Returns the output of native code.
fn native(pipeline: &Pipeline, main: &FunName) -> Result<String, String> {
    let jit = Jit::new(pipeline.program(), std::slice::from_ref(main), &SourceInfo::default(), &Options::exact());
    let mut text = Vec::new();
    let result = jit.map_err(|error| error.to_string())?.call_with_output(main, &[], &mut text);
    result.map_err(|error| format!("native: {error}"))?;
    Ok(String::from_utf8(text).expect("programs print text"))
}

/// Returns whether texts are equal up to the last digits of numbers.
fn alike(one: &str, other: &str) -> bool {
    let words = |text: &str| text.split_inclusive([' ', ',', '[', ']', '\n']).map(String::from).collect::<Vec<_>>();
    let (one, other) = (words(one), words(other));
    one.len() == other.len() && one.iter().zip(&other).all(|(a, b)| a == b || close(a, b))
}

/// Returns whether two words are numbers that agree, with the same sign after them.
fn close(one: &str, other: &str) -> bool {
    let parts = |word: &str| {
        let number = word.trim_end_matches([' ', ',', '[', ']', '\n']);
        number.parse::<f64>().ok().map(|x| (x, word[number.len()..].to_string()))
    };
    match (parts(one), parts(other)) {
        (Some((x, after)), Some((y, also))) => after == also && (x - y).abs() <= TOLERANCE * x.abs().max(y.abs()),
        _ => false,
    }
}

fn prints_what_is_expected(demo: &Demo) -> Outcome {
    let found = printed(demo)?;
    let file = files::path(&format!("demos/{}.out", demo.name));
    let expected = fs::read_to_string(&file).unwrap_or_default();
    if found.contains("false") {
        return Err(format!("a check fails:\n{found}"));
    }
    if alike(&found, &expected) {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(file, found).expect("the expectation can be written");
        return Ok(());
    }
    Err(format!("expected:\n{expected}\nfound:\n{found}"))
}

fn reads_back(demo: &Demo) -> Outcome {
    let program =
        |text: &str| front::load(&Source::new("demo.ks", text)).map_err(|errors| format!("{errors:?}\n{text}"));
    let written = program(demo.text)?.program;
    let printed = ks::program(&written, 100);
    let same = alpha::programs(&written, &program(&printed)?.program);
    if same { Ok(()) } else { Err(format!("reads back as another program:\n{printed}")) }
}

fn last_digits_do_not_matter() {
    assert!(alike("x = 0.1, [1, 2]\n", "x = 0.10000000000000002, [1, 2]\n"));
    assert!(!alike("x = 0.1, [1, 2]\n", "x = 0.100000001, [1, 2]\n"));
    assert!(!alike("x = 0.1, [1, 2]\n", "y = 0.1, [1, 2]\n"));
    assert!(!alike("x = 0.1, [1, 2]\n", "x = 0.1; [1, 2]\n"));
    assert!(!alike("[1, 2]\n", "[1], 2\n"));
    assert!(!alike("1", "1 2"));
}
