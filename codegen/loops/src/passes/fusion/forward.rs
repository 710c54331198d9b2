//! Forwards stored values to loads, in a block and in the blocks inside.
//!
//! ```text
//! store b[i] = x; y = load b[i]        y is x                              unless what b shares is written between
//! store b[i] = x; add b[i] += y        z = x + y; store b[i] = z
//! store b[i] = x; store b[i] = y       store b[i] = y                      unless it is read between
//! ```
//!
//! What a loop stores of what it carries is known in it, and after it: `states`.

use super::states::{States, states};
use crate::analyses::alias::Aliases;
use crate::analyses::effects::{Access, Callees, StmtEffects};
use crate::ir::{Block, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::FxHashMap;

/// So many elements are known at a time: so the work for a block grows with its length only.
const MOST_KNOWN: usize = 32;

/// Returns whether anything changed.
pub(super) fn forward(body: &mut Block, locals: &mut Vec<LocalInfo>, aliases: &Aliases, callees: Callees) -> bool {
    let mut forwarder =
        Forwarder { locals, aliases, callees, replaced: FxHashMap::default(), known: vec![], changed: false };
    forwarder.forward_in_block(body);
    forwarder.changed
}

/// An element whose value is known.
#[derive(Clone)]
struct Element {
    buffer: Local,
    index: Operand,
    value: Operand,
    /// The place of the store, if it may be dropped when the element is stored again.
    stored: Option<usize>,
}

struct Forwarder<'a> {
    locals: &'a mut Vec<LocalInfo>,
    aliases: &'a Aliases,
    callees: Callees<'a>,
    /// Maps loaded values to known values.
    replaced: FxHashMap<Local, Operand>,
    known: Vec<Element>,
    changed: bool,
}

impl Forwarder<'_> {
    fn forward_in_block(&mut self, block: &mut Block) {
        let mut out: Vec<Option<Stmt>> = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.operands_mut().into_iter().for_each(|a| self.replace(a));
            self.forward_in_stmt(stmt, &mut out);
        }
        block.stmts = out.into_iter().flatten().collect();
        block.results.iter_mut().for_each(|a| self.replace(a));
    }

    fn replace(&self, a: &mut Operand) {
        while let Some(other) = a.local().and_then(|x| self.replaced.get(&x)) {
            *a = other.clone();
        }
    }

    fn forward_in_stmt(&mut self, stmt: Stmt, out: &mut Vec<Option<Stmt>>) {
        match stmt {
            Stmt::Memory(Memory::Load(x, ref b, ref i)) => match self.find(b, i) {
                Some(known) => {
                    let value = self.known[known].value.clone();
                    self.replaced.insert(x, value);
                    self.changed = true;
                }
                None => {
                    self.forget_changed(&stmt);
                    out.push(Some(stmt));
                }
            },
            Stmt::Memory(Memory::Add(ref b, ref i, ref a)) => match self.find(b, i) {
                Some(known) => {
                    let sum = self.emit_sum(self.known[known].value.clone(), a.clone(), out);
                    self.forward_store(b.clone(), i.clone(), sum, out);
                    self.changed = true;
                }
                None => {
                    self.forget_changed(&stmt);
                    out.push(Some(stmt));
                }
            },
            Stmt::Memory(Memory::Store(b, i, a)) => self.forward_store(b, i, a, out),
            Stmt::Let(..) | Stmt::Check { .. } => out.push(Some(stmt)),
            mut stmt => {
                let (states, index, end) = self.states(&stmt);
                self.forget_changed(&stmt);
                for block in stmt.blocks_mut() {
                    let mut outer = self.known.clone();
                    // What was stored outside is not left out because of what is stored in here.
                    self.known.iter_mut().for_each(|element| element.stored = None);
                    states.iter().for_each(|states| self.know(states.buffer, &index, states.before));
                    self.forward_in_block(block);
                    std::mem::swap(&mut self.known, &mut outer);
                }
                states.iter().for_each(|states| self.know(states.buffer, &end, states.last));
                out.push(Some(stmt));
            }
        }
    }

    /// Returns the buffers that have the states of a loop; its index and its end.
    fn states(&self, stmt: &Stmt) -> (Vec<States>, Operand, Operand) {
        let Stmt::For(looped) = stmt else { return (vec![], Operand::Integer(0), Operand::Integer(0)) };
        let first = |b: Local| Some(self.known[self.find(&b.into(), &looped.from)?].value.clone());
        let found = states(looped, self.locals, self.aliases, self.callees, first);
        (found, looped.index.into(), looped.to.clone())
    }

    fn know(&mut self, buffer: Local, index: &Operand, value: Local) {
        if self.known.len() == MOST_KNOWN {
            self.known.remove(0);
        }
        self.known.push(Element { buffer, index: index.clone(), value: value.into(), stored: None });
    }

    fn find(&self, b: &Operand, i: &Operand) -> Option<usize> {
        let b = b.local()?;
        self.known.iter().position(|element| element.buffer == b && element.index.same(i))
    }

    fn emit_sum(&mut self, x: Operand, y: Operand, out: &mut Vec<Option<Stmt>>) -> Operand {
        let ty = x.ty(self.locals);
        let op = if ty == Scalar::Float.ty() { Op::AddF } else { Op::AddI };
        let sum = Local(u32::try_from(self.locals.len()).expect("a function has fewer locals"));
        self.locals.push(LocalInfo::unnamed(ty));
        out.push(Some(Stmt::Let(sum, op, vec![x, y])));
        Operand::Local(sum)
    }

    fn forward_store(&mut self, b: Operand, i: Operand, a: Operand, out: &mut Vec<Option<Stmt>>) {
        if let Some(known) = self.find(&b, &i) {
            let before = self.known.remove(known);
            if let Some(place) = before.stored {
                out[place] = None;
                self.changed = true;
            }
        }
        let stmt = Stmt::Memory(Memory::Store(b.clone(), i.clone(), a.clone()));
        self.forget_changed(&stmt);
        if let Some(buffer) = b.local() {
            if self.known.len() == MOST_KNOWN {
                self.known.remove(0);
            }
            self.known.push(Element { buffer, index: i, value: a, stored: Some(out.len()) });
        }
        out.push(Some(stmt));
    }

    /// Elements that a statement may write are not known any more; those that it may read must be stored.
    fn forget_changed(&mut self, stmt: &Stmt) {
        if self.known.is_empty() {
            return;
        }
        let effects = StmtEffects::of(stmt, self.aliases, self.callees);
        let moves = matches!(stmt, Stmt::Memory(Memory::Slide(..) | Memory::Slid { .. }));
        let aliases = self.aliases;
        self.known.retain_mut(|element| {
            let access = |writes| Access { buffer: element.buffer, at: None, writes, deep: false };
            if moves || effects.accesses.iter().any(|a| a.meets(&access(true), aliases)) {
                element.stored = None;
            }
            !effects.accesses.iter().any(|a| a.writes && a.meets(&access(false), aliases))
        });
    }
}
