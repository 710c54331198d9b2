//! Links the library that lmc compiled, whose path is in the environment variable `EX2_LIBRARY`.

use std::path::{Path, PathBuf};

const VARIABLE: &str = "EX2_LIBRARY";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    match library() {
        Ok(library) => link(&library),
        Err(why) => println!("cargo::error={why}"),
    }
}

fn library() -> Result<PathBuf, String> {
    let remedy = "make it by `lmc compile --rev demos/ex2.ks -o ex2.so`";
    let given = std::env::var_os(VARIABLE)
        .ok_or_else(|| format!("set {VARIABLE} to the path of ex2.so; {remedy}, or use `demos/run.sh rust`"))?;
    let path = PathBuf::from(given);
    path.canonicalize().map_err(|error| format!("{VARIABLE} is `{}`: {error}; {remedy}", path.display()))
}

/// The library is found again at run time where it was found now.
fn link(library: &Path) {
    let (Some(folder), Some(file)) = (library.parent(), library.file_name()) else {
        return println!("cargo::error={VARIABLE} is `{}`, which is no file", library.display());
    };
    println!("cargo::rerun-if-changed={}", library.display());
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=dylib:+verbatim={}", file.to_string_lossy());
    println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
}
