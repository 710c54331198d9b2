//! Tells when the content of buffers may have changed last.
//!
//! Writes are only noted, in order. A buffer looks at the writes since it was last asked for, the latest first, and
//! stops at the first that it may see. So a write that nothing asks for costs nothing. Where all may be one memory, the
//! latest write is the one that counts. Writes to a buffer of few roots are noted with each root. So other buffers of
//! few roots do not look at them.

use crate::analyses::alias::{Aliases, Written};
use crate::analyses::roots::{Root, Roots};
use crate::ir::{Local, Stmt};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Buffers that may be a part of more roots than so many are noted, or look, in one list.
const FEW: usize = 8;

/// The target of a write.
#[derive(Clone, PartialEq, Eq, Hash)]
enum WriteTarget {
    /// A buffer.
    Itself(Local),
    /// All that a buffer reaches, since a function gets it.
    Reach(Local),
}

/// A write.
#[derive(Clone)]
struct NotedWrite {
    time: usize,
    target: WriteTarget,
}

/// Writes, in order.
type Log = Vec<NotedWrite>;

/// Up to where the logs were looked at for a buffer, and when the latest write was that it may see.
struct Seen {
    /// The buffer's roots, if they are few.
    roots: Option<Vec<Root>>,
    /// The number of writes seen in each log: of the roots, then `rest`, or only `all`.
    lengths: Vec<usize>,
    time: usize,
}

/// The times of the buffers of a function, while its statements are gone through.
pub(super) struct Times<'a> {
    aliases: &'a Aliases,
    written: &'a [Written],
    now: usize,
    seen: FxHashMap<Local, Seen>,
    all: Log,
    /// The writes of `all` to buffers with few roots, by root.
    by_root: FxHashMap<Root, Log>,
    rest: Log,
    /// How many writes were looked at.
    #[cfg(test)]
    looked_at: std::cell::Cell<usize>,
}

impl<'a> Times<'a> {
    pub(super) fn new(aliases: &'a Aliases, written: &'a [Written]) -> Times<'a> {
        Times {
            aliases,
            written,
            now: 0,
            seen: FxHashMap::default(),
            all: vec![],
            by_root: FxHashMap::default(),
            rest: vec![],
            #[cfg(test)]
            looked_at: std::cell::Cell::default(),
        }
    }

    /// A number that is another one whenever what the buffer shows may be.
    pub(super) fn last_change(&mut self, b: Local) -> usize {
        let Some(mut seen) = self.seen.remove(&b) else {
            let roots = few(&self.aliases.roots_of(b));
            let lengths = self.logs(&roots).into_iter().map(<[NotedWrite]>::len).collect();
            self.seen.insert(b, Seen { roots, lengths, time: 0 });
            return 0;
        };
        let logs = self.logs(&seen.roots);
        for (log, length) in logs.into_iter().zip(&mut seen.lengths) {
            let known = seen.time;
            let mut new = log[*length..].iter().rev().take_while(|write| write.time > known);
            let latest = new.find(|write| self.shows(b, &write.target));
            seen.time = latest.map_or(known, |write| write.time);
            *length = log.len();
        }
        let time = seen.time;
        self.seen.insert(b, seen);
        time
    }

    /// A statement is passed: what it writes, in its blocks, too, may be another from here on.
    pub(super) fn pass_stmt(&mut self, stmt: &Stmt) {
        let mut targets = vec![];
        let mut see = |stmt: &Stmt| {
            targets.extend(stmt.writes().map(WriteTarget::Itself));
            targets.extend(stmt.hands_over(self.written).into_iter().map(WriteTarget::Reach));
        };
        see(stmt);
        stmt.blocks().for_each(|block| block.visit(&mut see));
        if targets.is_empty() {
            return;
        }
        self.now += 1;
        targets.into_iter().for_each(|target| self.note_write(target));
    }

    fn note_write(&mut self, target: WriteTarget) {
        let write = NotedWrite { time: self.now, target };
        let roots = match &write.target {
            WriteTarget::Itself(x) => Rc::new(self.aliases.roots_of(*x)),
            WriteTarget::Reach(x) => self.aliases.reach(*x),
        };
        match few(&roots) {
            Some(roots) => {
                roots.into_iter().for_each(|root| self.by_root.entry(root).or_default().push(write.clone()));
            }
            None => self.rest.push(write.clone()),
        }
        self.all.push(write);
    }

    /// Returns the logs that a buffer with such roots looks at.
    fn logs(&self, roots: &Option<Vec<Root>>) -> Vec<&[NotedWrite]> {
        let Some(roots) = roots else { return vec![&self.all] };
        let own = roots.iter().map(|root| self.by_root.get(root).map_or(&[][..], |log| log));
        own.chain([&self.rest[..]]).collect()
    }

    fn shows(&self, b: Local, target: &WriteTarget) -> bool {
        #[cfg(test)]
        self.looked_at.set(self.looked_at.get() + 1);
        match target {
            WriteTarget::Itself(x) => self.aliases.may_share(*x, b),
            WriteTarget::Reach(x) => self.aliases.shows(b, &self.aliases.reach(*x)),
        }
    }
}

/// Returns the roots, if they are few; what has none is not known, and may be anything.
fn few(roots: &Roots) -> Option<Vec<Root>> {
    (1..=FEW).contains(&roots.len()).then(|| roots.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::ir::{Memory, Stmt};

    /// Returns how many writes are looked at for a function, in which each load asks for its buffer.
    fn looked_at(body: &str) -> usize {
        let module = parse(&format!("fun f(p%0: [float], t%1: [[float]]) -> () {{\n{body}yield\n}}\n"));
        let function = &module.functions[0];
        let written = [Written::new()];
        let aliases = Aliases::of(function, &written);
        let mut times = Times::new(&aliases, &written);
        let mut pass = |stmt: &Stmt| match stmt {
            Stmt::Memory(Memory::Load(_, b, _)) => drop(times.last_change(b.local().expect("it is a local"))),
            stmt => times.pass_stmt(stmt),
        };
        function.body.stmts.iter().for_each(&mut pass);
        times.looked_at.get()
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
}
