//! Calls of functions that are implemented elsewhere.

use super::body::{Body, targets};
use super::value::Val;
use crate::error::Error;
use crate::loops::{Argument, Stmt};
use crate::symbol::c_symbol;
use lm::term::Fun;

impl Body<'_> {
    /// The result of a call. Arguments are scalars, and tensors of scalars; results are scalars.
    pub(super) fn external(&mut self, fun: &Fun, args: &[Val]) -> Result<Val, Error> {
        let mut passed = Vec::new();
        args.iter().try_for_each(|arg| self.pass(fun, arg, &mut passed))?;
        let value = self.fresh_value(&fun.result)?;
        if !value.tensors().is_empty() || self.holds_record(&value) {
            return Err(self.unsupported(&format!("a tensor as the result of the external function `{}`", fun.name)));
        }
        let (results, symbol, span) = (targets(&value), c_symbol(&fun.name).into(), self.span);
        self.stmts.push(Stmt::External { results, symbol, args: passed, span });
        Ok(value)
    }

    fn pass(&mut self, fun: &Fun, value: &Val, out: &mut Vec<Argument>) -> Result<(), Error> {
        match value {
            Val::Leaf(operand) => out.push(Argument::Scalar(operand.clone())),
            Val::Tuple(parts) => parts.iter().try_for_each(|part| self.pass(fun, part, out))?,
            Val::Tensor(tensor) if tensor.is_flat() => {
                out.extend(tensor.buffers.iter().map(|data| Argument::Tensor(data.clone(), tensor.sizes.clone())));
            }
            Val::Tensor(_) => {
                let what = format!("a tensor of tensors as an argument of the external function `{}`", fun.name);
                return Err(self.unsupported(&what));
            }
        }
        Ok(())
    }
}
