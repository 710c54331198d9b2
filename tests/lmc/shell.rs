//! `lmc completions` and `lmc man`.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn lmc(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lmc")).args(args).output().expect("lmc starts")
}

fn printed(args: &[&str]) -> String {
    let output = lmc(args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The commands, as `lmc --help` lists them.
fn commands() -> Vec<String> {
    let help = printed(&["--help"]);
    let (_, after) = help.split_once("Commands:\n").expect("the help lists commands");
    let lines = after.lines().take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next()).map(String::from).collect()
}

#[test]
fn scripts_name_every_command() {
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        let missing: Vec<&String> = commands.iter().filter(|command| !script.contains(command.as_str())).collect();
        assert!(missing.is_empty(), "{shell} lacks {missing:?}");
    }
    assert_eq!(lmc(&["completions", "no-shell"]).status.code(), Some(2));
}

/// Bash completes `lmc com` and `lmc compile --t`.
#[test]
fn bash_completes() {
    let script = printed(&["completions", "bash"]);
    let offered = |words: &str, current: usize| {
        let mut bash = Command::new("bash");
        bash.arg("-s").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut bash = bash.spawn().expect("bash starts");
        let last = words.split(' ').next_back().expect("a word");
        let call = format!(
            "COMP_WORDS=({words}); COMP_CWORD={current}; _lmc lmc '{last}' ''; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        );
        let mut input = bash.stdin.take().expect("a pipe");
        input.write_all(format!("{script}\n{call}").as_bytes()).expect("bash reads");
        drop(input);
        let output = bash.wait_with_output().expect("bash ends");
        String::from_utf8_lossy(&output.stdout).lines().map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(offered("lmc com", 1), ["compile", "completions"]);
    assert_eq!(offered("lmc compile --t", 2), ["--target-cpu", "--time-passes"]);
}

#[test]
fn there_is_a_page_for_each_command() {
    let main = printed(&["man"]);
    assert!(main.starts_with(".ie") || main.contains(".TH lmc 1"), "{main}");
    for command in commands().iter().filter(|command| *command != "help") {
        assert!(main.contains(&format!("lmc\\-{command}")), "lmc(1) does not name {command}");
        let page = printed(&["man", command]);
        assert!(page.contains(&format!(".TH lmc-{command} 1")), "{page}");
        assert!(page.contains("error\\-format"), "{page}");
    }
    assert_eq!(lmc(&["man", "nothing"]).status.code(), Some(2));
}
