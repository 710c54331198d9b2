//! Sizes as polynomials, and the signatures of functions and derivatives.

use lm::sizes::{Polynomial, Relation, Signature, SizedType};
use lm::term::{Derivative, Fun, FunName};
use lm::types::Type;

fn n() -> Polynomial {
    Polynomial::variable("n")
}

fn vector(size: Polynomial) -> SizedType {
    SizedType::Tensor(vec![Some(size)], Box::new(SizedType::Plain(Type::Float)))
}

fn signature(params: Vec<SizedType>, result: SizedType) -> Signature {
    let named = params.into_iter().zip(["v", "w"]).map(|(ty, name)| (name.into(), ty));
    Signature::new(named.collect(), result).expect("its sizes are told")
}

#[test]
fn equal_polynomials_are_written_in_one_way() {
    let m = Polynomial::variable("m");
    let product = n().times(&m.shifted(1)).minus(&n());
    assert_eq!(product, m.times(&n()));
    assert_eq!(n().minus(&n()).as_constant(), Some(0));
    assert_eq!(product.shifted(-3).to_string(), "m * n - 3");
    assert_eq!(product.plus(&product).shifted(-3).spelled(), "(sub (mul (mul 2 m) n) 3)");
}

#[test]
fn a_size_is_told_by_sums_and_not_by_products() {
    let sum = signature(vec![vector(n().shifted(1)), vector(n())], vector(n()));
    let (place, number) = sum.number("n").expect("it is told");
    assert_eq!((place.param, number), (0, &Polynomial::atom(Signature::here()).shifted(-1)));
    // Told by the first, it may be negative but for the second.
    assert!(matches!(sum.relations(), [Relation::Equal(place, size)] if place.param == 1 && *size == n()));
    let product = vec![("v".into(), vector(n().times(&Polynomial::constant(2))))];
    let missing = Signature::new(product, SizedType::Plain(Type::Float)).expect_err("a product does not tell n");
    assert_eq!((&*missing.variable, missing.is_in_parameters), ("n", true));
}

#[test]
fn tangents_have_the_sizes_of_their_primals() {
    let f = signature(vec![vector(n()), vector(Polynomial::variable("m"))], vector(n()));
    let result = |derivative: Derivative, params: &[Type], result: Type| {
        let name = FunName::base("f").derived(derivative.clone());
        let fun = Fun { name, params: params.to_vec(), result };
        f.derived(&[derivative], &fun).expect("it has sizes").result.to_string()
    };
    let v = Type::vec(Type::Float);
    let both = Type::tuple([v.clone(), v.clone()]);
    assert_eq!(result(Derivative::Rev, &[both.clone(), v.clone()], both), "(Tuple (Vec n Float) (Vec m Float))");
    let matrix = Type::Tensor(2, std::sync::Arc::new(Type::Float));
    let blocks = Type::tuple([matrix.clone(), matrix]);
    assert_eq!(result(Derivative::Jac, &[v.clone(), v], blocks), "(Tuple (Tensor (n n) Float) (Tensor (n m) Float))");
}

#[test]
fn a_number_that_is_a_size_is_one_in_derivatives() {
    let (r, c) = (Polynomial::variable("r"), Polynomial::variable("c"));
    let number = |name: &str| (name.into(), SizedType::Plain(Type::Integer));
    let params = vec![number("r"), number("c"), ("v".into(), vector(r.times(&c)))];
    let matrix = SizedType::Tensor(vec![Some(r.clone()), Some(c)], Box::new(SizedType::Plain(Type::Float)));
    let f = Signature::written(params, matrix).expect("parameters tell its sizes");
    let v = Type::vec(Type::Float);
    let fun = Fun {
        name: FunName::base("f").derived(Derivative::Fwd),
        params: vec![
            Type::tuple([Type::Integer, Type::Integer, v.clone()]),
            Type::tuple([Type::unit(), Type::unit(), v]),
        ],
        result: Type::Tensor(2, std::sync::Arc::new(Type::Float)),
    };
    let fwd = f.derived(&[Derivative::Fwd], &fun).expect("it has sizes");
    assert_eq!(fwd.params[0].1.to_string(), "(Tuple (r : Integer) (c : Integer) (Vec (mul c r) Float))");
    assert_eq!(fwd.params[1].1.to_string(), "(Tuple (Tuple) (Tuple) (Vec (mul c r) Float))");
    assert_eq!(fwd.number("r").map(|(place, _)| place.param), Some(0));
    let sizes = fwd.relations().iter().filter(|r| matches!(r, Relation::Equal(place, _) if place.is_size()));
    assert_eq!(sizes.count(), 2);
}
