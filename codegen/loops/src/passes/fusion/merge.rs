//! Merges two loops over the same range: each iteration does what both did.
//!
//! ```text
//! for i in a..b carrying c { s }; for j in a..b carrying d { t }   =   for i in a..b carrying c, d { s; t[j := i] }
//! ```
//!
//! Iterations of the second loop now run before later ones of the first. That is the same if two things hold. First,
//! all memory that both touch, and one of them writes, is touched by both at the index of the loop only. The first may
//! also write at the index and one what the second reads at the index, as it does the states of a fold. Second, at most
//! one of them may stop with an error, or the second checks again what the first has checked (`again`). `zero` and
//! `move` of whole buffers are loops, too, where there is a loop to merge them with.

use super::fuser::{Done, Fuser, MOST_STATEMENTS};
use super::row_tables::WithoutTables;
use super::states::next;
use crate::analyses::alias::Aliases;
use crate::analyses::effects::{Access, StmtEffects};
use crate::ir::{Block, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A statement as a loop: its range, its index, and what it does.
struct Looped<'a> {
    from: &'a Operand,
    to: &'a Operand,
    /// None for a statement that touches all elements of its buffers in turn.
    index: Option<Local>,
    /// The locals that are the index and one.
    next: Vec<Local>,
    effects: &'a StmtEffects,
}

const ZERO: Operand = Operand::Integer(0);

/// Returns whether a statement can be merged into a loop before it.
pub(super) fn is_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For(_) | Stmt::Memory(Memory::Move { .. }))
}

impl Fuser<'_> {
    /// Returns whether two statements can be one loop, if nothing is between them, and whether it is worth while: also
    /// without the tables that they pass on. What the second one checks may be known to hold.
    pub(super) fn fit(
        &self,
        first: &Done,
        second: &Done,
        without_tables: Option<&WithoutTables>,
        asks_again: bool,
    ) -> bool {
        let [Some(mut p), Some(mut c)] = [first, second].map(|done| self.as_loop(done)) else { return false };
        if let Some(without) = without_tables {
            (p.effects, c.effects) = (&without.first, &without.second);
        }
        (p.index.is_some() || c.index.is_some())
            && self.equal.are(p.from, c.from)
            && self.equal.are(p.to, c.to)
            && first.len + second.len <= MOST_STATEMENTS
            && (asks_again || !(p.effects.may_leave && c.effects.may_leave))
            && !p.effects.arena
            && !c.effects.arena
            && c.effects.used.is_disjoint(&p.effects.set)
            && (asks_again || without_tables.is_some() || p.passes_on_to(&c))
            && p.meets_at_index(&c, self.aliases)
    }

    fn as_loop<'d>(&self, done: &'d Done) -> Option<Looped<'d>> {
        let effects = &done.effects;
        match &done.stmt {
            Stmt::For(looped) => {
                let For { from, to, index, .. } = &**looped;
                Some(Looped { from, to, index: Some(*index), next: next(looped), effects })
            }
            Stmt::Memory(Memory::Zero(b, count) | Memory::Move { to: b, count, .. }) if self.element(b).is_some() => {
                Some(Looped { from: &ZERO, to: count, index: None, next: vec![], effects })
            }
            _ => None,
        }
    }

    /// Returns the scalar that a buffer holds.
    fn element(&self, b: &Operand) -> Option<Scalar> {
        b.ty(self.locals).element()?.as_scalar()
    }

    /// The loop that does what both do.
    pub(super) fn merge_loops(&mut self, first: Stmt, second: Stmt) -> Stmt {
        let (first, second) = match (first, second) {
            (Stmt::For(p), Stmt::For(c)) => (*p, *c),
            (Stmt::For(p), c) => {
                let c = self.spelt_out(&c, &p);
                (*p, c)
            }
            (p, Stmt::For(c)) => (self.spelt_out(&p, &c), *c),
            _ => panic!("one of the two is a loop"),
        };
        Stmt::For(Box::new(concatenated(first, second, self.locals)))
    }

    /// `zero` or `move` as a loop, with the index and the range of another.
    fn spelt_out(&mut self, stmt: &Stmt, other: &For) -> For {
        let i = Operand::Local(other.index);
        let stmts = match stmt {
            Stmt::Memory(Memory::Zero(b, _)) => {
                let zero = if self.element(b) == Some(Scalar::Float) { Operand::Float(0.0) } else { ZERO };
                vec![Stmt::Memory(Memory::Store(b.clone(), i, zero))]
            }
            Stmt::Memory(Memory::Move { to, from, .. }) => {
                let ty = to.ty(self.locals).element().expect("it is a buffer");
                let x = Local(u32::try_from(self.locals.len()).expect("a function has fewer locals"));
                self.locals.push(LocalInfo::unnamed(ty));
                vec![
                    Stmt::Memory(Memory::Load(x, from.clone(), i.clone())),
                    Stmt::Memory(Memory::Store(to.clone(), i, Operand::Local(x))),
                ]
            }
            other => panic!("no loop: {other:?}"),
        };
        let body = Block { stmts, results: vec![] };
        For { results: vec![], carried: vec![], body, ..other.clone() }
    }
}

fn concatenated(mut first: For, second: For, locals: &mut [LocalInfo]) -> For {
    if let (None, Some(name)) = (&name(first.index, locals), name(second.index, locals)) {
        locals[first.index.0 as usize].name = Some(name);
    }
    let mut body = second.body;
    let renamed = FxHashMap::from_iter([(second.index, Operand::Local(first.index))]);
    body.change_operands(&mut |a| {
        if let Some(other) = a.local().and_then(|x| renamed.get(&x)) {
            *a = other.clone();
        }
    });
    ask_once(&first.body, &mut body);
    first.results.extend(second.results);
    first.carried.extend(second.carried);
    first.body.stmts.extend(body.stmts);
    first.body.results.extend(body.results);
    first
}

/// Makes both bodies share their equal comparisons, so that `index_set_split` finds one condition and not two.
fn ask_once(first: &Block, second: &mut Block) {
    let compared = |stmt: &Stmt| match stmt {
        Stmt::Let(x, op @ (Op::EqI | Op::LtI | Op::LeI), args) => Some((*x, *op, args.clone())),
        _ => None,
    };
    let known: Vec<(Local, Op, Vec<Operand>)> = first.stmts.iter().filter_map(compared).collect();
    let mut names = FxHashMap::default();
    second.stmts.retain(|stmt| {
        let Some((y, op, args)) = compared(stmt) else { return true };
        let is_same = |a: &[Operand]| a.iter().zip(&args).all(|(a, b)| a.same(b));
        let Some((x, ..)) = known.iter().find(|(_, other, a)| *other == op && is_same(a)) else { return true };
        names.insert(y, *x);
        false
    });
    second.rename(&names);
}

fn name(x: Local, locals: &[LocalInfo]) -> Option<Arc<str>> {
    locals[x.0 as usize].name.clone()
}

impl Looped<'_> {
    fn is_at_index(&self, access: &Access) -> bool {
        !access.deep && (self.index.is_none() || access.at == self.index)
    }

    /// Returns whether the second one touches what the first one writes.
    fn passes_on_to(&self, other: &Looped) -> bool {
        let mut written = self.effects.accesses.iter().filter(|access| access.writes);
        written.any(|access| other.effects.accesses.iter().any(|b| b.buffer == access.buffer))
    }

    /// Returns whether what they both touch, and one of them writes, is touched at the index.
    fn meets_at_index(&self, other: &Looped, aliases: &Aliases) -> bool {
        self.effects.accesses.iter().all(|a| {
            let here = self.is_at_index(a);
            let is_next = !a.deep && a.at.is_some_and(|at| self.next.contains(&at));
            // What is read was written in the iteration before.
            let fits = |b: &Access| (here || is_next && !b.writes) && a.buffer == b.buffer && other.is_at_index(b);
            other.effects.accesses.iter().all(|b| fits(b) || !a.meets(b, aliases))
        })
    }
}
