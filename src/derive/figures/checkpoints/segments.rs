//! Says which folds are differentiated in segments, and binds the states that are kept between segments.

use super::updates::Updates;
use crate::derive::Checkpoint;
use crate::derive::figures::fig06_arrays::function;
use crate::derive::passes::anf::normalise_block;
use lm::effect::Effects;
use lm::prim::Prim;
use lm::scope::renamed;
use lm::term::{Binding, Def, Expr, Fun, FunName, Kind, Op, Pattern, Span, Supply, Var};
use lm::types::Type;
use std::sync::Arc;

/// The lines of elements of a state that a derivative is taken to keep, where it keeps some.
const LINES: i64 = 4;

/// The choice of the states that are kept of each fold.
#[derive(Clone, Copy, Default)]
pub struct Checkpoints<'a> {
    /// The choice for folds that do not say themselves.
    pub option: Checkpoint,
    /// The functions with effects, if they are known. A step with an effect must not run again.
    pub effects: Option<&'a Effects>,
    /// The functions that change a part of an argument, if they are known.
    pub updates: Option<&'a Updates>,
}

/// A fold that is differentiated in segments.
pub(in crate::derive::figures) struct Segmented<'e> {
    schedule: Schedule,
    pub(super) f: &'e Expr,
    pub(super) a: &'e Expr,
    pub(super) v: &'e Expr,
}

/// The choice of the steps of a segment.
enum Schedule {
    /// The square root of the number of steps.
    Sqrt,
    /// One, while the states take no more memory than a budget; then the square root.
    Auto,
    /// All, while the states take no more memory than a budget; then the square root. The last segment keeps its states
    /// when they are first computed. Of each tensor in a state, elements in so many dimensions are kept.
    AutoInPlace(Option<Vec<usize>>),
    /// As many as so many states allow.
    States(Expr),
}

/// The variables of a fold in segments.
pub(super) struct Segments {
    /// The number of steps.
    pub(super) n: Expr,
    /// The steps of a segment; the last one may have fewer.
    pub(super) stride: Expr,
    /// The states within a segment that may be kept; `None` for all.
    pub(super) slots: Option<Expr>,
    /// The states before each segment, and the last one.
    pub(super) states: Expr,
    /// The number of segments, but for the last one if that is `kept`.
    pub(super) count: Expr,
    /// The last segment, where its states are kept when they are first computed.
    pub(super) kept: Option<Kept>,
}

/// The last segment, with its states.
pub(super) struct Kept {
    /// The number of its first step.
    pub(super) first: Expr,
    /// The number of its steps.
    pub(super) steps: Expr,
    /// The state before it.
    pub(super) start: Var,
    /// All states in it, and the last one.
    pub(super) states: Expr,
}

impl Checkpoints<'_> {
    /// Returns the fold, if it is one to be differentiated in segments.
    pub(in crate::derive::figures) fn segmented<'e>(&self, e: &'e Expr) -> Option<Segmented<'e>> {
        let Kind::App(Op::Prim(p), args) = e.kind() else { return None };
        let (schedule, fold) = match (p, args.as_slice(), self.option) {
            (Prim::Checkpoint, [k, fold @ ..], _) => (Schedule::States(k.clone()), fold),
            (Prim::Fold, fold, Checkpoint::Sqrt) => (Schedule::Sqrt, fold),
            (Prim::Fold, fold, Checkpoint::Auto) if e.ty().mentions_array() => {
                let updates = self.updates.filter(|updates| updates.change(&fold[0]));
                (updates.map_or(Schedule::Auto, |updates| Schedule::AutoInPlace(updates.kept(&fold[0]))), fold)
            }
            (Prim::Fold, fold, Checkpoint::States(k)) => (Schedule::States(Expr::integer(i64::from(k))), fold),
            _ => return None,
        };
        let [f, a, v] = fold else { panic!("a fold takes three") };
        let is_idle = self.effects.is_some_and(|effects| !effects.in_term(f));
        is_idle.then_some(Segmented { schedule, f, a, v })
    }

    /// Returns whether a term is a fold to be differentiated in segments.
    pub fn divides(&self, e: &Expr) -> bool {
        self.segmented(e).is_some()
    }

    /// Returns the definition with folds in the form that their derivatives have, so that value and derivative share
    /// the states.
    pub fn in_segments(&self, def: &Def, supply: &mut Supply) -> Def {
        Def { body: self.block_in_segments(&def.body, supply), ..def.clone() }
    }

    fn block_in_segments(&self, e: &Expr, supply: &mut Supply) -> Expr {
        let (bindings, result) = e.as_block();
        let mut out = Vec::new();
        for b in bindings {
            let rhs = self.term_in_segments(&b.rhs, &mut out, supply);
            out.push(Binding { pattern: b.pattern.clone(), rhs });
        }
        let result = self.term_in_segments(result, &mut out, supply);
        Expr::block(out, result)
    }

    fn term_in_segments(&self, e: &Expr, out: &mut Vec<Binding>, supply: &mut Supply) -> Expr {
        if let Some(fold) = self.segmented(e) {
            return fold.bind(out, supply, e.span()).last();
        }
        match e.args_of(&Op::If) {
            Some([c, yes, no]) => {
                let [yes, no] = [yes, no].map(|branch| self.block_in_segments(branch, supply));
                Expr::conditional(c.clone(), yes, no).at(e.span())
            }
            _ => e.clone(),
        }
    }
}

/// Returns the term with folds that keep all states.
pub fn without_checkpoints(e: &Expr) -> Expr {
    let all = e.map_children(without_checkpoints);
    match all.args_of_prim(Prim::Checkpoint) {
        Some([_, fold @ ..]) => Expr::prim(Prim::Fold, fold.to_vec()).at(e.span()),
        _ => all,
    }
}

impl Segmented<'_> {
    /// Binds the states that are kept.
    pub(super) fn bind(&self, out: &mut Vec<Binding>, supply: &mut Supply, span: Span) -> Segments {
        let n = bind("n", Expr::prim(Prim::Size, [self.v.clone()]), out, supply);
        let (stride, slots) = match &self.schedule {
            Schedule::Sqrt => (library("$sqrt_stride", vec![n.clone()]), None),
            Schedule::Auto | Schedule::AutoInPlace(_) => {
                let bytes = match &self.schedule {
                    Schedule::AutoInPlace(Some(dimensions)) => kept_bytes(self.a, dimensions, supply),
                    _ => bytes(self.a, supply),
                };
                let bytes = bind("bytes", normalise_block(&bytes, supply), out, supply);
                (library(self.stride(), vec![n.clone(), bytes]), None)
            }
            Schedule::States(k) => {
                let slots = bind("slots", library("$slots", vec![n.clone(), k.clone()]), out, supply);
                (library("$stride", vec![n.clone(), k.clone(), slots.clone()]), Some(slots))
            }
        };
        let stride = bind("stride", stride, out, supply);
        let first = matches!(self.schedule, Schedule::AutoInPlace(_))
            .then(|| bind("first", library("$before_last", vec![n.clone(), stride.clone()]), out, supply));
        let (f, v) = match &first {
            None => (renamed(self.f, supply), self.v.clone()),
            Some(first) => self.over(&Expr::integer(0), first, out, supply),
        };
        let states = Expr::prim(Prim::States, [stride.clone(), f, self.a.clone(), v]).at(span);
        let states = bind("states", states, out, supply);
        let count = Expr::prim(Prim::Size, [states.clone()]);
        let count = bind("m", Expr::prim(Prim::Sub, [count, Expr::integer(1)]), out, supply);
        let kept = first.map(|first| {
            let start = supply.fresh("start", self.a.ty().clone());
            let rhs = Expr::prim(Prim::Index, [count.clone(), states.clone()]);
            out.push(Binding { pattern: Pattern::Var(start.clone()), rhs });
            let steps = bind("steps", Expr::prim(Prim::Sub, [n.clone(), first.clone()]), out, supply);
            let (f, numbers) = self.over(&first, &steps, out, supply);
            let all = Expr::prim(Prim::Scanl, [f, Expr::var(&start), numbers]).at(span);
            Kept { first, steps, start, states: bind("all", all, out, supply) }
        });
        Segments { n, stride, slots, states, count, kept }
    }

    /// Returns the function of the prelude that chooses the steps of a segment by their memory.
    fn stride(&self) -> &'static str {
        if matches!(self.schedule, Schedule::AutoInPlace(_)) { "$in_place_stride" } else { "$auto_stride" }
    }

    /// Returns the step over the numbers of so many steps from the first one on, and these numbers.
    fn over(&self, first: &Expr, count: &Expr, out: &mut Vec<Binding>, supply: &mut Supply) -> (Expr, Expr) {
        let numbers = bind("numbers", numbers(first, count, supply), out, supply);
        (over_numbers(self.f, self.v, supply), numbers)
    }
}

/// Binds a term to a fresh variable.
fn bind(name: &str, rhs: Expr, out: &mut Vec<Binding>, supply: &mut Supply) -> Expr {
    let x = supply.fresh(name, rhs.ty().clone());
    let (inner, result) = rhs.as_block();
    out.extend(inner.iter().cloned());
    out.push(Binding { pattern: Pattern::Var(x.clone()), rhs: result.clone() });
    Expr::var(&x)
}

/// Returns the numbers of so many steps from the first one on.
pub(super) fn numbers(first: &Expr, count: &Expr, supply: &mut Supply) -> Expr {
    let i = supply.fresh("i", Type::Integer);
    let number = Expr::prim(Prim::Add, [first.clone(), Expr::var(&i)]);
    Expr::prim(Prim::Build, [count.clone(), Expr::lam(i, number)])
}

impl Segments {
    /// Returns the last state: the value of the fold.
    pub(super) fn last(&self) -> Expr {
        if let Some(Kept { steps, states, .. }) = &self.kept {
            return Expr::prim(Prim::Index, [steps.clone(), states.clone()]);
        }
        Expr::prim(Prim::Index, [self.count.clone(), self.states.clone()])
    }
}

/// Returns the bytes that a copy of a value takes, 8 for each scalar.
fn bytes(x: &Expr, supply: &mut Supply) -> Expr {
    match x.ty() {
        Type::Tuple(parts) => {
            let parts = (1..=parts.len()).map(|i| bytes(&Expr::get(i, x.clone()), supply)).collect::<Vec<_>>();
            parts.into_iter().reduce(|a, b| Expr::prim(Prim::Add, [a, b])).unwrap_or(Expr::integer(0))
        }
        Type::Tensor(rank, element) if element.has_fixed_shape() => {
            let axes: Vec<Var> = (0..*rank).map(|_| supply.fresh("n", Type::Integer)).collect();
            let width = Expr::integer(8 * scalars(element));
            let count = axes.iter().fold(width, |count, n| Expr::prim(Prim::Mul, [count, Expr::var(n)]));
            let pattern = match axes.as_slice() {
                [one] => Pattern::Var(one.clone()),
                _ => Pattern::Tuple(axes),
            };
            Expr::block(vec![Binding { pattern, rhs: Expr::prim(Prim::Size, [x.clone()]) }], count)
        }
        Type::Tensor(rank, _) => {
            let i = supply.fresh("i", Type::index(*rank));
            let element = bytes(&Expr::prim(Prim::Index, [Expr::var(&i), x.clone()]), supply);
            Expr::prim(Prim::SumBuild, [Expr::prim(Prim::Size, [x.clone()]), Expr::lam(i, element)])
        }
        _ => Expr::integer(8),
    }
}

/// Returns the bytes that a step keeps of a state, of each tensor in so many dimensions: a few elements, a few lines of
/// them along the longest dimension, or all.
fn kept_bytes(x: &Expr, dimensions: &[usize], supply: &mut Supply) -> Expr {
    let parts = match x.ty() {
        Type::Tuple(parts) => (1..=parts.len()).map(|i| Expr::get(i, x.clone())).collect(),
        _ => vec![x.clone()],
    };
    let longer = |a: Expr, b: Expr| Expr::conditional(Expr::prim(Prim::Lt, [a.clone(), b.clone()]), b, a);
    let of_part = |(part, dimensions): (&Expr, &usize)| match (part.ty(), dimensions) {
        (Type::Tensor(_, element), 0) => Expr::integer(8 * LINES * scalars(element)),
        (Type::Tensor(rank @ 2.., element), 1) => {
            let axes: Vec<Var> = (0..*rank).map(|_| supply.fresh("n", Type::Integer)).collect();
            let longest = axes.iter().map(Expr::var).reduce(longer).expect("a tensor has dimensions");
            let width = Expr::integer(8 * LINES * scalars(element));
            let size = Binding { pattern: Pattern::Tuple(axes), rhs: Expr::prim(Prim::Size, [part.clone()]) };
            Expr::block(vec![size], Expr::prim(Prim::Mul, [width, longest]))
        }
        (Type::Tensor(1, row), 1) if matches!(&**row, Type::Tensor(1, _)) => {
            let Type::Tensor(_, element) = &**row else { panic!("it is a row") };
            let n = supply.fresh("n", Type::Integer);
            let first = Expr::prim(Prim::Index, [Expr::integer(0), part.clone()]);
            let some = Expr::prim(Prim::Lt, [Expr::integer(0), Expr::var(&n)]);
            let m = Expr::conditional(some, Expr::prim(Prim::Size, [first]), Expr::integer(0));
            let m = Binding { pattern: Pattern::Var(supply.fresh("m", Type::Integer)), rhs: m };
            let Pattern::Var(columns) = &m.pattern else { panic!("it is a variable") };
            let [n, columns] = [Expr::var(&n), Expr::var(columns)];
            let longest = longer(n.clone(), columns);
            let rows = Binding {
                pattern: Pattern::Var(n.as_var().expect("it is a variable").clone()),
                rhs: Expr::prim(Prim::Size, [part.clone()]),
            };
            let width = Expr::integer(8 * LINES * scalars(element));
            Expr::block(vec![rows, m], Expr::prim(Prim::Mul, [width, longest]))
        }
        _ => bytes(part, supply),
    };
    let all = parts.iter().zip(dimensions).map(of_part).reduce(|a, b| Expr::prim(Prim::Add, [a, b]));
    all.unwrap_or(Expr::integer(0))
}

/// Returns the number of scalars in a value of a type without tensors.
fn scalars(ty: &Type) -> i64 {
    match ty {
        Type::Tuple(parts) => parts.iter().map(scalars).sum(),
        _ => 1,
    }
}

/// Returns a call of a function of the prelude from Integers to an Integer.
pub(super) fn library(name: &str, args: Vec<Expr>) -> Expr {
    let params = args.iter().map(|_| Type::Integer).collect();
    Expr::app(Op::Call(Arc::new(Fun { name: FunName::base(name), params, result: Type::Integer })), args)
}

/// Returns the step of a fold over v as the step of a fold over the numbers of elements of v.
pub(super) fn over_numbers(f: &Expr, v: &Expr, supply: &mut Supply) -> Expr {
    let f = renamed(f, supply);
    let (p, body) = function(&f);
    let state = p.ty().as_tuple().expect("a state and an element")[0].clone();
    let q = supply.fresh("q", Type::tuple([state, Type::Integer]));
    let element = Expr::prim(Prim::Index, [Expr::get(2, Expr::var(&q)), v.clone()]);
    let pair = Expr::tuple([Expr::get(1, Expr::var(&q)), element]);
    let body = Expr::block(vec![Binding { pattern: Pattern::Var(p.clone()), rhs: pair }], body.clone());
    Expr::lam(q, body)
}
