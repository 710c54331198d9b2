//! Decides how long a thread spins on an event before it sleeps.
//!
//! The time is about that of a wake-up, 5 to 50 us. So waiting costs at most twice as much as with perfect foresight.
//! Most of that time, the thread yields to others that have work. If there are more threads than processors, threads
//! sleep at once, since a spinning thread would keep others from the work that it waits for.

use std::thread;
use std::time::{Duration, Instant};

const ALL: Duration = Duration::from_micros(50);
/// Until then the processor is not given away.
const ALONE: Duration = Duration::from_micros(5);
/// Looks between two looks at the clock.
const LOOKS: usize = 16;

/// Whether threads look before they sleep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    looks: bool,
}

impl Patience {
    /// Returns the patience for this many threads.
    pub(crate) fn for_threads(threads: usize) -> Patience {
        Patience { looks: thread::available_parallelism().is_ok_and(|processors| threads <= processors.get()) }
    }

    /// Looks until something has come, and tells whether it has.
    pub(crate) fn until(self, has_come: impl Fn() -> bool) -> bool {
        if has_come() || !self.looks {
            return has_come();
        }
        let begun = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if has_come() {
                    return true;
                }
                std::hint::spin_loop();
            }
            let waited = begun.elapsed();
            if waited >= ALL {
                return false;
            }
            if waited >= ALONE {
                thread::yield_now();
            }
        }
    }
}
