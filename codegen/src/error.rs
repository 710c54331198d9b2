//! What can go wrong between a checked program and a file of native code.

use lm::term::Span;
use std::path::PathBuf;

/// Why there is no native code.
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
        /// Where it stands in the source.
        span: Span,
    },
    /// A type of an entry has no form in C.
    #[error(
        "`{0}` cannot be called from C: `{1}` has no form there; tensors may hold scalars, and vectors also tensors of scalars (`--fun` chooses functions)"
    )]
    NoInterface(String, String),
    /// Two functions want the same symbol, and the escape for that case is taken as well.
    #[error("`{0}` has no free symbol: `{1}` is taken; rename one of the functions")]
    SymbolTaken(String, String),
    /// LLVM does not know the processor.
    #[error("`{0}` is no processor of the target; try `native`, `x86-64` or `x86-64-v3`")]
    UnknownCpu(String),
    /// There is no such pass over loops.
    #[error("there is no pass `{0}` over loops; the passes are {list}", list = crate::passes::names())]
    UnknownPass(String),
    /// No function that is compiled has a parameter that should be specialised.
    #[error("no function that is compiled as an entry has a parameter `{0}` to specialise")]
    NoParameter(String),
    /// A parameter has no such Integer or size.
    #[error(
        "`{path}` is no Integer and no size: the parameter is of type {ty}; say `n`, `t.2`, `v.size`, `m.size.2` or `rows.each.size`"
    )]
    NoNumber {
        /// What was to be specialised.
        path: String,
        /// The type of the parameter.
        ty: String,
    },
    /// Something of a parameter is to be two numbers.
    #[error("`{path}` is to be {first} and {second}: say one of them", first = values[0], second = values[1])]
    TwoNumbers {
        /// What was to be specialised.
        path: String,
        /// The numbers.
        values: [i64; 2],
    },
    /// An optimisation level beyond 3.
    #[error("there is no optimisation level {0}; the levels are 0 to 3")]
    UnknownLevel(u8),
    /// LLVM has no code generator for this machine, or its run-time linker refuses.
    #[error("LLVM: {0}")]
    Llvm(String),
    /// No program that links was found.
    #[error("no linker found: install `cc` (a C compiler), `ld` or `rust-lld`, or emit `obj` or `a` instead")]
    NoLinker,
    /// The linker ran and failed.
    #[error("`{linker}` failed:\n{stderr}")]
    Link {
        /// The program.
        linker: String,
        /// What it said.
        stderr: String,
    },
    /// No library has an external function that the program calls.
    #[error("the external function `{0}` is nowhere: say which shared library has it, `--link FILE`")]
    Missing(String),
    /// A library to link cannot be loaded.
    #[error("cannot load `{}`: it is no shared library, or needs what is not there", .0.display())]
    Load(PathBuf),
    /// A file cannot be written.
    #[error("cannot write `{}`: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        reason: String,
    },
}
