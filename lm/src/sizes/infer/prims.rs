//! The sizes of what primitives give.

use super::{Claim, Polynomial, Shape, Walk};
use crate::prim::Prim;
use crate::term::{Expr, Span};
use crate::types::Type;

impl Walk<'_> {
    pub(super) fn primitive(&mut self, e: &Expr, p: Prim, args: &[Expr]) -> Shape {
        match (p, args) {
            (Prim::Build, [n, f]) => {
                let sizes = self.counts(n, e.span());
                let element = self.each_index(&sizes, f);
                Shape::Tensor(sizes.into_iter().map(Some).collect(), Box::new(element))
            }
            (Prim::SumBuild, [n, f]) => {
                let sizes = self.counts(n, e.span());
                let term = self.each_index(&sizes, f);
                self.named(term, e.ty(), "sum")
            }
            (Prim::SumBuild, [w, n, f]) => {
                let zero = self.term(w);
                let sizes = self.counts(n, e.span());
                self.each_index(&sizes, f);
                self.tangent(&zero, w.ty())
            }
            (Prim::Index, [i, v]) => self.index(e, i, v),
            (Prim::Size, [v]) => self.size(v),
            (Prim::CommonSize, [v, w]) => {
                let size = self.size(v);
                let [v, w] = [v, w].map(|x| self.outermost(x));
                self.one_size(&v, &w, e.span());
                size
            }
            (Prim::Fold | Prim::Scanl | Prim::Reduce | Prim::Scanr, [f, a, v]) => self.fold(p, e, [f, a, v]),
            (Prim::Place, [c, f, a, v]) => self.place(e, [c, f, a, v]),
            (Prim::Map2, [f, v, w]) => self.map2(e, [f, v, w]),
            (Prim::Shift1L | Prim::Shift1R, [v]) => self.shifted(e, v),
            (Prim::Checkpoint | Prim::Replay | Prim::States, [k, f, a, v]) => {
                self.term(k);
                self.fold(p, e, [f, a, v])
            }
            (Prim::Loop, [n, f, s, w]) => self.general_loop([n, f, s, w]),
            (Prim::Sum, [v]) => {
                let element = self.element(v);
                self.named(element, e.ty(), "sum")
            }
            (Prim::VecInit, _) => {
                let shapes: Vec<Shape> = args.iter().map(|a| self.term(a)).collect();
                let element = shapes.iter().skip(1).fold(shapes[0].clone(), |a, b| self.one_of(&a, b));
                Shape::Tensor(vec![Some(Polynomial::constant(args.len() as i64))], Box::new(element))
            }
            (Prim::Unzip, [v]) => match self.term(v) {
                Shape::Tensor(sizes, element) => {
                    let part = |part: &Shape| Shape::Tensor(sizes.clone(), Box::new(part.clone()));
                    let parts = element.parts().iter().map(part).collect();
                    self.named(Shape::Tuple(parts), e.ty(), "_")
                }
                _ => self.unknown(e.ty(), "_"),
            },
            (Prim::Add | Prim::Sub | Prim::Mul | Prim::Neg | Prim::Dot, _) => self.arithmetic(e, p, args),
            (Prim::StopGradient | Prim::Trace | Prim::AsSize, [x]) => self.term(x),
            (Prim::ZeroOf, [x]) => {
                let shape = self.term(x);
                self.tangent(&shape, x.ty())
            }
            (Prim::DeltaAt, [v, i, x]) => {
                let shape = self.term(v);
                self.term(i);
                self.term(x);
                self.tangent(&shape, v.ty())
            }
            (Prim::AddAt, [v, p]) => {
                self.term(p);
                self.term(v)
            }
            (Prim::Into, [s, x]) => {
                self.term(s);
                self.term(x)
            }
            _ => self.other(e, args),
        }
    }

    /// Returns the numbers of a size.
    fn sizes_of(&mut self, n: &Expr) -> Vec<Polynomial> {
        let shape = self.term(n);
        self.numbers(&shape)
    }

    /// Returns the numbers of a size that something is made with.
    fn counts(&mut self, n: &Expr, span: Span) -> Vec<Polynomial> {
        let sizes = self.sizes_of(n);
        for size in &sizes {
            self.not_negative(size, Claim::Count, span);
        }
        sizes
    }

    fn size(&mut self, v: &Expr) -> Shape {
        let rank = rank(v);
        let Shape::Tensor(sizes, _) = self.outermost(v) else { return self.unknown(&Type::index(rank), "size") };
        let numbers = sizes.into_iter().flatten().map(Shape::Integer);
        let mut numbers: Vec<Shape> = numbers.collect();
        if numbers.len() == 1 { numbers.remove(0) } else { Shape::Tuple(numbers) }
    }

    /// Returns a tensor whose own sizes have names.
    fn outermost(&mut self, v: &Expr) -> Shape {
        let shape = self.term(v);
        let name = v.as_var().map_or("_".into(), |x| x.name().clone());
        self.named(shape, v.ty(), &name)
    }

    fn element(&mut self, v: &Expr) -> Shape {
        match self.term(v) {
            Shape::Tensor(_, element) => *element,
            _ => Shape::Scalar,
        }
    }

    fn index(&mut self, e: &Expr, i: &Expr, v: &Expr) -> Shape {
        let (index, tensor) = (self.term(i), self.outermost(v));
        let Shape::Tensor(sizes, element) = tensor else { return self.unknown(e.ty(), "_") };
        let is_limited = i.as_var().is_some_and(|x| self.limited.contains(&x.id()));
        let numbers = self.numbers(&index);
        for (k, n) in numbers.iter().zip(sizes.iter().flatten()) {
            let answer = self.range(k, n);
            let limit = self.bounds.limit_of(k).filter(|_| is_limited).map(Polynomial::to_string);
            self.claim(e.span(), Claim::Index { limit }, [k, n], answer);
        }
        self.named(*element, e.ty(), "_")
    }

    fn fold(&mut self, p: Prim, e: &Expr, [f, a, v]: [&Expr; 3]) -> Shape {
        let (first, tensor) = (self.term(a), self.outermost(v));
        let Shape::Tensor(sizes, element) = tensor else { return self.unknown(e.ty(), "_") };
        let Type::Tensor(_, element_type) = v.ty() else { return self.unknown(e.ty(), "_") };
        let state = self.state(first, a.ty(), &mut |walk, state| {
            let element = walk.named((*element).clone(), element_type, "_");
            let next = walk.apply(f, Shape::Tuple(vec![state, element]));
            walk.named(next, a.ty(), "state")
        });
        let count = sizes[0].as_ref().map(|n| n.shifted(1));
        let each = Box::new(self.each(&state));
        match p {
            Prim::Fold | Prim::Reduce | Prim::Checkpoint => state,
            Prim::States => self.named(Shape::Tensor(vec![None], each), e.ty(), "_"),
            _ => self.named(Shape::Tensor(vec![count], each), e.ty(), "_"),
        }
    }

    fn place(&mut self, e: &Expr, [c, f, a, v]: [&Expr; 4]) -> Shape {
        let (first, element) = (self.term(a), self.element(v));
        let Type::Tensor(_, element_type) = v.ty() else { return self.unknown(e.ty(), "place") };
        self.state(first, a.ty(), &mut |walk, state| {
            let element = walk.named(element.clone(), element_type, "_");
            walk.apply(c, Shape::Tuple(vec![state.clone(), element.clone()]));
            let next = walk.apply(f, element);
            walk.named(state.joined(&next), a.ty(), "state")
        });
        self.unknown(e.ty(), "place")
    }

    fn map2(&mut self, e: &Expr, [f, v, w]: [&Expr; 3]) -> Shape {
        let [left, right] = [v, w].map(|x| self.outermost(x));
        self.one_size(&left, &right, e.span());
        let element = self.inside(|walk| {
            let pair = [(&left, v), (&right, w)].map(|(shape, v)| match (shape, v.ty()) {
                (Shape::Tensor(_, element), Type::Tensor(_, ty)) => walk.named((**element).clone(), ty, "_"),
                _ => Shape::Scalar,
            });
            walk.apply(f, Shape::Tuple(pair.to_vec()))
        });
        match left {
            Shape::Tensor(sizes, _) => Shape::Tensor(sizes, Box::new(element)),
            _ => self.unknown(e.ty(), "_"),
        }
    }

    /// Returns a vector without one of its elements, if it has any.
    fn shifted(&mut self, e: &Expr, v: &Expr) -> Shape {
        let Shape::Tensor(sizes, element) = self.outermost(v) else { return self.unknown(e.ty(), "_") };
        let less = sizes[0].as_ref().map(|n| n.shifted(-1)).filter(|less| self.bounds.is_not_negative(less));
        self.named(Shape::Tensor(vec![less], element), e.ty(), "_")
    }

    /// Returns what is known of every state: not what changes from step to step.
    fn each(&self, state: &Shape) -> Shape {
        state.with(&|p| p.atoms().all(|atom| !self.arbitrary.contains(atom)).then(|| p.clone()))
    }

    fn general_loop(&mut self, [n, f, s, w]: [&Expr; 4]) -> Shape {
        let sizes = self.sizes_of(n);
        let (first, zero) = (self.term(s), self.term(w));
        let state = self.state(first, s.ty(), &mut |walk, state| {
            let index = walk.index_below(&sizes, "i");
            let pair = walk.apply(f, Shape::Tuple(vec![index, state]));
            let next = pair.parts().first().cloned().unwrap_or(Shape::Scalar);
            walk.named(next, s.ty(), "state")
        });
        let sum = self.tangent(&zero, w.ty());
        Shape::Tuple(vec![state, sum])
    }

    fn arithmetic(&mut self, e: &Expr, p: Prim, args: &[Expr]) -> Shape {
        let shapes: Vec<Shape> = args.iter().map(|a| self.term(a)).collect();
        if *e.ty() == Type::Integer {
            let numbers: Vec<Polynomial> = shapes.iter().map(|shape| self.number(shape)).collect();
            return Shape::Integer(match (p, numbers.as_slice()) {
                (Prim::Add, [a, b]) => a.plus(b),
                (Prim::Sub, [a, b]) => a.minus(b),
                (Prim::Mul, [a, b]) => a.times(b),
                (_, [a]) => Polynomial::default().minus(a),
                _ => return Shape::Scalar,
            });
        }
        match (p, shapes.as_slice()) {
            (Prim::Add | Prim::Sub, [a, b]) => {
                self.one_size(a, b, e.span());
                a.clone()
            }
            (Prim::Dot, [a, b]) => {
                self.one_size(a, b, e.span());
                Shape::Scalar
            }
            (Prim::Mul, [_, x]) => x.clone(),
            (_, [x]) => x.clone(),
            _ => Shape::Scalar,
        }
    }

    /// Returns a tangent of a value.
    fn tangent(&mut self, shape: &Shape, ty: &Type) -> Shape {
        match (shape, ty) {
            (Shape::Tuple(parts), Type::Tuple(types)) => {
                Shape::Tuple(parts.iter().zip(types.iter()).map(|(part, ty)| self.tangent(part, ty)).collect())
            }
            (Shape::Tensor(sizes, element), Type::Tensor(_, ty)) => {
                Shape::Tensor(sizes.clone(), Box::new(self.tangent(element, ty)))
            }
            (_, Type::Float) => Shape::Scalar,
            (_, Type::Tensor(..)) => self.unknown(&ty.tangent(), "_"),
            _ => Shape::Tuple(vec![]),
        }
    }
}

fn rank(v: &Expr) -> usize {
    if let Type::Tensor(rank, _) = v.ty() { *rank } else { 1 }
}
