//! Loops: the language between terms and LLVM. Structured, typed, every local set once.
//!
//!   function ::= fun name(x1, ..., xn) -> (T1, ..., Tm) block
//!   block    ::= statement* yield a1, ..., ak
//!   statement ::= x = op a..  |  x.. = call f(a..)  |  x.. = if a block else block
//!              |  check a else failure  |  write a
//!
//! Tuples are gone: a tuple is its components in order, unit is none. Everything that can fail is a
//! `check` in front of an operation that cannot. What tensors need (buffers, loads, stores, adds,
//! `for`) is further statements, over locals of a buffer type.

mod op;
mod print;
mod verify;

pub use op::{ALL as ALL_OPS, Op};
pub use verify::verify;

use lm::term::{FunName, Span};
use std::sync::Arc;

/// What a local holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// IEEE binary64.
    Float,
    /// 64-bit two's complement.
    Integer,
    /// One bit.
    Bool,
    /// The address of NUL-terminated UTF-8 text that lives as long as the code.
    Text,
}

/// The number of a local of one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Local(pub u32);

/// The number of a function of one module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunId(pub usize);

/// An operand: a local or a constant.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A local.
    Local(Local),
    /// A Float.
    Float(f64),
    /// An Integer.
    Integer(i64),
    /// A Bool.
    Bool(bool),
    /// A text.
    Text(Arc<str>),
}

/// Why a check stops the function. The numbers are the status that C callers see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// `assert` of false.
    AssertFailed = 1,
    /// Integer division by zero; the first number is the dividend.
    DivisionByZero = 2,
    /// Calls nested too deep for the stack; the first number is their depth.
    RecursionTooDeep = 3,
}

/// Every failure.
pub const ALL_FAILURES: &[Failure] = &[Failure::AssertFailed, Failure::DivisionByZero, Failure::RecursionTooDeep];

impl Failure {
    /// A text without numbers, for the C caller.
    pub fn message(self) -> &'static str {
        match self {
            Failure::AssertFailed => "assertion failed",
            Failure::DivisionByZero => "integer division by zero",
            Failure::RecursionTooDeep => "calls are nested too deep",
        }
    }
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `x = op a..`
    Let(Local, Op, Vec<Operand>),
    /// `x.. = call f(a..)`
    Call(Vec<Local>, FunId, Vec<Operand>),
    /// `x.. = if a then block else block`: the locals are set from what the taken block yields.
    If(Vec<Local>, Operand, Block, Block),
    /// Goes on when the condition holds, else leaves the function with an error.
    Check {
        /// What must hold.
        condition: Operand,
        /// The error.
        failure: Failure,
        /// The Integers to report with it.
        numbers: [Operand; 2],
        /// Where the error is in the source.
        span: Span,
    },
    /// Hands a value to the context's `write`.
    Write(Operand),
}

/// Statements, and the values they are for.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// In order.
    pub stmts: Vec<Stmt>,
    /// What the block gives.
    pub results: Vec<Operand>,
}

/// A local's type and, for people, the name of the variable that it holds.
#[derive(Clone, Debug)]
pub struct LocalInfo {
    /// What it holds.
    pub ty: Scalar,
    /// Not unique.
    pub name: Option<Arc<str>>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name in the program.
    pub name: FunName,
    /// The types of the locals, by number.
    pub locals: Vec<LocalInfo>,
    /// The first locals: one per component of the parameters.
    pub params: Vec<Local>,
    /// One per component of the result.
    pub results: Vec<Scalar>,
    /// What is done.
    pub body: Block,
    /// Whether it may call itself, directly or not: then it watches the stack.
    pub recursive: bool,
    /// Where the body stands in the source.
    pub span: Span,
}

/// Functions that call none but each other.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// By number.
    pub functions: Vec<Function>,
}

impl Function {
    /// The type of an operand in this function.
    pub fn ty(&self, operand: &Operand) -> Scalar {
        operand.ty(&self.locals)
    }
}

impl Operand {
    /// The operand's type, given the locals of its function.
    pub fn ty(&self, locals: &[LocalInfo]) -> Scalar {
        match self {
            Operand::Local(Local(i)) => locals[*i as usize].ty,
            Operand::Float(_) => Scalar::Float,
            Operand::Integer(_) => Scalar::Integer,
            Operand::Bool(_) => Scalar::Bool,
            Operand::Text(_) => Scalar::Text,
        }
    }
}
