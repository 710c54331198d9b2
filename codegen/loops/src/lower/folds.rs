//! Lowers folds, and the states of folds.
//!
//! ```text
//! fold f a v        one state at a time
//! scanl f a v       all states
//! $states l f a v   the states before steps 0, l, 2 l, .., and the last one
//! ```
//!
//! A state that is kept lies in the arena as the step made it: a vector of states with tensors holds their addresses.

use super::arrays::element;
use super::body::Body;
use super::into::Lowered;
use super::value::{Tensor, Val};
use crate::ir::{Op, Operand};
use lm::term::Expr;
use lm::types::Type;
use std::rc::Rc;

impl Body<'_> {
    pub(super) fn lower_fold(&mut self, args: &[Expr], ty: &Type) -> Lowered {
        let start = self.lower_value(&args[1])?;
        let value = self.lower_value(&args[2])?;
        let tensor = value.tensor().clone();
        self.iterate(&tensor.sizes[0], &start, ty, &[], |body, i, state| {
            let x = body.load_element(&tensor, &i);
            let term = body.enter(&args[0], Val::tuple([state, x]))?.clone();
            body.lower_value(&term)
        })
    }

    /// The place of the first of the largest elements.
    pub(super) fn lower_imax(&mut self, v: &Expr) -> Lowered {
        let value = self.lower_value(v)?;
        let tensor = value.tensor().clone();
        let first = self.offset(&tensor.sizes, &[Operand::Integer(0)]);
        let start = vec![self.load_element(&tensor, &first).leaf(), Operand::Integer(0)];
        let found = self.count_to(&tensor.sizes[0], start, |body, i, best| {
            let x = body.load_element(&tensor, &i).leaf();
            let is_larger = body.op(Op::LtF, [best[0].clone(), x.clone()]);
            body.choose(is_larger, |_| Ok(vec![x.clone(), i.clone()]), |_| Ok(best.clone()))
        })?;
        Ok(Val::Leaf(found[1].clone()))
    }

    /// The place of the last element that gives the next state; -1 if none does.
    pub(super) fn lower_place(&mut self, args: &[Expr]) -> Lowered {
        let start = self.lower_value(&args[2])?;
        let value = self.lower_value(&args[3])?;
        let tensor = value.tensor().clone();
        let ty = Type::tuple([Type::Integer, args[2].ty().clone()]);
        let first = Val::tuple([Val::Leaf(Operand::Integer(-1)), start]);
        let found = self.iterate(&tensor.sizes[0], &first, &ty, &[], |body, i, before| {
            let x = body.load_element(&tensor, &i);
            let condition = body.enter(&args[0], Val::tuple([before.parts()[1].clone(), x.clone()]))?.clone();
            let is_taken = body.lower_value(&condition)?.leaf();
            let next = body.enter(&args[1], x)?.clone();
            let taken = |body: &mut Self| Ok([vec![i], body.lower_value(&next)?.flatten()].concat());
            let chosen = body.choose(is_taken, taken, |_| Ok(before.flatten()))?;
            Ok(Val::from_components(&ty, &mut chosen.into_iter()))
        })?;
        Ok(Val::Leaf(found.flatten()[0].clone()))
    }

    /// All states of a fold, the first one included.
    pub(super) fn lower_scan(&mut self, args: &[Expr], ty: &Type) -> Lowered {
        let start = self.lower_value(&args[1])?;
        let value = self.lower_value(&args[2])?;
        let tensor = value.tensor().clone();
        let n = self.op(Op::AddI, [tensor.sizes[0].clone(), Operand::Integer(1)]);
        self.check_size(std::slice::from_ref(&n));
        let result = self.alloc_tensor(element(ty), &[n])?;
        self.store_element(&result, &Operand::Integer(0), &start);
        self.count_to(&tensor.sizes[0], start.flatten(), |body, i, state| {
            let state = Val::from_components(element(ty), &mut state.into_iter());
            body.new_sizes(&state, 0);
            let x = body.load_element(&tensor, &i);
            let term = body.enter(&args[0], Val::tuple([state, x]))?.clone();
            let next = body.scoped(|body| body.lower_value(&term))?;
            let after = body.op(Op::AddI, [i, Operand::Integer(1)]);
            body.store_element(&result, &after, &next);
            Ok(next.flatten())
        })?;
        Ok(result.val())
    }

    /// The states of a fold before each `stride`-th step, and the last one.
    pub(super) fn lower_states(&mut self, args: &[Expr], ty: &Type) -> Lowered {
        let stride = self.lower_value(&args[0])?.leaf();
        let start = self.lower_value(&args[2])?;
        let value = self.lower_value(&args[3])?;
        let tensor = value.tensor().clone();
        let n = tensor.sizes[0].clone();
        let stride = self.clamped(&stride, &n)?;
        let past = self.op(Op::AddI, [n.clone(), stride.clone()]);
        let past = self.op(Op::SubI, [past, Operand::Integer(1)]);
        let segments = self.op(Op::DivI, [past, stride.clone()]);
        let count = self.op(Op::AddI, [segments.clone(), Operand::Integer(1)]);
        self.check_size(std::slice::from_ref(&count));
        let result = self.alloc_tensor(element(ty), &[count])?;
        self.store_element(&result, &Operand::Integer(0), &start);
        self.count_to(&segments, start.flatten(), |body, j, state| {
            let state = Val::from_components(element(ty), &mut state.into_iter());
            body.new_sizes(&state, 0);
            let first = body.op(Op::MulI, [j.clone(), stride.clone()]);
            let left = body.op(Op::SubI, [n.clone(), first.clone()]);
            let steps = body.least(&left, &stride)?;
            let next = body.scoped(|body| body.segment(&args[1], &state, element(ty), &tensor, [first, steps]))?;
            let after = body.op(Op::AddI, [j, Operand::Integer(1)]);
            body.store_element(&result, &after, &next);
            Ok(next.flatten())
        })?;
        Ok(result.val())
    }

    /// The state after so many steps from `first` on.
    fn segment(
        &mut self,
        f: &Expr,
        state: &Val,
        ty: &Type,
        over: &Rc<Tensor>,
        [first, steps]: [Operand; 2],
    ) -> Lowered {
        self.iterate(&steps, state, ty, &[], |body, i, state| {
            let i = body.op(Op::AddI, [first.clone(), i]);
            let x = body.load_element(over, &i);
            let term = body.enter(f, Val::tuple([state, x]))?.clone();
            body.lower_value(&term)
        })
    }

    /// A stride between 1 and n; 1 where n is 0.
    fn clamped(&mut self, stride: &Operand, n: &Operand) -> Result<Operand, crate::error::Error> {
        let least = self.least(stride, n)?;
        let is_large = self.op(Op::LtI, [Operand::Integer(0), least.clone()]);
        let chosen = self.choose(is_large, |_| Ok(vec![least]), |_| Ok(vec![Operand::Integer(1)]))?;
        Ok(chosen[0].clone())
    }

    fn least(&mut self, a: &Operand, b: &Operand) -> Result<Operand, crate::error::Error> {
        let is_less = self.op(Op::LtI, [a.clone(), b.clone()]);
        let chosen = self.choose(is_less, |_| Ok(vec![a.clone()]), |_| Ok(vec![b.clone()]))?;
        Ok(chosen[0].clone())
    }
}
