//! Finds the values in a loop that depend on its iteration only by indices of inner loops, and the statements that
//! compute them.

use crate::analyses::alias::{Aliases, Summary};
use crate::ir::{Block, For, Local, LocalInfo, Memory, Operand, Stmt};
use lm::term::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A value that is worth a table.
pub(super) struct TableSlice {
    /// The value.
    pub(super) value: Local,
    /// The steps that compute the value, in order. Each step is inside of the steps before it.
    pub(super) steps: Vec<SliceStep>,
    /// The same for values that are the same.
    pub(super) key: String,
    /// The place in the source for errors without another place.
    pub(super) span: Span,
}

/// A step on the way to a value.
#[derive(Clone)]
pub(super) enum SliceStep {
    /// Runs a statement.
    Stmt(Stmt),
    /// Runs the following steps only if a condition holds, or only if it does not.
    When(Operand, bool),
    /// Runs the following steps only if a loop over a range would run.
    Runs(Operand, Operand),
    /// Runs the following steps in a loop from 0.
    Each(InnerLoop),
}

/// An inner loop.
#[derive(Clone)]
pub(super) struct InnerLoop {
    pub(super) index: Local,
    pub(super) to: Operand,
}

impl TableSlice {
    /// Returns the loops that the value depends on, outermost first.
    pub(super) fn dims(&self) -> impl Iterator<Item = &InnerLoop> {
        self.steps.iter().filter_map(|step| if let SliceStep::Each(inner) = step { Some(inner) } else { None })
    }
}

/// Returns the slices of a loop that are worth tables.
pub(super) fn slices(
    looped: &For,
    set: &FxHashSet<Local>,
    likely: &FxHashSet<Local>,
    (aliases, summaries): (&Aliases, &[Summary]),
    locals: &[LocalInfo],
) -> Vec<TableSlice> {
    let mut changes = Vec::new();
    looped.body.visit(&mut |stmt| {
        if stmt.writes().is_some() || matches!(stmt, Stmt::Call(..)) {
            changes.push(stmt.clone());
        }
    });
    let mut finder = SliceFinder {
        set,
        likely,
        aliases,
        summaries,
        locals,
        changes,
        next: 0,
        known: FxHashMap::default(),
        path: vec![],
        found: vec![],
        used: FxHashSet::default(),
    };
    finder.search_block(&looped.body);
    let SliceFinder { found, used, known, .. } = finder;
    let wanted = found.into_iter().filter(|(x, _)| used.contains(x) && known[x].is_expensive);
    wanted.map(|(x, path)| slice(x, &path, &known)).collect()
}

/// A loop with fewer iterations may stop before its end.
const SHORT: i64 = 1 << 20;

/// A local that is the same in all iterations.
struct InvariantLocal {
    /// Its place in the order of the text.
    order: usize,
    /// The statement that sets it; none for the index of an inner loop.
    stmt: Option<Stmt>,
    /// Whether computing it takes longer than a load.
    is_expensive: bool,
}

/// The conditions and loops around a place in the loop.
#[derive(Clone)]
struct AccessPath {
    order: usize,
    step: WayStep,
}

#[derive(Clone)]
enum WayStep {
    /// A check.
    Checked(Operand),
    /// A side of a conditional.
    When(Operand, bool),
    /// A loop from 0 whose end is known before.
    Each(InnerLoop),
}

struct SliceFinder<'a> {
    /// The locals that the loop sets.
    set: &'a FxHashSet<Local>,
    likely: &'a FxHashSet<Local>,
    aliases: &'a Aliases,
    summaries: &'a [Summary],
    locals: &'a [LocalInfo],
    /// The statements that may change memory in the loop.
    changes: Vec<Stmt>,
    next: usize,
    known: FxHashMap<Local, InvariantLocal>,
    /// The way to the place at hand; none where it is not known before the loop.
    path: Vec<Option<AccessPath>>,
    found: Vec<(Local, Vec<AccessPath>)>,
    /// The locals used by statements that are not invariant.
    used: FxHashSet<Local>,
}

impl SliceFinder<'_> {
    fn search_block(&mut self, block: &Block) {
        let start = self.path.len();
        for stmt in &block.stmts {
            let order = self.order();
            if self.path.iter().all(Option::is_some) && self.is_same(stmt) {
                self.learn(stmt, order);
                continue;
            }
            self.used.extend(stmt.operands().into_iter().filter_map(Operand::local));
            match stmt {
                Stmt::Check { condition, .. } => self.go(order, condition, WayStep::Checked(condition.clone())),
                Stmt::If(_, condition, then, other) => {
                    for (arm, holds) in [(then, true), (other, false)] {
                        if !holds && condition.local().is_some_and(|c| self.likely.contains(&c)) {
                            self.use_all(arm);
                            continue;
                        }
                        self.go(order, condition, WayStep::When(condition.clone(), holds));
                        self.search_block(arm);
                        self.path.pop();
                    }
                }
                Stmt::For(inner) => {
                    self.enter(order, inner);
                    self.search_block(&inner.body);
                    self.path.pop();
                }
                stmt => stmt.blocks().for_each(|block| {
                    self.path.push(None);
                    self.search_block(block);
                    self.path.pop();
                }),
            }
        }
        self.used.extend(block.results.iter().filter_map(Operand::local));
        self.path.truncate(start);
    }

    fn use_all(&mut self, block: &Block) {
        block.visit(&mut |stmt| {
            self.used.extend(stmt.operands().into_iter().filter_map(Operand::local));
            let results = stmt.blocks().flat_map(|block| &block.results);
            self.used.extend(results.filter_map(Operand::local));
        });
        self.used.extend(block.results.iter().filter_map(Operand::local));
    }

    fn order(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn go(&mut self, order: usize, condition: &Operand, step: WayStep) {
        let is_known = self.is_known(condition);
        self.path.push(is_known.then_some(AccessPath { order, step }));
    }

    fn enter(&mut self, order: usize, inner: &For) {
        let is_outside = |a: &Operand| a.local().is_none_or(|x| !self.set.contains(&x));
        let is_known = matches!(inner.from, Operand::Integer(0)) && is_outside(&inner.to);
        let way = || AccessPath { order, step: WayStep::Each(InnerLoop { index: inner.index, to: inner.to.clone() }) };
        self.path.push(is_known.then(way));
        if is_known {
            self.known.insert(inner.index, InvariantLocal { order, stmt: None, is_expensive: false });
        }
    }

    fn learn(&mut self, stmt: &Stmt, order: usize) {
        let own = match stmt {
            Stmt::Let(_, op, _) => op.is_libm(),
            stmt => matches!(stmt, Stmt::For(_)) || contains_expensive(stmt),
        };
        let uses = free(stmt);
        let is_expensive = own || uses.iter().filter_map(|x| self.known.get(x)).any(|known| known.is_expensive);
        for x in stmt.targets() {
            self.known.insert(x, InvariantLocal { order, stmt: Some(stmt.clone()), is_expensive });
            let is_scalar = self.locals[x.0 as usize].ty.as_scalar().is_some();
            if is_expensive && is_scalar && self.runs_to_the_end() {
                self.found.push((x, self.path.iter().flatten().cloned().collect()));
            } else if is_expensive {
                self.used.extend(&uses);
            }
        }
    }

    /// Returns whether the loops on the way run to their end, or a short distance. Otherwise the table might not fit
    /// into memory where the program would stop earlier with another error.
    fn runs_to_the_end(&self) -> bool {
        let is_size = |a: &Operand| match a {
            Operand::Local(x) => self.locals[x.0 as usize].is_size,
            a => matches!(a, Operand::Integer(..SHORT)),
        };
        let mut ways = self.path.iter().flatten().map(|way| &way.step);
        let is_checked = ways.clone().any(|step| matches!(step, WayStep::Checked(_)));
        !is_checked || ways.all(|step| if let WayStep::Each(inner) = step { is_size(&inner.to) } else { true })
    }

    fn is_known(&self, a: &Operand) -> bool {
        a.local().is_none_or(|x| !self.set.contains(&x) || self.known.contains_key(&x))
    }

    /// Returns whether a statement has no effect, and does the same in each iteration, indices of inner loops aside.
    fn is_same(&self, stmt: &Stmt) -> bool {
        let is_pure = match stmt {
            Stmt::Let(..) => true,
            Stmt::Memory(Memory::Load(_, b, _)) => self.is_unchanged(b),
            Stmt::Memory(Memory::View(..)) => true,
            Stmt::If(..) | Stmt::For(_) => stmt.blocks().all(|block| self.is_pure(block)),
            _ => false,
        };
        let scalars = |x: &Local| self.locals[x.0 as usize].ty.as_scalar().is_some();
        let gives_scalars = !stmt.has_blocks() || stmt.targets().iter().all(scalars) && !stmt.targets().is_empty();
        is_pure && gives_scalars && free(stmt).into_iter().all(|x| self.is_known(&Operand::Local(x)))
    }

    fn is_pure(&self, block: &Block) -> bool {
        block.stmts.iter().all(|stmt| match stmt {
            Stmt::Let(..) => true,
            Stmt::Memory(Memory::Load(_, b, _)) => self.is_unchanged(b),
            Stmt::Memory(Memory::View(..)) => true,
            Stmt::If(..) | Stmt::For(_) => stmt.blocks().all(|block| self.is_pure(block)),
            _ => false,
        })
    }

    fn is_unchanged(&self, b: &Operand) -> bool {
        let Some(b) = b.local() else { return false };
        !self.changes.iter().any(|stmt| self.aliases.changes(stmt, b, self.summaries))
    }
}

/// Returns what a statement uses from outside of it.
fn free(stmt: &Stmt) -> FxHashSet<Local> {
    let mut used: FxHashSet<Local> = stmt.operands().into_iter().filter_map(Operand::local).collect();
    let mut bound: FxHashSet<Local> = stmt.bound().into_iter().collect();
    for block in stmt.blocks() {
        block.visit(&mut |stmt| {
            used.extend(stmt.operands().into_iter().filter_map(Operand::local));
            bound.extend(stmt.targets().into_iter().chain(stmt.bound()));
            stmt.blocks().for_each(|block| used.extend(block.results.iter().filter_map(Operand::local)));
        });
        used.extend(block.results.iter().filter_map(Operand::local));
    }
    used.retain(|x| !bound.contains(x));
    used
}

fn contains_expensive(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.blocks().for_each(|block| {
        block.visit(&mut |stmt| {
            found |= matches!(stmt, Stmt::For(_)) || matches!(stmt, Stmt::Let(_, op, _) if op.is_libm());
        });
    });
    found
}

/// Returns the steps to a value: what computes it and what leads there, in the order of the text.
fn slice(value: Local, path: &[AccessPath], known: &FxHashMap<Local, InvariantLocal>) -> TableSlice {
    let mut steps: BTreeMap<usize, SliceStep> = BTreeMap::new();
    let mut waiting = vec![value];
    let mut dims = FxHashSet::default();
    for way in path {
        let (condition, holds) = match &way.step {
            WayStep::Checked(condition) => (condition, true),
            WayStep::When(condition, holds) => (condition, *holds),
            WayStep::Each(_) => continue,
        };
        steps.insert(way.order, SliceStep::When(condition.clone(), holds));
        waiting.extend(condition.local());
    }
    while let Some(x) = waiting.pop() {
        let Some(InvariantLocal { stmt, order, .. }) = known.get(&x) else { continue };
        let Some(stmt) = stmt else {
            dims.insert(x);
            continue;
        };
        if steps.insert(*order, SliceStep::Stmt(stmt.clone())).is_none() {
            waiting.extend(free(stmt));
        }
    }
    for way in path {
        if let WayStep::Each(inner) = &way.step {
            let step = if dims.contains(&inner.index) {
                SliceStep::Each(inner.clone())
            } else {
                SliceStep::Runs(Operand::Integer(0), inner.to.clone())
            };
            steps.insert(way.order, step);
        }
    }
    let steps: Vec<SliceStep> = steps.into_values().collect();
    let key = key(value, &steps);
    TableSlice { value, steps, key, span: Span::default() }
}

/// Returns a text in which what is set in the slice has numbers of its own.
fn key(value: Local, steps: &[SliceStep]) -> String {
    let mut names = FxHashMap::default();
    let mut text = String::new();
    for step in steps {
        match step {
            SliceStep::Stmt(stmt) => write_stmt(&mut text, stmt, &mut names),
            SliceStep::When(a, holds) => write(&mut text, &format!("when {holds}"), [a], &names),
            SliceStep::Runs(a, b) => write(&mut text, "runs", [a, b], &names),
            SliceStep::Each(inner) => {
                write(&mut text, "each", [&inner.to], &names);
                name(inner.index, &mut names);
            }
        }
    }
    write(&mut text, "is", [&Operand::Local(value)], &names);
    text
}

fn name(x: Local, names: &mut FxHashMap<Local, usize>) {
    let next = names.len();
    names.insert(x, next);
}

fn write<'o>(
    text: &mut String,
    word: &str,
    args: impl IntoIterator<Item = &'o Operand>,
    names: &FxHashMap<Local, usize>,
) {
    text.push_str(word);
    for a in args {
        let own = a.local().and_then(|x| names.get(&x));
        let bits = if let Operand::Float(x) = a { Some(x.to_bits()) } else { None };
        let written = match (own, bits) {
            (Some(i), _) => write!(text, " own {i}"),
            (_, Some(bits)) => write!(text, " bits {bits}"),
            _ => write!(text, " {a:?}"),
        };
        written.expect("a text can be written to");
    }
    text.push(';');
}

fn write_stmt(text: &mut String, stmt: &Stmt, names: &mut FxHashMap<Local, usize>) {
    let word = match stmt {
        Stmt::Let(_, op, _) => op.name(),
        Stmt::Memory(Memory::Load(..)) => "load",
        Stmt::Memory(_) => "view",
        Stmt::If(..) => "if",
        _ => "for",
    };
    write(text, word, stmt.operands(), names);
    stmt.bound().into_iter().for_each(|x| name(x, names));
    for block in stmt.blocks() {
        text.push('{');
        block.stmts.iter().for_each(|stmt| write_stmt(text, stmt, names));
        write(text, "yield", &block.results, names);
        text.push('}');
    }
    stmt.targets().into_iter().for_each(|x| name(x, names));
}
