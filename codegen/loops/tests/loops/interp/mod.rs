//! The interpreter of loops, and passes against it: loops do the same before and after.

mod compare;
mod draw;
mod faults;
mod files;
mod planted;
mod statements;

/// Runs a test on a stack that calls nested as deep as `Options` admits have room on.
fn with_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(test).expect("there is a thread");
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
