//! Gives a buffer the memory of another buffer of its block that is no longer used.
//!
//! ```text
//! b = alloc n; s; c = alloc m; t     =   b = alloc n; s; t, with b for c         t does not use b, m <= n
//! for i in .. { x = load b[i]; .. store c[i] = e }             also if this is the last use of b and the first of c
//! ```
//!
//! b is in use up to the last statement of the block that uses anything by which b can be reached. c is in use from the
//! first that uses anything by which c can be reached. So what lies in other buffers is left alone, and what the block
//! gives. m <= n is one operand, or follows from `ranges`. Cost model: none. A copy of an address takes no time and
//! memory that was used lately is near; the arena has never more in use than before.
//!
//! A buffer of buffers takes the memory of no other, and gives its own to none. Otherwise its old content would seem to
//! be in it still, wherever aliases are asked for.
//!
//! It runs late: passes that divide loops, or run them in lanes, make buffers as others were made, and want to see that
//! two share nothing. In lanes, both have the same form (`divergence`), and none has rows.

mod in_place;

use super::pass::FunctionCx;
use crate::analyses::alias::Aliases;
use crate::analyses::divergence::{AllocForm, Divergence};
use crate::analyses::ranges::Ranges;
use crate::analyses::roots::Root;
use crate::ir::{Block, Function, Local, Memory, Operand, Stmt, Ty};
use in_place::is_in_place;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

pub(super) fn run(cx: &mut FunctionCx) {
    if most_buffers(&cx.function.body) > 1 {
        let aliases = cx.aliases();
        let mut reuse = Reuse::new(cx.function, aliases);
        reuse.reuse_in_block(&cx.function.body, None);
        let names = reuse.names;
        cx.function.body.drop_made(&names);
        cx.function.body.rename(&names);
    }
}

/// Returns how many buffers one block makes, at most.
fn most_buffers(block: &Block) -> usize {
    let inner = block.stmts.iter().flat_map(Stmt::blocks).map(most_buffers).max().unwrap_or(0);
    let own = block.stmts.iter().filter(|stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { .. }))).count();
    own.max(inner)
}

struct Reuse<'a> {
    function: &'a Function,
    aliases: Rc<Aliases>,
    ranges: Ranges,
    /// Marks at which a piece begins that slides: what belongs to the piece must lie in it.
    pieces: FxHashSet<Local>,
    /// The buffers that take the place of others, and of which.
    names: FxHashMap<Local, Local>,
}

/// For each buffer that a block makes, the first and the last statement of the block that use it.
#[derive(Default)]
struct Spans(FxHashMap<Local, (usize, usize)>);

/// A buffer that the block has made, and those that took its place.
struct SharedBuffer {
    buffers: Vec<Local>,
    ty: Ty,
    form: Option<AllocForm>,
    count: Operand,
    /// The statement that made it.
    at: usize,
}

impl<'a> Reuse<'a> {
    fn new(function: &'a Function, aliases: Rc<Aliases>) -> Reuse<'a> {
        let mut pieces = FxHashSet::default();
        function.body.visit(&mut |stmt| {
            if let Stmt::Memory(Memory::Slide(_, piece, _)) = stmt {
                pieces.extend(piece.local());
            }
        });
        Reuse { function, aliases, ranges: Ranges::new(function), pieces, names: FxHashMap::default() }
    }

    /// A block, and those in it; the loop in lanes around it, if there is one, by what is known of it.
    fn reuse_in_block(&mut self, block: &Block, spread: Option<&Divergence>) {
        let spans = self.spans(block);
        let mut places: Vec<SharedBuffer> = vec![];
        let mut marks: FxHashMap<Local, usize> = FxHashMap::default();
        for (i, stmt) in block.stmts.iter().enumerate() {
            self.reuse_in_inner_blocks(stmt, spread);
            forget_released(stmt, &marks, &mut places);
            if let Stmt::Memory(Memory::Mark(m)) = stmt {
                marks.insert(*m, i);
            }
            let Stmt::Memory(Memory::Alloc { buffer, count, .. }) = stmt else { continue };
            let (buffer, count) = (*buffer, count.clone());
            let Some(new) = self.place(buffer, count, i, spread) else { continue };
            let begins = marks.iter().filter(|(m, _)| self.pieces.contains(m)).map(|(_, at)| *at).max();
            let taken = self.taken(&places, &new, block, &spans, begins);
            match taken.map(|k| &mut places[k]) {
                Some(place) => {
                    self.names.insert(buffer, place.buffers[0]);
                    place.buffers.push(buffer);
                }
                None => places.push(new),
            }
        }
    }

    fn reuse_in_inner_blocks(&mut self, stmt: &Stmt, spread: Option<&Divergence>) {
        let own = match stmt {
            Stmt::For(looped) if looped.lanes > 1 && spread.is_none() => {
                Some(Divergence::of(self.function, &self.aliases, looped).expect("a loop with lanes can run in them"))
            }
            _ => None,
        };
        for (k, block) in stmt.blocks().enumerate() {
            let mark = self.ranges.mark();
            self.ranges.enter(stmt, k);
            self.reuse_in_block(block, spread.or(own.as_ref()));
            self.ranges.back_to(mark);
        }
        self.ranges.learn_from(stmt);
    }

    /// Returns what could be taken over, or take over: no rows in lanes, nothing that other memory holds, and nothing
    /// that holds other memory.
    fn place(&self, buffer: Local, count: Operand, at: usize, spread: Option<&Divergence>) -> Option<SharedBuffer> {
        let form = spread.map(|spread| spread.form(buffer));
        let ty = self.function.ty(&Operand::Local(buffer));
        let is_flat = ty.element().is_some_and(|element| element.as_scalar().is_some());
        let fits = is_flat && form != Some(AllocForm::Rows) && !self.aliases.is_held(Root::Made(buffer));
        fits.then(|| SharedBuffer { buffers: vec![buffer], ty, form, count, at })
    }

    /// The place that a new buffer takes.
    fn taken(
        &mut self,
        places: &[SharedBuffer],
        new: &SharedBuffer,
        block: &Block,
        spans: &Spans,
        piece: Option<usize>,
    ) -> Option<usize> {
        let buffer = new.buffers[0];
        let free = |place: &&(usize, &SharedBuffer)| {
            let place = place.1;
            place.ty == new.ty
                && place.form == new.form
                && piece.is_none_or(|piece| piece < place.at)
                && place.buffers.iter().all(|b| self.gives_way(*b, buffer, block, spans))
        };
        let numbered: Vec<(usize, &SharedBuffer)> = places.iter().enumerate().collect();
        let free: Vec<(usize, &SharedBuffer)> = numbered.iter().filter(free).copied().collect();
        let same = free.iter().find(|(_, place)| place.count.same(&new.count)).map(|(k, _)| *k);
        same.or_else(|| {
            free.iter().find(|(_, place)| self.ranges.is_at_most(&new.count, &place.count)).map(|(k, _)| *k)
        })
    }

    /// Returns whether one buffer is done when the other begins.
    fn gives_way(&self, old: Local, new: Local, block: &Block, spans: &Spans) -> bool {
        let (Some((_, last)), Some((first, _))) = (spans.0.get(&old), spans.0.get(&new)) else {
            // One of them is not used at all.
            return true;
        };
        let in_place = |stmt| is_in_place(stmt, old, new, &self.aliases);
        last < first || last == first && block.stmts.get(*last).is_some_and(in_place)
    }

    /// Returns the live ranges of the buffers that the block makes.
    fn spans(&self, block: &Block) -> Spans {
        let mut spans = Spans::default();
        let is_alloc = |stmt: &&Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { .. }));
        let made: FxHashSet<Local> = block.stmts.iter().filter(is_alloc).flat_map(Stmt::targets).collect();
        if made.len() < 2 {
            return spans;
        }
        let mut reached: FxHashMap<Local, Vec<Local>> = FxHashMap::default();
        let mut uses = |a: &Operand, at: usize| {
            let Some(x) = a.local() else { return };
            let reached = reached.entry(x).or_insert_with(|| {
                let is_made = |root: Root| if let Root::Made(b) = root { made.get(&b).copied() } else { None };
                self.aliases.reach(x).iter().filter_map(is_made).collect()
            });
            for b in reached.iter() {
                spans.0.entry(*b).or_insert((at, at)).1 = at;
            }
        };
        for (at, stmt) in block.stmts.iter().enumerate() {
            every_operand(stmt, &mut |a| uses(a, at));
        }
        block.results.iter().for_each(|a| uses(a, usize::MAX));
        spans
    }
}

/// The operands of a statement, and of all in its blocks.
fn every_operand(stmt: &Stmt, f: &mut impl FnMut(&Operand)) {
    stmt.operands().into_iter().for_each(&mut *f);
    for block in stmt.blocks() {
        block.stmts.iter().for_each(|inner| every_operand(inner, f));
        block.results.iter().for_each(&mut *f);
    }
}

/// Removes the buffers that a statement releases from those that can be reused.
fn forget_released(stmt: &Stmt, marks: &FxHashMap<Local, usize>, places: &mut Vec<SharedBuffer>) {
    let mut own = FxHashSet::default();
    let mut released = vec![];
    let mut see = |stmt: &Stmt| {
        own.extend(stmt.targets());
        match stmt {
            Stmt::Memory(Memory::Release(m)) => released.extend(m.local()),
            Stmt::Memory(Memory::Slide(_, piece, m)) => released.extend(piece.local().into_iter().chain(m.local())),
            _ => {}
        }
    };
    see(stmt);
    stmt.blocks().for_each(|block| block.visit(&mut see));
    for m in released.into_iter().filter(|m| !own.contains(m)) {
        let since = marks.get(&m).copied();
        places.retain(|place| since.is_some_and(|since| place.at < since));
    }
}

impl Block {
    /// Without the buffers that take the place of others.
    fn drop_made(&mut self, names: &FxHashMap<Local, Local>) {
        let takes_place =
            |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer, .. }) if names.contains_key(buffer));
        self.stmts.retain(|stmt| !takes_place(stmt));
        self.stmts.iter_mut().flat_map(Stmt::blocks_mut).for_each(|block| block.drop_made(names));
    }
}
