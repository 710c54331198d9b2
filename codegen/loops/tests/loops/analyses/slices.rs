//! Tests slices by files: `tests/slices/*.loops` hold loops, and behind them the slices of the first function and of
//! its callees. `BLESS=1` writes the slices; read the diff.

use loops::analyses::slices::{Slices, Wanted};
use loops::analyses::verify::verify;
use loops::ir::FunId;
use loops::ir::parse::parse;
use std::fs;
use std::path::Path;

const SLICES: &str = "; slices\n";

#[test]
fn slices_are_what_the_files_say() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slices");
    let entries = fs::read_dir(&directory).expect("the folder is there");
    for file in entries.map(|entry| entry.expect("it can be read").path()) {
        let text = fs::read_to_string(&file).expect("it can be read");
        let (before, after) = text.split_once(SLICES).unwrap_or((&text, ""));
        let module = parse(before);
        verify(&module).unwrap_or_else(|violation| panic!("{}: {violation}", file.display()));
        let slices = Slices::of(&module, &[Some(Wanted { function: FunId(0), absent: vec![] })]);
        verify(&slices.module).unwrap_or_else(|violation| panic!("{}: {violation}\n{}", file.display(), slices.module));
        let query = slices.queries[0].as_ref().expect("nothing in the files is opaque");
        let all = slices.module.to_string();
        let first = all.find("fun [workspace").expect("there is a slice");
        let found = format!("; touches {}, parameters {:?}\n{}", query.touches, query.params, &all[first..]);
        if std::env::var_os("BLESS").is_some() {
            fs::write(&file, format!("{before}{SLICES}{found}\n")).expect("it can be written");
        } else {
            assert_eq!(format!("{found}\n"), after, "{}", file.display());
        }
    }
}
