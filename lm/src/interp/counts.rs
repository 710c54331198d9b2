//! Defines the counts of the interpreter.

use crate::term::{Expr, Kind, Op};

/// The number of operations on Floats, by kind.
///
/// Source: Huot and Shaikhha, Denotationally correct, purely functional, efficient reverse-mode automatic
/// differentiation, sec. 5.2 (the cost model).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Additions, subtractions, negations.
    pub additions: u64,
    /// Multiplications.
    pub multiplications: u64,
    /// Divisions, roots, exponentials and the like.
    pub nonlinear: u64,
    /// Comparisons and branches.
    pub comparisons: u64,
    /// Calls of top-level functions.
    pub calls: u64,
    /// Floats written into new tensors: elements built, zeros, copies.
    pub moves: u64,
    /// MOVES of the cost model, its Fig. 11: operands read and results written, of all types. See Note `[MOVES]`.
    pub accesses: u64,
    /// Steps of loops: calls of function values.
    pub steps: u64,
    /// Floats of the states that folds and loops go through.
    pub states: u64,
    /// Floats that new tensors share with others, in elements that are tensors.
    pub shared: u64,
}

impl Counts {
    /// Returns the number of all arithmetic operations: additions, multiplications and non-linear operations.
    pub fn arithmetic(&self) -> u64 {
        self.additions + self.multiplications + self.nonlinear
    }

    /// Counts Floats that are written into a new tensor outside of a loop's steps.
    pub(super) fn write(&mut self, floats: u64) {
        self.moves += floats;
        self.accesses += floats;
    }
}

/// Returns the number of [`Counts::accesses`] of a term itself, without primitives.
pub(super) fn accesses(e: &Expr) -> u64 {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) | Kind::App(Op::Get(..) | Op::LmGet(..), _) => 1,
        Kind::Let(bindings, _) => bindings.len() as u64,
        Kind::Lam(..) | Kind::App(..) => 0,
    }
}

// Note [MOVES]
//
// Fig. 11 has a cost of MOVES for each construct of its language:
//
//   constant, variable, projection     1        map2, reduce    2 for each step, and the body
//   op1 e, e op2 e'                    2, 3     scanl, scanr    3 for each step, and the body
//   let                                1        shift           1 for each element that is left
//   tuple                              0
//
// `Counts::accesses` is this count, with the variables of tensors and functions among the variables. What the
// figure does not have costs what its own constructs would:
//
//   operation of two vectors, k v      3 for each Float; -v: 2     if              only its condition
//   build, sumbuild, fold, $loop       2 for each step             zeros, copies   1 for each Float
//   v[i], size v                       op2, op1                    Vec_init        1 for each element
//   f(e ..)                            1 for each parameter, as let
//
// Operations on Integers and Bools have MOVES, and no ADDS or MULTS: the figure's language has none.
