//! Computes what a function costs, as polynomials in the sizes of its arguments.
//!
//! ```text
//! cost(build(n, λi. e)) = n (cost(e) + 1 step) + the Floats written
//! cost(sumbuild(n, λi. e)) = n (cost(e) + the Floats added) + those of the sum, where δ(v, k, x) adds x, and a zero nothing
//! cost(if c then a else b) = cost(c) + the larger of cost(a) and cost(b)
//! ```
//!
//! Costs are upper limits: a sum of n numbers counts as n additions, and of branches the larger one counts. Operations
//! are those of [`lm::interp`]'s counts. A call costs what its function does; recursion is not followed.
//!
//! Takes: a function and the program that has its callees. Gives: polynomials, and the loops that make them grow.

mod directions;
mod polynomial;
mod sizes;

pub use polynomial::Polynomial;

use lm::prim::{Cost as Price, Prim};
use lm::term::{Def, Expr, FunName, Kind, Op, Program, Span, Var};
use lm::types::Type;
use rustc_hash::FxHashSet;
use sizes::Sizes;
use std::fmt;

/// The cost of a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// Operations on Floats.
    pub flop: Polynomial,
    /// Floats written into new tensors.
    pub moves: Polynomial,
    /// Steps of loops.
    pub steps: Polynomial,
    /// The loops.
    pub loops: Vec<Loop>,
}

/// A loop of a function, or a call whose cost is not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The name of the primitive, or of the function.
    pub name: String,
    /// The place.
    pub span: Span,
    /// The number of its steps, in all steps of the loops around it.
    pub steps: Polynomial,
    /// Whether it is computed for each direction: it is below a `build` in the result.
    pub is_below: bool,
}

/// Returns the cost of a definition of a program.
pub fn cost(def: &Def, program: &Program) -> Cost {
    Walk::of(def, program).cost(&def.body)
}

impl Cost {
    /// Returns the cost without the list of loops.
    fn of(flop: Polynomial) -> Cost {
        Cost { flop, ..Cost::default() }
    }

    fn plus(mut self, other: Cost) -> Cost {
        self.loops.extend(other.loops);
        Cost {
            flop: self.flop.plus(&other.flop),
            moves: self.moves.plus(&other.moves),
            steps: self.steps.plus(&other.steps),
            loops: self.loops,
        }
    }

    fn or(mut self, other: Cost) -> Cost {
        self.loops.extend(other.loops);
        Cost {
            flop: self.flop.or(&other.flop),
            moves: self.moves.or(&other.moves),
            steps: self.steps.or(&other.steps),
            loops: self.loops,
        }
    }

    /// Returns the cost of n steps of a loop, each with this cost.
    fn repeated(self, n: &Polynomial, of: Loop) -> Cost {
        let inner = |l: Loop| Loop { steps: n.times(&l.steps), ..l };
        let mut loops = vec![Loop { steps: n.clone(), ..of }];
        loops.extend(self.loops.into_iter().map(inner));
        Cost {
            flop: n.times(&self.flop),
            moves: n.times(&self.moves),
            steps: n.times(&self.steps.plus(&Polynomial::number(1))),
            loops,
        }
    }
}

struct Walk<'a> {
    program: &'a Program,
    sizes: Sizes,
    /// The functions being looked into.
    inside: Vec<FunName>,
    /// The indices of loops over directions.
    directions: FxHashSet<u32>,
    /// Whether such a loop is around.
    is_below: bool,
}

impl<'a> Walk<'a> {
    fn of(def: &Def, program: &'a Program) -> Walk<'a> {
        let sizes = Sizes::of(program.signature(&def.fun).as_ref(), &def.params);
        let directions = directions::of(&def.body);
        Walk { program, sizes, inside: vec![def.fun.name.clone()], directions, is_below: false }
    }

    /// Returns a loop, or a call, at this point.
    fn loop_of(&self, name: String, span: Span) -> Loop {
        Loop { name, span, steps: Polynomial::default(), is_below: self.is_below }
    }

    /// Returns the cost of n steps of a loop with this function, whose results are added up or not.
    fn steps(&mut self, p: Prim, n: &Polynomial, f: &Expr, is_added: bool, span: Span) -> Cost {
        let of = self.loop_of(p.name().into(), span);
        let (x, body) = function(f);
        let around = self.is_below;
        self.is_below |= self.directions.contains(&x.id());
        let cost = self.cost_of(body, is_added).repeated(n, of);
        self.is_below = around;
        cost
    }

    fn cost(&mut self, e: &Expr) -> Cost {
        self.cost_of(e, false)
    }

    /// Returns the cost of a term; `is_added` where its value is added to a sum in place.
    fn cost_of(&mut self, e: &Expr, is_added: bool) -> Cost {
        match e.kind() {
            Kind::Let(bindings, body) => {
                let mut all = Cost::default();
                for b in bindings {
                    all = all.plus(self.cost(&b.rhs));
                    self.sizes.learn(b);
                }
                all.plus(self.cost_of(body, is_added))
            }
            Kind::App(Op::If, args) => {
                let condition = self.cost(&args[0]);
                let branches = self.cost_of(&args[1], is_added).or(self.cost_of(&args[2], is_added));
                condition.plus(branches)
            }
            Kind::App(Op::Prim(Prim::DeltaAt), args) if is_added => {
                self.cost(&args[1]).plus(self.cost_of(&args[2], is_added))
            }
            Kind::App(Op::Prim(Prim::ZeroOf), _) if is_added => Cost::default(),
            _ if is_added => self.cost(e).plus(Cost::of(self.sizes.floats(e))),
            Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => Cost::default(),
            Kind::App(op, args) => {
                let of_args = args.iter().map(|a| self.cost(a)).fold(Cost::default(), Cost::plus);
                let own = match op {
                    Op::Prim(p) => self.primitive(e, *p, args),
                    Op::Call(f) => self.call(&f.name, args, e.span()),
                    _ => Cost::default(),
                };
                of_args.plus(own)
            }
        }
    }

    fn primitive(&mut self, e: &Expr, p: Prim, args: &[Expr]) -> Cost {
        let result = || self.sizes.floats(e);
        let is_tensor = matches!(e.ty(), Type::Tensor(..));
        let moves = if is_tensor { result() } else { Polynomial::default() };
        match (p, args) {
            (Prim::Build, [n, f]) => {
                let n = self.sizes.steps(n);
                let body = self.steps(p, &n, f, false, e.span());
                Cost { moves: moves.plus(&body.moves), ..body }
            }
            (Prim::SumBuild, [sum @ .., n, f]) => {
                let moves = sum.first().filter(|_| is_tensor).map_or(moves, |w| self.sizes.floats(w));
                let n = self.sizes.steps(n);
                let body = self.steps(p, &n, f, true, e.span());
                Cost { moves: moves.plus(&body.moves), ..body }
            }
            (Prim::Loop, [n, f, _, w]) => {
                let n = self.sizes.steps(n);
                let sums = n.times(&self.sizes.floats(w));
                self.steps(p, &n, f, false, e.span()).plus(Cost::of(sums))
            }
            (Prim::Fold | Prim::Scanl, [f, a, v]) => {
                let n = self.sizes.elements(v);
                let kept = if p == Prim::Scanl { n.times(&self.sizes.floats(a)) } else { Polynomial::default() };
                let body = self.steps(p, &n, f, false, e.span());
                Cost { moves: kept.plus(&body.moves), ..body }
            }
            (Prim::Sum, [v]) => {
                let n = self.sizes.elements(v);
                let of = self.loop_of(p.name().into(), e.span());
                Cost::of(self.sizes.floats(v)).plus(Cost::default().repeated(&n, of))
            }
            (Prim::Dot, [v, _]) => {
                let floats = self.sizes.floats(v);
                Cost::of(Polynomial::number(2).times(&floats))
            }
            (Prim::DeltaAt | Prim::ZeroOf | Prim::VecInit, _) => Cost { moves, ..Cost::default() },
            _ if is_operation(p) => Cost { flop: result(), moves, ..Cost::default() },
            _ => Cost::default(),
        }
    }

    /// Returns the cost of a call; that of recursion is not known, and has a name.
    fn call(&mut self, f: &FunName, args: &[Expr], span: Span) -> Cost {
        let Some(def) = self.program.defs.get(f).filter(|_| !self.inside.contains(f)) else {
            let cost = Polynomial::size(format!("cost({f})"));
            let call = Loop { steps: cost.clone(), ..self.loop_of(f.to_string(), span) };
            return Cost { flop: cost, loops: vec![call], ..Cost::default() };
        };
        let outer = self.sizes.clone();
        for (x, a) in def.params.iter().zip(args) {
            self.sizes.learn_of(x, a);
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

/// The costs of a function and of its gradient or Jacobian.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The cost of the function.
    pub value: Cost,
    /// The cost of the derivative.
    pub derivative: Cost,
    /// The Floats that the derivative gives.
    pub result: Polynomial,
}

impl Comparison {
    /// Compares the cost of a derivative with that of its function.
    pub fn of(value: &Def, derivative: &Def, program: &Program) -> Comparison {
        let mut walk = Walk::of(derivative, program);
        walk.cost(&derivative.body);
        let result = walk.sizes.floats(derivative.body.as_block().1);
        Comparison { value: cost(value, program), derivative: cost(derivative, program), result }
    }

    /// Returns the loops below the direction that make the derivative grow faster than the function and the result: of
    /// several at one place the first, and no loop that grows like another one does.
    pub fn late_loops(&self) -> Vec<&Loop> {
        let allowed = self.value.steps.clone().plus(&self.value.flop).plus(&self.result);
        let mut late: Vec<&Loop> = Vec::new();
        for l in self.derivative.loops.iter().filter(|l| l.is_below && !l.steps.grows_like(&allowed)) {
            if late.iter().any(|other| l.span == other.span || l.steps.grows_like(&other.steps)) {
                continue;
            }
            late.retain(|other| !other.steps.grows_like(&l.steps));
            late.push(l);
        }
        late
    }
}

/// Returns a number of some things in words.
pub fn amount(n: &Polynomial, of: &str) -> String {
    if n.is_known() { format!("{n} {of}") } else { format!("{of} not known") }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, cost) in [("value", &self.value), ("derivative", &self.derivative)] {
            let parts = [(&cost.flop, "flop"), (&cost.moves, "moves"), (&cost.steps, "steps of loops")];
            writeln!(f, "{name}: {}", parts.map(|(n, of)| amount(n, of)).join(", "))?;
        }
        let late = self.late_loops();
        if late.is_empty() {
            return write!(f, "no loop below the direction makes the derivative grow faster than value and result");
        }
        let each = late.iter().map(|l| format!("`{}` ({})", l.name, amount(&l.steps, "steps")));
        write!(f, "loops that depend on the direction: {}", each.collect::<Vec<_>>().join(", "))
    }
}
