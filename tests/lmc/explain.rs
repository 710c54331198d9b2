//! `lmc explain`: every code and every law is explained, and the examples are what they are said to be.

use lm::term::Derivative;
use lmc::derive::passes::laws;
use lmc::derive::pipeline::Pipeline;
use lmc::derive::schedule::Strategies;
use lmc::ks::diagnostic::Diagnostic;
use lmc::ks::explain::{self, Explanation};
use lmc::ks::front;
use lmc::ks::source::Source;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Codes of which no program is an example, and why.
const WITHOUT_EXAMPLE: [(&str, &str); 24] = [
    ("E001", "about a file, not a program"),
    ("E002", "about a file, not a program"),
    ("E003", "about a file, not a program"),
    ("E004", "this text is UTF-8"),
    ("E005", "256 MiB; see tests/lmc/cli_files.rs"),
    ("E111", "20,000 parentheses; see tests/files/errors.rs"),
    ("E303", "a program and a strategy; see tests/lmc/cli/strategies.rs"),
    ("E304", "only for users of the library"),
    ("E309", "given by `lmc compile`; see tests/lmc/cli_files.rs"),
    ("E310", "given by `lmc compile`; see tests/lmc/bulk.rs"),
    ("E311", "given by `lmc compile`; see tests/lmc/bulk.rs"),
    ("E312", "given by `lmc compile`; see tests/lmc/bulk.rs"),
    ("E313", "given by `lmc compile`; see tests/lmc/bulk.rs"),
    ("E314", "given by `lmc compile`; see tests/lmc/bulk.rs"),
    ("E315", "given by `lmc compile`; see tests/lmc/bulk.rs"),
    ("E316", "given by `lmc compile`; see tests/lmc/bulk.rs"),
    ("E317", "given by `lmc compile`; see tests/lmc/bulk.rs"),
    ("E318", "given by `lmc compile`; see tests/lmc/bulk.rs"),
    ("E319", "given by `--derivation dual-arrays`; see tests/files/dual_arrays.rs"),
    ("E508", "a program and a strategy; see tests/lmc/cli/strategies.rs"),
    ("W405", "given by `lmc compile`; see tests/lmc/cli_files.rs"),
    ("W406", "given by `lmc compile`; see tests/lmc/cli_files.rs"),
    ("W407", "given by `lmc demo`; see tests/lmc/derive/dual.rs"),
    ("W408", "given by `lmc gradcheck`; see tests/lmc/derive/expand_arrays.rs"),
];

/// The codes that the sources of the compiler give.
fn used() -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("codegen/bulk/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the sources are read") {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(path).expect("a source is read");
                codes.extend(text.lines().filter_map(code_of).map(str::to_string));
            }
        }
    }
    codes
}

/// The code of a row such as `Diagnostic::error("E101", ..` or `Error::OfItself(_) => "E307",`, before a comma; those
/// of warnings start with a W.
fn code_of(line: &str) -> Option<&str> {
    let is_code = |text: &&str| {
        let digits = text.strip_prefix(['E', 'W']).unwrap_or_default();
        digits.len() == 3 && digits.chars().all(|c| c.is_ascii_digit())
    };
    let (before_comma, _) = line.rsplit_once("\",")?;
    before_comma.split('"').find(is_code)
}

/// The codes of the mistakes in a file of strategies.
fn mistakes(text: &str) -> Vec<&'static str> {
    match Strategies::with("example.strategy", text) {
        Ok(_) => Vec::new(),
        Err((_, mistakes)) => mistakes.iter().map(|mistake| mistake.code).collect(),
    }
}

/// The codes of a program's errors and warnings, and of its derivatives'.
fn errors(text: &str) -> Vec<&'static str> {
    let codes = |errors: Vec<Diagnostic>| errors.iter().map(|error| error.code).collect();
    let checked = match front::load(&Source::new("example.ks", text)) {
        Ok(checked) => checked,
        Err(errors) => return codes(errors),
    };
    // Functions that take functions, and external functions, are not differentiated themselves.
    let is_defined = |name: &&lm::term::FunName| checked.program.defs.contains_key(*name);
    let functions = checked.places.keys().filter(|name| name.derivations.is_empty()).filter(is_defined);
    let functions: Vec<_> = functions.cloned().collect();
    let derivatives = functions
        .iter()
        .filter(|f| *f.base != *"main")
        .flat_map(|f| [f.derived(Derivative::Fwd), f.derived(Derivative::Rev)]);
    let wanted: Vec<_> = derivatives.chain(checked.requested.clone()).collect();
    let is_of_numbers = |name: &lm::term::FunName| {
        let of = name.as_written();
        let fun = &checked.program.defs[&of].fun;
        fun.argument().is_differentiable() && fun.result.is_differentiable()
    };
    let wanted: Vec<_> = wanted.into_iter().filter(is_of_numbers).collect();
    let warnings = checked.warnings.clone();
    let mut pipeline = Pipeline::new(checked);
    let failures = wanted.iter().filter_map(|name| pipeline.require(name).err());
    let mut codes: Vec<&str> = failures.map(|error| error.code()).collect();
    let endless = pipeline.take_endless_rules().into_iter().map(Diagnostic::from);
    codes.extend(warnings.into_iter().chain(endless).map(|warning| warning.code));
    codes
}

#[test]
fn every_code_is_explained_and_used() {
    let explained: Vec<String> = explain::codes().map(|explanation| explanation.code.to_string()).collect();
    let used = used();
    assert!(used.len() > 40, "only {used:?} were found");
    assert_eq!(explained, used.into_iter().collect::<Vec<_>>());
}

#[test]
fn examples_are_what_they_are_said_to_be() {
    lmc::with_large_stack(|| {
        for explanation in explain::codes() {
            let Explanation { code, .. } = explanation;
            let excuse = WITHOUT_EXAMPLE.iter().find(|(without, _)| *without == code);
            let Some(wrong) = explanation.wrong() else {
                assert!(excuse.is_some(), "{code} has no example");
                continue;
            };
            assert!(excuse.is_none(), "{code} has an example");
            // Codes E5 are of files of strategies.
            let errors = if code.starts_with("E5") { mistakes } else { errors };
            let found = errors(wrong);
            // Too many errors are errors of another kind first.
            let all_alike = found.iter().all(|found| *found == code) || code == "E112";
            assert!(found.contains(&code) && all_alike, "the example of {code} gives {found:?}");
            if let Some(right) = explanation.right() {
                assert_eq!(errors(right), [""; 0], "the remedy of {code}");
                if !code.starts_with("E5") {
                    assert_eq!(lmc::ks::fmt::format(right).expect("it is read"), format!("{right}\n"));
                }
            } else {
                assert_eq!(code, "E112");
            }
        }
    });
}

#[test]
fn every_law_is_explained() {
    lmc::with_large_stack(|| {
        let names = lm::law::all().keys().map(|name| &**name).chain(laws::all().map(|law| law.name));
        for name in names {
            let text = explain::law(name).unwrap_or_else(|| panic!("{name} is not explained"));
            assert!(text.starts_with(&format!("{name}: a law (")), "{text}");
            assert!(text.lines().count() > 5, "{text}");
        }
        assert!(explain::law("no-such-law").is_none());
    });
}

#[test]
fn an_instance_is_shown() {
    let text = lmc::with_large_stack(|| explain::law("vcat-compose").expect("it is a law"));
    assert!(text.contains("free to copy: a variable"), "{text}");
    assert!(
        text.contains("    lmCompose(lmVCat(m, m_1), n)\n  = lmVCat(lmCompose(m, n), lmCompose(m_1, n))\n"),
        "{text}"
    );
}

#[test]
fn the_command() {
    let lmc = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_lmc")).args(args).output().expect("lmc starts");
    let code = lmc(&["explain", "e109"]);
    let expected = "E109: a closing parenthesis without a partner\n";
    assert!(String::from_utf8_lossy(&code.stdout).starts_with(expected));
    let list = lmc(&["explain"]);
    assert!(String::from_utf8_lossy(&list.stdout).contains("E109  a closing parenthesis without a partner\n"));
    let unknown = lmc(&["explain", "E999"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("`lmc explain` lists the codes"));
}
