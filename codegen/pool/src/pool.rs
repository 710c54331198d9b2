//! Holds the threads. The caller of a loop works, too: it is worker 0.
//!
//! Each worker begins with a share of its own, and then helps others with theirs (`shares`).
//!
//! One loop at a time has the threads. A second loop, from another thread or from inside of a chunk, runs all of its
//! chunks on its caller. So no loop waits for another one, and deadlock is impossible.
//!
//! A waiting thread spins for a while before it sleeps (`patience`). Often another loop follows soon, and waking a
//! thread takes as long as a short loop.

use crate::patience::Patience;
use crate::shares::Shares;
use crate::{Body, Threads};
use std::ffi::c_void;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Threads that wait for loops.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    patience: Patience,
    /// Held by the caller of the loop that has the threads.
    turn: Mutex<()>,
    state: Mutex<State>,
    /// How many loops there have been, and the end: changed under the lock of the state, looked at without.
    begun: AtomicU64,
    /// The helpers that are at the loop: likewise.
    active: AtomicUsize,
    /// The shares of the loop that has the threads.
    shares: Shares,
    /// There is a loop, or the end has come.
    wake: Condvar,
    /// The last helper has left a loop.
    left: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The loop, as long as chunks may be left to begin.
    job: Option<Job>,
    /// The helpers that sleep.
    asleep: usize,
    /// Whether the caller of the loop sleeps.
    caller_sleeps: bool,
    is_over: bool,
}

/// A loop. What is behind the pointer lives as long as its caller waits.
#[derive(Clone, Copy, Debug)]
struct Job {
    body: Body,
    env: *mut c_void,
}

// SAFETY: whoever gives the body and its environment to the pool says that chunks may run on any thread.
unsafe impl Send for Job {}

impl Job {
    /// Runs chunks, as long as there are.
    fn work(self, chunks: impl Iterator<Item = i64>, worker: i64) {
        for chunk in chunks {
            // SAFETY: each chunk runs once, and no two of them as the same worker at the same time.
            unsafe { (self.body)(self.env, chunk, worker) };
        }
    }
}

impl Pool {
    /// So many threads, the caller of a loop included; 0 is one for each processor.
    ///
    /// Errors: the system refuses a thread.
    pub fn new(threads: usize) -> io::Result<Pool> {
        let threads = if threads == 0 { thread::available_parallelism()?.get() } else { threads };
        let mut pool = Pool { shared: Arc::new(Shared::new(threads)), helpers: Vec::new() };
        for worker in 1..threads {
            let shared = pool.shared.clone();
            // Where one is refused, the pool goes, and ends the others.
            pool.helpers.push(thread::Builder::new().name("lmc".into()).spawn(move || shared.help(worker))?);
        }
        Ok(pool)
    }

    /// Returns the value to set in a context. It is valid as long as the pool.
    pub fn threads(&self) -> Threads {
        let pool = (&raw const *self.shared).cast_mut().cast();
        Threads { parallel_for: Some(parallel_for), pool, workers: self.helpers.len() as i64 + 1 }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_over = true;
        self.shared.announce(state);
        // A helper that panicked has printed its message. There is no caller to report it to.
        self.helpers.drain(..).for_each(|helper| drop(helper.join()));
    }
}

unsafe extern "C" fn parallel_for(pool: *mut c_void, body: Body, env: *mut c_void, chunks: i64) {
    // SAFETY: `Pool::threads` gave the pointer out, and the pool is there as long as it is used.
    let shared = unsafe { &*pool.cast::<Shared>() };
    let job = Job { body, env };
    match shared.turn.try_lock() {
        Ok(_turn) if chunks > 1 => shared.lead(job, chunks),
        _ => job.work(0..chunks, 0),
    }
}

impl Shared {
    fn new(threads: usize) -> Shared {
        Shared {
            patience: Patience::for_threads(threads),
            turn: Mutex::default(),
            state: Mutex::default(),
            begun: AtomicU64::new(0),
            active: AtomicUsize::new(0),
            shares: Shares::new(threads),
            wake: Condvar::new(),
            left: Condvar::new(),
        }
    }

    /// Locks the state. Code with the lock cannot panic, so the state is consistent even after a panic elsewhere.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the helpers that there is something in the state for them; those that sleep cost a call of the system.
    fn announce(&self, state: MutexGuard<'_, State>) {
        self.begun.fetch_add(1, Ordering::Release);
        let asleep = state.asleep;
        drop(state);
        if asleep > 0 {
            self.wake.notify_all();
        }
    }

    /// The caller's part of a loop.
    fn lead(&self, job: Job, chunks: i64) {
        let mut state = self.state();
        self.shares.begin(chunks);
        state.job = Some(job);
        self.announce(state);
        job.work(self.shares.take_chunks(0), 0);
        // Who has not begun by now is not waited for.
        self.state().job = None;
        if self.patience.until(|| self.active.load(Ordering::Acquire) == 0) {
            return;
        }
        let mut state = self.state();
        state.caller_sleeps = true;
        while self.active.load(Ordering::Acquire) > 0 {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.caller_sleeps = false;
    }

    /// The life of another worker: it joins each loop at most once.
    fn help(&self, worker: usize) {
        let mut seen = 0;
        loop {
            let has_come = || self.begun.load(Ordering::Acquire) != seen;
            self.patience.until(has_come);
            let mut state = self.state();
            while !has_come() {
                state.asleep += 1;
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.asleep -= 1;
            }
            seen = self.begun.load(Ordering::Acquire);
            if state.is_over {
                return;
            }
            let Some(job) = state.job else { continue };
            self.active.fetch_add(1, Ordering::Relaxed);
            drop(state);
            job.work(self.shares.take_chunks(worker), worker as i64);
            // The caller may go on once this is 0: what the chunks wrote is to be there.
            if self.active.fetch_sub(1, Ordering::Release) == 1 && self.state().caller_sleeps {
                self.left.notify_all();
            }
        }
    }
}
