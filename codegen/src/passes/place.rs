//! Place: a buffer that outlives its scope is made below the scope's mark, where it stays.
//!
//!   m = mark; s; b = alloc n; t; x = b above m; release m; y = if x { c = alloc n; move c <- b; yield c } else { yield b }
//!   =  b = alloc n; m = mark; s; t; release m;  y := b
//!
//! n is known at the mark and a size there, or nothing is checked before b is made; m and x are used for nothing else. So nothing moves, and later passes see that what is
//! read of y is what was stored in b. Memory may be exhausted earlier in a scope than before, but not by more.
//!
//! A scope that keeps several buffers asks where they lie, and copies them one by one or as one piece. What was there
//! before the mark does not lie above it; so if the others are made in the scope itself, there is nothing to ask:
//!
//!   m = mark; s; b = alloc n; t; y, z = if .. { release m; copies of a, b } else { .. slide .. to m .. }
//!   =  b = alloc n; m = mark; s; t; release m;  y := a, z := b                          a is there at the mark

use crate::loops::{Block, Function, Local, LocalInfo, MOST_ELEMENTS, Memory, Module, Operand, Stmt};
use std::collections::HashMap;

pub(super) fn place(module: &mut Module) {
    for function in module.functions.iter_mut().filter(|function| !function.between) {
        let uses = uses(function);
        let mut body = std::mem::take(&mut function.body);
        let mut placer = Placer { uses, locals: &function.locals, replaced: HashMap::new() };
        placer.block(&mut body);
        body.change_operands(&mut |a| placer.replace(a));
        function.body = body;
    }
}

/// How often each local is used.
fn uses(function: &Function) -> HashMap<Local, usize> {
    let mut uses = HashMap::new();
    let mut add = |a: &Operand| *a.local().map_or(&mut 0, |x| uses.entry(x).or_insert(0)) += 1;
    function.body.visit(&mut |stmt| {
        stmt.operands().into_iter().for_each(&mut add);
        stmt.blocks().into_iter().flat_map(|block| &block.results).for_each(&mut add);
    });
    function.body.results.iter().for_each(add);
    uses
}

struct Placer<'a> {
    locals: &'a [LocalInfo],
    uses: HashMap<Local, usize>,
    /// What the results of scopes are now.
    replaced: HashMap<Local, Operand>,
}

/// The end of a scope, by the places of its statements in the block.
struct Scope {
    mark: usize,
    alloc: usize,
    above: usize,
    choice: usize,
    result: Local,
    buffer: Local,
}

/// The end of a scope that keeps several buffers.
struct Several {
    mark: usize,
    /// What is made before the mark instead.
    allocs: Vec<usize>,
    choice: usize,
    /// What is kept is called, and is.
    kept: Vec<(Local, Operand)>,
}

impl Placer<'_> {
    fn replace(&self, a: &mut Operand) {
        while let Some(other) = a.local().and_then(|x| self.replaced.get(&x)) {
            *a = other.clone();
        }
    }

    fn block(&mut self, block: &mut Block) {
        let mut i = 0;
        while i < block.stmts.len() {
            block.stmts[i].operands_mut().into_iter().for_each(|a| self.replace(a));
            block.stmts[i].blocks_mut().into_iter().for_each(|inner| self.block(inner));
            block.stmts[i].blocks_mut().into_iter().flat_map(|b| &mut b.results).for_each(|a| self.replace(a));
            if let Some(several) = self.several(&block.stmts[..=i]) {
                self.keep(block, several);
            }
            match self.scope(&block.stmts[..=i]) {
                Some(scope) => {
                    self.replaced.insert(scope.result, Operand::Local(scope.buffer));
                    block.stmts.remove(scope.choice);
                    block.stmts.remove(scope.above);
                    let alloc = block.stmts.remove(scope.alloc);
                    block.stmts.insert(scope.mark, alloc);
                    i -= 1;
                }
                None => i += 1,
            }
        }
    }

    fn keep(&mut self, block: &mut Block, several: Several) {
        let Stmt::Memory(Memory::Mark(mark)) = &block.stmts[several.mark] else { panic!("a scope begins at a mark") };
        block.stmts[several.choice] = Stmt::Memory(Memory::Release(Operand::Local(*mark)));
        for (place, alloc) in (several.mark..).zip(several.allocs) {
            let alloc = block.stmts.remove(alloc);
            block.stmts.insert(place, alloc);
        }
        self.replaced.extend(several.kept);
    }

    /// The scope that ends with the last of these statements, and keeps several buffers.
    fn several(&self, stmts: &[Stmt]) -> Option<Several> {
        let choice = stmts.len() - 1;
        let (m, kept) = copied(&stmts[choice])?;
        let mark = stmts.iter().rposition(|stmt| matches!(stmt, Stmt::Memory(Memory::Mark(x)) if *x == m))?;
        let asks = |stmt: &&Stmt| matches!(stmt, Stmt::Memory(Memory::Above(..)));
        let used: usize = stmts[mark..choice].iter().filter(asks).chain([&stmts[choice]]).map(|s| mentions(s, m)).sum();
        let mut allocs = Vec::new();
        for buffer in kept.iter().filter_map(|(_, b)| b.local()) {
            let set = stmts[mark..choice].iter().position(|stmt| stmt.targets().contains(&buffer));
            allocs.extend(set.map(|at| mark + at));
        }
        allocs.sort_unstable();
        allocs.dedup();
        let fits = allocs.iter().all(|alloc| self.may_stand_at(stmts, mark, *alloc));
        (fits && self.uses.get(&m) == Some(&used)).then_some(Several { mark, allocs, choice, kept })
    }

    /// Whether an `alloc` may stand before the mark of its scope instead.
    fn may_stand_at(&self, stmts: &[Stmt], mark: usize, alloc: usize) -> bool {
        let Stmt::Memory(Memory::Alloc { count, .. }) = &stmts[alloc] else { return false };
        let scope = &stmts[mark..alloc];
        let is_known = |n: Local| !scope.iter().any(|stmt| stmt.targets().contains(&n));
        let is_size = match count {
            Operand::Local(n) => self.locals[n.0 as usize].is_size,
            count => matches!(count, Operand::Integer(0..=MOST_ELEMENTS)),
        };
        count.local().is_none_or(is_known) && (is_size || !scope.iter().any(may_leave))
    }

    /// The scope that ends with the last of these statements.
    fn scope(&self, stmts: &[Stmt]) -> Option<Scope> {
        let choice = stmts.len() - 1;
        let (result, condition, buffer) = kept(&stmts[choice])?;
        let find = |f: &dyn Fn(&Stmt) -> bool| stmts.iter().rposition(f);
        let above = find(&|stmt| matches!(stmt, Stmt::Memory(Memory::Above(x, ..)) if *x == condition))?;
        let Stmt::Memory(Memory::Above(_, b, m)) = &stmts[above] else { return None };
        let m = m.local().filter(|_| b.local() == Some(buffer))?;
        let release = find(&|stmt| matches!(stmt, Stmt::Memory(Memory::Release(a)) if a.local() == Some(m)))?;
        let mark = find(&|stmt| matches!(stmt, Stmt::Memory(Memory::Mark(x)) if *x == m))?;
        let alloc = find(&|stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer: b, .. }) if *b == buffer))?;
        let in_order = mark < alloc && alloc < above && above < release && release < choice;
        let alone = self.uses.get(&m) == Some(&2) && self.uses.get(&condition) == Some(&1);
        let fits = in_order && alone && self.may_stand_at(stmts, mark, alloc);
        fits.then_some(Scope { mark, alloc, above, choice, result, buffer })
    }
}

fn may_leave(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Check { .. } | Stmt::Call(..) | Stmt::External { .. })
        || stmt.blocks().into_iter().flat_map(|block| &block.stmts).any(may_leave)
}

/// Of a conditional that gives a copy of a buffer or that itself: what it sets, the condition, and the buffer.
fn kept(stmt: &Stmt) -> Option<(Local, Local, Local)> {
    let Stmt::If(xs, Operand::Local(condition), then, other) = stmt else { return None };
    let ([x], [Operand::Local(copy)], [Operand::Local(b)]) = (&xs[..], &then.results[..], &other.results[..]) else {
        return None;
    };
    let [Stmt::Memory(Memory::Alloc { buffer: c, count, .. }), Stmt::Memory(Memory::Move { to, from, count: n })] =
        &then.stmts[..]
    else {
        return None;
    };
    let moves = c == copy && to.local() == Some(*c) && from.local() == Some(*b) && n.same(count);
    (moves && other.stmts.is_empty()).then_some((*x, *condition, *b))
}

/// Of a conditional that gives copies of buffers after it has released a mark, or after a slide to the mark: the mark, what
/// it sets, and of what.
fn copied(stmt: &Stmt) -> Option<(Local, Vec<(Local, Operand)>)> {
    let Stmt::If(xs, _, then, other) = stmt else { return None };
    let (Stmt::Memory(Memory::Release(m)), moves) = then.stmts.split_first()? else { return None };
    let m = m.local()?;
    let slides = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Slide(_, _, to)) if to.local() == Some(m));
    let mut from = HashMap::new();
    for pair in moves.chunks(2) {
        let [Stmt::Memory(Memory::Alloc { buffer, .. }), Stmt::Memory(Memory::Move { to, from: b, .. })] = pair else {
            return None;
        };
        from.insert(to.local().filter(|to| to == buffer)?, b.clone());
    }
    let kept = xs.iter().zip(&then.results).map(|(x, copy)| Some((*x, from.get(&copy.local()?)?.clone())));
    let kept = kept.collect::<Option<Vec<_>>>()?;
    other.stmts.iter().any(slides).then_some((m, kept))
}

/// How often a local is an operand of a statement, and inside of it.
fn mentions(stmt: &Stmt, x: Local) -> usize {
    let is_x = |a: &&Operand| a.local() == Some(x);
    let mut count = stmt.operands().into_iter().filter(is_x).count();
    for block in stmt.blocks() {
        count += block.results.iter().filter(is_x).count();
        count += block.stmts.iter().map(|stmt| mentions(stmt, x)).sum::<usize>();
    }
    count
}
