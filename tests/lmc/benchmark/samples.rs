//! Times of calls: what is computed from them, and how the calls take turns.

use lmc::benchmark::samples::{BATCH, Effort, Samples, in_turns};
use std::cell::RefCell;
use std::time::Duration;

#[test]
fn medians_quartiles_and_ratios() {
    let samples = Samples::new(vec![4.0, 1.0, 3.0, 2.0]);
    assert_eq!((samples.median(), samples.quartiles()), (2.5, [1.75, 3.25]));
    assert_eq!(Samples::new(vec![7.0]).quartiles(), [7.0, 7.0]);
    // Within rounds: 4/1, 1/2, 3/3, not 2.5 / 2.
    assert_eq!(Samples::new(vec![4.0, 1.0, 3.0]).ratio(&Samples::new(vec![1.0, 2.0, 3.0])), 1.0);
}

/// Calls that take longer than a batch are called one by one, in turns.
#[test]
fn calls_take_turns() {
    let order = RefCell::new(String::new());
    let call = |name: char| {
        let order = &order;
        move || -> Result<(), ()> {
            std::thread::sleep(BATCH);
            order.borrow_mut().push(name);
            Ok(())
        }
    };
    let mut calls = [call('a'), call('b')];
    let samples = in_turns(&mut calls, Effort { rounds: 3, time: Duration::ZERO }).expect("none fails");
    assert_eq!(*order.borrow(), "aabbababab");
    assert!(samples.iter().all(|samples| samples.count() == 3 && samples.median() >= BATCH.as_secs_f64()));
}

#[test]
fn short_calls_are_called_in_batches() {
    let mut count = 0u64;
    let mut calls = [|| -> Result<(), ()> {
        count += 1;
        Ok(())
    }];
    let samples = in_turns(&mut calls, Effort { rounds: 10, time: Duration::ZERO }).expect("none fails");
    assert_eq!(samples[0].count(), 10);
    assert!(count > 1_000, "{count} calls");
}

#[test]
fn the_first_error_ends_it() {
    let mut left = 3;
    let mut calls = [|| {
        left -= 1;
        if left > 0 { Ok(()) } else { Err("stopped") }
    }];
    assert_eq!(in_turns(&mut calls, Effort { rounds: 10, time: Duration::ZERO }), Err("stopped"));
    assert_eq!(left, 0);
}
