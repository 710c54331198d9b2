//! The types of derivatives.

use lm::term::FunName;
use lm::term::{Derivative, Fun};
use lm::types::Type;
use lmc::derive::typing::{base_argument, derive_all};

#[test]
fn types_follow_the_reference() {
    let f = Fun { name: FunName::base("f"), params: vec![Type::Float, Type::Integer], result: Type::Bool };
    let shown = |derivatives: &[Derivative]| {
        let mut record = |f: &Fun| Some(f.argument());
        let d = derive_all(derivatives, &f, &mut record).expect("a type");
        format!("{} : {} -> {}", d.name, d.argument(), d.result)
    };
    assert_eq!(shown(&[Derivative::D]), "[D f] : (Tuple Float Integer) -> (LM (Tuple Float Integer) Bool)");
    assert_eq!(shown(&[Derivative::Rev]), "[rev f] : (Tuple (Tuple Float Integer) (Tuple)) -> (Tuple Float (Tuple))");
    let twice = "[fwd [rev f]] : (Tuple (Tuple (Tuple Float Integer) (Tuple)) \
        (Tuple (Tuple Float (Tuple)) (Tuple))) -> (Tuple Float (Tuple))";
    assert_eq!(shown(&[Derivative::Fwd, Derivative::Rev]), twice);
    assert_eq!(
        shown(&[Derivative::SufRevPass]),
        "[sufrevpass f] : (Tuple (Tuple) (Tuple Float Integer)) -> (Tuple Float (Tuple))"
    );
    assert_eq!(shown(&[Derivative::Shape]), "[shape f] : (Tuple Float Integer) -> (Tuple)");
}

/// Without sharing, these types have 2^40 parts.
#[test]
fn types_of_nested_derivatives_share_parts() {
    let f = Fun { name: FunName::base("f"), params: vec![Type::Float, Type::Integer], result: Type::Float };
    let nested = derive_all(&vec![Derivative::Rev; 40], &f, &mut |_| None).expect("a type");
    let depth = std::iter::successors(Some(nested.argument()), |ty| ty.as_tuple()?.first().cloned()).count();
    assert_eq!(depth, 42);
}

#[test]
fn the_argument_of_the_function_is_recovered() {
    let s = Type::tuple([Type::Float, Type::Integer]);
    let argument = Type::tuple([Type::tuple([s.clone(), Type::unit()]), Type::Float]);
    assert_eq!(base_argument(&[Derivative::Fwd, Derivative::Rev], &argument), Some(s));
    assert_eq!(base_argument(&[Derivative::Fwd], &Type::Float), None);
}
