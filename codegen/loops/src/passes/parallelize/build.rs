//! Makes the loops over chunks, in place of the loops that are divided.

use super::cost::let_integer;
use super::legality::{ChunkPart, is_short, parts};
use super::planner::{Plan, Private};
use crate::analyses::independence::{Best, bests, carried, prepare};
use crate::ir;
use crate::ir::{Block, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt, Ty};
use lm::term::Span;
use rustc_hash::FxHashMap;

const INTEGER: Ty = Scalar::Integer.ty();
const ZERO: Operand = Operand::Integer(0);
const ONE: Operand = Operand::Integer(1);
/// There are no more chunks: as `lmc.chunk` has it.
const MOST_CHUNKS: i64 = 64;

/// Puts plans into action.
pub(super) struct ChunkBuilder<'a> {
    pub(super) locals: &'a mut Vec<LocalInfo>,
    /// The place in the source for errors of added statements.
    pub(super) span: Span,
    /// The plans for loops, by index.
    pub(super) plans: FxHashMap<Local, Plan>,
}

/// How a loop is divided, and what its chunks have.
struct Division {
    /// The iterations of a chunk.
    length: Operand,
    /// The number of chunks.
    count: Operand,
    /// For each sum, the buffer of the chunks' sums.
    sums: Vec<Local>,
    /// For each private buffer, the buffer of the chunks' copies.
    private: Vec<Local>,
}

impl ChunkBuilder<'_> {
    pub(super) fn divide_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            match stmt {
                Stmt::For(looped) if self.plans.contains_key(&looped.index) => {
                    let plan = self.plans.remove(&looped.index).expect("there is one");
                    self.divide(*looped, &plan, &mut block.stmts);
                }
                _ => {
                    stmt.blocks_mut().for_each(|block| self.divide_in_block(block));
                    block.stmts.push(stmt);
                }
            }
        }
    }

    /// Divides a loop. Prepares the best elements that it carries first.
    fn divide(&mut self, looped: For, plan: &Plan, out: &mut Vec<Stmt>) {
        let index = looped.index;
        for stmt in prepare(looped, self.locals) {
            match stmt {
                Stmt::For(looped) if looped.index == index => self.divide_ready(*looped, plan, out),
                stmt => out.push(stmt),
            }
        }
    }

    fn divide_ready(&mut self, looped: For, plan: &Plan, out: &mut Vec<Stmt>) {
        let iterations = self.difference(&looped.to, &looped.from, out);
        let length = self.emit_length_asked(&iterations, &looped, plan, out);
        let needs_nothing = looped.carried.is_empty() && plan.private.is_empty();
        if needs_nothing || !is_short(&looped) {
            let count = let_integer(Op::Chunks, [iterations, length.clone()], out, self.locals);
            return self.divide_by((length, count), looped, plan, out);
        }
        let is_one = let_integer(Op::LeI, [iterations.clone(), length.clone()], out, self.locals);
        let is_one = let_integer(Op::Likely, [is_one], out, self.locals);
        let alone = self.copy_as_one_chunk(&looped);
        let results = looped.results.clone();
        let mut looped = looped;
        looped.results = results.iter().map(|x| self.local(self.ty(*x))).collect();
        let mut divided = Block { stmts: vec![], results: looped.results.iter().map(|x| (*x).into()).collect() };
        let count = let_integer(Op::Chunks, [iterations, length.clone()], &mut divided.stmts, self.locals);
        self.divide_by((length, count), looped, plan, &mut divided.stmts);
        out.push(Stmt::If(results, is_one, alone, divided));
    }

    /// The loop as it was, with locals of its own.
    fn copy_as_one_chunk(&mut self, looped: &For) -> Block {
        let results = looped.results.iter().map(|x| (*x).into()).collect();
        Block { stmts: vec![Stmt::For(Box::new(looped.clone()))], results }.copy(self.locals, FxHashMap::default())
    }

    /// The loop, in so many chunks of such a length.
    fn divide_by(&mut self, (length, count): (Operand, Operand), looped: For, plan: &Plan, out: &mut Vec<Stmt>) {
        let carried = carried(self.locals, &looped).expect("the iterations are independent");
        let kinds = parts(&carried, self.locals, &looped);
        let bests = bests(self.locals, &looped);
        let mark = (!plan.private.is_empty()).then(|| self.local(Scalar::Mark.ty()));
        out.extend(mark.map(|m| Stmt::Memory(Memory::Mark(m))));
        let types: Vec<Ty> = looped.carried.iter().map(|(x, _)| self.ty(*x)).collect();
        let sums = types.into_iter().map(|ty| self.on_stack(ty.buffer(), out)).collect();
        let private = plan.private.iter().map(|private| self.alloc_private(private, &count, out)).collect();
        let division = Division { length, count, sums, private };
        let results = looped.results.clone();
        self.build_chunks(looped, plan, &kinds, &division, out);
        for (private, parts) in plan.private.iter().zip(&division.private) {
            self.combine_private(private, *parts, &division.count, out);
        }
        let sums = kinds.iter().zip(&division.sums).zip(&results).filter(|((kind, _), _)| **kind != ChunkPart::Best);
        for ((kind, parts), result) in sums {
            self.combine_sum(*kind, *parts, *result, &division.count, out);
        }
        bests.iter().for_each(|best| self.combine_best(best, &division, &results, out));
        out.extend(mark.map(|m| Stmt::Memory(Memory::Release(m.into()))));
    }

    /// The number of iterations of a chunk. Where it depends on sizes in an iteration, there has to be one.
    fn emit_length_asked(&mut self, n: &Operand, looped: &For, plan: &Plan, out: &mut Vec<Stmt>) -> Operand {
        if plan.cost.samples.is_empty() && plan.private.iter().all(|private| private.row.is_none()) {
            return self.emit_length(n, looped, plan, out);
        }
        let some = let_integer(Op::LtI, [ZERO, n.clone()], out, self.locals);
        let mut stmts = Vec::new();
        let length = self.emit_length(n, looped, plan, &mut stmts);
        let asked = self.local(INTEGER);
        let one = Block { stmts: vec![], results: vec![ONE] };
        out.push(Stmt::If(vec![asked], some, Block { stmts, results: vec![length] }, one));
        asked.into()
    }

    /// The number of iterations of a chunk.
    fn emit_length(&mut self, n: &Operand, looped: &For, plan: &Plan, out: &mut Vec<Stmt>) -> Operand {
        let (stmts, cost) = plan.cost.emit(&looped.from, self.locals);
        out.extend(stmts);
        let mut own = ZERO;
        for private in &plan.private {
            let elements = self.elements(private, out);
            own = match own {
                Operand::Integer(0) => elements,
                own => let_integer(Op::AddI, [own, elements], out, self.locals),
            };
        }
        let length = self.local(INTEGER);
        let lanes = Operand::Integer(looped.lanes.into());
        out.push(Stmt::Let(length, Op::Chunk, vec![n.clone(), cost, own, lanes]));
        length.into()
    }

    /// How many numbers are in a private buffer.
    fn elements(&mut self, private: &Private, out: &mut Vec<Stmt>) -> Operand {
        let Some(row) = &private.row else { return private.count.clone() };
        if row.is_constant() {
            let (_, length) = row.at(&ZERO, self.locals);
            return let_integer(Op::Count, [private.count.clone(), length], out, self.locals);
        }
        let [index, so_far, total] = [(); 3].map(|()| self.local(INTEGER));
        let (mut stmts, length) = row.at(&index.into(), self.locals);
        let next = let_integer(Op::AddI, [so_far.into(), length], &mut stmts, self.locals);
        let body = Block { stmts, results: vec![next] };
        out.push(plain(index, ZERO, private.count.clone(), vec![(so_far, ZERO)], body, vec![total]));
        total.into()
    }

    /// The buffers that the chunks add to: the first to what it is about, the others to zeros.
    fn alloc_private(&mut self, private: &Private, count: &Operand, out: &mut Vec<Stmt>) -> Local {
        let parts = self.alloc(private.ty.buffer(), count, out);
        out.push(store(parts, ZERO, private.buffer.into()));
        let chunk = self.local(INTEGER);
        let mut stmts = Vec::new();
        let copy = self.alloc(private.ty, &private.count, &mut stmts);
        match &private.row {
            None => stmts.push(Stmt::Memory(Memory::Zero(copy.into(), private.count.clone()))),
            Some(row) => {
                let index = self.local(INTEGER);
                let (mut rows, length) = row.at(&index.into(), self.locals);
                let ty = private.ty.element().expect("rows are in a buffer of buffers");
                let made = self.alloc(ty, &length, &mut rows);
                rows.push(Stmt::Memory(Memory::Zero(made.into(), length)));
                rows.push(store(copy, index.into(), made.into()));
                let body = Block { stmts: rows, results: vec![] };
                stmts.push(plain(index, ZERO, private.count.clone(), vec![], body, vec![]));
            }
        }
        stmts.push(store(parts, chunk.into(), copy.into()));
        out.push(plain(chunk, ONE, count.clone(), vec![], Block { stmts, results: vec![] }, vec![]));
        parts
    }

    /// The loop over chunks.
    fn build_chunks(
        &mut self,
        mut looped: For,
        plan: &Plan,
        kinds: &[ChunkPart],
        division: &Division,
        out: &mut Vec<Stmt>,
    ) {
        let chunk = self.local(INTEGER);
        let mut stmts = Vec::new();
        let start = let_integer(Op::MulI, [chunk.into(), division.length.clone()], &mut stmts, self.locals);
        let from = match &looped.from {
            Operand::Integer(0) => start,
            from => let_integer(Op::AddI, [from.clone(), start], &mut stmts, self.locals),
        };
        let full = let_integer(Op::AddI, [from.clone(), division.length.clone()], &mut stmts, self.locals);
        let is_full = let_integer(Op::LeI, [full.clone(), looped.to.clone()], &mut stmts, self.locals);
        let to = ir::Builder { locals: self.locals }.choice(is_full, [full, looped.to.clone()], INTEGER, &mut stmts);
        (looped.from, looped.to) = (from, to);
        self.start_sums(&mut looped, kinds, chunk, &mut stmts);
        let mut own = FxHashMap::default();
        for (private, parts) in plan.private.iter().zip(&division.private) {
            own.insert(private.buffer, self.load(*parts, &chunk.into(), &mut stmts));
        }
        looped.body.change_operands(&mut |a| {
            if let Some(x) = a.local().and_then(|x| own.get(&x)) {
                *a = (*x).into();
            }
        });
        let ends: Vec<Local> = looped.carried.iter().map(|(x, _)| self.local(self.locals[x.0 as usize].ty)).collect();
        looped.results.clone_from(&ends);
        stmts.push(Stmt::For(Box::new(looped)));
        stmts.extend(division.sums.iter().zip(ends).map(|(parts, end)| store(*parts, chunk.into(), end.into())));
        let Stmt::For(mut all) =
            plain(chunk, ZERO, division.count.clone(), vec![], Block { stmts, results: vec![] }, vec![])
        else {
            unreachable!("a loop was made")
        };
        all.on_threads = true;
        out.push(Stmt::For(all));
    }

    /// The first chunk goes on from what was there, the others start from nothing.
    fn start_sums(&mut self, looped: &mut For, kinds: &[ChunkPart], chunk: Local, out: &mut Vec<Stmt>) {
        let mut is_first = None;
        for ((x, init), part) in looped.carried.iter_mut().zip(kinds) {
            let Some((nothing, _)) = part.sum().filter(|(nothing, _)| !init.same(nothing)) else { continue };
            let test = is_first.take();
            let test = test.unwrap_or_else(|| let_integer(Op::EqI, [chunk.into(), ZERO], out, self.locals));
            let ty = self.locals[x.0 as usize].ty;
            *init = ir::Builder { locals: self.locals }.choice(test.clone(), [init.clone(), nothing], ty, out);
            is_first = Some(test);
        }
    }

    /// Adds what the other chunks have.
    fn combine_private(&mut self, private: &Private, parts: Local, count: &Operand, out: &mut Vec<Stmt>) {
        let chunk = self.local(INTEGER);
        let mut stmts = Vec::new();
        let part = self.load(parts, &chunk.into(), &mut stmts);
        match &private.row {
            None => self.add_all(private.buffer, part, private.count.clone(), &mut stmts),
            Some(row) => {
                let index = self.local(INTEGER);
                let (mut rows, length) = row.at(&index.into(), self.locals);
                let [to, from] = [private.buffer, part].map(|b| self.load(b, &index.into(), &mut rows));
                self.add_all(to, from, length, &mut rows);
                let body = Block { stmts: rows, results: vec![] };
                stmts.push(plain(index, ZERO, private.count.clone(), vec![], body, vec![]));
            }
        }
        out.push(plain(chunk, ONE, count.clone(), vec![], Block { stmts, results: vec![] }, vec![]));
    }

    fn add_all(&mut self, to: Local, from: Local, count: Operand, out: &mut Vec<Stmt>) {
        let index = self.local(INTEGER);
        let mut stmts = Vec::new();
        let x = self.load(from, &index.into(), &mut stmts);
        stmts.push(Stmt::Memory(Memory::Add(to.into(), index.into(), x.into())));
        out.push(plain(index, ZERO, count, vec![], Block { stmts, results: vec![] }, vec![]));
    }

    /// The sum of the chunks' sums.
    fn combine_sum(&mut self, kind: ChunkPart, parts: Local, result: Local, count: &Operand, out: &mut Vec<Stmt>) {
        let ty = self.ty(result);
        let first = self.load(parts, &ZERO, out);
        let [chunk, so_far, next] = [INTEGER, ty, ty].map(|ty| self.local(ty));
        let mut stmts = Vec::new();
        let part = self.load(parts, &chunk.into(), &mut stmts);
        let end = match kind.sum() {
            Some((_, add)) => {
                stmts.push(Stmt::Let(next, add, vec![so_far.into(), part.into()]));
                next
            }
            None => so_far,
        };
        let body = Block { stmts, results: vec![end.into()] };
        out.push(plain(chunk, ONE, count.clone(), vec![(so_far, first.into())], body, vec![result]));
    }

    /// The best of the chunks' bests, one after the other: the equal ones as in the loop, but that what a chunk started
    /// from is not one of its elements.
    fn combine_best(&mut self, best: &Best, division: &Division, results: &[Local], out: &mut Vec<Stmt>) {
        let members: Vec<usize> = best.members().collect();
        let parts: Vec<Local> = members.iter().map(|i| division.sums[*i]).collect();
        let init: Vec<Operand> = parts.iter().map(|parts| self.load(*parts, &ZERO, out).into()).collect();
        let types: Vec<Ty> = members.iter().map(|i| self.ty(results[*i])).collect();
        let chunk = self.local(INTEGER);
        let mut stmts = Vec::new();
        let theirs: Vec<Local> = parts.iter().map(|parts| self.load(*parts, &chunk.into(), &mut stmts)).collect();
        let so_far: Vec<Local> = types.iter().map(|ty| self.local(*ty)).collect();
        let scalar = types[0].as_scalar().expect("bests are numbers");
        let (op, args) = best.taken.comparison(scalar, so_far[0].into(), theirs[0].into());
        let mut builder = ir::Builder { locals: self.locals };
        let mut better = builder.op(op, args, &mut stmts);
        let place = best.place.and_then(|place| members.iter().position(|member| *member == place));
        if let Some(place) = place.filter(|_| best.taken.last) {
            let is_own = builder.op(Op::LtI, [Operand::Integer(i64::MIN), theirs[place].into()], &mut stmts);
            better = builder.op(Op::And, [better, is_own], &mut stmts);
        }
        let next: Vec<Local> = types.iter().map(|ty| builder.local(*ty)).collect();
        let [taken, kept] =
            [&theirs, &so_far].map(|all| Block { stmts: vec![], results: all.iter().map(|x| (*x).into()).collect() });
        stmts.push(Stmt::If(next.clone(), better, taken, kept));
        let body = Block { stmts, results: next.into_iter().map(Operand::Local).collect() };
        let ends = members.iter().map(|i| results[*i]).collect();
        out.push(plain(chunk, ONE, division.count.clone(), so_far.into_iter().zip(init).collect(), body, ends));
    }

    fn difference(&mut self, to: &Operand, from: &Operand, out: &mut Vec<Stmt>) -> Operand {
        match from {
            Operand::Integer(0) => to.clone(),
            from => let_integer(Op::SubI, [to.clone(), from.clone()], out, self.locals),
        }
    }

    /// A number for each chunk. A function without buffers stays one without an arena.
    fn on_stack(&mut self, ty: Ty, out: &mut Vec<Stmt>) -> Local {
        let buffer = self.local(ty);
        out.push(Stmt::Memory(Memory::Stack(buffer, Operand::Integer(MOST_CHUNKS))));
        buffer
    }

    fn alloc(&mut self, ty: Ty, count: &Operand, out: &mut Vec<Stmt>) -> Local {
        let buffer = self.local(ty);
        out.push(Stmt::Memory(Memory::Alloc { buffer, count: count.clone(), span: self.span }));
        buffer
    }

    fn load(&mut self, buffer: Local, index: &Operand, out: &mut Vec<Stmt>) -> Local {
        let x = self.local(self.ty(buffer).element().expect("it is a buffer"));
        out.push(Stmt::Memory(Memory::Load(x, buffer.into(), index.clone())));
        x
    }

    fn ty(&self, x: Local) -> Ty {
        self.locals[x.0 as usize].ty
    }

    fn local(&mut self, ty: Ty) -> Local {
        self.locals.push(LocalInfo::unnamed(ty));
        Local(u32::try_from(self.locals.len() - 1).expect("a function has fewer locals"))
    }
}

fn store(buffer: Local, index: Operand, value: Operand) -> Stmt {
    Stmt::Memory(Memory::Store(buffer.into(), index, value))
}

/// Returns a loop, on one thread.
fn plain(
    index: Local,
    from: Operand,
    to: Operand,
    carried: Vec<(Local, Operand)>,
    body: Block,
    results: Vec<Local>,
) -> Stmt {
    Stmt::For(Box::new(For { results, index, from, to, carried, body, lanes: 1, jam: 1, on_threads: false }))
}
