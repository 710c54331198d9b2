//! Weights, by which counts of several kinds become one number.

use lm::interp::Counts;

/// What one operation of each kind weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// The name in tables.
    pub name: &'static str,
    /// The sum in words.
    pub sum: &'static str,
    /// MOVES of the cost model.
    pub accesses: u64,
    /// ADDS.
    pub additions: u64,
    /// MULTS.
    pub multiplications: u64,
    /// NLOPS.
    pub nonlinear: u64,
    /// Floats written into new tensors and states, as [`moves`] counts them.
    pub moves: u64,
}

/// The weights of the bound: arithmetic, and the memory traffic that a loop cannot keep in registers.
pub const WORK: Weights = Weights {
    name: "work",
    sum: "ADDS + MULTS + NLOPS + moves",
    accesses: 0,
    additions: 1,
    multiplications: 1,
    nonlinear: 1,
    moves: 1,
};

/// All weights that a ratio is shown for; the first are those of the bound.
///
/// The third are the least that Griewank and Walther allow (Evaluating derivatives, ch. 4: a move takes no less than a
/// multiplication, this no less than an addition, and a nonlinear operation no less than two multiplications).
pub const WEIGHTS: [Weights; 4] = [
    WORK,
    Weights { name: "arith", sum: "ADDS + MULTS + NLOPS", moves: 0, ..WORK },
    Weights { name: "1:1:1:2", sum: "MOVES + ADDS + MULTS + 2 NLOPS", accesses: 1, nonlinear: 2, moves: 0, ..WORK },
    Weights { name: "traffic", sum: "MOVES", accesses: 1, additions: 0, multiplications: 0, nonlinear: 0, moves: 0 },
];

impl Weights {
    /// Returns the weight of all that was counted.
    pub fn of(&self, counts: &Counts) -> u64 {
        self.accesses * counts.accesses
            + self.additions * counts.additions
            + self.multiplications * counts.multiplications
            + self.nonlinear * counts.nonlinear
            + self.moves * moves(counts)
    }
}

/// Arithmetic and moves.
pub fn work(counts: &Counts) -> u64 {
    WORK.of(counts)
}

/// Floats of new tensors and of new states of loops. Memory is flat: elements that are tensors count, even if the
/// interpreter shares them.
pub fn moves(counts: &Counts) -> u64 {
    counts.moves + counts.shared + counts.states
}
