//! Evaluates terms into sinks, which add values to sums.
//!
//! ```text
//! a + b            add a, then b            0         add nothing
//! $delta_at w i x  add x to element i       let, if   as ever, then the body or the branch taken
//! sumbuild n f     add f(0), f(1), ...      (a, ..)   component by component
//! build n f        add f(i) to element i    g(e)      g's body, into the target
//! k v, -v          add k v[i], -v[i] to element i
//!
//! (a + b).i        a.i + b.i     of a pair that is added and a number that goes back, the numbers are added
//! ```
//!
//! So a sum of one-hot vectors costs what its numbers cost: no vector of zeros is ever made for one of
//! them. What of a block goes where is planned by `lm::destination`; the order of additions is that of the
//! interpreter (`lm::interp`), to the bit.

use super::blocks::ElementPosition;
use super::body::{Body, Sharing};
use super::sink::{Accumulator, Planned, Sink};
use super::value::Val;
use crate::error::Error;
use crate::ir::{Op, Operand};
use lm::destination::{Unread, beside_a_value, gives_parts};
use lm::prim::Prim;
use lm::term::{self, Expr, Kind};
use lm::types::Type;

pub(super) type Lowered = Result<Val, Error>;
impl Body<'_> {
    /// Evaluates into a target; gives what goes back to the caller. `planned` holds what was added before.
    pub(super) fn lower_into(&mut self, e: &Expr, target: &Sink, planned: Option<&Planned>) -> Lowered {
        match target {
            Sink::Own => self.lower_value(e),
            Sink::Nowhere => {
                if !self.unread.is_idle(e, &self.wanted.effects) {
                    let passes_on = self.unread.passes_on(e);
                    if passes_on {
                        self.spread(e, target, planned)?
                    } else {
                        self.lower_value(e)?
                    };
                }
                Ok(Val::nothing())
            }
            Sink::Add(_) | Sink::Parts(_) if planned.is_some_and(|planned| planned.has_added(e)) => self.lower_value(e),
            Sink::Add(_) | Sink::Parts(_) => self.spread(e, target, planned),
        }
    }

    /// A term whose parts have targets.
    fn spread(&mut self, e: &Expr, target: &Sink, planned: Option<&Planned>) -> Lowered {
        match e.kind() {
            Kind::Let(..) => self.lower_block_into(e, target, planned),
            Kind::App(term::Op::If, args) => {
                let condition = self.lower_value(&args[0])?.leaf();
                self.choose_value(
                    condition,
                    |body| body.lower_into(&args[1], target, planned),
                    |body| body.lower_into(&args[2], target, planned),
                )
            }
            Kind::App(term::Op::Get(i, n), args) if gives_parts(&args[0]) => {
                let mut parts = vec![Sink::Nowhere; *n];
                parts[i - 1] = target.clone();
                Ok(self.lower_into(&args[0], &Sink::Parts(parts), None)?.parts()[i - 1].clone())
            }
            Kind::App(term::Op::Tuple, args) => {
                let part = |(i, e)| self.lower_into(e, &target.component(i + 1), planned);
                Ok(Val::tuple(args.iter().enumerate().map(part).collect::<Result<Vec<_>, _>>()?))
            }
            Kind::App(term::Op::Call(fun), args) => {
                let args = self.lower_values(args)?;
                self.lower_call_into(fun, &args, self.proved.contains(&e.address()), target)
            }
            // An unread part may fail if it is evaluated. So it is added to an unread part of the destination.
            Kind::App(term::Op::Prim(p), args) => match target.kept().filter(|_| self.unread == Unread::Evaluated) {
                Some(kept) => Ok(self.lower_prim_into(*p, e, args, &kept, planned)?.without_unread(target)),
                None => self.lower_prim_into(*p, e, args, target, planned),
            },
            Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => {
                let value = self.lower_value(e)?;
                self.distribute(&value, target)
            }
        }
    }

    pub(super) fn element_at(&mut self, sum: &Accumulator, index: &[Operand]) -> Accumulator {
        let tensor = sum.tensor();
        let offset = self.offset(&tensor.sizes, index);
        self.element_sum(&tensor, &offset)
    }

    fn lower_prim_into(
        &mut self,
        p: Prim,
        e: &Expr,
        args: &[Expr],
        target: &Sink,
        planned: Option<&Planned>,
    ) -> Lowered {
        match (p, target) {
            (Prim::Add, _) if target.destination().takes_all() && !e.ty().has_fixed_shape() => {
                self.lower_into(&args[0], target, planned)?;
                self.lower_into(&args[1], target, planned)
            }
            (Prim::Add, Sink::Parts(_)) if target.destination().gives_back_numbers(e.ty()) => {
                let a = self.lower_into(&args[0], target, planned)?;
                let b = self.lower_into(&args[1], target, planned)?;
                self.sum_of_given([a, b], target)
            }
            (Prim::ZeroOf, Sink::Add(_)) => Ok(Val::nothing()),
            (Prim::ZeroOf, _) => {
                let witness = self.lower_value(&args[0])?;
                self.zero_into(&witness, target, e.ty())
            }
            (Prim::DeltaAt, Sink::Add(sum)) => {
                let index = self.lower_value(&args[1])?.numbers();
                let element = self.at(e.span(), |body| body.element_at(sum, &index));
                self.lower_into(&args[2], &Sink::Add(element), planned)
            }
            (Prim::SumBuild, _) => self.at(e.span(), |body| body.lower_sum_into(e, args, target)),
            (Prim::Loop, _) => self.lower_loop_into(args, target),
            (Prim::Into, _) => self.starting_at_zero(args, target),
            (Prim::Build, Sink::Add(sum)) => self.build_into(e, args, sum),
            (Prim::Mul, Sink::Add(sum)) if !e.ty().has_fixed_shape() => {
                let (k, value) = (self.lower_value(&args[0])?.leaf(), self.lower_value(&args[1])?);
                let times = &mut |body: &mut Self, x| body.op(Op::MulF, [k.clone(), x]);
                self.at(e.span(), |body| body.add_changed(sum, &value, times))?;
                Ok(Val::nothing())
            }
            (Prim::Neg, Sink::Add(sum)) if !e.ty().has_fixed_shape() => {
                let value = self.lower_value(&args[0])?;
                let negated = &mut |body: &mut Self, x| body.op(Op::NegF, [x]);
                self.at(e.span(), |body| body.add_changed(sum, &value, negated))?;
                Ok(Val::nothing())
            }
            _ => {
                let value = self.lower_value(e)?;
                self.at(e.span(), |body| body.distribute(&value, target))
            }
        }
    }

    /// Returns the sum of what goes back to the caller of two values.
    fn sum_of_given(&mut self, [a, b]: [Val; 2], target: &Sink) -> Lowered {
        match target {
            Sink::Own => self.zip(Prim::Add, &[a, b], Op::AddF, Op::AddI),
            Sink::Add(_) | Sink::Nowhere => Ok(Val::nothing()),
            Sink::Parts(parts) => {
                let (a, b) = (a.parts().to_vec(), b.parts().to_vec());
                let pairs = a.into_iter().zip(b).zip(parts);
                let sums = pairs.map(|((a, b), part)| self.sum_of_given([a, b], part));
                Ok(Val::tuple(sums.collect::<Result<Vec<_>, _>>()?))
            }
        }
    }

    fn build_into(&mut self, e: &Expr, args: &[Expr], sum: &Accumulator) -> Lowered {
        let n = self.lower_value(&args[0])?.numbers();
        let tensor = sum.tensor();
        let known = n.iter().zip(&tensor.sizes).all(|(a, b)| self.facts.known_equal(a, b));
        if !known {
            self.at(e.span(), |body| {
                body.check_size(&n);
                body.check_same_size(&tensor.sizes, &n);
            });
        }
        self.for_each(&n, vec![], &mut |body, place, _| {
            let term = body.enter(&args[1], place.index())?.clone();
            body.scoped(|body| {
                let element = body.element_sum(&tensor, &place.offset);
                body.lower_into(&term, &Sink::Add(element), None)
            })?;
            Ok(vec![])
        })?;
        Ok(Val::nothing())
    }

    /// Adds `f(i)` for each i; what goes back to the caller is summed from the zero of w's shape.
    fn lower_sum_into(&mut self, e: &Expr, args: &[Expr], target: &Sink) -> Lowered {
        // A sum of numbers is finished before it is added. Where the order is free, one register does for both.
        let is_finished = self.wanted.keeps_order && e.ty().has_fixed_shape();
        let inner = match (args, target) {
            ([_, _], Sink::Add(_)) if !is_finished => target.clone(),
            ([witness, _, _], _) if !is_finished => {
                let witness = self.lower_value(witness)?;
                self.with_zeros(&witness, target, e.ty())?
            }
            _ => {
                let value = self.lower_value(e)?;
                return self.distribute(&value, target);
            }
        };
        let n = self.lower_value(&args[args.len() - 2])?.numbers();
        self.check_size(&n);
        self.add_each(&n, &inner, &mut |body, place, inner| {
            let term = body.enter(&args[args.len() - 1], place.index())?.clone();
            body.lower_into(&term, inner, None).map(drop)
        })?;
        Ok(self.collected(target, &inner))
    }

    /// `(s, z) = f(i, s)` for each i in turn: the last s, and the sum of the z.
    pub(super) fn lower_loop_into(&mut self, args: &[Expr], target: &Sink) -> Lowered {
        let n = self.lower_value(&args[0])?.leaf();
        let start = self.lower_value(&args[2])?;
        let witness = self.lower_value(&args[3])?;
        let (state_ty, sum_ty) = (args[2].ty(), args[3].ty().tangent());
        let outer = self.with_zeros(&witness, &target.component(2), &sum_ty)?;
        let (sum, cells) = self.in_slots(&outer);
        let slots: Vec<usize> = sum.sums().iter().flat_map(Accumulator::slots).collect();
        let inner = Sink::Parts(vec![Sink::Own, sum.clone()]);
        let state = self.iterate(&n, &start, state_ty, &slots, |body, i, state| {
            let term = body.enter(&args[1], Val::tuple([Val::Leaf(i), state]))?.clone();
            Ok(body.lower_into(&term, &inner, None)?.parts()[0].clone())
        })?;
        self.back_from_slots(&cells);
        let sum = self.collected(&target.component(2), &outer);
        let state = self.distribute(&state, &target.component(1))?;
        Ok(Val::tuple([state, sum]))
    }

    /// The target with zeros for each part that goes back to the caller.
    fn with_zeros(&mut self, w: &Val, target: &Sink, ty: &Type) -> Result<Sink, Error> {
        Ok(match target {
            Sink::Add(_) | Sink::Nowhere => target.clone(),
            Sink::Own => {
                let zero = self.zero(w, ty)?;
                Sink::Add(self.sum_of(&zero))
            }
            Sink::Parts(parts) => {
                let types = ty.as_tuple().expect("a target of parts is for a tuple");
                let part = |((part, w), ty): ((&Sink, &Val), &Type)| self.with_zeros(w, part, ty);
                Sink::Parts(parts.iter().zip(w.parts()).zip(types).map(part).collect::<Result<_, _>>()?)
            }
        })
    }

    /// Zeros of w's shape: only those that go back to the caller are made.
    fn zero_into(&mut self, w: &Val, target: &Sink, ty: &Type) -> Lowered {
        match target {
            Sink::Own => self.zero(w, ty),
            Sink::Add(_) | Sink::Nowhere => Ok(Val::nothing()),
            Sink::Parts(parts) => {
                let types = ty.as_tuple().expect("a target of parts is for a tuple");
                let part = |((part, w), ty): ((&Sink, &Val), &Type)| self.zero_into(w, part, ty);
                Ok(Val::tuple(parts.iter().zip(w.parts()).zip(types).map(part).collect::<Result<Vec<_>, _>>()?))
            }
        }
    }

    /// A term, evaluated into zeros of w's shape where it goes back to the caller; of a pair with a value the rest
    /// only.
    pub(super) fn starting_at_zero(&mut self, args: &[Expr], target: &Sink) -> Lowered {
        let witness = self.lower_value(&args[0])?;
        if beside_a_value(&args[0], &args[1]) && !target.destination().takes_all() {
            let rest = target.component(2);
            let ty = &args[1].ty().as_tuple().expect("a value beside something")[1];
            let zeros = self.with_zeros(&witness.parts()[1], &rest, ty)?;
            let inner = Sink::Parts(vec![target.component(1), zeros]);
            let value = self.lower_into(&args[1], &inner, None)?.parts()[0].clone();
            let Sink::Parts(inner) = &inner else { unreachable!("it was just made") };
            return Ok(Val::tuple([value, self.collected(&rest, &inner[1])]));
        }
        let inner = self.with_zeros(&witness, target, args[1].ty())?;
        self.lower_into(&args[1], &inner, None)?;
        Ok(self.collected(target, &inner))
    }

    /// Returns the sums that `with_zeros` made room for, after all additions.
    fn collected(&mut self, target: &Sink, inner: &Sink) -> Val {
        match (target, inner) {
            (Sink::Own, Sink::Add(sum)) => self.sum_value(sum),
            (Sink::Parts(parts), Sink::Parts(inner)) => {
                let part = |(part, inner): (&Sink, &Sink)| self.collected(part, inner);
                Val::tuple(parts.iter().zip(inner).map(part).collect::<Vec<_>>())
            }
            _ => Val::nothing(),
        }
    }

    /// Adds in each iteration of a loop; numbers are in registers meanwhile.
    pub(super) fn add_each(
        &mut self,
        n: &[Operand],
        target: &Sink,
        emit: &mut dyn FnMut(&mut Self, &ElementPosition, &Sink) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (inner, cells) = self.in_slots(target);
        let slots: Vec<usize> = inner.sums().iter().flat_map(Accumulator::slots).collect();
        let init = slots.iter().map(|slot| self.slots[*slot].clone()).collect();
        let results = self.for_each(n, init, &mut |body, place, carried| {
            slots.iter().zip(carried).for_each(|(slot, x)| body.slots[*slot] = x);
            body.scoped(|body| {
                emit(body, &place, &inner)?;
                Ok(Val::nothing())
            })?;
            Ok(slots.iter().map(|slot| body.slots[*slot].clone()).collect())
        })?;
        slots.iter().zip(results).for_each(|(slot, x)| self.slots[*slot] = x);
        self.back_from_slots(&cells);
        Ok(())
    }

    /// The target with its cells in slots, but for those that may meet others; which slot is for which cell.
    pub(super) fn in_slots(&mut self, target: &Sink) -> (Sink, Vec<(Accumulator, Accumulator)>) {
        let sums = target.sums();
        let meets = |body: &Self, sum: &Accumulator| sums.iter().any(|other| body.may_meet(sum, other));
        let mut slots = |sum: &Accumulator| if meets(self, sum) { sum.clone() } else { self.loaded(sum) };
        let pairs: Vec<(Accumulator, Accumulator)> = sums.iter().map(|sum| (sum.clone(), slots(sum))).collect();
        let loaded: Vec<Accumulator> = pairs.iter().map(|(_, loaded)| loaded.clone()).collect();
        let inner = target.with_sums(&loaded);
        (inner, pairs)
    }

    pub(super) fn back_from_slots(&mut self, cells: &[(Accumulator, Accumulator)]) {
        cells.iter().for_each(|(sum, loaded)| self.stored(sum, loaded));
    }

    /// A value to where it goes.
    pub(super) fn distribute(&mut self, value: &Val, target: &Sink) -> Lowered {
        match target {
            Sink::Own => Ok(value.clone()),
            Sink::Nowhere => Ok(Val::nothing()),
            Sink::Add(sum) => {
                self.add_value(sum, value)?;
                Ok(Val::nothing())
            }
            Sink::Parts(parts) => {
                let parts = value.parts().iter().zip(parts).map(|(value, part)| self.distribute(value, part));
                Ok(Val::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
        }
    }

    /// The sum of two terms that may hold tensors.
    pub(super) fn add_terms(&mut self, args: &[Expr]) -> Lowered {
        let first = self.produce(&args[0], Sharing::Owned)?;
        let sum = self.sum_of(&first);
        self.lower_into(&args[1], &Sink::Add(sum.clone()), None)?;
        Ok(self.sum_value(&sum))
    }
}
