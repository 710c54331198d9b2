//! The types of derivatives.
//!
//! For f : S -> T, one row of the table for each derivation, as in the language's reference; besides,
//! `jvp` and `vjp`, which give the value along with `fwd` and `rev`.

use lm::term::{Fun, varying};
use lm::types::Type;
use std::sync::Arc;

/// How a derivation makes a function's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Typing {
    /// `S -> LM S T`, with the parameters of f.
    Jacobian,
    /// `S -> LM T S`, with the parameters of f.
    Transposed,
    /// `S -> (T, LM S T)`, with the parameters of f.
    Tupled,
    /// `(S, LM a S) -> (T, LM a T)`; here a = S.
    Polymorphic,
    /// `(S, dS) -> dT`.
    Forward,
    /// `(S, dT) -> dS`.
    Reverse,
    /// `(S, dS) -> (T, dT)`.
    ForwardWithValue,
    /// `(S, dT) -> (T, dS)`.
    ReverseWithValue,
    /// `S -> T`, with the parameters of f.
    Same,
    /// `S -> shape of T`, with the parameters of f.
    Shape,
    /// `S -> (T, B)`, with the parameters of f.
    FirstHalf,
    /// `(dT, B) -> dS`.
    SecondHalf,
    /// `S -> dS`, with the parameters of f, for T = Float.
    Gradient,
    /// `(S, dS) -> dS`, for T = Float.
    HessianVector,
    /// `S -> J(dS, S)`, with the parameters of f, for T = Float. J: see [`blocks`].
    Hessian,
    /// `S -> J(T, S)`, with the parameters of f.
    Blocks,
}

const DERIVATIONS: [(&str, Typing); 19] = [
    ("D", Typing::Jacobian),
    ("Dt", Typing::Transposed),
    ("tupled", Typing::Tupled),
    ("polymorphic", Typing::Polymorphic),
    ("fwd", Typing::Forward),
    ("rev", Typing::Reverse),
    ("jvp", Typing::ForwardWithValue),
    ("vjp", Typing::ReverseWithValue),
    ("suffwdpass", Typing::FirstHalf),
    ("sufrevpass", Typing::SecondHalf),
    ("sufrev", Typing::Reverse),
    ("shape", Typing::Shape),
    ("CL", Typing::Same),
    ("grad", Typing::Gradient),
    ("hvp", Typing::HessianVector),
    ("hess", Typing::Hessian),
    ("jac", Typing::Blocks),
    ("jacfwd", Typing::Blocks),
    ("jacrev", Typing::Blocks),
];

fn typing(derivation: &str) -> Option<Typing> {
    if varying(derivation).is_some() {
        return Some(Typing::Same);
    }
    DERIVATIONS.iter().find(|(name, _)| *name == derivation).map(|(_, typing)| *typing)
}

/// The names of the derivations.
pub fn names() -> impl Iterator<Item = &'static str> {
    DERIVATIONS.iter().map(|(name, _)| *name)
}

/// Whether there is a derivation of that name.
pub fn is_derivation(name: &str) -> bool {
    typing(name).is_some()
}

/// Whether it is one of the two halves of a reverse derivative, whose types have a B, the type of the
/// record, that only the derivation itself, or its user, can tell.
pub fn is_half(derivation: &str) -> bool {
    matches!(typing(derivation), Some(Typing::FirstHalf | Typing::SecondHalf))
}

/// The derivative of a function: its name and types. `None` where they are not known.
///
/// `record` gives the B of a function.
pub fn derive(derivation: &str, f: &Fun, record: &mut dyn FnMut(&Fun) -> Option<Type>) -> Option<Fun> {
    if varying(derivation).is_some_and(|paths| paths.iter().any(|path| !f.can_vary(path))) {
        return None;
    }
    // v is the part of s that varies.
    let (s, v, t) = (f.argument(), f.varying(), &f.result);
    let (params, result) = match typing(derivation)? {
        Typing::Jacobian => (f.params.clone(), Type::lm(v, t.clone())),
        Typing::Transposed => (f.params.clone(), Type::lm(t.clone(), v)),
        Typing::Tupled => (f.params.clone(), Type::tuple([t.clone(), Type::lm(v, t.clone())])),
        Typing::Polymorphic => {
            (vec![s, Type::lm(v.clone(), v.clone())], Type::tuple([t.clone(), Type::lm(v, t.clone())]))
        }
        Typing::Forward => (vec![s, v.tangent()], t.tangent()),
        Typing::Reverse => (vec![s, t.tangent()], v.tangent()),
        Typing::ForwardWithValue => (vec![s, v.tangent()], Type::tuple([t.clone(), t.tangent()])),
        Typing::ReverseWithValue => (vec![s, t.tangent()], Type::tuple([t.clone(), v.tangent()])),
        Typing::Shape => (f.params.clone(), t.shape()),
        Typing::Same => (f.params.clone(), t.clone()),
        Typing::FirstHalf => (f.params.clone(), Type::tuple([t.clone(), record(f)?])),
        Typing::SecondHalf => (vec![t.tangent(), record(f)?], v.tangent()),
        Typing::Gradient | Typing::HessianVector | Typing::Hessian if *t != Type::Float => return None,
        Typing::Gradient => (f.params.clone(), v.tangent()),
        Typing::HessianVector => (vec![s, v.tangent()], v.tangent()),
        Typing::Hessian => (f.params.clone(), blocks(&v.tangent(), &v)),
        Typing::Blocks if t.mentions_lm() || v.mentions_lm() => return None,
        Typing::Blocks => (f.params.clone(), blocks(t, &v)),
    };
    Some(Fun { name: f.name.derived(derivation), params, result })
}

/// J(T, S), all partial derivatives of a T with respect to an S: T's structure outside, then S's.
///
///   J((T1, ..), S) = (J(T1, S), ..)          J(T, (S1, ..)) = (J(T, S1), ..)          T Float or a tensor of Floats
///   J(Tensor p Float, Tensor q Float) = Tensor (p + q) Float          Float is a tensor of rank 0
///   J(Tensor p T, S) = Tensor p J(T, S)          J(Tensor p Float, Tensor q S) = Tensor p J(Float, Tensor q S)
///   J(Float, Tensor q S) = Tensor q J(Float, S)          J(T, S) = () where T or S cannot vary
pub fn blocks(t: &Type, s: &Type) -> Type {
    let tensor = |rank: usize, element| Type::Tensor(rank, Arc::new(element));
    match (t, s) {
        _ if !t.is_differentiable() || !s.is_differentiable() => Type::unit(),
        (Type::Tuple(parts), _) => Type::tuple(parts.iter().map(|t| blocks(t, s))),
        (Type::Tensor(p, element), _) if **element != Type::Float => tensor(*p, blocks(element, s)),
        (_, Type::Tuple(parts)) => Type::tuple(parts.iter().map(|s| blocks(t, s))),
        (Type::Tensor(p, float), Type::Tensor(q, element)) => match **element {
            Type::Float => Type::Tensor(p + q, element.clone()),
            _ => tensor(*p, blocks(float, s)),
        },
        (Type::Tensor(..), _) => t.clone(),
        (_, Type::Tensor(q, element)) => tensor(*q, blocks(t, element)),
        _ => Type::Float,
    }
}

/// The function of which a gradient is asked that it does not have, as its result is no Float.
pub fn without_gradient<'a>(
    derivations: impl DoubleEndedIterator<Item = &'a str>,
    f: &Fun,
    record: &mut dyn FnMut(&Fun) -> Option<Type>,
) -> Option<Fun> {
    let mut f = f.clone();
    for derivation in derivations.rev() {
        let needs_float = matches!(typing(derivation)?, Typing::Gradient | Typing::HessianVector | Typing::Hessian);
        if needs_float && f.result != Type::Float {
            return Some(f);
        }
        f = derive(derivation, &f, record)?;
    }
    None
}

/// The derivative of a derivative of ... a function; derivations outermost first.
pub fn derive_all<'a>(
    derivations: impl DoubleEndedIterator<Item = &'a str>,
    f: &Fun,
    record: &mut dyn FnMut(&Fun) -> Option<Type>,
) -> Option<Fun> {
    derivations.rev().try_fold(f.clone(), |f, derivation| derive(derivation, &f, record))
}

/// `[polymorphic f] : (S, LM a S) -> (T, LM a T)` at the a of its argument; any other function as it is.
pub fn from_anywhere(f: Fun, argument: &Type) -> Fun {
    let is_polymorphic = f.name.derivations.first().is_some_and(|d| typing(d) == Some(Typing::Polymorphic));
    let (Some([_, map]), [s, _], Some([t, _])) = (argument.as_tuple(), f.params.as_slice(), f.result.as_tuple()) else {
        return f;
    };
    match map.as_lm() {
        Some((a, _)) if is_polymorphic => {
            let result = Type::tuple([t.clone(), Type::lm(a.clone(), t.clone())]);
            Fun { params: vec![s.clone(), map.clone()], result, name: f.name }
        }
        _ => f,
    }
}

/// The argument type of f, from that of its derivative; derivations outermost first.
///
/// `None` when no derivative takes such an argument, and for second halves, whose argument does not tell.
pub fn base_argument<'a>(derivations: impl IntoIterator<Item = &'a str>, argument: &Type) -> Option<Type> {
    derivations.into_iter().try_fold(argument.clone(), |argument, derivation| match typing(derivation)? {
        Typing::Jacobian | Typing::Transposed | Typing::Tupled | Typing::Shape | Typing::Same | Typing::FirstHalf => {
            Some(argument)
        }
        Typing::Gradient | Typing::Hessian | Typing::Blocks => Some(argument),
        Typing::Polymorphic
        | Typing::Forward
        | Typing::Reverse
        | Typing::ForwardWithValue
        | Typing::ReverseWithValue
        | Typing::HessianVector => match argument.as_tuple() {
            Some([s, _]) => Some(s.clone()),
            _ => None,
        },
        Typing::SecondHalf => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lm::term::FunName;

    #[test]
    fn types_follow_the_reference() {
        let f = Fun { name: FunName::base("f"), params: vec![Type::Float, Type::Integer], result: Type::Bool };
        let shown = |derivations: &[&str]| {
            let mut record = |f: &Fun| Some(f.argument());
            let d = derive_all(derivations.iter().copied(), &f, &mut record).expect("a type");
            format!("{} : {} -> {}", d.name, d.argument(), d.result)
        };
        assert_eq!(shown(&["D"]), "[D f] : (Tuple Float Integer) -> (LM (Tuple Float Integer) Bool)");
        assert_eq!(shown(&["rev"]), "[rev f] : (Tuple (Tuple Float Integer) (Tuple)) -> (Tuple Float (Tuple))");
        let twice = "[fwd [rev f]] : (Tuple (Tuple (Tuple Float Integer) (Tuple)) \
            (Tuple (Tuple Float (Tuple)) (Tuple))) -> (Tuple Float (Tuple))";
        assert_eq!(shown(&["fwd", "rev"]), twice);
        assert_eq!(
            shown(&["sufrevpass"]),
            "[sufrevpass f] : (Tuple (Tuple) (Tuple Float Integer)) -> (Tuple Float (Tuple))"
        );
        assert_eq!(shown(&["shape"]), "[shape f] : (Tuple Float Integer) -> (Tuple)");
    }

    #[test]
    fn the_argument_of_the_function_is_recovered() {
        let s = Type::tuple([Type::Float, Type::Integer]);
        let argument = Type::tuple([Type::tuple([s.clone(), Type::unit()]), Type::Float]);
        assert_eq!(base_argument(["fwd", "rev"], &argument), Some(s));
        assert_eq!(base_argument(["fwd"], &Type::Float), None);
    }
}
