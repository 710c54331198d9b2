//! Makes each element at once, where all that iterations add to a buffer is quickly computed again.
//!
//! ```text
//! zero d
//! for i in 0..n { for j in 0..m { s; add d[i m + j] += x; if 0 <= i - 1 { add d[(i - 1) m + j] += y } } }
//!   =  for i in 0..n { for j in 0..m { s; store d[i m + j] = x + if i + 1 < n { y at (i + 1, j) } else { 0 } } }
//! ```
//!
//! Where d is not zero before, the nest adds to it. A step of a loop that makes a new cotangent of the old one becomes a
//! stencil itself, which `update_in_place` makes in two buffers.
//!
//! What is computed again may load at places that are made of indices, from buffers that the nest leaves as they are.
//! All checks of the nest come before it, since an iteration would load before those of another one.

use super::additions::{Addition, At};
use super::taking::Values;
use super::{Gathered, Gatherer, MOST_TERMS, adding_nest, by_buffer, checks};
use crate::analyses::nests::{Loads, Nest};
use crate::ir::{Block, Builder, Cost, Local, LocalInfo, Memory, Operand, Scalar, Stmt};
use lm::sizes::Polynomial;
use rustc_hash::FxHashSet;

/// The most operations on Floats and loads that are done again for a term. A table costs a store, a load for each term, and
/// a nest of its own.
const MOST_AGAIN: usize = 10;

/// The most statements that are looked at for it.
const MOST_STATEMENTS: usize = 100;

impl Gatherer<'_> {
    /// Lets each iteration of a nest take what others would add to its element; `before` has the statements before the
    /// nest in its block.
    pub(super) fn take_at_once(&mut self, stmt: &mut Stmt, before: &mut Vec<Stmt>) {
        let Some(nest) = adding_nest(stmt) else { return };
        let additions = self.additions(stmt, &nest);
        let own = vec![Polynomial::constant(0); nest.indices.len()];
        let loads = self.fixed_loads(stmt, &nest);
        let gathered =
            |(buffer, additions): (Local, Vec<_>)| self.gathered_again(stmt, buffer, &additions, &nest, &loads, &own);
        let gathered: Vec<Gathered> = by_buffer(&additions).into_iter().filter_map(gathered).collect();
        if gathered.is_empty() || checks::come_first(stmt, &nest, before, self.locals).is_none() {
            return;
        }
        let nest = adding_nest(stmt).expect("the nest has fewer statements only");
        for gathered in gathered {
            let stores = take_zero(before, gathered.buffer, &|n| self.extents.is_product(n, &nest.sizes));
            self.take(stmt, &gathered, &nest, &loads, stores);
        }
    }

    /// Returns the loads of a nest that may be done at other indices.
    fn fixed_loads(&self, stmt: &Stmt, nest: &Nest) -> Loads {
        let (mut loads, none) = (Loads::default(), Loads::default());
        let is_known = |place: &Operand| {
            let seen = FxHashSet::default();
            Again { nest, loads: &none, locals: self.locals, counts_all: false, seen }.cost(place).is_some()
        };
        let mut see = |stmt: &Stmt| {
            if let Stmt::Memory(Memory::Load(x, b, place)) = stmt
                && b.local().is_some_and(|b| !nest.set.contains(&b))
                && is_known(place)
            {
                loads.insert(*x, (b.clone(), place.clone()));
            }
        };
        stmt.blocks().for_each(|block| block.visit(&mut see));
        let mut changed: FxHashSet<Local> = FxHashSet::default();
        let mut see = |stmt: &Stmt| {
            let buffers = loads.values().filter_map(|(b, _)| b.local());
            changed.extend(buffers.filter(|b| self.aliases.changes(stmt, *b, self.summaries)));
        };
        stmt.blocks().for_each(|block| block.visit(&mut see));
        loads.retain(|_, (b, _)| b.local().is_some_and(|b| !changed.contains(&b)));
        loads
    }

    /// Returns all that a nest adds to a buffer, if that is quickly computed again; `own` is no offset.
    fn gathered_again<'a>(
        &self,
        stmt: &Stmt,
        buffer: Local,
        additions: &[&'a Addition],
        nest: &Nest,
        loads: &Loads,
        own: &'a [Polynomial],
    ) -> Option<Gathered<'a>> {
        let only_adds = || stmt.blocks().all(|block| self.aliases.only_adds(block, buffer, self.summaries));
        (additions.len() <= MOST_TERMS && !nest.set.contains(&buffer) && only_adds()).then_some(())?;
        let mut terms = Vec::new();
        for addition in additions {
            let offsets = match addition.at.as_ref()? {
                At::Own => own,
                At::Offset(offsets, sizes) => {
                    sizes.iter().zip(&nest.sizes[1..]).all(|(a, b)| a.same(b)).then_some(())?;
                    offsets
                }
            };
            let is_at_hand = offsets == own && addition.conditions.is_empty();
            (is_at_hand || self.is_known_again(addition, nest, loads)).then_some(())?;
            terms.push((offsets, *addition));
        }
        terms.iter().any(|(offsets, _)| *offsets != own).then_some(())?;
        let first = self.extents.rows(buffer, &nest.sizes[1..])?;
        first.same(&nest.sizes[0]).then(|| Gathered { buffer, sizes: nest.sizes.clone(), terms })
    }

    /// Returns whether other iterations quickly know what is added, and when.
    fn is_known_again(&self, addition: &Addition, nest: &Nest, loads: &Loads) -> bool {
        let mut again = Again { nest, loads, locals: self.locals, counts_all: false, seen: FxHashSet::default() };
        let asks = addition.conditions.iter().try_fold(0, |sum, (condition, _)| Some(sum + again.cost(condition)?));
        again.counts_all = addition.value.ty(self.locals) == Scalar::Integer.ty();
        asks.is_some_and(|asks| again.cost(&addition.value).is_some_and(|cost| asks + cost <= MOST_AGAIN))
    }

    /// Changes a nest: each iteration stores, or adds, the whole sum of its element.
    fn take(&mut self, stmt: &mut Stmt, gathered: &Gathered, nest: &Nest, loads: &Loads, stores: bool) {
        let at_hand = nest.at_hand(stmt);
        let innermost = nest.innermost_mut(stmt);
        drop_additions(innermost, gathered.buffer);
        let mark = self.ranges.mark();
        let values = Values::Again { loads, at_hand: &at_hand };
        let (mut before, mut body) = (Vec::new(), Vec::new());
        let sum = self.sum(gathered, &nest.indices, nest, &values, &mut before, &mut body);
        self.ranges.back_to(mark);
        let mut build = Builder { locals: self.locals };
        let place = build.place(&nest.indices, &nest.sizes, &mut body);
        let buffer = Operand::Local(gathered.buffer);
        let zero = build.locals[gathered.buffer.0 as usize].ty.element().and_then(|ty| ty.zero());
        let sum = sum.or(zero).expect("what is added has a zero");
        body.push(Stmt::Memory(match stores {
            true => Memory::Store(buffer, place, sum),
            false => Memory::Add(buffer, place, sum),
        }));
        innermost.stmts.extend(before.into_iter().chain(body));
        self.ranges.know(self.locals);
    }
}

/// What it takes to compute values of a nest at other indices.
struct Again<'a> {
    nest: &'a Nest,
    loads: &'a Loads,
    locals: &'a [LocalInfo],
    /// Whether operations on Integers count, too: they are no indices.
    counts_all: bool,
    seen: FxHashSet<Local>,
}

impl Again<'_> {
    /// Returns how many operations and loads compute a value or a condition; none if that is not possible, or one of them
    /// takes long.
    fn cost(&mut self, a: &Operand) -> Option<usize> {
        let nest = self.nest;
        let Some(x) = a.local().filter(|x| nest.set.contains(x) && !nest.indices.contains(x)) else { return Some(0) };
        if !self.seen.insert(x) {
            return Some(0);
        }
        (self.seen.len() <= MOST_STATEMENTS).then_some(())?;
        if self.loads.contains_key(&x) {
            return Some(1);
        }
        if let Some(choice) = nest.choices.get(&x) {
            return choice.iter().try_fold(0, |sum, a| Some(sum + self.cost(a)?));
        }
        let (op, args) = nest.made.get(&x)?;
        matches!(op.cost(), Cost::Free | Cost::Cheap | Cost::Simple).then_some(())?;
        let is_float = |a: &Operand| a.ty(self.locals) == Scalar::Float.ty();
        let own = usize::from(self.counts_all || is_float(&x.into()) || args.iter().any(is_float));
        args.iter().try_fold(own, |sum, arg| Some(sum + self.cost(arg)?))
    }
}

fn drop_additions(block: &mut Block, buffer: Local) {
    block.stmts.retain(|stmt| !matches!(stmt, Stmt::Memory(Memory::Add(b, ..)) if b.local() == Some(buffer)));
    block.stmts.iter_mut().flat_map(Stmt::blocks_mut).for_each(|inner| drop_additions(inner, buffer));
}

/// Takes out the statement that sets a buffer to zero. Returns whether there was one, and nothing else was done with the
/// buffer since it was made.
fn take_zero(before: &mut Vec<Stmt>, buffer: Local, is_count: &dyn Fn(&Operand) -> bool) -> bool {
    let is_made = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer: b, .. }) if *b == buffer);
    let Some(made) = before.iter().position(is_made) else { return false };
    let mut uses = (made + 1..before.len()).filter(|at| before[*at].mentions(buffer));
    let zero = uses.next().filter(|at| match &before[*at] {
        Stmt::Memory(Memory::Zero(b, n)) => b.local() == Some(buffer) && is_count(n),
        _ => false,
    });
    let Some(zero) = zero.filter(|_| uses.next().is_none()) else { return false };
    before.remove(zero);
    true
}
