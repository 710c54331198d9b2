//! How many writes are looked at.

use loops::analyses::alias::{Aliases, Summary};
use loops::analyses::times::{Times, WriteTarget};
use loops::ir::parse::parse;
use loops::ir::{Local, Memory, Stmt};

/// Returns how many writes are looked at for a function, in which each load asks for its buffer.
fn looked_at(body: &str) -> usize {
    let module = parse(&format!("fun f(p%0: [float], t%1: [[float]]) -> () {{\n{body}yield\n}}\n"));
    let function = &module.functions[0];
    let summaries = [Summary::default()];
    let aliases = Aliases::of(function, &summaries);
    let mut times = Times::new(&aliases, &summaries);
    let mut looked_at = 0;
    let mut is_seen_by = |target: &WriteTarget, b: Local, aliases: &Aliases| {
        looked_at += 1;
        target.is_seen_by(b, aliases)
    };
    let mut pass = |stmt: &Stmt| match stmt {
        Stmt::Memory(Memory::Load(_, b, _)) => {
            times.last_change(b.local().expect("it is a local"), &mut is_seen_by);
        }
        stmt => times.pass_stmt(stmt),
    };
    function.body.stmts.iter().for_each(&mut pass);
    looked_at
}

/// Returns so many rounds: a buffer, stored to twice, and loaded from in between and in the end, as is the first
/// one.
fn apart(rounds: usize) -> String {
    let round = |i: usize| {
        let b = 10 * (i + 1);
        format!(
            "%{b} = alloc [float] 2\nstore %{b}[0] = 1.0\n%{} = load %{b}[0]\nstore %{b}[1] = 2.0\n\
             %{} = load %{b}[0]\n%{} = load p%0[0]\n",
            b + 1,
            b + 2,
            b + 3
        )
    };
    (0..rounds).map(round).collect()
}

/// Rows of a table that may be any of so many: each is stored to, loaded from, and put into the table.
fn together(rounds: usize) -> String {
    let round = |i: usize| {
        let b = 10 * (i + 1);
        format!(
            "%{b} = alloc [float] 2\nstore %2[{i}] = %{b}\n%{row} = load %2[0]\nstore %{row}[0] = 1.0\n\
             %{} = load %{row}[0]\n%{} = load %{row}[1]\n%{} = load %{b}[1]\n",
            b + 2,
            b + 3,
            b + 4,
            row = b + 1
        )
    };
    format!("%2 = alloc [[float]] {rounds}\n") + &(0..rounds).map(round).collect::<String>()
}

#[test]
fn as_many_writes_are_looked_at_as_there_are_statements() {
    for program in [apart, together] {
        let [few, many] = [100, 400].map(|rounds| looked_at(&program(rounds)));
        assert!(few > 0 && many <= 5 * few, "{few} and {many}");
    }
}
