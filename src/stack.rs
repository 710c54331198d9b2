//! Room for recursion on terms.

/// The size of the large stack, in bytes: address space, not memory; only what is touched is mapped.
pub const LARGE_STACK: usize = 1 << 33;

/// Runs `f` on a thread with a stack of 8 GiB, enough for every term that the reader's nesting limit
/// admits. A panic of `f` goes on in the caller.
///
/// Panics when the system gives no such thread.
pub fn with_large_stack<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(LARGE_STACK).spawn_scoped(scope, f);
        let result = thread.expect("the system gives a thread with a stack of 8 GiB").join();
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
