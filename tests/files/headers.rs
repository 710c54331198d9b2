//! The headers of all demos, and of a program with every kind of tensor, are C11 and C++17 without warnings,
//! alone and together.

use super::each::{self, Outcome, alone};
use libtest_mimic::Trial;
use lmc::demos::{DEMOS, Demo};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::demo("headers::headers_compile_as_c_and_as_cpp", header_compiles);
    tests.extend(alone!("headers": headers_compile_together));
    tests
}

const WARNINGS: [&str; 7] = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wundef", "-Werror"];

fn directory() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("headers");
    std::fs::create_dir_all(&directory).expect("the directory is made");
    directory
}

/// Writes the header of a function and its derivatives, or of all functions of a program.
fn write(name: &str, program: &str, fun: Option<&str>) -> Output {
    let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
    lmc.current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["compile", program])
        .args(fun.map(|f| ["--fun", f]).iter().flatten());
    lmc.args(["--fwd", "--rev", "--jvp", "--vjp", "--emit", "header", "-o"]).arg(directory().join(format!("{name}.h")));
    lmc.output().expect("lmc runs")
}

/// Compiles a text that includes headers, each twice.
fn compiles(name: &str, headers: &[&str], text: &str) {
    let includes: String = headers.iter().map(|header| format!("#include \"{header}.h\"\n")).collect();
    let text = format!("{includes}{includes}{text}");
    let cpp = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant"];
    for (compiler, standard, file, more) in [("cc", "-std=c11", "c", &[][..]), ("c++", "-std=c++17", "cc", &cpp)] {
        let source = directory().join(format!("{name}.{file}"));
        std::fs::write(&source, &text).expect("is written");
        for dollar in [&[][..], &["-DLMC_DOLLAR_NAMES", "-Wno-pedantic"]] {
            let mut command = Command::new(compiler);
            command.args([standard, "-fsyntax-only"]).args(WARNINGS).args(more).args(dollar).arg(&source);
            let output = command.output().expect("the compiler runs");
            assert!(output.status.success(), "{name}, {standard}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

fn header_compiles(demo: &Demo) -> Outcome {
    written(&format!("one-{}", demo.name), demo);
    compiles(&format!("one-{}", demo.name), &[&format!("one-{}", demo.name)], "");
    Ok(())
}

fn written(name: &str, demo: &Demo) {
    let output = write(name, &format!("demos/{}.ks", demo.name), Some(demo.fun));
    assert!(output.status.success(), "{}: {}", demo.name, String::from_utf8_lossy(&output.stderr));
}

/// The headers of all demos, and of a program with every kind of tensor.
fn headers_compile_together() {
    let mut headers = Vec::new();
    for demo in DEMOS {
        written(demo.name, demo);
        headers.push(demo.name);
    }
    let output = write("arrays", "tests/c_interface/arrays.ks", None);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    compiles("arrays", &["arrays"], "");
    headers.push("arrays");
    let text = "lmc_tensor_f64_1 vector(double *data, int64_t n);\n\
                lmc_tensor_f64_1 vector(double *data, int64_t n) {\n  \
                  lmc_tensor_f64_1 v;\n  v.data = data;\n  v.size[0] = n;\n  return v;\n}\n";
    compiles("all", &headers, text);
}
