//! How long a thread looks for what it waits for before it sleeps.
//!
//! About as long as it takes to be woken, 5 to 50 us: so waiting costs at most twice what it would if the moment were
//! known beforehand. Most of that time others that have work go first. Where there are more threads than processors,
//! nobody looks: it would keep those from work that are waited for.

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
