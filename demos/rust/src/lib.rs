//! What the headers that lmc writes have in common: the context of a call and the error in it.

use std::ffi::{CStr, c_char, c_void};
use std::mem::zeroed;

/// `lmc_context` of the header.
#[repr(C)]
pub struct Context {
    user: *mut c_void,
    write: Option<unsafe extern "C" fn(*mut c_void, i32, f64, i64, *const c_char)>,
    stack_bytes: u64,
    arena: Arena,
    threads: Threads,
    error: Error,
}

/// `lmc_arena` of the header: for functions on arrays. Others never reserve anything here.
#[repr(C)]
struct Arena {
    base: *mut c_void,
    bytes: u64,
    peak: u64,
    owned: u64,
    reserved: u64,
}

/// `lmc_threads` of the header: none here.
#[repr(C)]
struct Threads {
    parallel_for: Option<unsafe extern "C" fn(*mut c_void, Body, *mut c_void, i64)>,
    pool: *mut c_void,
    workers: i64,
}

type Body = unsafe extern "C" fn(*mut c_void, i64, i64);

/// `lmc_error` of the header: the error of the last call that did not return 0.
#[repr(C)]
struct Error {
    code: i32,
    line: i32,
    column: i32,
    start: u32,
    end: u32,
    count: u32,
    number: [i64; 15],
    message: *const c_char,
    file: *const c_char,
}

impl Context {
    /// A context without callbacks, with the default stack; nothing is reserved yet.
    pub fn new() -> Context {
        // SAFETY: zero is a value of every field.
        unsafe { zeroed() }
    }

    /// The status of the last call with this context that failed, where in the program, and why.
    pub fn failure(&self) -> String {
        let error = &self.error;
        if error.code == 0 {
            return "no call failed".to_string();
        }
        // SAFETY: the error was filled by a call that failed; its texts are constants of the library.
        let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy();
        let (file, message) = (text(error.file), text(error.message));
        format!("status {}, {file}:{}:{}: {message}", error.code, error.line, error.column)
    }
}

impl Default for Context {
    fn default() -> Context {
        Context::new()
    }
}
