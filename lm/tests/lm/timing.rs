//! Times of steps are added up.

use lm::timing::{Row, Timings};
use std::time::Duration;

#[test]
fn clones_share_the_table() {
    let timings = Timings::default();
    timings.clone().add("b", Duration::from_millis(2));
    assert_eq!(timings.time("a", || 7), 7);
    timings.add("b", Duration::from_millis(3));
    let rows = timings.rows();
    assert_eq!(rows[0], ("b", Row { count: 2, time: Duration::from_millis(5) }));
    assert_eq!((rows[1].0, rows[1].1.count), ("a", 1));
}
