//! Memory that is made in the loop: shared, one for each lane, rows.

use super::Arg::{Floats, I, Integers, Rows};
use super::*;

#[test]
fn buffers_for_each_lane() {
    let text = "fun f(n%0: integer, m%1: integer, b%2: [float], p%3: [integer]) -> (float) {
  %4 = for %5 in 0..n%0 lanes W carrying (%6 = 0.0) {
    %7 = mark
    %8 = alloc [float] m%1
    %9 = alloc [float] m%1
    zero %9[0..m%1]
    %10 = load b%2[%5]
    for %11 in 0..m%1 {
      %12 = to_float %11
      %13 = mul.f %10, %12
      store %8[%11] = %13
      add %9[%11] += %13
      yield
    }
    %14 = load p%3[%5]
    %15 = load %8[%14]
    add %9[%14] += %15
    store %8[%14] = 3.0
    %16 = %9[1..]
    %17 = %9[%14..]
    %18 = load %16[0]
    %19 = load %17[0]
    %20 = load %8[2]
    %21 = add.f %18, %19
    %22 = add.f %21, %20
    %23 = add.f %22, %15
    release %7
    %24 = add.f %6, %23
    yield %24
  }
  yield %4
}";
    assert_eq!(layouts(text), [Layout::Each, Layout::Each]);
    check(text, |n| vec![I(n), I(7), Floats(floats(1, n)), Integers(integers(1, n, 7))]);
}

#[test]
fn a_table_is_shared() {
    let text = "fun f(n%0: integer, m%1: integer, b%2: [float], p%3: [integer]) -> (float) {
  %4 = for %5 in 0..n%0 lanes W carrying (%6 = 0.0) {
    %7 = mark
    %8 = alloc [float] m%1
    zero %8[0..m%1]
    for %9 in 0..m%1 {
      %10 = load b%2[%9]
      %11 = exp %10
      add %8[%9] += %11
      add %8[0] += 1.0
      yield
    }
    %12 = load p%3[%5]
    %13 = load %8[%12]
    %14 = load %8[0]
    %15 = add.f %13, %14
    release %7
    %16 = add.f %6, %15
    yield %16
  }
  yield %4
}";
    assert_eq!(layouts(text), [Layout::Shared]);
    check(text, |n| vec![I(n), I(6), Floats(floats(2, 6)), Integers(integers(2, n, 6))]);
}

#[test]
fn lanes_have_buffers_of_other_lengths() {
    // m[i] elements for iteration i, zeroed, copied twice, one copy within itself.
    let text = "fun f(n%0: integer, m%1: [integer], rows%2: [[float]]) -> (float) {
  %3 = for %4 in 0..n%0 lanes W carrying (%5 = 0.0) {
    %6 = mark
    %7 = load m%1[%4]
    %8 = load rows%2[%4]
    %9 = alloc [float] %7
    zero %9[0..%7]
    move %9[0..%7] <- %8[0..%7]
    %10 = add.i %7, 2
    %11 = alloc [float] %10
    zero %11[0..%10]
    move %11[0..%7] <- %9[0..%7]
    %12 = %11[1..]
    move %12[0..%7] <- %11[0..%7]
    %13 = %11[2..]
    move %11[0..%7] <- %13[0..%7]
    %14 = for %15 in 0..%10 carrying (%16 = 0.0) {
      %17 = load %11[%15]
      %18 = to_float %15
      %19 = mul.f %17, %18
      %20 = add.f %16, %19
      yield %20
    }
    release %6
    %21 = add.f %5, %14
    yield %21
  }
  yield %3
}";
    assert_eq!(layouts(text), [Layout::Each, Layout::Each]);
    check(text, |n| {
        let lengths = integers(3, n, 9);
        let rows = lengths.iter().enumerate().map(|(i, m)| floats(i as i64, *m)).collect();
        vec![I(n), Integers(lengths), Rows(rows)]
    });
}

#[test]
fn what_some_lanes_write_the_others_keep() {
    let text = "fun f(n%0: integer, b%1: [float]) -> (float) {
  %2 = for %3 in 0..n%0 lanes W carrying (%4 = 0.0) {
    %5 = mark
    %6 = alloc [float] 3
    %7 = alloc [float] 3
    zero %6[0..3]
    zero %7[0..3]
    %8 = load b%1[%3]
    %9 = lt.f %8, 0.0
    store %6[1] = 5.0
    %10 = if %9 {
      store %6[0] = 1.0
      add %6[2] += %8
      yield %6
    } else {
      zero %6[0..3]
      move %7[0..3] <- %6[0..3]
      store %7[1] = %8
      yield %7
    }
    %11 = load %6[1]
    %12 = load %10[1]
    %13 = load %10[2]
    %14 = add.f %11, %12
    %15 = mul.f %13, 100.0
    %16 = add.f %14, %15
    release %5
    %17 = add.f %4, %16
    yield %17
  }
  yield %2
}";
    check(text, |n| vec![I(n), Floats(floats(4, n))]);
}

#[test]
fn rows_stay() {
    // A jagged result: row i has m[i] + 1 elements, of which one is set under a condition.
    let text = "fun f(n%0: integer, m%1: [integer], b%2: [float]) -> (float) {
  %3 = alloc [[float]] n%0
  for %4 in 0..n%0 lanes W {
    %5 = load m%1[%4]
    %6 = add.i %5, 1
    %7 = alloc [float] %6
    zero %7[0..%6]
    %8 = load b%2[%4]
    for %9 in 0..%6 {
      %10 = to_float %9
      %11 = mul.f %8, %10
      store %7[%9] = %11
      yield
    }
    %12 = lt.f %8, 0.0
    if %12 {
      store %7[%5] = 9.0
      yield
    } else {
      yield
    }
    store %3[%4] = %7
    yield
  }
  %13 = for %14 in 0..n%0 carrying (%15 = 0.0) {
    %16 = load m%1[%14]
    %17 = load %3[%14]
    %18 = for %19 in 0..%16 carrying (%20 = %15) {
      %21 = load %17[%19]
      %22 = mul.f %20, 0.5
      %23 = add.f %21, %22
      yield %23
    }
    %24 = load %17[%16]
    %25 = add.f %18, %24
    yield %25
  }
  yield %13
}";
    assert_eq!(layouts(text), [Layout::Plain]);
    check(text, |n| vec![I(n), Integers(integers(5, n, 6)), Floats(floats(5, n))]);
}

#[test]
fn rows_of_one_length_with_a_copy() {
    let text = "fun f(n%0: integer, b%1: [float], rows%2: [[float]]) -> (float) {
  %3 = alloc [[float]] n%0
  %4 = alloc [[integer]] n%0
  for %5 in 0..n%0 lanes W {
    %6 = load rows%2[%5]
    %7 = alloc [float] 5
    move %7[0..5] <- %6[0..5]
    %8 = alloc [integer] 3
    zero %8[0..3]
    add %8[1] += %5
    %9 = load b%1[%5]
    add %7[2] += %9
    store %3[%5] = %7
    store %4[%5] = %8
    yield
  }
  %10 = for %11 in 0..n%0 carrying (%12 = 0.0) {
    %13 = load %3[%11]
    %14 = load %13[2]
    %15 = load %13[4]
    %16 = load %4[%11]
    %17 = load %16[1]
    %18 = load %16[2]
    %19 = add.i %17, %18
    %20 = to_float %19
    %21 = mul.f %14, %20
    %22 = add.f %21, %15
    %23 = mul.f %12, 0.75
    %24 = add.f %22, %23
    yield %24
  }
  yield %10
}";
    let rows = |n: i64| Rows((0..n).map(|i| floats(20 + i, 5)).collect());
    check(text, |n| vec![I(n), Floats(floats(6, n)), rows(n)]);
}

#[test]
fn buffers_of_buffers_for_each_lane() {
    let text = "fun f(n%0: integer, b%1: [float], p%2: [integer]) -> (float) {
  %3 = for %4 in 0..n%0 lanes W carrying (%5 = 0.0) {
    %6 = mark
    %7 = alloc [[float]] 3
    %8 = load b%1[%4]
    for %9 in 0..3 {
      %10 = alloc [float] 2
      %11 = to_float %9
      %12 = add.f %11, %8
      store %10[0] = %12
      store %10[1] = %8
      store %7[%9] = %10
      yield
    }
    %13 = load p%2[%4]
    %14 = load %7[%13]
    add %14[1] += 10.0
    %15 = load %14[1]
    %16 = load %7[1]
    %17 = load %16[0]
    %18 = load %16[1]
    %19 = add.f %15, %17
    %20 = mul.f %19, %18
    release %6
    %21 = add.f %5, %20
    yield %21
  }
  yield %3
}";
    check(text, |n| vec![I(n), Floats(floats(7, n)), Integers(integers(7, n, 3))]);
}

#[test]
fn memory_that_is_not_there_is_an_error() {
    let text = "fun f(n%0: integer, m%1: integer, b%2: [float]) -> (float) {
  %3 = for %4 in 0..n%0 lanes W carrying (%5 = 0.0) {
    %6 = mark
    %7 = alloc [float] m%1
    %8 = load b%2[%4]
    store %7[0] = %8
    %9 = load %7[0]
    release %6
    %10 = add.f %5, %9
    yield %10
  }
  yield %3
}";
    let native = Native::new(&text.replace("lanes W", "lanes 8"), &Options::exact());
    let failed = native.call(&[I(9), I(1 << 40), Floats(floats(8, 9))]).results.expect_err("there is not so much");
    assert_eq!(failed.0, loops::ir::Failure::OutOfMemory as i32);
}
