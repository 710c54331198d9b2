//! `--strategy`: files and names, errors of the command line, and messages with the places of strategy and term.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const PROGRAM: &str = "(def f Float ((x : Float) (y : Float))
  (mul (sin x) (add x y)))
(def main Integer () (print ([rev f] (tuple 0.5 2.0) 1.0) \"\\n\"))
";

/// A directory of its own with `p.ks` and a file of strategies.
fn directory(test: &str, strategy: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&directory).expect("the directory for tests can be written to");
    fs::write(directory.join("p.ks"), PROGRAM).expect("the directory for tests can be written to");
    fs::write(directory.join("s.strategy"), strategy).expect("the directory for tests can be written to");
    directory
}

fn run(directory: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lmc")).args(args).current_dir(directory).output().expect("lmc starts")
}

fn lmc(test: &str, strategy: &str, args: &[&str]) -> Output {
    run(&directory(test, strategy), args)
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What `lmc laws --schedule` prints, of all strategies or of one, changes nothing as a file.
#[test]
fn printed_strategies_serve_as_a_file() {
    let plain = lmc("printed_plain", "", &["demo", "p.ks"]);
    for args in [&["laws", "--schedule"][..], &["laws", "--schedule", "jacobian"]] {
        let printed = lmc("printed_laws", "", args);
        assert!(printed.status.success() && out(&printed).contains("strategy jacobian"), "{args:?}");
        let again = lmc("printed_again", &out(&printed), &["demo", "p.ks", "--strategy", "s.strategy"]);
        assert_eq!((out(&again), err(&again)), (out(&plain), err(&plain)));
    }
    let unknown = lmc("printed_unknown", "", &["laws", "--schedule", "jacobia"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(err(&unknown).contains("there is no strategy `jacobia`"), "{}", err(&unknown));
}

/// Every command that makes derivatives takes the option.
#[test]
fn commands_take_strategies() {
    let wrong = "strategy jacobian = nothing";
    let commands: [&[&str]; 6] = [
        &["demo", "p.ks"],
        &["run", "p.ks"],
        &["compile", "p.ks", "-o", "p.so", "--rev"],
        &["gradcheck", "p.ks"],
        &["bench", "p.ks", "--fun", "f"],
        &["simplify", "p.ks"],
    ];
    for (i, command) in commands.into_iter().enumerate() {
        let args = [command, &["--strategy", "s.strategy"]].concat();
        let output = lmc(&format!("commands_{i}"), wrong, &args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let message = "error[E501]: there is no law or strategy `nothing`\n --> s.strategy:1:21";
        assert!(err(&output).starts_with(message), "{args:?}: {}", err(&output));
    }
}

#[test]
fn runs_have_the_same_result() {
    let plain = lmc("runs_plain", "", &["run", "p.ks"]);
    for strategy in ["outermost", "none", "s.strategy"] {
        let text = "strategy jacobian = normalize(laws(vectors, elements, scales, distribute, maps, jacobians))";
        let output = lmc(&format!("runs_{strategy}"), text, &["run", "p.ks", "--strategy", strategy]);
        assert_eq!(out(&output), out(&plain), "{strategy}: {}", err(&output));
    }
    let none = lmc("runs_no_file", "", &["run", "p.ks", "--strategy", "innermos"]);
    assert!(err(&none).starts_with("error[E001]"), "{}", err(&none));
}

/// Two laws that undo each other: the message has the loop, both laws and the term, and does not take long.
#[test]
fn divergence_is_told() {
    let text = "strategy jacobian =
    innermost(laws(jacobians, hcat-vcat, one-compose, compose-one, zero-compose, compose-zero, add-zero, zero-add)) ;
    repeat(topDown(compose-add-one <+ add-same-left))
";
    let program = "(def f Float (x : Float)\n  (mul 3.0 (add x (sin x))))\n";
    let directory = directory("divergence", text);
    fs::write(directory.join("p.ks"), program).expect("the directory for tests can be written to");
    let start = Instant::now();
    let output = run(&directory, &["demo", "p.ks", "--strategy", "s.strategy"]);
    assert!(start.elapsed() < Duration::from_secs(10), "it took {:?}", start.elapsed());
    assert_eq!(output.status.code(), Some(1));
    let expected =
        "error[E303]: the strategy `jacobian` does not come to an end in `[D f]`: after step 28 the term is that \
                    of step 26 again: `add-same-left` and `compose-add-one` undo each other
 --> s.strategy:3:5
  |
3 |     repeat(topDown(compose-add-one <+ add-same-left))
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this loop
  |
 ::: p.ks:2:12
  |
2 |   (mul 3.0 (add x (sin x))))
  |            --------------- in this term
  |
  = help: leave out one of the laws, or bound the loop: `fuel(100, ..)`
";
    assert_eq!(err(&output), expected);
    // With a bound, the same laws make the same derivative.
    let bounded = text.replace(
        "repeat(topDown(compose-add-one <+ add-same-left))",
        "fuel(7, repeat(topDown(compose-add-one <+ add-same-left)))",
    );
    fs::write(directory.join("s.strategy"), bounded).expect("the directory for tests can be written to");
    let checked = run(&directory, &["gradcheck", "p.ks", "--interpret", "--strategy", "s.strategy"]);
    assert_eq!(checked.status.code(), Some(0), "{}", err(&checked));
}

/// Two laws that undo each other in a pass that goes on by itself.
#[test]
fn divergence_of_a_pass_is_told() {
    let maps = "(def f Float ((x : Float) (y : Float)) (lmApply (lmTranspose (lmScale 1.0 x)) y))\n";
    let sides = "strategy sides = laws(apply-transpose, reverse-apply)\n";
    let columns = "(def f Float (v : Vec Float) (sum (build (size v) (lam (i : Integer) (mul 2.0 (index i v))))))
(gdef jacfwd f)\n";
    let directions = "strategy directions = laws(sumbuild-of-if, dot-of-floats) <+ laws(arrays)\n";
    for (i, (program, strategy, diverges)) in
        [(maps, sides, true), (columns, directions, false)].into_iter().enumerate()
    {
        let directory = directory(&format!("divergence_of_a_pass_{i}"), strategy);
        fs::write(directory.join("p.ks"), program).expect("the directory for tests can be written to");
        let output = run(&directory, &["compile", "p.ks", "--emit", "ks=-", "--strategy", "s.strategy"]);
        let told = err(&output).contains("`apply-transpose` and `reverse-apply` undo each other");
        assert_eq!((output.status.code(), told), (Some(i32::from(diverges)), diverges), "{}", err(&output));
    }
}

#[test]
fn a_stage_that_is_not_done_is_told() {
    let output =
        lmc("unfinished", "strategy apply =\n  laws(application)\n", &["demo", "p.ks", "--strategy", "s.strategy"]);
    assert_eq!(output.status.code(), Some(1));
    let message = err(&output);
    assert!(
        message.starts_with("error[E508]: the strategy `apply` stops before its stage is done in `[fwd f]`"),
        "{message}"
    );
    assert!(message.contains("s.strategy:1:10") && message.contains("p.ks:"), "{message}");
    assert!(message.contains("help: after this stage, no value is a linear map"), "{message}");
}

const DOT: &str = "(def dot Float ((v : Vec Float) (w : Vec Float))
  (sumbuild (size v) (lam (i : Integer) (mul (index i v) (index i w)))))
";

/// What `lmc demo --derivation dual --wrt v` prints of a dot product, by a file of strategies or one of lmc.
fn dual_demo(test: &str, text: &str, strategy: &str) -> String {
    let directory = directory(test, text);
    fs::write(directory.join("p.ks"), DOT).expect("the directory for tests can be written to");
    let output = run(&directory, &["demo", "p.ks", "--derivation", "dual", "--wrt", "v", "--strategy", strategy]);
    assert!(output.status.success(), "{}", err(&output));
    out(&output)
}

/// The headings of stages, from the loop over directions on.
fn headings(demo: &str) -> Vec<&str> {
    let all: Vec<&str> = demo.split("-----\n").skip(1).step_by(2).map(str::trim).collect();
    let start = all.iter().position(|heading| heading.ends_with("a loop over directions")).expect("it is shown");
    all[start + 1..].to_vec()
}

#[test]
fn the_stages_of_dual_are_those_of_its_strategy() {
    let printed = out(&lmc("dual_printed", "", &["laws", "--schedule", "dual"]));
    let demo = dual_demo("dual_again", &printed, "s.strategy");
    let stages = [
        "Pairs apart",
        "Loops fused",
        "Simplified",
        "Loops normalised",
        "Chains of sums swapped",
        "Hoisted",
        "Gradient (CSE'd)",
        "Cost",
    ];
    assert_eq!(headings(&demo), stages);
    assert!(demo.contains("derivative: 0 flop, size(v) moves, size(v) steps of loops"), "{demo}");
    // A file has stages of its own.
    let own = "strategy dual = stage(\"Halves\", pass(apart)) ; directions ; stage(\"No loop\", id)";
    let demo = dual_demo("dual_own", own, "s.strategy");
    assert_eq!(headings(&demo), ["Halves", "No loop", "Gradient (CSE'd)", "Cost"]);
    assert!(dual_demo("dual_none", "", "none").contains("loops that depend on the direction"));
}

/// The stages of the paper's pipeline come in its order.
#[test]
fn the_strategies_of_papers_have_their_stages() {
    let fig9 = ["Loops fused", "Loops apart", "Simplified", "Loops normalised", "Whole program", "Normal form"];
    let demo = dual_demo("dual_paper", "", "paper");
    assert_eq!(headings(&demo)[..6], fig9);
    assert!(demo.contains("derivative: 0 flop"), "{demo}");
    assert_eq!(headings(&dual_demo("dual_sum001", "", "sum001"))[0], "Normalized");
}

/// Two laws that undo each other on derivatives along directions.
#[test]
fn divergence_of_dual_is_told() {
    let text = "strategy dual =\n  pass(apart) ; repeat(topDown(scale-of-chain <+ factor))\n";
    let program = "(def f Float ((w : Tensor 2 Float) (v : Vec Float))
  (sumbuild (size v) (lam (i : Integer)
    (mul 3.0 (add (index i v) (sumbuild (size v) (lam (k : Integer) (mul (index (tuple i k) w) (index k v)))))))))
";
    let directory = directory("divergence_of_dual", text);
    fs::write(directory.join("p.ks"), program).expect("the directory for tests can be written to");
    let output = run(&directory, &["demo", "p.ks", "--derivation", "dual", "--wrt", "v", "--strategy", "s.strategy"]);
    assert_eq!(output.status.code(), Some(1));
    let message = err(&output);
    assert!(message.starts_with("error[E303]: the strategy `dual` does not come to an end"), "{message}");
    assert!(message.contains("`factor` and `scale-of-chain` undo each other"), "{message}");
}
