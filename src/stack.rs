//! Room for recursion on terms.

use native::address_space;
use std::cell::Cell;

/// The size of the large stack, in bytes: address space, not memory; only what is touched is mapped.
pub const LARGE_STACK: usize = 1 << 33;

thread_local! {
    static SIZE: Cell<usize> = const { Cell::new(LARGE_STACK) };
}

/// Returns the size of this thread's stack, if [`with_large_stack`] made it.
pub fn stack_size() -> usize {
    SIZE.get()
}

/// The part of the stack that native code may use, in bytes. Runaway recursion ends there, when it has touched all of
/// it. A reverse derivative of a million levels fits.
const NATIVE_STACK: u64 = 1 << 30;

/// Returns how many bytes of the stack of the thread at hand native code may use: at most half of it.
pub fn native_stack_size() -> u64 {
    NATIVE_STACK.min(stack_size() as u64 / 2)
}

/// The part of the stack that native code may use in comparisons with the interpreter, in bytes. It has room for as
/// many calls as the interpreter nests, of 6 KB each.
const COMPARED_STACK: u64 = 1 << 28;

/// Returns how many bytes of the stack native code may use where it is compared with the interpreter.
pub fn compared_stack_size() -> u64 {
    COMPARED_STACK.min(native_stack_size())
}

/// Runs `f` on a thread with a stack of 8 GiB, enough for every term that the reader's nesting limit
/// admits. Where the process may have less address space than 32 GiB, it is a quarter of that, and the limit is less in
/// proportion. A panic of `f` goes on in the caller.
///
/// Panics when the system gives no such thread.
pub fn with_large_stack<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    let size = address_space().map_or(LARGE_STACK, |bytes| LARGE_STACK.min((bytes / 4) as usize));
    let run = || {
        SIZE.set(size);
        f()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(size).spawn_scoped(scope, run);
        let result = thread.expect("the system gives a thread with a large stack").join();
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
