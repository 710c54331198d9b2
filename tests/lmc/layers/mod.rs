//! The layers: files of a crate import each other in few and small circles, passes do not import each other, and the
//! loops need no LLVM.

mod imports;

use imports::{Imports, Name};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A circle has at most so many files.
const LARGEST: usize = 3;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The crates of the workspace: name and folder.
fn crates() -> Vec<(String, PathBuf)> {
    let packages = metadata();
    let packages = packages.iter().map(|package| {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        (name(package), manifest.parent().expect("a file lies in a folder").to_path_buf())
    });
    packages.collect()
}

fn metadata() -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    let cargo = cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root());
    let output = cargo.output().expect("cargo starts");
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo gives JSON");
    metadata["packages"].as_array_mut().expect("packages").drain(..).collect()
}

fn name(package: &Value) -> String {
    package["name"].as_str().expect("a name").to_string()
}

/// The circles of files, the largest first.
fn circles(imports: &Imports) -> Vec<Vec<&Name>> {
    let names: Vec<&Name> = imports.of.keys().collect();
    let number = |name: &Name| names.binary_search(&name).expect("imports are of modules");
    let edges = imports.of.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to)));
    let graph: DiGraphMap<usize, ()> = DiGraphMap::from_edges(edges.map(|(from, to)| (number(from), number(to))));
    let named = |circle: Vec<usize>| circle.into_iter().map(|i| names[i]).collect::<Vec<_>>();
    let mut circles: Vec<_> = tarjan_scc(&graph).into_iter().filter(|c| c.len() > 1).map(named).collect();
    circles.iter_mut().for_each(|circle| circle.sort());
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

#[test]
fn circles_of_files_are_small() {
    let mut wrong = Vec::new();
    for (name, folder) in crates() {
        let imports = Imports::read(&folder.join("src"));
        for circle in circles(&imports).into_iter().filter(|circle| circle.len() > LARGEST) {
            let shown: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            wrong.push(format!("{name}: {}: {}", circle.len(), shown.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "circles of more than {LARGEST} files:\n{}", wrong.join("\n"));
}

/// A pass is a file or folder in `passes`. The tables name all of them: `mod.rs`, and `laws`. The file `pass` defines a
/// pass.
#[test]
fn passes_do_not_import_each_other() {
    let mut wrong = Vec::new();
    for (name, folder) in crates() {
        for (from, to) in &Imports::read(&folder.join("src")).of {
            let Some(pass) = pass_of(from).filter(|pass| *pass != "laws") else { continue };
            let others = to.iter().filter_map(pass_of).filter(|other| *other != pass && *other != "pass");
            wrong.extend(others.map(|other| format!("{name}: {} imports {other}", from.join("::"))));
        }
    }
    assert!(wrong.is_empty(), "passes import passes:\n{}", wrong.join("\n"));
}

fn pass_of(module: &Name) -> Option<&str> {
    let passes = module.iter().position(|part| part == "passes")?;
    module.get(passes + 1).map(String::as_str)
}

/// All crates of the workspace that a crate is built from, itself with them.
#[test]
fn only_native_links_llvm() {
    let packages = metadata();
    let direct: BTreeMap<String, Vec<String>> = packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies").iter();
            (name(package), dependencies.filter(|dependency| dependency["kind"].is_null()).map(name).collect())
        })
        .collect();
    let links: Vec<&String> =
        direct.iter().filter(|(_, needs)| needs.iter().any(|name| name == "inkwell")).map(|(name, _)| name).collect();
    assert_eq!(links, ["native"]);
    for free_of_llvm in ["lm", "loops", "lmc_pool"] {
        let mut needed = vec![free_of_llvm];
        let mut next = 0;
        while let Some(name) = needed.get(next).copied() {
            let more = direct.get(name).into_iter().flatten().map(String::as_str);
            let more: Vec<&str> = more.filter(|name| !needed.contains(name)).collect();
            needed.extend(more);
            next += 1;
        }
        assert!(!needed.contains(&"native") && !needed.contains(&"inkwell"), "{free_of_llvm} needs {needed:?}");
    }
}

/// The reader of imports finds what there is.
#[test]
fn imports_are_read() {
    let imports = Imports::read(&root().join("src"));
    let of = |module: &str| {
        let name: Name = module.split("::").filter(|part| !part.is_empty()).map(String::from).collect();
        imports.of[&name].iter().map(|to| to.join("::")).collect::<Vec<_>>()
    };
    assert!(of("ks::front").contains(&"ks::check::checked".to_string()), "through a re-export: {:?}", of("ks::front"));
    assert!(of("ks::check").contains(&"ks::check::checker".to_string()), "of a child: {:?}", of("ks::check"));
    assert!(of("ks::lexer").contains(&"ks::reader".to_string()), "{:?}", of("ks::lexer"));
    assert!(of("ks::diagnostic").is_empty(), "{:?}", of("ks::diagnostic"));
}
