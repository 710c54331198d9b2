//! The loop that defines each operation.

use super::Raising;
use super::reading::{add, as_index};
use crate::ir::{Fun, Id, Node, Op, Reduction, Scalar, Spec};
use lm::prim::Prim;
use lm::term::{Constant, Expr};
use lm::types::Type;

impl Raising<'_> {
    /// Returns the value of an operation that makes an array.
    pub(super) fn value(&mut self, id: Id) -> Expr {
        let function = self.function;
        let node = function.node(id);
        let args = &node.args;
        match &node.op {
            Op::Each(fun) => self.array(&node.dims, |cx, index| {
                let numbers = args.iter().map(|&arg| cx.at(arg, index)).collect();
                number(*fun, numbers)
            }),
            Op::Guarded(fun) => self.array(&node.dims, |cx, index| {
                let mut numbers: Vec<Expr> = args.iter().map(|&arg| cx.at(arg, index)).collect();
                let guard = numbers.remove(0);
                Expr::conditional(guard, number(*fun, numbers), zero(node.scalar))
            }),
            Op::Reduce(reduction, axis) => self.reduced(node, *reduction, *axis),
            Op::Window(axis) => self.array(&node.dims, |cx, index| {
                let start = cx.at(args[1], &[]);
                let mut place = index.to_vec();
                place[*axis] = add(start, place[*axis].clone());
                let n = cx.at(cx.function.node(args[0]).dims[*axis], &[]);
                let inside = is_inside(&place[*axis], n);
                Expr::conditional(inside, cx.at(args[0], &place), zero(node.scalar))
            }),
            Op::Gather(axis) => self.gathered(node, *axis),
            Op::Scatter => self.scattered(node),
            Op::Stack(_) if node.dims.len() == 1 => {
                let numbers: Vec<Expr> = args.iter().map(|&arg| self.at(arg, &[])).collect();
                Expr::prim(Prim::VecInit, numbers)
            }
            Op::Stack(axis) => self.array(&node.dims, |cx, index| {
                let mut rest = index.to_vec();
                let place = rest.remove(*axis);
                let (last, others) = args.split_last().expect("a stack of some arrays");
                let last = cx.at(*last, &rest);
                others.iter().enumerate().rev().fold(last, |after, (k, &arg)| {
                    let is_here = Expr::prim(Prim::Eq, [place.clone(), Expr::integer(k as i64)]);
                    Expr::conditional(is_here, cx.at(arg, &rest), after)
                })
            }),
            Op::Concat(axis) => self.array(&node.dims, |cx, index| {
                let n = cx.at(cx.function.node(args[0]).dims[*axis], &[]);
                let is_first = Expr::prim(Prim::Lt, [index[*axis].clone(), n.clone()]);
                let mut rest = index.to_vec();
                rest[*axis] = Expr::prim(Prim::Sub, [rest[*axis].clone(), n]);
                Expr::conditional(is_first, cx.at(args[0], index), cx.at(args[1], &rest))
            }),
            Op::Contract(spec) => self.contracted(node, spec),
            other => panic!("{other:?} makes no array"),
        }
    }

    /// Returns the sum of what a function gives for all indices below some sizes.
    fn sum(&mut self, sizes: &[Id], witness: Option<Expr>, term: impl FnOnce(&mut Self, &[Expr]) -> Expr) -> Expr {
        let sizes: Vec<Expr> = sizes.iter().map(|&size| self.at(size, &[])).collect();
        let f = self.function_of_index(sizes.len(), term);
        Expr::prim(Prim::SumBuild, witness.into_iter().chain([as_index(&sizes), f]))
    }

    fn reduced(&mut self, node: &Node, reduction: Reduction, axis: usize) -> Expr {
        let of = node.args[0];
        let n = self.function.node(of).dims[axis];
        self.array(&node.dims, |cx, index| {
            let element = |cx: &mut Self, k: &Expr| {
                let mut index = index.to_vec();
                index.insert(axis, k.clone());
                cx.at(of, &index)
            };
            match (reduction, node.scalar) {
                (Reduction::Sum, Scalar::Float) => cx.sum(&[n], None, |cx, k| element(cx, &k[0])),
                (Reduction::Sum, _) => cx.folded(n, Expr::integer(0), |cx, s, k| {
                    let x = element(cx, k);
                    Expr::prim(Prim::Add, [s, x])
                }),
                (Reduction::All, _) => cx.folded(n, Expr::constant(Constant::Bool(true)), |cx, s, k| {
                    let x = element(cx, k);
                    Expr::prim(Prim::And, [s, x])
                }),
                (Reduction::Max, _) => cx.folded(n, Expr::integer(0), |cx, s, k| larger(element(cx, k), s)),
                (Reduction::Largest, _) => {
                    cx.folded(n, Expr::float(f64::NEG_INFINITY), |cx, s, k| larger(element(cx, k), s))
                }
                (Reduction::Argmax, _) => {
                    let all = cx.array(&[n], |cx, k| element(cx, &k[0]));
                    Expr::prim(Prim::Imax, [all])
                }
            }
        })
    }

    /// Returns the last state of a fold over the Integers below a size.
    fn folded(&mut self, n: Id, start: Expr, next: impl FnOnce(&mut Self, Expr, &Expr) -> Expr) -> Expr {
        let n = self.at(n, &[]);
        let i = self.supply.fresh("i", Type::Integer);
        let steps = Expr::prim(Prim::Build, [n, Expr::lam(i.clone(), Expr::var(&i))]);
        let q = self.supply.fresh("q", Type::tuple([start.ty().clone(), Type::Integer]));
        let [s, k] = [1, 2].map(|part| Expr::get(part, Expr::var(&q)));
        let next = next(self, s, &k);
        Expr::prim(Prim::Fold, [Expr::lam(q, next), start, steps])
    }

    fn gathered(&mut self, node: &Node, axis: usize) -> Expr {
        let (of, places) = node.args.split_first().expect("an array");
        let count = self.function.node(places[0]).dims.len();
        self.array(&node.dims, |cx, index| {
            let (before, rest) = index.split_at(axis);
            let (own, after) = rest.split_at(count);
            let (mut numbers, used) = cx.places(places, own, before);
            numbers.extend(after.iter().cloned());
            let element = cx.at(*of, &numbers);
            match used {
                Some(used) => Expr::conditional(used, element, zero(node.scalar)),
                None => element,
            }
        })
    }

    /// Returns the numbers of an index, after some others, and the condition under which the element there is used. Where
    /// it is used, an index out of range is an error.
    fn places(&mut self, places: &[Id], own: &[Expr], before: &[Expr]) -> (Vec<Expr>, Option<Expr>) {
        let mut numbers = before.to_vec();
        let mut masks: Vec<Expr> = Vec::new();
        for &place in places {
            let Some((mask, place, axes)) = self.masked(place) else {
                numbers.push(self.at(place, own));
                continue;
            };
            let own: Vec<Expr> = axes.iter().map(|&axis| own[axis].clone()).collect();
            let mask = self.at(mask, &own);
            if !masks.contains(&mask) {
                masks.push(mask);
            }
            numbers.push(self.at(place, &own));
        }
        (numbers, masks.into_iter().reduce(|a, b| Expr::prim(Prim::And, [a, b])))
    }

    /// Returns the mask and the index of a place that is 0 where the mask is false, and the axes of both.
    fn masked(&self, place: Id) -> Option<(Id, Id, Vec<usize>)> {
        let node = self.function.node(place);
        match &node.op {
            Op::Each(Fun::Used) => Some((node.args[0], node.args[1], (0..node.dims.len()).collect())),
            Op::Spread(axes) => {
                let (mask, place, inner) = self.masked(node.args[0])?;
                Some((mask, place, inner.into_iter().map(|axis| axes[axis]).collect()))
            }
            _ => None,
        }
    }

    fn scattered(&mut self, node: &Node) -> Expr {
        let [base, x, places @ ..] = node.args.as_slice() else { panic!("an array, and what is added") };
        let x_dims = self.function.node(*x).dims.clone();
        let count = places.first().map_or(0, |&place| self.function.node(place).dims.len());
        let whole = self.whole(*base);
        let whole = self.bind("t", whole);
        let one = |cx: &mut Self, index: &[Expr]| {
            let (own, after) = index.split_at(count);
            let (mut numbers, used) = cx.places(places, own, &[]);
            numbers.extend(after.iter().cloned());
            let added = Expr::prim(Prim::DeltaAt, [whole.clone(), as_index(&numbers), cx.at(*x, index)]);
            match used {
                Some(used) => Expr::conditional(used, added, Expr::prim(Prim::ZeroOf, [whole.clone()])),
                None => added,
            }
        };
        let sum = match x_dims.as_slice() {
            [] => one(self, &[]),
            dims => self.sum(dims, Some(whole.clone()), one),
        };
        if self.is_zero(*base) { sum } else { Expr::prim(Prim::Add, [whole.clone(), sum]) }
    }

    /// Returns whether an array is zeros, all of them.
    fn is_zero(&self, id: Id) -> bool {
        let node = self.function.node(id);
        match &node.op {
            Op::Constant(Constant::Float(x)) => *x == 0.0 && x.is_sign_positive(),
            Op::Spread(_) => self.is_zero(node.args[0]),
            _ => false,
        }
    }

    fn contracted(&mut self, node: &Node, spec: &Spec) -> Expr {
        let (a, b) = (node.args[0], node.args[1]);
        let factors = [(a, &spec.left), (b, &spec.right)];
        let mut summed: Vec<(u8, Id)> = Vec::new();
        for (factor, letters) in factors {
            for (letter, size) in letters.iter().zip(&self.function.node(factor).dims) {
                if !spec.out.contains(letter) && summed.iter().all(|(other, _)| other != letter) {
                    summed.push((*letter, *size));
                }
            }
        }
        let sizes: Vec<Id> = summed.iter().map(|(_, size)| *size).collect();
        self.array(&node.dims, |cx, index| {
            let term = |cx: &mut Self, inner: &[Expr]| {
                let place = |letter: &u8| match spec.out.iter().position(|other| other == letter) {
                    Some(axis) => index[axis].clone(),
                    None => inner[summed.iter().position(|(other, _)| other == letter).expect("it is summed")].clone(),
                };
                let [x, y] = factors.map(|(factor, letters)| {
                    let index: Vec<Expr> = letters.iter().map(place).collect();
                    cx.at(factor, &index)
                });
                Expr::prim(Prim::Mul, [x, y])
            };
            if sizes.is_empty() { term(cx, &[]) } else { cx.sum(&sizes, None, term) }
        })
    }
}

/// Returns an operation on numbers.
pub(super) fn number(fun: Fun, args: Vec<Expr>) -> Expr {
    let prim = match fun {
        Fun::Select => {
            let [c, a, b] = <[Expr; 3]>::try_from(args).expect("a condition and two numbers");
            return Expr::conditional(c, a, b);
        }
        Fun::Used => {
            let [c, place] = <[Expr; 2]>::try_from(args).expect("a condition and a place");
            return Expr::conditional(c, place, Expr::integer(0));
        }
        Fun::Add if args[0].ty() == &Type::Integer => {
            let [a, b] = <[Expr; 2]>::try_from(args).expect("two numbers");
            return add(a, b);
        }
        Fun::Add => Prim::Add,
        Fun::Sub => Prim::Sub,
        Fun::Mul => Prim::Mul,
        Fun::Div => Prim::Div,
        Fun::Neg => Prim::Neg,
        Fun::Abs => Prim::Abs,
        Fun::Sqrt => Prim::Sqrt,
        Fun::Powi => Prim::Powi,
        Fun::Gt => Prim::Gt,
        Fun::Lt => Prim::Lt,
        Fun::Gte => Prim::Gte,
        Fun::Lte => Prim::Lte,
        Fun::Eq => Prim::Eq,
        Fun::Ne => Prim::Ne,
        Fun::And => Prim::And,
        Fun::Or => Prim::Or,
        Fun::Not => Prim::Not,
        Fun::ToFloat => Prim::ToFloat,
        Fun::ToInteger => Prim::ToInteger,
        Fun::BoolToFloat => Prim::BoolToFloat,
        Fun::Hash => Prim::Ranhashdoub,
        Fun::Stop => Prim::StopGradient,
        Fun::Libm(f) => Prim::Libm(f),
    };
    Expr::prim(prim, args)
}

fn larger(x: Expr, s: Expr) -> Expr {
    Expr::conditional(Expr::prim(Prim::Gt, [x.clone(), s.clone()]), x, s)
}

fn zero(scalar: Scalar) -> Expr {
    match scalar {
        Scalar::Float => Expr::float(0.0),
        Scalar::Integer => Expr::integer(0),
        Scalar::Bool => Expr::constant(Constant::Bool(false)),
    }
}

fn is_inside(place: &Expr, n: Expr) -> Expr {
    let low = Expr::prim(Prim::Lte, [Expr::integer(0), place.clone()]);
    Expr::prim(Prim::And, [low, Expr::prim(Prim::Lt, [place.clone(), n])])
}
