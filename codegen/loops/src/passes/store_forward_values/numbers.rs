//! Numbers values: values that are computed in the same way from the same values have the same number.
//!
//! ```text
//! x = op a..          by the operation and the numbers of a..
//! x = load b[i]       by those of b and i, if what b shares is not written between the loops at hand
//! b = alloc n; ..     by n and the statements that fill b, if these read nothing but what has numbers
//! x = for .., if ..   by what is in it, if that does nothing but check something
//! i of a loop         by its depth in loops, and the number of its end
//! ```
//!
//! A local set outside of the loops has itself for a number.

use crate::analyses::alias::{Aliases, Summary};
use crate::ir::{Block, For, Forward, Local, LocalInfo, Memory, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

/// A loop around a value.
#[derive(Clone)]
pub(super) struct EnclosingLoop {
    pub(super) index: Local,
    pub(super) to: Operand,
}

/// A value that is worth to be stored.
#[derive(Clone)]
pub(super) struct StoredValue {
    /// The same for values that are the same, in the same iterations of loops with the same ranges, under the same
    /// conditions.
    pub(super) key: String,
    pub(super) value: Local,
    /// The loops around it, outermost first.
    pub(super) around: Vec<EnclosingLoop>,
}

#[derive(Clone, Copy)]
struct Named {
    number: usize,
    is_expensive: bool,
}

/// A loop or a condition on the way to a statement.
struct PathStep {
    text: String,
    inner: Option<EnclosingLoop>,
}

/// The numbers of what is computed in some statements.
pub(super) struct Numbers<'a> {
    aliases: &'a Aliases,
    summaries: &'a [Summary],
    locals: &'a [LocalInfo],
    forward: Forward,
    /// The locals that the statements set.
    set: FxHashSet<Local>,
    /// The statements that may change memory.
    changes: Vec<&'a Stmt>,
    known: FxHashMap<String, usize>,
    named: FxHashMap<Local, Named>,
    /// The way to the statement at hand; none for what has no number.
    path: Vec<Option<PathStep>>,
    found: Vec<StoredValue>,
}

impl<'a> Numbers<'a> {
    pub(super) fn new(
        region: &'a [Stmt],
        aliases: &'a Aliases,
        summaries: &'a [Summary],
        locals: &'a [LocalInfo],
        forward: Forward,
    ) -> Numbers<'a> {
        let (mut set, mut changes) = (FxHashSet::default(), Vec::new());
        for stmt in region {
            collect(stmt, &mut set, &mut changes);
        }
        let (known, named, path, found) = (FxHashMap::default(), FxHashMap::default(), vec![], vec![]);
        Numbers { aliases, summaries, locals, forward, set, changes, known, named, path, found }
    }

    /// The values of a loop that are worth to be stored.
    pub(super) fn number_loop(&mut self, looped: &For) -> Vec<StoredValue> {
        self.enter(looped);
        self.number_block(&looped.body);
        self.path.pop();
        std::mem::take(&mut self.found)
    }

    fn number_block(&mut self, block: &Block) {
        for (at, stmt) in block.stmts.iter().enumerate() {
            if let Some(text) = self.text(stmt, None) {
                self.learn(stmt, text);
            } else {
                match stmt {
                    Stmt::If(_, condition, then, other) => {
                        for (arm, side) in [(then, "then"), (other, "else")] {
                            let text =
                                self.operand(condition, &FxHashMap::default()).map(|text| format!("{side}{text};"));
                            self.path.push(text.map(|text| PathStep { text, inner: None }));
                            self.number_block(arm);
                            self.path.pop();
                        }
                    }
                    Stmt::For(inner) => {
                        self.enter(inner);
                        self.number_block(&inner.body);
                        self.path.pop();
                    }
                    stmt => stmt.blocks().for_each(|block| {
                        self.path.push(None);
                        self.number_block(block);
                        self.path.pop();
                    }),
                }
            }
            self.finish_buffers(&block.stmts, at);
        }
    }

    fn enter(&mut self, looped: &For) {
        let to = self.operand(&looped.to, &FxHashMap::default());
        let from_zero = matches!(looped.from, Operand::Integer(0));
        let step = to.filter(|_| from_zero).map(|to| {
            let text = format!("each{to};");
            let number = self.number_of(format!("index {} {text}", self.path.len()));
            self.named.insert(looped.index, Named { number, is_expensive: false });
            let is_outside = looped.to.local().is_none_or(|x| !self.set.contains(&x));
            PathStep { text, inner: is_outside.then(|| EnclosingLoop { index: looped.index, to: looped.to.clone() }) }
        });
        self.path.push(step);
    }

    fn number_of(&mut self, text: String) -> usize {
        let next = self.known.len();
        *self.known.entry(text).or_insert(next)
    }

    fn learn(&mut self, stmt: &Stmt, text: String) {
        let mut is_expensive = self.is_expensive(stmt);
        visit_operands(stmt, &mut |a| {
            is_expensive |= a.local().and_then(|x| self.named.get(&x)).is_some_and(|x| x.is_expensive)
        });
        for (i, x) in stmt.targets().into_iter().enumerate() {
            let number = self.number_of(format!("{text} {i}"));
            self.named.insert(x, Named { number, is_expensive });
            let is_scalar = matches!(
                self.locals[x.0 as usize].ty.as_scalar(),
                Some(Scalar::Float | Scalar::Integer | Scalar::Bool)
            );
            if is_expensive && is_scalar {
                self.found.extend(self.place(number, x));
            }
        }
    }

    /// Returns the value where it can be stored: one for each iteration of the loops around it.
    fn place(&self, number: usize, value: Local) -> Option<StoredValue> {
        let mut key = format!("{number}:");
        let mut around = Vec::new();
        for step in &self.path {
            let step = step.as_ref()?;
            key.push_str(&step.text);
            match &step.inner {
                Some(inner) => around.push(inner.clone()),
                None if step.text.starts_with("each") => return None,
                None => {}
            }
        }
        Some(StoredValue { key, value, around })
    }

    fn is_expensive(&self, stmt: &Stmt) -> bool {
        is_expensive(stmt, self.forward)
    }

    /// Buffers that are complete after the statement at hand get numbers.
    fn finish_buffers(&mut self, stmts: &[Stmt], at: usize) {
        let mut written: Vec<Local> = Vec::new();
        visit_writes(&stmts[at], &mut |b| written.push(b));
        written.dedup();
        for b in written {
            let is_made = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer, .. }) if *buffer == b);
            let Some(made) = stmts[..at].iter().position(is_made) else { continue };
            if let Some(text) = self.buffer(b, &stmts[made..=at]) {
                let number = self.number_of(text);
                self.named.insert(b, Named { number, is_expensive: false });
            }
        }
    }

    /// Returns what a buffer is filled with, by the statements from its allocation on, if these are all that write to
    /// it.
    fn buffer(&self, b: Local, stmts: &[Stmt]) -> Option<String> {
        let Stmt::Memory(Memory::Alloc { count, .. }) = &stmts[0] else { return None };
        let own_writes = |stmt: &Stmt| {
            let mut count = 0;
            visit_writes(stmt, &mut |x| count += usize::from(x == b));
            count
        };
        let changes = self.changes.iter().filter(|stmt| self.aliases.changes(stmt, b, self.summaries)).count();
        if changes != stmts.iter().map(own_writes).sum::<usize>() {
            return None;
        }
        let mut text = format!("made{}", self.operand(count, &FxHashMap::default())?);
        for stmt in &stmts[1..] {
            if own_writes(stmt) > 0 {
                text.push_str(&self.text(stmt, Some(b))?);
            } else if mentions(stmt, b) {
                return None;
            }
        }
        Some(text)
    }

    /// Returns a statement with numbers in place of locals, if it has no effect but to fill a buffer.
    fn text(&self, stmt: &Stmt, filled: Option<Local>) -> Option<String> {
        let mut writer = Writer { numbers: self, own: FxHashMap::default(), filled, depth: 0, out: String::new() };
        writer.write_stmt(stmt)?;
        Some(writer.out)
    }

    fn operand(&self, a: &Operand, own: &FxHashMap<Local, usize>) -> Option<String> {
        Some(match a {
            Operand::Local(x) => match (own.get(x), self.named.get(x)) {
                (Some(i), _) => format!(" own{i}"),
                (_, Some(named)) => format!(" n{}", named.number),
                _ if !self.set.contains(x) => format!(" l{}", x.0),
                _ => return None,
            },
            Operand::Float(x) => format!(" f{:x}", x.to_bits()),
            a => format!(" {a:?}"),
        })
    }

    /// Returns whether what a buffer shows is the same throughout, or known to be complete.
    fn is_readable(&self, b: Local) -> bool {
        let is_made = self.named.contains_key(&b) && self.set.contains(&b) && self.is_finished(b);
        is_made || !self.changes.iter().any(|stmt| self.aliases.changes(stmt, b, self.summaries))
    }

    /// Returns whether a buffer has its number from what fills it.
    fn is_finished(&self, b: Local) -> bool {
        self.aliases.roots_of(b).contains(&crate::analyses::roots::Root::Made(b))
    }
}

/// Returns whether a loop computes something expensive.
pub(super) fn has_expensive(looped: &For, forward: Forward) -> bool {
    looped.body.stmts.iter().any(|stmt| is_expensive(stmt, forward))
}

fn is_expensive(stmt: &Stmt, forward: Forward) -> bool {
    match (forward, stmt) {
        (Forward::Store, Stmt::Let(_, op, _)) => op.result() == Scalar::Float,
        (_, Stmt::Let(_, op, _)) => op.is_libm(),
        (_, Stmt::For(_)) => true,
        (_, stmt) => stmt.blocks().flat_map(|block| &block.stmts).any(|stmt| is_expensive(stmt, forward)),
    }
}

struct Writer<'n, 'a> {
    numbers: &'n Numbers<'a>,
    /// The locals set inside of the statement.
    own: FxHashMap<Local, usize>,
    filled: Option<Local>,
    /// How deep in blocks of the statement.
    depth: usize,
    out: String,
}

impl Writer<'_, '_> {
    fn write_stmt(&mut self, stmt: &Stmt) -> Option<()> {
        match stmt {
            Stmt::Let(x, op, args) => {
                self.write_line(op.name(), args)?;
                self.set(&[*x]);
            }
            Stmt::Memory(Memory::Load(x, b, i)) => {
                let buffer = b.local()?;
                if Some(buffer) != self.filled && !self.numbers.is_readable(buffer) {
                    return None;
                }
                self.write_line("load", [b, i])?;
                self.set(&[*x]);
            }
            Stmt::Memory(Memory::View(x, b, i)) => {
                self.write_line("view", [b, i])?;
                self.set(&[*x]);
            }
            Stmt::If(xs, condition, then, other) => {
                self.write_line("if", [condition])?;
                self.write_block(then)?;
                self.write_block(other)?;
                self.set(xs);
            }
            Stmt::For(looped) => {
                let init = looped.carried.iter().map(|(_, a)| a);
                self.write_line("for", [&looped.from, &looped.to].into_iter().chain(init))?;
                self.set(&[looped.index]);
                looped.carried.iter().for_each(|(x, _)| self.set(&[*x]));
                self.write_block(&looped.body)?;
                self.set(&looped.results);
            }
            // A buffer that is filled is filled the same way, whatever is checked.
            Stmt::Check { .. } if self.filled.is_some() => {}
            Stmt::Check { condition, numbers, failure, .. } if self.depth > 0 => {
                self.write_line(&format!("check {failure:?}"), [condition].into_iter().chain(numbers))?;
            }
            stmt => self.write_fill(stmt)?,
        }
        Some(())
    }

    /// A statement that writes to the buffer at hand.
    fn write_fill(&mut self, stmt: &Stmt) -> Option<()> {
        if stmt.writes()? != self.filled? {
            return None;
        }
        let Stmt::Memory(memory) = stmt else { return None };
        match memory {
            Memory::Store(b, i, a) => self.write_line("store", [b, i, a]),
            Memory::Add(b, i, a) => self.write_line("add", [b, i, a]),
            Memory::Zero(b, n) => self.write_line("zero", [b, n]),
            Memory::Move { to, from, count } => {
                self.numbers.is_readable(from.local()?).then_some(())?;
                self.write_line("move", [to, from, count])
            }
            _ => None,
        }
    }

    fn write_block(&mut self, block: &Block) -> Option<()> {
        self.out.push('{');
        self.depth += 1;
        block.stmts.iter().try_for_each(|stmt| self.write_stmt(stmt))?;
        self.depth -= 1;
        self.write_line("yield", &block.results)?;
        self.out.push('}');
        Some(())
    }

    fn write_line<'o>(&mut self, word: &str, args: impl IntoIterator<Item = &'o Operand>) -> Option<()> {
        self.out.push_str(word);
        for a in args {
            if a.local().is_some() && a.local() == self.filled {
                self.out.push_str(" it");
            } else {
                let text = self.numbers.operand(a, &self.own)?;
                write!(self.out, "{text}").expect("a text can be written to");
            }
        }
        self.out.push(';');
        Some(())
    }

    fn set(&mut self, xs: &[Local]) {
        for x in xs {
            let next = self.own.len();
            self.own.insert(*x, next);
        }
    }
}

fn collect<'s>(stmt: &'s Stmt, set: &mut FxHashSet<Local>, changes: &mut Vec<&'s Stmt>) {
    set.extend(stmt.targets().into_iter().chain(stmt.bound()));
    if stmt.writes().is_some() || matches!(stmt, Stmt::Call(..)) {
        changes.push(stmt);
    }
    stmt.blocks().flat_map(|block| &block.stmts).for_each(|stmt| collect(stmt, set, changes));
}

fn visit_writes(stmt: &Stmt, f: &mut impl FnMut(Local)) {
    stmt.writes().into_iter().for_each(&mut *f);
    stmt.blocks().for_each(|block| block.visit(&mut |stmt| stmt.writes().into_iter().for_each(&mut *f)));
}

fn visit_operands(stmt: &Stmt, f: &mut impl FnMut(&Operand)) {
    stmt.operands().into_iter().for_each(&mut *f);
    for block in stmt.blocks() {
        block.stmts.iter().for_each(|stmt| visit_operands(stmt, f));
        block.results.iter().for_each(&mut *f);
    }
}

fn mentions(stmt: &Stmt, b: Local) -> bool {
    let mut found = false;
    visit_operands(stmt, &mut |a| found |= a.local() == Some(b));
    found
}
