//! Computes expensive terms of sums first, block by block, into a buffer. The sums are then nests of loads and cheap
//! operations, which `interchange` can take apart.
//!
//! ```text
//! for i in 0..n { for j in 0..m { t = expensive; for k { add a[i, k] += t x; add b[k, j] += t y } } }
//!   =   for c in 0..(n + R - 1) / R { f = c R; e = min (f + R) n; q = alloc (e - f) m;
//!         for i in f..e { for j in 0..m { t = expensive; store q[i - f, j] = t } };
//!         for i in f..e { for j in 0..m { t = load q[i - f, j]; for k { .. } } } }
//! ```
//!
//! So the gradient of a loss of residuals, each of which is a sum, is three products of matrices. R iterations of the
//! outermost loop make a block: so many that what they load and store stays near, however many there are. What the
//! outermost loop carries goes from block to block. Where a row of q is very long, which is asked at run time, the nest
//! stays as it is.
//!
//! Cost model: t is stored and loaded once for all iterations of a loop over k, so there must be such a loop; and it is
//! one number, or two.

use crate::analyses::alias::Aliases;
use crate::ir::{Block, Builder, For, Function, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most numbers that are stored in an iteration.
const MOST_STORED: usize = 2;

/// The elements of a block in each tensor, about: 64 KiB.
const BLOCK: i64 = 8192;

/// The longest row of a block. Of nests with longer ones, which may have no tensor so large, the loops stay as they
/// are.
const LONGEST_ROW: i64 = 1 << 17;

/// Iterations of the outermost loop come in so many, which later run side by side.
const SIDE_BY_SIDE: i64 = 8;

/// A nest of which the terms are expensive.
pub(super) struct Split<'a> {
    /// The loops around what is expensive, outermost first.
    loops: Vec<&'a For>,
    /// The terms that are stored.
    stored: Vec<Local>,
    /// The other values of these loops that the sums need. They are computed again.
    again: FxHashSet<Local>,
}

/// Such a nest as a loop over blocks.
pub(super) struct Blocked {
    /// The statements before the nest.
    before: Vec<Stmt>,
    /// Whether there is room for a block.
    fits: Operand,
    /// How many blocks there are.
    inside: Vec<Stmt>,
    /// The loop over them, without a body.
    over: For,
    /// The ends of a block, and room for what is stored.
    room: Vec<Stmt>,
    /// Makes what is stored.
    terms: For,
    /// Only loads it.
    pub sums: For,
    release: Stmt,
    /// The buffers of the terms.
    pub buffers: Vec<Local>,
}

impl<'a> Split<'a> {
    /// Returns how a nest is divided, if it has expensive terms and nothing else is in the way.
    pub(super) fn find(looped: &'a For, function: &Function, aliases: &Aliases) -> Option<Split<'a>> {
        let loops = loops_around_expensive_terms(looped)?;
        let mut made = FxHashMap::default();
        for looped in &loops {
            made.extend(looped.carried.iter().map(|(y, _)| (*y, None)));
            let terms = looped.body.stmts.iter().filter(|stmt| !adds(stmt));
            made.extend(terms.flat_map(|stmt| stmt.targets().into_iter().map(move |x| (x, Some(stmt)))));
        }
        let needed = sums(loops.last()?).uses();
        let (mut stored, mut again) = (vec![], FxHashSet::default());
        for x in needed.into_iter().filter(|x| made.contains_key(x)) {
            let mut also = FxHashSet::default();
            if is_made_again(x, &made, &mut also) {
                again.extend(also);
            } else {
                stored.push(x);
            }
        }
        // The size of a block is computed before the nest.
        let is_fixed =
            |a: &Operand| a.local().is_none_or(|x| !made.contains_key(&x) && loops.iter().all(|l| l.index != x));
        let are_floats = stored.iter().all(|x| function.locals[x.0 as usize].ty == Scalar::Float.ty());
        let fits =
            are_floats && (1..=MOST_STORED).contains(&stored.len()) && loops.iter().all(|looped| is_fixed(&looped.to));
        (fits && loads_nothing_added(looped, aliases)).then_some(Split { loops, stored, again })
    }

    /// Returns the nest in blocks.
    pub(super) fn blocked(&self, function: &mut Function) -> Blocked {
        let span = function.span;
        let mut build = Builder { locals: &mut function.locals };
        let (mut before, mut room) = (vec![], vec![]);
        let counts: Vec<Operand> = self.loops.iter().map(|looped| build.times(&looped.to, &mut before)).collect();
        let row = build.product(&counts[1..], &mut before);
        let fits = build.op(Op::LeI, [row.clone(), Operand::Integer(LONGEST_ROW)], &mut before);
        let fits = build.op(Op::Likely, [fits], &mut before);
        let mut inside = vec![];
        let size = self.size(&mut build, row, &mut inside);
        let [index, mark] = [Scalar::Integer, Scalar::Mark].map(|scalar| build.local(scalar.ty()));
        let from = build.op(Op::MulI, [index.into(), size.clone()], &mut room);
        let end = build.op(Op::AddI, [from.clone(), size.clone()], &mut room);
        let to = least(&mut build, [&end, &counts[0]], &mut room);
        let rows = build.op(Op::SubI, [to.clone(), from.clone()], &mut room);
        let elements = build.product(&[&[rows], &counts[1..]].concat(), &mut room);
        room.push(Stmt::Memory(Memory::Mark(mark)));
        let buffers: Vec<Local> = self.stored.iter().map(|_| build.local(Scalar::Float.ty().buffer())).collect();
        for buffer in &buffers {
            room.push(Stmt::Memory(Memory::Alloc { buffer: *buffer, count: elements.clone(), span }));
        }
        let place = StorePosition { from: &from, counts: &counts, buffers: &buffers };
        let mut terms = self.terms(&mut build, &place);
        let mut sums = self.sums(&mut build, &place);
        let over = self.over(&mut build, &mut terms, index, [&counts[0], &size], &mut inside);
        for looped in [&mut terms, &mut sums] {
            [looped.from, looped.to] = [from.clone(), to.clone()];
        }
        let release = Stmt::Memory(Memory::Release(mark.into()));
        Blocked { before, fits, inside, over, room, terms, sums, release, buffers }
    }

    /// Returns how many iterations of the outermost loop make a block.
    fn size(&self, build: &mut Builder, mut row: Operand, out: &mut Vec<Stmt>) -> Operand {
        for stmt in self.inmost().body.stmts.iter().filter(|stmt| adds(stmt)) {
            let mut ends = vec![];
            Block { stmts: vec![stmt.clone()], results: vec![] }.visit(&mut |stmt| {
                ends.extend(if let Stmt::For(looped) = stmt { Some(looped.to.clone()) } else { None });
            });
            let ends: Vec<Operand> = ends.iter().map(|to| build.times(to, out)).collect();
            let other = build.product(&ends, out);
            row = largest(build, [&other, &row], out);
        }
        let row = largest(build, [&row, &Operand::Integer(1)], out);
        let rows = build.op(Op::DivI, [Operand::Integer(BLOCK), row], out);
        let side_by_side = Operand::Integer(SIDE_BY_SIDE);
        let groups = build.op(Op::DivI, [rows, side_by_side.clone()], out);
        let size = build.op(Op::MulI, [groups, side_by_side.clone()], out);
        largest(build, [&size, &side_by_side], out)
    }

    /// Returns the loop over blocks, which carries what the outermost loop did.
    fn over(
        &self,
        build: &mut Builder,
        terms: &mut For,
        index: Local,
        [count, size]: [&Operand; 2],
        before: &mut Vec<Stmt>,
    ) -> For {
        let one_less = build.op(Op::SubI, [size.clone(), Operand::Integer(1)], before);
        let up = build.op(Op::AddI, [count.clone(), one_less], before);
        let blocks = build.op(Op::DivI, [up, size.clone()], before);
        let (mut results, mut carried) = (vec![], vec![]);
        for (result, (_, init)) in terms.results.iter_mut().zip(&mut terms.carried) {
            let ty = build.locals[result.0 as usize].ty;
            let [y, next, last] = [(); 3].map(|()| build.local(ty));
            carried.push((y, std::mem::replace(init, y.into())));
            results.push(last);
            *result = next;
        }
        let body = Block { stmts: vec![], results: terms.results.iter().map(|x| (*x).into()).collect() };
        let from = Operand::Integer(0);
        For { results, index, from, to: blocks, carried, body, lanes: 1, jam: 1, on_threads: false }
    }

    /// Returns the nest that makes what is stored.
    fn terms(&self, build: &mut Builder, place: &StorePosition) -> For {
        let mut looped = self.inmost().clone();
        looped.body.stmts.retain(|stmt| !adds(stmt));
        let index = place.emit_index(build, &self.loops, &mut looped.body.stmts);
        for (buffer, x) in place.buffers.iter().zip(&self.stored) {
            looped.body.stmts.push(Stmt::Memory(Memory::Store((*buffer).into(), index.clone(), (*x).into())));
        }
        keep_used(&mut looped.body);
        self.in_loops(looped, |outer, inner| {
            let mut outer = outer.clone();
            let place =
                outer.body.stmts.iter_mut().find(|stmt| adds(stmt)).expect("the inner loop is in the outer one");
            *place = Stmt::For(Box::new(inner));
            keep_used(&mut outer.body);
            outer
        })
    }

    /// Returns the nest of sums, with locals of its own.
    fn sums(&self, build: &mut Builder, place: &StorePosition) -> For {
        let header = |looped: &For, stmts: Vec<Stmt>| {
            let body = Block { stmts, results: vec![] };
            For { results: vec![], carried: vec![], body, ..looped.clone() }
        };
        let again = |looped: &For| -> Vec<Stmt> {
            let is_again = |stmt: &&Stmt| stmt.targets().iter().any(|x| self.again.contains(x));
            looped.body.stmts.iter().filter(is_again).cloned().collect()
        };
        let inmost = self.inmost();
        let mut stmts = again(inmost);
        let index = place.emit_index(build, &self.loops, &mut stmts);
        for (buffer, x) in place.buffers.iter().zip(&self.stored) {
            stmts.push(Stmt::Memory(Memory::Load(*x, (*buffer).into(), index.clone())));
        }
        stmts.extend(sums(inmost).stmts);
        let nest = self.in_loops(header(inmost, stmts), |outer, inner| {
            let mut stmts = again(outer);
            stmts.push(Stmt::For(Box::new(inner)));
            header(outer, stmts)
        });
        nest.copy(build.locals)
    }

    /// Returns the innermost loop in those around it.
    fn in_loops(&self, inmost: For, put: impl Fn(&For, For) -> For) -> For {
        let outer = &self.loops[..self.loops.len() - 1];
        outer.iter().rev().fold(inmost, |inner, outer| put(outer, inner))
    }

    fn inmost(&self) -> &'a For {
        self.loops[self.loops.len() - 1]
    }
}

impl Blocked {
    /// Returns the statements that replace a nest: the loop over blocks, with these sums.
    pub(super) fn into_stmts(self, sums: Vec<Stmt>, nest: &For, locals: &mut Vec<LocalInfo>) -> Vec<Stmt> {
        let Blocked { mut before, fits, inside: mut stmts, mut over, room, terms, release, .. } = self;
        over.body.stmts = room;
        over.body.stmts.push(Stmt::For(Box::new(terms)));
        over.body.stmts.extend(sums);
        over.body.stmts.push(release);
        let given = |looped: &For| looped.results.iter().map(|x| Operand::Local(*x)).collect();
        let results = given(&over);
        stmts.push(Stmt::For(Box::new(over)));
        let other = Block { stmts: vec![Stmt::For(Box::new(nest.clone()))], results: given(nest) };
        let other = other.copy(locals, FxHashMap::default());
        before.push(Stmt::If(nest.results.clone(), fits, Block { stmts, results }, other));
        before
    }
}

/// The position of a stored term in its block.
struct StorePosition<'a> {
    /// The first iteration of the block.
    from: &'a Operand,
    counts: &'a [Operand],
    buffers: &'a [Local],
}

impl StorePosition<'_> {
    fn emit_index(&self, build: &mut Builder, loops: &[&For], out: &mut Vec<Stmt>) -> Operand {
        let mut indices: Vec<Local> = loops.iter().map(|looped| looped.index).collect();
        let row = build.op(Op::SubI, [indices[0].into(), self.from.clone()], out);
        indices[0] = row.local().expect("an operation gives a local");
        build.place(&indices, self.counts, out)
    }
}

fn least(build: &mut Builder, [a, b]: [&Operand; 2], out: &mut Vec<Stmt>) -> Operand {
    let is_less = build.op(Op::LtI, [a.clone(), b.clone()], out);
    build.choice(is_less, [a.clone(), b.clone()], Scalar::Integer.ty(), out)
}

fn largest(build: &mut Builder, [a, b]: [&Operand; 2], out: &mut Vec<Stmt>) -> Operand {
    let is_less = build.op(Op::LtI, [a.clone(), b.clone()], out);
    build.choice(is_less, [b.clone(), a.clone()], Scalar::Integer.ty(), out)
}

/// Returns the loops of a nest down to the one in which something expensive is made, and loops add to memory.
fn loops_around_expensive_terms(looped: &For) -> Option<Vec<&For>> {
    let mut loops = vec![looped];
    loop {
        let last = loops[loops.len() - 1];
        let (sums, terms): (Vec<&Stmt>, Vec<&Stmt>) = last.body.stmts.iter().partition(|stmt| adds(stmt));
        let is_simple = last.lanes == 1 && last.jam == 1 && !last.on_threads && last.from.same(&Operand::Integer(0));
        if !is_simple || !terms.iter().all(|stmt| is_pure(stmt)) {
            return None;
        }
        if terms.iter().any(|stmt| is_expensive(stmt)) {
            let is_sum = |stmt: &&Stmt| stmt.targets().is_empty();
            let has_loop = sums.iter().any(|stmt| matches!(stmt, Stmt::For(_)));
            return (loops.len() > 1 && has_loop && sums.iter().all(is_sum)).then_some(loops);
        }
        let [Stmt::For(inner)] = sums[..] else { return None };
        loops.push(inner);
    }
}

/// Returns what a loop has of statements that add to memory.
fn sums(looped: &For) -> Block {
    Block { stmts: looped.body.stmts.iter().filter(|stmt| adds(stmt)).cloned().collect(), results: vec![] }
}

fn adds(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Memory(Memory::Add(..))) || stmt.blocks().any(|block| block.stmts.iter().any(adds))
}

/// Returns whether a statement only computes and loads.
fn is_pure(stmt: &Stmt) -> bool {
    let is_simple = match stmt {
        Stmt::Let(..) | Stmt::If(..) | Stmt::Memory(Memory::Load(..) | Memory::View(..) | Memory::Cast(..)) => true,
        Stmt::For(looped) => looped.lanes == 1 && looped.jam == 1 && !looped.on_threads,
        _ => false,
    };
    is_simple && stmt.blocks().all(|block| block.stmts.iter().all(is_pure))
}

/// Returns whether it would be a pity to do it again.
fn is_expensive(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::For(_) => true,
        Stmt::Let(_, op, _) => !op.is_cheap() && op.work().is_some(),
        _ => false,
    }
}

/// Returns whether what a local is made of is cheap; collects that, each local once.
fn is_made_again(x: Local, made: &FxHashMap<Local, Option<&Stmt>>, also: &mut FxHashSet<Local>) -> bool {
    if also.contains(&x) {
        return true;
    }
    let stmt = match made.get(&x) {
        None => return true,
        Some(None) => return false,
        Some(Some(stmt)) => stmt,
    };
    let is_step = match stmt {
        Stmt::Let(_, op, _) => op.is_cheap(),
        stmt => matches!(stmt, Stmt::Memory(_)),
    };
    also.insert(x);
    is_step && stmt.operands().into_iter().filter_map(Operand::local).all(|a| is_made_again(a, made, also))
}

/// Returns whether nothing that the terms load is added to.
fn loads_nothing_added(looped: &For, aliases: &Aliases) -> bool {
    let (mut added, mut loaded) = (FxHashSet::default(), FxHashSet::default());
    looped.body.visit(&mut |stmt| match stmt {
        Stmt::Memory(Memory::Add(b, ..)) => added.extend(b.local()),
        Stmt::Memory(Memory::Load(_, b, _)) => loaded.extend(b.local()),
        _ => {}
    });
    added.iter().all(|a| loaded.iter().all(|b| !aliases.may_share(*a, *b)))
}

/// Drops the unused operations and loads of a block, but not those of inner blocks.
fn keep_used(block: &mut Block) {
    let mut used: FxHashSet<Local> = block.results.iter().filter_map(Operand::local).collect();
    let mut kept = vec![];
    for stmt in std::mem::take(&mut block.stmts).into_iter().rev() {
        let targets = stmt.targets();
        if !targets.is_empty() && !targets.iter().any(|x| used.contains(x)) && is_pure(&stmt) {
            continue;
        }
        used.extend(stmt.operands().into_iter().filter_map(Operand::local));
        used.extend(stmt.blocks().flat_map(Block::uses));
        kept.push(stmt);
    }
    kept.reverse();
    block.stmts = kept;
}
