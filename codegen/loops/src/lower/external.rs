//! Lowers calls of functions that are implemented elsewhere.
//!
//! Their arguments and results have the forms that ours have in C, but for jagged tensors and tensors of units,
//! which are refused.

use super::body::Body;
use super::value::{Tensor, Val};
use crate::error::Error;
use crate::ir::{Argument, Operand, Returned, Scalar, Stmt};
use crate::symbol::c_symbol;
use lm::term::Fun;
use lm::types::Type;

impl Body<'_> {
    /// The result of a call.
    pub(super) fn lower_external_call(&mut self, fun: &Fun, args: &[Val]) -> Result<Val, Error> {
        let mut passed = Vec::new();
        args.iter().try_for_each(|arg| self.pass_argument(fun, arg, &mut passed))?;
        let mut results = Vec::new();
        let value = self.take_result(fun, &fun.result, &mut results)?;
        let locals: Vec<_> = results.iter().flat_map(Returned::locals).collect();
        self.own_buffers(&locals);
        let (symbol, span) = (c_symbol(&fun.name).into(), self.span);
        self.stmts.push(Stmt::External { results: results.clone(), symbol, args: passed, span });
        self.check_returned(&fun.result, &mut results.iter());
        Ok(value)
    }

    fn pass_argument(&mut self, fun: &Fun, value: &Val, out: &mut Vec<Argument>) -> Result<(), Error> {
        match value {
            Val::Leaf(operand) => out.push(Argument::Scalar(operand.clone())),
            Val::Tuple(parts) => parts.iter().try_for_each(|part| self.pass_argument(fun, part, out))?,
            Val::Tensor(tensor) if tensor.is_flat() && !tensor.buffers.is_empty() => {
                out.extend(tensor.buffers.iter().map(|data| Argument::Tensor(data.clone(), tensor.sizes.clone())));
            }
            Val::Tensor(tensor) => return Err(self.no_form(fun, "an argument", &tensor.element)),
        }
        Ok(())
    }

    /// The value that the outputs make: of the tensors for a tensor of tuples, the first one has its sizes.
    fn take_result(&mut self, fun: &Fun, ty: &Type, out: &mut Vec<Returned>) -> Result<Val, Error> {
        match ty {
            Type::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.take_result(fun, part, out));
                Ok(Val::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
            Type::Tensor(rank, element) => {
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
            scalar => {
                let x = self.local(self.components(scalar)?[0]);
                out.push(Returned::Scalar(x));
                Ok(Val::Leaf(Operand::Local(x)))
            }
        }
    }

    /// Checks that the sizes are sizes, and those for one tensor equal.
    fn check_returned<'r>(&mut self, ty: &Type, results: &mut impl Iterator<Item = &'r Returned>) {
        match ty {
            Type::Tuple(parts) => parts.iter().for_each(|part| self.check_returned(part, results)),
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
