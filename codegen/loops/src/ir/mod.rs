//! Defines the loop IR, the language between terms and LLVM: structured and typed, with each local set once.
//!
//! ```text
//! function ::= fun name(x1, ..., xn) -> (T1, ..., Tm) block
//! block    ::= statement* yield a1, ..., ak
//! statement ::= x = op a..  |  x.. = call f(a..)  |  x.. = if a block else block
//!            |  x.. = for i in a..a [lanes n] [jam n] [on threads] carrying (y = a ..) block
//!            |  check a else failure  |  write a  |  what works on memory (`Memory`)
//! T        ::= float | integer | bool | text | mark | [T]
//! ```
//!
//! Tuples are gone: a tuple is its components in order, unit is none. A tensor is its sizes and, for each
//! component of its elements, a buffer (`[T]`) of them; see `layout`. Everything that can fail is a
//! `check` in front of an operation that cannot, but for `alloc`, which fails when memory is exhausted.

mod build;
mod calls;
mod copy;
mod failure;
pub mod inlined;
mod memory;
mod op;
pub mod parse;
pub(crate) mod print;
mod ty;
mod verify;
mod walk;

pub use build::Builder;
pub use copy::Renaming;
pub use failure::{ALL as ALL_FAILURES, Failure, MOST_DIMENSIONS, MOST_ELEMENTS, MOST_NUMBERS};
pub use memory::Memory;
pub use op::{ALL as ALL_OPS, Cost, Op};
pub use ty::{Scalar, Ty};
pub use verify::{Check, is_well_formed, well_formed};

use indexmap::IndexSet;
use lm::term::{FunName, Span};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The number of a local of one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stmt {
    /// `x = op a..`
    Let(Local, Op, Vec<Operand>),
    /// `x.. = call f(a..)`
    Call(Vec<Local>, FunId, Vec<Operand>),
    /// `x.. = if a then block else block`: the locals are set from what the taken block yields.
    If(Vec<Local>, Operand, Block, Block),
    /// `x.. = for i in a..b carrying (y = init ..) { .. yield next.. }`: the locals are set from the last
    /// values of what is carried; those are the initial ones where b <= a.
    For(Box<For>),
    /// `x = bench with (y = a ..) { .. yield r.. }`: runs the block again and again, each time as if with other
    /// values, and sets x to the seconds that it takes, a Float.
    Bench {
        /// The seconds.
        seconds: Local,
        /// The outer operands that the block uses, each with its name in the block.
        given: Vec<(Local, Operand)>,
        /// The block that is measured.
        body: Block,
    },
    /// Goes on when the condition holds, else leaves the function with an error.
    Check {
        /// The condition that must hold.
        condition: Operand,
        /// The error.
        failure: Failure,
        /// The Integers to report with it: so many as [`Failure::numbers`] says.
        numbers: Vec<Operand>,
        /// The place of the error in the source.
        span: Span,
    },
    /// `x.. = external f(a..)`: a call of a C function with the interface of ours; its status other than 0 is an
    /// error. It gets a context with what is free of the arena where there are tensors, and none otherwise.
    External {
        /// The locals set from the outputs of the call.
        results: Vec<Returned>,
        /// Its name in C.
        symbol: Arc<str>,
        /// The arguments of the call.
        args: Vec<Argument>,
        /// The place of the call in the source.
        span: Span,
    },
    /// Hands a value to the context's `write`.
    Write(Operand),
    /// Works on buffers and the arena.
    Memory(Memory),
}

/// A loop over the Integers from `from` to one before `to`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct For {
    /// The final values of the carried locals.
    pub results: Vec<Local>,
    /// Set anew in each iteration.
    pub index: Local,
    /// The first index.
    pub from: Operand,
    /// The end of the range, exclusive.
    pub to: Operand,
    /// The values that an iteration passes to the next one, with their initial values.
    pub carried: Vec<(Local, Operand)>,
    /// Yields the next values of what is carried.
    pub body: Block,
    /// How many iterations run at once, in the lanes of vectors; 1 for one after the other. See `docs/lanes.md`.
    pub lanes: u32,
    /// How many iterations run side by side, statement by statement; 1 for one after the other. See `analyses::jam`.
    pub jam: u32,
    /// Whether iterations may run at the same time, on several threads, each with an arena of its own: then nothing is
    /// carried, and the first index is 0. See `passes::parallelize`.
    pub on_threads: bool,
}

/// An argument of an external function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    /// A scalar, passed by value.
    Scalar(Operand),
    /// A structure of the data and the sizes.
    Tensor(Operand, Vec<Operand>),
}

/// Statements, and the values they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Block {
    /// The statements, in order.
    pub stmts: Vec<Stmt>,
    /// The results of the block.
    pub results: Vec<Operand>,
}

/// A local's type and, for people, the name of the variable that it holds.
#[derive(Clone, Debug)]
pub struct LocalInfo {
    /// The type of the local.
    pub ty: Ty,
    /// Not unique.
    pub name: Option<Arc<str>>,
    /// Whether it is a size of a tensor, whenever it is set: from 0 to [`MOST_ELEMENTS`].
    pub is_size: bool,
    /// The number of the loop whose index it is, in code that watches that loop: see `analyses::watch`.
    pub watched: Option<u32>,
}

impl LocalInfo {
    /// Returns a local without a name.
    pub fn unnamed(ty: Ty) -> LocalInfo {
        LocalInfo { ty, name: None, is_size: false, watched: None }
    }
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
    /// The types of the results, one for each component.
    pub results: Vec<Ty>,
    /// The body of the function.
    pub body: Block,
    /// Whether it may call itself, directly or not: then it watches the stack.
    pub recursive: bool,
    /// Whether the function is a wrapper for C. Its buffers are the caller's, who may have passed one of them twice.
    pub c_wrapper: bool,
    /// Whether it hardly ever runs, so that no pass should spend code on it.
    pub cold: bool,
    /// Whether it needs the arena, directly or by what it calls.
    pub allocates: bool,
    /// Parameters that are buffers of rows, and the size of the rows, where all have one and `cold` code is elsewhere.
    pub row_sizes: Vec<(Local, Operand)>,
    /// Parameters that are buffers, and the sizes whose product is the number of their elements.
    pub extents: Vec<(Local, Vec<Operand>)>,
    /// Parameters that are sizes of a tangent, each with the size of its primal: they are equal where shapes fit.
    pub alike: Vec<[Local; 2]>,
    /// Parameters that are sizes of a cotangent of the result: they are those of the result where shapes fit.
    pub of_cotangents: Vec<Local>,
    /// Parameters that are buffers of one number throughout, as is checked at the start.
    pub filled: Vec<(Local, i64)>,
    /// The place of the body in the source.
    pub span: Span,
}

/// Decides whether values that the primal computes are stored for the reverse derivative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forward {
    /// Stores the values that cost more than a store and a load.
    #[default]
    Auto,
    /// All are stored.
    Store,
    /// All are computed again.
    Recompute,
}

/// Functions that call none but each other.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Decides whether values are stored for a later loop that needs them again.
    pub forward: Forward,
    /// The functions, by number.
    pub functions: Vec<Function>,
    /// The functions that are called from outside: each entry, followed by its wrappers for C, if there are any.
    pub exported: Vec<FunId>,
    /// The vectors in whose lanes loops may run.
    pub vectors: Vectors,
    /// Whether the terms of sums are added in the order of the program.
    pub keeps_order: bool,
}

/// The vectors that loops may run in lanes of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vectors {
    /// How many Floats a vector of the processor holds; 1 where loops shall not run in lanes.
    pub floats: u32,
    /// How many lanes each loop gets that can run in lanes; none where as many as seem best, in loops where it seems
    /// best.
    pub lanes: Option<u32>,
}

impl Default for Vectors {
    fn default() -> Vectors {
        Vectors { floats: 1, lanes: None }
    }
}

/// A result of an external function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Returned {
    /// Through a pointer.
    Scalar(Local),
    /// A structure of the data and the sizes: the data lie in the arena, or in memory of the function's own.
    Tensor(Local, Vec<Local>),
}

impl Returned {
    /// Returns what is set.
    pub fn locals(&self) -> Vec<Local> {
        match self {
            Returned::Scalar(x) => vec![*x],
            Returned::Tensor(data, sizes) => sizes.iter().chain([data]).copied().collect(),
        }
    }
}

impl Stmt {
    /// Returns whether it takes from the arena, or lends it.
    pub fn takes_memory(&self) -> bool {
        match self {
            Stmt::Memory(Memory::Alloc { .. }) => true,
            Stmt::External { results, args, .. } => {
                results.iter().any(|result| matches!(result, Returned::Tensor(..)))
                    || args.iter().any(|arg| matches!(arg, Argument::Tensor(..)))
            }
            Stmt::Let(..)
            | Stmt::Call(..)
            | Stmt::If(..)
            | Stmt::For(_)
            | Stmt::Bench { .. }
            | Stmt::Check { .. }
            | Stmt::Write(_)
            | Stmt::Memory(_) => false,
        }
    }

    /// Returns whether it looks at the arena in any way. A loop on threads divides it, if there is one: that is nothing
    /// to a loop that takes nothing.
    pub fn uses_arena(&self) -> bool {
        use Memory::{Above, Mark, Release, Slid, Slide};
        let looks = matches!(self, Stmt::Memory(Mark(_) | Release(_) | Above(..) | Slide(..) | Slid { .. }));
        looks || self.takes_memory()
    }
}

impl Function {
    /// Returns a function of which nothing more is known: `mark` and passes find out the rest.
    pub fn new(name: FunName, params: Vec<Local>, locals: Vec<LocalInfo>, body: Block, span: Span) -> Function {
        Function {
            name,
            results: body.results.iter().map(|a| a.ty(&locals)).collect(),
            locals,
            params,
            body,
            recursive: false,
            c_wrapper: false,
            cold: false,
            allocates: false,
            row_sizes: vec![],
            extents: vec![],
            alike: vec![],
            of_cotangents: vec![],
            filled: vec![],
            span,
        }
    }

    /// Returns the type of an operand in this function.
    pub fn ty(&self, operand: &Operand) -> Ty {
        operand.ty(&self.locals)
    }

    /// Returns whether a loop of the function carries a buffer.
    pub fn carries_buffers(&self) -> bool {
        let is_buffer = |x: Local| self.locals[x.0 as usize].ty.as_scalar().is_none();
        let mut carries = false;
        self.body.visit(&mut |stmt| {
            if let Stmt::For(looped) = stmt {
                carries |= looped.carried.iter().any(|(x, _)| is_buffer(*x));
            }
        });
        carries
    }

    /// Returns whether a loop only passes rows on: it looks at their sizes and moves pointers to them, but does nothing
    /// with what is in them. That is little beside what made the rows, so no code is to be spent on its speed.
    pub fn passes_rows_on(&self, looped: &For) -> bool {
        let is_outer = |operand: &Operand| {
            let known = operand.local().is_some_and(|x| self.locals[x.0 as usize].is_size);
            known || self.ty(operand).element().is_some()
        };
        let suits = |stmt: &Stmt| match stmt {
            Stmt::Let(..) => true,
            Stmt::Memory(Memory::Load(target, ..)) => is_outer(&Operand::Local(*target)),
            Stmt::Memory(Memory::Store(_, _, value)) => is_outer(value),
            Stmt::Memory(Memory::View(..) | Memory::Slid { .. } | Memory::Above(..) | Memory::Before(..)) => true,
            _ => false,
        };
        let looks = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Load(..) | Memory::Store(..)));
        looped.body.stmts.iter().all(suits) && looped.body.stmts.iter().any(looks)
    }
}

impl Module {
    /// Returns the names in C of the external functions that are called.
    pub fn externals(&self) -> IndexSet<Arc<str>> {
        let mut found = IndexSet::new();
        for function in &self.functions {
            function.body.visit(&mut |stmt| {
                if let Stmt::External { symbol, .. } = stmt {
                    found.insert(symbol.clone());
                }
            });
        }
        found
    }
}

/// Floats are compared and hashed by their bits.
impl PartialEq for Operand {
    fn eq(&self, other: &Operand) -> bool {
        self.same(other)
    }
}

impl Eq for Operand {}

impl Hash for Operand {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Operand::Local(x) => x.hash(state),
            Operand::Float(x) => x.to_bits().hash(state),
            Operand::Integer(i) => i.hash(state),
            Operand::Bool(b) => b.hash(state),
            Operand::Text(text) => text.hash(state),
        }
    }
}

impl From<Local> for Operand {
    fn from(x: Local) -> Operand {
        Operand::Local(x)
    }
}

impl Operand {
    /// Returns the operand's type, given the locals of its function.
    pub fn ty(&self, locals: &[LocalInfo]) -> Ty {
        match self {
            Operand::Local(Local(i)) => locals[*i as usize].ty,
            Operand::Float(_) => Scalar::Float.ty(),
            Operand::Integer(_) => Scalar::Integer.ty(),
            Operand::Bool(_) => Scalar::Bool.ty(),
            Operand::Text(_) => Scalar::Text.ty(),
        }
    }
}
