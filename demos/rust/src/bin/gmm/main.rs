//! Value and gradient of a Gaussian mixture model, for the data of files; the same output as `demos/c/gmm.c`.
//!
//! ```text
//! gmm [--all] FILE...
//! ```
//!
//! The status is 1 when the gradient disagrees with a central difference, when a call fails, or when a file
//! is not as `demos/README.md` says.

mod file;
mod model;

use model::{Calls, MEANS, Model, NAMES, PARTS, X};
use std::process::ExitCode;

const _: &str = env!("GMM_LIBRARY", "set GMM_LIBRARY to the path of gmm.so, or use `demos/run.sh rust gmm`");

const LIMIT: f64 = 1e-6;

/// Component j of the direction along which derivatives are compared.
fn direction(j: usize) -> f64 {
    (j as f64 + 1.0).sin()
}

/// The central difference along the direction.
fn difference(model: &Model, calls: &mut Calls) -> Result<f64, String> {
    let h = 6e-6; // balances truncation against rounding
    let mut at = |h: f64| {
        let moved: Vec<f64> = model.point().iter().enumerate().map(|(j, x)| x + h * direction(j)).collect();
        model.value(calls, &moved)
    };
    Ok((at(h)? - at(-h)?) / (2.0 * h))
}

fn print_summary(model: &Model, gradient: &[f64]) {
    println!("gradient   numbers                norm             largest");
    for (part, name) in NAMES.iter().enumerate() {
        let numbers = &gradient[model.range(part)];
        let norm = numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
        let largest = numbers.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        println!("{name:<8} {:9} {norm:19.9} {largest:19.9}", numbers.len());
    }
}

fn print_all(model: &Model, gradient: &[f64]) {
    for part in 0..PARTS {
        for (i, row) in gradient[model.range(part)].chunks(model.shape().columns[part]).enumerate() {
            let numbers: Vec<String> = row.iter().map(|x| format!(" {x:.12}")).collect();
            println!("{} {i}:{}", NAMES[part], numbers.concat());
        }
    }
}

/// Prints the derivative along the direction, twice; whether the two agree.
fn print_derivative(gradient: &[f64], by_difference: f64) -> bool {
    let terms = || gradient.iter().enumerate().map(|(j, g)| g * direction(j));
    let by_gradient: f64 = terms().sum();
    println!("along a direction: {by_gradient:.6} by the gradient, {by_difference:.6} by a difference");
    // Not `>`: a NaN agrees with nothing.
    (by_gradient - by_difference).abs() <= LIMIT * terms().fold(1.0, |scale, term| scale + term.abs())
}

fn run(path: &str, all: bool) -> Result<(), String> {
    let model = file::read(path)?;
    let mut calls = Calls::new();
    let mut compute = || {
        let value = model.value(&mut calls, model.point())?;
        Ok((value, model.gradient(&mut calls)?, difference(&model, &mut calls)?))
    };
    let (value, gradient, by_difference) = compute().map_err(|why: String| format!("{path}: {why}"))?;
    let shape = model.shape();
    println!("{path}: d = {}, k = {}, n = {}: {value:.12}", shape.columns[X], shape.rows[MEANS], shape.rows[X]);
    print_summary(&model, &gradient);
    if all {
        print_all(&model, &gradient);
    }
    match print_derivative(&gradient, by_difference) {
        true => Ok(()),
        false => Err(format!("{path}: the gradient disagrees with the difference by more than {LIMIT:e}")),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let (all, files) = match arguments.split_first() {
        Some((first, rest)) if first == "--all" => (true, rest),
        _ => (false, &arguments[..]),
    };
    if files.is_empty() {
        eprintln!("usage: gmm [--all] FILE...");
        return ExitCode::from(2);
    }
    let mut outcome = ExitCode::SUCCESS;
    for path in files {
        if let Err(why) = run(path, all) {
            eprintln!("{why}");
            outcome = ExitCode::FAILURE;
        }
    }
    outcome
}
