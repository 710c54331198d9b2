//! L and L', the families of maps over all Integers (working notes, sec. 2.7), by their meaning:
//!
//! ```text
//! (L(f) ⊙ x)(i) = (f i) ⊙ x           L'(f) ⊙ g = Σ_i (f i) ⊙ g(i)     g of finite support
//! (m ⊙ x) • r = x • (r ⊙ᴿ m)          L(λi. m)ᵀ = L'(λi. mᵀ)            L'(λi. m)ᵀ = L(λi. mᵀ)
//! ```
//!
//! The maps differ from place to place, which random instances of the laws (`laws.rs`) do not.

use lm::interp::{Env, ErrorKind, Interpreter};
use lm::law;
use lm::map::{self, LinearMap};
use lm::prim::Prim;
use lm::term::{Binding, Expr, Program, Supply, Var};
use lm::types::Type;
use lm::value::Value;
use std::sync::Arc;

fn pair() -> Type {
    Type::tuple([Type::Float, Type::Float])
}

/// `m(i)`, from (Float, Float) to Float: `(x, y) ↦ i x + (2 - i) y`.
fn rows(i: &Var) -> Expr {
    let (k, two) = (Expr::prim(Prim::ToFloat, [Expr::var(i)]), Expr::float(2.0));
    let scale = |k| Expr::prim(Prim::LmScale, [Expr::dummy(Type::Float), k]);
    Expr::prim(Prim::LmHCat, [scale(k.clone()), scale(Expr::prim(Prim::Sub, [two, k]))])
}

/// `L(λi. m(i))` or `L'(λi. m(i)ᵀ)`, and such.
fn family(p: Prim, m: impl Fn(&Var) -> Expr) -> Expr {
    let i = Supply::default().fresh("i", Type::Integer);
    Expr::prim(p, [Expr::lam(i.clone(), m(&i))])
}

fn transposed(m: Expr) -> Expr {
    Expr::prim(Prim::LmTranspose, [m])
}

fn value(cx: &mut Interpreter, e: &Expr) -> Value {
    cx.eval(e, &mut Env::default()).expect("it has a value")
}

fn map(cx: &mut Interpreter, e: &Expr) -> Arc<LinearMap> {
    match value(cx, e) {
        Value::Map(m) => m,
        other => panic!("{other:?} is no map"),
    }
}

fn floats(values: &[f64]) -> Vec<Value> {
    values.iter().copied().map(Value::Float).collect()
}

fn vector(values: &[f64]) -> Value {
    Value::Tuple(floats(values))
}

fn support(values: &[f64]) -> Value {
    Value::Support(floats(values))
}

/// The first values of a function.
fn sampled(cx: &mut Interpreter, f: &Value, count: i64) -> Vec<Value> {
    let Value::Function(f) = f else { panic!("{f:?} is no function") };
    (0..count).map(|i| cx.apply_closure(f, Value::Integer(i)).expect("it is total")).collect()
}

fn with_interpreter(test: impl FnOnce(&mut Interpreter)) {
    let program = Program::default();
    test(&mut Interpreter::new(&program));
}

#[test]
fn l_gives_a_function_and_takes_one_of_finite_support_back() {
    with_interpreter(|cx| {
        let m = map(cx, &family(Prim::LmL, rows));
        let image = map::apply(cx, &m, &vector(&[5.0, 7.0])).expect("L is total");
        assert_eq!(sampled(cx, &image, 4), floats(&[14.0, 12.0, 10.0, 8.0]));
        // Σ_i r(i) (i, 2 - i).
        let back = map::apply_reverse(cx, &support(&[1.0, 10.0, 100.0]), &m);
        assert_eq!(back, Ok(vector(&[210.0, 12.0])));
    });
}

#[test]
fn l_t_takes_a_function_of_finite_support_and_gives_a_function_back() {
    with_interpreter(|cx| {
        let m = map(cx, &family(Prim::LmLT, |i| transposed(rows(i))));
        assert_eq!(map::apply(cx, &m, &support(&[1.0, 10.0, 100.0])), Ok(vector(&[210.0, 12.0])));
        let back = map::apply_reverse(cx, &vector(&[5.0, 7.0]), &m).expect("its transpose is total");
        assert_eq!(sampled(cx, &back, 4), floats(&[14.0, 12.0, 10.0, 8.0]));
    });
}

#[test]
fn a_sum_over_all_integers_is_refused() {
    with_interpreter(|cx| {
        let (l, lt) = (map(cx, &family(Prim::LmL, rows)), map(cx, &family(Prim::LmLT, |i| transposed(rows(i)))));
        let everywhere = map::apply(cx, &l, &vector(&[1.0, 1.0])).expect("L is total");
        for outcome in [map::apply(cx, &lt, &everywhere), map::apply_reverse(cx, &everywhere, &l)] {
            assert_eq!(outcome.expect_err("there is no such sum").kind, ErrorKind::InfiniteSum);
        }
        let dot = Expr::prim(
            Prim::Dot,
            [0, 1].map(|_| {
                Expr::prim(Prim::LmApply, [family(Prim::LmL, rows), Expr::tuple([Expr::float(1.0), Expr::float(1.0)])])
            }),
        );
        assert_eq!(cx.eval(&dot, &mut Env::default()).expect_err("no such sum").kind, ErrorKind::InfiniteSum);
    });
}

/// The zero function has an empty support.
#[test]
fn the_sum_over_nothing_is_zero() {
    with_interpreter(|cx| {
        let (l, lt) = (map(cx, &family(Prim::LmL, rows)), map(cx, &family(Prim::LmLT, |i| transposed(rows(i)))));
        assert_eq!(map::apply(cx, &lt, &support(&[])), Ok(vector(&[0.0, 0.0])));
        assert_eq!(map::apply_reverse(cx, &support(&[]), &l), Ok(vector(&[0.0, 0.0])));
    });
}

/// (TP), for both: with one side of finite support, both sums are finite.
#[test]
fn reverse_application_is_that_of_the_transpose() {
    with_interpreter(|cx| {
        let (x, r) = (vector(&[5.0, 7.0]), support(&[2.0, 3.0, 11.0]));
        let l = map(cx, &family(Prim::LmL, rows));
        let (ahead, back) = (map::apply(cx, &l, &x).expect("total"), map::apply_reverse(cx, &r, &l).expect("finite"));
        assert_eq!(dot(cx, &ahead, &r), dot(cx, &x, &back));
        let lt = map(cx, &family(Prim::LmLT, |i| transposed(rows(i))));
        let (ahead, back) = (map::apply(cx, &lt, &r).expect("finite"), map::apply_reverse(cx, &x, &lt).expect("total"));
        assert_eq!(dot(cx, &ahead, &x), dot(cx, &r, &back));
        assert_eq!(dot(cx, &ahead, &x), Value::Float(2.0 * 14.0 + 3.0 * 12.0 + 11.0 * 10.0));
    });
}

/// `x • y`, of values.
fn dot(cx: &mut Interpreter, x: &Value, y: &Value) -> Value {
    let mut supply = Supply::default();
    let ty = |v: &Value| match v {
        Value::Tuple(_) => pair(),
        _ => Type::lam(Type::Integer, Type::Float),
    };
    let (a, b) = (supply.fresh("x", ty(x)), supply.fresh("y", ty(y)));
    let mut env = Env::from_iter([(a.id(), x.clone()), (b.id(), y.clone())]);
    cx.eval(&Expr::prim(Prim::Dot, [Expr::var(&a), Expr::var(&b)]), &mut env).expect("a finite sum")
}

/// Functions are vectors: `(L(f) ⊕ L(g)) ⊙ x`, `⋈(L(f), L(g)) ⊙ (x, y)`, `L'(f)ᵀ`, multiples, differences.
#[test]
fn functions_are_added_and_scaled() {
    with_interpreter(|cx| {
        let (l, lt) = (family(Prim::LmL, rows), transposed(family(Prim::LmLT, |i| transposed(rows(i)))));
        let x = vector(&[5.0, 7.0]);
        let both = map(cx, &Expr::prim(Prim::LmAdd, [l.clone(), lt.clone()]));
        let image = map::apply(cx, &both, &x).expect("total");
        assert_eq!(sampled(cx, &image, 3), floats(&[28.0, 24.0, 20.0]));
        let joined = map(cx, &Expr::prim(Prim::LmHCat, [l.clone(), lt]));
        let image = map::apply(cx, &joined, &Value::Tuple(vec![x, vector(&[1.0, 2.0])])).expect("total");
        assert_eq!(sampled(cx, &image, 3), floats(&[18.0, 15.0, 12.0]));
        let mut supply = Supply::default();
        let (f, g) = (["f", "g"]).map(|name| supply.fresh(name, Type::lam(Type::Integer, Type::Float))).into();
        let mut on = |e: Expr, a: &Value, b: &Value| {
            let mut env = Env::from_iter([(f.id(), a.clone()), (g.id(), b.clone())]);
            cx.eval(&e, &mut env).expect("it has a value")
        };
        let (a, b) = (Expr::var(&f), Expr::var(&g));
        let (three, one) = (support(&[1.0, 2.0, 3.0]), support(&[10.0]));
        let difference = Expr::prim(Prim::Sub, [a.clone(), b.clone()]);
        assert_eq!(on(difference.clone(), &three, &one), support(&[-9.0, 2.0, 3.0]));
        assert_eq!(on(difference.clone(), &one, &three), support(&[9.0, -2.0, -3.0]));
        let differences = [on(difference.clone(), &image, &three), on(difference.clone(), &three, &image)];
        let scaled = on(Expr::prim(Prim::Mul, [Expr::float(-2.0), a]), &image, &one);
        let [ahead, back] = differences.map(|f| sampled(cx, &f, 4));
        assert_eq!((ahead, back), (floats(&[17.0, 13.0, 9.0, 9.0]), floats(&[-17.0, -13.0, -9.0, -9.0])));
        assert_eq!(sampled(cx, &scaled, 3), floats(&[-36.0, -30.0, -24.0]));
    });
}

/// The laws, on families that differ from place to place.
#[test]
fn laws_hold_of_families() {
    let given = || Expr::tuple([Expr::float(5.0), Expr::float(7.0)]);
    let (l, lt) = (family(Prim::LmL, rows), family(Prim::LmLT, |i| transposed(rows(i))));
    let instances = [
        ("apply-lambda", Expr::prim(Prim::LmApply, [l.clone(), given()])),
        ("reverse-tlambda", Expr::prim(Prim::LmApplyR, [given(), lt.clone()])),
        ("transpose-lambda", transposed(l)),
        ("transpose-tlambda", transposed(lt)),
    ];
    with_interpreter(|cx| {
        for (name, lhs) in instances {
            let (mut supply, mut floats) = (Supply::default(), Vec::<Binding>::new());
            let rhs = law::named(name).rewrite(&lhs, &mut supply, &mut floats).unwrap_or_else(|| panic!("{name}"));
            assert!(floats.is_empty() && lhs != rhs, "{name}");
            let [left, right] = [lhs, rhs].map(|e| seen(cx, &e));
            assert_eq!(left, right, "{name}");
        }
    });
}

/// Returns the first values of a function, or the image of a vector under a map.
fn seen(cx: &mut Interpreter, e: &Expr) -> Vec<Value> {
    let image = match (value(cx, e), e.ty()) {
        (Value::Map(m), Type::LM(s, _)) if **s == pair() => map::apply(cx, &m, &vector(&[3.0, 4.0])),
        (Value::Map(m), _) => map::apply(cx, &m, &support(&[2.0, 3.0, 11.0])),
        (value, _) => Ok(value),
    };
    match image.expect("a finite sum") {
        function @ Value::Function(_) => sampled(cx, &function, 4),
        value => vec![value],
    }
}
