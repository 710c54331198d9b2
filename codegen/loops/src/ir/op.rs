//! Lists the scalar operations: one row each, with printed name, operand types, result type and cost.
//!
//! The rows of the functions of the C library are those of `lm::libm`, as `Op::Libm`.

use super::Scalar::{self, Bool, Float, Integer, Text};
use lm::libm::{self, Libm};
use std::sync::LazyLock;

/// The cost class of an operation. Passes price each class in their own measure, so a new operation has a price
/// everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// No cost: a hint.
    Free,
    /// No longer than to load what it gives.
    Cheap,
    /// An instruction or a few.
    Simple,
    /// A division of Floats.
    Division,
    /// A square root.
    Root,
    /// A division of Integers, which vectors do not have.
    IntegerDivision,
    /// A hash.
    Hash,
    /// A call of the run-time support, which vectors do not have.
    Runtime,
    /// A call of the C library.
    Libm(Libm),
}

struct Row {
    name: &'static str,
    operands: &'static [Scalar],
    result: Scalar,
    cost: Cost,
}

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident $name:literal [$($operand:ident)*] $result:ident $cost:ident;)*) => {
        /// A scalar operation. None has an effect, none fails: what can fail is guarded by a check.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Op {
            /// A function of the C library, of Floats.
            Libm(Libm),
            $($(#[$doc])* $variant,)*
        }

        /// Every operation: those of this table in order, then the functions of the C library.
        pub static ALL: LazyLock<Vec<Op>> = LazyLock::new(|| {
            [$(Op::$variant),*].into_iter().chain(libm::ALL.iter().copied().map(Op::Libm)).collect()
        });

        impl Op {
            fn row(self) -> Row {
                match self {
                    Op::Libm(f) => Row { name: f.name(), operands: &[Float; 2][..f.arity()], result: Float, cost: Cost::Libm(f) },
                    $(Op::$variant => Row {
                        name: $name, operands: &[$($operand),*], result: $result, cost: Cost::$cost,
                    }),*
                }
            }
        }
    };
}

operations! {
    /// IEEE addition.
    AddF "add.f" [Float Float] Float Cheap;
    /// IEEE subtraction.
    SubF "sub.f" [Float Float] Float Cheap;
    /// IEEE multiplication.
    MulF "mul.f" [Float Float] Float Cheap;
    /// IEEE division.
    DivF "div.f" [Float Float] Float Division;
    /// Sign flip.
    NegF "neg.f" [Float] Float Cheap;
    /// Sign cleared.
    AbsF "abs.f" [Float] Float Cheap;
    /// The first where it is less or equal, else the second.
    MinF "min.f" [Float Float] Float Simple;
    /// The first where it is greater or equal, else the second.
    MaxF "max.f" [Float Float] Float Simple;
    /// Correctly rounded square root.
    Sqrt "sqrt" [Float] Float Root;
    /// Equal; false for NaN.
    EqF "eq.f" [Float Float] Bool Simple;
    /// Less; false for NaN.
    LtF "lt.f" [Float Float] Bool Simple;
    /// Less or equal; false for NaN.
    LeF "le.f" [Float Float] Bool Simple;
    /// Wrapping addition.
    AddI "add.i" [Integer Integer] Integer Cheap;
    /// Wrapping subtraction.
    SubI "sub.i" [Integer Integer] Integer Cheap;
    /// Wrapping multiplication.
    MulI "mul.i" [Integer Integer] Integer Cheap;
    /// Truncating division, wrapping; the divisor is known not to be zero.
    DivI "div.i" [Integer Integer] Integer IntegerDivision;
    /// Wrapping negation.
    NegI "neg.i" [Integer] Integer Cheap;
    /// Wrapping absolute value.
    AbsI "abs.i" [Integer] Integer Simple;
    /// Equal.
    EqI "eq.i" [Integer Integer] Bool Simple;
    /// Less.
    LtI "lt.i" [Integer Integer] Bool Simple;
    /// Less or equal.
    LeI "le.i" [Integer Integer] Bool Simple;
    /// Less, both taken as unsigned: whether an index is in the range of a size.
    Below "below" [Integer Integer] Bool Simple;
    /// The product of numbers that are not negative; the largest Integer where it is larger.
    Count "count" [Integer Integer] Integer Simple;
    /// Equal.
    EqB "eq.b" [Bool Bool] Bool Simple;
    /// The same bytes.
    EqT "eq.t" [Text Text] Bool Runtime;
    /// Both.
    And "and" [Bool Bool] Bool Simple;
    /// Either.
    Or "or" [Bool Bool] Bool Simple;
    /// The other.
    Not "not" [Bool] Bool Simple;
    /// The same, which mostly holds.
    Likely "likely" [Bool] Bool Free;
    /// Nearest Float.
    ToFloat "to_float" [Integer] Float Cheap;
    /// Truncation; saturates; NaN gives 0.
    ToInteger "to_integer" [Float] Integer Simple;
    /// 1 or 0.
    BoolToFloat "bool_to_float" [Bool] Float Simple;
    /// The finaliser of SplitMix64, as a Float in [0, 1).
    Hash "hash" [Integer] Float Hash;
    /// How many iterations of a loop make a chunk, at least 1. The operands are the number of iterations, the cost of
    /// each, the elements that each chunk needs of its own, and how many iterations run at once. See `lmc.chunk` in
    /// `emit/chunks.ll`.
    Chunk "chunk" [Integer Integer Integer Integer] Integer Runtime;
    /// How many chunks of so many iterations a loop has, at least 1. The operands are the number of iterations and the
    /// length of a chunk, which is positive.
    Chunks "chunks" [Integer Integer] Integer Runtime;
}

impl Op {
    /// Returns the name in the printed form.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the types of the operands.
    pub fn operands(self) -> &'static [Scalar] {
        self.row().operands
    }

    /// Returns the type of the result.
    pub fn result(self) -> Scalar {
        self.row().result
    }

    /// Returns what it costs.
    pub fn cost(self) -> Cost {
        self.row().cost
    }

    /// Returns whether the operands may change places.
    pub fn commutes(self) -> bool {
        use Op::{AddF, AddI, And, Count, EqB, EqF, EqI, EqT, MulF, MulI, Or};
        matches!(self, AddF | MulF | AddI | MulI | EqF | EqI | EqB | EqT | And | Or | Count)
    }

    /// Returns whether it is a function of the C library: worth a place in memory rather than a second call.
    pub fn is_libm(self) -> bool {
        matches!(self, Op::Libm(_))
    }

    /// Returns whether it takes no longer than to load what it gives.
    pub fn is_cheap(self) -> bool {
        self.cost() == Cost::Cheap
    }

    /// Returns whether processors have it for vectors, so that it takes as long for one element as for several.
    pub fn has_vector_instructions(self) -> bool {
        match self.cost() {
            Cost::Libm(_) | Cost::IntegerDivision | Cost::Runtime => false,
            Cost::Free | Cost::Cheap | Cost::Simple | Cost::Division | Cost::Root | Cost::Hash => true,
        }
    }
}
