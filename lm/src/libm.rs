//! Lists the functions of the C library: one row each, which every crate reads.
//!
//! A row says the name in C and in programs, the value, what a call costs, whether the library has the function for
//! vectors, and the derivative. The interpreters compute the value, native code calls the name, so both have the same
//! bits. Reader, typing, lowering, prices and counts follow from the row.
//!
//! Source of the derivatives: working notes, Fig. 2.

use Speed::{Fast, Slow};
use Value::{Binary, Unary};
use Vectors::{Libmvec, Never};

/// The value of a function.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A function of one Float.
    Unary(fn(f64) -> f64),
    /// A function of two Floats.
    Binary(fn(f64, f64) -> f64),
}

/// The rough cost of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// Some 20 additions.
    Fast,
    /// Some 80.
    Slow,
}

/// The availability of a function for vectors of Floats in glibc's libmvec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// libmvec may have the function; `native` asks the library of the machine.
    Libmvec,
    /// libmvec has no such function, so each Float is a call.
    Never,
}

struct Row {
    name: &'static str,
    value: Value,
    speed: Speed,
    vectors: Vectors,
    derivative: &'static str,
}

macro_rules! functions {
    ($($variant:ident $name:literal $value:expr, $speed:ident $vectors:ident $derivative:literal;)*) => {
        /// A function of the C library.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)] // the table below is their documentation
        pub enum Libm { $($variant),* }

        /// Every function, in the order of the table.
        pub const ALL: &[Libm] = &[$(Libm::$variant),*];

        static ROWS: &[Row] = &[
            $(Row { name: $name, value: $value, speed: $speed, vectors: $vectors, derivative: $derivative }),*
        ];
    };
}

#[rustfmt::skip]
functions! {
//  variant name     value                 speed vectors  derivative at (x, y)
    Log     "log"    Unary(f64::ln),       Fast  Libmvec  "S(1.0 / x)";
    Exp     "exp"    Unary(f64::exp),      Fast  Libmvec  "S(exp(x))";
    Expm1   "expm1"  Unary(f64::exp_m1),   Slow  Libmvec  "S(exp(x))";
    Sin     "sin"    Unary(f64::sin),      Fast  Libmvec  "S(cos(x))";
    Cos     "cos"    Unary(f64::cos),      Fast  Libmvec  "S(-sin(x))";
    Tan     "tan"    Unary(f64::tan),      Slow  Libmvec  "S(1.0 + tan(x) * tan(x))";
    Sinh    "sinh"   Unary(f64::sinh),     Slow  Libmvec  "S(cosh(x))";
    Cosh    "cosh"   Unary(f64::cosh),     Slow  Libmvec  "S(sinh(x))";
    Tanh    "tanh"   Unary(f64::tanh),     Fast  Libmvec  "S(1.0 - tanh(x) * tanh(x))";
    Asin    "asin"   Unary(f64::asin),     Slow  Libmvec  "S(1.0 / sqrt(1.0 - x * x))";
    Acos    "acos"   Unary(f64::acos),     Slow  Libmvec  "S(-(1.0 / sqrt(1.0 - x * x)))";
    Atan    "atan"   Unary(f64::atan),     Slow  Libmvec  "S(1.0 / (1.0 + x * x))";
    Atan2   "atan2"  Binary(f64::atan2),   Slow  Libmvec  "S(y / (x * x + y * y)) ⋈ S(-(x / (x * x + y * y)))";
    Erf     "erf"    Unary(erf),           Slow  Libmvec  "S(1.1283791670955126 * exp(-(x * x)))";
    Lgamma  "lgamma" Unary(lgamma),        Slow  Never    "S(digamma(x))";
    Pow     "pow"    Binary(f64::powf),    Slow  Libmvec  "S(if y == 0.0 then (if x == 0.0 then 0.0 else y / x) else y * pow(x, y - 1.0)) ⋈ S(if x == 0.0 then (if y > 0.0 then 0.0 else pow(x, y) * log(x)) else pow(x, y) * log(x))";
}

impl Libm {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Returns the name, in C as in programs.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the value, a function of Floats.
    pub fn value(self) -> Value {
        self.row().value
    }

    /// Returns the number of arguments.
    pub fn arity(self) -> usize {
        match self.value() {
            Unary(_) => 1,
            Binary(_) => 2,
        }
    }

    /// Returns the value at so many arguments as the function has; `None` for another number.
    pub fn at(self, args: &[f64]) -> Option<f64> {
        match (self.value(), args) {
            (Unary(f), [x]) => Some(f(*x)),
            (Binary(f), [x, y]) => Some(f(*x, *y)),
            (Unary(_) | Binary(_), _) => None,
        }
    }

    /// Returns the cost of a call.
    pub fn speed(self) -> Speed {
        self.row().speed
    }

    /// Returns whether the library may have the function for vectors.
    pub fn vectors(self) -> Vectors {
        self.row().vectors
    }

    /// Returns the right-hand side of the law of its Jacobian at `x`, or at `x` and `y`.
    pub fn derivative(self) -> &'static str {
        self.row().derivative
    }
}

unsafe extern "C" {
    #[link_name = "erf"]
    safe fn c_erf(x: f64) -> f64;
    fn lgamma_r(x: f64, sign: *mut std::ffi::c_int) -> f64;
}

/// Returns the error function at `x`, which Rust's `f64` lacks. Dimensionless.
fn erf(x: f64) -> f64 {
    c_erf(x)
}

/// Returns the logarithm of the absolute value of the gamma function, which Rust's `f64` lacks. Dimensionless.
fn lgamma(x: f64) -> f64 {
    let mut sign = 0;
    // SAFETY: `sign` is a valid place for the one integer that lgamma_r writes.
    unsafe { lgamma_r(x, &mut sign) }
}
