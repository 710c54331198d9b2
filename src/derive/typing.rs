//! The types of derivatives.
//!
//! For f : S -> T, one row of the table for each derivation, as in the language's reference; besides,
//! `jvp` and `vjp`, which give the value along with `fwd` and `rev`.

use super::figures::paper000_dual::types;
use super::recipes;
use lm::term::{Derivative, Fun};
use lm::types::Type;
use std::sync::Arc;

/// The rule by which a derivation makes a function's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    /// `S -> LM S T`, with the parameters of f.
    Jacobian,
    /// `S -> LM T S`, with the parameters of f.
    Transposed,
    /// `S -> (T, LM S T)`, with the parameters of f.
    Tupled,
    /// `(S, LM a S) -> (T, LM a T)`; a: see [`any_space`].
    Polymorphic,
    /// `(S, LM S a) -> (T, LM T a)`; a: see [`any_space`].
    PolymorphicR,
    /// `D(S1) .. D(Sn) -> D(T)`, where D is that of [`dual numbers`](super::figures::paper000_dual::types).
    Dual,
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

impl Typing {
    /// Returns the type in words, for f : S -> T.
    pub fn text(self) -> &'static str {
        match self {
            Typing::Jacobian => "S -> LM S T",
            Typing::Transposed => "S -> LM T S",
            Typing::Tupled => "S -> (T, LM S T)",
            Typing::Polymorphic => "(S, LM a S) -> (T, LM a T)      for any a",
            Typing::PolymorphicR => "(S, LM S a) -> (T, LM T a)      for any a",
            Typing::Dual => "D(S) -> D(T)      D(Float) = (Tuple Float Float)",
            Typing::Forward => "(S, dS) -> dT",
            Typing::Reverse => "(S, dT) -> dS",
            Typing::ForwardWithValue => "(S, dS) -> (T, dT)",
            Typing::ReverseWithValue => "(S, dT) -> (T, dS)",
            Typing::Same => "S -> T",
            Typing::Shape => "S -> shape of T",
            Typing::FirstHalf => "S -> (T, B)      B: the record",
            Typing::SecondHalf => "(dT, B) -> dS      B: the record",
            Typing::Gradient => "S -> dS      where T = Float",
            Typing::HessianVector => "(S, dS) -> dS      where T = Float",
            Typing::Hessian => "S -> J(dS, S)      where T = Float; J: all partial derivatives, T's structure outside",
            Typing::Blocks => "S -> J(T, S)      J: all partial derivatives, T's structure outside",
        }
    }
}

/// Returns the rule for a derivative's type, from its row.
fn typing(derivative: &Derivative) -> Typing {
    recipes::entry(derivative).typing
}

/// Returns the words for derivatives.
pub fn words() -> impl Iterator<Item = &'static str> {
    Derivative::all().map(|derivative| derivative.word())
}

/// Returns the derivative of a function: its name and types. `None` where they are not known.
///
/// `record` gives the B of a function.
pub fn derive(derivative: &Derivative, f: &Fun, record: &mut dyn FnMut(&Fun) -> Option<Type>) -> Option<Fun> {
    if derivative.varying().is_some_and(|paths| paths.iter().any(|path| !f.can_vary(path))) {
        return None;
    }
    // v is the part of s that varies.
    let (s, v, t) = (f.argument(), f.varying(), &f.result);
    let (params, result) = match typing(derivative) {
        Typing::Jacobian => (f.params.clone(), Type::lm(v, t.clone())),
        Typing::Transposed => (f.params.clone(), Type::lm(t.clone(), v)),
        Typing::Tupled => (f.params.clone(), Type::tuple([t.clone(), Type::lm(v, t.clone())])),
        Typing::Polymorphic => {
            (vec![s, Type::lm(any_space(), v)], Type::tuple([t.clone(), Type::lm(any_space(), t.clone())]))
        }
        Typing::PolymorphicR => {
            (vec![s, Type::lm(v, any_space())], Type::tuple([t.clone(), Type::lm(t.clone(), any_space())]))
        }
        Typing::Dual => (types::parameters(f), types::dual(t)),
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
    Some(Fun { name: f.name.derived(derivative.clone()), params, result })
}

/// J(T, S), all partial derivatives of a T with respect to an S: T's structure outside, then S's.
///
/// ```text
/// J((T1, ..), S) = (J(T1, S), ..)          J(T, (S1, ..)) = (J(T, S1), ..)          T Float or a tensor of Floats
/// J(Tensor p Float, Tensor q Float) = Tensor (p + q) Float          Float is a tensor of rank 0
/// J(Tensor p T, S) = Tensor p J(T, S)          J(Tensor p Float, Tensor q S) = Tensor p J(Float, Tensor q S)
/// J(Float, Tensor q S) = Tensor q J(Float, S)          J(T, S) = () where T or S cannot vary
/// ```
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

/// Returns the function whose gradient is asked for, if it has none because its result is no Float.
pub fn without_gradient(
    derivatives: &[Derivative],
    f: &Fun,
    record: &mut dyn FnMut(&Fun) -> Option<Type>,
) -> Option<Fun> {
    let mut f = f.clone();
    for derivative in derivatives.iter().rev() {
        let needs_float = matches!(typing(derivative), Typing::Gradient | Typing::HessianVector | Typing::Hessian);
        if needs_float && f.result != Type::Float {
            return Some(f);
        }
        f = derive(derivative, &f, record)?;
    }
    None
}

/// Returns the derivative of a derivative of ... a function; derivations outermost first.
pub fn derive_all(derivatives: &[Derivative], f: &Fun, record: &mut dyn FnMut(&Fun) -> Option<Type>) -> Option<Fun> {
    derivatives.iter().rev().try_fold(f.clone(), |f, derivative| derive(derivative, &f, record))
}

/// Returns the a of `[polymorphic f]` and `[polymorphicR f]` in their definitions. The shape of its vectors is not known,
/// so what holds of it holds of any space.
pub fn any_space() -> Type {
    Type::vec(Type::Float)
}

/// Returns `[polymorphic f] : (S, LM a S) -> (T, LM a T)` or `[polymorphicR f] : (S, LM S a) -> (T, LM T a)` at the a of
/// its argument; any other function as it is.
pub fn at_any_space(f: Fun, argument: &Type) -> Fun {
    let (Some([_, map]), [s, _], Some([t, _])) = (argument.as_tuple(), f.params.as_slice(), f.result.as_tuple()) else {
        return f;
    };
    let result = match (f.name.derivative(), map.as_lm()) {
        (Some(Derivative::Polymorphic), Some((a, _))) => Type::lm(a.clone(), t.clone()),
        (Some(Derivative::PolymorphicR), Some((_, a))) => Type::lm(t.clone(), a.clone()),
        _ => return f,
    };
    Fun { params: vec![s.clone(), map.clone()], result: Type::tuple([t.clone(), result]), name: f.name }
}

/// Returns the argument type of f, from that of its derivative; derivations outermost first.
///
/// `None` when no derivative takes such an argument, and for second halves, whose argument does not tell.
pub fn base_argument(derivatives: &[Derivative], argument: &Type) -> Option<Type> {
    let of_one = |argument: Type, (k, derivative): (usize, &Derivative)| match typing(derivative) {
        Typing::Jacobian | Typing::Transposed | Typing::Tupled | Typing::Shape | Typing::Same | Typing::FirstHalf => {
            Some(argument)
        }
        Typing::Gradient | Typing::Hessian | Typing::Blocks => Some(argument),
        Typing::Polymorphic
        | Typing::PolymorphicR
        | Typing::Forward
        | Typing::Reverse
        | Typing::ForwardWithValue
        | Typing::ReverseWithValue
        | Typing::HessianVector => match argument.as_tuple() {
            Some([s, _]) => Some(s.clone()),
            _ => None,
        },
        Typing::Dual => types::primal_argument(&argument, derivatives.get(k + 1).and_then(Derivative::varying)),
        Typing::SecondHalf => None,
    };
    derivatives.iter().enumerate().try_fold(argument.clone(), of_one)
}
