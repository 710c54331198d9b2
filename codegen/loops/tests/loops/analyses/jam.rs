//! Tests loops whose iterations run side by side, written out.

use loops::analyses::jam::expanded;
use loops::analyses::verify::verify;
use loops::ir::Module;
use loops::ir::parse::parse;

const PRODUCT: &str = "fun f(n#0: integer, m#1: integer, v%2: [float], w%3: [float]) -> () {
  for i%4 in 0..n#0 jam 2 {
    %5 = load v%2[i%4]
    %13 = for j%6 in 0..m#1 carrying (sum%7 = -0.0) {
      %8 = mul.i i%4, m#1
      %9 = add.i %8, j%6
      %10 = load v%2[j%6]
      %11 = mul.f %10, %5
      %12 = add.f sum%7, %11
      yield %12
    }
    store w%3[i%4] = %13
    yield
  }
  yield
}
";

fn written_out(text: &str) -> Module {
    let mut module = parse(text);
    verify(&module).expect("it keeps the rules");
    for function in &mut module.functions {
        *function = expanded(function, module.vectors.floats).into_owned();
    }
    module
}

#[test]
fn what_is_the_same_is_done_once() {
    let module = written_out(PRODUCT);
    verify(&module).expect("it keeps the rules");
    let text = module.to_string();
    let (pairs, single) = text.split_once("store w%3").expect("pairs are stored first");
    assert_eq!(pairs.matches(" = load v%2[j").count(), 1, "{text}");
    assert_eq!(pairs.matches("mul.f").count(), 2, "{text}");
    assert_eq!(pairs.matches("carrying (sum%").count(), 1, "{text}");
    assert_eq!(single.matches("mul.f").count(), 1, "{text}");
    assert!(!text.contains(" jam "), "{text}");
}

/// Lanes of two vectors.
const WIDE: &str = "fun f(n#0: integer, m#1: integer, v%2: [float], w%3: [float]) -> () {
  for i%4 in 0..n#0 jam 2 {
    %5 = load v%2[i%4]
    %6 = mul.i i%4, m#1
    for j%7 in 0..m#1 lanes 8 {
      %8 = add.i %6, j%7
      store w%3[%8] = %5
      yield
    }
    yield
  }
  yield
}
";

#[test]
fn what_wide_lanes_leave_is_done_by_one_vector() {
    let text = written_out(WIDE).to_string();
    let lanes: Vec<&str> = text.split(" lanes ").skip(1).map(|after| &after[..1]).collect();
    assert_eq!(lanes, ["8", "4", "8", "4"], "of pairs, and of what is left of them: {text}");
    assert_eq!(text.matches("div.i").count(), 3, "the pairs, and the groups of both: {text}");
}

/// The largest element of v, which is the same for each i, and what row i of w has there; a sum for all i, in an arm.
const COMMON: &str = "fun f(n#0: integer, m#1: integer, v%2: [float], w%3: [float], x%4: [float], z%29: [float]) -> () {
  for i%5 in 0..n#0 jam 2 {
    %6 = mul.i i%5, m#1
    %7, %8, %9, %10 = for j%11 in 0..m#1 lanes 4 carrying (%12 = 0.0, %13 = 0.0, %14 = -9223372036854775808, %15 = -0.0) {
      %16 = load v%2[j%11]
      %17 = add.i %6, j%11
      %18 = load w%3[%17]
      %19 = lt.f %12, %16
      %20, %21, %22 = if %19 {
        yield %16, %18, j%11
      } else {
        yield %12, %13, %14
      }
      %23 = lt.f %16, 1.0
      %24, %25 = if %23 {
        %26 = add.f %15, %16
        yield %26, %18
      } else {
        yield %15, 0.0
      }
      store x%4[%17] = %25
      yield %20, %21, %22, %24
    }
    %27 = add.f %7, %8
    %28 = add.f %27, %10
    store z%29[i%5] = %28
    yield
  }
  yield
}
";

#[test]
fn what_is_the_same_is_carried_once() {
    let text = written_out(COMMON).to_string();
    let pairs = text.split(" carrying (").nth(1).expect("there is a loop of pairs");
    let carried = pairs.split(") {").next().expect("it carries something");
    assert_eq!(carried.split(", ").count(), 5, "one thing of each iteration, and three of all: {text}");
    assert_eq!(pairs.matches("lt.f").count(), 2, "{text}");
}

/// Each row of v with each row of w.
const BLOCK: &str = "fun f(n#0: integer, m#1: integer, v%2: [float], w%3: [float], x%4: [float]) -> () {
  for i%5 in 0..n#0 jam 4 {
    %6 = mul.i i%5, m#1
    %7 = mul.i i%5, n#0
    for k%8 in 0..n#0 jam 2 {
      %9 = mul.i k%8, m#1
      %10 = add.i %7, k%8
      %18 = for j%11 in 0..m#1 carrying (sum%12 = -0.0) {
        %13 = add.i %6, j%11
        %14 = load v%2[%13]
        %15 = add.i %9, j%11
        %16 = load w%3[%15]
        %17 = mul.f %14, %16
        %19 = add.f sum%12, %17
        yield %19
      }
      store x%4[%10] = %18
      yield
    }
    yield
  }
  yield
}
";

#[test]
fn loops_of_a_nest_side_by_side_make_blocks() {
    let module = written_out(BLOCK);
    verify(&module).expect("it keeps the rules");
    let text = module.to_string();
    let count = |part: &str, what: &str| part.matches(what).count();
    let counts: Vec<[usize; 3]> = text
        .split(" carrying (")
        .skip(1)
        .map(|loops| [count(loops, " = load v%2"), count(loops, " = load w%3"), count(loops, "mul.f")])
        .collect();
    let expected = [[4, 2, 8], [4, 1, 4], [2, 2, 4], [2, 1, 2], [1, 2, 2], [1, 1, 1]];
    assert_eq!(counts, expected, "{text}");
}

#[test]
fn loops_that_depend_on_the_iteration_are_not_run_side_by_side() {
    let violation = |text: &str| verify(&parse(text)).expect_err("it breaks a rule");
    let longer = PRODUCT.replace("0..m#1", "0..i%4");
    assert_eq!(violation(&longer), "at once in f: it has `for`");
    let checked = PRODUCT
        .replace("    store", "    %14 = lt.i i%4, m#1\n    check %14 else IndexOutOfRange(i%4, m#1)\n    store");
    assert_eq!(violation(&checked), "at once in f: it has `check`");
    let elsewhere = PRODUCT.replace("store w%3[i%4]", "store w%3[0]");
    assert_eq!(violation(&elsewhere), "at once in f: what is written to %3 may be another iteration's");
    let both = PRODUCT.replace("jam 2", "lanes 4 jam 2");
    assert!(violation(&both).ends_with("the iterations of a loop run side by side, and in lanes or on threads"));
}
