//! Runs loops: what every statement means, without LLVM, and a sanitizer for lowering and passes.
//!
//! ```text
//! call f(values)   =   (value, or the failure of a check, or a fault)  and what was printed
//! ```
//!
//! A *failure* is the program's: a check that does not hold, memory that is exhausted. A *fault* is ours: the loops do
//! what native code leaves undefined. These are faults:
//!
//! ```text
//! an element is read before it is written, or lies outside of the buffer that it is read from
//! memory is read after it was given back and written again, or written after it was given back
//! an argument is written; an address is used as a number, or a Float as an Integer
//! a division by 0, a size that is none, a negative count, a mark above the top of the arena
//! a loop in lanes, or in chunks, does what cannot run there
//! two chunks use the same element, and one of them writes it
//! ```
//!
//! Floats are those of native code with exact arithmetic, to the bit except for NaNs. Sums of loops in lanes are added
//! up in the order of `emit::lanes`. External functions cannot be called. A `bench` runs its block once and returns 0
//! seconds.

mod arena;
mod chunks;
mod frame;
mod lanes;
mod marshal;
mod ops;
mod races;
mod run;
mod space;
mod statements;
mod texts;
mod word;

pub use space::Space;
pub use word::{ObjectId, Word};

use crate::analyses::jam;
use crate::ir::{self, Failure, FunId, Function, Module, Operand, Stmt};
use frame::Frame;
use lm::interp::RuntimeError;
use lm::term::{Fun, Span};
use lm::value::Value;
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use texts::Texts;

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The bytes of the arena.
    pub arena: u64,
    /// How deep calls may be nested before a recursive function fails. The stack of the thread must do.
    pub depth: usize,
    /// The least work of a chunk: see `docs/threads.md`.
    pub grain: u64,
    /// Whether the last chunk of a loop on threads runs first.
    pub last_chunk_first: bool,
    /// How many statements may run; more are a fault, so that an end can be put to what takes too long.
    pub steps: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { arena: 1 << 28, depth: 1000, grain: 12_500, last_chunk_first: false, steps: u64::MAX }
    }
}

/// A check that did not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    /// Which error it is.
    pub failure: Failure,
    /// The numbers that are reported with the failure.
    pub numbers: Vec<i64>,
    /// The place in the source.
    pub span: Span,
}

/// Loops that do what native code leaves undefined.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The description of the fault.
    pub what: String,
    /// The function, and the statement in it.
    pub place: Option<String>,
}

/// Why a call stops.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// A check did not hold.
    Failed(Failed),
    /// The loops are wrong.
    Fault(Fault),
}

impl Stop {
    fn fault(what: impl Into<String>) -> Stop {
        Stop::Fault(Fault { what: what.into(), place: None })
    }

    /// The same, with the statement of a function where it is.
    fn at(self, function: &Function, stmt: &str) -> Stop {
        match self {
            Stop::Fault(Fault { what, .. }) => {
                Stop::Fault(Fault { what, place: Some(format!("{}: {stmt}", function.name)) })
            }
            failed => failed,
        }
    }
}

impl From<String> for Stop {
    fn from(what: String) -> Stop {
        Stop::fault(what)
    }
}

impl From<Failed> for Stop {
    fn from(failed: Failed) -> Stop {
        Stop::Failed(failed)
    }
}

impl Display for Stop {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Failed(Failed { failure, numbers, .. }) => write!(f, "{failure:?} {numbers:?}"),
            Stop::Fault(Fault { what, place: Some(place) }) => write!(f, "{what}, in {place}"),
            Stop::Fault(Fault { what, place: None }) => write!(f, "{what}"),
        }
    }
}

/// The result of a call, and the text that it printed.
#[derive(Debug)]
pub struct Outcome {
    /// The value, or why there is none.
    pub result: Result<Value, Stop>,
    /// The text.
    pub output: String,
}

/// Calls a function with values, which has been lowered from `fun`.
///
/// Panics when the arguments are not of its types, or when a type has no layout.
pub fn call(module: &Module, function: FunId, fun: &Fun, args: &[Value], options: Options) -> Outcome {
    assert_eq!(fun.params.len(), args.len(), "arguments of {}", fun.name);
    let functions = expanded(module);
    let mut machine = Machine::new(module, &functions, options);
    let mut words = Vec::new();
    for (ty, value) in fun.params.iter().zip(args) {
        marshal::pack(&mut machine.space, &mut machine.texts, ty, value, &mut words);
    }
    let result = machine.run(function, &words).and_then(|words| {
        let value = marshal::unpack(&machine.space, &machine.texts, &fun.result, &mut words.into_iter());
        value.map_err(|what| Stop::fault(what).at(&functions[function.0], "its result"))
    });
    Outcome { result, output: machine.output }
}

impl Outcome {
    /// The value, or the error of the program.
    ///
    /// Panics when there is a fault.
    pub fn value(self) -> Result<Value, RuntimeError> {
        self.result.map_err(|stop| match stop {
            Stop::Failed(failed) => failed.runtime_error(),
            Stop::Fault(_) => panic!("{stop}"),
        })
    }
}

/// The functions of a module as they run: iterations that run side by side are written out.
pub fn expanded(module: &Module) -> Vec<Function> {
    module
        .functions
        .iter()
        .map(|function| jam::expanded(function, module.vectors.floats))
        .map(Cow::into_owned)
        .collect()
}

/// Runs the functions of a module. Holds the memory and the output of a call.
pub struct Machine<'a> {
    /// All memory.
    pub space: Space,
    /// The text printed so far.
    pub output: String,
    module: &'a Module,
    functions: &'a [Function],
    texts: Texts,
    options: Options,
    /// How many Floats a vector holds.
    floats: usize,
    /// How many statements may still run.
    steps: u64,
}

impl<'a> Machine<'a> {
    /// A machine for functions that are [`expanded`] from the module's.
    pub fn new(module: &'a Module, functions: &'a [Function], options: Options) -> Machine<'a> {
        let (space, texts) = (Space::new(options.arena), Texts::of(module));
        let floats = module.vectors.floats as usize;
        Machine { space, output: String::new(), module, functions, texts, options, floats, steps: options.steps }
    }

    /// Calls a function with words.
    ///
    /// Errors: a failure or a fault.
    pub fn run(&mut self, function: FunId, args: &[Word]) -> Result<Vec<Word>, Stop> {
        self.run_function(function.0, args, 0, 0)
    }

    fn write(&mut self, frame: &Frame, value: &Operand) -> Result<(), Stop> {
        let value = match self.operand(frame, value, 0) {
            Word::Float(x) => Value::Float(x),
            Word::Integer(i) => Value::Integer(i),
            Word::Bool(b) => Value::Bool(b),
            Word::Text(number) => Value::String(self.texts.text(number)),
            other => return Err(Stop::fault(format!("{other:?} is written"))),
        };
        self.output.push_str(&value.to_string());
        Ok(())
    }

    /// The first line of a statement.
    fn shown(&self, function: &Function, stmt: &Stmt) -> String {
        ir::print::statement(self.module, function, stmt)
    }
}
