//! Lists the reasons for which a call stops: one row each, with status, message and the meaning of the numbers.

macro_rules! failures {
    ($($(#[$doc:meta])* $variant:ident $status:literal $constant:literal $message:literal $numbers:expr;)*) => {
        /// Why a check stops the function. The numbers are the status that C callers see.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Failure { $($(#[$doc])* $variant = $status,)* }

        /// Every failure.
        pub const ALL: &[Failure] = &[$(Failure::$variant),*];

        impl Failure {
            /// Returns a text without numbers, for the C caller.
            pub fn message(self) -> &'static str {
                match self { $(Failure::$variant => $message,)* }
            }

            /// Returns the name in C.
            pub fn constant(self) -> &'static str {
                match self { $(Failure::$variant => $constant,)* }
            }

            /// Returns how many numbers an error with tensors of a rank has.
            pub fn numbers(self, rank: usize) -> usize {
                let numbers: fn(usize) -> usize = match self { $(Failure::$variant => $numbers,)* };
                numbers(rank)
            }
        }
    };
}

failures! {
    /// `assert` of false.
    AssertFailed 1 "LMC_ASSERT_FAILED" "assertion failed" |_| 0;
    /// Integer division by zero; the dividend.
    DivisionByZero 2 "LMC_DIVISION_BY_ZERO" "integer division by zero" |_| 1;
    /// Calls nested too deep for the stack; their depth.
    RecursionTooDeep 3 "LMC_RECURSION_TOO_DEEP" "recursion too deep" |_| 1;
    /// An index outside a tensor; the index, then the tensor's size.
    IndexOutOfRange 4 "LMC_INDEX_OUT_OF_RANGE" "an index is out of range" |rank| 2 * rank;
    /// A tensor of a negative size; the size.
    NegativeSize 5 "LMC_NEGATIVE_SIZE" "a size is negative" |rank| rank;
    /// Tensors that must have one size; both sizes.
    SizeMismatch 6 "LMC_SIZE_MISMATCH" "two sizes differ" |rank| 2 * rank;
    /// More elements than [`MOST_ELEMENTS`]; the size.
    TooLarge 7 "LMC_TOO_LARGE" "a tensor is too large" |rank| rank;
    /// A sum over nothing whose zero has no known shape.
    ShapeUnknown 8 "LMC_SHAPE_UNKNOWN" "the sum over nothing has no known shape" |_| 0;
    /// The arena is exhausted; the bytes that were asked for, and those that were free.
    OutOfMemory 9 "LMC_OUT_OF_MEMORY" "out of memory" |_| 2;
    /// An argument from outside that is no value of its type; its number, from 1.
    BadArgument 10 "LMC_BAD_ARGUMENT" "an argument is not valid" |_| 1;
    /// A result that does not fit the caller's storage; its number, from 1, its size, the storage's size.
    ShapeMismatch 11 "LMC_SHAPE_MISMATCH" "a result has another size than its storage" |rank| 1 + 2 * rank;
    /// An external function returned a status other than 0; that status.
    ExternalFailed 12 "LMC_EXTERNAL_FAILED" "an external function failed" |_| 1;
    /// An argument, or a size, that is another than the function was compiled for; the number, and that one.
    NotSpecialised 13 "LMC_NOT_SPECIALISED" "an argument is not what the function was specialised for" |_| 2;
}

impl Failure {
    /// Returns the text with the name of the parameter that the failure is about, if it is about one.
    pub fn message_about(self, parameter: &str) -> String {
        match self {
            Failure::BadArgument => format!("the argument `{parameter}` is not valid"),
            Failure::ShapeMismatch => format!("the result `{parameter}` has another size than its storage"),
            other => other.message().to_string(),
        }
    }
}

/// A tensor has no more elements than this. Dimensionless.
pub const MOST_ELEMENTS: i64 = 1 << 40;

/// Tensors have no more dimensions than this, so that an error can tell an index and a size.
pub const MOST_DIMENSIONS: usize = 7;

/// The most numbers that an error has.
pub const MOST_NUMBERS: usize = 1 + 2 * MOST_DIMENSIONS;
