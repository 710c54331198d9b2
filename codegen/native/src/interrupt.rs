//! Defers SIGINT and SIGTERM while there are temporary files, so that an interrupted compile leaves none.
//!
//! ```text
//! Deferred::new()    a signal is noted, and ends the linker that runs
//! drop               the signals have their old effect again, and the one that was noted is raised
//! ```

use std::io;
use std::process::{Child, Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;
const DEFERRED: [i32; 2] = [SIGINT, SIGTERM];

/// The result of `signal` for a handler that cannot be set.
const REFUSED: usize = usize::MAX;

/// The handler of a signal that the process ignores, as shells start what runs in the background.
const IGNORED: usize = 1;

unsafe extern "C" {
    fn signal(number: i32, handler: usize) -> usize;
    fn raise(number: i32) -> i32;
    fn kill(process: i32, number: i32) -> i32;
}

/// The signal that came last, or 0.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// The processes to end when a signal comes, or 0. One that finds no free place runs to its end.
static CHILDREN: [AtomicI32; 64] = [const { AtomicI32::new(0) }; 64];

/// The values that defer signals at the moment, and the handlers from before.
static STATE: Mutex<(usize, [usize; 2])> = Mutex::new((0, [0; 2]));

/// Does only what a signal handler may do.
extern "C" fn note(number: i32) {
    CAUGHT.store(number, Ordering::SeqCst);
    for child in &CHILDREN {
        end(child.load(Ordering::SeqCst), number);
    }
}

fn end(child: i32, number: i32) {
    if child > 0 {
        // SAFETY: `kill` takes any numbers. A process that has ended since is an error, which changes nothing.
        unsafe { kill(child, number) };
    }
}

/// Sets the handler for a signal, unless the process ignores it. Returns the handler from before.
fn defer(number: i32) -> usize {
    // SAFETY: the handler only stores a number and calls `kill`, which handlers may do.
    let before = unsafe { signal(number, note as extern "C" fn(i32) as usize) };
    if before == IGNORED {
        // SAFETY: this was the handler before.
        unsafe { signal(number, IGNORED) };
    }
    before
}

/// As long as a value of this type is there, SIGINT and SIGTERM wait.
pub(crate) struct Deferred(());

impl Deferred {
    /// Starts to defer.
    pub(crate) fn new() -> Deferred {
        let mut state = STATE.lock().expect("nothing panics while it is locked");
        if state.0 == 0 {
            state.1 = DEFERRED.map(defer);
        }
        state.0 += 1;
        Deferred(())
    }

    /// Runs a command, which a signal ends.
    pub(crate) fn output(&self, command: &mut Command) -> io::Result<Output> {
        let piped = command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
        let child = piped.stderr(std::process::Stdio::piped()).spawn()?;
        self.wait(child)
    }

    fn wait(&self, child: Child) -> io::Result<Output> {
        let id = child.id() as i32;
        let free = |place: &&AtomicI32| place.compare_exchange(0, id, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        let place = CHILDREN.iter().find(free);
        // A signal may have come before the number of the process was known.
        match CAUGHT.load(Ordering::SeqCst) {
            0 => {}
            number => end(id, number),
        }
        let output = child.wait_with_output();
        if let Some(place) = place {
            place.store(0, Ordering::SeqCst);
        }
        output
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        let mut state = STATE.lock().expect("nothing panics while it is locked");
        state.0 -= 1;
        if state.0 > 0 {
            return;
        }
        for (number, before) in DEFERRED.into_iter().zip(state.1).filter(|(_, before)| *before != REFUSED) {
            // SAFETY: this was the handler before.
            unsafe { signal(number, before) };
        }
        match CAUGHT.swap(0, Ordering::SeqCst) {
            0 => {}
            number => {
                // SAFETY: it is the number of a signal that came.
                let _ = unsafe { raise(number) };
            }
        }
    }
}
