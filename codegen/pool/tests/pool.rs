//! Every chunk runs once, workers are told apart, loops inside of loops and beside others end.

use lmc_pool::{Body, Pool, Threads};
use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

/// Runs chunks of a closure.
fn run<F: Fn(i64, i64) + Sync>(threads: Threads, chunks: i64, f: F) {
    unsafe extern "C" fn body<F: Fn(i64, i64) + Sync>(env: *mut c_void, chunk: i64, worker: i64) {
        // SAFETY: `run` gave the closure.
        unsafe { (*env.cast::<F>())(chunk, worker) }
    }
    let body: Body = body::<F>;
    let parallel_for = threads.parallel_for.expect("a pool has one");
    // SAFETY: the closure lives until all chunks are done, and may be called from any thread.
    unsafe { parallel_for(threads.pool, body, (&raw const f).cast_mut().cast(), chunks) }
}

#[test]
fn each_chunk_runs_once() {
    for threads in 1..5 {
        let pool = Pool::new(threads).expect("there are threads");
        assert_eq!(pool.threads().workers, threads as i64);
        for chunks in [0, 1, 2, 7, 64, 1000] {
            let counts: Vec<AtomicUsize> = (0..chunks).map(|_| AtomicUsize::new(0)).collect();
            run(pool.threads(), chunks, |chunk, _| {
                counts[chunk as usize].fetch_add(1, Ordering::Relaxed);
            });
            let counts: Vec<usize> = counts.into_iter().map(AtomicUsize::into_inner).collect();
            assert_eq!(counts, vec![1; chunks as usize]);
        }
    }
}

#[test]
fn no_worker_has_two_chunks_at_a_time() {
    let pool = Pool::new(4).expect("there are threads");
    for _ in 0..200 {
        let at_work: [AtomicI64; 4] = Default::default();
        run(pool.threads(), 50, |_, worker| {
            let own = &at_work[worker as usize];
            assert_eq!(own.fetch_add(1, Ordering::Relaxed), 0);
            std::hint::spin_loop();
            own.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

#[test]
fn all_workers_work() {
    // Each chunk waits until every other one runs as well: that ends only if there are as many threads.
    let pool = Pool::new(3).expect("there are threads");
    let begun = AtomicUsize::new(0);
    run(pool.threads(), 3, |_, _| {
        begun.fetch_add(1, Ordering::SeqCst);
        while begun.load(Ordering::SeqCst) < 3 {
            std::thread::yield_now();
        }
    });
}

#[test]
fn loops_inside_of_chunks_end() {
    let pool = Pool::new(3).expect("there are threads");
    let count = AtomicUsize::new(0);
    run(pool.threads(), 8, |_, _| {
        run(pool.threads(), 8, |_, worker| {
            assert_eq!(worker, 0, "the threads are busy");
            count.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(count.into_inner(), 64);
}

#[test]
fn callers_share_a_pool() {
    let pool = Pool::new(2).expect("there are threads");
    let threads = pool.threads();
    let (address, parallel_for) = (threads.pool as usize, threads.parallel_for);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                let threads = Threads { parallel_for, pool: address as *mut c_void, workers: 2 };
                for _ in 0..200 {
                    let sum = AtomicI64::new(0);
                    run(threads, 20, |chunk, _| {
                        sum.fetch_add(chunk, Ordering::Relaxed);
                    });
                    assert_eq!(sum.into_inner(), 190);
                }
            });
        }
    });
}

#[test]
fn threads_that_sleep_are_woken() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let pause = std::time::Duration::from_millis(2);
    // With one more than there are processors nobody looks before it sleeps.
    for threads in [2, processors, processors + 1] {
        let pool = Pool::new(threads).expect("there are threads");
        for _ in 0..5 {
            std::thread::sleep(pause);
            let begun = AtomicUsize::new(0);
            let ended = AtomicUsize::new(0);
            run(pool.threads(), threads as i64, |_, worker| {
                begun.fetch_add(1, Ordering::SeqCst);
                while begun.load(Ordering::SeqCst) < threads {
                    std::thread::yield_now();
                }
                // The caller has nothing left to do, and sleeps, too.
                if worker != 0 {
                    std::thread::sleep(pause);
                }
                ended.fetch_add(1, Ordering::SeqCst);
            });
            assert_eq!(ended.into_inner(), threads);
        }
    }
}
