//! Types of operators follow their rules.

use lm::scheme::Rule;
use lm::types::Type;

#[test]
fn compose_meets_in_the_middle() {
    let rule = Rule::parse("(LM s t) (LM r s) -> (LM r t)");
    let pair = Type::tuple([Type::Float, Type::Integer]);
    let m = Type::lm(Type::Float, pair.clone());
    let n = Type::lm(Type::Bool, Type::Float);
    assert_eq!(rule.result(&[m.clone(), n.clone()]), Some(Type::lm(Type::Bool, pair)));
    assert_eq!(rule.result(&[n, m]), None);
}

#[test]
fn repetition_collects_a_tuple() {
    let rule = Rule::parse("(LM s t) .. -> (LM s (Tuple t ..))");
    let m = |t: Type| Type::lm(Type::Float, t);
    let both = rule.result(&[m(Type::Float), m(Type::Integer)]);
    assert_eq!(both, Some(m(Type::tuple([Type::Float, Type::Integer]))));
    assert_eq!(rule.result(&[m(Type::Float), Type::lm(Type::Bool, Type::Float)]), None);
}

#[test]
fn application_takes_and_gives_tangents() {
    let rule = Rule::parse("(d t) (LM s t) -> (d s)");
    let m = Type::lm(Type::tuple([Type::Float, Type::Integer]), Type::Float);
    let tangent = Type::tuple([Type::Float, Type::unit()]);
    assert_eq!(rule.result(&[Type::Float, m.clone()]), Some(tangent));
    assert_eq!(rule.result(&[Type::Integer, m]), None);
}
