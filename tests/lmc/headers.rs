//! The headers of all demos, and of a program with every kind of tensor, are C11 and C++17 without warnings,
//! alone and together.

use lmc::demos::DEMOS;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

#[test]
fn headers_compile_as_c_and_as_cpp() {
    let mut headers = Vec::new();
    for demo in DEMOS {
        let output = write(demo.name, &format!("demos/{}.ks", demo.name), Some(demo.fun));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {message}", demo.name);
        compiles(demo.name, &[demo.name], "");
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
