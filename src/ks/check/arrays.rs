//! Built-ins on arrays that go by the structure of a type: shapes, zeros, `ts_add` and its
//! like on tensors with discrete parts.

use crate::ks::check::builtins::sparse_parts;
use crate::ks::check::checker::Checker;
use crate::ks::check::error;
use crate::ks::check::terms::apply;
use lm::prim::Prim;
use lm::shape;
use lm::term::{Expr, Kind, Op, Span};
use lm::types::Type;

impl Checker {
    /// Returns `(shape e)`.
    pub(super) fn shape_of(&mut self, e: Expr, span: Span) -> Expr {
        placed(&shape::of_term(e, &mut self.supply), span)
    }

    /// Returns the zero of the type and shape of `e`; `None` where there is none, which is reported.
    pub(super) fn zero_like(&mut self, e: Expr, span: Span) -> Option<Expr> {
        let ty = e.ty().clone();
        let shape = self.shape_of(e, span);
        self.zeros(&ty, shape, span)
    }

    /// Returns the zero of a type, of a shape; `None` where there is none, which is reported.
    pub(super) fn zeros(&mut self, ty: &Type, shape: Expr, span: Span) -> Option<Expr> {
        let (bindings, shape) = self.name_of(shape);
        match shape::zeros(ty, &shape, &mut self.supply) {
            Some(zero) => Some(Expr::block(bindings, placed(&zero, span))),
            None => self.fail(error::not_supported(&format!("zeros of type `{ty}` are")), span),
        }
    }

    /// Returns the tangent from x to y: their difference, without discrete parts.
    pub(super) fn difference(&mut self, y: Expr, x: Expr, span: Span) -> Expr {
        let ty = y.ty().clone();
        if ty.tangent() == ty {
            return apply(Op::Prim(Prim::Sub), vec![y, x], span);
        }
        let (bindings, named) = self.names_of(vec![y, x]);
        let [y, x] = named.as_slice() else { panic!("checker: two names for two terms") };
        let difference = match &ty {
            Type::Tensor(..) => {
                let bounds = apply(Op::Prim(Prim::CommonSize), vec![y.clone(), x.clone()], span);
                self.over(&ty, bounds, span, |cx, i| cx.difference(element(&i, y, span), element(&i, x, span), span))
            }
            _ => {
                let n = ty.as_tuple().map_or(0, <[Type]>::len);
                let part = |i| self.difference(get(i, n, y, span), get(i, n, x, span), span);
                apply(Op::Tuple, (1..=n).map(part).collect(), span)
            }
        };
        Expr::block(bindings, difference)
    }

    /// Returns `(buildFromSparseTupled shapes n f)`: f is called once for each index.
    pub(super) fn sparse_tupled(&mut self, mut args: Vec<Expr>, span: Span) -> Option<Expr> {
        let tensors = sparse_parts(args.last()?.ty()).expect("the row was chosen for these arguments");
        let shapes = args.remove(0);
        let pairs = apply(Op::Prim(Prim::Build), args, span);
        let pairs = apply(Op::Prim(Prim::Unzip), vec![pairs], span);
        let (bindings, named) = self.names_of(vec![shapes, pairs]);
        let mut sums = Vec::new();
        for (i, ty) in tensors.iter().enumerate() {
            let part = |e: &Expr| get(i + 1, tensors.len(), e, span);
            let shape = self.shorter_shape(ty, part(&named[0]), span);
            let zeros = self.zeros(ty, shape, span)?;
            sums.push(apply(Op::Prim(Prim::AddAt), vec![zeros, part(&named[1])], span));
        }
        Some(Expr::block(bindings, apply(Op::Tuple, sums, span)))
    }

    /// Returns a vector operation on tensors with discrete parts, element by element.
    pub(super) fn elementwise(&mut self, prim: Prim, args: Vec<Expr>, span: Span) -> Expr {
        let (bindings, named) = self.names_of(args);
        let tensors: Vec<&Expr> = named.iter().filter(|e| matches!(e.ty(), Type::Tensor(..))).collect();
        let bounds = match tensors.as_slice() {
            [one] => size(one, span),
            several => apply(Op::Prim(Prim::CommonSize), several.iter().map(|e| (*e).clone()).collect(), span),
        };
        let built = self.over(tensors[0].ty(), bounds, span, |cx, i| {
            let part = |e: &Expr| if let Type::Tensor(..) = e.ty() { element(&i, e, span) } else { e.clone() };
            cx.componentwise(prim, named.iter().map(part).collect(), span)
        });
        let whole = if prim == Prim::Dot { apply(Op::Prim(Prim::Sum), vec![built], span) } else { built };
        Expr::block(bindings, whole)
    }

    /// Returns `build bounds (lam i. f(i))`, a tensor of the rank of `like`.
    pub(super) fn over(
        &mut self,
        like: &Type,
        bounds: Expr,
        span: Span,
        f: impl FnOnce(&mut Checker, Expr) -> Expr,
    ) -> Expr {
        let Type::Tensor(rank, _) = like else { panic!("checker: {like} is no tensor") };
        let i = self.supply.fresh("i", Type::index(*rank));
        let body = f(self, Expr::var(&i).at(span));
        apply(Op::Prim(Prim::Build), vec![bounds, Expr::lam(i, body).at(span)], span)
    }
}

/// Returns the term, what has no place in the source at this place.
fn placed(e: &Expr, span: Span) -> Expr {
    let e = e.map_children(|child| placed(child, span));
    if e.span() == Span::default() && !matches!(e.kind(), Kind::Let(..)) { e.at(span) } else { e }
}

pub(super) fn get(i: usize, n: usize, tuple: &Expr, span: Span) -> Expr {
    apply(Op::Get(i, n), vec![tuple.clone()], span)
}

pub(super) fn size(tensor: &Expr, span: Span) -> Expr {
    apply(Op::Prim(Prim::Size), vec![tensor.clone()], span)
}

pub(super) fn element(i: &Expr, tensor: &Expr, span: Span) -> Expr {
    apply(Op::Prim(Prim::Index), vec![i.clone(), tensor.clone()], span)
}
