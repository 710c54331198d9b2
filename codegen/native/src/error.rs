//! Lists the errors between loops and a file of native code.

use lm::term::FunName;
use lm::types::Type;
use std::path::PathBuf;

/// Why there is no native code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There are no loops of the program.
    #[error(transparent)]
    Loops(#[from] loops::Error),
    /// A type of an entry has no form in C.
    #[error(
        "`{0}` cannot be called from C: `{1}` has no form there; tensors may hold tuples and scalars, and vectors also tensors of these, and vectors (`--fun` chooses functions)"
    )]
    NoInterface(FunName, Type),
    /// LLVM does not know the processor.
    #[error("`{0}` is no processor of the target; try `native`, `x86-64` or `x86-64-v3`")]
    UnknownCpu(String),
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
        /// The standard error of the linker.
        stderr: String,
    },
    /// No library has an external function that the program calls.
    #[error("the external function `{0}` is nowhere: say which library or object has it, `--link FILE`")]
    Missing(String),
    /// A library to link cannot be loaded.
    #[error("cannot load `{}`: it is no shared library, or needs what is not there", .0.display())]
    Load(PathBuf),
    /// A file cannot be written.
    #[error("cannot write `{}`: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason that the operating system gives.
        reason: String,
    },
}
