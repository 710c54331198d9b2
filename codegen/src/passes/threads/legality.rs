//! Which loops can be divided: those of whose iterations none sees what another one writes.
//!
//!   carried      sums (`accumulate`)
//!   writes       to buffers made in the same iteration; to others at places of its own (`places`), if they are touched
//!                nowhere else; or additions to what is not read (`private`)
//!   arena        an iteration gives back what it takes
//!   calls        of functions that write to nothing from outside, and do not print, call out, or recurse

use super::Planner;
use super::accumulate::{Sum, sums};
use super::cost::{Cost, estimate};
use super::places::{Place, Places, is_same};
use super::private::Private;
use crate::loops::{For, Local, Memory, Operand, Root, Roots, Scalar, Stmt};
use indexmap::IndexMap;
use std::collections::HashSet;

/// How to divide a loop.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Of what is carried.
    pub(super) sums: Vec<Sum>,
    pub(super) private: Vec<Private>,
    /// Of one iteration.
    pub(super) cost: Cost,
}

/// A look at a loop.
pub(super) struct Judge<'p, 'a> {
    planner: &'p Planner<'a>,
    looped: &'a For,
    places: Places<'a>,
    /// What is set in it.
    inside: HashSet<Local>,
    /// What it writes to, of what was there before.
    shared: Roots,
    /// How it touches that, by buffers from outside.
    touched: IndexMap<Local, Touched>,
}

/// How a loop touches a buffer, or what lies in it.
struct Touched {
    is_in_row: bool,
    /// All of it at one kind of own places.
    own: Option<Vec<Operand>>,
    /// Nothing but additions.
    is_added: bool,
    roots: Roots,
}

impl<'p, 'a> Judge<'p, 'a> {
    pub(super) fn new(planner: &'p Planner<'a>, looped: &'a For) -> Judge<'p, 'a> {
        let mut inside: HashSet<Local> = looped.carried.iter().map(|(x, _)| *x).chain([looped.index]).collect();
        looped.body.visit(&mut |stmt| inside.extend(stmt.targets().into_iter().chain(stmt.bound())));
        let places = Places::of(planner.function);
        Judge { planner, looped, places, inside, shared: Roots::new(), touched: IndexMap::new() }
    }

    /// How to divide it, if that is possible.
    pub(super) fn plan(mut self) -> Option<Plan> {
        let scalar = |x: Local| self.planner.function.ty(&x.into()).as_scalar();
        let sums = sums(self.looped, scalar)?;
        if !self.looped.body.gives_all_back(&self.inside, &self.planner.world.takes) || self.uses_outer_mark() {
            return None;
        }
        let mut stmts = Vec::new();
        self.looped.body.visit(&mut |stmt| stmts.push(stmt.clone()));
        stmts.iter().try_for_each(|stmt| self.writes(stmt))?;
        stmts.iter().try_for_each(|stmt| self.touches(stmt))?;
        let private = self.private()?;
        let cost = estimate(self.planner, self.looped, &self.inside);
        Some(Plan { sums, private, cost })
    }

    fn uses_outer_mark(&self) -> bool {
        let is_mark = |x: &Local| self.planner.function.ty(&(*x).into()) == Scalar::Mark.ty();
        self.looped.body.uses().iter().any(is_mark)
    }

    /// Finds what was there before and is written; none where that cannot be told.
    fn writes(&mut self, stmt: &Stmt) -> Option<()> {
        let (aliases, written) = (&self.planner.aliases, &self.planner.world.written);
        let is_loud = match stmt {
            Stmt::Call(_, callee, _) => !self.planner.world.is_quiet[callee.0],
            Stmt::External { .. } | Stmt::Write(_) | Stmt::Bench { .. } => true,
            Stmt::Let(..) | Stmt::If(..) | Stmt::For(_) | Stmt::Check { .. } | Stmt::Memory(_) => false,
        };
        if is_loud {
            return None;
        }
        if let Some(b) = stmt.writes() {
            let roots = aliases.roots_of(b);
            (!roots.is_empty()).then_some(())?;
            let older: Roots = roots.into_iter().filter(|root| self.is_older(root)).collect();
            self.shared.extend(older);
        }
        let given: Roots = stmt.hands_over(written).into_iter().flat_map(|b| aliases.reach(b)).collect();
        (!given.iter().any(|root| self.is_older(root))).then_some(())
    }

    fn is_older(&self, root: &Root) -> bool {
        match root {
            Root::Made(x) => !self.inside.contains(x),
            Root::Inside(_) => true,
        }
    }

    /// Notes how a statement touches what is written.
    fn touches(&mut self, stmt: &Stmt) -> Option<()> {
        match stmt {
            Stmt::Memory(Memory::Load(_, b, i) | Memory::Store(b, i, _)) => self.touch(b, Some(i), false),
            Stmt::Memory(Memory::Add(b, i, _)) => self.touch(b, Some(i), true),
            Stmt::Memory(Memory::Zero(b, _)) => self.touch(b, None, false),
            Stmt::Memory(Memory::Move { to, from, .. }) => {
                self.touch(to, None, false)?;
                self.touch(from, None, false)
            }
            Stmt::Call(_, _, args) => {
                let reached = args.iter().filter_map(Operand::local);
                let reached: Roots = reached.flat_map(|b| self.planner.aliases.reach(b)).collect();
                reached.is_disjoint(&self.shared).then_some(())
            }
            _ => Some(()),
        }
    }

    fn touch(&mut self, buffer: &Operand, at: Option<&Operand>, is_added: bool) -> Option<()> {
        let buffer = buffer.local()?;
        let aliases = &self.planner.aliases;
        if self.shared.is_empty() || !aliases.shows(buffer, &self.shared) {
            return Some(());
        }
        let Place { base, is_in_row, own } = self.places.place(self.looped.index, &self.inside, buffer, at)?;
        let roots = aliases.roots_of(buffer);
        let touched = self.touched.entry(base).or_insert(Touched { is_in_row, own: own.clone(), is_added, roots });
        let is_same = touched.own.as_ref().zip(own).is_some_and(|(a, b)| is_same(a, &b));
        touched.own = touched.own.take().filter(|_| is_same);
        touched.is_added &= is_added;
        touched.roots.extend(aliases.roots_of(buffer));
        (touched.is_in_row == is_in_row).then_some(())
    }

    /// What chunks need of their own; none where a buffer can neither be shared nor copied.
    fn private(&self) -> Option<Vec<Private>> {
        let mut private = Vec::new();
        for (i, (base, touched)) in self.touched.iter().enumerate() {
            let overlaps = self.touched.values().skip(i + 1).any(|other| !other.roots.is_disjoint(&touched.roots));
            let moves = touched.is_in_row && self.planner.aliases.shows(*base, &self.shared);
            if overlaps || moves {
                return None;
            }
            let is_apart =
                touched.own.is_some() && (!touched.is_in_row || self.planner.rows(*base, &self.places).is_some());
            if !is_apart {
                let copied = self.planner.private(*base, touched.is_in_row, self.looped, &self.places);
                private.push(copied.filter(|_| touched.is_added)?);
            }
        }
        Some(private)
    }
}
