//! Lowers calls of functions that are implemented elsewhere.
//!
//! Their arguments and results have the forms that ours have in C, but for jagged tensors and tensors of units,
//! which are refused. Tangents and cotangents that cannot vary are left out, as in ours.

use super::body::Body;
use super::value::{Tensor, Val};
use crate::constant::is_constant;
use crate::error::Error;
use crate::ir::{Argument, Operand, Returned, Scalar, Stmt};
use crate::symbol::c_symbol;
use lm::term::{Derivative, Fun};
use lm::types::Type;

/// The arguments of a derivative that is implemented elsewhere.
#[derive(Clone, Copy)]
struct Tangents {
    /// The first argument that is a tangent or a cotangent.
    first: usize,
    /// Whether the result is a cotangent of the first argument.
    is_result: bool,
}

impl Tangents {
    /// Returns what the name of a function says. A derivative with respect to parts has its own form.
    fn of(fun: &Fun) -> Tangents {
        match fun.name.underived() {
            Some((Derivative::Rev, of)) if of.varying().is_none() => Tangents { first: 1, is_result: true },
            Some((Derivative::Fwd, _)) => Tangents { first: 1, is_result: false },
            _ => Tangents { first: usize::MAX, is_result: false },
        }
    }
}

impl Body<'_> {
    /// The result of a call.
    pub(super) fn lower_external_call(&mut self, fun: &Fun, args: &[Val]) -> Result<Val, Error> {
        let tangents = Tangents::of(fun);
        let mut passed = Vec::new();
        for (i, (arg, ty)) in args.iter().zip(&fun.params).enumerate() {
            self.pass_argument(fun, arg, ty, i >= tangents.first, &mut passed)?;
        }
        let mut results = Vec::new();
        let like = args.first().filter(|_| tangents.is_result);
        let value = self.take_result(fun, &fun.result, like, &mut results)?;
        let locals: Vec<_> = results.iter().flat_map(Returned::locals).collect();
        self.own_buffers(&locals);
        let (symbol, span) = (c_symbol(&fun.name).into(), self.span);
        self.stmts.push(Stmt::External { results: results.clone(), symbol, args: passed, span });
        self.check_returned(&fun.result, like.is_some(), &mut results.iter());
        Ok(value)
    }

    fn pass_argument(
        &mut self,
        fun: &Fun,
        value: &Val,
        ty: &Type,
        is_tangent: bool,
        out: &mut Vec<Argument>,
    ) -> Result<(), Error> {
        match (value, ty) {
            _ if is_tangent && is_constant(ty) => {}
            (Val::Leaf(operand), _) => out.push(Argument::Scalar(operand.clone())),
            (Val::Tuple(parts), Type::Tuple(types)) => {
                let mut parts = parts.iter().zip(types.iter());
                parts.try_for_each(|(part, ty)| self.pass_argument(fun, part, ty, is_tangent, out))?;
            }
            (Val::Tensor(tensor), _) if tensor.is_flat() && !tensor.buffers.is_empty() => {
                out.extend(tensor.buffers.iter().map(|data| Argument::Tensor(data.clone(), tensor.sizes.clone())));
            }
            (Val::Tensor(tensor), _) => return Err(self.no_form(fun, "an argument", &tensor.element)),
            (value, ty) => panic!("{value:?} is no value of type {ty}"),
        }
        Ok(())
    }

    /// The value that the outputs make: of the tensors for a tensor of tuples, the first one has its sizes. A cotangent
    /// has the sizes of the value that it is `like`, and no outputs where it cannot vary.
    fn take_result(&mut self, fun: &Fun, ty: &Type, like: Option<&Val>, out: &mut Vec<Returned>) -> Result<Val, Error> {
        match (ty, like) {
            (_, Some(like)) if is_constant(ty) => self.zero(like, ty),
            (Type::Tuple(parts), like) => {
                let like = |i: usize| like.and_then(|like| like.parts().get(i).cloned());
                let parts = parts.iter().enumerate();
                let parts = parts.map(|(i, part)| self.take_result(fun, part, like(i).as_ref(), out));
                Ok(Val::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
            (Type::Tensor(rank, element), _) => {
                let components = self.components(element)?;
                if !element.has_fixed_shape() || components.is_empty() {
                    return Err(self.no_form(fun, "the result", element));
                }
                let first = out.len();
                for ty in components {
                    let sizes = (0..*rank).map(|_| self.local(Scalar::Integer.ty())).collect();
                    out.push(Returned::Tensor(self.local(ty.buffer()), sizes));
                }
                let columns = out[first..].iter().map(Returned::locals);
                let columns: Vec<Vec<Operand>> =
                    columns.map(|xs| xs.into_iter().map(Operand::Local).collect()).collect();
                let buffers = columns.iter().map(|column| column[*rank].clone()).collect();
                Ok(Tensor { element: (**element).clone(), sizes: columns[0][..*rank].to_vec(), buffers }.val())
            }
            (scalar, _) => {
                let x = self.local(self.components(scalar)?[0]);
                out.push(Returned::Scalar(x));
                Ok(Val::Leaf(Operand::Local(x)))
            }
        }
    }

    /// Checks that the sizes are sizes, and those for one tensor equal.
    fn check_returned<'r>(&mut self, ty: &Type, is_tangent: bool, results: &mut impl Iterator<Item = &'r Returned>) {
        match ty {
            _ if is_tangent && is_constant(ty) => {}
            Type::Tuple(parts) => parts.iter().for_each(|part| self.check_returned(part, is_tangent, results)),
            Type::Tensor(_, element) => {
                let width = self.components(element).expect("it has a layout").len();
                let sizes = |result: &Returned| match result {
                    Returned::Tensor(_, sizes) => sizes.iter().copied().map(Operand::Local).collect(),
                    Returned::Scalar(_) => vec![],
                };
                let columns: Vec<Vec<Operand>> = results.take(width).map(sizes).collect();
                self.check_size(&columns[0]);
                columns[1..].iter().for_each(|column| self.check_same_size(&columns[0], column));
            }
            _ => drop(results.next()),
        }
    }

    fn no_form(&self, fun: &Fun, place: &str, element: &Type) -> Error {
        self.unsupported(&format!("a tensor of {element} as {place} of the external function `{}`", fun.name))
    }
}
