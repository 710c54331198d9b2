//! Walks over a function, and adds up what it costs.
//!
//! ```text
//! a sum, of e and f: e, then f          δ(v, k, x): x      0: nothing      (e, ..): e, ..
//! ```
//!
//! So, as in the interpreter, what is added to a sum in place costs what is added, and not the size of the sum.

use super::sizes::{Sizes, element};
use super::{Cost, Loop, Polynomial, directions};
use lm::prim::{Cost as Price, Prim};
use lm::term::{Binding, Def, Expr, FunName, Kind, Op, Program, Span, Var};
use rustc_hash::FxHashSet;

/// Where a value goes.
#[derive(Clone, Copy, PartialEq)]
enum To {
    /// To who asks for it.
    Own,
    /// It is added to a sum in place.
    Sum,
    /// It is a pair, of a state and of what is added to a sum.
    StateAndSum,
}

pub(super) struct Walk<'a> {
    program: &'a Program,
    pub(super) sizes: Sizes<'a>,
    /// The functions being looked into.
    inside: Vec<FunName>,
    /// The indices of loops over directions.
    directions: FxHashSet<u32>,
    /// The variables that depend on such an index.
    varying: FxHashSet<u32>,
    /// Whether such a loop is around.
    is_below: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn of(def: &Def, program: &'a Program) -> Walk<'a> {
        Walk {
            program,
            sizes: Sizes::of(def, program),
            inside: vec![def.fun.name.clone()],
            directions: directions::of(&def.body),
            varying: FxHashSet::default(),
            is_below: false,
        }
    }

    pub(super) fn cost(&mut self, e: &Expr) -> Cost {
        self.cost_to(e, To::Own)
    }

    /// Returns a loop, or a call, at this point.
    fn loop_of(&self, name: &str, e: &Expr, span: Span) -> Loop {
        Loop {
            name: name.into(),
            span,
            steps: Polynomial::default(),
            unit: "steps",
            is_below: self.is_below,
            is_varying: self.is_below && self.varies(e),
            call: self.inside.get(1).map(FunName::as_written),
        }
    }

    /// Returns a function that a term calls with what depends on a direction.
    fn call_in(&self, e: &Expr) -> Option<FunName> {
        let is_varying = |args: &[Expr]| args.iter().any(|a| self.varies(a));
        e.find_map(|part| match part.kind() {
            Kind::App(Op::Call(f), args) if is_varying(args) => Some(f.name.as_written()),
            _ => None,
        })
    }

    /// Returns whether a term depends on a direction.
    fn varies(&self, e: &Expr) -> bool {
        e.any(|part| part.as_var().is_some_and(|x| self.varying.contains(&x.id())))
    }

    /// Learns what a binding says.
    fn learn(&mut self, b: &Binding) {
        self.sizes.learn(b);
        if self.varies(&b.rhs) {
            self.varying.extend(b.pattern.vars().iter().map(Var::id));
        }
    }

    /// Returns the cost of n steps of a loop with this function.
    fn steps(&mut self, e: &Expr, p: Prim, n: &Polynomial, f: &Expr, to: To) -> Cost {
        let of = self.loop_of(p.name(), e, e.span());
        let (x, body) = function(f);
        let is_direction = self.directions.contains(&x.id());
        let is_state = matches!(p, Prim::Fold | Prim::Scanl | Prim::Reduce | Prim::Scanr | Prim::Loop);
        if is_direction || is_state && of.is_varying {
            self.varying.insert(x.id());
        }
        let around = self.is_below;
        self.is_below |= is_direction;
        let cost = self.cost_to(body, to);
        let call = of.call.clone().or_else(|| self.call_in(body));
        self.is_below = around;
        cost.repeated(n, Loop { call, ..of })
    }

    fn cost_to(&mut self, e: &Expr, to: To) -> Cost {
        match (e.kind(), to) {
            (Kind::Let(bindings, body), _) => {
                let mut all = Cost::default();
                for b in bindings {
                    all = all.plus(self.cost(&b.rhs));
                    self.learn(b);
                }
                all.plus(self.cost_to(body, to))
            }
            (Kind::App(Op::If, args), _) => {
                let condition = self.cost(&args[0]);
                condition.plus(self.cost_to(&args[1], to).or(self.cost_to(&args[2], to)))
            }
            (_, To::Sum) => self.added(e),
            (Kind::App(Op::Tuple, args), To::StateAndSum) => self.cost(&args[0]).plus(self.cost_to(&args[1], To::Sum)),
            (_, To::StateAndSum) => self.cost(e).plus(Cost::of(self.sizes.floats(&Expr::get(2, e.clone())))),
            (Kind::Const(_) | Kind::Var(_) | Kind::Lam(..), To::Own) => Cost::default(),
            (Kind::App(op, args), To::Own) => {
                let of_args = self.costs(args);
                of_args.plus(match op {
                    Op::Prim(p) => self.primitive(e, *p, args),
                    Op::Call(f) => self.call(&f.name, args, e),
                    _ => Cost::default(),
                })
            }
        }
    }

    fn costs(&mut self, terms: &[Expr]) -> Cost {
        terms.iter().map(|e| self.cost(e)).fold(Cost::default(), Cost::plus)
    }

    /// Returns the cost of a term whose value is added to a sum in place.
    fn added(&mut self, e: &Expr) -> Cost {
        let is_whole = !e.ty().has_fixed_shape();
        let Kind::App(op, args) = e.kind() else { return Cost::of(self.sizes.floats(e)) };
        match (op, args.as_slice()) {
            (Op::Tuple, parts) => {
                parts.iter().map(|part| self.cost_to(part, To::Sum)).fold(Cost::default(), Cost::plus)
            }
            (Op::Prim(Prim::DeltaAt), [_, i, x]) => self.cost(i).plus(self.cost_to(x, To::Sum)),
            (Op::Prim(Prim::ZeroOf), _) => Cost::default(),
            (Op::Prim(Prim::Into), [_, x]) if is_whole => self.cost_to(x, To::Sum),
            (Op::Prim(Prim::Add), [a, b]) if is_whole => self.cost_to(a, To::Sum).plus(self.cost_to(b, To::Sum)),
            (Op::Prim(p @ (Prim::Build | Prim::SumBuild)), [.., n, f]) if is_whole => {
                let (steps, of_size) = (self.sizes.steps(n), self.cost(n));
                self.sizes.learn_index(function(f).0, n);
                of_size.plus(self.steps(e, *p, &steps, f, To::Sum))
            }
            _ => self.cost(e).plus(Cost::of(self.sizes.floats(e))),
        }
    }

    /// Returns the cost of a loop, without that of its arguments.
    fn looped(&mut self, e: &Expr, p: Prim, args: &[Expr]) -> Option<Cost> {
        Some(match (p, args) {
            (Prim::Build, [n, f]) => {
                let steps = self.sizes.steps(n);
                self.sizes.learn_index(function(f).0, n);
                let body = self.steps(e, p, &steps, f, To::Own);
                body.plus(Cost::moved(self.sizes.written(e)))
            }
            (Prim::SumBuild, [sum @ .., n, f]) => {
                let steps = self.sizes.steps(n);
                self.sizes.learn_index(function(f).0, n);
                let body = self.steps(e, p, &steps, f, To::Sum);
                let zeros = Cost::moved(self.sizes.written(sum.first().unwrap_or(e)));
                body.plus(self.whole(e, p, zeros))
            }
            (Prim::Loop, [n, f, _, w]) => {
                let steps = self.sizes.steps(n);
                self.sizes.learn_state(p, args);
                let body = self.steps(e, p, &steps, f, To::StateAndSum);
                let zeros = Cost::moved(self.sizes.written(w));
                body.plus(self.whole(e, p, zeros))
            }
            (Prim::Map2, [f, v, _]) => {
                let n = self.sizes.elements(v);
                self.steps(e, p, &n, f, To::Own).plus(Cost::moved(self.sizes.written(e)))
            }
            (Prim::Shift1L | Prim::Shift1R, [_]) => self.whole(e, p, Cost::moved(self.sizes.written(e))),
            (Prim::Fold | Prim::Reduce | Prim::Scanl | Prim::Scanr, [f, a, v]) => {
                let n = self.sizes.elements(v);
                let states = n.plus(&Polynomial::number(1)).times(&self.sizes.floats(a));
                let kept = if matches!(p, Prim::Scanl | Prim::Scanr) { states } else { Polynomial::default() };
                self.sizes.learn_state(p, args);
                self.steps(e, p, &n, f, To::Own).plus(Cost::moved(kept))
            }
            (Prim::Place, [c, f, _, v]) => {
                let n = self.sizes.elements(v);
                self.steps(e, p, &n, c, To::Own).plus(self.steps(e, p, &n, f, To::Own))
            }
            (Prim::Imax, [v]) => {
                let (n, of) = (self.sizes.elements(v), self.loop_of(p.name(), e, e.span()));
                Cost::default().repeated(&n, of)
            }
            (Prim::Sum, [v]) => {
                let (n, of) = (self.sizes.elements(v), self.loop_of(p.name(), e, e.span()));
                Cost::of(self.sizes.floats(v)).plus(Cost::default().repeated(&n, of))
            }
            _ => return None,
        })
    }

    /// Returns the cost of a primitive, without that of its arguments.
    fn primitive(&mut self, e: &Expr, p: Prim, args: &[Expr]) -> Cost {
        if let Some(cost) = self.looped(e, p, args) {
            return cost;
        }
        match (p, args) {
            (Prim::Dot, [v, _]) => {
                let floats = self.sizes.floats(v);
                self.whole(e, p, Cost::of(Polynomial::number(2).times(&floats)))
            }
            (Prim::AddAt, [v, pairs]) => {
                let added = Expr::get(2, element(pairs));
                let n = self.sizes.elements(pairs);
                let [floats, written] = [self.sizes.floats(&added), self.sizes.written(&added)].map(|of| n.times(&of));
                let moves = self.sizes.floats(v).plus(&written);
                self.whole(e, p, Cost { flop: floats, moves, ..Cost::default() })
            }
            (Prim::DeltaAt | Prim::ZeroOf | Prim::VecInit, _) => {
                let moves = Cost::moved(self.sizes.written(e));
                self.whole(e, p, moves)
            }
            _ if is_operation(p) => {
                let floats = self.sizes.floats(e);
                let moves = Cost::moved(self.sizes.written(e));
                self.whole(e, p, Cost::of(floats).plus(moves))
            }
            _ => Cost::default(),
        }
    }

    /// Returns the cost of an operation on whole arrays, with the operation among the loops.
    fn whole(&self, e: &Expr, p: Prim, cost: Cost) -> Cost {
        let is_scalar = [&cost.moves, &cost.flop].iter().all(|n| n.is_number());
        let (steps, unit) = if cost.flop.is_number() { (&cost.moves, "moves") } else { (&cost.flop, "flop") };
        let of = Loop { steps: steps.clone(), unit, ..self.loop_of(p.name(), e, e.span()) };
        Cost { loops: if is_scalar { vec![] } else { vec![of] }, ..cost }
    }

    /// Returns the cost of a call; that of recursion is not known, and has a name.
    fn call(&mut self, f: &FunName, args: &[Expr], e: &Expr) -> Cost {
        let Some(def) = self.program.defs.get(f).filter(|_| !self.inside.contains(f)) else {
            let cost = Polynomial::size(format!("cost({f})"));
            let call = Loop { steps: cost.clone(), ..self.loop_of(&f.to_string(), e, e.span()) };
            return Cost { flop: cost, loops: vec![call], ..Cost::default() };
        };
        let outer = self.sizes.clone();
        for (x, a) in def.params.iter().zip(args) {
            self.sizes.learn_parameter(x, a);
            match self.varies(a) {
                true => drop(self.varying.insert(x.id())),
                false => drop(self.varying.remove(&x.id())),
            }
        }
        self.inside.push(f.clone());
        let cost = self.cost(&def.body);
        self.inside.pop();
        self.sizes = outer;
        cost
    }
}

/// Returns whether the interpreter counts a primitive on Floats as an operation.
fn is_operation(p: Prim) -> bool {
    matches!(p, Prim::Add | Prim::Sub | Prim::Mul | Prim::Div | Prim::Neg | Prim::Powi) || p.cost() != Price::Cheap
}

fn function(f: &Expr) -> (&Var, &Expr) {
    match f.kind() {
        Kind::Lam(x, body) => (x, body),
        _ => panic!("{f:?} is no function"),
    }
}
