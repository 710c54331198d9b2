//! The derivative of f2 that lmc made, against central differences; the same table as `demos/c/main.c`.
//!
//! The status is 1 when the two disagree by more than 1e-6, relatively, or when a call fails.

use std::ffi::{CStr, c_char, c_void};
use std::mem::zeroed;
use std::process::ExitCode;
use std::ptr::null_mut;

const LIMIT: f64 = 1e-6;

/// `lmc_context` of the header. Zero bytes are a context without callbacks.
#[repr(C)]
struct Context {
    user: *mut c_void,
    write: Option<unsafe extern "C" fn(*mut c_void, i32, f64, i64, *const c_char)>,
    stack_bytes: u64,
    arena: Arena,
    error: Error,
}

/// `lmc_arena` of the header: for functions on arrays. f2 is none, so nothing is ever reserved here.
#[repr(C)]
struct Arena {
    base: *mut c_void,
    bytes: u64,
    peak: u64,
    owned: u64,
    reserved: u64,
}

/// `lmc_error` of the header: the error of the last call that did not return 0.
#[repr(C)]
struct Error {
    code: i32,
    line: i32,
    column: i32,
    start: u32,
    end: u32,
    count: u32,
    number: [i64; 15],
    message: *const c_char,
    file: *const c_char,
}

unsafe extern "C" {
    #[link_name = "f2"]
    fn f2_status(ctx: *mut Context, x: f64, out: *mut f64) -> i32;
    #[link_name = "rev$f2"]
    fn rev_f2_status(ctx: *mut Context, x: f64, dr: f64, out: *mut f64) -> i32;
}

/// What a call gives: its result, or the status that says what went wrong.
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

/// Where a call failed, as the context has it.
fn place(error: &Error) -> String {
    // SAFETY: the error was filled by a call that failed; its texts are constants of the library.
    let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy();
    format!("{}:{}:{}: {}", text(error.file), error.line, error.column, text(error.message))
}

/// Prints one line of the table; whether derivative and difference agree.
fn line(x: f64) -> Result<bool, String> {
    // Without a context the status tells what went wrong; with one, its error also tells where.
    // SAFETY: zero is a value of every field.
    let mut context: Context = unsafe { zeroed() };
    let (without, with) = (Row::compute(null_mut(), x), Row::compute(&mut context, x));
    let row = match (without, with) {
        (Ok(without), Ok(with)) if without == with => without,
        (Err(without), Err(with)) if without == with => {
            return Err(format!("at {x}: status {with}, {}", place(&context.error)));
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
