//! No entry point takes memory from outside its arena. Checks the symbols that compiled code refers to, and calls with
//! an arena that suffices run where nothing else could give memory.

use super::each::{self, Outcome, alone};
use libtest_mimic::Trial;
use lmc::demos::Demo;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::demo("allocation::no_entry_refers_to_an_allocator", no_entry_refers_to_an_allocator);
    tests.extend(alone!("allocation": calls_take_memory_from_their_arena_only));
    tests
}

/// The functions that allocate memory in C and C++, by their symbols.
const ALLOCATORS: &[&str] = &[
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "free",
    "aligned_alloc",
    "memalign",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "alloca",
    "strdup",
    "brk",
    "sbrk",
    "mremap",
    "_Znwm",
    "_Znam",
    "_ZdlPv",
    "_ZdaPv",
    "__cxa_allocate_exception",
];

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("allocation-{name}"))
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {err}");
    out.into_owned()
}

fn compile(input: &Path, fun: &str, emit: &str, output: &Path) {
    let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
    lmc.args(["compile", "--fwd", "--rev", "--fun", fun, "--emit", emit, "-o"]).arg(output).arg(input);
    // The symbols depend little on the optimisation level.
    run(lmc.args(["-O", "0"]));
}

/// Returns the undefined symbols of an object.
fn undefined(object: &Path) -> BTreeSet<String> {
    let listed = run(Command::new("nm").args(["--undefined-only", "--format=posix"]).arg(object));
    let name = |line: &str| line.split(['@', ' ']).next().expect("a name").to_string();
    listed.lines().map(name).collect()
}

const SYSTEM: &[&str] =
    &["mmap", "munmap", "sysconf", "clock_gettime", "memcpy", "memmove", "memset", "strcmp", "bcmp"];

const LIBM: &[&str] = &[
    "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "atan2", "erf", "lgamma_r",
    "pow", "sqrt", "exp2", "sincos", "ldexp", "fmin", "fmax",
];

fn no_entry_refers_to_an_allocator(demo: &Demo) -> Outcome {
    let (input, object) = (file(&format!("{}.ks", demo.name)), file(&format!("{}.o", demo.name)));
    std::fs::write(&input, demo.text).expect("the file is written");
    compile(&input, demo.fun, "obj", &object);
    let undefined = undefined(&object);
    let bad: Vec<&str> = ALLOCATORS.iter().copied().filter(|name| undefined.contains(*name)).collect();
    assert!(bad.is_empty(), "{bad:?}");
    let is_of_lmc = |name: &str| name.starts_with("_ZGV") || name.starts_with("_GLOBAL_");
    let is_known = |name: &&String| SYSTEM.contains(&name.as_str()) || LIBM.contains(&name.as_str()) || is_of_lmc(name);
    let strange: Vec<&String> = undefined.iter().filter(|name| !is_known(name)).collect();
    if strange.is_empty() { Ok(()) } else { Err(format!("{strange:?}")) }
}

/// Wants a vector, a vector of vectors, and calls of both.
const PROGRAM: &str = "
(def scaled (Vec Float) ((v : Vec Float) (k : Float)) (map (lam (x : Float) (mul k (exp x))) v))
(def f (Vec (Vec Float)) ((rows : Vec (Vec Float)) (v : Vec Float))
  (map (lam (r : Vec Float) (ts_scale (sum r) (ts_add v (scaled v (sum r))))) rows))";

fn calls_take_memory_from_their_arena_only() {
    let (input, library, driver, program) = (file("f.ks"), file("f.a"), file("driver.c"), file("driver"));
    std::fs::write(&input, PROGRAM).expect("the file is written");
    let header = file("f.h");
    let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
    lmc.args(["compile", "--fwd", "--rev", "--fun", "f", "--emit", "a,header", "-o"]).arg(&library);
    run(lmc.arg(&input));
    assert!(header.exists(), "the header lies beside the library");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c_interface/allocation.c"), &driver)
        .expect("a copy");
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut link = Command::new(cc);
    link.arg("-o").arg(&program).arg("-include").arg(&header).args([&driver, &library]).args(["-lmvec", "-lm"]);
    run(&mut link);
    assert_eq!(run(&mut Command::new(&program)), "no other memory\n");
}
