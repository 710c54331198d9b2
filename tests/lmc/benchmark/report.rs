//! How measurements are written.

use lmc::benchmark::Entry;
use lmc::benchmark::report::{Row, heading, line, seconds_in_words, three_digits};
use lmc::benchmark::samples::Samples;
use loops::analyses::counts::{Counts, Work};
use native::Peaks;

/// What the table shows of a number of calls.
fn amount(number: u64) -> String {
    let mut counts = Counts::default();
    counts[Work::Calls] = number;
    let samples = Samples::new(vec![1.0]);
    let row = Row { size: None, entry: Entry::Primal, samples, ratio: 1.0, counts, loops: None };
    let peaks = Peaks { operations: 1.0, lanes: 1, bytes: 1.0, arrays: 1, cached_bytes: 1.0 };
    let column = "calls";
    let end = heading().find(column).expect("the table has the column") + column.len();
    let shown = line(&row, &peaks)[..end].rsplit(' ').next().map(String::from);
    shown.expect("there is a last word")
}

#[test]
fn numbers_have_three_digits() {
    let times = [1.5, 0.9996, 0.0123, 4.567e-6, 9.996e-7, 2.5e-9, 1e-12].map(seconds_in_words);
    assert_eq!(times, ["1.50 s", "1.00 s", "12.3 ms", "4.57 us", "1.00 us", "2.50 ns", "0.00 ns"]);
    assert_eq!([0, 9_999, 10_000, 1_234_567, 25_000_000_000].map(amount), ["0", "9999", "10.0k", "1.23M", "25.0G"]);
    assert_eq!([9.994, 9.996, 99.96].map(three_digits), ["9.99", "10.0", "100"]);
}
