//! Times for people.

/// Three digits and a unit; a dash where there is none.
pub fn shown(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else { return "-".to_string() };
    let units = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];
    let (unit, scale) = units.iter().find(|(_, scale)| seconds >= *scale).unwrap_or(&units[3]);
    let x = seconds / scale;
    let digits = if x < 10.0 { 2 } else { usize::from(x < 100.0) };
    format!("{x:.digits$} {unit}")
}
