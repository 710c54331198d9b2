//! Recognises the ends of scopes that keep tables, as lowering makes them, and makes those that keep matrices.
//!
//! ```text
//! p = mark; c = if (t above m) { copy of t } else { t }; d = slide p to m; t' = c after slide p by d; ..
//!   =  up = t above m; release m; t' = if up { c = alloc n; move c <- t; yield c } else { yield t }
//! ```

use crate::ir::{Block, Builder, Local, Memory, Op, Operand, Scalar, Stmt};
use lm::term::Span;
use rustc_hash::FxHashMap;

/// The end of a scope that keeps tables.
#[derive(Clone)]
pub(super) struct Keep {
    /// The first of its statements, and the one after the last.
    pub(super) range: [usize; 2],
    /// How far the arena was filled at the start of the scope.
    mark: Operand,
    pub(super) kept: Vec<Kept>,
    /// What of its statements is only computed.
    rest: Vec<Stmt>,
}

/// A buffer that is kept.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) from: Local,
    pub(super) to: Local,
    /// How many elements it has, if it is no table.
    pub(super) count: Option<Operand>,
}

/// Returns the ends of scopes in a block, but for those in blocks inside; None if one is not understood.
pub(super) fn keeps(block: &Block) -> Option<Vec<Keep>> {
    let stmts = &block.stmts;
    let slides = stmts.iter().enumerate().filter_map(|(i, stmt)| match stmt {
        Stmt::Memory(Memory::Slide(_, piece, mark)) => Some((i, piece, mark)),
        _ => None,
    });
    slides.map(|(slide, piece, mark)| keep(block, slide, piece, mark)).collect()
}

fn keep(block: &Block, slide: usize, piece: &Operand, mark: &Operand) -> Option<Keep> {
    let stmts = &block.stmts;
    let start = stmts.iter().position(|s| matches!(s, Stmt::Memory(Memory::Mark(x)) if piece.local() == Some(*x)))?;
    let mut copies: FxHashMap<Local, (Local, Option<Operand>)> = FxHashMap::default();
    let (mut rest, mut own) = (vec![], vec![]);
    for stmt in stmts.get(start + 1..slide)? {
        match stmt {
            Stmt::Memory(Memory::Above(x, ..)) | Stmt::Let(x, Op::Or, _) => own.push(*x),
            Stmt::Let(..) => rest.push(stmt.clone()),
            Stmt::If(xs, _, then, other) if other.stmts.is_empty() => {
                for (i, x) in xs.iter().enumerate() {
                    let copy = then.results[i].local()?;
                    let made = then.stmts.iter().find_map(|stmt| match stmt {
                        Stmt::Memory(Memory::Alloc { buffer, count, .. }) if *buffer == copy => Some(count.clone()),
                        _ => None,
                    });
                    copies.insert(*x, (other.results[i].local()?, made));
                    own.push(*x);
                }
                rest.extend(then.stmts.iter().filter(|stmt| matches!(stmt, Stmt::Let(_, Op::Count, _))).cloned());
            }
            _ => return None,
        }
    }
    let (mut end, mut kept) = (slide + 1, vec![]);
    for stmt in &stmts[end..] {
        match stmt {
            Stmt::Memory(Memory::Slid { target, buffer, piece: p, .. }) if p.same(piece) => {
                let buffer = buffer.local()?;
                let (from, count) = copies.get(&buffer).cloned().unwrap_or((buffer, None));
                kept.push(Kept { from, to: *target, count });
            }
            Stmt::Memory(Memory::Before(x, a, _)) if kept.iter().any(|kept| a.local() == Some(kept.to)) => own.push(*x),
            Stmt::If(xs, condition, ..) if xs.is_empty() && condition.local().is_some_and(|x| own.contains(&x)) => {}
            _ => break,
        }
        end += 1;
    }
    let set: Vec<Local> = rest.iter().flat_map(Stmt::targets).collect();
    let inner: Vec<Local> = stmts[start..end].iter().flat_map(Stmt::blocks).flat_map(targets).collect();
    // What is counted is known outside of the arms that copy.
    let is_known = |kept: &Kept| {
        kept.count.as_ref().and_then(Operand::local).is_none_or(|n| set.contains(&n) || !inner.contains(&n))
    };
    let is_free = rest.iter().all(|stmt| own.iter().chain(&inner).all(|x| set.contains(x) || !stmt.mentions(*x)));
    if !is_free || !kept.iter().all(is_known) {
        return None;
    }
    let others = stmts.iter().enumerate().filter(|(i, _)| !(start..end).contains(i)).map(|(_, stmt)| stmt);
    let is_apart = others.clone().all(|stmt| own.iter().all(|x| !stmt.mentions(*x)));
    let yields_none = block.results.iter().all(|a| !a.local().is_some_and(|x| own.contains(&x)));
    (is_apart && yields_none).then(|| Keep { range: [start, end], mark: mark.clone(), kept, rest })
}

fn targets(block: &Block) -> Vec<Local> {
    let mut found = vec![];
    block.visit(&mut |stmt| found.extend(stmt.targets().into_iter().chain(stmt.bound())));
    found
}

impl Keep {
    /// Makes the end of a scope that keeps these buffers, none of which is a table; each has so many elements.
    pub(super) fn emit(
        &self,
        kept: &[(Local, Local, Operand)],
        builder: &mut Builder,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        out.extend(self.rest.iter().cloned());
        let release = Stmt::Memory(Memory::Release(self.mark.clone()));
        let [(first, to, count), rest @ ..] = kept else { return out.push(release) };
        if rest.is_empty() {
            let above = self.above(*first, builder, out);
            out.push(release);
            let (copy, then) = moved(*first, count, builder, span);
            let then = Block { stmts: then, results: vec![copy] };
            out.push(Stmt::If(vec![*to], above, then, Block { stmts: vec![], results: vec![(*first).into()] }));
            return;
        }
        let mut in_order = self.above(*first, builder, out);
        let last = self.above(kept[kept.len() - 1].0, builder, out);
        in_order = builder.op(Op::And, [in_order, last], out);
        for pair in kept.windows(2) {
            let x = builder.local(Scalar::Bool.ty());
            out.push(Stmt::Memory(Memory::Before(x, pair[0].0.into(), pair[1].0.into())));
            in_order = builder.op(Op::And, [in_order, x.into()], out);
        }
        let mut down = Block { stmts: vec![release], results: vec![] };
        for (from, _, count) in kept {
            let (copy, stmts) = moved(*from, count, builder, span);
            down.stmts.extend(stmts);
            down.results.push(copy);
        }
        let slid = self.slid(kept, builder, span);
        out.push(Stmt::If(kept.iter().map(|(_, to, _)| *to).collect(), in_order, down, slid));
    }

    fn above(&self, buffer: Local, builder: &mut Builder, out: &mut Vec<Stmt>) -> Operand {
        let x = builder.local(Scalar::Bool.ty());
        out.push(Stmt::Memory(Memory::Above(x, buffer.into(), self.mark.clone())));
        x.into()
    }

    /// What lies above the mark is copied to the top as one piece, which slides down.
    fn slid(&self, kept: &[(Local, Local, Operand)], builder: &mut Builder, span: Span) -> Block {
        let mut slid = Block::default();
        let piece = builder.local(Scalar::Mark.ty());
        slid.stmts.push(Stmt::Memory(Memory::Mark(piece)));
        let mut copies = vec![];
        for (from, _, count) in kept {
            let above = self.above(*from, builder, &mut slid.stmts);
            let copy = builder.local(builder.locals[from.0 as usize].ty);
            let (moved, stmts) = moved(*from, count, builder, span);
            let stays = Block { stmts: vec![], results: vec![(*from).into()] };
            slid.stmts.push(Stmt::If(vec![copy], above, Block { stmts, results: vec![moved] }, stays));
            copies.push(copy);
        }
        let distance = builder.local(Scalar::Integer.ty());
        slid.stmts.push(Stmt::Memory(Memory::Slide(distance, piece.into(), self.mark.clone())));
        for copy in copies {
            let target = builder.local(builder.locals[copy.0 as usize].ty);
            let (buffer, piece, distance) = (copy.into(), piece.into(), distance.into());
            slid.stmts.push(Stmt::Memory(Memory::Slid { target, buffer, piece, distance }));
            slid.results.push(target.into());
        }
        slid
    }
}

/// Returns a copy of a buffer, and what makes it.
fn moved(from: Local, count: &Operand, builder: &mut Builder, span: Span) -> (Operand, Vec<Stmt>) {
    let copy = builder.local(builder.locals[from.0 as usize].ty);
    let alloc = Memory::Alloc { buffer: copy, count: count.clone(), span };
    let moves = Memory::Move { to: copy.into(), from: from.into(), count: count.clone() };
    (copy.into(), vec![Stmt::Memory(alloc), Stmt::Memory(moves)])
}
