//! Makes functions for C of those on deep tensors, which C gets in pieces.
//!
//! ```text
//! [pieces f](p1, .., pn) = let r = f(whole(p1), .., whole(pn)) in pieces(r)
//!
//! type                   whole(pieces)                                        pieces(v)
//! Tensor d (T1, T2)      build(size(v1), \i. (v1[i], v2[i]))                  build(size(v), \i. v[i].1), ..
//! Vec (Vec T)            build(size(o) - 1, \i.                               o = scanl(+, 0, \i. size(v[i]))
//!                          build(o[i+1] - o[i], \j. each[o[i] + j]))          each = build(o[n], \k. v[i][k - o[i]])
//! ```
//!
//! In `each`, i is the row of element k: the number of rows that end before it or at it. A sum of marks at the ends of
//! rows counts them.

use crate::interface::{is_deep, pieces};
use lm::prim::Prim;
use lm::term::{Binding, Def, Expr, Fun, Kind, Op, Pattern, Span, Supply, Var, Version};
use lm::types::Type;
use std::collections::VecDeque;
use std::sync::Arc;

/// Returns `[pieces f]`; `None` where C knows all types of f as they are, or knows some of them in no way.
pub(super) fn in_pieces(def: &Def, supply: &mut Supply) -> Option<Def> {
    let mut types = def.params.iter().map(Var::ty).chain([&def.fun.result]);
    if !types.any(is_deep) {
        return None;
    }
    let mut terms = Terms { supply, bindings: Vec::new() };
    let (mut params, mut args) = (Vec::new(), Vec::new());
    for param in &def.params {
        let pieces = pieces(param.name(), param.ty()).ok()?;
        let vars: Vec<Var> = pieces.into_iter().map(|(name, ty)| terms.supply.fresh(&name, ty)).collect();
        args.push(terms.whole(param.ty(), &mut vars.iter().map(Expr::var).collect()));
        params.extend(vars);
    }
    pieces("out", &def.fun.result).ok()?;
    let result = terms.named(Expr::app(Op::Call(def.fun.clone()), args));
    let mut results = Vec::new();
    terms.split(&def.fun.result, &result, &mut results);
    let result = if results.len() == 1 { results.remove(0) } else { Expr::tuple(results) };
    let body = placed(&Expr::block(terms.bindings, result), def.body.span());
    let types = params.iter().map(|x| x.ty().clone()).collect();
    let fun = Fun { name: def.fun.name.version(Version::Pieces), params: types, result: body.ty().clone() };
    Some(Def { fun: Arc::new(fun), params, body })
}

/// The terms of a definition, and the bindings that they need, in order.
struct Terms<'a> {
    supply: &'a mut Supply,
    bindings: Vec<Binding>,
}

impl Terms<'_> {
    fn named(&mut self, rhs: Expr) -> Expr {
        let x = self.supply.fresh("t", rhs.ty().clone());
        self.bindings.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
        Expr::var(&x)
    }

    /// Returns `build n (\i. f(i))`, of a rank.
    fn build(&mut self, rank: usize, n: Expr, f: impl FnOnce(&mut Terms, &Expr) -> Expr) -> Expr {
        let i = self.supply.fresh("i", Type::index(rank));
        let mut inner = Terms { supply: self.supply, bindings: Vec::new() };
        let element = f(&mut inner, &Expr::var(&i));
        let body = Expr::block(inner.bindings, element);
        Expr::prim(Prim::Build, [n, Expr::lam(i, body)])
    }

    /// Returns a value of a type, of its pieces.
    fn whole(&mut self, ty: &Type, given: &mut VecDeque<Expr>) -> Expr {
        match ty {
            Type::Tuple(parts) if is_deep(ty) => {
                let parts: Vec<Expr> = parts.iter().map(|part| self.whole(part, given)).collect();
                Expr::tuple(parts)
            }
            Type::Tensor(rank, element) if is_deep(ty) => match &**element {
                Type::Tuple(parts) => {
                    let tensor = |part: &Type| Type::Tensor(*rank, Arc::new(part.clone()));
                    let columns = parts.iter().map(|part| self.whole(&tensor(part), given)).collect();
                    self.zipped(*rank, columns)
                }
                _ => {
                    let offsets = given.pop_front().expect("there are offsets");
                    let each = self.whole(element, given);
                    self.rows(&offsets, each)
                }
            },
            _ => given.pop_front().expect("there is a piece for each type"),
        }
    }

    /// Returns the tensor of tuples; its columns must be of one size.
    fn zipped(&mut self, rank: usize, columns: Vec<Expr>) -> Expr {
        let columns: Vec<Expr> = columns.into_iter().map(|column| self.named(column)).collect();
        let mut size = size(&columns[0]);
        for column in &columns[1..] {
            let units = self.build(rank, size, |_, _| Expr::tuple([]));
            size = Expr::prim(Prim::CommonSize, [units, column.clone()]);
        }
        self.build(rank, size, |_, i| Expr::tuple(columns.iter().map(|column| at(i, column)).collect::<Vec<_>>()))
    }

    /// Returns the vector of vectors whose elements are those of `each`.
    fn rows(&mut self, offsets: &Expr, each: Expr) -> Expr {
        let each = self.named(each);
        let n = Expr::prim(Prim::Sub, [size(offsets), Expr::integer(1)]);
        self.build(1, n, |terms, i| {
            let start = terms.named(at(i, offsets));
            let length = Expr::prim(Prim::Sub, [at(&add(i, &Expr::integer(1)), offsets), start.clone()]);
            terms.build(1, length, |_, j| at(&add(&start, j), &each))
        })
    }

    /// Appends the pieces of a value, which is a variable.
    fn split(&mut self, ty: &Type, value: &Expr, out: &mut Vec<Expr>) {
        match ty {
            Type::Tuple(parts) if is_deep(ty) => {
                for (i, part) in parts.iter().enumerate() {
                    let component = self.named(Expr::get(i + 1, value.clone()));
                    self.split(part, &component, out);
                }
            }
            Type::Tensor(rank, element) if is_deep(ty) => match &**element {
                Type::Tuple(parts) => {
                    for (k, part) in parts.iter().enumerate() {
                        let column = self.build(*rank, size(value), |_, i| Expr::get(k + 1, at(i, value)));
                        let column = self.named(column);
                        self.split(&Type::Tensor(*rank, Arc::new(part.clone())), &column, out);
                    }
                }
                _ => {
                    let (offsets, each) = self.offsets_and_elements(value);
                    out.push(offsets);
                    self.split(element, &each, out);
                }
            },
            _ => out.push(value.clone()),
        }
    }

    /// Returns where the rows of a vector of vectors start and end, and their elements one after the other.
    fn offsets_and_elements(&mut self, rows: &Expr) -> (Expr, Expr) {
        let one = Expr::integer(1);
        let lengths = self.build(1, size(rows), |_, i| size(&at(i, rows)));
        let offsets = self.sums(lengths);
        let total = self.named(at(&size(rows), &offsets));
        let zeros = self.build(1, add(&total, &one), |_, _| Expr::integer(0));
        let ends = self.build(1, size(rows), |_, i| Expr::tuple([at(&add(i, &one), &offsets), one.clone()]));
        let marks = Expr::prim(Prim::AddAt, [zeros, ends]);
        let row_of = self.sums(marks);
        let each = self.build(1, total, |terms, k| {
            let i = terms.named(at(&add(k, &one), &row_of));
            let j = Expr::prim(Prim::Sub, [k.clone(), at(&i, &offsets)]);
            at(&j, &at(&i, rows))
        });
        (offsets, self.named(each))
    }

    /// Returns the sums of the first 0, 1, .. elements of a vector of Integers.
    fn sums(&mut self, v: Expr) -> Expr {
        let pair = self.supply.fresh("t", Type::tuple([Type::Integer, Type::Integer]));
        let sum = add(&Expr::get(1, Expr::var(&pair)), &Expr::get(2, Expr::var(&pair)));
        let sums = Expr::prim(Prim::Scanl, [Expr::lam(pair, sum), Expr::integer(0), v]);
        self.named(sums)
    }
}

/// Puts all parts of a term at one place, where errors are reported.
fn placed(e: &Expr, span: Span) -> Expr {
    let placed_parts = e.map_children(|child| placed(child, span));
    if let Kind::Let(..) = e.kind() { placed_parts } else { placed_parts.at(span) }
}

fn size(tensor: &Expr) -> Expr {
    Expr::prim(Prim::Size, [tensor.clone()])
}

fn at(i: &Expr, tensor: &Expr) -> Expr {
    Expr::prim(Prim::Index, [i.clone(), tensor.clone()])
}

fn add(a: &Expr, b: &Expr) -> Expr {
    Expr::prim(Prim::Add, [a.clone(), b.clone()])
}
