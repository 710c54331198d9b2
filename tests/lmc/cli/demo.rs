//! What `lmc demo` prints of stages.

use std::process::Command;

fn demo(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_lmc")).arg("demo").args(args).output().expect("lmc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The text of the stage under a heading.
fn stage<'a>(demo: &'a str, heading: &str) -> &'a str {
    let start = format!("-----\n{heading}\n-----\n");
    let (_, after) = demo.split_once(&start).unwrap_or_else(|| panic!("{heading} is not in {demo}"));
    after.split("\n-----\n").next().expect("a text").trim_end()
}

const FORWARD: &str = "Forward derivative (unoptimised)";
const TRANSPOSED: &str = "Transposed Jacobian";
const REVERSE: &str = "Reverse-mode derivative (unoptimised)";

#[test]
fn stages_call_long_maps_of_earlier_ones_by_name() {
    let out = demo(&["lse"]);
    assert_eq!(stage(&out, FORWARD), "fun lse'(x, dx)\n  = lmApply(Dlse(x), dx)");
    assert_eq!(stage(&out, TRANSPOSED), "fun Rlse(x)\n  = lmTranspose(Dlse(x))");
    assert_eq!(stage(&out, REVERSE), "fun lse`(x, dr)\n  = lmApply(Rlse(x), dr)");
    let out = demo(&["lse", "--format", "unicode"]);
    assert_eq!(stage(&out, FORWARD), "fun lse'(x, dx)\n  = Dlse(x) ⊙ dx");
    assert_eq!(stage(&out, TRANSPOSED), "fun Rlse(x)\n  = Dlse(x)ᵀ");

    // Of several parameters, too, whose names are components of one argument.
    let out = demo(&["lstm"]);
    let parameters = "main_params, extra_params, state, sequence";
    assert!(
        stage(&out, FORWARD).contains(&format!("    lmApply(Dlstm({parameters}),\n      (d_main_params,")),
        "{out}"
    );
    assert_eq!(stage(&out, TRANSPOSED), format!("fun Rlstm({parameters})\n  = lmTranspose(Dlstm({parameters}))"));
    assert!(stage(&out, REVERSE).ends_with(&format!("    lmApply(Rlstm({parameters}), dr)")), "{out}");
}

#[test]
fn stages_have_maps_that_are_short_or_alone_in_full() {
    // As the working notes print it.
    let out = demo(&["ex2"]);
    assert!(stage(&out, TRANSPOSED).contains("  = lmTranspose(\n      let { y = x * x }\n      lmScale("), "{out}");
    for args in [&["lse", "--stage", TRANSPOSED][..], &["lse", "--trace"], &["lse", "--format", "ks"]] {
        let out = demo(args);
        assert!(out.contains("mTranspose"), "{out}");
        assert!(!out.contains("lmTranspose(Dlse(x))") && !out.contains("([D lse] x)"), "{out}");
    }
}
