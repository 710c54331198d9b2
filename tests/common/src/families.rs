//! Families of programs that grow: with the length of a chain, with how deep calls or conditionals are nested, with
//! how deep a recursion goes, with the data. A derivative's cost must grow as the program's does, and no faster.

use super::cost::{measured, pipeline, point_of_size};
use super::files;
use lm::term::FunName;
use lm::value::Value;
use lmc::cost::Measured;
use lmc::derive::Derivation;

/// Programs, one for each size.
pub struct Family {
    /// The name of its file, or of its function here.
    pub name: String,
    /// The size that grows.
    pub grows: &'static str,
    /// The sizes of the table.
    pub sizes: &'static [i64],
    program: Program,
}

enum Program {
    /// The text grows; `f` takes a Float.
    OfSize(fn(usize) -> String),
    /// The text has `f`, and `point`, which gives an argument of a size.
    WithPoint(String),
}

impl Family {
    /// The counts for the program of a size.
    ///
    /// Errors: it has no derivative, or a call fails.
    pub fn measured(&self, size: i64, derivation: Derivation) -> Result<Measured, String> {
        let f = FunName::base("f");
        match &self.program {
            Program::OfSize(text) => {
                let mut p = pipeline(&text(size as usize), derivation)?;
                measured(&mut p, &f, &Value::Float(0.75))
            }
            Program::WithPoint(text) => {
                let mut p = pipeline(text, derivation)?;
                let point = point_of_size(&p, size)?;
                measured(&mut p, &f, &point)
            }
        }
    }
}

/// The most that the ratio of work may grow from one size to the next.
const GROWTH: f64 = 1.12;

/// Returns whether a gradient is cheap at each size, and its work grows no faster than the function's.
///
/// Errors: the ratios.
pub fn stays(family: &Family, sizes: &[i64]) -> Result<(), String> {
    let mut ratios = Vec::new();
    for size in sizes {
        let m = family.measured(*size, Derivation::default())?;
        if !m.is_cheap() {
            return Err(format!("{} of size {size}: {m:?}", family.name));
        }
        ratios.push(m.per_level());
    }
    let is_flat = ratios.windows(2).all(|pair| pair[1] <= GROWTH * pair[0]);
    if is_flat { Ok(()) } else { Err(format!("{}: {ratios:?} at {sizes:?}", family.name)) }
}

/// Calls are nested the deeper the larger the size is, in these files of `cases/cost`.
const RECURSIVE: [&str; 11] = [
    "branches",
    "call_of_a_call",
    "expansion",
    "halving",
    "loop_by_recursion",
    "loop_by_two",
    "mutual",
    "product_by_two",
    "recursion_through_fold",
    "recursive_product",
    "squaring",
];

/// All families.
pub fn families() -> Vec<Family> {
    type Row = (&'static str, &'static str, &'static [i64], fn(usize) -> String);
    const TEXTS: [Row; 8] = [
        ("doublings", "chain", &[10, 100, 1_000], doublings),
        ("sines", "chain", &[10, 100, 1_000], sines),
        ("calls, bound", "calls", &[10, 100], |n| calls(n, |below| format!("(let (y {below}) (mul y (sin y)))"))),
        ("calls, last", "calls", &[10, 100], |n| calls(n, |below| format!("(mul x (sin {below}))"))),
        ("calls, first", "calls", &[10, 100], |n| calls(n, |below| format!("(mul {below} (sin x))"))),
        ("calls of tuples", "calls", &[10, 100], calls_of_tuples),
        ("calls under conditionals", "calls", &[10, 100], calls_under_conditionals),
        ("conditionals", "conditionals", &[16, 40], nested_conditionals),
    ];
    let texts = TEXTS.map(|(name, grows, sizes, text)| Family {
        name: name.into(),
        grows,
        sizes,
        program: Program::OfSize(text),
    });
    texts.into_iter().chain(files()).collect()
}

/// `cases/cost`, by name.
pub fn files() -> Vec<Family> {
    let family = |path: &std::path::PathBuf| {
        let (name, text) = (files::name(path), files::text(path));
        let (grows, sizes): (_, &[i64]) = match RECURSIVE.contains(&name.as_str()) {
            true => ("recursion", &[100, 1_000, 10_000]),
            false => ("data", &[1_000, 10_000, 100_000]),
        };
        Family { name, grows, sizes, program: Program::WithPoint(text) }
    };
    files::programs("tests/cases/cost").iter().map(family).collect()
}

fn chain(n: usize, step: impl Fn(&str) -> String) -> String {
    let lets: Vec<String> = (1..=n).map(|i| format!("(x{i} {})", step(&format!("x{}", i - 1)))).collect();
    format!("(def f Float (x0 : Float) (let ({}) x{n}))", lets.join(" "))
}

/// Each variable is used twice: inlining maps would cost 2^n.
pub fn doublings(n: usize) -> String {
    chain(n, |x| format!("(add {x} {x})"))
}

/// A nonlinear chain.
pub fn sines(n: usize) -> String {
    chain(n, |x| format!("(mul {x} (sin {x}))"))
}

/// n functions, each calling the one before.
pub fn calls(n: usize, body: impl Fn(&str) -> String) -> String {
    let mut text = String::from("(def g0 Float (x : Float) (sin x))\n");
    for i in 1..n {
        text += &format!("(def g{i} Float (x : Float) {})\n", body(&format!("(g{} x)", i - 1)));
    }
    text + &format!("(def f Float (x : Float) {})", body(&format!("(g{} x)", n - 1)))
}

/// Values that are tuples, of several arguments, taken apart where they are bound.
pub fn calls_of_tuples(n: usize) -> String {
    let pair = "(Tuple Float Float)";
    let mut text = format!("(def g0 {pair} ((x : Float) (y : Float)) (tuple (sin x) (mul x y)))\n");
    for i in 1..n {
        let below = format!("((a b) (g{} x y))", i - 1);
        let result = "(tuple (mul a (sin b)) (mul b (cos a)))";
        text += &format!("(def g{i} {pair} ((x : Float) (y : Float)) (let ({below}) {result}))\n");
    }
    text + &format!("(def f Float (x : Float) (let ((a b) (g{} x x)) (mul a b)))", n - 1)
}

/// A call in each branch.
pub fn calls_under_conditionals(n: usize) -> String {
    let mut text = String::from("(def g0 Float (x : Float) (sin x))\n");
    for i in 1..n {
        let below = format!("(g{} (mul x 0.9))", i - 1);
        text += &format!(
            "(def g{i} Float (x : Float) (let (y (if (gt x 0.0) (let (u {below}) (mul u u)) {below})) \
             (sin (mul y x))))\n"
        );
    }
    text + &format!("(def f Float (x : Float) (g{} x))", n - 1)
}

/// Conditionals in conditionals, n deep.
pub fn nested_conditionals(n: usize) -> String {
    let nest = (0..n).fold("(sin x)".to_string(), |inner, i| {
        format!("(let (y{i} (if (gt x -{i}.5) {inner} x)) (mul (sin y{i}) (exp (mul x y{i}))))")
    });
    format!("(def f Float (x : Float) {nest})")
}
