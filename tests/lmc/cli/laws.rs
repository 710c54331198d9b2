//! `lmc laws` and the traces that name laws.

use std::process::Command;

fn lmc(args: &[&str]) -> (String, bool) {
    let output = Command::new(env!("CARGO_BIN_EXE_lmc")).args(args).output().expect("lmc runs");
    (String::from_utf8(output.stdout).expect("text"), output.status.success())
}

#[test]
fn the_laws_of_a_figure_are_listed_by_its_number() {
    let names = |figure: &str| -> Vec<String> {
        let (out, _) = lmc(&["laws", "--figure", figure]);
        out.lines().map(|line| line.split(' ').next().expect("a name").to_string()).collect()
    };
    assert_eq!(names("12"), ["transpose-fold", "apply-fold", "fold-pairs", "nabla-fold"]);
    assert_eq!(names("15"), names("12"));
    assert_eq!(names("Fig. 4"), names("4"));
    // 10 of its 11 semantics, of which that of L' has no law, and its 11 properties.
    assert_eq!(names("4").len(), 21);
    assert_eq!(names("5").len(), 23);
    assert!(!lmc(&["laws", "--figure", "16"]).1);
    // Each rule of Fig. 8 of the other paper, by laws or by something else.
    let (out, _) = lmc(&["laws", "--figure", "8"]);
    let rules = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "b1", "b2", "b3", "b4", "b5", "c1", "c2", "d1", "d2", "d3"];
    let rules = rules.into_iter().chain(["d4", "d5", "e", "f1", "f2", "f3", "f4", "g"]);
    let missing: Vec<&str> = rules.filter(|rule| !out.contains(&format!(" Fig. 8{rule} (ICFP) "))).collect();
    assert!(missing.is_empty(), "{missing:?}\n{out}");
    assert_eq!(names("8c2"), ["size-of-build", "size-of-tensor"]);
}

#[test]
fn a_trace_tells_transposition_and_its_names_are_those_of_the_stage() {
    let (out, _) = lmc(&["demo", "ex4", "--trace", "--format", "unicode"]);
    // cos and sin have two names, in each step.
    for name in ["t", "t_2"] {
        assert!(out.contains(&format!("    ∂*(r, {name})\n  = lmScaleR({name}) ⋈ S(r)\n")), "{out}");
    }
    let transposed =
        "5. transpose-compose, in the result\n    (S(cos(theta)) ∘ π(1,2))ᵀ\n  = π(1,2)ᵀ ∘ S(cos(theta))ᵀ\n";
    assert!(out.contains(transposed), "{out}");
    let shared = "let-share\n    let { t_7 = sin(theta) }\n    let { t_8 = t_7 * d_r }\n  = let { t_8 = t2 * d_r }\n";
    assert!(out.contains(shared), "{out}");
    assert!(out.contains("fun f4'(s, ds)") && out.contains("fun f4`(s, dr)"), "{out}");
}

#[test]
fn a_trace_in_json_is_one_document_for_each_function() {
    let (out, _) = lmc(&["demo", "ex2", "--trace", "--trace-format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&all["function"], &all["derivation"]), (&"f2".into(), &"jacobian".into()));
    let stages = all["stages"].as_array().expect("stages");
    assert_eq!(stages.len(), 12);
    assert!(stages.iter().all(|stage| stage["start"].is_string() && stage["definition"].is_string()), "{out}");
    let steps = stages[3]["steps"].as_array().expect("steps");
    assert_eq!(steps[1]["instance"], serde_json::json!(["([D mul] x x)", "(lmHCat (lmScaleR x) (lmScale x x))"]));
    let (_, succeeds) = lmc(&["demo", "ex2", "--trace-format", "json"]);
    assert!(!succeeds, "--trace-format needs --trace");
}
