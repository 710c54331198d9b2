//! Infers the sizes of the values of terms.
//!
//! ```text
//! size(build(n, λi. e)) = n      size(scanl(f, a, v)) = size(v) + 1      size(v + w) = size(v)
//! f(e ..), f of a signature: its size variables are the sizes of the arguments; the result has its size of them
//! ```
//!
//! A walk in the order of evaluation. A size that is not known is an atom of its own, so that it is equal to itself.
//! What a loop or branch makes is known outside as far as it does not depend on what is inside.

mod bounds;
mod calls;
mod claim;
mod conditions;
mod loops;
mod prims;
mod shape;

pub use claim::{ANY, Annotation, Answer, Claim, Finding, Found};

use super::polynomial::{Atom, Polynomial};
use super::relation::{Place, each_size};
use super::signature::Signature;
use super::sized_type::SizedType;
use crate::term::{Constant, Def, Expr, Fun, FunName, Kind, Op, Pattern, Span, Var};
use crate::types::Type;
use bounds::Bounds;
use rustc_hash::{FxHashMap, FxHashSet};
use shape::Shape;

/// What is known of other functions, and of the variables of a definition.
pub struct Known<'a> {
    /// The signature of a function.
    pub signature: &'a dyn Fn(&Fun) -> Option<Signature>,
    /// Whether the result of a function has the sizes of its signature, where its arguments are proved to, or are not.
    pub gives: &'a dyn Fn(&FunName, bool) -> bool,
    /// What the definition has by what it is a derivative of, if it is a derivative that is written by hand.
    pub derived: Option<&'a Signature>,
    /// The annotations of variables, by their number.
    pub annotations: &'a FxHashMap<u32, Annotation>,
}

/// Infers the sizes in a definition. Its parameters are taken to have those of the signature, its own or else that of a
/// derivative.
pub fn infer(def: &Def, signature: Option<&Signature>, known: &Known) -> Found {
    let mut walk = Walk {
        known,
        env: FxHashMap::default(),
        conditions: FxHashMap::default(),
        limited: FxHashSet::default(),
        arbitrary: FxHashSet::default(),
        names: FxHashSet::default(),
        next: 1,
        bounds: Bounds::default(),
        silent: 0,
        found: Found::default(),
    };
    walk.parameters(def, signature.or(known.derived));
    let (result, span) = (walk.term(&def.body), def.body.span());
    let itself = |atom: &Atom| Some(Polynomial::atom(atom.clone()));
    walk.found.result_is_proved =
        signature.is_none_or(|s| walk.result((&s.result, &itself), &result, span, &Claim::Result));
    walk.found.derivative_is_proved = known.derived.is_none_or(|s| walk.derivative(def, s, &result));
    walk.found
}

struct Walk<'a> {
    known: &'a Known<'a>,
    env: FxHashMap<u32, Shape>,
    /// The conditions that names stand for.
    conditions: FxHashMap<u32, Expr>,
    /// The variables of types `(Fin ..)`.
    limited: FxHashSet<u32>,
    /// The sizes of states that change from step to step.
    arbitrary: FxHashSet<Atom>,
    /// The numbers that variables of the program have, which are named like these.
    names: FxHashSet<Atom>,
    next: u32,
    bounds: Bounds,
    /// How many walks that only look are around.
    silent: usize,
    found: Found,
}

impl Walk<'_> {
    fn parameters(&mut self, def: &Def, signature: Option<&Signature>) {
        for variable in signature.iter().flat_map(|s| s.variables()) {
            self.bounds.natural(Atom::Variable(variable));
        }
        for (i, x) in def.params.iter().enumerate() {
            let shape = match signature.map(|s| &s.params[i]) {
                Some((_, ty)) => {
                    if let SizedType::Index(_) = ty {
                        self.limited.insert(x.id());
                    }
                    let shape = self.of_type(ty, &|atom| Some(Polynomial::atom(atom.clone())));
                    self.named(shape, x.ty(), x.name())
                }
                None => self.unknown(x.ty(), x.name()),
            };
            self.keep(x, shape);
        }
    }

    /// Keeps the value of a variable.
    fn keep(&mut self, x: &Var, shape: Shape) {
        if let Shape::Integer(k) = &shape {
            let is_it = |atom: &&Atom| *k == Polynomial::atom((*atom).clone()) && atom.to_string() == **x.name();
            self.names.extend(k.atoms().find(is_it).cloned());
        }
        self.env.insert(x.id(), shape);
    }

    fn spelled(&self, n: &Polynomial) -> Option<String> {
        let has_name = |atom: &Atom| matches!(atom, Atom::Variable(_)) || self.names.contains(atom);
        n.atoms().all(has_name).then(|| n.spelled())
    }

    fn term(&mut self, e: &Expr) -> Shape {
        match e.kind() {
            Kind::Const(Constant::Integer(k)) => Shape::Integer(Polynomial::constant(*k)),
            Kind::Const(_) | Kind::Lam(..) => Shape::Scalar,
            Kind::Var(x) => match self.env.get(&x.id()) {
                Some(shape) => shape.clone(),
                None => self.unknown(e.ty(), x.name()),
            },
            Kind::Let(bindings, body) => {
                for b in bindings {
                    let shape = self.term(&b.rhs);
                    self.bind(&b.pattern, &shape, b.rhs.span());
                    if let (Pattern::Var(x), Type::Bool) = (&b.pattern, b.rhs.ty()) {
                        self.conditions.insert(x.id(), b.rhs.clone());
                    }
                }
                self.term(body)
            }
            Kind::App(op, args) => self.application(e, op, args),
        }
    }

    fn bind(&mut self, pattern: &Pattern, shape: &Shape, span: Span) {
        match pattern {
            Pattern::Var(x) => self.bind_variable(x, shape.clone(), span),
            Pattern::Tuple(xs) => {
                for (i, x) in xs.iter().enumerate() {
                    let part = shape.parts().get(i).cloned().unwrap_or(Shape::Scalar);
                    self.bind_variable(x, part, span);
                }
            }
        }
    }

    /// Binds a variable, which has the sizes of its annotation.
    fn bind_variable(&mut self, x: &Var, shape: Shape, span: Span) {
        let shape = self.named(shape, x.ty(), x.name());
        self.keep(x, shape);
        self.annotated(x.id(), span);
    }

    fn application(&mut self, e: &Expr, op: &Op, args: &[Expr]) -> Shape {
        match op {
            Op::Tuple => Shape::Tuple(args.iter().map(|a| self.term(a)).collect()),
            Op::Get(i, _) => {
                let tuple = self.term(&args[0]);
                tuple.parts().get(i - 1).cloned().unwrap_or(Shape::Scalar)
            }
            Op::If => {
                self.term(&args[0]);
                let [yes, no] = [true, false].map(|value| {
                    let mark = self.bounds.mark();
                    self.learn(&args[0], value);
                    let shape = self.term(&args[if value { 1 } else { 2 }]);
                    self.bounds.forget_since(mark);
                    shape
                });
                let joined = self.one_of(&yes, &no);
                self.named(joined, e.ty(), "if")
            }
            Op::Assert => {
                self.term(&args[0]);
                let mark = self.bounds.mark();
                self.learn(&args[0], true);
                let shape = self.term(&args[1]);
                self.bounds.forget_since(mark);
                shape
            }
            Op::Call(f) | Op::JacobianOfFun(f) => self.call(e, f, args),
            Op::Prim(p) => self.primitive(e, *p, args),
            Op::Dummy => self.unknown(e.ty(), "$dummy"),
            Op::JacobianOf(_) | Op::JacobianAt(_) | Op::LmGet(..) => self.other(e, args),
            Op::Pack(_) | Op::Unpack(_) => self.other(e, args),
        }
    }

    /// Returns what is known of one of two values: as [`Shape::joined`], but Integers that differ are below what is
    /// above both.
    fn one_of(&self, a: &Shape, b: &Shape) -> Shape {
        match (a, b) {
            (a, b) if a == b => a.clone(),
            (Shape::Tuple(a), Shape::Tuple(b)) if a.len() == b.len() => {
                Shape::Tuple(a.iter().zip(b).map(|(a, b)| self.one_of(a, b)).collect())
            }
            (Shape::Tensor(..), Shape::Tensor(..)) => match (a.joined(b), a, b) {
                (Shape::Tensor(sizes, _), Shape::Tensor(_, a), Shape::Tensor(_, b)) => {
                    Shape::Tensor(sizes, Box::new(self.one_of(a, b)))
                }
                (joined, ..) => joined,
            },
            _ => match (self.limit(a), self.limit(b)) {
                (Some(n), Some(m)) if self.bounds.is_not_negative(&m.minus(&n)) => Shape::Below(m),
                (Some(n), Some(m)) if self.bounds.is_not_negative(&n.minus(&m)) => Shape::Below(n),
                _ => Shape::Scalar,
            },
        }
    }

    /// Returns what an Integer that is not negative is below.
    fn limit(&self, shape: &Shape) -> Option<Polynomial> {
        match shape {
            Shape::Integer(k) => self.bounds.is_not_negative(k).then(|| k.shifted(1)),
            Shape::Below(limit) => Some(limit.clone()),
            Shape::Scalar | Shape::Tuple(_) | Shape::Tensor(..) => None,
        }
    }

    /// Looks into the arguments of an operator whose result nothing is known of.
    fn other(&mut self, e: &Expr, args: &[Expr]) -> Shape {
        for arg in args {
            match arg.kind() {
                Kind::Lam(x, _) => {
                    let any = self.unknown(x.ty(), x.name());
                    self.inside(|walk| walk.apply(arg, any));
                }
                _ => drop(self.term(arg)),
            }
        }
        self.unknown(e.ty(), "_")
    }

    /// Returns the number that an Integer is.
    fn number(&mut self, shape: &Shape) -> Polynomial {
        match shape {
            Shape::Integer(p) => p.clone(),
            Shape::Below(limit) => {
                let atom = self.fresh("_");
                self.bounds.limit(atom.clone(), limit.clone());
                Polynomial::atom(atom)
            }
            _ => Polynomial::atom(self.fresh("_")),
        }
    }

    /// Returns the numbers of an index or a size.
    fn numbers(&mut self, shape: &Shape) -> Vec<Polynomial> {
        match shape {
            Shape::Tuple(parts) => parts.iter().map(|part| self.number(part)).collect(),
            one => vec![self.number(one)],
        }
    }

    fn fresh(&mut self, name: &str) -> Atom {
        self.next += 1;
        Atom::Number(self.next, name.into())
    }

    /// Returns a size that is not known.
    fn fresh_size(&mut self, name: &str, dimension: usize, rank: usize) -> Polynomial {
        let of = if name == "_" { "..".to_string() } else { name.to_string() };
        let text = if rank == 1 { format!("size({of})") } else { format!("size({of}).{}", dimension + 1) };
        let atom = self.fresh(&text);
        self.bounds.natural(atom.clone());
        Polynomial::atom(atom)
    }

    /// Returns a value of which only the type is known.
    fn unknown(&mut self, ty: &Type, name: &str) -> Shape {
        let open = self.of_type(&SizedType::any(ty), &|_| None);
        self.named(open, ty, name)
    }

    /// Returns the value with numbers for its sizes that have none; those of elements may differ.
    fn named(&mut self, shape: Shape, ty: &Type, name: &str) -> Shape {
        match (shape, ty) {
            (Shape::Tuple(parts), Type::Tuple(types)) => {
                let parts = parts.into_iter().zip(types.iter()).enumerate();
                Shape::Tuple(parts.map(|(i, (part, ty))| self.named(part, ty, &format!("{name}.{}", i + 1))).collect())
            }
            (Shape::Scalar, Type::Tuple(_) | Type::Tensor(..)) => self.unknown(ty, name),
            (Shape::Scalar, Type::Integer) => Shape::Integer(Polynomial::atom(self.fresh(name))),
            (Shape::Below(limit), _) => {
                let atom = self.fresh(name);
                self.bounds.limit(atom.clone(), limit);
                Shape::Integer(Polynomial::atom(atom))
            }
            (Shape::Tensor(sizes, element), _) => {
                let rank = sizes.len();
                let known = sizes.into_iter().enumerate();
                let sizes = known.map(|(d, n)| Some(n.unwrap_or_else(|| self.fresh_size(name, d, rank)))).collect();
                Shape::Tensor(sizes, element)
            }
            (shape, _) => shape,
        }
    }

    /// Returns a value of a type.
    fn of_type(&mut self, ty: &SizedType, by: &dyn Fn(&Atom) -> Option<Polynomial>) -> Shape {
        match ty {
            SizedType::Plain(_) => Shape::Scalar,
            SizedType::Number(size) => size.substituted(by).map_or(Shape::Scalar, Shape::Integer),
            SizedType::Index(sizes) => {
                let below = |n: &Polynomial| n.substituted(by).map_or(Shape::Scalar, Shape::Below);
                match sizes.as_slice() {
                    [one] => below(one),
                    several => Shape::Tuple(several.iter().map(below).collect()),
                }
            }
            SizedType::Tuple(parts) => Shape::Tuple(parts.iter().map(|part| self.of_type(part, by)).collect()),
            SizedType::Tensor(sizes, element) => {
                let sizes = sizes.iter().map(|n| n.as_ref().and_then(|n| n.substituted(by))).collect();
                Shape::Tensor(sizes, Box::new(self.of_type(element, by)))
            }
        }
    }

    /// Files a claim.
    fn claim(&mut self, span: Span, claim: Claim, numbers: [&Polynomial; 2], answer: Answer) -> bool {
        if self.silent == 0 {
            let numbers = numbers.map(|n| self.bounds.resolved(n));
            let spelled = [0, 1].map(|i| self.spelled(&numbers[i]));
            let numbers = numbers.map(|n| n.to_string());
            self.found.findings.push(Finding { span, claim, numbers, spelled, answer });
        }
        answer == Answer::Proved
    }

    /// Returns whether two sizes are equal.
    fn equality(&self, a: Option<&Polynomial>, b: Option<&Polynomial>) -> Answer {
        match (a, b) {
            (Some(a), Some(b)) if self.bounds.are_equal(a, b) => Answer::Proved,
            (Some(a), Some(b)) if self.bounds.differ(a, b) && !self.bounds.is_unreachable() => Answer::Refuted,
            _ => Answer::Unknown,
        }
    }

    /// Returns whether 0 <= k < n.
    fn range(&self, k: &Polynomial, n: &Polynomial) -> Answer {
        let holds = |p: Polynomial| self.bounds.is_not_negative(&p);
        if holds(k.clone()) && holds(n.minus(k).shifted(-1)) {
            return Answer::Proved;
        }
        let is_out = holds(k.minus(n)) || holds(Polynomial::constant(-1).minus(k));
        if is_out && !self.bounds.is_unreachable() { Answer::Refuted } else { Answer::Unknown }
    }

    /// Claims that the result has the sizes of a type.
    fn result(&mut self, (ty, by): (&SizedType, Sizes), shape: &Shape, span: Span, claim: &Claim) -> bool {
        let place = Place { param: 0, path: Vec::new(), dimension: None };
        let mut sizes = Vec::new();
        each_size(ty, &place, &mut |place, size, is_limit| sizes.push((place, size.clone(), is_limit)));
        let shapes = [shape.clone()];
        sizes.into_iter().all_of(|(place, size, is_limit)| {
            let size = size.substituted(by).unwrap_or_else(|| Polynomial::atom(self.fresh("_")));
            let claim = if is_limit { Claim::IndexOfResult } else { claim.clone() };
            self.holds_at(&shapes, &place, &size, is_limit, span, claim)
        })
    }
}

/// What the sizes of a type are where it is used.
type Sizes<'a> = &'a dyn Fn(&Atom) -> Option<Polynomial>;

/// `all`, where each is looked at.
trait AllOf: Iterator + Sized {
    fn all_of(self, holds: impl FnMut(Self::Item) -> bool) -> bool {
        self.map(holds).fold(true, |all, one| all & one)
    }
}

impl<I: Iterator> AllOf for I {}
