//! Tests each pass alone: `tests/passes/PASS/*.loops` hold loops before and after it. `BLESS=1` writes the result; read
//! the diff. Some files hold loops that a pass must leave alone.

use super::{Checks, PASSES, Selection, run};
use crate::analyses::verify::verify;
use crate::ir::parse::parse;
use lm::timing::Timings;
use std::fs;
use std::path::{Path, PathBuf};

const BECOMES: &str = "; becomes\n";

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    files.sort();
    files
}

#[test]
fn passes_do_what_the_files_say() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    for pass in PASSES {
        let files = files(&directory.join(pass.name));
        assert!(!files.is_empty(), "no file shows what {} does", pass.name);
        for file in files {
            let text = fs::read_to_string(&file).expect("it can be read");
            let (before, after) = text.split_once(BECOMES).unwrap_or((&text, ""));
            let mut module = parse(before);
            verify(&module).unwrap_or_else(|violation| panic!("{}: {violation}", file.display()));
            let comment: String = before.split_inclusive('\n').take_while(|line| line.starts_with(';')).collect();
            assert_eq!(format!("{comment}{module}\n"), before, "{} is not as loops are printed", file.display());
            let checks = if (pass.when)(Checks::Hoisted) { Checks::Hoisted } else { Checks::None };
            let selection = Selection::Only(vec![pass.name.to_string()]);
            run(&mut module, &selection, checks, &Timings::default()).expect("there is such a pass");
            let found = module.to_string();
            assert_eq!(parse(&found).to_string(), found, "{} reads back", file.display());
            if std::env::var_os("BLESS").is_some() {
                fs::write(&file, format!("{before}{BECOMES}{found}")).expect("it can be written");
            } else {
                assert_eq!(found, after, "{}", file.display());
            }
        }
    }
}
