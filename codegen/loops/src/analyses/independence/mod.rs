//! Dependence analysis: tells whether the iterations of a loop may run in any order, or at once.
//!
//! They may where all that one iteration leaves for others to see is
//!
//! ```text
//! y' = y + e               sums (`sums`)
//! y' = max y x             the largest element, and what is chosen with it (`best`)
//! add b[e] += x            sums in memory, if nothing else in the loop uses b
//! store b[e] = x           elements, or rows, that belong to the iteration alone (`owned`); all other accesses in the loop to
//!                          them, or to memory inside of them, are the iteration's, too
//! ```
//!
//! and it gives back to the arena what it takes, or leaves it there for good. Buffers made in an iteration are its own,
//! but for what is stored somewhere; that, too, is found where it is stored only by who looks at the element. Here it
//! counts that what is written lies in no two places (see `crate::analyses::alias::Aliases`).
//!
//! Errors of checks are not considered: which iteration's error is reported is for those who run them to say.

mod adding;
mod best;
mod owned;
mod prepare;
mod sums;

use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::cache::Analyses;
use crate::analyses::roots::Root;
use crate::analyses::why_serial::WhySerial;
use crate::ir::{For, FunId, Function, Local, LocalInfo, Memory, Module, Operand, Scalar, Stmt};
pub use best::bests;
pub use best::{Best, Taken};
use owned::{Owner, Owning};
pub use prepare::prepare;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
pub use sums::Carried;
pub use sums::carried;

/// Holds what a loop with independent iterations leaves behind.
#[derive(Debug, PartialEq, Eq)]
pub struct Independence {
    /// The kind of each carried value, in order.
    pub carried: Vec<Carried>,
    /// The buffers from before the loop that are added to, or that hold those that are.
    pub added: BTreeSet<Local>,
    /// The outer buffers in which several iterations may add to one element.
    pub summed: BTreeSet<Local>,
    /// The outer buffers whose elements the loop sets, and the buffers that hold such buffers.
    pub stored: BTreeSet<Local>,
    /// The buffers made in the loop that memory from before the loop gets to hold.
    pub kept: BTreeSet<Local>,
}

/// Holds the effects of the functions of a module, as callers see them.
#[derive(Default)]
pub struct FunctionEffects {
    /// What callers have to know of each.
    pub summaries: Vec<Summary>,
    /// For each function, the parameters that it only adds to.
    pub added: Vec<BTreeSet<usize>>,
    /// Whether they print, measure, or call external functions, or others do that they call.
    heard: Vec<bool>,
}

impl FunctionEffects {
    /// Holds the summaries of functions, and nothing else.
    pub fn of_summaries(summaries: Vec<Summary>) -> FunctionEffects {
        FunctionEffects { summaries, ..FunctionEffects::default() }
    }

    /// Returns what they do.
    pub fn of(module: &Module, analyses: &mut Analyses) -> FunctionEffects {
        let mut heard = vec![false; module.functions.len()];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (i, function) in module.functions.iter().enumerate() {
                let mut is_heard = false;
                function.body.visit(&mut |stmt| {
                    is_heard |= match stmt {
                        Stmt::Call(_, FunId(callee), _) => heard[*callee],
                        Stmt::Write(_) | Stmt::External { .. } | Stmt::Bench { .. } => true,
                        Stmt::Let(..) | Stmt::If(..) | Stmt::For(_) | Stmt::Check { .. } | Stmt::Memory(_) => false,
                    };
                });
                changed |= is_heard != heard[i];
                heard[i] = is_heard;
            }
        }
        let summaries = analyses.summaries(module);
        FunctionEffects { added: adding::added(module, &summaries, analyses), summaries, heard }
    }
}

impl Independence {
    /// Returns whether several iterations add to the same sum.
    pub fn has_sums(&self) -> bool {
        self.carried.contains(&Carried::Sum) || !self.summed.is_empty()
    }

    /// Returns what a loop of the function leaves behind.
    ///
    /// Errors: why its iterations may depend on each other.
    pub fn of(
        function: &Function,
        aliases: &Aliases,
        effects: &FunctionEffects,
        looped: &For,
    ) -> Result<Independence, WhySerial> {
        let carried = carried(&function.locals, looped)?;
        let mut finder = IndependenceFinder::new(function, aliases, looped);
        let mut refusal = None;
        looped.body.visit(&mut |stmt| {
            refusal = refusal.or(finder.visit_stmt(function, stmt, effects).err());
        });
        refusal.map_or(Ok(()), Err)?;
        finder.check_conflicts()?;
        let bases = |kind| {
            finder.accesses.iter().filter(|access| access.kind == kind).filter_map(|access| access.base).collect()
        };
        let outside = aliases.all().filtered(|root| !finder.is_own(root));
        let kept = aliases.reached_from(&outside).filtered(|root| finder.is_own(root));
        let kept = kept.iter().map(|(Root::Made(x) | Root::Inside(x))| x).collect();
        let [added, stored] = [AccessKind::Add, AccessKind::Set].map(bases);
        Ok(Independence { carried, added, summed: finder.summed(), stored, kept })
    }
}

/// The kind of an access to elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessKind {
    Read,
    Add,
    Set,
}

/// A statement that reaches memory from outside the loop.
struct OutsideAccess {
    kind: AccessKind,
    buffer: Local,
    /// The buffer from before the loop in which it begins.
    base: Option<Local>,
    /// The owners of the element, one list for each level: the base, then the buffer loaded from it, and so on.
    owners: Vec<Vec<Owner>>,
    /// Whether all that the buffer holds is reached, too: by a call.
    is_deep: bool,
}

struct IndependenceFinder<'a> {
    aliases: &'a Aliases,
    /// The locals that the loop sets.
    set: BTreeSet<Local>,
    /// The statements of the loop that give buffers from others.
    parts: FxHashMap<Local, Memory>,
    owning: Owning<'a>,
    accesses: Vec<OutsideAccess>,
}

impl<'a> IndependenceFinder<'a> {
    fn new(function: &'a Function, aliases: &'a Aliases, looped: &'a For) -> IndependenceFinder<'a> {
        let mut set = BTreeSet::from([looped.index]);
        set.extend(looped.carried.iter().map(|(x, _)| *x));
        let mut parts = FxHashMap::default();
        looped.body.visit(&mut |stmt| {
            set.extend(stmt.targets().into_iter().chain(stmt.bound()));
            if let Stmt::Memory(part @ (Memory::Load(x, ..) | Memory::View(x, ..) | Memory::Cast(x, _))) = stmt {
                parts.insert(*x, part.clone());
            }
        });
        let owning = Owning::new(function, aliases.clamps(), looped, set.clone());
        IndependenceFinder { aliases, set, parts, owning, accesses: vec![] }
    }

    fn visit_stmt(&mut self, function: &Function, stmt: &Stmt, effects: &FunctionEffects) -> Result<(), WhySerial> {
        match stmt {
            Stmt::Call(_, callee, args) => {
                if effects.heard[callee.0] {
                    return Err(WhySerial::Statement("call"));
                }
                for (i, b) in args.iter().enumerate().filter_map(|(i, a)| Some((i, a.local()?))) {
                    let kind = match effects.summaries[callee.0].written.contains(&i) {
                        true if effects.added[callee.0].contains(&i) => AccessKind::Add,
                        true => AccessKind::Set,
                        false => AccessKind::Read,
                    };
                    if is_buffer(function, b) {
                        self.add_access(kind, &Operand::Local(b), None);
                    }
                }
                Ok(())
            }
            Stmt::External { .. } | Stmt::Write(_) | Stmt::Bench { .. } => WhySerial::of(stmt).map_or(Ok(()), Err),
            Stmt::Memory(memory) => self.visit_memory(memory),
            Stmt::For(inner) if inner.on_threads => Err(WhySerial::Statement("on threads")),
            Stmt::Let(..) | Stmt::If(..) | Stmt::For(_) | Stmt::Check { .. } => Ok(()),
        }
    }

    fn visit_memory(&mut self, memory: &Memory) -> Result<(), WhySerial> {
        match memory {
            Memory::Load(_, b, i) => self.add_element(AccessKind::Read, b, i),
            Memory::Store(b, i, _) => self.add_element(AccessKind::Set, b, i),
            Memory::Add(b, i, _) => self.add_element(AccessKind::Add, b, i),
            Memory::Zero(b, n) => self.add_elements(AccessKind::Set, b, n),
            Memory::Move { to, from, count } => {
                self.add_elements(AccessKind::Set, to, count);
                self.add_elements(AccessKind::Read, from, count);
            }
            Memory::Release(m) | Memory::Slide(_, _, m) | Memory::Above(_, _, m) => {
                if let Some(m) = m.local().filter(|m| !self.set.contains(m)) {
                    return Err(WhySerial::Mark(m));
                }
            }
            Memory::Alloc { .. }
            | Memory::Stack(..)
            | Memory::View(..)
            | Memory::Cast(..)
            | Memory::Mark(_)
            | Memory::Before(..)
            | Memory::Slid { .. } => {}
        }
        Ok(())
    }

    fn add_element(&mut self, kind: AccessKind, b: &Operand, i: &Operand) {
        self.add_access(kind, b, Some((i, None)));
    }

    fn add_elements(&mut self, kind: AccessKind, b: &Operand, count: &Operand) {
        self.add_access(kind, b, Some((&Operand::Integer(0), Some(count))));
    }

    /// Elements from an index on, one of them or so many; or anything in the buffer, and in what it holds.
    fn add_access(&mut self, kind: AccessKind, b: &Operand, place: Option<(&Operand, Option<&Operand>)>) {
        let Some(buffer) = b.local() else { return };
        let roots = self.aliases.roots_of(buffer);
        if !roots.is_empty() && roots.iter().all(|root| self.is_own(&root)) {
            return;
        }
        let (base, mut owners, offset) = self.way(buffer).map_or((None, vec![], vec![]), |(b, o, k)| (Some(b), o, k));
        if let Some((index, count)) = place {
            let index: Vec<&Operand> = offset.iter().chain([index]).collect();
            owners.push(self.owning.owners(&index, count));
        }
        self.accesses.push(OutsideAccess { kind, buffer, base, owners, is_deep: place.is_none() });
    }

    /// Returns how a buffer is reached: the buffer from before the loop where it begins, the owners on the way, and the
    /// offsets in the last buffer.
    fn way(&self, buffer: Local) -> Option<(Local, Vec<Vec<Owner>>, Vec<Operand>)> {
        if !self.set.contains(&buffer) {
            return Some((buffer, vec![], vec![]));
        }
        match self.parts.get(&buffer)? {
            Memory::Load(_, b, i) => {
                let (base, mut owners, offset) = self.way(b.local()?)?;
                let index: Vec<&Operand> = offset.iter().chain([i]).collect();
                owners.push(self.owning.owners(&index, None));
                Some((base, owners, vec![]))
            }
            Memory::View(_, b, i) => {
                let (base, owners, mut offset) = self.way(b.local()?)?;
                offset.push(i.clone());
                Some((base, owners, offset))
            }
            Memory::Cast(_, b) => self.way(b.local()?),
            _ => None,
        }
    }

    /// Returns whether each iteration has one of its own.
    fn is_own(&self, root: &Root) -> bool {
        matches!(root, Root::Made(x) if self.set.contains(x))
    }

    fn check_conflicts(&self) -> Result<(), WhySerial> {
        for (i, write) in self.accesses.iter().enumerate().filter(|(_, access)| access.kind != AccessKind::Read) {
            if write.base.is_none() {
                return Err(WhySerial::Unknown(write.buffer));
            }
            for (j, other) in self.accesses.iter().enumerate() {
                let both_add = write.kind == AccessKind::Add && other.kind == AccessKind::Add;
                if both_add || is_owned_alike(write, other) {
                    continue;
                }
                if i == j || self.may_share(write, other) {
                    return Err(WhySerial::Conflict(write.buffer, other.buffer));
                }
            }
        }
        Ok(())
    }

    /// Returns the buffers with elements that several iterations may add to.
    fn summed(&self) -> BTreeSet<Local> {
        let adds: Vec<&OutsideAccess> = self.accesses.iter().filter(|access| access.kind == AccessKind::Add).collect();
        let meets = |a: &OutsideAccess, b: &OutsideAccess| {
            let within =
                |a: &OutsideAccess, b: &OutsideAccess| self.aliases.shows(b.buffer, &self.aliases.reach(a.buffer));
            let share = std::ptr::eq(a, b) || self.aliases.may_share(a.buffer, b.buffer);
            (share || within(a, b) || within(b, a)) && !is_owned_alike(a, b)
        };
        adds.iter().filter(|a| adds.iter().any(|b| meets(a, b))).filter_map(|a| a.base).collect()
    }

    /// Returns whether the two may reach the same memory.
    fn may_share(&self, a: &OutsideAccess, b: &OutsideAccess) -> bool {
        let holds = |a: &OutsideAccess, b: &OutsideAccess| {
            a.is_deep && self.aliases.shows(b.buffer, &self.aliases.reach(a.buffer))
        };
        self.aliases.may_share(a.buffer, b.buffer) || holds(a, b) || holds(b, a)
    }
}

/// Returns whether the two reach, in different iterations, only what belongs to these.
fn is_owned_alike(a: &OutsideAccess, b: &OutsideAccess) -> bool {
    a.base == b.base && a.owners.iter().zip(&b.owners).any(|(a, b)| a.iter().any(|owner| b.contains(owner)))
}

fn is_buffer(function: &Function, x: Local) -> bool {
    function.locals[x.0 as usize].ty.as_scalar().is_none()
}

/// Returns whether a scalar can be summed up.
fn is_number(locals: &[LocalInfo], x: Local) -> bool {
    matches!(locals[x.0 as usize].ty.as_scalar(), Some(Scalar::Float | Scalar::Integer))
}
