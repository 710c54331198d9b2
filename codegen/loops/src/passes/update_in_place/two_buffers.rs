//! Makes the states of a loop in two buffers in turn, where a step reads so much of the old state that it would have to be
//! copied.
//!
//! ```text
//! for t in a..b carrying (s = init, c) { N = alloc n; .. store N[x] = e(s, c) ..; yield N, c' }
//!   =  S = alloc n; if b - a is even { move S <- init }; m = mark; T = alloc n
//!      for p in 0..(b - a + 1) / 2 carrying (c) {
//!        t = a + 2 p, less one if b - a is odd
//!        s, c = if a <= t { .. store T[x] = e(S, c) ..; yield T, c' } else { yield init, c }
//!        .. store S[x] = e(s, c) ..; yield c'
//!      }
//!      release m
//! ```
//!
//! So the last state is in S, and no state is copied but the first one of an even number of steps. Where S is what init was,
//! the first iteration of a pair is always there, the second may be missing, and T is copied in its place.
//!
//! The text of the step is there twice. So it must be short, and take about as long for each element as a copy does. Several
//! states of one loop are in two buffers each.

use crate::ir::{Block, Builder, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt, Ty};
use lm::term::Span;
use rustc_hash::FxHashMap;

/// A state in two buffers.
pub(super) struct Pair {
    /// The buffer of the last state, and of the first one, unless that is elsewhere.
    pub(super) state: Local,
    /// What the step calls the old state and the new one. It sets neither.
    pub(super) names: [Local; 2],
    /// Where the first state is, if it is not in its buffer.
    pub(super) init: Option<Operand>,
    pub(super) count: Operand,
    pub(super) span: Span,
}

impl Pair {
    fn copy(&self, to: &Operand, from: &Operand) -> Stmt {
        Stmt::Memory(Memory::Move { to: to.clone(), from: from.clone(), count: self.count.clone() })
    }
}

/// Makes states of a loop in two buffers each. Returns the mark from before the second ones, which may be released to behind
/// the loop.
pub(super) fn in_two_buffers(
    looped: &mut For,
    pairs: &[Pair],
    locals: &mut Vec<LocalInfo>,
    out: &mut Vec<Stmt>,
) -> Local {
    let states: Vec<Operand> = pairs.iter().map(|pair| pair.state.into()).collect();
    let inits: Option<Vec<Operand>> = pairs.iter().map(|pair| pair.init.clone()).collect();
    let mut build = Builder { locals };
    let n = build.op(Op::SubI, [looped.to.clone(), looped.from.clone()], out);
    let more = build.op(Op::AddI, [n.clone(), Operand::Integer(1)], out);
    let half = build.op(Op::DivI, [more, Operand::Integer(2)], out);
    let copies = pairs.iter().filter_map(|pair| Some(pair.copy(&pair.state.into(), pair.init.as_ref()?)));
    let mut copies: Vec<Stmt> = copies.collect();
    let mut shift = None;
    if inits.is_some() {
        let some = build.op(Op::LtI, [Operand::Integer(0), n.clone()], out);
        let even = build.op(Op::MulI, [half.clone(), Operand::Integer(2)], out);
        let odd = build.op(Op::LtI, [n, even], out);
        let odd = build.op(Op::And, [some, odd], out);
        copies = vec![Stmt::If(vec![], odd.clone(), Block::default(), Block { stmts: copies, results: vec![] })];
        shift = Some(build.choice(odd, [Operand::Integer(1), Operand::Integer(0)], Scalar::Integer.ty(), out));
    }
    out.extend(copies);
    let mark = build.local(Scalar::Mark.ty());
    out.push(Stmt::Memory(Memory::Mark(mark)));
    let mut seconds: Vec<Operand> = Vec::new();
    for pair in pairs {
        let buffer = build.local(build.locals[pair.state.0 as usize].ty);
        out.push(Stmt::Memory(Memory::Alloc { buffer, count: pair.count.clone(), span: pair.span }));
        seconds.push(buffer.into());
    }
    let index = build.local(Scalar::Integer.ty());
    let two = TwoSteps { looped, pairs, buffers: [states, seconds] };
    looped.body = match inits.zip(shift) {
        Some((inits, shift)) => two.all_have_the_second(index, shift, inits, locals),
        None => two.all_have_the_first(index, locals),
    };
    (looped.index, looped.from, looped.to) = (index, Operand::Integer(0), half);
    mark
}

/// Two iterations of a loop as one.
struct TwoSteps<'a> {
    looped: &'a For,
    pairs: &'a [Pair],
    /// The first and the second buffers of its states.
    buffers: [Vec<Operand>; 2],
}

impl TwoSteps<'_> {
    fn step(
        &self,
        t: &Operand,
        carried: Vec<Operand>,
        [old, new]: [&[Operand]; 2],
        locals: &mut Vec<LocalInfo>,
    ) -> Block {
        let For { carried: names, body, index, .. } = self.looped;
        let mut given: FxHashMap<Local, Operand> = names.iter().map(|(x, _)| *x).zip(carried).collect();
        given.insert(*index, t.clone());
        for (i, pair) in self.pairs.iter().enumerate() {
            given.extend(pair.names.into_iter().zip([old[i].clone(), new[i].clone()]));
        }
        body.copy(locals, given)
    }

    fn carried(&self) -> Vec<Operand> {
        self.looped.carried.iter().map(|(x, _)| Operand::Local(*x)).collect()
    }

    /// Returns locals for what the loop carries, and then for its states.
    fn results(&self, locals: &mut Vec<LocalInfo>) -> Vec<Local> {
        let names = self.looped.carried.iter().map(|(x, _)| *x).chain(self.pairs.iter().map(|pair| pair.names[0]));
        let types: Vec<Ty> = names.map(|x| locals[x.0 as usize].ty).collect();
        types.into_iter().map(|ty| Builder { locals }.local(ty)).collect()
    }

    /// The last pair may have no second iteration.
    fn all_have_the_first(&self, index: Local, locals: &mut Vec<LocalInfo>) -> Block {
        let [firsts, seconds] = &self.buffers;
        let mut stmts = Vec::new();
        let mut build = Builder { locals };
        let before = build.op(Op::MulI, [index.into(), Operand::Integer(2)], &mut stmts);
        let t = build.op(Op::AddI, [self.looped.from.clone(), before], &mut stmts);
        let one = self.step(&t, self.carried(), [firsts, seconds], locals);
        stmts.extend(one.stmts);
        let mut build = Builder { locals };
        let next = build.op(Op::AddI, [t, Operand::Integer(1)], &mut stmts);
        let has_second = build.op(Op::LtI, [next.clone(), self.looped.to.clone()], &mut stmts);
        let mut results = self.results(locals);
        results.truncate(self.looped.carried.len());
        let two = self.step(&next, one.results.clone(), [seconds, firsts], locals);
        let copies = self.pairs.iter().zip(firsts.iter().zip(seconds));
        let copies = copies.map(|(pair, (first, second))| pair.copy(first, second)).collect();
        stmts.push(Stmt::If(results.clone(), has_second, two, Block { stmts: copies, results: one.results }));
        Block { stmts, results: results.into_iter().map(Operand::Local).collect() }
    }

    /// The first pair may have no first iteration, `shift` is 1 then. The second one starts with `inits` there.
    fn all_have_the_second(
        &self,
        index: Local,
        shift: Operand,
        inits: Vec<Operand>,
        locals: &mut Vec<LocalInfo>,
    ) -> Block {
        let [firsts, seconds] = &self.buffers;
        let mut stmts = Vec::new();
        let mut build = Builder { locals };
        let before = build.op(Op::MulI, [index.into(), Operand::Integer(2)], &mut stmts);
        let before = build.op(Op::SubI, [before, shift], &mut stmts);
        let t = build.op(Op::AddI, [self.looped.from.clone(), before.clone()], &mut stmts);
        let has_first = build.op(Op::LeI, [Operand::Integer(0), before], &mut stmts);
        let mut one = self.step(&t, self.carried(), [firsts, seconds], locals);
        one.results.extend(seconds.iter().cloned());
        let none = Block { stmts: vec![], results: self.carried().into_iter().chain(inits).collect() };
        let results = self.results(locals);
        let mut now: Vec<Operand> = results.iter().map(|x| Operand::Local(*x)).collect();
        stmts.push(Stmt::If(results, has_first, one, none));
        let olds = now.split_off(self.looped.carried.len());
        let next = Builder { locals }.op(Op::AddI, [t, Operand::Integer(1)], &mut stmts);
        let two = self.step(&next, now, [&olds, firsts], locals);
        stmts.extend(two.stmts);
        Block { stmts, results: two.results }
    }
}
