//! Finds steps that make a new state of the old one.

use super::Updater;
use super::others::{Others, Rule, Way, is_passing};
use super::two_buffers::Pair;
use crate::analyses::nests::Nest;
use crate::analyses::scopes::kept;
use crate::analyses::worked_on::{is_add, is_load, is_worked_on};
use crate::ir::{Block, For, Local, Memory, Operand, Stmt};
use lm::term::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// The longest body of a loop that is written twice, in statements.
const LONGEST_TWICE: usize = 300;

/// A step, by the places of its statements in the body of the loop.
pub(super) struct Step {
    /// The new state.
    pub(super) buffer: Local,
    /// The number of its elements.
    pub(super) count: Operand,
    pub(super) alloc: usize,
    pub(super) span: Span,
    /// The end of the scope: the question whether the state must move, and the conditional that moves it.
    pub(super) kept: Option<[usize; 2]>,
    pub(super) change: Change,
}

impl Step {
    /// Copies the first state to its buffer.
    pub(super) fn first_state(&self, state: Local, init: Operand) -> Stmt {
        Stmt::Memory(Memory::Move { to: state.into(), from: init, count: self.count.clone() })
    }

    /// Returns whether the states are better made in two buffers: the old one would have to be copied, and what a step does
    /// with an element takes little longer than that.
    pub(super) fn is_better_in_two_buffers(&self, looped: &For) -> bool {
        let Change::Stores { at, nest, ways } = &self.change else { return false };
        let mut is_simple = true;
        nest.innermost(&looped.body.stmts[*at]).visit(&mut |stmt| {
            is_simple &= !matches!(stmt, Stmt::For(_) | Stmt::Call(..) | Stmt::External { .. } | Stmt::Bench { .. });
        });
        is_simple && ways.contains(&Way::Whole) && looped.body.len() <= LONGEST_TWICE
    }

    /// Takes what makes the new state out of a loop.
    pub(super) fn into_pair(self, looped: &mut For, [old, state]: [Local; 2], init: Option<Operand>) -> Pair {
        let Step { alloc, kept, buffer, count, span, .. } = self;
        let dropped: Vec<usize> = [alloc].into_iter().chain(kept.into_iter().flatten()).collect();
        let stmts = std::mem::take(&mut looped.body.stmts).into_iter().enumerate();
        looped.body.stmts = stmts.filter(|(at, _)| !dropped.contains(at)).map(|(_, stmt)| stmt).collect();
        Pair { state, names: [old, buffer], init, count, span }
    }
}

/// How the new state comes from the old one.
pub(super) enum Change {
    /// It is a copy, which is then changed: behind the statement `last`.
    Copy { at: usize, last: usize },
    /// A nest stores each element.
    Stores { at: usize, nest: Nest, ways: Vec<Way> },
    /// A nest adds to elements, which are zero first. It passes some of the old ones on, or adds to each in its place.
    Sums { zero: usize, at: usize, nest: Nest, ways: Vec<Way>, loaded: Local },
}

impl Change {
    /// The last statement that uses the old state.
    fn last(&self) -> usize {
        match self {
            Change::Copy { last, .. } => *last,
            Change::Stores { at, .. } | Change::Sums { at, .. } => *at,
        }
    }
}

impl Updater<'_> {
    /// Returns the step of the i-th carried value. A statement may store the new state elsewhere: then nothing but the
    /// nest changes it.
    pub(super) fn step(&mut self, looped: &For, i: usize, record: Option<usize>) -> Option<Step> {
        let old = looped.carried[i].0;
        let element = self.locals[old.0 as usize].ty.element().filter(|ty| ty.as_scalar().is_some());
        element.filter(|_| looped.lanes == 1 && looped.jam == 1 && !looped.on_threads)?;
        let stmts = &looped.body.stmts;
        let next = looped.body.results[i].local()?;
        let (buffer, kept) = new_state(stmts, next)?;
        let is_alloc = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer: b, .. }) if *b == buffer);
        let alloc = stmts.iter().position(is_alloc)?;
        let Stmt::Memory(Memory::Alloc { count, span, .. }) = &stmts[alloc] else { return None };
        let mut results = looped.body.results.iter().enumerate().filter(|(j, _)| *j != i);
        let is_elsewhere = results.any(|(_, a)| [old, buffer, next].map(Some).contains(&a.local()));
        if is_elsewhere || !is_fixed(count, looped) {
            return None;
        }
        let first = alloc + 1 + stmts[alloc + 1..].iter().position(|stmt| stmt.mentions(buffer))?;
        let (count, span) = (count.clone(), *span);
        let change = self.change(looped, [old, buffer], &count, first)?;
        let last = change.last();
        let is_of_scope = |at: usize| kept.is_some_and(|kept: [usize; 2]| kept.contains(&at));
        let is_right = |(at, stmt): (usize, &Stmt)| match at {
            at if at == alloc || is_of_scope(at) || record == Some(at) => true,
            at if at < first => self.only_reads(stmt, old),
            at if at > last && record.is_some() => {
                !stmt.mentions(old) && self.only_reads(stmt, buffer) && !(next != buffer && stmt.mentions(next))
            }
            at if at > last => {
                !stmt.mentions(old) && self.only_works(stmt, buffer) && !(next != buffer && stmt.mentions(next))
            }
            at if at == first => true,
            _ if matches!(change, Change::Copy { .. }) => self.only_reads(stmt, old),
            at => at == last || !stmt.mentions(old) && !stmt.mentions(buffer),
        };
        let is_logged = record.is_none_or(|at| at > last && matches!(change, Change::Stores { .. }));
        let is_scope_after = is_logged && kept.is_none_or(|kept| kept.into_iter().all(|at| at > last));
        (is_scope_after && stmts.iter().enumerate().all(is_right)).then_some(Step {
            buffer,
            count,
            alloc,
            span,
            kept,
            change,
        })
    }

    fn change(&mut self, looped: &For, [old, buffer]: [Local; 2], count: &Operand, first: usize) -> Option<Change> {
        match &looped.body.stmts[first] {
            Stmt::Memory(Memory::Move { to, from, count: n }) => {
                let is_whole = to.local() == Some(buffer) && from.local() == Some(old) && n.same(count);
                // Until the copy is changed, the old state may be read: it is the same.
                let is_scope = |stmt: &Stmt| kept(stmt).is_some() || matches!(stmt, Stmt::Memory(Memory::Above(..)));
                let changes = |stmt: &Stmt| stmt.mentions(buffer) || is_scope(stmt);
                let since = looped.body.stmts[first + 1..].iter().take_while(|stmt| !changes(stmt)).count();
                is_whole.then_some(Change::Copy { at: first, last: first + since })
            }
            Stmt::Memory(Memory::Zero(b, n)) if b.local() == Some(buffer) && n.same(count) && self.may_reorder => {
                self.sums(looped, [old, buffer], count, first)
            }
            Stmt::For(_) => self.stores(looped, [old, buffer], first),
            _ => None,
        }
    }

    fn stores(&mut self, looped: &For, [old, buffer]: [Local; 2], at: usize) -> Option<Change> {
        let stmt = &looped.body.stmts[at];
        let is_store = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Store(b, ..)) if b.local() == Some(buffer));
        let mut nest = Nest::of(stmt, &is_store, &|stmt| stmt.mentions(buffer))?;
        nest.know_before(&looped.body.stmts[..at]);
        let innermost = nest.innermost(stmt);
        let mut stores = innermost.stmts.iter().enumerate().filter(|(_, stmt)| stmt.mentions(buffer));
        let (store, Stmt::Memory(Memory::Store(_, x, value))) = stores.next()? else { return None };
        let reads_before = !innermost.stmts[store + 1..].iter().any(|stmt| stmt.mentions(old));
        let is_right = stores.next().is_none() && nest.is_place(x) && value.local() != Some(buffer);
        if !is_right || !reads_before || !is_worked_on(stmt, old, &is_load) || results_mention(stmt, buffer) {
            return None;
        }
        let rule = store_rule(stmt, value, old, &nest);
        let place = |stmt: &Stmt| match stmt {
            Stmt::Memory(Memory::Load(_, b, y)) if b.local() == Some(old) => Some(y.clone()),
            _ => None,
        };
        let ways = self.ways(looped, at, &nest, &rule, &place)?;
        Some(Change::Stores { at, nest, ways })
    }

    fn sums(&mut self, looped: &For, [old, buffer]: [Local; 2], count: &Operand, zero: usize) -> Option<Change> {
        let touches = |stmt: &Stmt| stmt.mentions(buffer) || stmt.mentions(old);
        let at = zero + 1 + looped.body.stmts[zero + 1..].iter().position(touches)?;
        let stmt = &looped.body.stmts[at];
        let is_load = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Load(_, b, _)) if b.local() == Some(old));
        let mut nest = Nest::of(stmt, &is_load, &touches)?;
        nest.know_before(&looped.body.stmts[..at]);
        let innermost = nest.innermost(stmt);
        let load = innermost.stmts.iter().position(touches)?;
        let Stmt::Memory(Memory::Load(loaded, b, x)) = &innermost.stmts[load] else { return None };
        let is_alone = b.local() == Some(old)
            && nest.is_place(x)
            && !innermost.stmts[load + 1..].iter().any(|stmt| stmt.mentions(old))
            && is_worked_on(stmt, buffer, &is_add)
            && !results_mention(stmt, old)
            && self.extents.is_product(count, &nest.sizes);
        let loaded = *loaded;
        // Otherwise nothing is gained: all elements would be set to zero.
        let has_own = innermost.stmts.iter().any(
            |stmt| matches!(stmt, Stmt::Memory(Memory::Add(b, y, _)) if b.local() == Some(buffer) && nest.is_place(y)),
        );
        let passes = passing(innermost, buffer, loaded, &nest);
        if !is_alone || passes.is_none_or(|passes| !passes && !has_own) {
            return None;
        }
        let place = |stmt: &Stmt| match stmt {
            Stmt::Memory(Memory::Add(b, y, _)) if b.local() == Some(buffer) => Some(y.clone()),
            _ => None,
        };
        let ways = self.ways(looped, at, &nest, &Rule::Sum { buffer, loaded }, &place)?;
        Some(Change::Sums { zero, at, nest, ways, loaded })
    }

    /// The ways to the other elements that a nest uses. None if there is no memory for tables: what the nest takes from
    /// the arena might have to stay.
    fn ways(
        &mut self,
        looped: &For,
        at: usize,
        nest: &Nest,
        rule: &Rule,
        access: &dyn Fn(&Stmt) -> Option<Operand>,
    ) -> Option<Vec<Way>> {
        let stmt = &looped.body.stmts[at];
        // Other states of the loop may have been updated just now.
        self.ranges.know(self.locals);
        let mark = self.ranges.mark();
        self.ranges.enter(&Stmt::For(Box::new(looped.clone())), 0);
        looped.body.stmts[..at].iter().for_each(|before| self.ranges.learn_from(before));
        let mut others = Others { nest, rule, innermost: nest.innermost(stmt), access, ways: vec![] };
        others.visit(stmt, &mut self.ranges, self.locals);
        let ways = others.ways;
        self.ranges.back_to(mark);
        let needs_memory = ways.iter().any(|way| matches!(way, Way::Table(_) | Way::Whole));
        (!needs_memory || !self.uses_arena(stmt)).then_some(ways)
    }

    pub(super) fn uses_arena(&self, stmt: &Stmt) -> bool {
        let own = match stmt {
            Stmt::Call(_, callee, _) => self.takes[callee.0],
            stmt => stmt.uses_arena(),
        };
        own || stmt.blocks().flat_map(|block| &block.stmts).any(|stmt| self.uses_arena(stmt))
    }

    pub(super) fn is_buffer(&self, x: Local) -> bool {
        self.locals[x.0 as usize].ty.as_scalar().is_none()
    }

    /// Returns whether a statement uses a buffer only to read it, so that nothing else shows it.
    pub(super) fn only_reads(&self, stmt: &Stmt, x: Local) -> bool {
        let is_it = |a: &Operand| a.local() == Some(x);
        let own = match stmt {
            Stmt::Memory(Memory::Load(_, _, i)) => !is_it(i),
            Stmt::Memory(Memory::Move { to, .. }) => !is_it(to),
            Stmt::Call(xs, _, args) => !args.iter().any(is_it) || !xs.iter().any(|x| self.is_buffer(*x)),
            stmt => !stmt.operands().into_iter().any(is_it),
        };
        own && self.in_blocks(stmt, x, &|stmt| self.only_reads(stmt, x))
    }

    /// Returns whether nothing else shows a buffer after a statement.
    fn only_works(&self, stmt: &Stmt, x: Local) -> bool {
        let is_it = |a: &Operand| a.local() == Some(x);
        let own = match stmt {
            Stmt::Memory(Memory::Load(..) | Memory::Add(..) | Memory::Zero(..) | Memory::Move { .. }) => true,
            Stmt::Memory(Memory::Store(_, _, a)) => !is_it(a),
            Stmt::Call(xs, _, args) => !args.iter().any(is_it) || !xs.iter().any(|x| self.is_buffer(*x)),
            stmt => !stmt.operands().into_iter().any(is_it),
        };
        own && self.in_blocks(stmt, x, &|stmt| self.only_works(stmt, x))
    }

    fn in_blocks(&self, stmt: &Stmt, x: Local, holds: &dyn Fn(&Stmt) -> bool) -> bool {
        let gives = |block: &Block| block.results.iter().any(|a| a.local() == Some(x));
        stmt.blocks().all(|block| !gives(block) && block.stmts.iter().all(holds))
    }
}

/// Returns the buffer that is a local, or that the end of a scope makes it.
pub(super) fn new_state(stmts: &[Stmt], next: Local) -> Option<(Local, Option<[usize; 2]>)> {
    let set = stmts.iter().position(|stmt| stmt.targets().contains(&next))?;
    let Some(scope) = kept(&stmts[set]) else { return Some((next, None)) };
    let is_question = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Above(x, b, _)) if *x == scope.condition && b.local() == Some(scope.buffer));
    let above = stmts.iter().position(is_question)?;
    let uses = stmts.iter().filter(|stmt| stmt.mentions(scope.condition)).count();
    (uses == 1).then_some((scope.buffer, Some([above, set])))
}

/// Returns whether a loop leaves an operand as it is.
fn is_fixed(a: &Operand, looped: &For) -> bool {
    let Some(x) = a.local() else { return true };
    let mut is_set = looped.index == x || looped.carried.iter().any(|(y, _)| *y == x);
    looped.body.visit(&mut |stmt| is_set |= stmt.targets().contains(&x) || stmt.bound().contains(&x));
    !is_set
}

/// Returns whether a block of the statement gives a local.
fn results_mention(stmt: &Stmt, x: Local) -> bool {
    stmt.blocks().any(|block| {
        block.results.iter().any(|a| a.local() == Some(x)) || block.stmts.iter().any(|inner| results_mention(inner, x))
    })
}

/// Returns how the nest chooses what it stores.
fn store_rule(stmt: &Stmt, value: &Operand, old: Local, nest: &Nest) -> Rule {
    let mut choices = FxHashMap::default();
    let mut see = |stmt: &Stmt| {
        if let Stmt::If(xs, condition, then, other) = stmt {
            for (i, x) in xs.iter().enumerate() {
                choices.insert(*x, [condition.clone(), then.results[i].clone(), other.results[i].clone()]);
            }
        }
    };
    stmt.blocks().for_each(|block| block.visit(&mut see));
    Rule::Store(value.clone(), choices, own_loads(stmt, old, nest))
}

/// Returns the locals that hold the old value of the iteration's own element.
pub(super) fn own_loads(stmt: &Stmt, old: Local, nest: &Nest) -> FxHashSet<Local> {
    let mut own = FxHashSet::default();
    let mut see = |stmt: &Stmt| {
        if let Stmt::Memory(Memory::Load(x, b, y)) = stmt
            && b.local() == Some(old)
            && nest.is_place(y)
        {
            own.insert(*x);
        }
    };
    stmt.blocks().for_each(|block| block.visit(&mut see));
    own
}

/// Returns whether a block passes an element on in some of its arms; none if it does so in a way that is not understood.
pub(super) fn passing(block: &Block, buffer: Local, loaded: Local, nest: &Nest) -> Option<bool> {
    let mut found = None;
    for (at, stmt) in block.stmts.iter().enumerate() {
        let passes = match stmt {
            stmt if is_passing(stmt, buffer, loaded, nest) => true,
            Stmt::If(_, _, then, other) => {
                let [then, other] = [then, other].map(|arm| passing(arm, buffer, loaded, nest));
                then? | other?
            }
            stmt => {
                let mut inside = false;
                let mut see = |stmt: &Stmt| inside |= is_passing(stmt, buffer, loaded, nest);
                stmt.blocks().for_each(|block| block.visit(&mut see));
                (!inside).then_some(false)?
            }
        };
        if passes && found.replace(at).is_some() {
            return None;
        }
    }
    // What is added before a conditional sets the element to zero would be lost.
    let Some(at) = found else { return Some(false) };
    let is_direct = is_passing(&block.stmts[at], buffer, loaded, nest);
    (is_direct || !block.stmts[..at].iter().any(|stmt| stmt.mentions(buffer))).then_some(true)
}
