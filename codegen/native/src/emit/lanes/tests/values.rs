//! Operations, sums and accesses of memory from outside the loop.

use super::Arg::{Bools, F, Floats, I, Integers, Rows};
use super::*;
use lm::libm;
use loops::ir::{ALL_OPS, Op};

#[test]
fn sums_start_from_what_is_carried() {
    let text = "fun f(n%0: integer, b%1: [float], c%2: [integer]) -> (float, integer, float) {
  %3, %4, %5 = for %6 in 0..n%0 lanes W carrying (%7 = 2.5, %8 = 7, %9 = 3.0) {
    %10 = load b%1[%6]
    %11 = load c%2[%6]
    %12 = add.f %7, %10
    %13 = add.i %11, %8
    yield %12, %13, %9
  }
  yield %3, %4, %5
}";
    check(text, |n| vec![I(n), Floats(floats(1, n)), Integers(integers(1, n, 100))]);
}

#[test]
fn ranges_begin_anywhere_and_may_be_empty() {
    let text = "fun f(n%0: integer, m%1: integer, b%2: [float]) -> (float) {
  %3 = for %4 in m%1..n%0 lanes W carrying (%5 = 0.0) {
    %6 = sub.i %4, m%1
    %7 = load b%2[%6]
    %8 = to_float %4
    %9 = mul.f %7, %8
    %10 = add.f %5, %9
    yield %10
  }
  yield %3
}";
    check(text, |n| vec![I(n - 5), I(-5), Floats(floats(2, n))]);
    check(text, |n| vec![I(-n), I(1), Floats(vec![])]);
}

/// Returns a text that stores what the k-th operation gives at k n + i, for each i.
fn text_of_operations(ops: &[Op]) -> String {
    let buffer = |scalar: &Scalar, of: [&'static str; 3]| match scalar {
        Scalar::Float => of[0],
        Scalar::Integer => of[1],
        _ => of[2],
    };
    let mut text = String::from(
        "fun f(n%0: integer, r%1: [float], r%2: [integer], r%3: [bool], %4: [float], %5: [integer], %6: [bool]) -> () {
  for %7 in 0..n%0 lanes W {
    %8 = sub.i n%0, %7
    %9 = sub.i %8, 1\n",
    );
    let mut next = 10;
    for (k, op) in ops.iter().enumerate() {
        let mut operands = vec![];
        for (scalar, place) in op.operands().iter().zip(["%7", "%9"]) {
            // One operand from the front, one from the back.
            text += &format!("    %{next} = load {}[{place}]\n", buffer(scalar, ["%4", "%5", "%6"]));
            operands.push(format!("%{next}"));
            next += 1;
        }
        let result = buffer(&op.result(), ["r%1", "r%2", "r%3"]);
        text += &format!("    %{next} = {} {}\n", op.name(), operands.join(", "));
        text += &format!("    %{} = mul.i n%0, {k}\n    %{} = add.i %{}, %7\n", next + 1, next + 2, next + 1);
        text += &format!("    store {result}[%{}] = %{next}\n", next + 2);
        next += 3;
    }
    text + "    yield\n  }\n  yield\n}"
}

#[test]
fn operations_are_those_on_scalars() {
    // The product of counts is of numbers that are not negative; chunks are made before loops.
    let is_meant = |op: &Op| !matches!(op, Op::EqT | Op::Count | Op::Chunk | Op::Chunks);
    let all: Vec<Op> = ALL_OPS.iter().copied().filter(is_meant).collect();
    agree_on(&all, |k| k);
    agree_on(&[Op::Count], |k| k & i64::MAX);
}

fn agree_on(ops: &[Op], made: impl Fn(i64) -> i64) {
    let numbers = |n: i64| {
        let special = [f64::NAN, f64::INFINITY, -0.0, 1e300, f64::NEG_INFINITY, 800.0];
        let spread = floats(3, n).into_iter().enumerate();
        spread.map(|(i, x)| if i % 5 == 4 { special[i / 5 % 6] } else { 3.0 * x }).collect()
    };
    let integers = |n: i64| {
        let special = [i64::MIN, -1, i64::MAX, 1];
        let nonzero = integers(4, n, 1000).into_iter().enumerate();
        nonzero.map(|(i, k)| made(if i % 4 == 3 { special[i / 4 % 4] } else { k - 1500 })).collect()
    };
    let bools = |n: i64| (0..n).map(|i| u8::from(i % 3 == 1)).collect();
    check(&text_of_operations(ops), |n| {
        let m = n as usize * ops.len();
        let results = [Floats(vec![0.0; m]), Integers(vec![0; m]), Bools(vec![7; m])];
        let given = [Floats(numbers(n)), Integers(integers(n)), Bools(bools(n))];
        [I(n)].into_iter().chain(results).chain(given).collect()
    });
}

#[test]
fn lanes_that_are_off_do_not_divide() {
    // The rest of a chunk loads zeros.
    let text = "fun f(n%0: integer, b%1: [integer]) -> (integer) {
  %2 = for %3 in 0..n%0 lanes W carrying (%4 = 0) {
    %5 = load b%1[%3]
    %6 = div.i 1000, %5
    %7 = add.i %4, %6
    yield %7
  }
  yield %2
}";
    check(text, |n| vec![I(n), Integers(integers(5, n, 9).iter().map(|k| k + 1).collect())]);
}

#[test]
fn elements_are_gathered_and_scattered() {
    // r[n - 1 - i] = b[p[i]]; s[3 i + 1] = 2 b[2 i]
    let text = "fun f(n%0: integer, b%1: [float], p%2: [integer], r%3: [float], s%4: [float]) -> () {
  for %5 in 0..n%0 lanes W {
    %6 = load p%2[%5]
    %7 = load b%1[%6]
    %8 = sub.i n%0, %5
    %9 = sub.i %8, 1
    store r%3[%9] = %7
    %10 = mul.i %5, 3
    %11 = add.i %10, 1
    %12 = mul.i 2, %5
    %13 = load b%1[%12]
    %14 = add.f %13, %13
    store s%4[%11] = %14
    yield
  }
  yield
}";
    check(text, |n| {
        let m = 2 * n + 1;
        let zeros = |n: i64| Floats(vec![0.0; n as usize]);
        vec![I(n), Floats(floats(6, m)), Integers(integers(6, n, m)), zeros(n), zeros(3 * n + 1)]
    });
}

#[test]
fn what_all_add_to_one_element_is_added_up() {
    let text = "fun f(n%0: integer, b%1: [float], r%2: [float], c%3: [integer]) -> () {
  for %4 in 0..n%0 lanes W {
    %5 = load b%1[%4]
    add r%2[1] += %5
    add r%2[0] += 0.5
    add c%3[0] += %4
    yield
  }
  yield
}";
    check(text, |n| vec![I(n), Floats(floats(7, n)), Floats(vec![1.0, 2.0]), Integers(vec![3])]);
}

#[test]
fn several_lanes_may_add_to_the_same_element() {
    // A histogram of few columns, and neighbours, which are each lane's own.
    let text = "fun f(n%0: integer, b%1: [float], p%2: [integer], r%3: [float], s%4: [float], t%5: [float]) -> () {
  for %6 in 0..n%0 lanes W {
    %7 = load b%1[%6]
    %8 = load p%2[%6]
    add r%3[%8] += %7
    %9 = add.i %6, 2
    add s%4[%9] += %7
    %10 = mul.i %6, -2
    %11 = mul.i n%0, 2
    %12 = add.i %10, %11
    add t%5[%12] += 1.0
    yield
  }
  yield
}";
    check(text, |n| {
        vec![
            I(n),
            Floats(floats(8, n)),
            Integers(integers(8, n, 3)),
            Floats(vec![0.0; 3]),
            Floats(floats(9, n + 2)),
            Floats(floats(10, 2 * n + 1)),
        ]
    });
}

#[test]
fn rows_from_outside_are_read_and_added_to() {
    let text = "fun f(n%0: integer, m%1: integer, rows%2: [[float]], others%3: [[float]]) -> (float) {
  %4 = for %5 in 0..n%0 lanes W carrying (%6 = 0.0) {
    %7 = load rows%2[%5]
    %8 = load others%3[%5]
    %9 = for %10 in 0..m%1 carrying (%11 = 1.0) {
      %12 = load %7[%10]
      %13 = mul.f %11, %12
      add %8[%10] += %13
      yield %13
    }
    %14 = %7[1..]
    %15 = load %14[0]
    %16 = add.f %9, %15
    %17 = add.f %6, %16
    yield %17
  }
  yield %4
}";
    let rows = |seed: i64, n: i64| Rows((0..n).map(|i| floats(seed + i, 5)).collect());
    check(text, |n| vec![I(n), I(5), rows(11, n), rows(50, n)]);
}

#[test]
fn bools_are_bytes_in_memory() {
    let text = "fun f(n%0: integer, b%1: [bool], r%2: [bool]) -> () {
  for %3 in 0..n%0 lanes W {
    %4 = load b%1[%3]
    %5 = not %4
    store r%2[%3] = %5
    yield
  }
  yield
}";
    check(text, |n| vec![I(n), Bools((0..n).map(|i| (i % 4) as u8).collect()), Bools(vec![9; n as usize + 3])]);
}

#[test]
fn a_scalar_from_outside_is_in_all_lanes() {
    let text = "fun f(n%0: integer, x%1: float, b%2: [float]) -> (float) {
  %3 = for %4 in 0..n%0 lanes W carrying (%5 = 0.0) {
    %6 = load b%2[%4]
    %7 = pow x%1, %6
    %8 = atan2 %7, x%1
    %9 = add.f %5, %8
    yield %9
  }
  yield %3
}";
    check(text, |n| vec![I(n), F(1.75), Floats(floats(12, n))]);
}

#[test]
fn functions_on_vectors_are_at_most_4_ulp_off() {
    let ops: Vec<Op> = libm::ALL.iter().copied().map(Op::Libm).collect();
    let text = text_of_operations(&ops);
    let plain = Native::new(&text.replace(" lanes W", ""), &Options::exact());
    let fast = Options { math: Math::Fast, ..Options::exact() };
    let native = Native::new(&text.replace("lanes W", "lanes 8"), &fast);
    let n = 2003;
    for scale in [1.0, 30.0] {
        let x = floats(13, n).into_iter().map(|x| scale * x).collect();
        let m = n as usize * ops.len();
        let args =
            [I(n), Floats(vec![0.0; m]), Integers(vec![]), Bools(vec![]), Floats(x), Integers(vec![]), Bools(vec![])];
        let [wanted, found] = [&plain, &native].map(|native| native.call(&args));
        let (Floats(wanted), Floats(found)) = (&wanted.args[1], &found.args[1]) else { panic!("results are Floats") };
        for (i, (wanted, found)) in wanted.iter().zip(found).enumerate() {
            let op = ops[i / n as usize].name();
            // libm is off by less than 1 itself.
            let ulps = (wanted.to_bits() as i64).abs_diff(found.to_bits() as i64);
            assert!(ulps <= 5 || wanted.is_nan() && found.is_nan(), "{op}: {wanted:e} and {found:e}, {ulps} ulp");
        }
    }
}
