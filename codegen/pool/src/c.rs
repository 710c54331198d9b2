//! The pool as C has it: `include/lmc_pool.h`.

use crate::{Pool, Threads};

/// `lmc_pool_create`: a pool of so many threads, 0 for one per processor; null where that fails.
#[unsafe(no_mangle)]
pub extern "C" fn lmc_pool_create(threads: i64) -> *mut Pool {
    let Ok(threads) = usize::try_from(threads) else { return std::ptr::null_mut() };
    match Pool::new(threads) {
        Ok(pool) => Box::into_raw(Box::new(pool)),
        Err(_) => std::ptr::null_mut(),
    }
}

/// `lmc_pool_threads`: what to set in a context; none for null.
///
/// # Safety
///
/// The pool comes from [`lmc_pool_create`] and is not freed yet, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lmc_pool_threads(pool: *mut Pool) -> Threads {
    // SAFETY: as the caller promises.
    unsafe { pool.as_ref() }.map_or(Threads::NONE, Pool::threads)
}

/// `lmc_pool_free`: ends the threads.
///
/// # Safety
///
/// As for [`lmc_pool_threads`], and the pool is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lmc_pool_free(pool: *mut Pool) {
    if !pool.is_null() {
        // SAFETY: it is the box that was given out, and comes back once.
        drop(unsafe { Box::from_raw(pool) });
    }
}
