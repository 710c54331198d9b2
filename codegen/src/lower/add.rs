//! Addition to a destination.
//!
//!   a + b            add a, then b            0         add nothing
//!   $delta_at w i x  add x to element i       let, if   as ever, then the body or the branch taken
//!   sumbuild n f     add f(0), f(1), ...      (a, ..)   component by component
//!   build n f        add f(i) to element i    other     compute it, add it
//!
//! So a sum of one-hot vectors costs what its numbers cost: no vector of zeros is ever made for one of
//! them. The order of additions is that of the interpreter (`lm::interp`), to the bit.

use super::blocks::Place;
use super::body::{Body, Sharing};
use super::value::{Tensor, Val};
use crate::error::Error;
use crate::loops::{Memory, Op, Operand, Scalar, Stmt};
use lm::prim::Prim;
use lm::term::{self, Expr, Kind};
use lm::types::Type;
use std::rc::Rc;

/// Where sums go: numbers in registers, which are set anew, numbers in buffers, tensors in place.
#[derive(Clone, Debug)]
pub(super) enum Sum {
    Register(Operand),
    Cell(Operand, Operand),
    Tuple(Vec<Sum>),
    Tensor(Rc<Tensor>),
}

impl Sum {
    /// Of a value that nobody else has.
    pub(super) fn of(value: &Val) -> Sum {
        match value {
            Val::Leaf(operand) => Sum::Register(operand.clone()),
            Val::Tuple(parts) => Sum::Tuple(parts.iter().map(Sum::of).collect()),
            Val::Tensor(tensor) => Sum::Tensor(tensor.clone()),
        }
    }

    /// The value, when nothing of it is a cell.
    pub(super) fn value(&self) -> Val {
        match self {
            Sum::Register(operand) => Val::Leaf(operand.clone()),
            Sum::Cell(..) => panic!("a cell is in its buffer"),
            Sum::Tuple(parts) => Val::tuple(parts.iter().map(Sum::value).collect::<Vec<_>>()),
            Sum::Tensor(tensor) => Val::Tensor(tensor.clone()),
        }
    }

    pub(super) fn registers(&self) -> Vec<Operand> {
        match self {
            Sum::Register(operand) => vec![operand.clone()],
            Sum::Tuple(parts) => parts.iter().flat_map(Sum::registers).collect(),
            Sum::Cell(..) | Sum::Tensor(_) => vec![],
        }
    }

    pub(super) fn with_registers(&self, registers: &mut impl Iterator<Item = Operand>) -> Sum {
        match self {
            Sum::Register(_) => Sum::Register(registers.next().expect("there is an operand for each register")),
            Sum::Tuple(parts) => Sum::Tuple(parts.iter().map(|part| part.with_registers(registers)).collect()),
            Sum::Cell(..) | Sum::Tensor(_) => self.clone(),
        }
    }
}

type Outcome = Result<Sum, Error>;

impl Body<'_> {
    /// `sum + e`, where tensors are changed in place.
    pub(super) fn add(&mut self, e: &Expr, sum: Sum) -> Outcome {
        match e.kind() {
            Kind::Let(bindings, body) => {
                bindings.iter().try_for_each(|b| self.bind_term(&b.pattern, &b.rhs))?;
                self.add(body, sum)
            }
            Kind::App(term::Op::If, args) => {
                let condition = self.value(&args[0])?.leaf();
                let arm = |e: &Expr, body: &mut Self| Ok(body.add(e, sum.clone())?.registers());
                let registers = self.choose(condition, |body| arm(&args[1], body), |body| arm(&args[2], body))?;
                Ok(sum.with_registers(&mut registers.into_iter()))
            }
            Kind::App(term::Op::Tuple, args) => {
                let Sum::Tuple(parts) = sum else { panic!("a tuple is added to a tuple") };
                let parts = args.iter().zip(parts).map(|(e, part)| self.add(e, part));
                Ok(Sum::Tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
            Kind::App(term::Op::Prim(Prim::Add), args) if !is_number(e.ty()) => {
                let sum = self.add(&args[0], sum)?;
                self.add(&args[1], sum)
            }
            Kind::App(term::Op::Prim(Prim::ZeroOf), _) => Ok(sum),
            Kind::App(term::Op::Prim(Prim::DeltaAt), args) => self.add_delta(e, args, sum),
            Kind::App(term::Op::Prim(Prim::SumBuild), args) => {
                let n = self.value(&args[args.len() - 2])?.numbers();
                self.at(e.span(), |body| body.check_size(&n));
                self.add_each(&n, sum, &mut |body, place, sum| {
                    let term = body.enter(&args[args.len() - 1], place.index())?;
                    body.add(term, sum)
                })
            }
            Kind::App(term::Op::Prim(Prim::Build), args) => self.add_build(e, args, sum),
            Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => {
                let value = self.value(e)?;
                self.at(e.span(), |body| body.add_value(sum, &value))
            }
        }
    }

    fn add_delta(&mut self, e: &Expr, args: &[Expr], sum: Sum) -> Outcome {
        let index = self.value(&args[1])?.numbers();
        let Sum::Tensor(tensor) = &sum else { panic!("a one-hot tensor is added to a tensor") };
        let offset = self.at(e.span(), |body| body.offset(&tensor.sizes, &index));
        let element = self.element_sum(tensor, &offset);
        self.add(&args[2], element)?;
        Ok(sum)
    }

    fn add_build(&mut self, e: &Expr, args: &[Expr], sum: Sum) -> Outcome {
        let n = self.value(&args[0])?.numbers();
        let Sum::Tensor(tensor) = &sum else { panic!("a tensor is added to a tensor") };
        let known = n.iter().zip(&tensor.sizes).all(|(a, b)| self.facts.known_equal(a, b));
        if !known {
            self.at(e.span(), |body| body.check_size(&n));
            self.check_same_size(&tensor.sizes, &n);
        }
        self.for_each(&n, vec![], &mut |body, place, _| {
            let term = body.enter(&args[1], place.index())?.clone();
            body.effect_scoped(|body| {
                let element = body.element_sum(tensor, &place.offset);
                body.add(&term, element).map(|_| ())
            })?;
            Ok(vec![])
        })?;
        Ok(sum)
    }

    /// Something that leaves nothing in the arena.
    fn effect_scoped(&mut self, emit: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        self.scoped(|body| {
            emit(body)?;
            Ok(Val::tuple([]))
        })?;
        Ok(())
    }

    /// An element of a tensor, to be added to.
    pub(super) fn element_sum(&mut self, tensor: &Tensor, offset: &Operand) -> Sum {
        self.part_sum(&tensor.element, &mut tensor.buffers.iter(), offset)
    }

    fn part_sum<'b>(&mut self, ty: &Type, buffers: &mut impl Iterator<Item = &'b Operand>, offset: &Operand) -> Sum {
        match ty {
            Type::Tuple(parts) => Sum::Tuple(parts.iter().map(|part| self.part_sum(part, buffers, offset)).collect()),
            Type::Tensor(rank, element) => {
                let width = crate::layout::components(element).expect("the whole has a layout").len();
                let buffers: Vec<Operand> = buffers.take(rank + width).cloned().collect();
                let mut components = buffers.iter().map(|buffer| self.load_cell(buffer, offset)).collect::<Vec<_>>();
                let inner = components.split_off(*rank);
                self.facts.are_sizes(&components);
                Sum::Tensor(Rc::new(Tensor { element: (**element).clone(), sizes: components, buffers: inner }))
            }
            Type::Float | Type::Integer | Type::Bool | Type::String | Type::Lam(..) | Type::LM(..) => {
                Sum::Cell(buffers.next().expect("there is a buffer for each component").clone(), offset.clone())
            }
        }
    }

    /// Adds in each iteration of a loop; numbers are in registers meanwhile.
    pub(super) fn add_each(
        &mut self,
        n: &[Operand],
        sum: Sum,
        emit: &mut dyn FnMut(&mut Self, &Place, Sum) -> Outcome,
    ) -> Outcome {
        let form = self.loaded(&sum);
        let registers = self.for_each(n, form.registers(), &mut |body, place, registers| {
            let sum = form.with_registers(&mut registers.into_iter());
            let registers = body.scoped(|body| {
                let sum = emit(body, &place, sum)?;
                Ok(Val::tuple(sum.registers().into_iter().map(Val::Leaf)))
            })?;
            Ok(registers.flatten())
        })?;
        let form = form.with_registers(&mut registers.into_iter());
        Ok(self.stored(&sum, form))
    }

    /// The sum with its cells in registers.
    fn loaded(&mut self, sum: &Sum) -> Sum {
        match sum {
            Sum::Cell(buffer, offset) => Sum::Register(self.load_cell(buffer, offset)),
            Sum::Tuple(parts) => Sum::Tuple(parts.iter().map(|part| self.loaded(part)).collect()),
            Sum::Register(_) | Sum::Tensor(_) => sum.clone(),
        }
    }

    /// The reverse of `loaded`.
    fn stored(&mut self, sum: &Sum, loaded: Sum) -> Sum {
        match (sum, loaded) {
            (Sum::Cell(buffer, offset), Sum::Register(x)) => {
                self.stmts.push(Stmt::Memory(Memory::Store(buffer.clone(), offset.clone(), x)));
                sum.clone()
            }
            (Sum::Tuple(parts), Sum::Tuple(loaded)) => {
                Sum::Tuple(parts.iter().zip(loaded).map(|(part, loaded)| self.stored(part, loaded)).collect())
            }
            (_, other) => other,
        }
    }

    /// `sum + y`, where tensors are changed in place.
    pub(super) fn add_value(&mut self, sum: Sum, y: &Val) -> Outcome {
        Ok(match sum {
            Sum::Register(x) => Sum::Register(self.add_numbers(x, y.leaf())?),
            Sum::Cell(ref buffer, ref offset) => {
                self.addable(&y.leaf())?;
                self.add_to_cell(buffer, offset, y.leaf());
                sum
            }
            Sum::Tuple(parts) => {
                let parts = parts.into_iter().zip(y.parts()).map(|(part, y)| self.add_value(part, y));
                Sum::Tuple(parts.collect::<Result<Vec<_>, _>>()?)
            }
            Sum::Tensor(ref tensor) => {
                let other = y.tensor();
                self.check_same_size(&tensor.sizes, &other.sizes);
                let count = self.count(&tensor.sizes);
                self.count_to(&count, vec![], |body, i, _| {
                    let element = body.element_sum(tensor, &i);
                    let y = body.load_element(other, &i);
                    body.add_value(element, &y)?;
                    Ok(vec![])
                })?;
                sum
            }
        })
    }

    fn add_numbers(&mut self, x: Operand, y: Operand) -> Result<Operand, Error> {
        let op = if self.addable(&x)? == Scalar::Float { Op::AddF } else { Op::AddI };
        Ok(self.op(op, [x, y]))
    }

    fn addable(&self, x: &Operand) -> Result<Scalar, Error> {
        match self.scalar_of(x) {
            scalar @ (Scalar::Float | Scalar::Integer) => Ok(scalar),
            other => Err(self.unsupported(&format!("the sum of values with a {other} in them"))),
        }
    }

    /// The sum of two terms that may hold tensors.
    pub(super) fn add_terms(&mut self, args: &[Expr]) -> Result<Val, Error> {
        let first = self.produce(&args[0], Sharing::Owned)?;
        Ok(self.add(&args[1], Sum::of(&first))?.value())
    }

    /// `(state, z) = e`: the state, and `sum + z`.
    pub(super) fn split(&mut self, e: &Expr, sum: Sum) -> Result<(Val, Sum), Error> {
        match e.kind() {
            Kind::Let(bindings, body) => {
                bindings.iter().try_for_each(|b| self.bind_term(&b.pattern, &b.rhs))?;
                self.split(body, sum)
            }
            Kind::App(term::Op::If, args) => {
                let condition = self.value(&args[0])?.leaf();
                let state = &e.ty().as_tuple().expect("a pair")[0];
                let width = self.components(state)?.len();
                let arm = |e: &Expr, body: &mut Self| {
                    let (state, sum) = body.split(e, sum.clone())?;
                    Ok(state.flatten().into_iter().chain(sum.registers()).collect())
                };
                let results = self.choose(condition, |body| arm(&args[1], body), |body| arm(&args[2], body))?;
                let (first, registers) = results.split_at(width);
                let state = Val::from_components(state, &mut first.iter().cloned());
                Ok((state, sum.with_registers(&mut registers.iter().cloned())))
            }
            Kind::App(term::Op::Tuple, args) => {
                let state = self.value(&args[0])?;
                Ok((state, self.add(&args[1], sum)?))
            }
            Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => {
                let value = self.value(e)?;
                let sum = self.add_value(sum, &value.parts()[1])?;
                Ok((value.parts()[0].clone(), sum))
            }
        }
    }
}

fn is_number(ty: &Type) -> bool {
    !matches!(ty, Type::Tuple(_) | Type::Tensor(..))
}
