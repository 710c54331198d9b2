//! The scalar operations: one table row each, with printed name, operand types and result type.

use super::Scalar::{self, Bool, Float, Integer, Text};

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident $name:literal [$($operand:ident)*] $result:ident;)*) => {
        /// A scalar operation. None has an effect, none fails: what can fail is guarded by a check.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Op { $($(#[$doc])* $variant,)* }

        /// Every operation, in the order of the table.
        pub const ALL: &[Op] = &[$(Op::$variant),*];

        static ROWS: &[(&str, &[Scalar], Scalar)] = &[$(($name, &[$($operand),*], $result)),*];
    };
}

operations! {
    /// IEEE addition.
    AddF "add.f" [Float Float] Float;
    /// IEEE subtraction.
    SubF "sub.f" [Float Float] Float;
    /// IEEE multiplication.
    MulF "mul.f" [Float Float] Float;
    /// IEEE division.
    DivF "div.f" [Float Float] Float;
    /// Sign flip.
    NegF "neg.f" [Float] Float;
    /// Sign cleared.
    AbsF "abs.f" [Float] Float;
    /// The first where it is less or equal, else the second.
    MinF "min.f" [Float Float] Float;
    /// The first where it is greater or equal, else the second.
    MaxF "max.f" [Float Float] Float;
    /// Correctly rounded square root.
    Sqrt "sqrt" [Float] Float;
    /// libm.
    Log "log" [Float] Float;
    /// libm.
    Exp "exp" [Float] Float;
    /// libm.
    Sin "sin" [Float] Float;
    /// libm.
    Cos "cos" [Float] Float;
    /// libm.
    Tan "tan" [Float] Float;
    /// libm.
    Sinh "sinh" [Float] Float;
    /// libm.
    Cosh "cosh" [Float] Float;
    /// libm.
    Tanh "tanh" [Float] Float;
    /// libm.
    Asin "asin" [Float] Float;
    /// libm.
    Acos "acos" [Float] Float;
    /// libm.
    Atan "atan" [Float] Float;
    /// libm.
    Atan2 "atan2" [Float Float] Float;
    /// libm.
    Erf "erf" [Float] Float;
    /// libm's `lgamma_r`, the sign dropped.
    Lgamma "lgamma" [Float] Float;
    /// libm.
    Pow "pow" [Float Float] Float;
    /// Equal; false for NaN.
    EqF "eq.f" [Float Float] Bool;
    /// Less; false for NaN.
    LtF "lt.f" [Float Float] Bool;
    /// Less or equal; false for NaN.
    LeF "le.f" [Float Float] Bool;
    /// Wrapping addition.
    AddI "add.i" [Integer Integer] Integer;
    /// Wrapping subtraction.
    SubI "sub.i" [Integer Integer] Integer;
    /// Wrapping multiplication.
    MulI "mul.i" [Integer Integer] Integer;
    /// Truncating division, wrapping; the divisor is known not to be zero.
    DivI "div.i" [Integer Integer] Integer;
    /// Wrapping negation.
    NegI "neg.i" [Integer] Integer;
    /// Wrapping absolute value.
    AbsI "abs.i" [Integer] Integer;
    /// Equal.
    EqI "eq.i" [Integer Integer] Bool;
    /// Less.
    LtI "lt.i" [Integer Integer] Bool;
    /// Less or equal.
    LeI "le.i" [Integer Integer] Bool;
    /// Less, both taken as unsigned: whether an index is in the range of a size.
    Below "below" [Integer Integer] Bool;
    /// The product of numbers that are not negative; the largest Integer where it is larger.
    Count "count" [Integer Integer] Integer;
    /// Equal.
    EqB "eq.b" [Bool Bool] Bool;
    /// The same bytes.
    EqT "eq.t" [Text Text] Bool;
    /// Both.
    And "and" [Bool Bool] Bool;
    /// Either.
    Or "or" [Bool Bool] Bool;
    /// The other.
    Not "not" [Bool] Bool;
    /// The same, which mostly holds.
    Likely "likely" [Bool] Bool;
    /// Nearest Float.
    ToFloat "to_float" [Integer] Float;
    /// Truncation; saturates; NaN gives 0.
    ToInteger "to_integer" [Float] Integer;
    /// 1 or 0.
    BoolToFloat "bool_to_float" [Bool] Float;
    /// The finaliser of SplitMix64, as a Float in [0, 1).
    Hash "hash" [Integer] Float;
    /// How many iterations of a loop make a chunk, at least 1: of so many iterations, each of such a cost, with so many
    /// elements that each chunk needs of its own, and so many run at once. See `lmc.chunk` in `emit/chunks.ll`.
    Chunk "chunk" [Integer Integer Integer Integer] Integer;
}

impl Op {
    /// The name in the printed form.
    pub fn name(self) -> &'static str {
        ROWS[self as usize].0
    }

    /// Whether the operands may change places.
    pub fn commutes(self) -> bool {
        use Op::{AddF, AddI, And, Count, EqB, EqF, EqI, EqT, MulF, MulI, Or};
        matches!(self, AddF | MulF | AddI | MulI | EqF | EqI | EqB | EqT | And | Or | Count)
    }

    /// Whether it is a function of libm: so dear that it is worth a place in memory.
    pub fn is_libm(self) -> bool {
        use Op::{Acos, Asin, Atan, Atan2, Cos, Cosh, Erf, Exp, Lgamma, Log, Pow, Sin, Sinh, Tan, Tanh};
        matches!(
            self,
            Log | Exp | Sin | Cos | Tan | Sinh | Cosh | Tanh | Asin | Acos | Atan | Atan2 | Erf | Lgamma | Pow
        )
    }

    /// The types of the operands.
    pub fn operands(self) -> &'static [Scalar] {
        ROWS[self as usize].1
    }

    /// The type of the result.
    pub fn result(self) -> Scalar {
        ROWS[self as usize].2
    }
}
