//! Reports measurements as a table or as JSON.

use super::Entry;
use super::explained::{self, LoopRow};
use super::samples::Samples;
use loops::analyses::counts::{Counts, Work};
use native::Peaks;

/// The facts that all rows share.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The function.
    pub function: &'a str,
    /// A few words on its arguments.
    pub input: &'a str,
    /// The way to the derivatives.
    pub derivation: &'a str,
    /// The number of threads; 0 means one per processor.
    pub threads: usize,
}

/// The measurements of one entry at one size.
#[derive(Clone, Debug)]
pub struct Row {
    /// The size, where there is one.
    pub size: Option<u32>,
    /// The function that was called.
    pub entry: Entry,
    /// Its times.
    pub samples: Samples,
    /// The median of the ratios to the primal.
    pub ratio: f64,
    /// The counts of its loops in one call.
    pub counts: Counts,
    /// Its loops, where they are explained.
    pub loops: Option<Loops>,
}

/// The loops of an entry.
#[derive(Clone, Debug)]
pub struct Loops {
    /// Those that take a part of the call worth telling.
    pub rows: Vec<LoopRow>,
    /// How many others there are, those in loops aside.
    pub others: usize,
}

impl Row {
    /// Floating-point operations in a second.
    fn operations(&self) -> f64 {
        self.counts.operations() as f64 / self.samples.median()
    }

    /// Bytes loaded and stored in a second.
    fn bytes(&self) -> f64 {
        self.counts.bytes() as f64 / self.samples.median()
    }
}

/// Returns the head of the table.
pub fn heading() -> String {
    columns("n", "entry", "median", "quartiles", "ratio", ["flop", "calls", "bytes"], ["GFLOP/s", "GB/s"])
}

/// Returns a line of the table.
pub fn line(row: &Row, peaks: &Peaks) -> String {
    let [low, high] = row.samples.quartiles().map(seconds_in_words);
    let counted = [row.counts.operations(), row.counts[Work::Calls], row.counts.bytes()].map(amount);
    let rate = |rate: f64, peak: f64| {
        if rate == 0.0 { "-".into() } else { format!("{} ({:.0}%)", three_digits(rate / 1e9), 100.0 * rate / peak) }
    };
    let rates = [rate(row.operations(), peaks.operations), rate(row.bytes(), peaks.bytes)];
    let size = row.size.map_or("-".into(), |size| size.to_string());
    columns(
        &size,
        row.entry.name(),
        &seconds_in_words(row.samples.median()),
        &format!("{low} .. {high}"),
        &three_digits(row.ratio),
        counted.each_ref().map(String::as_str),
        rates.each_ref().map(String::as_str),
    )
}

fn columns(
    size: &str,
    entry: &str,
    median: &str,
    quartiles: &str,
    ratio: &str,
    counts: [&str; 3],
    rates: [&str; 2],
) -> String {
    let [operations, calls, bytes] = counts;
    let [speed, traffic] = rates;
    format!(
        "{size:>8}  {entry:<6}  {median:>8}  {quartiles:<20}  {ratio:>5}  {operations:>7}  {calls:>7}  {bytes:>7}  \
         {speed:>12}  {traffic:>12}"
    )
}

/// Returns the table of an entry's loops.
pub fn loops(row: &Row) -> Option<String> {
    let Loops { rows, others } = row.loops.as_ref()?;
    let call = row.samples.median();
    let size = row.size.map_or(String::new(), |size| format!(" at n = {size}"));
    let mut lines = vec![String::new(), explained::heading(&format!("{}{size}", row.entry.name()))];
    lines.extend(rows.iter().map(|one| explained::line(one, call)));
    if rows.is_empty() && *others == 0 {
        lines.push(format!("{:>10}", "no loops"));
    }
    if *others > 0 {
        lines.push(format!("{:>10}  outer loops took less than {}% each", others, 100.0 * explained::PART));
    }
    Some(lines.join("\n"))
}

/// Returns the lines below the table.
pub fn peaks(peaks: &Peaks) -> String {
    let [operations, bytes, cached] =
        [peaks.operations, peaks.bytes, peaks.cached_bytes].map(|x| three_digits(x / 1e9));
    let (lanes, arrays) = (peaks.lanes, peaks.arrays / 1_000_000);
    format!(
        "100% is what one core did in this run: {operations} GFLOP/s (fused operations on vectors of {lanes}),\n\
         {bytes} GB/s from and to memory (triad on arrays of {arrays} MB); from and to the first cache, {cached} GB/s"
    )
}

/// Everything as one JSON object on a line. Times are in seconds, rates per second.
pub fn json(setting: &Setting, peaks: &Peaks, rows: &[Row]) -> String {
    let Setting { function, input, derivation, threads } = setting;
    let Peaks { operations, lanes, bytes, arrays, cached_bytes } = peaks;
    let rows: Vec<String> = rows.iter().map(json_row).collect();
    format!(
        "{{\"function\":{},\"input\":{},\"derivation\":{},\"threads\":{threads},\
         \"peaks\":{{\"operations\":{operations:e},\"lanes\":{lanes},\
         \"bytes\":{bytes:e},\"arrays\":{arrays},\"cached_bytes\":{cached_bytes:e}}},\"rows\":[{}]}}\n",
        serde_json::Value::from(*function),
        serde_json::Value::from(*input),
        serde_json::Value::from(*derivation),
        rows.join(",")
    )
}

fn json_row(row: &Row) -> String {
    let size = row.size.map_or("null".into(), |size| size.to_string());
    let [low, high] = row.samples.quartiles();
    let loops = row.loops.as_ref().map_or(String::new(), |loops| {
        let rows: Vec<String> = loops.rows.iter().map(explained::json).collect();
        format!(",\"loops\":[{}]", rows.join(","))
    });
    let counts: Vec<String> =
        Work::ALL.iter().map(|work| format!("\"{}\":{}", work.name(), row.counts[*work])).collect();
    format!(
        "{{\"n\":{size},\"entry\":{},\"samples\":{},\"median\":{:e},\"lower_quartile\":{low:e},\
         \"upper_quartile\":{high:e},\"ratio\":{:e},\"counts\":{{{}}},\"operations_per_second\":{:e},\
         \"bytes_per_second\":{:e}{loops}}}",
        serde_json::Value::from(row.entry.name()),
        row.samples.count(),
        row.samples.median(),
        row.ratio,
        counts.join(","),
        row.operations(),
        row.bytes()
    )
}

/// Three digits and a unit.
pub fn seconds_in_words(seconds: f64) -> String {
    with_unit(seconds, &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)], " ")
}

/// Three digits and a letter for thousands, millions and so on; small numbers as they are.
fn amount(number: u64) -> String {
    const UNITS: [(&str, f64); 4] = [("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)];
    if number < 10_000 { number.to_string() } else { with_unit(number as f64, &UNITS, "") }
}

/// In the largest unit that the number reaches, else the smallest.
fn with_unit(number: f64, units: &[(&str, f64)], space: &str) -> String {
    // 999.7 of a unit is shown as 1.00 of the next.
    let reached = units.iter().find(|(_, scale)| number >= 0.9995 * scale);
    let (unit, scale) = reached.unwrap_or(&units[units.len() - 1]);
    format!("{}{space}{unit}", three_digits(number / scale))
}

/// Returns `1.23`, `12.3`, `123`.
pub fn three_digits(x: f64) -> String {
    let digits = [(9.995, 2), (99.95, 1)].iter().find(|(limit, _)| x < *limit).map_or(0, |(_, digits)| *digits);
    format!("{x:.digits$}")
}
