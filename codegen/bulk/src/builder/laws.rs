//! Laws of elementwise operations, and of the ways to spread, order and join arrays.
//!
//! ```text
//! each op (spread a) (spread b) = spread (each op a b)         the same axes
//! spread (spread a) = spread a       permute (spread a) = spread a       permute (permute a) = permute a
//! x + 0 = x     x - 0 = x     x 1 = x     x / 1 = x     --x = x     x + -y = x - y       numbers are computed
//! select true a b = a     select c a a = a
//! ```

use super::Builder;
use crate::ir::{Fun, Id, Op, Reduction, Scalar};
use crate::rules::Rule;
use lm::term::Constant;

impl Builder {
    /// Returns a number.
    pub fn constant(&mut self, c: Constant) -> Id {
        let scalar = match &c {
            Constant::Float(_) => Scalar::Float,
            Constant::Integer(_) => Scalar::Integer,
            Constant::Bool(_) => Scalar::Bool,
            Constant::String(_) => panic!("text is no number"),
        };
        self.make(Op::Constant(c), vec![], scalar, vec![])
    }

    /// Returns an Integer.
    pub fn integer(&mut self, n: i64) -> Id {
        self.constant(Constant::Integer(n))
    }

    /// Returns a Float.
    pub fn float(&mut self, x: f64) -> Id {
        self.constant(Constant::Float(x))
    }

    /// Returns `true` or `false`.
    pub fn boolean(&mut self, b: bool) -> Id {
        self.constant(Constant::Bool(b))
    }

    /// Returns 0 in an array of a size.
    pub fn zeros(&mut self, scalar: Scalar, dims: &[Id]) -> Id {
        let zero = self.constant(match scalar {
            Scalar::Float => Constant::Float(0.0),
            Scalar::Integer => Constant::Integer(0),
            Scalar::Bool => Constant::Bool(false),
        });
        self.spread(zero, &[], dims)
    }

    /// Returns the number that all elements of an array are, if that is known.
    pub fn number(&self, id: Id) -> Option<&Constant> {
        match &self.node(id).op {
            Op::Constant(c) => Some(c),
            Op::Spread(_) => self.number(self.node(id).args[0]),
            _ => None,
        }
    }

    fn is_float(&self, id: Id, x: f64) -> bool {
        self.number(id) == Some(&Constant::Float(x))
    }

    pub(super) fn is_integer(&self, id: Id, n: i64) -> bool {
        self.number(id) == Some(&Constant::Integer(n))
    }

    /// Returns whether an array is 0, or -0, throughout.
    pub fn is_zero(&self, id: Id) -> bool {
        self.is_float(id, 0.0) || self.is_float(id, -0.0) || self.is_integer(id, 0)
    }

    fn is_one(&self, id: Id) -> bool {
        self.is_float(id, 1.0) || self.is_integer(id, 1)
    }

    /// Returns `op(a, ..)`, element by element, of arrays of one size.
    pub fn each(&mut self, fun: Fun, args: &[Id]) -> Id {
        let dims = self.dims(args[0]);
        debug_assert!(args.iter().all(|&a| self.rank(a) == dims.len()), "operands of {fun:?} have one rank");
        if let Some(simple) = self.simple(fun, args) {
            return simple;
        }
        if let Some(spread) = self.each_of_spread(fun, args, &dims) {
            return spread;
        }
        let scalar = self.scalar_of(fun, args);
        self.make(Op::Each(fun), args.to_vec(), scalar, dims)
    }

    /// Returns `op(a, ..)` where the first argument is true, and zero elsewhere.
    pub fn guarded(&mut self, fun: Fun, args: &[Id]) -> Id {
        if self.is_bool(args[0], true) {
            return self.each(fun, &args[1..]);
        }
        let scalar = self.scalar_of(fun, &args[1..]);
        self.make(Op::Guarded(fun), args.to_vec(), scalar, self.dims(args[0]))
    }

    fn scalar_of(&self, fun: Fun, args: &[Id]) -> Scalar {
        match fun {
            Fun::Gt | Fun::Lt | Fun::Gte | Fun::Lte | Fun::Eq | Fun::Ne | Fun::And | Fun::Or | Fun::Not => Scalar::Bool,
            Fun::ToInteger => Scalar::Integer,
            Fun::ToFloat | Fun::BoolToFloat | Fun::Hash => Scalar::Float,
            Fun::Select | Fun::Used => self.node(args[1]).scalar,
            Fun::Add | Fun::Sub | Fun::Mul | Fun::Div | Fun::Neg | Fun::Abs => self.node(args[0]).scalar,
            Fun::Sqrt | Fun::Powi | Fun::Stop | Fun::Libm(_) => self.node(args[0]).scalar,
        }
    }

    fn each_of_spread(&mut self, fun: Fun, args: &[Id], dims: &[Id]) -> Option<Id> {
        let spread = |id: Id| match &self.node(id).op {
            Op::Spread(axes) => Some((axes.clone(), self.node(id).args[0])),
            _ => None,
        };
        let (axes, _) =
            args.iter().find_map(|&a| spread(a).filter(|(axes, _)| !axes.is_empty())).or_else(|| spread(args[0]))?;
        let inner: Vec<Id> = args
            .iter()
            .map(|&a| {
                spread(a)
                    .and_then(|(own, inner)| if own == axes { Some(inner) } else { own.is_empty().then_some(inner) })
            })
            .collect::<Option<_>>()?;
        let inner_dims: Vec<Id> = axes.iter().map(|&axis| dims[axis]).collect();
        let inner: Vec<Id> = (inner.into_iter())
            .map(|a| if self.rank(a) == axes.len() { a } else { self.spread(a, &[], &inner_dims) })
            .collect();
        self.by(Rule::EachSpread);
        let value = self.each(fun, &inner);
        Some(self.spread(value, &axes, dims))
    }

    fn simple(&mut self, fun: Fun, args: &[Id]) -> Option<Id> {
        if let Some(known) = self.computed(fun, args) {
            self.by(Rule::EachNumbers);
            return Some(known);
        }
        let simple = self.simpler(fun, args)?;
        match fun {
            Fun::Select => self.by(Rule::SelectKnown),
            // Sums and signs of what is scattered have rules of their own.
            Fun::Add | Fun::Neg if args.iter().any(|&arg| self.is_sparse(arg)) => {}
            _ => self.by(Rule::EachUnit),
        }
        Some(simple)
    }

    fn simpler(&mut self, fun: Fun, args: &[Id]) -> Option<Id> {
        let inside = |id: Id, of: Fun| match &self.node(id).op {
            Op::Each(f) if *f == of => Some(self.node(id).args.clone()),
            _ => None,
        };
        match (fun, args) {
            (Fun::Add, &[x, y]) if self.is_zero(y) => Some(x),
            (Fun::Add, &[x, y]) if self.is_zero(x) => Some(y),
            (Fun::Sub, &[x, y]) if self.is_zero(y) => Some(x),
            (Fun::Sub, &[x, y]) if self.is_zero(x) => Some(self.each(Fun::Neg, &[y])),
            (Fun::Sub, &[x, y]) if x == y && self.node(x).scalar == Scalar::Integer => {
                let dims = self.dims(x);
                Some(self.zeros(Scalar::Integer, &dims))
            }
            (Fun::Add, &[x, y]) => {
                if let Some(y) = inside(y, Fun::Neg) {
                    return Some(self.each(Fun::Sub, &[x, y[0]]));
                }
                self.sum_with_scatter(x, y)
            }
            (Fun::Mul, &[x, y]) if self.is_one(x) => Some(y),
            (Fun::Mul | Fun::Div, &[x, y]) if self.is_one(y) => Some(x),
            (Fun::Mul, &[x, y]) if self.is_float(x, -1.0) => Some(self.each(Fun::Neg, &[y])),
            (Fun::Mul, &[x, y]) if self.is_float(y, -1.0) => Some(self.each(Fun::Neg, &[x])),
            (Fun::Neg, &[x]) if self.is_sparse(x) => self.negative_sparse(x),
            (Fun::Neg, &[x]) => inside(x, Fun::Neg).map(|x| x[0]),
            (Fun::Not, &[x]) => inside(x, Fun::Not).map(|x| x[0]),
            (Fun::And, &[x, y]) if x == y || self.is_bool(y, true) => Some(x),
            (Fun::And, &[x, y]) if self.is_bool(x, true) || self.is_bool(y, false) => Some(y),
            (Fun::And, &[x, _]) if self.is_bool(x, false) => Some(x),
            (Fun::Or, &[x, y]) if x == y || self.is_bool(y, false) => Some(x),
            (Fun::Or, &[x, y]) if self.is_bool(x, false) || self.is_bool(y, true) => Some(y),
            (Fun::Or, &[x, _]) if self.is_bool(x, true) => Some(x),
            (Fun::Eq | Fun::Lte | Fun::Gte, &[x, y]) if x == y && self.node(x).scalar == Scalar::Integer => {
                let (dims, yes) = (self.dims(x), self.boolean(true));
                Some(self.spread(yes, &[], &dims))
            }
            (Fun::Lte | Fun::Lt | Fun::Gte | Fun::Gt, &[x, y])
                if self.node(x).scalar == Scalar::Integer && self.is_ordered(fun, x, y) =>
            {
                let (dims, yes) = (self.dims(x), self.boolean(true));
                Some(self.spread(yes, &[], &dims))
            }
            (Fun::Select, &[_, x, y]) if x == y => Some(x),
            (Fun::Select, &[c, x, _]) if self.is_bool(c, true) => Some(x),
            (Fun::Select, &[c, _, y]) if self.is_bool(c, false) => Some(y),
            _ => None,
        }
    }

    pub(crate) fn is_bool(&self, id: Id, b: bool) -> bool {
        self.number(id) == Some(&Constant::Bool(b))
    }

    /// Returns whether Integers are known to compare so, all of them.
    fn is_ordered(&mut self, fun: Fun, x: Id, y: Id) -> bool {
        match fun {
            Fun::Lte => self.is_at_most(x, y, 0),
            Fun::Lt => self.is_at_most(x, y, 1),
            Fun::Gte => self.is_at_most(y, x, 0),
            _ => self.is_at_most(y, x, 1),
        }
    }

    /// Computes with numbers that are known.
    fn computed(&mut self, fun: Fun, args: &[Id]) -> Option<Id> {
        let known: Vec<Constant> = args
            .iter()
            .map(|&a| match &self.node(a).op {
                Op::Constant(c) => Some(c.clone()),
                _ => None,
            })
            .collect::<Option<_>>()?;
        let value = crate::scalar::apply(fun, &known)?;
        Some(self.constant(value))
    }

    /// Returns an array with more axes: axis k of it is axis `axes[k]` of the result, of size `dims`.
    pub fn spread(&mut self, id: Id, axes: &[usize], dims: &[Id]) -> Id {
        debug_assert_eq!(self.rank(id), axes.len(), "a place for each axis");
        if axes.len() == dims.len() {
            return self.permuted_to(id, axes);
        }
        match self.node(id).op.clone() {
            Op::Spread(inner) => {
                self.by(Rule::SpreadSpread);
                let axes: Vec<usize> = inner.iter().map(|&axis| axes[axis]).collect();
                let of = self.node(id).args[0];
                self.spread(of, &axes, dims)
            }
            _ if !axes.is_sorted() => {
                let mut order: Vec<usize> = (0..axes.len()).collect();
                order.sort_by_key(|&k| axes[k]);
                let (permuted, sorted) = (self.permute(id, &order), order.iter().map(|&k| axes[k]).collect::<Vec<_>>());
                self.spread(permuted, &sorted, dims)
            }
            _ => self.make(Op::Spread(axes.to_vec()), vec![id], self.node(id).scalar, dims.to_vec()),
        }
    }

    /// Returns an array whose axis k becomes axis `places[k]`.
    fn permuted_to(&mut self, id: Id, places: &[usize]) -> Id {
        let mut order = vec![0; places.len()];
        places.iter().enumerate().for_each(|(k, &place)| order[place] = k);
        self.permute(id, &order)
    }

    /// Returns an array whose axis k is axis `axes[k]` of the given one.
    pub fn permute(&mut self, id: Id, axes: &[usize]) -> Id {
        if axes.iter().enumerate().all(|(k, &axis)| k == axis) {
            return id;
        }
        let dims: Vec<Id> = axes.iter().map(|&axis| self.node(id).dims[axis]).collect();
        let node = self.node(id).clone();
        match node.op {
            Op::Permute(inner) => {
                self.by(Rule::PermutePermute);
                let axes: Vec<usize> = axes.iter().map(|&axis| inner[axis]).collect();
                self.permute(node.args[0], &axes)
            }
            Op::Spread(inner) => {
                self.by(Rule::PermutePermute);
                let place = |axis: usize| axes.iter().position(|&a| a == axis).expect("a permutation has each axis");
                let inner: Vec<usize> = inner.iter().map(|&axis| place(axis)).collect();
                self.spread(node.args[0], &inner, &dims)
            }
            Op::Contract(spec) => {
                self.by(Rule::PermutePermute);
                let out = axes.iter().map(|&axis| spec.out[axis]).collect();
                self.make(Op::Contract(crate::ir::Spec { out, ..spec }), node.args, node.scalar, dims)
            }
            _ => self.make(Op::Permute(axes.to_vec()), vec![id], node.scalar, dims),
        }
    }

    /// Returns arrays of one size along a new axis. Takes at least one.
    pub fn stack(&mut self, args: &[Id], axis: usize) -> Id {
        let mut dims = self.dims(args[0]);
        let n = self.integer(args.len() as i64);
        dims.insert(axis, n);
        self.make(Op::Stack(axis), args.to_vec(), self.node(args[0]).scalar, dims)
    }

    /// Returns two arrays one after the other along an axis.
    pub fn concat(&mut self, a: Id, b: Id, axis: usize) -> Id {
        let mut dims = self.dims(a);
        dims[axis] = self.each(Fun::Add, &[self.node(a).dims[axis], self.node(b).dims[axis]]);
        self.make(Op::Concat(axis), vec![a, b], self.node(a).scalar, dims)
    }

    /// Returns the place of the first largest Float along an axis, whether all are true, or the largest Integer.
    pub fn reduce(&mut self, how: Reduction, id: Id, axis: usize) -> Id {
        if how == Reduction::Sum {
            return self.sum(id, axis);
        }
        let mut dims = self.dims(id);
        dims.remove(axis);
        let scalar = match how {
            Reduction::All => Scalar::Bool,
            Reduction::Max | Reduction::Argmax => Scalar::Integer,
            Reduction::Largest => Scalar::Float,
            Reduction::Sum => unreachable!("sums have laws of their own"),
        };
        self.make(Op::Reduce(how, axis), vec![id], scalar, dims)
    }
}
