//! Links each host with the library that lmc compiled, whose path is in an environment variable. The host
//! itself asks for the variable: only what is built needs one.

use std::path::{Path, PathBuf};

/// A host, and the variable for its library.
const LIBRARIES: [(&str, &str); 2] = [("ex2", "EX2_LIBRARY"), ("gmm", "GMM_LIBRARY")];

fn main() {
    for (host, variable) in LIBRARIES {
        println!("cargo::rerun-if-env-changed={variable}");
        if let Some(given) = std::env::var_os(variable) {
            link(host, variable, &PathBuf::from(given));
        }
    }
}

/// The library is found again at run time where it was found now.
fn link(host: &str, variable: &str, given: &Path) {
    let library = match given.canonicalize() {
        Ok(library) if library.is_file() => library,
        Ok(_) => return println!("cargo::error={variable} is `{}`, which is no file", given.display()),
        Err(error) => {
            let remedy = format!("make it by `lmc compile --rev demos/{host}.ks -o {host}.so`");
            return println!("cargo::error={variable} is `{}`: {error}; {remedy}", given.display());
        }
    };
    let folder = library.parent().expect("a file is in a folder");
    println!("cargo::rerun-if-changed={}", library.display());
    println!("cargo::rustc-link-arg-bin={host}={}", library.display());
    println!("cargo::rustc-link-arg-bin={host}=-Wl,-rpath,{}", folder.display());
}
