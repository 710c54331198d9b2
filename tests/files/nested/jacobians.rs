//! Jacobians and Hessians as values, and calls along several directions.

use super::*;
use lm::term::Derivative;

/// The tests.
pub fn tests() -> Vec<Trial> {
    alone!(
        "nested": calls_along_several_directions_are_told_apart,
        jacobians_have_the_derivatives_as_columns_and_rows, jacobians_take_columns_or_rows_whichever_are_fewer,
        jacobians_are_compiled_and_come_back_as_text
    )
}

/// Two tangents of one call are not taken for each other where calls are merged.
fn calls_along_several_directions_are_told_apart() {
    let text = "(def inner Float ((v : Vec (Tuple Float Float)) (x : Float) (i : Integer)) (index 0 (Vec_init x)))
        (def outer Float ((v : Vec Float) (x : Float))
          (inner (constVec (size v) (tuple x x))
                 (inner (constVec (size v) (tuple x x)) x
                        (let ((i sizes) (tuple (index 1 (Vec_init 2 1)) (constVec (size v) (size v))))
                          (if (and (gte i 0) (lt i (size sizes))) (index i sizes) (size sizes))))
                 (size v)))
        (def f Float ((v : Vec Float) (x : Float))
          (let ((y (outer v x)) (z (ts_dot y y))) (mul z (sin z))))";
    let vector = |floats: [f64; 2]| Value::vector(floats.map(Value::Float).to_vec());
    let point = Value::Tuple(vec![vector([0.7, 0.4]), Value::Float(1.3)]);
    let mut p = pipeline(text);
    let compared = agreement_of_orders(&mut p, &FunName::base("f"), &point);
    assert_eq!(compared, Ok(true));
}

/// `[jac f]`, `[jacfwd f]` and `[jacrev f]`, each column against `[fwd f]` and each row against `[rev f]`.
fn jacobians_have_the_derivatives_as_columns_and_rows() {
    const VECTORS: [(&str, &str); 4] = [
        ("tall", "(build (mul 2 (size v)) (lam (i : Integer) (sin (mul (index (div i 2) v) (to_float i)))))"),
        ("wide", "(build (div (size v) 2) (lam (i : Integer) (mul (index i v) (index (add i 1) v))))"),
        ("square", "(map (lam (x : Float) (mul x (sum v))) v)"),
        (
            "folded",
            "(build (size v) (lam (i : Integer) (fold (lam (p : Tuple Float Float) \
             (sin (mul (get$1$2 p) (get$2$2 p)))) (index i v) v)))",
        ),
    ];
    with_large_stack(|| {
        for (name, body) in VECTORS {
            let mut p = pipeline(&format!("(def {name} (Vec Float) (v : Vec Float) {body})"));
            for n in [0, 1, 4, 5] {
                let floats = (0..n).map(|i| Value::Float(0.5 + f64::from(i) / 3.0)).collect();
                let v = Value::Tensor(lm::tensor::Tensor::new(vec![n as usize], floats).into());
                columns_and_rows(&mut p, &FunName::base(name), &v);
            }
        }
    });
}

fn columns_and_rows(p: &mut Pipeline, f: &FunName, v: &Value) {
    let value = call(p, f, std::slice::from_ref(v));
    let (n, m) = (v.floats().len(), value.floats().len());
    let unit = |n: usize, i: usize| {
        let floats = (0..n).map(|k| Value::Float(f64::from(u8::from(k == i)))).collect();
        Value::Tensor(lm::tensor::Tensor::new(vec![n], floats).into())
    };
    let columns: Vec<Vec<f64>> =
        (0..n).map(|j| call(p, &f.derived(Derivative::Fwd), &[v.clone(), unit(n, j)]).floats()).collect();
    let rows: Vec<Vec<f64>> =
        (0..m).map(|i| call(p, &f.derived(Derivative::Rev), &[v.clone(), unit(m, i)]).floats()).collect();
    for way in [Derivative::Jac, Derivative::JacFwd, Derivative::JacRev] {
        let jacobian = call(p, &f.derived(way.clone()), std::slice::from_ref(v));
        let Value::Tensor(tensor) = &jacobian else { panic!("{f}: {jacobian} is no tensor") };
        assert_eq!(tensor.size(), [m, n], "[{way} {f}]");
        let entries = jacobian.floats();
        for (i, row) in rows.iter().enumerate() {
            for (j, column) in columns.iter().enumerate() {
                let found = entries[i * n + j];
                assert!(is_close(found, row[j], 1.0) && is_close(found, column[i], 1.0), "[{way} {f}] at {i}, {j}");
            }
        }
    }
}

/// The side with fewer scalars is the one of which there is a derivative each.
fn jacobians_take_columns_or_rows_whichever_are_fewer() {
    let text = "(def tall (Vec Float) (v : Vec Float)
          (fold (lam (t : Tuple (Vec Float) Float) (map (lam (x : Float) (mul x (get$2$2 t))) (get$1$2 t)))
                (constVec (mul 50 (size v)) 1.0) v))
        (def wide (Vec Float) (v : Vec Float) (build (div (size v) 50) (lam (i : Integer)
          (fold (lam (t : Tuple Float Float) (mul (get$1$2 t) (get$2$2 t))) 1.0 v))))
        (def curve (Vec Float) (t : Float) (build 100 (lam (i : Integer) (sin (mul t (to_float i))))))
        (def scalar Float (v : Vec Float) (ts_dot v v))";
    let mut p = pipeline(text);
    let ones = |n: usize| Value::Tensor(lm::tensor::Tensor::new(vec![n], vec![Value::Float(1.0); n]).into());
    let mut cost = |name: &str, way: Derivative, at: Value| work(&mut p, &FunName::base(name).derived(way), &[at]);
    let [chosen, forward, reverse] =
        [Derivative::Jac, Derivative::JacFwd, Derivative::JacRev].map(|way| cost("tall", way, ones(2)));
    // The choice needs the shape of the value, that of a fold.
    assert!(chosen <= 1.25 * forward && 5.0 * forward < reverse, "{chosen}, {forward}, {reverse}");
    let [chosen, forward, reverse] =
        [Derivative::Jac, Derivative::JacFwd, Derivative::JacRev].map(|way| cost("wide", way, ones(100)));
    assert!(chosen == reverse && 5.0 * reverse < forward, "{chosen}, {forward}, {reverse}");
    let [chosen, forward] = [Derivative::Jac, Derivative::JacFwd].map(|way| cost("curve", way, Value::Float(0.5)));
    assert!(chosen == forward && chosen <= 1000.0, "{chosen}, {forward}");
    let [chosen, reverse] = [Derivative::Jac, Derivative::JacRev].map(|way| cost("scalar", way, ones(100)));
    assert!(chosen == reverse && chosen <= 1000.0, "{chosen}, {reverse}");
}

fn jacobians_are_compiled_and_come_back_as_text() {
    let text = "(def f (Tuple (Vec Float) Float) ((m : Tensor 2 Float) (n : Integer) (x : Float))
          (let ((r c) (size m))
            (tuple (build r (lam (i : Integer) (sumbuild c (lam (j : Integer) (mul x (sin (index (tuple i j) m)))))))
                   (mul x (to_float n)))))
        (def power Float ((x : Float) (n : Integer)) (if (lte n 0) 1.0 (mul x (power x (sub n 1)))))
        (def g Float (v : Vec Float) (mul (power (sum v) 3) (ts_dot v v)))";
    with_large_stack(|| {
        let mut p = pipeline(text);
        let (f, g) = (FunName::base("f"), FunName::base("g"));
        let ways = |f: &FunName| [Derivative::Jac, Derivative::JacFwd, Derivative::JacRev].map(|way| f.derived(way));
        let mut entries = ways(&f).to_vec();
        entries.extend(ways(&g));
        entries.extend([Derivative::Grad, Derivative::Hvp, Derivative::Hess].map(|way| g.derived(way)));
        entries.push(f.restricted(&[vec![1]]).derived(Derivative::Jac));
        let jits = natively(&mut p, &entries);
        stages_come_back(&p, &[]).expect("no stages");
        let m =
            Value::Tensor(lm::tensor::Tensor::new(vec![2, 2], [0.1, 0.2, 0.3, 0.4].map(Value::Float).into()).into());
        let v = Value::Tensor(lm::tensor::Tensor::new(vec![3], [0.5, 0.25, 1.5].map(Value::Float).into()).into());
        for name in &entries {
            let args = match (&*name.base, &name.derivations[0]) {
                ("f", _) => vec![m.clone(), Value::Integer(2), Value::Float(0.5)],
                (_, Derivative::Hvp) => vec![v.clone(), v.clone()],
                _ => vec![v.clone()],
            };
            let interpreted = call(&mut p, name, &args);
            for jit in &jits {
                let native = jit.call(name, &args).unwrap_or_else(|error| panic!("{name}: {error}"));
                let apart = gradcheck::distance(&interpreted, &native);
                assert!(apart <= gradcheck::native_limit(Some(jit)), "{name}: {interpreted}, {native}");
            }
        }
        let hessian = call(&mut p, &g.derived(Derivative::Hess), std::slice::from_ref(&v)).floats();
        for (i, j) in (0..3).flat_map(|i| (0..i).map(move |j| (i, j))) {
            assert!(is_close(hessian[3 * i + j], hessian[3 * j + i], 1.0), "{hessian:?}");
        }
        let printed = lm::notation::ks::program(p.program(), 80);
        front::load_stage(&Source::new("stage.ks", &printed)).unwrap_or_else(|errors| panic!("{errors:?}\n{printed}"));
    });
}
