//! Assigns the chunks of a loop to workers.
//!
//! Each worker begins with a range of neighbouring chunks. Loops with equally many chunks have equal ranges. So memory
//! that a chunk wrote is still in its core's cache when the next loop, or call, uses it. A worker that is done takes
//! chunks that others have not begun.

use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};

/// The rest of each worker's share.
#[derive(Debug)]
pub(crate) struct Shares {
    shares: Box<[Share]>,
}

/// Alone on its lines of the cache, two of which may be fetched at once.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Share {
    /// The next chunk, or any after the end.
    next: AtomicI64,
    end: AtomicI64,
}

impl Shares {
    /// Returns empty shares for this many workers.
    pub(crate) fn new(workers: usize) -> Shares {
        Shares { shares: iter::repeat_with(Share::default).take(workers).collect() }
    }

    /// Divides the chunks of a loop. No worker may be taking chunks.
    pub(crate) fn begin(&self, chunks: i64) {
        for (worker, share) in self.shares.iter().enumerate() {
            let Range { start, end } = divided(chunks, worker, self.shares.len());
            share.next.store(start, Ordering::Relaxed);
            share.end.store(end, Ordering::Relaxed);
        }
    }

    /// Takes the chunks that a worker is to run: first those of its own share, then those of the shares behind it.
    pub(crate) fn take_chunks(&self, worker: usize) -> impl Iterator<Item = i64> {
        let (before, own) = self.shares.split_at(worker);
        own.iter().chain(before).flat_map(|share| iter::from_fn(|| share.take()))
    }
}

impl Share {
    fn take(&self) -> Option<i64> {
        let chunk = self.next.fetch_add(1, Ordering::Relaxed);
        (chunk < self.end.load(Ordering::Relaxed)).then_some(chunk)
    }
}

/// Returns one of some parts, whose lengths differ by one chunk at most.
fn divided(chunks: i64, part: usize, parts: usize) -> Range<i64> {
    let at = |part: usize| (i128::from(chunks) * part as i128 / parts as i128) as i64;
    at(part)..at(part + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_alone_runs_all_and_its_own_first() {
        let shares = Shares::new(3);
        for chunks in [0, 1, 2, 3, 7, i64::MAX] {
            shares.begin(chunks);
            let parts: Vec<_> = (0..3).map(|worker| divided(chunks, worker, 3)).collect();
            assert_eq!((parts[0].start, parts[2].end), (0, chunks));
            assert!(parts.windows(2).all(|parts| parts[0].end == parts[1].start));
            if chunks < 10 {
                let all = [1, 2, 0].into_iter().flat_map(|worker| parts[worker].clone());
                assert_eq!(shares.take_chunks(1).collect::<Vec<_>>(), all.collect::<Vec<_>>());
                assert_eq!(shares.take_chunks(0).next(), None);
            }
        }
    }

    #[test]
    fn shares_are_of_about_the_same_length() {
        let lengths = |chunks| (0..5).map(|part| divided(chunks, part, 5).count()).collect::<Vec<_>>();
        assert_eq!(lengths(3), [0, 1, 0, 1, 1]);
        assert_eq!(lengths(64), [12, 13, 13, 13, 13]);
    }
}
