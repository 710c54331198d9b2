//! exp on vectors, beside that of libm: for each width that processors have.

use super::Arg::{Floats, I};
use super::*;
use crate::emit::lanes::exp::{POWERS, Q, SHORT_Q};
use std::f64::consts::LN_2;

const TEXT: &str = "fun f(n%0: integer, x%1: [float], y%2: [float]) -> () {
  for %3 in 0..n%0 lanes 8 {
    %4 = load x%1[%3]
    %5 = exp %4
    store y%2[%3] = %5
    yield
  }
  yield
}";

/// exp of each, on the vectors of a processor; on those of the processor at hand without one.
fn exps(x: &[f64], target_cpu: Option<&str>) -> Vec<f64> {
    let target_cpu = target_cpu.map(str::to_string);
    let native = Native::new(TEXT, &Options { math: Math::Fast, target_cpu, ..Options::exact() });
    let args = [I(x.len() as i64), Floats(x.to_vec()), Floats(vec![0.0; x.len()])];
    let outcome = native.call(&args);
    assert!(outcome.results.is_ok());
    let Floats(y) = &outcome.args[2] else { unreachable!("the third argument is a buffer") };
    y.clone()
}

/// Returns how many Floats lie between two that are not negative, one more.
fn apart(x: f64, y: f64) -> u64 {
    x.to_bits().abs_diff(y.to_bits())
}

/// Returns the numbers of the range with their neighbours, from the smallest result to the largest.
fn sweep() -> Vec<f64> {
    let between = |i: i64| -745.5 + 1455.5 * (i as f64) / 200_000.0;
    let near_0 = |i: i64| (1.0 + i as f64 / 64.0) * 0.5f64.powi((i % 60) as i32) * if i % 2 == 0 { 1.0 } else { -1.0 };
    (0..=200_000).map(between).chain((0..6_000).map(near_0)).collect()
}

#[test]
fn it_is_at_most_one_unit_off() {
    let x: Vec<f64> = sweep();
    for target_cpu in [None, Some("x86-64"), Some("haswell")] {
        for (x, y) in x.iter().zip(exps(&x, target_cpu)) {
            assert!(apart(y, x.exp()) <= 1, "{target_cpu:?}: exp {x:e} is {:e}, not {y:e}", x.exp());
        }
    }
}

#[test]
fn what_is_special_is_what_it_is_in_libm() {
    let most = 709.782712893384;
    let x = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, most, most + 1e-12, -745.2, -1e300, 1e300];
    for target_cpu in [None, Some("x86-64"), Some("haswell")] {
        for (x, y) in x.iter().zip(exps(&x, target_cpu)) {
            let wanted = x.exp();
            assert!(wanted.is_nan() && y.is_nan() || wanted == y, "{target_cpu:?}: exp {x:e} is {wanted:e}, not {y:e}");
        }
    }
}

/// Returns the greatest error in exp r of a Q, for |r| up to a bound; of (exp r - 1 - r) / r² the series is summed.
fn error(q: &[f64], bound: f64) -> f64 {
    let polynomial = |q: &[f64], r: f64| q.iter().rev().fold(0.0, |sum: f64, factor| sum.mul_add(r, *factor));
    let factorials = (2..22).scan(1.0, |factorial, k| {
        *factorial *= f64::from(k);
        Some(*factorial)
    });
    let series: Vec<f64> = factorials.map(f64::recip).collect();
    let at = |i: i32| f64::from(i) / 1_000.0 * bound;
    (-1_000..=1_000).map(at).map(|r| (r * r * (polynomial(q, r) - polynomial(&series, r))).abs()).fold(0.0, f64::max)
}

#[test]
fn the_numbers_are_those_that_the_text_promises() {
    assert!(error(&Q, LN_2 / 2.0) < 2e-17, "{:e}", error(&Q, LN_2 / 2.0));
    assert!(error(&SHORT_Q, LN_2 / 32.0) < 1.25e-17, "{:e}", error(&SHORT_Q, LN_2 / 32.0));
    for (j, power) in POWERS.into_iter().enumerate() {
        let exact = (0..4).fold(power, |power, _| power * power);
        assert!((exact / 2f64.powi(j as i32) - 1.0).abs() < 16.0 * f64::EPSILON, "2^({j} / 16) is {power:e}");
    }
}
