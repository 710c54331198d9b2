//! Times of calls, taken in turns.
//!
//! A sample is the mean of a batch of calls, as many as take about a millisecond; a round is a sample of each. So what
//! else the machine does at some time touches all of them, and the ratio of two is the median of the ratios within
//! rounds. Times vary by more than their clock, and upwards only: medians and quartiles say it, means would not.

use std::time::{Duration, Instant};

/// The least time of a batch.
pub const BATCH: Duration = Duration::from_millis(1);

/// The extent of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds, at least.
    pub rounds: usize,
    /// Rounds go on for so long.
    pub time: Duration,
}

/// The samples of one call, in seconds, one for each round.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Panics when there are none.
    pub fn new(seconds: Vec<f64>) -> Samples {
        assert!(!seconds.is_empty(), "there is a round");
        Samples(seconds)
    }

    /// Returns the number of samples.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Half of the samples are less.
    pub fn median(&self) -> f64 {
        quantile(&self.0, 0.5)
    }

    /// Between them lies the middle half of the samples.
    pub fn quartiles(&self) -> [f64; 2] {
        [0.25, 0.75].map(|part| quantile(&self.0, part))
    }

    /// Returns the median of the ratios to the samples of the same rounds. Dimensionless.
    pub fn ratio(&self, to: &Samples) -> f64 {
        let ratios: Vec<f64> = self.0.iter().zip(&to.0).map(|(a, b)| a / b).collect();
        quantile(&ratios, 0.5)
    }
}

/// Interpolated between neighbours in order.
fn quantile(numbers: &[f64], part: f64) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = part * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

/// Measures the calls.
///
/// Errors: the first of a call; then the others are not called any more.
pub fn in_turns<E>(calls: &mut [impl FnMut() -> Result<(), E>], effort: Effort) -> Result<Vec<Samples>, E> {
    let batches = calls.iter_mut().map(batch_size).collect::<Result<Vec<_>, E>>()?;
    let mut seconds = vec![Vec::new(); calls.len()];
    let start = Instant::now();
    while seconds[0].len() < effort.rounds || start.elapsed() < effort.time {
        for ((call, batch), seconds) in calls.iter_mut().zip(&batches).zip(&mut seconds) {
            seconds.push(time_batch(call, *batch)?.as_secs_f64() / *batch as f64);
        }
    }
    Ok(seconds.into_iter().map(Samples::new).collect())
}

/// Returns the number of calls in a batch. Ignores the first calls, which touch memory for the first time.
fn batch_size<E>(call: &mut impl FnMut() -> Result<(), E>) -> Result<u64, E> {
    let mut size = 1;
    call()?;
    while time_batch(call, size)? < BATCH {
        size *= 2;
    }
    Ok(size)
}

fn time_batch<E>(call: &mut impl FnMut() -> Result<(), E>, times: u64) -> Result<Duration, E> {
    let start = Instant::now();
    for _ in 0..times {
        call()?;
    }
    Ok(start.elapsed())
}
