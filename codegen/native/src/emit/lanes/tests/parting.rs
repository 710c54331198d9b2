//! Lanes that part: conditionals, loops, errors.

use super::Arg::{Floats, I, Integers};
use super::*;
use loops::ir::Failure;

#[test]
fn a_condition_guards_loads() {
    // Elements at -1 and beyond the end are asked for by lanes that are off.
    let text = "fun f(n%0: integer, b%1: [float], p%2: [integer]) -> (float) {
  %3 = for %4 in 0..n%0 lanes W carrying (%5 = 0.0) {
    %6 = load p%2[%4]
    %7 = below %6, n%0
    %8 = if %7 {
      %9 = load b%1[%6]
      %10 = exp %9
      yield %10
    } else {
      yield -1.0
    }
    %11 = sub.i %4, 1
    %12 = lt.i 0, %4
    %13 = if %12 {
      %14 = load b%1[%11]
      yield %14
    } else {
      yield 0.25
    }
    %15 = add.f %8, %13
    %16 = add.f %5, %15
    yield %16
  }
  yield %3
}";
    let far = 1 << 50;
    check(text, |n| {
        let places = integers(1, n, n + 2).into_iter().map(|k| if k >= n { far * (2 * k - 2 * n - 1) } else { k });
        vec![I(n), Floats(floats(1, n)), Integers(places.collect())]
    });
}

#[test]
fn conditionals_nest() {
    let text = "fun f(n%0: integer, b%1: [float], r%2: [float], s%18: [float]) -> (float) {
  %3 = for %4 in 0..n%0 lanes W carrying (%5 = 0.0) {
    %6 = load b%1[%4]
    %7 = lt.f %6, 0.0
    %8, %9 = if %7 {
      %10 = lt.f %6, -0.5
      %11 = if %10 {
        %12 = sin %6
        store r%2[%4] = %12
        yield %12
      } else {
        add r%2[%4] += 1.0
        yield 4.0
      }
      yield %11, 1
    } else {
      %13 = sqrt %6
      %14 = div.f 1.0, %13
      add s%18[0] += %14
      yield %14, 2
    }
    %15 = to_float %9
    %16 = mul.f %8, %15
    %17 = add.f %5, %16
    yield %17
  }
  yield %3
}";
    check(text, |n| vec![I(n), Floats(floats(2, n)), Floats(vec![0.5; n as usize + 1]), Floats(vec![0.5])]);
}

#[test]
fn loops_run_as_long_as_a_lane_is_on() {
    // Both ends vary; what is carried must stay where a lane has left.
    let text = "fun f(n%0: integer, b%1: [float], from%2: [integer], to%3: [integer]) -> (float) {
  %4 = for %5 in 0..n%0 lanes W carrying (%6 = 0.0) {
    %7 = load from%2[%5]
    %8 = load to%3[%5]
    %9, %10, %11 = for %12 in %7..%8 carrying (%13 = 0.5, %14 = 0, %15 = 2.0) {
      %16 = load b%1[%12]
      %17 = add.f %13, %16
      %18 = mul.f %15, 1.5
      yield %17, %12, %18
    }
    %19 = for %20 in 0..%8 carrying (%21 = 1.0) {
      %22 = load b%1[%20]
      %23 = mul.f %21, %22
      yield %23
    }
    %24 = to_float %10
    %25 = add.f %9, %24
    %26 = mul.f %25, %11
    %27 = add.f %26, %19
    %28 = add.f %6, %27
    yield %28
  }
  yield %4
}";
    check(text, |n| vec![I(n), Floats(floats(3, 20)), Integers(integers(3, n, 7)), Integers(integers(5, n, 19))]);
}

#[test]
fn a_triangle_of_loops() {
    let text = "fun f(n%0: integer, b%1: [float]) -> (float) {
  %2 = for %3 in 0..n%0 lanes W carrying (%4 = 0.0) {
    %5 = for %6 in 0..%3 carrying (%7 = 0.0) {
      %8 = for %9 in %6..%3 carrying (%10 = 0.0) {
        %11 = load b%1[%9]
        %12 = load b%1[%6]
        %13 = mul.f %11, %12
        %14 = add.f %10, %13
        yield %14
      }
      %15 = add.f %7, %8
      yield %15
    }
    %16 = add.f %4, %5
    yield %16
  }
  yield %2
}";
    check(text, |n| vec![I(n), Floats(floats(4, n))]);
}

#[test]
fn the_largest_with_its_place_is_a_fold_inside() {
    let text = "fun f(n%0: integer, m%1: integer, b%2: [float], r%3: [integer]) -> (float) {
  %4 = for %5 in 0..n%0 lanes W carrying (%6 = 0.0) {
    %7 = mul.i %5, m%1
    %8 = load b%2[%7]
    %9, %10 = for %11 in 0..m%1 carrying (%12 = %8, %13 = 0) {
      %14 = add.i %7, %11
      %15 = load b%2[%14]
      %16 = lt.f %12, %15
      %17, %18 = if %16 {
        yield %15, %11
      } else {
        yield %12, %13
      }
      yield %17, %18
    }
    store r%3[%5] = %10
    %19 = add.f %6, %9
    yield %19
  }
  yield %4
}";
    check(text, |n| vec![I(n), I(6), Floats(floats(5, 6 * n)), Integers(vec![0; n as usize])]);
}

/// A text that stops where b[p[i]] is beyond m.
fn stops(failing: &[i64]) {
    let text = "fun f(n%0: integer, m%1: integer, b%2: [float], p%3: [integer]) -> (float) {
  %4 = for %5 in 0..n%0 lanes W carrying (%6 = 0.0) {
    %7 = load p%3[%5]
    %8 = below %7, m%1
    check %8 else IndexOutOfRange(%7, m%1)
    %9 = load b%2[%7]
    %10 = add.f %6, %9
    yield %10
  }
  yield %4
}";
    let places = |n: i64| {
        let mut places = integers(6, n, 5);
        failing.iter().filter(|i| **i < n).for_each(|i| places[*i as usize] = 100 + i);
        places
    };
    let args = |n: i64| vec![I(n), I(5), Floats(floats(6, 5)), Integers(places(n))];
    check_with(text, args, |plain| {
        let Arg::I(n) = plain.args[0] else { panic!("n is an Integer") };
        let wanted =
            failing.iter().filter(|i| **i < n).min().map(|i| (Failure::IndexOutOfRange as i32, vec![100 + i, 5]));
        assert_eq!(plain.results.as_ref().err().cloned(), wanted);
    });
}

#[test]
fn errors_are_those_of_the_first_lane_that_fails() {
    [&[0][..], &[3, 2, 1], &[36], &[17, 16], &[]].into_iter().for_each(stops);
}

#[test]
fn a_lane_that_is_off_does_not_fail() {
    let text = "fun f(n%0: integer, b%1: [integer], s%2: integer) -> (integer) {
  %3 = for %4 in 0..n%0 lanes W carrying (%5 = 0) {
    %6 = load b%1[%4]
    %7 = eq.i %6, 0
    %8 = if %7 {
      yield 1
    } else {
      %9 = eq.i %6, 0
      %10 = not %9
      check %10 else DivisionByZero(%4)
      %11 = div.i 100, %6
      yield %11
    }
    %12 = for %13 in 0..%6 carrying (%14 = 0) {
      %15 = lt.i %13, s%2
      check %15 else IndexOutOfRange(%13, s%2)
      %16 = add.i %14, %13
      yield %16
    }
    %17 = add.i %8, %12
    %18 = add.i %5, %17
    yield %18
  }
  yield %3
}";
    check(text, |n| vec![I(n), Integers(integers(7, n, 4)), I(3)]);
    let fails = |plain: &Outcome| {
        let Arg::Integers(b) = &plain.args[1] else { panic!("b has Integers") };
        assert_eq!(plain.results.is_err(), b.iter().any(|k| *k > 2), "{plain:?}");
    };
    check_with(text, |n| vec![I(n), Integers(integers(7, n, 4)), I(2)], fails);
}

#[test]
fn a_loop_in_lanes_may_stand_anywhere() {
    // In a loop, under a condition; and one in it, which then runs one iteration after the other in the lanes.
    let text = "fun f(n%0: integer, b%1: [float]) -> (float) {
  %2 = for %3 in 0..4 carrying (%4 = 0.0) {
    %5 = eq.i %3, 2
    %6 = if %5 {
      yield %4
    } else {
      %7 = for %8 in %3..n%0 lanes W carrying (%9 = %4) {
        %10 = for %11 in 0..3 lanes 2 carrying (%12 = 0.0) {
          %13 = load b%1[%8]
          %14 = to_float %11
          %15 = mul.f %13, %14
          %16 = add.f %12, %15
          yield %16
        }
        %17 = add.f %9, %10
        yield %17
      }
      yield %7
    }
    yield %6
  }
  yield %2
}";
    check(text, |n| vec![I(n), Floats(floats(8, n))]);
}
