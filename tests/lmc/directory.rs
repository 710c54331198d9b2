//! Directories for tests of the command.

use std::fs;
use std::path::PathBuf;

/// Returns a directory of its own with the program `p.ks`.
pub fn with_program(test: &str, program: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    // It is there when the test ran before.
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("the directory for tests can be written to");
    fs::write(path.join("p.ks"), program).expect("the directory for tests can be written to");
    path
}
