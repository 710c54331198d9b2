//! Tells when the content of buffers may have changed last.
//!
//! Writes are only noted, in order. A buffer looks at the writes since it was last asked for, the latest first, and
//! stops at the first that it may see. So a write that nothing asks for costs nothing. Where all may be one memory, the
//! latest write is the one that counts. Writes to a buffer of few roots are noted with each root. So other buffers of
//! few roots do not look at them.

use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::roots::{Root, Roots};
use crate::ir::{Local, Stmt};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Buffers that may be a part of more roots than so many are noted, or look, in one list.
const FEW: usize = 8;

/// The target of a write.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum WriteTarget {
    /// A buffer.
    Itself(Local),
    /// All that a buffer reaches, since a function gets it.
    Reach(Local),
}

impl WriteTarget {
    /// Returns whether the buffer may show what was written.
    pub fn is_seen_by(&self, b: Local, aliases: &Aliases) -> bool {
        match self {
            WriteTarget::Itself(x) => aliases.may_share(*x, b),
            WriteTarget::Reach(x) => aliases.shows(b, &aliases.reach(*x)),
        }
    }
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
pub struct Times<'a> {
    aliases: &'a Aliases,
    summaries: &'a [Summary],
    now: usize,
    seen: FxHashMap<Local, Seen>,
    all: Log,
    /// The writes of `all` to buffers with few roots, by root.
    by_root: FxHashMap<Root, Log>,
    rest: Log,
}

impl<'a> Times<'a> {
    /// Returns the times before the first statement, given what each function of the module writes to.
    pub fn new(aliases: &'a Aliases, summaries: &'a [Summary]) -> Times<'a> {
        Times {
            aliases,
            summaries,
            now: 0,
            seen: FxHashMap::default(),
            all: vec![],
            by_root: FxHashMap::default(),
            rest: vec![],
        }
    }

    /// Returns a number that is another one whenever what the buffer shows may be. `is_seen_by` is asked for each write
    /// that is looked at ([`WriteTarget::is_seen_by`]).
    pub fn last_change(
        &mut self,
        b: Local,
        mut is_seen_by: impl FnMut(&WriteTarget, Local, &Aliases) -> bool,
    ) -> usize {
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
            let latest = new.find(|write| is_seen_by(&write.target, b, self.aliases));
            seen.time = latest.map_or(known, |write| write.time);
            *length = log.len();
        }
        let time = seen.time;
        self.seen.insert(b, seen);
        time
    }

    /// A statement is passed: what it writes, in its blocks, too, may be another from here on.
    pub fn pass_stmt(&mut self, stmt: &Stmt) {
        let mut targets = vec![];
        let mut see = |stmt: &Stmt| {
            targets.extend(stmt.writes().map(WriteTarget::Itself));
            targets.extend(stmt.hands_over(self.summaries).into_iter().map(WriteTarget::Reach));
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
}

/// Returns the roots, if they are few; what has none is not known, and may be anything.
fn few(roots: &Roots) -> Option<Vec<Root>> {
    (1..=FEW).contains(&roots.len()).then(|| roots.iter().collect())
}
