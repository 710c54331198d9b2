//! Inner loops along rows of memory: for one lane after the other where rows are long, else in lanes.

use super::Arg::{F, Floats, I, Integers, Rows};
use super::*;

/// Returns, for each loop inside of the one in lanes, whether it goes along rows.
fn along_rows(text: &str) -> Vec<bool> {
    use loops::analyses::alias::Aliases;
    use loops::analyses::cache::summaries;
    use loops::analyses::divergence::Divergence;
    use loops::analyses::rows::goes_along_rows;
    use loops::ir::Stmt;
    let module = parse(&text.replace("lanes W", "lanes 4"));
    let function = &module.functions[0];
    let aliases = Aliases::of(function, &summaries(&module));
    let mut found = vec![];
    function.body.visit(&mut |stmt| {
        if let Stmt::For(looped) = stmt
            && looped.lanes > 1
        {
            let spread = Divergence::of(function, &aliases, looped).expect("it runs in lanes");
            looped.body.visit(&mut |stmt| {
                if let Stmt::For(inner) = stmt {
                    found.push(goes_along_rows(function, &spread, inner));
                }
            });
        }
    });
    found
}

/// Lengths of rows: none, short, and long with a rest.
const LENGTHS: [i64; 4] = [0, 5, 24, 61];

#[test]
fn sums_over_rows_and_over_columns() {
    let text = "fun f(n%0: integer, m%1: integer, w%2: [float], x%3: [float], y%4: [float]) -> (float, integer) {
  %5, %6 = for %7 in 0..n%0 lanes W carrying (%8 = 0.5, %9 = 3) {
    %10 = mul.i %7, m%1
    %11, %12 = for %13 in 0..m%1 carrying (%14 = 0.25, %15 = %7) {
      %16 = add.i %10, %13
      %17 = load w%2[%16]
      %18 = load x%3[%13]
      %19 = mul.f %17, %18
      %20 = add.f %14, %19
      %21 = add.i %15, %13
      yield %20, %21
    }
    %22 = exp %11
    for %23 in 0..m%1 {
      %24 = add.i %10, %23
      %25 = load w%2[%24]
      %26 = mul.f %22, %25
      add y%4[%23] += %26
      store w%2[%24] = %22
      yield
    }
    %27 = add.f %8, %22
    %28 = add.i %9, %12
    yield %27, %28
  }
  yield %5, %6
}";
    assert_eq!(along_rows(text), [true, true]);
    for m in LENGTHS {
        let [w, x, y] = [1, 2, 3].map(|seed| move |n: i64| floats(seed, n).iter().map(|x| 0.1 * x).collect::<Vec<_>>());
        check(text, |n| vec![I(n), I(m), Floats(w(n * m)), Floats(x(m)), Floats(y(m))]);
    }
}

#[test]
fn rows_of_their_own_where_lanes_part() {
    let text = "fun f(n%0: integer, m%1: integer, rows%2: [[float]], p%3: [integer], a%4: float) -> (float) {
  %5 = for %6 in 0..n%0 lanes W carrying (%7 = 0.0) {
    %8 = load rows%2[%6]
    %9 = load p%3[%6]
    %10 = eq.i %9, 1
    %11 = if %10 {
      %12 = for %13 in 0..m%1 carrying (%14 = a%4) {
        %15 = load %8[%13]
        %16 = add.f %14, %15
        yield %16
      }
      yield %12
    } else {
      for %17 in 0..m%1 {
        %18 = to_float %6
        store %8[%17] = %18
        yield
      }
      yield a%4
    }
    %19 = add.f %7, %11
    yield %19
  }
  yield %5
}";
    assert_eq!(along_rows(text), [true, true]);
    for m in LENGTHS {
        let rows = |n: i64| (0..n).map(|i| floats(i, m)).collect::<Vec<_>>();
        check(text, |n| vec![I(n), I(m), Rows(rows(n)), Integers(integers(4, n, 3)), F(0.25)]);
    }
}

#[test]
fn memory_of_the_lanes_stays_in_lanes() {
    let text = "fun f(n%0: integer, m%1: integer, w%2: [float]) -> (float) {
  %3 = for %4 in 0..n%0 lanes W carrying (%5 = 0.0) {
    %6 = mark
    %7 = alloc [float] m%1
    %8 = mul.i %4, m%1
    for %9 in 0..m%1 {
      %10 = add.i %8, %9
      %11 = load w%2[%10]
      store %7[%9] = %11
      yield
    }
    %12 = for %13 in 0..m%1 carrying (%14 = 0.0) {
      %15 = load %7[%13]
      %16 = add.f %14, %15
      yield %16
    }
    release %6
    %17 = add.f %5, %12
    yield %17
  }
  yield %3
}";
    assert_eq!(along_rows(text), [false, false]);
    for m in LENGTHS {
        check(text, |n| vec![I(n), I(m), Floats(floats(5, n * m))]);
    }
}
