//! Tests each pass alone: `tests/passes/PASS/*.loops` hold loops before and after it. `BLESS=1` writes the result; read
//! the diff. Some files hold loops that a pass must leave alone.

mod rectangular;

use lm::timing::Timings;
use loops::analyses::verify::verify;
use loops::ir::parse::parse;
use loops::passes::{Checks, PASSES, Pass, Selection, run};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Between the loops before a pass and those after it.
pub const BECOMES: &str = "; becomes\n";

/// Returns the files of a pass, in order.
pub fn files(pass: &Pass) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes").join(pass.name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    files.sort();
    files
}

#[test]
fn passes_do_what_the_files_say() {
    for pass in PASSES {
        let files = files(pass);
        assert!(!files.is_empty(), "no file shows what {} does", pass.name);
        let mut changes = false;
        for file in files {
            let text = fs::read_to_string(&file).expect("it can be read");
            let (before, after) = text.split_once(BECOMES).unwrap_or((&text, ""));
            let mut module = parse(before);
            verify(&module).unwrap_or_else(|violation| panic!("{}: {violation}", file.display()));
            let comment: String = before.split_inclusive('\n').take_while(|line| line.starts_with(';')).collect();
            assert_eq!(format!("{comment}{module}\n"), before, "{} is not as loops are printed", file.display());
            let selection = Selection::Only(vec![pass.name.to_string()]);
            let hoisted = selection.passes(Checks::Hoisted).expect("there is such a pass");
            let checks = if hoisted.is_empty() { Checks::None } else { Checks::Hoisted };
            let given = module.to_string();
            run(&mut module, &selection, checks, &Timings::default()).expect("there is such a pass");
            changes |= module.to_string() != given;
            let found = module.to_string();
            assert_eq!(parse(&found).to_string(), found, "{} reads back", file.display());
            if std::env::var_os("BLESS").is_some() {
                fs::write(&file, format!("{before}{BECOMES}{found}")).expect("it can be written");
            } else {
                assert_eq!(found, after, "{}", file.display());
            }
        }
        assert!(changes, "no file has loops that {} changes: is it in ORDER?", pass.name);
    }
}

#[test]
fn passes_first_run_in_the_order_of_their_rows() {
    let mut run_at_all = HashSet::new();
    for checks in [Checks::Full, Checks::Hoisted, Checks::None] {
        let runs = Selection::All.passes(checks).expect("all of them are known");
        let mut seen = HashSet::new();
        let first: Vec<&str> = runs.iter().map(|pass| pass.name).filter(|name| seen.insert(*name)).collect();
        let rows: Vec<&str> = PASSES.iter().map(|pass| pass.name).filter(|name| seen.contains(name)).collect();
        assert_eq!(first, rows, "ORDER and PASSES of codegen/loops/src/passes/mod.rs");
        run_at_all.extend(first);
    }
    let never: Vec<&str> = PASSES.iter().map(|pass| pass.name).filter(|name| !run_at_all.contains(name)).collect();
    assert!(never.is_empty(), "not in ORDER of codegen/loops/src/passes/mod.rs: {never:?}");
}
