//! Writes values as `print` does. A Float is the shortest decimal that reads back equal, a tensor is `[a, b]`, and a
//! tuple is `(a, b)`. A tuple that is itself an argument is `a,b`.

use super::body::Body;
use super::value::{Tensor, Val};
use crate::error::Error;
use crate::ir::{Op, Operand, Stmt};

type Shown = Result<(), Error>;

impl Body<'_> {
    /// Writes the arguments; gives their number.
    pub(super) fn print(&mut self, args: &[Val]) -> Result<Val, Error> {
        for arg in args {
            match arg {
                Val::Tuple(parts) => self.print_list(parts, ",")?,
                other => self.print_nested(other)?,
            }
        }
        Ok(Val::Leaf(Operand::Integer(args.len() as i64)))
    }

    fn print_nested(&mut self, value: &Val) -> Shown {
        match value {
            Val::Tuple(parts) => {
                self.text("(");
                self.print_list(parts, ", ")?;
                self.text(")");
                Ok(())
            }
            Val::Tensor(tensor) => self.print_rows(tensor, &tensor.sizes, None),
            // Records are in memory; nothing else that is a leaf is.
            Val::Leaf(operand) if self.ty_of(operand).as_scalar().is_none() => {
                self.text("<record>");
                Ok(())
            }
            Val::Leaf(operand) => {
                self.write(operand.clone());
                Ok(())
            }
        }
    }

    fn print_list(&mut self, parts: &[Val], separator: &str) -> Shown {
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.text(separator);
            }
            self.print_nested(part)?;
        }
        Ok(())
    }

    /// The elements whose first indices are given by their number in order.
    fn print_rows(&mut self, tensor: &Tensor, sizes: &[Operand], outer: Option<Operand>) -> Shown {
        let Some((size, inner)) = sizes.split_first() else {
            let offset = outer.expect("tensors have a dimension");
            let element = self.load_element(tensor, &offset);
            return self.print_nested(&element);
        };
        self.text("[");
        self.count_to(size, vec![], |body, i, _| {
            let first = body.op(Op::EqI, [i.clone(), Operand::Integer(0)]);
            body.choose(
                first,
                |_| Ok(vec![]),
                |body| {
                    body.text(", ");
                    Ok(vec![])
                },
            )?;
            let offset = match &outer {
                Some(outer) => {
                    let row = body.op(Op::MulI, [outer.clone(), size.clone()]);
                    body.op(Op::AddI, [row, i])
                }
                None => i,
            };
            body.print_rows(tensor, inner, Some(offset))?;
            Ok(vec![])
        })?;
        self.text("]");
        Ok(())
    }

    fn text(&mut self, text: &str) {
        self.write(Operand::Text(text.into()));
    }

    fn write(&mut self, operand: Operand) {
        self.stmts.push(Stmt::Write(operand));
    }
}
