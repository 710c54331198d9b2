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
//! The text of the step is there twice. So it must be short, and take about as long for each element as a copy does.

use super::Updater;
use super::others::Way;
use super::step::{Change, Step};
use crate::analyses::scopes::released;
use crate::ir::{Block, Builder, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};

/// The longest body of a loop that is written twice, in statements.
const LONGEST: usize = 300;

/// Returns whether the states are better made in two buffers: what a step does with an element takes little longer than
/// copying it.
pub(super) fn pays(step: &Step, looped: &For) -> bool {
    let Change::Stores { at, nest, ways } = &step.change else { return false };
    let mut is_simple = true;
    nest.innermost(&looped.body.stmts[*at]).visit(&mut |stmt| {
        is_simple &= !matches!(stmt, Stmt::For(_) | Stmt::Call(..) | Stmt::External { .. } | Stmt::Bench { .. });
    });
    is_simple && ways.contains(&Way::Whole) && looped.body.len() <= LONGEST
}

/// A step as a function of the old state, in whatever buffer, the new one, and the number of the iteration.
struct Pattern {
    body: Block,
    index: Local,
    carried: Vec<Local>,
    old: Local,
    new: Local,
}

impl Pattern {
    fn at(&self, t: &Operand, carried: Vec<Operand>, [old, new]: [Operand; 2], locals: &mut Vec<LocalInfo>) -> Block {
        let own = [(self.index, t.clone()), (self.old, old), (self.new, new)];
        self.body.copy(locals, self.carried.iter().copied().zip(carried).chain(own).collect())
    }
}

impl Updater<'_> {
    /// Changes a loop whose only buffer among the carried values, `old`, is taken out of it: `state` is the buffer of the
    /// last state, which the first one is in, unless it is `elsewhere`. Returns the statements that come after the loop.
    pub(super) fn use_two_buffers(
        &mut self,
        looped: &mut For,
        step: Step,
        [old, state]: [Local; 2],
        elsewhere: Option<Operand>,
        out: &mut Vec<Stmt>,
    ) -> Vec<Stmt> {
        let Step { alloc, kept, buffer, count, span, .. } = step;
        let dropped: Vec<usize> = [alloc].into_iter().chain(kept.into_iter().flatten()).collect();
        let stmts = std::mem::take(&mut looped.body.stmts).into_iter().enumerate();
        looped.body.stmts = stmts.filter(|(at, _)| !dropped.contains(at)).map(|(_, stmt)| stmt).collect();
        let marks = released(&looped.body.stmts);
        let ty = self.locals[state.0 as usize].ty;
        let mut build = Builder { locals: self.locals };
        let n = build.op(Op::SubI, [looped.to.clone(), looped.from.clone()], out);
        let more = build.op(Op::AddI, [n.clone(), Operand::Integer(1)], out);
        let pairs = build.op(Op::DivI, [more, Operand::Integer(2)], out);
        let shift = elsewhere.as_ref().map(|init| {
            let some = build.op(Op::LtI, [Operand::Integer(0), n.clone()], out);
            let even = build.op(Op::MulI, [pairs.clone(), Operand::Integer(2)], out);
            let odd = build.op(Op::LtI, [n, even], out);
            let odd = build.op(Op::And, [some, odd], out);
            let copy = Memory::Move { to: state.into(), from: init.clone(), count: count.clone() };
            let copy = Block { stmts: vec![Stmt::Memory(copy)], results: vec![] };
            out.push(Stmt::If(vec![], odd.clone(), Block::default(), copy));
            build.choice(odd, [Operand::Integer(1), Operand::Integer(0)], Scalar::Integer.ty(), out)
        });
        let (mark, second) = (build.local(Scalar::Mark.ty()), build.local(ty));
        self.extents.note(second, &count);
        out.push(Stmt::Memory(Memory::Mark(mark)));
        out.push(Stmt::Memory(Memory::Alloc { buffer: second, count: count.clone(), span }));
        self.renew_marks(&mut looped.body, &marks, out);

        let carried: Vec<Local> = looped.carried.iter().map(|(x, _)| *x).collect();
        let body = std::mem::take(&mut looped.body);
        let pattern = Pattern { body, index: looped.index, carried, old, new: buffer };
        let [from, to] = [looped.from.clone(), looped.to.clone()];
        let pair = Builder { locals: self.locals }.local(Scalar::Integer.ty());
        let buffers = [state, second].map(Operand::Local);
        looped.body = match elsewhere.zip(shift) {
            Some((init, shift)) => second_in_all(&pattern, pair, [from, shift], buffers, init, self.locals),
            None => first_in_all(&pattern, pair, [from, to], buffers, count, self.locals),
        };
        (looped.index, looped.from, looped.to) = (pair, Operand::Integer(0), pairs);
        vec![Stmt::Memory(Memory::Release(mark.into()))]
    }
}

/// Returns two iterations: the last pair may have no second one.
fn first_in_all(
    pattern: &Pattern,
    pair: Local,
    [from, to]: [Operand; 2],
    [state, second]: [Operand; 2],
    count: Operand,
    locals: &mut Vec<LocalInfo>,
) -> Block {
    let mut stmts = Vec::new();
    let mut build = Builder { locals };
    let before = build.op(Op::MulI, [pair.into(), Operand::Integer(2)], &mut stmts);
    let t = build.op(Op::AddI, [from, before], &mut stmts);
    let now = pattern.carried.iter().map(|x| Operand::Local(*x)).collect();
    let one = pattern.at(&t, now, [state.clone(), second.clone()], locals);
    stmts.extend(one.stmts);
    let mut build = Builder { locals };
    let next = build.op(Op::AddI, [t, Operand::Integer(1)], &mut stmts);
    let has_second = build.op(Op::LtI, [next.clone(), to], &mut stmts);
    let results: Vec<Local> = pattern.carried.iter().map(|x| build.local(build.locals[x.0 as usize].ty)).collect();
    let two = pattern.at(&next, one.results.clone(), [second.clone(), state.clone()], locals);
    let copy = Stmt::Memory(Memory::Move { to: state, from: second, count });
    stmts.push(Stmt::If(results.clone(), has_second, two, Block { stmts: vec![copy], results: one.results }));
    Block { stmts, results: results.into_iter().map(Operand::Local).collect() }
}

/// Returns two iterations: the first pair may have no first one, `shift` is 1 then. The second one reads `init` there.
fn second_in_all(
    pattern: &Pattern,
    pair: Local,
    [from, shift]: [Operand; 2],
    [state, second]: [Operand; 2],
    init: Operand,
    locals: &mut Vec<LocalInfo>,
) -> Block {
    let mut stmts = Vec::new();
    let mut build = Builder { locals };
    let before = build.op(Op::MulI, [pair.into(), Operand::Integer(2)], &mut stmts);
    let before = build.op(Op::SubI, [before, shift], &mut stmts);
    let t = build.op(Op::AddI, [from, before.clone()], &mut stmts);
    let has_first = build.op(Op::LeI, [Operand::Integer(0), before], &mut stmts);
    let types = pattern.carried.iter().chain([&pattern.old]).map(|x| build.locals[x.0 as usize].ty);
    let results: Vec<Local> = types.collect::<Vec<_>>().into_iter().map(|ty| build.local(ty)).collect();
    let now: Vec<Operand> = pattern.carried.iter().map(|x| Operand::Local(*x)).collect();
    let mut one = pattern.at(&t, now.clone(), [state.clone(), second.clone()], locals);
    one.results.push(second);
    let none = Block { stmts: vec![], results: now.into_iter().chain([init]).collect() };
    stmts.push(Stmt::If(results.clone(), has_first, one, none));
    let next = Builder { locals }.op(Op::AddI, [t, Operand::Integer(1)], &mut stmts);
    let mut now: Vec<Operand> = results.into_iter().map(Operand::Local).collect();
    let old = now.pop().expect("the state is one of them");
    let two = pattern.at(&next, now, [old, state], locals);
    stmts.extend(two.stmts);
    Block { stmts, results: two.results }
}
