//! Computes what a function costs, as polynomials in the sizes of its arguments.
//!
//! ```text
//! cost(build(n, λi. e)) = n (cost(e) + 1 step) + the Floats written
//! cost(sumbuild(n, λi. e)) = n (cost(e) + the Floats added) + those of the sum, where δ(v, k, x) adds x, and a zero nothing
//! cost($loop(n, λ(i, s). (e, z), s, w)) = n (cost(e) + cost(z) + the Floats of z added, as above) + those of w
//! cost(if c then a else b) = cost(c) + the larger of cost(a) and cost(b)
//! ```
//!
//! Costs are upper limits: a sum of n numbers counts as n additions, and of branches the larger one counts. Operations
//! are those of [`lm::interp`]'s counts. A call costs what its function does; recursion is not followed.
//!
//! Takes: a function and the program that has its callees. Gives: polynomials, and the loops that make them grow.

mod directions;
mod limits;
mod names;
mod polynomial;
mod sizes;
mod walk;

pub use polynomial::Polynomial;

use lm::term::{Def, FunName, Program, Span};
use std::fmt;
use walk::Walk;

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

/// A loop of a function, an operation on whole arrays, or a call whose cost is not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The name of the primitive, or of the function.
    pub name: String,
    /// The place.
    pub span: Span,
    /// The number of its steps, or of other units, in all steps of the loops around it.
    pub steps: Polynomial,
    /// What is counted: steps, moves or operations.
    pub unit: &'static str,
    /// Whether it is computed for each direction: it is below a `build` in the result.
    pub is_below: bool,
    /// Whether it reads what depends on the direction.
    pub is_varying: bool,
    /// The function whose call it is in, or a function that it calls with what depends on the direction.
    pub call: Option<FunName>,
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

    /// Returns the cost of Floats that are written.
    fn moved(moves: Polynomial) -> Cost {
        Cost { moves, ..Cost::default() }
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

    /// Returns the loops below the direction that make the derivative grow faster than the function and the result: no
    /// loop that grows like another one does. First come those that read the direction, and of these steps; of others,
    /// which could be computed once, only those that grow faster still.
    pub fn late_loops(&self) -> Vec<&Loop> {
        let Cost { flop, moves, steps, .. } = &self.value;
        let allowed = [flop, moves, steps].into_iter().fold(self.result.clone(), |sum, n| sum.plus(n));
        let is_late = |l: &&Loop| l.is_below && !l.steps.grows_like(&allowed);
        let mut found: Vec<&Loop> = self.derivative.loops.iter().filter(is_late).collect();
        found.sort_by_key(|l| (!l.is_varying, l.unit == "moves"));
        let mut late: Vec<&Loop> = Vec::new();
        for l in found {
            let is_at = |other: &Loop| l.span == other.span && !l.steps.is_known() && !other.steps.is_known();
            if late.iter().any(|other| is_at(other) || l.steps.grows_like(&other.steps)) {
                continue;
            }
            late.retain(|other| other.is_varying != l.is_varying || !other.steps.grows_like(&l.steps));
            late.push(l);
        }
        late
    }
}

impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`, {}", self.name, amount(&self.steps, self.unit))
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
        let each = late.iter().map(|l| format!("`{}` ({})", l.name, amount(&l.steps, l.unit)));
        write!(f, "loops that depend on the direction: {}", each.collect::<Vec<_>>().join(", "))
    }
}
