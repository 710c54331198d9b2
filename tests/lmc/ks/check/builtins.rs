//! The table of built-in functions.

use indexmap::IndexSet;
use lm::libm::Libm;
use lm::prim::{ALL, Prim};
use lm::types::Type;
use lmc::derive::pipeline;
use lmc::ks::check::builtins::Meaning::{Componentwise, Core, MulInteger, Primitive};
use lmc::ks::check::builtins::{Builtin, names, rows, select, typing_of, typings};
use lmc::ks::check::{CheckOptions, check};
use lmc::ks::front::prelude_forms;
use lmc::ks::reader::read;
use lmc::with_large_stack;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::path::Path;

/// The page of the language describes every built-in, or that of the library.
#[test]
fn the_pages_describe_every_name() {
    let pages = [include_str!("../../../../docs/language.md"), include_str!("../../../../docs/linalg.md")];
    let words = pages.iter().flat_map(|page| page.split(|c: char| c.is_whitespace() || "`(),".contains(c)));
    let words: FxHashSet<&str> = words.collect();
    let missing: Vec<_> = names().filter(|name| !words.contains(name)).collect();
    assert!(missing.is_empty(), "neither docs/language.md nor docs/linalg.md describes {missing:?}");
}

#[test]
fn every_primitive_has_a_surface_name() {
    let named = |p: &Prim| {
        names()
            .flat_map(rows)
            .any(|row| matches!(row.meaning, Core(q) | Componentwise(q) if q == *p) || row.name == p.name())
    };
    let missing: Vec<_> = ALL.iter().filter(|p| !named(p)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn arity_is_known_where_fixed() {
    let arity = |name: &str| rows(name).next().and_then(Builtin::arity);
    assert_eq!(arity("add"), Some(2));
    assert_eq!(arity("lmApply"), Some(2));
    assert_eq!(arity("print"), None);
    assert_eq!(arity("build"), Some(2));
    assert_eq!(arity("map2"), Some(3));
    assert_eq!(arity("Vec_init"), None);
}

#[test]
fn rows_choose_by_type() {
    let meaning = |name: &str, args: &[Type]| select(name, args).map(|row| row.meaning);
    assert_eq!(meaning("pow", &[Type::Float, Type::Integer]), Some(Core(Prim::Powi)));
    assert_eq!(meaning("mul", &[Type::Float, Type::Integer]), Some(MulInteger));
    assert_eq!(meaning("add", &[Type::Float, Type::Integer]), None);
    assert_eq!(meaning("ts_sub", &[Type::Bool, Type::Bool]), None);
    assert_eq!(meaning("$prim$exp", &[Type::Float]), Some(Primitive(Prim::Libm(Libm::Exp))));
}

thread_local! {
    /// The built-ins that programs call, each with the types of its arguments.
    static CALLED: RefCell<Vec<(String, Vec<Type>)>> = const { RefCell::new(Vec::new()) };
}

/// The built-ins that a program calls in its own text, each with the types of its arguments.
fn called(text: &str) -> Vec<(String, Vec<Type>)> {
    let options = CheckOptions {
        record: Some(|program, f| pipeline::record(program, f).map_err(|e| Box::new(e.into()))),
        called: Some(|name, args| CALLED.with_borrow_mut(|called| called.push((name.into(), args.to_vec())))),
        ..CheckOptions::default()
    };
    let checked = check(&read(text).forms, prelude_forms(), options);
    checked.unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    CALLED.take()
}

/// Every row of the table of built-ins is tested by an assertion of a program.
#[test]
fn the_language_tests_call_every_builtin() {
    with_large_stack(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language");
        let mut untried: IndexSet<(&str, &str)> = typings().collect();
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            if path.extension().is_some_and(|extension| extension == "ks") {
                let text = std::fs::read_to_string(path).expect("the program can be read");
                for (name, args) in called(&text) {
                    let typing = typing_of(&name, &args).expect("the call was checked");
                    untried.shift_remove(&typing);
                }
            }
        }
        assert!(untried.is_empty(), "no program of tests/language calls {untried:#?}");
    });
}
