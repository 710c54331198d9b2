//! The clocks: wall time, or the processor's time for us.

use std::time::{Duration, Instant};

/// A way to measure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Time.
    Wall,
    /// Processor time of the process: what else the machine does counts less. For one thread only.
    Processor,
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

impl Clock {
    /// Returns its name in tables and in messages to contenders in Python.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Wall => "time",
            Clock::Processor => "processor time",
        }
    }

    /// Measures the time of a call. Errors: those of the call.
    pub fn time<E>(self, work: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
        match self {
            Clock::Wall => {
                let start = Instant::now();
                work().map(|()| start.elapsed())
            }
            Clock::Processor => {
                let start = processor_time();
                work().map(|()| processor_time() - start)
            }
        }
    }
}

fn processor_time() -> Duration {
    const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the place is one for a time.
    let status = unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "Linux has this clock");
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}
