//! Finds when the memory of a buffer was allocated, at the earliest. Memory that existed before is other memory.
//!
//! ```text
//! b = alloc n, b = stack n          here
//! x = b[i..], b as T                when b was
//! x = if .., x = for .. (y = a)     the first of those that it may be
//! x = load b[i]                     the first of b and all that was ever stored in what b may be a part of
//! ```
//!
//! All but the second are told by the place of a statement in the text. That is enough for the last one, too: what lies
//! in b came there since b was allocated, and in that time nothing in front of b is set again. Where anything may lie
//! in b of which it is not known when it was allocated, nothing is known of x.

use super::{Aliases, is_buffer, is_buffer_operand, is_table};
use crate::analyses::roots::Roots;
use crate::ir::{Function, Local, Memory, Operand, Stmt};
use rustc_hash::FxHashMap;

/// Returns the place in the text, of buffers that were just allocated.
pub(super) fn allocation_order(function: &Function, aliases: &Aliases) -> FxHashMap<Local, usize> {
    let mut finder =
        AllocFinder { function, aliases, made: FxHashMap::default(), unknown: Roots::new(), stored: Vec::new() };
    loop {
        finder.visit_stores();
        let known = finder.made.len();
        function.body.visit(&mut |stmt| finder.visit_stmt(stmt));
        if finder.made.len() == known {
            return finder.made;
        }
    }
}

struct AllocFinder<'a> {
    function: &'a Function,
    aliases: &'a Aliases,
    made: FxHashMap<Local, usize>,
    /// The roots in which something lies of which nothing is known yet.
    unknown: Roots,
    /// The buffers stored elsewhere, each with the time at which its memory was allocated.
    stored: Vec<(Local, usize)>,
}

impl AllocFinder<'_> {
    fn visit_stores(&mut self) {
        let (mut unknown, mut stored) = (Roots::new(), Vec::new());
        self.function.body.visit(&mut |stmt| {
            let Some((b, made)) = self.stored_buffer(stmt) else { return };
            match made {
                Some(made) => stored.push((b, made)),
                None => unknown.extend(&self.aliases.roots_of(b)),
            }
        });
        (self.unknown, self.stored) = (unknown, stored);
    }

    /// Returns where a statement stores buffers, and when these were allocated, if that is known.
    fn stored_buffer(&self, stmt: &Stmt) -> Option<(Local, Option<usize>)> {
        match stmt {
            Stmt::Memory(Memory::Store(b, _, a)) if is_buffer_operand(self.function, a) => {
                Some((b.local()?, self.order_of(a)))
            }
            Stmt::Memory(Memory::Move { to, from, .. }) => {
                is_table(self.function, to).then(|| Some((to.local()?, self.order_inside(from))))?
            }
            _ => None,
        }
    }

    fn visit_stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::If(xs, _, then, other) => {
                for (i, x) in xs.iter().enumerate() {
                    self.set(*x, self.first_of(&then.results[i], &other.results[i]));
                }
            }
            Stmt::For(looped) => {
                for (i, (y, init)) in looped.carried.iter().enumerate() {
                    let made = self.first_of(init, &looped.body.results[i]);
                    self.set(*y, made);
                    self.set(looped.results[i], made);
                }
            }
            Stmt::Memory(Memory::Alloc { buffer, .. } | Memory::Stack(buffer, _)) => {
                self.set(*buffer, self.aliases.order.get(buffer).copied());
            }
            Stmt::Memory(Memory::View(x, b, _) | Memory::Cast(x, b)) => self.set(*x, self.order_of(b)),
            Stmt::Memory(Memory::Load(x, b, _)) => self.set(*x, self.order_inside(b)),
            _ => {}
        }
    }

    /// Returns the earliest time at which a buffer stored in this one was allocated, if it is known.
    fn order_inside(&self, b: &Operand) -> Option<usize> {
        let made = self.order_of(b)?;
        let roots = self.aliases.roots_of(b.local()?);
        let holds = |(to, _): &&(Local, usize)| self.aliases.shows(*to, &roots);
        let is_known = self.unknown.is_disjoint(&roots);
        is_known.then(|| self.stored.iter().filter(holds).map(|(_, first)| *first).fold(made, usize::min))
    }

    fn first_of(&self, a: &Operand, b: &Operand) -> Option<usize> {
        Some(self.order_of(a)?.min(self.order_of(b)?))
    }

    fn order_of(&self, a: &Operand) -> Option<usize> {
        self.made.get(&a.local()?).copied()
    }

    fn set(&mut self, x: Local, made: Option<usize>) {
        if let Some(made) = made.filter(|_| is_buffer(self.function, x)) {
            self.made.insert(x, made);
        }
    }
}
