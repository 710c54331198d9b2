//! No text makes the compiler panic: programs with random tokens replaced, and random tokens.

use common::generate::{self, Options, programs};
use lm::term::{Derivative, FunName};
use lmc::derive::forms;
use lmc::derive::pipeline::{Error, Pipeline};
use lmc::ks::diagnostic::Diagnostic;
use lmc::ks::front::load;
use lmc::ks::render::{Format, render_all};
use lmc::ks::source::Source;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const TOKENS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "(",
    ")",
    "x",
    "y",
    "f0",
    "f1",
    "t",
    "1",
    "1.0",
    "-2",
    "\"s\"",
    ":",
    "let",
    "if",
    "tuple",
    "assert",
    "def",
    "gdef",
    "edef",
    "rule",
    "lam",
    "$dummy",
    "get$1$2",
    "get$2$2",
    "get$1$1",
    "lmGet$1$2",
    "true",
    "Float",
    "Integer",
    "Bool",
    "Tuple",
    "Vec",
    "LM",
    "(Tuple Float Float)",
    "(tuple x x)",
    "(tuple x 1.0)",
    "()",
    "add",
    "sub",
    "mul",
    "neg",
    "pow",
    "print",
    "eq",
    "ts_add",
    "ts_scale",
    "ts_neg",
    "ts_dot",
    "ts_zero",
    "lmZero",
    "lmOne",
    "lmScale",
    "lmScaleR",
    "lmAdd",
    "lmVCat",
    "lmHCat",
    "lmCompose",
    "lmApply",
    "lmApplyR",
    "lmTranspose",
    "$prim$add",
    "$prim$build",
    "$inline",
    "fwd",
    "rev",
    "D",
    "Dt",
    "[fwd f0]",
    "[rev f1]",
    "[D add]",
    "[rev mul]",
    "[D f0]",
    "[Dt sin]",
    "[fwd [rev f0]]",
    "[f0 Float]",
    "fwd$f0",
    "add@ff",
    "rev$ts_add",
    "D$print",
    "[CL f0]",
    "[D lmApply]",
    "[D $inline]",
    "[D ts_add]",
    "[CL sin]",
    "[sufrev sin]",
    "[Dt mul]",
    "[fwd eq]",
    "build",
    "digamma",
    "[rev digamma]",
    "main",
    "_",
    "{",
    "\0",
];

/// The tokens of a printed program.
fn tokens(text: &str) -> Vec<String> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('[', " [ ").replace(']', " ] ");
    spaced.split_whitespace().map(String::from).collect()
}

/// Reads, checks and shows; all that must not panic. Returns the errors.
fn endure(text: &str) -> Vec<Diagnostic> {
    let source = Source::new("odd.ks", text);
    let Err(errors) = load(&source) else { return vec![] };
    assert!(!errors.is_empty(), "refused without an error: {text}");
    for format in [Format::Human, Format::Short, Format::Json] {
        render_all(&source, &errors, format, true);
    }
    errors
}

/// Endures all of the definitions, in as few programs as it takes for each of them to be accepted or refused.
fn endure_all(common: &str, definitions: Vec<String>) {
    let text = [common].into_iter().chain(definitions.iter().map(String::as_str)).collect::<String>();
    let errors = endure(&text);
    if errors.is_empty() || definitions.len() == 1 {
        return;
    }
    let mut start = common.len();
    let mut is_accepted = |definition: &String| {
        let place = start..start + definition.len();
        start = place.end;
        !errors.iter().any(|error| error.span.is_some_and(|span| place.contains(&(span.start as usize))))
    };
    let accepted: Vec<String> = definitions.iter().filter(|definition| is_accepted(definition)).cloned().collect();
    match accepted.len() {
        0 => {}
        // One of them breaks the others.
        n if n == definitions.len() => definitions.into_iter().for_each(|one| endure_all(common, vec![one])),
        _ => endure_all(common, accepted),
    }
}

fn run<S: Strategy<Value = String>>(strategy: impl FnOnce() -> S + Send) {
    lmc::with_large_stack(|| {
        let result = TestRunner::new(common::random::config(1000)).run(&strategy(), |text| {
            endure(&text);
            Ok(())
        });
        result.unwrap_or_else(|e| panic!("{e}"));
    });
}

#[test]
fn programs_with_other_tokens() {
    run(|| {
        let program = programs(Options { smooth: false, functions: 3, depth: 3 });
        let changes = prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(TOKENS)), 1..6);
        (program, changes).prop_map(|(program, changes)| {
            let mut tokens = tokens(&generate::text(&program));
            for (at, token) in changes {
                let at = at.index(tokens.len());
                tokens[at] = token.to_string();
            }
            tokens.join(" ")
        })
    });
}

#[test]
fn bodies_of_random_tokens() {
    run(|| {
        let tree = prop::sample::select(TOKENS).prop_map(String::from);
        let tree = tree.prop_recursive(4, 40, 5, |inner| {
            prop::collection::vec(inner, 0..5).prop_map(|parts| format!("({})", parts.join(" ")))
        });
        tree.prop_map(|body| {
            format!(
                "(def f0 Float (x : Float) x) (def f1 (Tuple Float Float) ((x : Float) (y : Float)) (tuple x y))
                 (def main Integer () (let ((x 1.0) (y 2) (t (tuple x y))) {body}))"
            )
        })
    });
}

/// Calls of everything on everything: each primitive and form on arguments of each kind.
#[test]
fn every_call_of_two_arguments() {
    lmc::with_large_stack(|| {
        let atoms = ["x", "y", "t", "u", "true", "\"s\"", "(lmOne x)", "($dummy (Tuple Integer Float))", "(tuple)"];
        for head in TOKENS {
            let calls = atoms.iter().flat_map(|a| {
                let two = atoms.iter().map(move |b| format!("({head} {a} {b})"));
                two.chain([format!("({head} {a})")])
            });
            endure_all(CALLED, calls.enumerate().map(main).collect());
        }
    });
}

const CALLED: &str =
    "(def f0 Float (x : Float) x) (def f1 (Tuple Float Float) ((x : Float) (y : Float)) (tuple x y))\n";

/// A function with a body.
fn main((number, body): (usize, String)) -> String {
    format!("(def main{number} Float () (let ((x 1.0) (y 2) (t (tuple x x)) (u (tuple t x))) {body}))\n")
}

/// Functions that take or give a linear map have no derivatives. Others have, since the laws apply their maps.
#[test]
fn what_takes_or_gives_linear_maps_is_refused() {
    let refused = [
        "(def f (LM Float Float) (x : Float) (lmScale x x))",
        "(def f (Tuple Float (LM Float Float)) (x : Float) (tuple x (lmScale x x)))",
        "(def f Float ((m : (LM Float Float)) (x : Float)) (mul x x))",
    ];
    for (text, derivation, made) in refused.iter().flat_map(|text| derived(text)) {
        assert!(matches!(made, Err(Error::NotDifferentiable(_))), "{derivation} of f: {:?}\n{text}", made.err());
    }
    let applied = [
        "(def g Float ((m : (LM Float Float)) (x : Float)) (mul x x)) (def f Float (x : Float) (g (lmScale x x) x))",
        "(def g (Tuple Float (LM Float Float)) (x : Float) (tuple x (lmScale x x)))
         (def f Float (x : Float) (let ((a m) (if (gt x 0.0) (g x) (tuple x (lmOne x)))) (mul a x)))",
        "(def f Float (x : Float) (let ((a m) (if (gt x 0.0) (tuple x (lmScale x x)) (tuple x (lmOne x)))) (lmApply m a)))",
    ];
    for (text, derivation, made) in applied.iter().flat_map(|text| derived(text)) {
        let is_map = matches!(derivation, Derivative::D | Derivative::Dt);
        let made = made.unwrap_or_else(|error| panic!("{derivation} of f: {error}\n{text}"));
        let def = &made.program().defs[&FunName::base("f").derived(derivation.clone())];
        assert_eq!(forms::with_map(&def.body).is_some(), is_map, "{derivation} of f\n{text}");
    }
}

/// Makes each derivative of f.
fn derived(text: &str) -> impl Iterator<Item = (&str, Derivative, Result<Pipeline, Error>)> {
    let checked = load(&Source::new("maps.ks", text)).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let derivations = [
        Derivative::D,
        Derivative::Dt,
        Derivative::Fwd,
        Derivative::Rev,
        Derivative::Jvp,
        Derivative::Vjp,
        Derivative::SufRevPass,
        Derivative::JacFwd,
        Derivative::JacRev,
    ];
    derivations.into_iter().map(move |derivation| {
        let mut pipeline = Pipeline::new(checked.clone());
        let made = pipeline.require(&FunName::base("f").derived(derivation.clone()));
        (text, derivation, made.map(|()| pipeline))
    })
}
