//! Arrays of parameters, and the value of results.

use super::Raising;
use super::reading::Reader;
use crate::ir::{Id, Op};
use crate::refusal::{Reason, Refusal};
use lm::prim::Prim;
use lm::term::{Expr, Span, Var};
use lm::types::Type;

impl Raising<'_> {
    /// Sets the inputs, and their sizes.
    pub(super) fn arguments(&mut self, params: &[Var]) {
        let mut number = 0;
        for x in params {
            self.inputs(x.ty(), Reader::array(Expr::var(x), 0), &[], &mut number);
        }
    }

    /// Sets the inputs that a part of a parameter is made of. It is an element of tensors of the ranks `outer`, read by
    /// the readers.
    fn inputs(&mut self, ty: &Type, reader: Reader, outer: &[(Reader, usize)], number: &mut usize) {
        match ty {
            Type::Tuple(parts) => {
                for (k, part) in parts.iter().enumerate() {
                    self.inputs(part, reader.clone().part(k + 1), outer, number);
                }
            }
            Type::Tensor(rank, element) => {
                let outer = [outer, &[(reader.clone(), *rank)]].concat();
                self.inputs(element, reader.elements(*rank), &outer, number);
            }
            _ => {
                let id = self.function.inputs[*number];
                self.set(id, reader);
                self.sizes_of_input(*number, outer);
                *number += 1;
            }
        }
    }

    /// Sets the sizes of an input, and checks that all rows have them.
    fn sizes_of_input(&mut self, number: usize, outer: &[(Reader, usize)]) {
        let mut sizes: Vec<Expr> = Vec::new();
        for (level, (tensor, rank)) in outer.iter().enumerate() {
            let before = sizes.clone();
            let zeros = vec![Expr::integer(0); before.len()];
            for axis in 0..*rank {
                let size = |tensor: Expr| {
                    let size = Expr::prim(Prim::Size, [tensor]);
                    if *rank == 1 { size } else { Expr::get(axis + 1, size) }
                };
                // The size of rows is that of the first one.
                let first = size(tensor.read(&zeros));
                let has_first = |n: &Expr| Expr::prim(Prim::Lt, [Expr::integer(0), n.clone()]);
                let of_first = before
                    .iter()
                    .rev()
                    .fold(first, |first, n| Expr::conditional(has_first(n), first, Expr::integer(0)));
                let mut all = self.bind("n", of_first);
                if level > 0 {
                    // It is a part of the number, as derivatives do not see checks.
                    all = self.checked_equal(&before, &mut |index| size(tensor.read(index)), all, &[]);
                    all = self.bind("n", all);
                }
                sizes.push(all);
            }
        }
        for (id, node) in self.function.nodes.iter().enumerate() {
            if let Op::InputSize(input, axis) = node.op
                && input == number
            {
                self.readers[id] = Some(Reader::array(sizes[axis].clone(), 0));
            }
        }
    }

    /// Returns a number, after a check that the numbers at all indices below some sizes are this one.
    fn checked_equal(
        &mut self,
        sizes: &[Expr],
        number: &mut dyn FnMut(&[Expr]) -> Expr,
        one: Expr,
        index: &[Expr],
    ) -> Expr {
        let [n, rest @ ..] = sizes else {
            let same = Expr::prim(Prim::SameSize, [number(index), one.clone()]);
            return Expr::app(lm::term::Op::Assert, vec![same, one]);
        };
        let i = self.supply.fresh("i", Type::Integer);
        let steps = Expr::prim(Prim::Build, [n.clone(), Expr::lam(i.clone(), Expr::var(&i))]);
        let q = self.supply.fresh("q", Type::tuple([Type::Integer, Type::Integer]));
        let [so_far, i] = [1, 2].map(|k| Expr::get(k, Expr::var(&q)));
        let step = self.checked_equal(rest, number, so_far, &[index, &[i]].concat());
        Expr::prim(Prim::Fold, [Expr::lam(q, step), one, steps])
    }

    /// Returns a value of a type at an index of the tensors around it, made of the next results.
    pub(super) fn output(
        &mut self,
        ty: &Type,
        results: &mut (impl Iterator<Item = Id> + Clone),
        index: &[Expr],
    ) -> Result<Expr, Refusal> {
        match ty {
            Type::Tuple(parts) => {
                let parts: Result<Vec<Expr>, Refusal> =
                    parts.iter().map(|part| self.output(part, results, index)).collect();
                Ok(Expr::tuple(parts?))
            }
            Type::Tensor(rank, element) => {
                let Some(first) = results.clone().next().filter(|_| has_numbers(element)) else {
                    return Err(self.without_numbers());
                };
                if index.is_empty() && !matches!(**element, Type::Tuple(_) | Type::Tensor(..)) {
                    results.next();
                    return Ok(self.whole(first));
                }
                let dims = self.function.node(first).dims[index.len()..index.len() + rank].to_vec();
                let mut made = Ok(Expr::integer(0));
                let tensor = self.array(&dims, |cx, own| {
                    made = cx.output(element, results, &[index, own].concat());
                    made.clone().unwrap_or_else(|_| Expr::integer(0))
                });
                made.map(|_| tensor)
            }
            _ => {
                let id = results.next().expect("a result for each number");
                Ok(self.at(id, index))
            }
        }
    }

    fn without_numbers(&self) -> Refusal {
        Refusal {
            reason: Reason::Operation,
            function: self.function.name.to_string(),
            what: "a tensor of empty tuples has no array that tells its size".to_string(),
            span: Span::default(),
        }
    }
}

/// Returns whether a value of a type has a number in it.
fn has_numbers(ty: &Type) -> bool {
    match ty {
        Type::Tuple(parts) => parts.iter().any(has_numbers),
        Type::Tensor(_, element) => has_numbers(element),
        _ => true,
    }
}
