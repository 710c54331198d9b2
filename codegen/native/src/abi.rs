//! Defines what C callers and generated code share: the context, the error in it, the kinds of printed values.
//!
//! The layout is that of `lmc_context` in the header (`header`); generated code reaches the fields by
//! their numbers in these structures (`emit::support`). A test compiles the header and compares.

pub use lmc_pool::Threads;
use loops::ir::MOST_NUMBERS;
use std::ffi::{c_char, c_void};

/// `lmc_error`: the last error of a call that returned a status other than 0.
#[repr(C)]
#[derive(Debug)]
pub struct Error {
    /// The status that the call returned: a [`loops::ir::Failure`].
    pub code: i32,
    /// Line in the source, from 1; 0 where the error has no place.
    pub line: i32,
    /// Column in characters, from 1.
    pub column: i32,
    /// Byte offset of the place's start.
    pub start: u32,
    /// Byte offset of the place's end.
    pub end: u32,
    /// How many numbers there are.
    pub count: u32,
    /// The numbers of the error. The code decides what they mean.
    pub number: [i64; MOST_NUMBERS],
    /// Static, NUL-terminated.
    pub message: *const c_char,
    /// The source file's name: static, NUL-terminated.
    pub file: *const c_char,
}

/// `lmc_write`: takes one printed value; `kind` tells which of the last three is it.
pub type Write = unsafe extern "C" fn(user: *mut c_void, kind: i32, number: f64, integer: i64, text: *const c_char);

/// `lmc_context`: what a call may use besides its arguments.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    /// Passed to the callbacks.
    pub user: *mut c_void,
    /// Takes what `print` prints; none drops it.
    pub write: Option<Write>,
    /// How much stack a call may use, in bytes; 0 means [`DEFAULT_STACK`].
    pub stack_bytes: u64,
    /// The arena in which tensors are made.
    pub arena: Arena,
    /// The threads that run the chunks of loops.
    pub threads: Threads,
    /// The last error.
    pub error: Error,
}

/// `lmc_arena`: the memory of a context, for tensors on the way and for results that the caller has no
/// storage for. Each call starts to fill it anew.
#[repr(C)]
#[derive(Debug)]
pub struct Arena {
    /// The first byte; null to let the first call that needs an arena reserve one.
    pub base: *mut c_void,
    /// How large it is, in bytes; while `base` is null, how much to reserve: 0 means a quarter of the
    /// physical memory, of which only what is used counts.
    pub bytes: u64,
    /// How much of it the last call had in use at once, in bytes.
    pub peak: u64,
    /// Not 0 where `lmc_context_free` has to give it back.
    pub owned: u64,
    /// Reserved for later versions: 0.
    pub reserved: u64,
}

/// The stack that recursive functions may use when the context does not say, in bytes.
pub const DEFAULT_STACK: u64 = 1 << 20;

impl Context {
    /// Returns no callbacks, default stack, no error.
    pub fn new() -> Context {
        let error = Error {
            code: 0,
            line: 0,
            column: 0,
            start: 0,
            end: 0,
            count: 0,
            number: [0; MOST_NUMBERS],
            message: std::ptr::null(),
            file: std::ptr::null(),
        };
        let null = std::ptr::null_mut();
        let arena = Arena { base: null, bytes: 0, peak: 0, owned: 0, reserved: 0 };
        Context { user: null, write: None, stack_bytes: 0, arena, threads: Threads::NONE, error }
    }
}

impl Default for Context {
    fn default() -> Context {
        Context::new()
    }
}

/// The type of a written value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// `number`.
    Float = 0,
    /// `integer`.
    Integer = 1,
    /// `integer`, 0 or 1.
    Bool = 2,
    /// `text`.
    Text = 3,
}
