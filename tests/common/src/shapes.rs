//! Families of programs that grow with a number: the shapes that once took the compiler down, or might.
//!
//! The bench `stages` measures the time for each, and the tests of code size count terms and instructions.

/// A family of programs. Each defines a function `f`.
pub struct Shape {
    /// The name in tables.
    pub name: &'static str,
    /// Returns the program of a size.
    pub text: fn(usize) -> String,
    /// The sizes to measure, which show the growth.
    pub sizes: [usize; 3],
    /// Whether `f` is differentiated, or only checked.
    pub is_derived: bool,
}

/// All families.
pub const SHAPES: &[Shape] = &[
    Shape { name: "chain of lets", text: chain, sizes: [100, 1_000, 10_000], is_derived: true },
    Shape { name: "web of lets", text: web, sizes: [100, 1_000, 10_000], is_derived: true },
    Shape { name: "one call a layer", text: single_calls, sizes: [50, 100, 200], is_derived: true },
    Shape { name: "two calls a layer", text: double_calls, sizes: [10, 20, 40], is_derived: true },
    Shape { name: "calls of calls", text: calls_of_calls, sizes: [40, 80, 160], is_derived: true },
    Shape { name: "functions of functions", text: functions_of_functions, sizes: [8, 16, 32], is_derived: true },
    Shape { name: "deep conditionals", text: deep_conditionals, sizes: [20, 40, 80], is_derived: true },
    Shape { name: "deep loops", text: deep_loops, sizes: [2, 4, 8], is_derived: true },
    Shape { name: "loops in a row", text: loops_in_a_row, sizes: [10, 20, 40], is_derived: true },
    Shape { name: "checks", text: checks, sizes: [20, 40, 80], is_derived: true },
    Shape { name: "allocations", text: allocations, sizes: [20, 40, 80], is_derived: true },
    Shape { name: "doubled sizes", text: doubled_sizes, sizes: [15, 30, 60], is_derived: true },
    Shape { name: "definitions", text: definitions, sizes: [1_000, 10_000, 100_000], is_derived: false },
    Shape { name: "names of derivatives", text: names_of_derivatives, sizes: [3, 6, 12], is_derived: false },
];

/// Programs as people write them: a Kalman filter, with its matrices as rows, as tensors, and as both.
pub const FILTERS: [(&str, &str); 3] = [
    ("rows", include_str!("kalman/rows.ks")),
    ("tensors", include_str!("kalman/tensors.ks")),
    ("mixed", include_str!("kalman/mixed.ks")),
];

/// Products of a matrix with a vector, one after the other.
pub fn products(n: usize) -> String {
    let product = (0..n).fold("x".to_string(), |x, _| format!("(mul a {x})"));
    format!("(def f (Vec Float) ((a : Tensor 2 Float) (x : Vec Float)) {product})")
}

/// Each let uses the one before twice.
pub fn chain(n: usize) -> String {
    let lets: Vec<String> = (1..=n).map(|i| format!("(x{i} (mul (sin x{}) x{}))", i - 1, i - 1)).collect();
    format!("(def f Float (x0 : Float) (let ({}) x{n}))", lets.join(" "))
}

/// Each let uses the one before and one far back.
pub fn web(n: usize) -> String {
    let lets: Vec<String> = (1..=n).map(|i| format!("(x{i} (add (sin x{}) (mul x0 x{})))", i - 1, i / 2)).collect();
    format!("(def f Float ((x0 : Float) (y : Float)) (let ({}) (mul y x{n})))", lets.join(" "))
}

/// Functions that call the one before.
fn layers(n: usize, calls: &dyn Fn(&str) -> String) -> String {
    let name = |i: usize| if i == n { "f".to_string() } else { format!("f{i}") };
    let first = "(def f0 Float (x : Float) (mul (sin x) x))\n".to_string();
    (1..=n).fold(first, |text, i| text + &format!("(def {} Float (x : Float) {})\n", name(i), calls(&name(i - 1))))
}

/// Functions that call the one before once.
pub fn single_calls(n: usize) -> String {
    layers(n, &|f| format!("(add (mul ({f} x) x) (cos x))"))
}

/// Functions that call the one before twice. The record of each function has those of two calls.
pub fn double_calls(n: usize) -> String {
    layers(n, &|f| format!("(add (mul ({f} x) x) ({f} (cos x)))"))
}

/// Calls of one function, each of the result of another.
pub fn calls_of_calls(n: usize) -> String {
    let body = (0..n).fold("x".to_string(), |e, i| format!("(g {e} (mul x {i}.5))"));
    format!("(def g Float ((x : Float) (y : Float)) (mul (sin x) (add x y)))\n(def f Float (x : Float) {body})")
}

/// Functions that give the function they take to the one before, twice.
pub fn functions_of_functions(n: usize) -> String {
    let first = "(def f0 Float ((g : Lam Float Float) (x : Float)) (add (g x) (g (mul x 2.0))))\n".to_string();
    let layer = |i: usize| {
        let below = format!("f{}", i - 1);
        format!("(def f{i} Float ((g : Lam Float Float) (x : Float)) (add ({below} g x) ({below} g (sin x))))\n")
    };
    let functions = (1..n).fold(first, |text, i| text + &layer(i));
    format!("{functions}(def f Float (x : Float) (f{} (lam (y : Float) (mul y (sin y))) x))", n - 1)
}

/// Conditionals in let position, one in the other.
pub fn deep_conditionals(n: usize) -> String {
    let inner = "(mul x (sin x))".to_string();
    let body = (0..n).fold(inner, |e, i| {
        format!("(let (a{i} (if (gt x {i}.5) (mul x {e}) (cos (mul x {i}.0)))) (mul a{i} (sin a{i})))")
    });
    format!("(def f Float (x : Float) {body})")
}

/// Sums in let position, one in the other.
pub fn deep_loops(n: usize) -> String {
    let inner = "(mul x (sin x))".to_string();
    let body = (0..n).fold(inner, |e, i| {
        format!("(let (a{i} (sumbuild 3 (lam (k{i} : Integer) (mul (to_float k{i}) {e})))) (mul a{i} (sin a{i})))")
    });
    format!("(def f Float (x : Float) {body})")
}

/// Vectors that are each made from the one before.
pub fn loops_in_a_row(n: usize) -> String {
    let lets: Vec<String> = (1..=n)
        .map(|i| {
            let v = format!("v{}", i - 1);
            let element = format!("(mul (sin (index k {v})) (index (sub (size {v}) (add k 1)) {v}))");
            format!("(v{i} (build (size {v}) (lam (k : Integer) {element})))")
        })
        .collect();
    format!("(def f Float (v0 : Vec Float) (let ({}) (sum v{n})))", lets.join(" "))
}

/// An index of which nothing is known, n times: each is checked.
pub fn checks(n: usize) -> String {
    let terms = (0..n).fold("0.0".to_string(), |sum, i| format!("(add {sum} (sin (index (index {i} places) v)))"));
    format!("(def f Float ((v : Vec Float) (places : Vec Integer)) {terms})")
}

/// Vectors that need memory, n times.
pub fn allocations(n: usize) -> String {
    let terms = (0..n).fold("0.0".to_string(), |sum, i| {
        let row = format!("(build (index {i} sizes) (lam (j : Integer) (exp (to_float j))))");
        format!("(let (r{i} {row}) (add {sum} (mul x (add (index 0 r{i}) (index 1 r{i})))))")
    });
    format!("(def f Float ((x : Float) (sizes : Vec Integer)) {terms})")
}

/// Integers and sizes that are each the one before twice.
pub fn doubled_sizes(n: usize) -> String {
    let twice = |i: usize| {
        let (k, v) = (format!("k{}", i - 1), format!("v{}", i - 1));
        format!("(k{i} (add {k} {k})) (v{i} (build (add (size {v}) (size {v})) (lam (j : Integer) (sin (sum {v})))))")
    };
    let lets: Vec<String> = (1..=n).map(twice).collect();
    let result = format!("(mul (to_float k{n}) (sum v{n}))");
    format!("(def f Float ((v0 : Vec Float) (k0 : Integer)) (let ({}) {result}))", lets.join(" "))
}

/// Functions that know nothing of each other.
pub fn definitions(n: usize) -> String {
    (0..n).fold("(def f Float (x : Float) x)\n".to_string(), |text, i| {
        text + &format!("(def f{i} Float ((x : Float) (y : Float)) (add (mul x y) (sin {i}.0)))\n")
    })
}

/// A derivative of a derivative, and so on, on an argument of its type.
pub fn names_of_derivatives(n: usize) -> String {
    let name = (0..n).fold("g".to_string(), |name, _| format!("[rev {name}]"));
    let point = (1..=n).fold("(a0 x) (r0 x)".to_string(), |lets, i| {
        lets + &format!(" (a{i} (tuple a{} r{})) (r{i} a{})", i - 1, i - 1, i - 1)
    });
    format!(
        "(def g Float (x : Float) (mul x (sin x)))\n\
         (def f Float (x : Float) (let ({point}) (let (d ({name} a{n})) x)))"
    )
}
