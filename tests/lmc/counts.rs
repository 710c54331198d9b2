//! Counts of what loops do, beside counts by hand. They are of the loops as lowering makes them: what passes change is
//! the passes' matter.

use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use loops::analyses::counts::{Counts, Work};
use loops::{LOWERING, Selection};
use native::{Jit, Options, SourceInfo};

const PROGRAM: &str = r#"
(def dot Float ((v : Vec Float) (w : Vec Float))
  (sum (build (size v) (lam (i : Integer) (mul (index i v) (index i w))))))

(def product (Tensor 2 Float) ((a : Tensor 2 Float) (b : Tensor 2 Float))
  (let (((r k) (size a))
        ((k2 c) (size b)))
    (build (tuple r c)
           (lam (ij : Tuple Integer Integer)
             (let ((i (get$1$2 ij)) (j (get$2$2 ij)))
               (sum (build k (lam (l : Integer) (mul (index (tuple i l) a) (index (tuple l j) b))))))))))

(def branch Float (x : Float)
  (if (gt x 0.0) (exp x) (mul x (mul x x))))

(def kinds Float ((x : Float) (y : Float))
  (add (div (sqrt x) (sub y (neg x))) (max (abs x) (pow x y))))

(def power Float ((x : Float) (n : Integer))
  (if (lte n 0) 1.0 (mul x (power x (sub n 2)))))

(def larger (Vec Bool) (v : Vec Float)
  (map (lam (x : Float) (gt x 0.5)) v))

(def pick Float ((v : Vec Float) (i : Integer))
  (index i v))

; The state moves down to the mark, from the second step on.
(def steps (Vec Float) ((v : Vec Float) (n : Integer))
  (fold (lam (t : Tuple (Vec Float) Integer)
          (let ((w i) t) (build (size w) (lam (k : Integer) (mul 0.5 (index (sub (sub (size w) 1) k) w))))))
        v
        (build n (lam (i : Integer) i))))

; The vector in the result is copied behind it, and both slide down.
(def last_row (Vec (Vec Float)) (n : Integer)
  (let (rows (build n (lam (i : Integer) (build (add i 1) (lam (j : Integer) (to_float j))))))
    (build 1 (lam (i : Integer) (index (sub n 1) rows)))))
"#;

fn counts(function: FunName, arguments: &[Value]) -> Counts {
    with_large_stack(|| {
        let source = Source::new("counts.ks", PROGRAM);
        let checked = front::load(&source).unwrap_or_else(|errors| panic!("{errors:?}"));
        let mut pipeline = Pipeline::new(checked);
        pipeline.require(&function).expect("it derives");
        let options = Options { passes: Selection::Through(LOWERING.into()), ..Options::default() };
        let entries = [function.clone()];
        let jit = Jit::counting(pipeline.program(), &entries, &SourceInfo::new("counts.ks", PROGRAM), &options);
        let jit = jit.expect("it compiles");
        let mut call = jit.prepare(&function, arguments);
        let counts = call.counts().expect("it goes well");
        assert_eq!(call.counts(), Ok(counts), "each call is counted anew");
        counts
    })
}

/// The counts that are named, and no others.
#[track_caller]
fn expect(function: FunName, arguments: &[Value], expected: &[(Work, usize)]) {
    let mut by_hand = Counts::default();
    expected.iter().for_each(|(work, count)| by_hand[*work] = *count as u64);
    assert_eq!(counts(function.clone(), arguments), by_hand, "{function}; in the order of {:?}", Work::ALL);
}

fn vector(n: usize) -> Value {
    Value::vector((0..n).map(|i| Value::Float(i as f64)).collect())
}

fn matrix(rows: usize, columns: usize) -> Value {
    let elements = (0..rows * columns).map(|i| Value::Float(i as f64)).collect();
    Value::Tensor(lm::tensor::Tensor::new(vec![rows, columns], elements).into())
}

fn name(f: &str) -> FunName {
    FunName::base(f)
}

#[test]
fn a_dot_product() {
    for n in [0, 1, 1_000] {
        let expected = [(Work::Multiplications, n), (Work::Additions, n), (Work::Loaded, 2 * 8 * n)];
        expect(name("dot"), &[vector(n), vector(n)], &expected);
    }
}

/// For each i, dv[i] is w[i] dr, and v[i] dr is added to dw[i], after it was zeroed: w may have more elements.
#[test]
fn the_gradient_of_a_dot_product() {
    let n = 1_000;
    let point = Value::Tuple(vec![vector(n), vector(n)]);
    let expected = [
        (Work::Multiplications, 2 * n),
        (Work::Additions, n),
        (Work::Loaded, 8 * (2 * n + n)),
        (Work::Stored, 8 * (n + 2 * n)),
    ];
    expect(name("dot").derived(Derivative::Rev), &[point, Value::Float(1.0)], &expected);
}

#[test]
fn a_matrix_product() {
    let [r, k, c] = [3, 5, 7];
    let all = r * k * c;
    let expected =
        [(Work::Multiplications, all), (Work::Additions, all), (Work::Loaded, 8 * 2 * all), (Work::Stored, 8 * r * c)];
    expect(name("product"), &[matrix(r, k), matrix(k, c)], &expected);
}

/// For each i, j and l, the cotangent, a and b are loaded; two products are added to what is loaded and stored.
#[test]
fn the_gradient_of_a_matrix_product() {
    let [r, k, c] = [3, 5, 7];
    let all = r * k * c;
    let point = Value::Tuple(vec![matrix(r, k), matrix(k, c)]);
    let expected = [
        (Work::Multiplications, 2 * all),
        (Work::Additions, 2 * all),
        (Work::Loaded, 8 * 5 * all),
        (Work::Stored, 8 * (2 * all + r * k + k * c)),
    ];
    expect(name("product").derived(Derivative::Rev), &[point, matrix(r, c)], &expected);
}

#[test]
fn only_the_branch_that_is_taken_counts() {
    expect(name("branch"), &[Value::Float(1.0)], &[(Work::Comparisons, 1), (Work::Calls, 1)]);
    expect(name("branch"), &[Value::Float(-1.0)], &[(Work::Comparisons, 1), (Work::Multiplications, 2)]);
}

#[test]
fn each_kind_has_its_counter() {
    let one = [Work::Divisions, Work::Roots, Work::Calls, Work::Comparisons].map(|work| (work, 1));
    let expected = [&one[..], &[(Work::Additions, 2)]].concat();
    expect(name("kinds"), &[Value::Float(1.0), Value::Float(2.0)], &expected);
}

#[test]
fn callees_count() {
    expect(name("power"), &[Value::Float(2.0), Value::Integer(18)], &[(Work::Multiplications, 9)]);
}

#[test]
fn a_bool_is_a_byte() {
    let n = 10;
    let expected = [(Work::Comparisons, n), (Work::Loaded, 8 * n), (Work::Stored, n)];
    expect(name("larger"), &[vector(n)], &expected);
}

/// The gradient is zeroed, and one element set.
#[test]
fn zeros_count_by_their_number() {
    for n in [1, 100] {
        let point = Value::Tuple(vec![vector(n), Value::Integer(0)]);
        expect(name("pick").derived(Derivative::Rev), &[point, Value::Float(2.0)], &[(Work::Stored, 8 * (n + 1))]);
    }
}

/// Of n steps n - 1 move their state, since the first one's lies at the mark; the result moves to where the vector of
/// indices began, which was stored and loaded.
#[test]
fn moves_count_where_something_moves() {
    let (size, n) = (10, 4);
    let touched = 8 * (n + n * size + (n - 1) * size + size);
    let expected = [(Work::Multiplications, n * size), (Work::Loaded, touched), (Work::Stored, touched)];
    expect(name("steps"), &[vector(size), Value::Integer(n as i64)], &expected);
}

/// Buffers start at multiples of 16 bytes.
#[test]
fn slides_count_by_their_piece() {
    let n = 64;
    // A size and an address: of the element, of its copy, and of that after the slide, whose size is not stored again.
    let elements = 3 * 16;
    let (copied, slid) = (8 * n, 2 * 16 + 8 * n);
    let rows = 16 * n + 8 * n * (n + 1) / 2;
    let expected = [(Work::Loaded, elements + copied + slid), (Work::Stored, rows + elements - 8 + copied + slid)];
    expect(name("last_row"), &[Value::Integer(n as i64)], &expected);
}
