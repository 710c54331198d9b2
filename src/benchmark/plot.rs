//! A picture of time against size, as SVG: both axes logarithmic, so that a power of the size is a straight line and a
//! constant ratio a constant distance. A bar at each point reaches from the lower to the upper quartile.

use super::report::{Row, Setting, seconds_in_words, three_digits};
use std::fmt::Write;

/// The times of one function.
#[derive(Clone, Debug)]
pub struct Line {
    /// The label in the legend.
    pub label: String,
    /// By size, from the smallest on.
    pub points: Vec<Point>,
}

/// A time at a size.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The size, more than 0.
    pub size: u64,
    /// The lower quartile, in seconds.
    pub low: f64,
    /// The median, in seconds.
    pub median: f64,
    /// The upper quartile, in seconds.
    pub high: f64,
    /// The ratio to the function's time.
    pub ratio: f64,
}

/// Returns a line for each entry, its title for a label. Rows without a size are left out.
pub fn lines(rows: &[Row]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let Some(size) = row.size else { continue };
        let [low, high] = row.samples.quartiles();
        let point = Point { size: size.into(), low, median: row.samples.median(), high, ratio: row.ratio };
        match lines.iter_mut().find(|line| line.label == row.entry.title()) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { label: row.entry.title().to_string(), points: vec![point] }),
        }
    }
    lines
}

/// Colours that stay apart for people who confuse some (Okabe and Ito), and on paper without colour marks do.
const COLOURS: [&str; 5] = ["#0072b2", "#009e73", "#d55e00", "#e69f00", "#cc79a7"];

const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 416.0;

/// Returns the picture. The first line is the base of comparisons.
///
/// Panics when there is no line, or one without points.
pub fn svg(setting: &Setting, lines: &[Line]) -> String {
    let title = format!("{}: time against size", setting.function);
    let threads = match setting.threads {
        0 => "a thread for each processor".to_string(),
        1 => "one thread".to_string(),
        several => format!("{several} threads"),
    };
    let subtitle = format!("{}; {}, {threads}; medians and quartiles", setting.input, setting.derivation);
    let points = || lines.iter().flat_map(|line| &line.points);
    let sizes: Vec<u64> = lines[0].points.iter().map(|point| point.size).collect();
    let least = points().map(|p| p.low).fold(f64::INFINITY, f64::min);
    let most = points().map(|p| p.high).fold(0.0, f64::max);
    let across = Axis::padded(sizes[0] as f64, sizes[sizes.len() - 1] as f64, [LEFT, RIGHT]);
    let up = Axis::padded(least, most, [BOTTOM, TOP]);
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\">\n\
         <title>{}</title>\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n",
        escaped(&title)
    );
    text(&mut out, [LEFT, 28.0], "font-size=\"16\" font-weight=\"bold\"", &title);
    text(&mut out, [LEFT, 48.0], "fill=\"#555555\"", &subtitle);
    size_axis(&mut out, &across, &sizes);
    time_axis(&mut out, &up);
    lines.iter().enumerate().for_each(|(i, line)| curve(&mut out, i, line, &across, &up));
    legend(&mut out, lines, &up);
    out.push_str("</svg>\n");
    out
}

/// A logarithmic axis.
struct Axis {
    values: [f64; 2],
    places: [f64; 2],
}

impl Axis {
    /// From somewhat less than `least` to somewhat more than `most`.
    fn padded(least: f64, most: f64, places: [f64; 2]) -> Axis {
        let pad = (most / least).powf(0.05).max(1.1);
        Axis { values: [least / pad, most * pad], places }
    }

    fn place(&self, value: f64) -> f64 {
        let [from, to] = self.values;
        let [start, end] = self.places;
        start + (end - start) * (value / from).ln() / (to / from).ln()
    }

    /// Round numbers on the axis: powers of ten, or so few of them, also 2 and 5 times these.
    fn ticks(&self) -> Vec<f64> {
        let [from, to] = self.values;
        let steps = |factors: &[f64]| -> Vec<f64> {
            let powers = (from.log10().floor() as i32..=to.log10().ceil() as i32).map(|k| 10f64.powi(k));
            let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * power));
            all.filter(|x| (from..=to).contains(x)).collect()
        };
        let choices = [&[1.0][..], &[1.0, 3.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]];
        choices.into_iter().map(steps).find(|ticks| ticks.len() >= 4).unwrap_or_else(|| vec![from, to])
    }
}

fn size_axis(out: &mut String, across: &Axis, sizes: &[u64]) {
    // The sizes themselves where there is room for them.
    const ROOM: f64 = 52.0;
    let measured: Vec<f64> = sizes.iter().map(|size| *size as f64).collect();
    let fits = measured.windows(2).all(|pair| across.place(pair[1]) - across.place(pair[0]) >= ROOM);
    for size in if fits { measured } else { across.ticks() } {
        let x = across.place(size);
        stroke(out, [x, TOP], [x, BOTTOM], "#e4e4e4");
        text(out, [x, BOTTOM + 20.0], "text-anchor=\"middle\"", &grouped(size.round() as u64));
    }
    stroke(out, [LEFT, BOTTOM], [RIGHT, BOTTOM], "#333333");
    text(out, [(LEFT + RIGHT) / 2.0, BOTTOM + 46.0], "text-anchor=\"middle\"", "size n");
}

fn time_axis(out: &mut String, up: &Axis) {
    for time in up.ticks() {
        let y = up.place(time);
        stroke(out, [LEFT, y], [RIGHT, y], "#e4e4e4");
        // Round numbers need no digits behind the point: 1.00 ms, 15.0 ms.
        let words = micro(&seconds_in_words(time)).replace(".00", "").replace(".0 ", " ");
        text(out, [LEFT - 8.0, y + 4.5], "text-anchor=\"end\"", &words);
    }
    stroke(out, [LEFT, TOP], [LEFT, BOTTOM], "#333333");
    let middle = (TOP + BOTTOM) / 2.0;
    let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 16 {middle})\"");
    text(out, [16.0, middle], &turned, "time of a call");
}

fn curve(out: &mut String, number: usize, line: &Line, across: &Axis, up: &Axis) {
    let colour = COLOURS[number % COLOURS.len()];
    let place = |point: &Point| [across.place(point.size as f64), up.place(point.median)];
    let corners: Vec<String> = line.points.iter().map(place).map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        corners.join(" ")
    );
    for point in &line.points {
        let [x, y] = place(point);
        stroke(out, [x, up.place(point.low)], [x, up.place(point.high)], colour);
        mark(out, number, [x, y]);
    }
}

/// A shape of its own for each line.
fn mark(out: &mut String, number: usize, [x, y]: [f64; 2]) {
    let colour = COLOURS[number % COLOURS.len()];
    let corners: &[[f64; 2]] = match number % COLOURS.len() {
        0 => {
            let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>");
            return;
        }
        1 => &[[-4.0, -4.0], [4.0, -4.0], [4.0, 4.0], [-4.0, 4.0]],
        2 => &[[0.0, -5.0], [5.0, 4.0], [-5.0, 4.0]],
        3 => &[[0.0, -5.5], [5.5, 0.0], [0.0, 5.5], [-5.5, 0.0]],
        _ => &[[-5.0, -4.0], [5.0, -4.0], [0.0, 5.0]],
    };
    let corners: Vec<String> = corners.iter().map(|[dx, dy]| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
    let _ = writeln!(out, "<polygon points=\"{}\" fill=\"{colour}\"/>", corners.join(" "));
}

/// Beside the ends of the lines, in their order from the top, as far apart as text needs.
fn legend(out: &mut String, lines: &[Line], up: &Axis) {
    const STEP: f64 = 38.0;
    let last = |line: &Line| line.points[line.points.len() - 1];
    let mut order: Vec<&Line> = lines.iter().collect();
    order.sort_by(|a, b| last(b).median.total_cmp(&last(a).median));
    let lowest = BOTTOM - STEP * lines.len() as f64;
    let mut y = up.place(last(order[0]).median).min(lowest);
    let heading = format!("at n = {}:", grouped(last(&lines[0]).size));
    text(out, [RIGHT + 28.0, y - 18.0], "font-size=\"11\" fill=\"#555555\"", &heading);
    for line in order {
        let number = lines.iter().position(|one| one.label == line.label).expect("it is one of them");
        mark(out, number, [RIGHT + 16.0, y]);
        text(out, [RIGHT + 28.0, y + 4.5], "", &line.label);
        let (time, ratio) = (micro(&seconds_in_words(last(line).median)), three_digits(last(line).ratio));
        let note = if number == 0 { time } else { format!("{time}, {ratio} times the {}", lines[0].label) };
        text(out, [RIGHT + 28.0, y + 20.0], "font-size=\"11\" fill=\"#555555\"", &note);
        y += STEP;
    }
}

/// Returns the sign for micro, which a terminal may not have.
fn micro(time: &str) -> String {
    time.replace("us", "µs")
}

fn stroke(out: &mut String, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], colour: &str) {
    let _ = writeln!(out, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>");
}

fn text(out: &mut String, [x, y]: [f64; 2], style: &str, words: &str) {
    let space = if style.is_empty() { "" } else { " " };
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\"{space}{style}>{}</text>", escaped(words));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns `1,000,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let comma = |(i, digit): (usize, char)| {
        let comma = i > 0 && (digits.len() - i).is_multiple_of(3);
        comma.then_some(',').into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(comma).collect()
}
