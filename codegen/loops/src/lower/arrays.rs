//! Lowers the primitives on tensors.

use super::body::{Body, Sharing};
use super::sink::Sink;
use super::value::{Tensor, Val};
use crate::error::Error;
use crate::ir::{Failure, Op, Operand};
use lm::prim::Prim;
use lm::term::Expr;
use lm::types::Type;
use std::rc::Rc;

type Lowered = Result<Val, Error>;

impl Body<'_> {
    /// The value of `p(args)`, of type `ty`; `None` when `p` is no primitive on tensors.
    pub(super) fn lower_array_prim(&mut self, p: Prim, args: &[Expr], ty: &Type, sharing: Sharing) -> Option<Lowered> {
        Some(match p {
            Prim::Build => self.lower_build(args, ty, sharing),
            Prim::SumBuild => self.lower_sum_build(args, ty),
            Prim::Sum => self.lower_sum(&args[0], ty),
            Prim::Imax => self.lower_imax(&args[0]),
            Prim::Size => self.lower_value(&args[0]).map(|v| size(v.tensor())),
            Prim::CommonSize => self.lower_common_size(args),
            Prim::AsSize => self.lower_as_size(&args[0]),
            Prim::SameSize => self.lower_same_size(args),
            Prim::InRange => self.lower_in_range(args),
            Prim::Unzip => self.lower_unzip(&args[0], ty).and_then(|x| self.copy_for(sharing, x)),
            Prim::Index => self.lower_index(args).and_then(|x| self.copy_for(sharing, x)),
            Prim::VecInit => self.lower_literal(args, sharing),
            Prim::Fold => self.lower_fold(args, ty).and_then(|x| self.copy_for(sharing, x)),
            Prim::Place => self.lower_place(args),
            Prim::Scanl => self.lower_scan(args, ty).and_then(|x| self.copy_for(sharing, x)),
            Prim::Checkpoint => self.lower_fold(&args[1..], ty).and_then(|x| self.copy_for(sharing, x)),
            Prim::States => self.lower_states(args, ty).and_then(|x| self.copy_for(sharing, x)),
            Prim::Replay => self.lower_scan(&args[1..], ty).and_then(|x| self.copy_for(sharing, x)),
            Prim::AddAt => self.lower_add_at(args),
            Prim::DeltaAt => self.lower_delta_at(args, ty, sharing),
            Prim::Loop => self.lower_loop_into(args, &Sink::Own).and_then(|x| self.copy_for(sharing, x)),
            _ => return None,
        })
    }

    /// A tensor is a structure of arrays already: its buffers, in groups.
    fn lower_unzip(&mut self, e: &Expr, ty: &Type) -> Lowered {
        let zipped = self.lower_value(e)?;
        let mut buffers = zipped.tensor().buffers.iter().cloned();
        let parts = ty.as_tuple().expect("`unzip` gives a tuple").iter().map(|part| {
            let Type::Tensor(_, element) = part else { panic!("`unzip` gives tensors") };
            let width = crate::layout::components(element).expect("the whole has a layout").len();
            let buffers = buffers.by_ref().take(width).collect();
            Tensor { element: (**element).clone(), sizes: zipped.tensor().sizes.clone(), buffers }.val()
        });
        Ok(Val::tuple(parts.collect::<Vec<_>>()))
    }

    fn lower_build(&mut self, args: &[Expr], ty: &Type, sharing: Sharing) -> Lowered {
        let n = self.lower_value(&args[0])?.numbers();
        self.check_size(&n);
        let result = self.alloc_tensor(element(ty), &n)?;
        self.for_each(&n, vec![], &mut |body, place, _| {
            let term = body.enter(&args[1], place.index())?.clone();
            let x = body.scoped(|body| body.produce(&term, sharing))?;
            body.store_element(&result, &place.offset, &x);
            Ok(vec![])
        })?;
        Ok(result.val())
    }

    fn lower_index(&mut self, args: &[Expr]) -> Lowered {
        let index = self.lower_value(&args[0])?.numbers();
        let value = self.lower_value(&args[1])?;
        let offset = self.offset(&value.tensor().sizes, &index);
        Ok(self.load_element(value.tensor(), &offset))
    }

    fn lower_common_size(&mut self, args: &[Expr]) -> Lowered {
        let values = self.lower_values(args)?;
        self.check_same_size(&values[0].tensor().sizes, &values[1].tensor().sizes);
        Ok(size(values[0].tensor()))
    }

    fn lower_as_size(&mut self, n: &Expr) -> Lowered {
        let n = self.lower_value(n)?;
        self.check_not_negative(&n.numbers());
        Ok(n)
    }

    fn lower_same_size(&mut self, args: &[Expr]) -> Lowered {
        let [n, m] = [self.lower_value(&args[0])?.leaf(), self.lower_value(&args[1])?.leaf()];
        self.check_same_size(&[n], &[m]);
        Ok(Val::Leaf(Operand::Bool(true)))
    }

    fn lower_in_range(&mut self, args: &[Expr]) -> Lowered {
        let [k, n] = [self.lower_value(&args[0])?.leaf(), self.lower_value(&args[1])?.leaf()];
        self.check_below(&k, &n);
        Ok(Val::Leaf(Operand::Bool(true)))
    }

    fn lower_literal(&mut self, args: &[Expr], sharing: Sharing) -> Lowered {
        let values = args.iter().map(|arg| self.produce(arg, sharing)).collect::<Result<Vec<_>, _>>()?;
        let result = self.alloc_tensor(args[0].ty(), &[Operand::Integer(args.len() as i64)])?;
        for (i, value) in values.iter().enumerate() {
            self.store_element(&result, &Operand::Integer(i as i64), value);
        }
        Ok(result.val())
    }

    /// Zeros of the shape of w, with x at i.
    fn lower_delta_at(&mut self, args: &[Expr], ty: &Type, sharing: Sharing) -> Lowered {
        let w = self.lower_value(&args[0])?;
        let index = self.lower_value(&args[1])?.numbers();
        let x = self.produce(&args[2], sharing)?;
        let offset = self.offset(&w.tensor().sizes, &index);
        let zero = self.zero(&w, ty)?;
        self.store_element(zero.tensor(), &offset, &x);
        Ok(zero)
    }

    /// The sum of f(i). From zeros of a shape; without one, from f(0).
    fn lower_sum_build(&mut self, args: &[Expr], ty: &Type) -> Lowered {
        let witness = if args.len() == 3 { Some(self.lower_value(&args[0])?) } else { None };
        let n = self.lower_value(&args[args.len() - 2])?.numbers();
        let f = &args[args.len() - 1];
        self.check_size(&n);
        if let Some(witness) = witness {
            let zero = self.zero(&witness, ty)?;
            return self.sum_from(&n, f, &zero);
        }
        let first_terms = self.wanted.first_terms.clone();
        if let Some(sizes) = first_terms.sizes(f).filter(|_| ty.has_fixed_shape()) {
            let start = self.start_of_sum(&n, &sizes, ty)?;
            return self.sum_from(&n, f, &start);
        }
        self.some_or_zero(&n, ty, |body| {
            let zeros = vec![Val::Leaf(Operand::Integer(0)); n.len()];
            let first = if n.len() == 1 { zeros[0].clone() } else { Val::tuple(zeros) };
            let term = body.enter(f, first)?.clone();
            let start = body.produce(&term, Sharing::Owned)?;
            body.sum_after_first(&n, &start, &mut |body, index, target| {
                let term = body.enter(f, index)?.clone();
                body.lower_into(&term, target, None).map(drop)
            })
        })
    }

    /// What a sum of so many terms begins with: -0, or 0 where it has no terms or the first one adds nothing. That one
    /// adds where its sizes are positive.
    fn start_of_sum(&mut self, n: &[Operand], sizes: &[Expr], ty: &Type) -> Lowered {
        let mut all = n.to_vec();
        for size in sizes {
            all.extend(self.lower_value(size)?.numbers());
        }
        let mut some = Operand::Bool(true);
        for n in all {
            let positive = self.op(Op::LtI, [Operand::Integer(0), n]);
            some = self.both(some, positive);
        }
        self.choose_value(some, |body| body.neutral(ty), |body| body.dummy(ty))
    }

    fn sum_from(&mut self, n: &[Operand], f: &Expr, start: &Val) -> Lowered {
        let sum = self.sum_of(start);
        self.add_each(n, &Sink::Add(sum.clone()), &mut |body, place, target| {
            let term = body.enter(f, place.index())?.clone();
            body.lower_into(&term, target, None).map(drop)
        })?;
        Ok(self.sum_value(&sum))
    }

    /// The sum of what comes after the first element, in order.
    fn sum_after_first(
        &mut self,
        n: &[Operand],
        start: &Val,
        emit: &mut dyn FnMut(&mut Self, Val, &Sink) -> Result<(), Error>,
    ) -> Lowered {
        let sum = self.sum_of(start);
        self.add_each(n, &Sink::Add(sum.clone()), &mut |body, place, target| {
            let is_first = body.op(Op::EqI, [place.offset.clone(), Operand::Integer(0)]);
            let rest = |body: &mut Self| {
                emit(body, place.index(), target)?;
                Ok(vec![])
            };
            body.choose(is_first, |_| Ok(vec![]), rest).map(drop)
        })?;
        Ok(self.sum_value(&sum))
    }

    /// `sum`, of elements that there are; else zero, or an error where its shape is not known.
    fn some_or_zero(&mut self, n: &[Operand], ty: &Type, sum: impl FnOnce(&mut Self) -> Lowered) -> Lowered {
        let count = self.count(n);
        let some = self.op(Op::LtI, [Operand::Integer(0), count]);
        if !ty.has_fixed_shape() {
            self.check(some, Failure::ShapeUnknown, []);
            return sum(self);
        }
        let results = self.choose(some, |body| Ok(sum(body)?.flatten()), |body| Ok(body.dummy(ty)?.flatten()))?;
        Ok(Val::from_components(ty, &mut results.into_iter()))
    }

    /// Returns the neutral start of a sum.
    fn neutral(&mut self, ty: &Type) -> Lowered {
        let zero = self.dummy(ty)?;
        self.neutral_like(&zero)
    }

    /// The sum of the elements. Those of a `build` are added as they come, and not stored.
    fn lower_sum(&mut self, v: &Expr, ty: &Type) -> Lowered {
        if let (Some([n, f]), true) = (v.args_of_prim(Prim::Build), ty.has_fixed_shape()) {
            let n = self.lower_value(n)?.numbers();
            self.at(v.span(), |body| body.check_size(&n));
            let start = self.start_of_sum(&n, &[], ty)?;
            let sum = self.sum_of(&start);
            self.add_each(&n, &Sink::Add(sum.clone()), &mut |body, place, target| {
                let term = body.enter(f, place.index())?.clone();
                let x = body.lower_value(&term)?;
                body.distribute(&x, target).map(drop)
            })?;
            return Ok(self.sum_value(&sum));
        }
        let value = self.lower_value(v)?;
        let tensor = value.tensor().clone();
        let n = [self.count(&tensor.sizes)];
        let add = |body: &mut Self, i: &Operand, target: &Sink| {
            let x = body.load_element(&tensor, i);
            body.distribute(&x, target).map(drop)
        };
        if ty.has_fixed_shape() {
            let start = self.start_of_sum(&n, &[], ty)?;
            let sum = self.sum_of(&start);
            self.add_each(&n, &Sink::Add(sum.clone()), &mut |body, place, target| add(body, &place.offset, target))?;
            return Ok(self.sum_value(&sum));
        }
        self.some_or_zero(&n, ty, |body| {
            let first = body.load_element(&tensor, &Operand::Integer(0));
            // Not a copy of the first: what makes the elements may then be one loop with what adds them.
            let start = body.neutral_like(&first)?;
            let sum = body.sum_of(&start);
            body.add_each(&n, &Sink::Add(sum.clone()), &mut |body, place, target| add(body, &place.offset, target))?;
            Ok(body.sum_value(&sum))
        })
    }

    /// `v` with every `(i, x)` of a tensor of pairs added at i, in order.
    fn lower_add_at(&mut self, args: &[Expr]) -> Lowered {
        let sum = self.produce(&args[0], Sharing::Owned)?;
        let target = sum.tensor().clone();
        let pairs = self.lower_value(&args[1])?;
        let pairs = pairs.tensor().clone();
        let count = self.count(&pairs.sizes);
        self.count_to(&count, vec![], |body, k, _| {
            let pair = body.load_element(&pairs, &k);
            let offset = body.offset(&target.sizes, &pair.parts()[0].numbers());
            let element = body.element_sum(&target, &offset);
            body.add_value(&element, &pair.parts()[1])?;
            Ok(vec![])
        })?;
        Ok(sum)
    }
}

pub(super) fn element(ty: &Type) -> &Type {
    match ty {
        Type::Tensor(_, element) => element,
        other => panic!("{other} is no tensor"),
    }
}

fn size(tensor: &Rc<Tensor>) -> Val {
    match tensor.sizes.as_slice() {
        [one] => Val::Leaf(one.clone()),
        many => Val::tuple(many.iter().cloned().map(Val::Leaf)),
    }
}
