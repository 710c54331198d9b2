//! The language, row by row: each `language/*.ks` asserts what it says of itself, and prints
//! `language/*.out`; each `language/errors/*.ks` stops with the message beside it.
//!
//! Programs run interpreted and natively, with the same text and the same errors. Each is printed as KS and read back. `BLESS=1 cargo test --test language` writes what is
//! expected anew; read the diff.

use codegen::{Jit, SourceInfo};
use lm::alpha;
use lm::interp::{Interpreter, RuntimeError};
use lm::notation::{infix, ks};
use lm::term::{FunName, Program};
use lmc::pipeline::Pipeline;
use lmc::source::Source;
use lmc::{front, with_large_stack};
use std::fs;
use std::path::{Path, PathBuf};

fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder).expect("the folder is there").map(|e| e.expect("an entry").path());
    let mut programs: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "ks")).collect();
    programs.sort();
    programs
}

fn source(path: &Path) -> Source {
    let name = path.file_name().expect("a file").to_string_lossy();
    Source::new(&name, &fs::read_to_string(path).expect("the program can be read"))
}

/// The program with the derivatives that `main` calls.
fn pipeline(source: &Source) -> Pipeline {
    let checked = front::load(source).unwrap_or_else(|errors| panic!("{}: {errors:?}", source.name()));
    let mut pipeline = Pipeline::new(checked);
    let main = FunName::base("main");
    pipeline.require(&main).unwrap_or_else(|error| panic!("{}: {error}", source.name()));
    pipeline
}

fn interpreted(program: &Program) -> (String, Result<(), RuntimeError>) {
    let mut text = Vec::new();
    let result = Interpreter::with_output(program, &mut text).call(&FunName::base("main"), &[]);
    (String::from_utf8(text).expect("programs print text"), result.map(|_| ()))
}

fn jit(program: &Program, source: &Source) -> Result<Jit, codegen::Error> {
    let info = SourceInfo::new(source.name(), source.text());
    Jit::new(program, &[FunName::base("main")], &info, &codegen::Options::default())
}

/// What native code prints, and how it ends.
fn native(program: &Program, source: &Source) -> Result<(String, Result<(), RuntimeError>), String> {
    let jit = jit(program, source).map_err(|error| format!("native: {error}"))?;
    let mut text = Vec::new();
    let result = jit.call_with_output(&FunName::base("main"), &[], &mut text).map(|_| ());
    Ok((String::from_utf8(text).expect("programs print text"), result))
}

fn same(
    interpreted: &(String, Result<(), RuntimeError>),
    native: &(String, Result<(), RuntimeError>),
) -> Result<(), String> {
    if interpreted == native { Ok(()) } else { Err(format!("interpreted: {interpreted:?}\nnative: {native:?}")) }
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

/// Compares with a file, or writes it.
fn expect(found: &str, file: &Path) -> Result<(), String> {
    if std::env::var_os("BLESS").is_some() {
        fs::write(file, found).expect("the expectation can be written");
    }
    let expected = fs::read_to_string(file).unwrap_or_default();
    if found == expected { Ok(()) } else { Err(format!("expected:\n{expected}\nfound:\n{found}")) }
}

fn every(folder: &str, check: impl Fn(&Path) -> Result<(), String> + Send + Sync) {
    let failed =
        |path: &PathBuf| with_large_stack(|| check(path)).err().map(|why| format!("{}: {why}", path.display()));
    let failures: Vec<String> = programs(folder).iter().filter_map(failed).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn programs_do_what_they_say() {
    every("tests/language", |path| {
        let source = source(path);
        let pipeline = pipeline(&source);
        let (text, result) = interpreted(pipeline.program());
        result.map_err(|error| format!("line {}: {error}", source.position(error.span.start).line))?;
        expect(&text, &path.with_extension("out"))?;
        same(&(text, Ok(())), &native(pipeline.program(), &source)?)?;
        comes_back(&source)
    });
}

#[test]
fn failing_programs_say_why_and_where() {
    every("tests/language/errors", |path| {
        let source = source(path);
        let pipeline = pipeline(&source);
        let (text, result) = interpreted(pipeline.program());
        same(&(text, result.clone()), &native(pipeline.program(), &source)?)?;
        let error = result.err().ok_or("does not fail")?;
        let position = source.position(error.span.start);
        let message = format!("{}:{}:{}: {error}\n", source.name(), position.line, position.column);
        expect(&message, &path.with_extension("err"))?;
        comes_back(&source)
    });
}

#[test]
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
