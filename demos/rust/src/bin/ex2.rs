//! The derivative of f2 that lmc made, against central differences; the same table as `demos/c/ex2.c`.
//!
//! The status is 1 when the two disagree by more than 1e-6, relatively, or when a call fails.

use host::Context;
use std::process::ExitCode;
use std::ptr::null_mut;

const _: &str = env!("EX2_LIBRARY", "set EX2_LIBRARY to the path of ex2.so, or use `demos/run.sh rust ex2`");

const LIMIT: f64 = 1e-6;

unsafe extern "C" {
    #[link_name = "f2"]
    fn f2_status(ctx: *mut Context, x: f64, out: *mut f64) -> i32;
    #[link_name = "rev$f2"]
    fn rev_f2_status(ctx: *mut Context, x: f64, dr: f64, out: *mut f64) -> i32;
}

/// The result of a call, or the status that says what went wrong.
type Outcome = Result<f64, i32>;

/// Calls with a place for the result.
fn call(f: impl FnOnce(*mut f64) -> i32) -> Outcome {
    let mut out = f64::NAN;
    match f(&mut out) {
        0 => Ok(out),
        status => Err(status),
    }
}

fn f2(ctx: *mut Context, x: f64) -> Outcome {
    // SAFETY: the declaration is that of the header; the context is null or ours, the result is ours.
    call(|out| unsafe { f2_status(ctx, x, out) })
}

fn rev_f2(ctx: *mut Context, x: f64, dr: f64) -> Outcome {
    // SAFETY: as above.
    call(|out| unsafe { rev_f2_status(ctx, x, dr, out) })
}

/// One line of the table.
#[derive(PartialEq)]
struct Row {
    /// `f2(x)`
    value: f64,
    /// `rev$f2(x, 1)`
    derivative: f64,
    /// `(f2(x + h) - f2(x - h)) / 2h`
    difference: f64,
}

impl Row {
    fn compute(ctx: *mut Context, x: f64) -> Result<Row, i32> {
        let (value, derivative) = (f2(ctx, x)?, rev_f2(ctx, x, 1.0)?);
        let h = 6e-6 * x.abs().max(1.0); // balances truncation against rounding
        let (right, left) = (x + h, x - h);
        let difference = (f2(ctx, right)? - f2(ctx, left)?) / (right - left);
        Ok(Row { value, derivative, difference })
    }

    fn agrees(&self) -> bool {
        // Not `>`: a NaN agrees with nothing.
        (self.derivative - self.difference).abs() <= LIMIT * self.derivative.abs().max(1.0)
    }
}

/// Prints one line of the table; whether derivative and difference agree.
fn line(x: f64) -> Result<bool, String> {
    // Without a context the status tells what went wrong; with one, its error also tells where.
    let mut context = Context::new();
    let (without, with) = (Row::compute(null_mut(), x), Row::compute(&mut context, x));
    let row = match (without, with) {
        (Ok(without), Ok(with)) if without == with => without,
        (Err(without), Err(with)) if without == with => {
            return Err(format!("at {x}: {}", context.failure()));
        }
        _ => return Err(format!("at {x}: the outcome depends on the context")),
    };
    let Row { value, derivative, difference } = row;
    println!("{x:6.2} {value:14.6} {derivative:14.6} {difference:14.6} {:16.12}", derivative - difference);
    Ok(row.agrees())
}

fn table() -> Result<(), String> {
    println!("     x          f2(x)         rev$f2     difference            error");
    let mut agrees = true;
    for x in [-2.0, -0.5, 0.0, 0.5, 1.0, 2.0, 10.0] {
        agrees &= line(x)?;
    }
    let disagrees = || format!("the derivative disagrees with the differences by more than {LIMIT:e}");
    if agrees { Ok(()) } else { Err(disagrees()) }
}

fn main() -> ExitCode {
    match table() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
