//! Lowers branches, loops, and scopes: at the end of a scope the arena is as it was at the start.

use super::body::Body;
use super::value::Val;
use crate::error::Error;
use crate::ir::{Block, For, Local, Memory, Op, Operand, Scalar, Stmt, Ty};

type Operands = Result<Vec<Operand>, Error>;

/// The position of a loop over the elements of a tensor.
pub(super) struct ElementPosition {
    /// The index, one number for each dimension.
    pub(super) index: Vec<Operand>,
    /// The element's number in order.
    pub(super) offset: Operand,
}

impl ElementPosition {
    /// Returns the index as a value.
    pub(super) fn index(&self) -> Val {
        match self.index.as_slice() {
            [one] => Val::Leaf(one.clone()),
            many => Val::tuple(many.iter().cloned().map(Val::Leaf)),
        }
    }
}

impl Body<'_> {
    /// Emits statements into a block of their own.
    pub(super) fn nested<T>(
        &mut self,
        emit: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<(Vec<Stmt>, T), Error> {
        let outer = std::mem::take(&mut self.stmts);
        let then = self.facts.now();
        let result = emit(self);
        self.facts.forget_since(then);
        let stmts = std::mem::replace(&mut self.stmts, outer);
        Ok((stmts, result?))
    }

    /// A branch between two ways to a value.
    pub(super) fn choose_value(
        &mut self,
        condition: Operand,
        then: impl FnOnce(&mut Self) -> Result<Val, Error>,
        other: impl FnOnce(&mut Self) -> Result<Val, Error>,
    ) -> Result<Val, Error> {
        let mut form = None;
        let since = self.locals.len();
        let then = |body: &mut Self| Ok(form.insert(then(body)?).flatten());
        let results = self.choose(condition, then, |body| Ok(other(body)?.flatten()))?;
        let value = form.expect("the branch was emitted").rebuilt(&mut results.into_iter());
        self.new_sizes(&value, since);
        Ok(value)
    }

    /// A branch; what both sides give alike is no result of it. Slots that one of them sets are set.
    pub(super) fn choose(
        &mut self,
        condition: Operand,
        then: impl FnOnce(&mut Self) -> Operands,
        other: impl FnOnce(&mut Self) -> Operands,
    ) -> Operands {
        let slots = self.slots.clone();
        let (mut then, then_took) = self.lower_arm(then)?;
        let then_slots = std::mem::replace(&mut self.slots, slots.clone());
        let (mut other, other_took) = self.lower_arm(other)?;
        let other_slots = std::mem::replace(&mut self.slots, slots);
        let count = then.results.len();
        then.results.extend(then_slots.into_iter().take(self.slots.len()));
        other.results.extend(other_slots.into_iter().take(self.slots.len()));
        let mut targets = Vec::new();
        let mut results = Vec::new();
        let mut arms = [(then.stmts, vec![]), (other.stmts, vec![])];
        for (a, b) in then.results.into_iter().zip(other.results) {
            if a.same(&b) {
                results.push(a);
                continue;
            }
            let x = self.local(self.ty_of(&a));
            targets.push(x);
            results.push(Operand::Local(x));
            arms[0].1.push(a);
            arms[1].1.push(b);
        }
        match (then_took, other_took) {
            (Took::Nothing, Took::Nothing) => {}
            (Took::Garbage, _) | (_, Took::Garbage) => self.allocated.push(None),
            (Took::Results | Took::Nothing, Took::Results | Took::Nothing) => self.own_buffers(&targets),
        }
        let [then, other] = arms.map(|(stmts, results)| Block { stmts, results });
        self.stmts.push(Stmt::If(targets, condition, then, other));
        self.slots = results.split_off(count);
        Ok(results)
    }

    /// The buffers among these lie in the arena.
    pub(super) fn own_buffers(&mut self, xs: &[Local]) {
        let buffers = xs.iter().filter(|x| self.locals[x.0 as usize].ty.as_scalar().is_none());
        self.allocated.extend(buffers.map(|x| Some(*x)));
    }

    fn lower_arm(&mut self, emit: impl FnOnce(&mut Self) -> Operands) -> Result<(Block, Took), Error> {
        let outer = std::mem::take(&mut self.allocated);
        let emitted = self.nested(emit);
        let allocated = std::mem::replace(&mut self.allocated, outer);
        let (stmts, results) = emitted?;
        let took = match allocated.is_empty() {
            true => Took::Nothing,
            false if all_among(&allocated, &results) => Took::Results,
            false => Took::Garbage,
        };
        Ok((Block { stmts, results }, took))
    }

    /// Does without the arena what `emit` does with it: what it takes goes back, its value is kept.
    pub(super) fn scoped(&mut self, emit: impl FnOnce(&mut Self) -> Result<Val, Error>) -> Result<Val, Error> {
        let start = self.stmts.len();
        let (value, allocated) = self.tracked(emit)?;
        if self.holds_record(&value) {
            self.allocated.extend(allocated.iter().map(|_| None));
            return Ok(value);
        }
        if all_among(&allocated, &value.flatten()) {
            return Ok(value);
        }
        let mark = self.local(Scalar::Mark.ty());
        self.stmts.insert(start, Stmt::Memory(Memory::Mark(mark)));
        self.keep(&value, mark)
    }

    /// Runs `emit`. Returns its value, and what the emitted statements leave in the arena.
    fn tracked<T>(
        &mut self,
        emit: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<(T, Vec<Option<Local>>), Error> {
        let outer = std::mem::take(&mut self.allocated);
        let value = emit(self);
        let allocated = std::mem::replace(&mut self.allocated, outer);
        Ok((value?, allocated))
    }

    /// Runs through the indices of a size, in order. What is carried goes from one to the next.
    ///
    /// `emit` is called once.
    pub(super) fn for_each(
        &mut self,
        sizes: &[Operand],
        init: Vec<Operand>,
        emit: &mut dyn FnMut(&mut Self, ElementPosition, Vec<Operand>) -> Operands,
    ) -> Operands {
        self.dimension(sizes, vec![], None, init, emit)
    }

    fn dimension(
        &mut self,
        sizes: &[Operand],
        index: Vec<Operand>,
        offset: Option<Operand>,
        init: Vec<Operand>,
        emit: &mut dyn FnMut(&mut Self, ElementPosition, Vec<Operand>) -> Operands,
    ) -> Operands {
        let Some((size, inner)) = sizes.split_first() else {
            return emit(self, ElementPosition { index, offset: offset.expect("tensors have a dimension") }, init);
        };
        let row = offset.map(|offset| self.op(Op::MulI, [offset, size.clone()]));
        self.count_to(size, init, |body, i, carried| {
            let offset = row.map_or(i.clone(), |row| body.op(Op::AddI, [row, i.clone()]));
            let index = index.into_iter().chain([i]).collect();
            body.dimension(inner, index, Some(offset), carried, emit)
        })
    }

    /// A loop over 0 .. n.
    pub(super) fn count_to(
        &mut self,
        n: &Operand,
        init: Vec<Operand>,
        emit: impl FnOnce(&mut Self, Operand, Vec<Operand>) -> Operands,
    ) -> Operands {
        let types: Vec<Ty> = init.iter().map(|a| self.ty_of(a)).collect();
        let index = self.local(Scalar::Integer.ty());
        self.facts.is_below(index, n);
        let carried: Vec<Local> = types.iter().map(|ty| self.local(*ty)).collect();
        let operands = carried.iter().map(|x| Operand::Local(*x)).collect();
        let (stmts, next) = self.nested(|body| emit(body, Operand::Local(index), operands))?;
        let results: Vec<Local> = types.iter().map(|ty| self.local(*ty)).collect();
        let (from, to) = (Operand::Integer(0), n.clone());
        let carried = carried.into_iter().zip(init).collect();
        let body = Block { stmts, results: next };
        self.stmts.push(Stmt::For(Box::new(For {
            results: results.clone(),
            index,
            from,
            to,
            carried,
            body,
            lanes: 1,
            jam: 1,
            on_threads: false,
        })));
        Ok(results.into_iter().map(Operand::Local).collect())
    }

    /// A loop whose iterations hand on a state, of which there is only one at a time in the arena, and slots.
    pub(super) fn iterate(
        &mut self,
        n: &Operand,
        state: &Val,
        ty: &lm::types::Type,
        slots: &[usize],
        emit: impl FnOnce(&mut Self, Operand, Val) -> Result<Val, Error>,
    ) -> Result<Val, Error> {
        let mark = self.local(Scalar::Mark.ty());
        let before = self.stmts.len();
        let width = state.flatten().len();
        let mut took = false;
        let init = slots.iter().map(|slot| self.slots[*slot].clone());
        let init = state.flatten().into_iter().chain(init).collect();
        let results = self.count_to(n, init, |body, i, mut carried| {
            let numbers = carried.split_off(width);
            slots.iter().zip(numbers).for_each(|(slot, x)| body.slots[*slot] = x);
            let state = Val::from_components(ty, &mut carried.into_iter());
            body.new_sizes(&state, 0);
            let (next, allocated) = body.tracked(|body| emit(body, i, state))?;
            took = !allocated.is_empty();
            let next = if took && !body.holds_record(&next) { body.keep(&next, mark)? } else { next };
            Ok(next.flatten().into_iter().chain(slots.iter().map(|slot| body.slots[*slot].clone())).collect())
        });
        let mut results = results?;
        let numbers = results.split_off(width);
        slots.iter().zip(numbers).for_each(|(slot, x)| self.slots[*slot] = x);
        if took {
            self.stmts.insert(before, Stmt::Memory(Memory::Mark(mark)));
            let locals = results.iter().filter_map(|a| if let Operand::Local(x) = a { Some(*x) } else { None });
            self.own_buffers(&locals.collect::<Vec<_>>());
        }
        let state = Val::from_components(ty, &mut results.into_iter());
        self.new_sizes(&state, 0);
        Ok(state)
    }
}

/// Describes what a branch takes from the arena.
enum Took {
    Nothing,
    /// Only what it yields.
    Results,
    /// Also buffers that are not used afterwards.
    Garbage,
}

fn all_among(allocated: &[Option<Local>], results: &[Operand]) -> bool {
    let is_result = |x: &Local| results.iter().any(|a| matches!(a, Operand::Local(y) if x == y));
    allocated.iter().all(|owner| owner.as_ref().is_some_and(is_result))
}
