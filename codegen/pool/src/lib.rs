//! A pool of threads: what generated code may use to run the chunks of a loop.
//!
//! ```text
//! parallel_for(pool, body, env, chunks)   body(env, c, w) once for each c in 0..chunks, in any order; w < workers,
//!                                         and never the same for two that run at the same time
//! ```
//!
//! Generated code knows no threads, only such a function, in its context; any other will do as well. Results do not
//! depend on it: see `docs/codegen.md`. The interface for C is in `include/lmc_pool.h`.

mod c;
mod patience;
mod pool;
mod shares;

pub use pool::Pool;

use std::ffi::c_void;

/// Runs one chunk of a loop. Gets what the chunks share, the number of the chunk, and the number of the thread.
pub type Body = unsafe extern "C" fn(env: *mut c_void, chunk: i64, worker: i64);

/// Runs chunks 0 to one before the last argument.
pub type ParallelFor = unsafe extern "C" fn(pool: *mut c_void, body: Body, env: *mut c_void, chunks: i64);

/// `lmc_threads`: what a context says about threads. All zero: there are none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    /// Returns when all chunks are done.
    pub parallel_for: Option<ParallelFor>,
    /// Its first argument.
    pub pool: *mut c_void,
    /// How many chunks run at the same time, at most.
    pub workers: i64,
}

impl Threads {
    /// No threads: chunks run one after the other.
    pub const NONE: Threads = Threads { parallel_for: None, pool: std::ptr::null_mut(), workers: 0 };
}
