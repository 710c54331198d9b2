//! Finds loops on threads whose bodies have the same code, which is then emitted once.
//!
//! ```text
//! for c in 0..k on threads { s }     and     for c' in 0..k' on threads { s' }     where s' is s with other locals
//! ```
//!
//! A program multiplies matrices in many places, and each product is such a loop once its function is inlined. What
//! counts is the body, its locals numbered in the order in which they appear, with what the emitter knows of them:
//! types, which buffers may share memory, which conditions are likely, and how often the code runs.
//!
//! Only bodies that work on buffers of scalars from outside have a key. Others ask for more of what is known of the
//! function.

use super::frame::Frame;
use indexmap::IndexSet;
use loops::ir::{Block, For, Local, Operand, Stmt, Ty};
use rustc_hash::FxHashSet;

/// What the code of a body depends on, but for how often it runs.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ChunkKey {
    /// The body, its locals numbered.
    body: Block,
    /// What is known of each local, by number.
    locals: Vec<Known>,
    /// Whether a buffer that is written to may share memory with another, as far as the body uses both.
    shared: Vec<Sharing>,
    is_cold: bool,
}

/// What is known of a local.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Known {
    ty: Ty,
    is_likely: bool,
    is_sum: bool,
}

/// What is known of two buffers, by their numbers.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sharing {
    written: Option<usize>,
    other: Option<usize>,
    may_share: bool,
    /// Whether the first may be a part of what the second is a part of.
    shows: bool,
}

/// Returns the locals from outside that a body uses, in the order in which it first does.
pub(super) fn outer_locals(looped: &For) -> Vec<Local> {
    let outer: FxHashSet<Local> = looped.body.uses().into_iter().filter(|x| *x != looped.index).collect();
    let mut order = Order::default();
    order.number_block(&mut looped.body.clone());
    order.locals.into_iter().filter(|x| outer.contains(x)).collect()
}

/// Returns the key of a loop's body, if others can have its code.
pub(super) fn chunk_key(frame: &Frame, looped: &For) -> Option<ChunkKey> {
    let aliases = frame.aliases().filter(|_| frame.origin().is_none() && is_plain(frame, &looped.body))?;
    let function = frame.function();
    let mut body = looped.body.clone();
    let mut order = Order::default();
    order.number(&mut looped.index.clone());
    order.number_block(&mut body);
    let known = |x: &Local| {
        let operand = (*x).into();
        Known { ty: function.ty(&operand), is_likely: frame.is_likely(&operand), is_sum: frame.sums.contains(x) }
    };
    let is_buffer = |x: &&Local| function.ty(&(**x).into()).as_scalar().is_none();
    let buffers: Vec<Local> = order.locals.iter().filter(is_buffer).copied().collect();
    // What is only read may share memory with anything.
    let written = written(&looped.body);
    let pairs = buffers.iter().filter(|x| written.contains(x)).flat_map(|x| buffers.iter().map(move |y| (*x, *y)));
    let sharing = |(x, y)| Sharing {
        written: order.place(x),
        other: order.place(y),
        may_share: aliases.may_share(x, y),
        shows: aliases.shows(x, &aliases.roots_of(y)),
    };
    let locals = order.locals.iter().map(known).collect();
    Some(ChunkKey { body, locals, shared: pairs.map(sharing).collect(), is_cold: function.cold })
}

/// Returns whether a body makes no buffer, finds none in another one, and neither calls nor fails.
fn is_plain(frame: &Frame, body: &Block) -> bool {
    let mut plain = true;
    body.visit(&mut |stmt| {
        let sets = stmt.targets().into_iter().chain(stmt.bound());
        let sets_scalars = sets.into_iter().all(|x| frame.function().ty(&x.into()).as_scalar().is_some());
        plain &= sets_scalars && matches!(stmt, Stmt::Let(..) | Stmt::If(..) | Stmt::For(_) | Stmt::Memory(_));
        plain &= !stmt.uses_arena();
    });
    plain
}

/// Returns the buffers that a body writes to.
fn written(body: &Block) -> FxHashSet<Local> {
    let mut written = FxHashSet::default();
    body.visit(&mut |stmt| written.extend(stmt.writes()));
    written
}

/// The locals of a body in the order in which they appear.
#[derive(Default)]
struct Order {
    locals: IndexSet<Local>,
}

impl Order {
    /// Replaces a local by its number.
    fn number(&mut self, x: &mut Local) {
        let (place, _) = self.locals.insert_full(*x);
        *x = Local(u32::try_from(place).expect("a function has fewer locals"));
    }

    fn place(&self, x: Local) -> Option<usize> {
        self.locals.get_index_of(&x)
    }

    fn number_block(&mut self, block: &mut Block) {
        for stmt in &mut block.stmts {
            stmt.operands_mut().into_iter().for_each(|a| self.number_operand(a));
            stmt.bound_mut().into_iter().for_each(|x| self.number(x));
            stmt.blocks_mut().into_iter().for_each(|block| self.number_block(block));
            stmt.targets_mut().into_iter().for_each(|x| self.number(x));
        }
        block.results.iter_mut().for_each(|a| self.number_operand(a));
    }

    fn number_operand(&mut self, a: &mut Operand) {
        if let Operand::Local(x) = a {
            self.number(x);
        }
    }
}
