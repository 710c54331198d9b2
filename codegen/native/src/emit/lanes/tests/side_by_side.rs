//! Iterations side by side, around loops in lanes and in them.

use super::Arg::{Floats, I};
use super::*;

#[test]
fn what_is_the_same_side_by_side_is_carried_once() {
    let text = "fun f(n%0: integer, m%1: integer, v%2: [float], w%3: [float], x%4: [float], y%5: [float]) -> () {
  for %6 in 0..m%1 jam R {
    %7 = mul.i %6, n%0
    %8, %9, %10, %11, %12 = for %13 in 0..n%0 lanes W carrying (%14 = 0.25, %15 = 7.0, %16 = -9223372036854775808, %17 = 1.0, %18 = 2.0) {
      %19 = load v%2[%13]
      %20 = add.i %7, %13
      %21 = load w%3[%20]
      %22 = lt.f %14, %19
      %23, %24, %25 = if %22 {
        yield %19, %21, %13
      } else {
        yield %14, %15, %16
      }
      %26 = lt.f %19, 0.5
      %27, %28 = if %26 {
        %29 = add.f %17, %19
        %30 = mul.f %21, 3.0
        yield %29, %30
      } else {
        yield %17, %21
      }
      store x%4[%20] = %28
      %31 = add.f %18, %28
      yield %23, %24, %25, %27, %31
    }
    %32 = add.f %8, %9
    %33 = mul.f %32, %11
    %34 = sub.f %33, %12
    %35 = to_float %10
    %36 = add.f %34, %35
    store y%5[%6] = %36
    yield
  }
  yield
}";
    for rows in [0, 1, 4, 19] {
        let zeros = |k: i64| Floats(vec![0.0; k as usize]);
        let given = |n: i64| [Floats(floats(1, n)), Floats(floats(2, n * rows)), zeros(n * rows), zeros(rows)];
        check(text, |n| [I(n), I(rows)].into_iter().chain(given(n)).collect());
    }
}

#[test]
fn a_sum_that_is_the_same_goes_through_inner_loops() {
    let text = "fun f(n%0: integer, m%1: integer, v%2: [float], y%3: [float]) -> () {
  for %4 in 0..m%1 jam R {
    %5 = to_float %4
    %6, %7 = for %8 in 0..n%0 lanes W carrying (%9 = 0.5, %10 = 0.25) {
      %11 = load v%2[%8]
      %12, %13 = for %14 in 0..m%1 carrying (%15 = %9, %16 = %10) {
        %17 = to_float %14
        %18 = mul.f %11, %17
        %19 = add.f %15, %18
        %20 = mul.f %18, %5
        %21 = add.f %16, %20
        yield %19, %21
      }
      yield %12, %13
    }
    %22 = mul.f %6, %7
    store y%3[%4] = %22
    yield
  }
  yield
}";
    for rows in [1, 4, 11] {
        check(text, |n| vec![I(n), I(rows), Floats(floats(1, n)), Floats(vec![0.0; rows as usize])]);
    }
}

#[test]
fn ranges_side_by_side_and_in_lanes_may_be_empty_and_begin_anywhere() {
    let text = "fun f(n%0: integer, m%1: integer, v%2: [float], y%3: [float]) -> () {
  for %4 in 3..m%1 jam R {
    %5 = mul.i %4, n%0
    %6 = load v%2[%4]
    for %7 in 5..n%0 lanes W {
      %8 = load v%2[%7]
      %9 = mul.f %6, %8
      %10 = add.i %5, %7
      store y%3[%10] = %9
      yield
    }
    yield
  }
  yield
}";
    for rows in [0, 2, 3, 4, 20] {
        check(text, |n| vec![I(n), I(rows), Floats(floats(1, 50)), Floats(vec![0.0; (n * rows) as usize])]);
    }
}

#[test]
fn side_by_side_in_lanes_that_part() {
    let text = "fun f(n%0: integer, v%1: [float], y%2: [float]) -> () {
  for %3 in 0..n%0 lanes W {
    %4 = load v%1[%3]
    %5 = lt.f %4, 0.5
    if %5 {
      for %6 in 2..%3 jam R {
        %7 = load v%1[%6]
        %8 = mul.f %4, %7
        add y%2[%6] += %8
        yield
      }
      yield
    } else {
      yield
    }
    yield
  }
  yield
}";
    check(text, |n| vec![I(n), Floats(floats(1, 50)), Floats(floats(2, 50))]);
}
