//! Makes the states of a loop in two buffers in turn, where a step reads so much of the old state that it would have to be
//! copied.
//!
//! ```text
//! for t in a..b carrying (s = init, c) { N = alloc n; .. store N[x] = e(s, c) ..; yield N, c' }
//!   =  S = alloc n; move S <- init; m = mark; T = alloc n
//!      for p in 0..(b - a + 1) / 2 carrying (c) {
//!        t = a + 2 p
//!        .. store T[x] = e(S, c) ..
//!        if t + 1 < b { .. store S[x] = e(T, c') ..; yield c'' } else { move S <- T; yield c' }
//!      }
//!      release m
//! ```
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

impl Updater<'_> {
    /// Changes a loop whose i-th carried value, taken out of it, is the only buffer of it, of the name `old`; `state` is the
    /// first of the two buffers. Returns the statements that come after the loop.
    pub(super) fn use_two_buffers(
        &mut self,
        looped: &mut For,
        step: Step,
        [old, state]: [Local; 2],
        out: &mut Vec<Stmt>,
    ) -> Vec<Stmt> {
        let Step { alloc, kept, buffer, count, span, .. } = step;
        let dropped: Vec<usize> = [alloc].into_iter().chain(kept.into_iter().flatten()).collect();
        let stmts = std::mem::take(&mut looped.body.stmts).into_iter().enumerate();
        looped.body.stmts = stmts.filter(|(at, _)| !dropped.contains(at)).map(|(_, stmt)| stmt).collect();
        let marks = released(&looped.body.stmts);
        let ty = self.locals[state.0 as usize].ty;
        let mut build = Builder { locals: self.locals };
        let (mark, second) = (build.local(Scalar::Mark.ty()), build.local(ty));
        self.extents.note(second, &count);
        out.push(Stmt::Memory(Memory::Mark(mark)));
        out.push(Stmt::Memory(Memory::Alloc { buffer: second, count: count.clone(), span }));
        self.renew_marks(&mut looped.body, &marks, out);
        let back = Memory::Move { to: state.into(), from: second.into(), count };
        pair_steps(looped, [old, buffer], [state, second], Stmt::Memory(back), self.locals, out);
        vec![Stmt::Memory(Memory::Release(mark.into()))]
    }
}

/// Makes a loop one over pairs of its iterations: the first has `firsts` in place of `names`, the second has these the other
/// way round. `alone` follows an iteration that has no second.
fn pair_steps(
    looped: &mut For,
    names: [Local; 2],
    firsts: [Local; 2],
    alone: Stmt,
    locals: &mut Vec<LocalInfo>,
    out: &mut Vec<Stmt>,
) {
    let For { from, to, index, carried, .. } = looped.clone();
    let copy = |t: &Operand, values: Vec<Operand>, [a, b]: [Local; 2], locals: &mut Vec<LocalInfo>| {
        let own = [(index, t.clone()), (names[0], a.into()), (names[1], b.into())];
        looped.body.copy(locals, carried.iter().map(|(x, _)| *x).zip(values).chain(own).collect())
    };
    let mut stmts = Vec::new();
    let mut build = Builder { locals };
    let all = build.op(Op::SubI, [to.clone(), from.clone()], out);
    let more = build.op(Op::AddI, [all, Operand::Integer(1)], out);
    let pairs = build.op(Op::DivI, [more, Operand::Integer(2)], out);
    let pair = build.local(Scalar::Integer.ty());
    let before = build.op(Op::MulI, [pair.into(), Operand::Integer(2)], &mut stmts);
    let t = build.op(Op::AddI, [from, before], &mut stmts);
    let one = copy(&t, carried.iter().map(|(x, _)| Operand::Local(*x)).collect(), firsts, locals);
    stmts.extend(one.stmts);
    let mut build = Builder { locals };
    let next = build.op(Op::AddI, [t, Operand::Integer(1)], &mut stmts);
    let has_second = build.op(Op::LtI, [next.clone(), to], &mut stmts);
    let results: Vec<Local> = carried.iter().map(|(x, _)| build.local(build.locals[x.0 as usize].ty)).collect();
    let two = copy(&next, one.results.clone(), [firsts[1], firsts[0]], locals);
    stmts.push(Stmt::If(results.clone(), has_second, two, Block { stmts: vec![alone], results: one.results }));
    looped.body = Block { stmts, results: results.into_iter().map(Operand::Local).collect() };
    (looped.index, looped.from, looped.to) = (pair, Operand::Integer(0), pairs);
}
