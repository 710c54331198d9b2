//! Finds files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns a path of the repository.
pub fn path(name: &str) -> PathBuf {
    // Without `..`, so that messages name files as a reader would.
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    top.expect("this crate lies two levels below the top").join(name)
}

/// Returns the programs of a folder (`NAME.ks`), sorted.
///
/// Panics where there are none.
pub fn programs(folder: &str) -> Vec<PathBuf> {
    of_kind(folder, "ks")
}

/// Returns the files of a folder whose names end so, sorted.
///
/// Panics where there are none.
pub fn of_kind(folder: &str, kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(path(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == kind));
    assert!(!paths.is_empty(), "{folder} has no such files: {kind}");
    paths.sort();
    paths
}

/// Returns the name of a program: that of its file, without `.ks`.
pub fn name(path: &Path) -> String {
    path.file_stem().expect("a program is a file").to_string_lossy().into_owned()
}

/// Returns the text of a file.
///
/// Panics where it cannot be read.
pub fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compares with what a file says. `BLESS=1` writes the file instead.
///
/// Errors: both texts, where they differ.
pub fn expect(found: &str, file: &Path) -> Result<(), String> {
    if std::env::var_os("BLESS").is_some() {
        fs::write(file, found).expect("the expectation can be written");
    }
    let expected = fs::read_to_string(file).unwrap_or_default();
    if found == expected { Ok(()) } else { Err(format!("expected:\n{expected}\nfound:\n{found}")) }
}
