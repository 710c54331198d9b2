//! Lists the errors between a checked program and its loops.

use lm::term::Span;

/// Why there are no loops of a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The program does not define a function that was asked for or is called.
    #[error("`{0}` is not defined")]
    Undefined(String),
    /// An operation has no native code.
    #[error("native code for {operation} is not supported (in `{function}`)")]
    Unsupported {
        /// The function whose body has it.
        function: String,
        /// The operation or type.
        operation: String,
        /// Its place in the source.
        span: Span,
    },
    /// Two functions need the same symbol, and its escaped form is taken, too.
    #[error("`{0}` has no free symbol: `{1}` is taken; rename one of the functions")]
    SymbolTaken(String, String),
    /// Two functions want one name in C.
    #[error(
        "{} and {} have one name in C, `{name}`: rename one of the functions, or leave it out (`--fun` chooses functions)",
        owners[0], owners[1]
    )]
    OneCName {
        /// The two functions.
        owners: [String; 2],
        /// The name.
        name: String,
    },
    /// There is no such pass over loops.
    #[error("there is no pass `{name}` over loops; the passes are {known}")]
    UnknownPass {
        /// The name that was asked for.
        name: String,
        /// The names of all passes.
        known: String,
    },
    /// No function that is compiled has a parameter that should be specialised.
    #[error("no function that is compiled as an entry has a parameter `{0}` to specialise")]
    NoParameter(String),
    /// A parameter has no such Integer or size.
    #[error(
        "`{path}` is no Integer and no size: the parameter is of type {ty}; say `n`, `t.2`, `v.size`, `m.size.2` or `rows.each.size`"
    )]
    NoNumber {
        /// The path that was to be specialised.
        path: String,
        /// The type of the parameter.
        ty: String,
    },
    /// One part of a parameter is given two numbers.
    #[error("`{path}` is to be {first} and {second}: say one of them", first = values[0], second = values[1])]
    TwoNumbers {
        /// The path that was to be specialised.
        path: String,
        /// The numbers.
        values: [i64; 2],
    },
}
