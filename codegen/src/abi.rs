//! What C callers and generated code share: the context, the error in it, the kinds of written values.
//!
//! The layout is that of `lmc_context` in the header (`header`); generated code reaches the fields by
//! their numbers in these structures (`emit::support`). A test compiles the header and compares.

use std::ffi::{c_char, c_void};

/// `lmc_error`: the last error of a call that returned a status other than 0.
#[repr(C)]
#[derive(Debug)]
pub struct Error {
    /// The status that the call returned: a [`crate::loops::Failure`].
    pub code: i32,
    /// Line in the source, from 1; 0 where the error has no place.
    pub line: i32,
    /// Column in characters, from 1.
    pub column: i32,
    /// Byte offset of the place's start.
    pub start: u32,
    /// Byte offset of the place's end.
    pub end: u32,
    /// Always 0.
    pub reserved: u32,
    /// What the error is about; which numbers depends on the code.
    pub number: [i64; 2],
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
    /// For later versions: null.
    pub reserved: [*mut c_void; 5],
    /// The last error.
    pub error: Error,
}

/// The stack that recursive functions may use when the context does not say, in bytes.
pub const DEFAULT_STACK: u64 = 1 << 20;

impl Context {
    /// No callbacks, default stack, no error.
    pub fn new() -> Context {
        let error = Error {
            code: 0,
            line: 0,
            column: 0,
            start: 0,
            end: 0,
            reserved: 0,
            number: [0; 2],
            message: std::ptr::null(),
            file: std::ptr::null(),
        };
        let null = std::ptr::null_mut();
        Context { user: null, write: None, stack_bytes: 0, reserved: [null; 5], error }
    }
}

impl Default for Context {
    fn default() -> Context {
        Context::new()
    }
}

/// What a written value is.
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
