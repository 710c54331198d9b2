//! The signatures of derivatives: tangents have the sizes of what they are tangents of.
//!
//! ```text
//! f : S -> T      fwd : (S, dS) -> dT      rev : (S, dT) -> dS      grad : S -> dS      jac : S -> J(T, S)
//! d (Vec n Float) = (Vec n Float)      J(Vec m Float, Vec n Float) = (Tensor (m n) Float)
//! ```
//!
//! Types as in the language's reference. Of linear maps and records no size is known.

use super::signature::Signature;
use super::sized_type::SizedType;
use crate::term::{Derivative, Fun, Path};
use crate::types::Type;
use std::sync::Arc;

impl Signature {
    /// Returns the signature of a derivative of ... of the function; derivatives outermost first. `None` where the
    /// derivative has other parameters than `fun`, the function that is meant.
    pub fn derived(&self, derivatives: &[Derivative], fun: &Fun) -> Option<Signature> {
        let (signature, _) = derivatives.iter().rev().try_fold((self.clone(), None), |(f, varying), derivative| {
            if let Derivative::Wrt(paths) = derivative {
                return Some((f, Some(paths.to_vec())));
            }
            Some((f.derivative(derivative, varying.as_deref())?, None))
        })?;
        signature.of(fun)
    }

    /// Returns the signature for a function that takes the same argument, perhaps as one tuple.
    pub fn of(&self, fun: &Fun) -> Option<Signature> {
        let erased: Vec<Type> = self.params.iter().map(|(_, ty)| ty.erased()).collect();
        let result = if self.result.erased() == fun.result { self.result.clone() } else { SizedType::any(&fun.result) };
        let params = match (fun.params.as_slice(), self.params.as_slice()) {
            (params, _) if *params == erased => self.params.clone(),
            ([_], _) => vec![("s".into(), self.argument())],
            (_, [(name, SizedType::Tuple(parts))]) => parts.iter().map(|ty| (name.clone(), ty.clone())).collect(),
            _ => return None,
        };
        let is_same = params.iter().map(|(_, ty)| ty.erased()).eq(fun.params.iter().cloned());
        if is_same { Signature::new(params, result).ok() } else { None }
    }

    fn argument(&self) -> SizedType {
        match self.params.as_slice() {
            [(_, one)] => one.clone(),
            many => SizedType::Tuple(many.iter().map(|(_, ty)| ty.clone()).collect()),
        }
    }

    fn varying(&self, paths: Option<&[Path]>) -> Option<SizedType> {
        let part = |path: &Path| {
            let first = self.params.get(path[0] - 1)?.1.clone();
            path[1..].iter().try_fold(first, |ty, i| match ty {
                SizedType::Tuple(parts) => parts.get(i - 1).cloned(),
                _ => None,
            })
        };
        match paths {
            None => Some(self.argument()),
            Some([one]) => part(one),
            Some(many) => Some(SizedType::Tuple(many.iter().map(part).collect::<Option<_>>()?)),
        }
    }

    fn derivative(&self, derivative: &Derivative, varying: Option<&[Path]>) -> Option<Signature> {
        let (s, v, t) = (self.argument(), self.varying(varying)?, self.result.clone());
        let both = |other: SizedType| vec![("s".into(), s.clone()), ("ds".into(), other)];
        let pair = |a: SizedType, b: SizedType| SizedType::Tuple(vec![a, b]);
        let unknown = || SizedType::Plain(Type::unit());
        let (params, result) = match derivative {
            Derivative::Fwd => (both(v.tangent()), t.tangent()),
            Derivative::Rev | Derivative::SufRev => (both(t.tangent()), v.tangent()),
            Derivative::Jvp => (both(v.tangent()), pair(t.clone(), t.tangent())),
            Derivative::Vjp => (both(t.tangent()), pair(t.clone(), v.tangent())),
            Derivative::Hvp => (both(v.tangent()), v.tangent()),
            Derivative::Grad => (self.params.clone(), v.tangent()),
            Derivative::Hess => (self.params.clone(), blocks(&v.tangent(), &v)),
            Derivative::Jac | Derivative::JacFwd | Derivative::JacRev => (self.params.clone(), blocks(&t, &v)),
            Derivative::Cl => (self.params.clone(), t),
            // What they give has no sizes, or sizes that the type does not tell; `of` puts the type.
            Derivative::D | Derivative::Dt | Derivative::Tupled | Derivative::Shape | Derivative::SufFwdPass => {
                (self.params.clone(), unknown())
            }
            Derivative::Dual => {
                let all: Vec<Path> = (1..=self.params.len()).map(|i| vec![i]).collect();
                let varying = varying.unwrap_or(&all);
                let one =
                    |(i, (name, ty)): (usize, &(Arc<str>, SizedType))| (name.clone(), dual_at(ty, &[i + 1], varying));
                (self.params.iter().enumerate().map(one).collect(), dual(&t))
            }
            Derivative::Polymorphic | Derivative::PolymorphicR | Derivative::SufRevPass | Derivative::Wrt(_) => {
                return None;
            }
        };
        Signature::new(params, result).ok()
    }
}

fn dual(ty: &SizedType) -> SizedType {
    match ty {
        SizedType::Plain(Type::Float) => SizedType::any(&Type::tuple([Type::Float, Type::Float])),
        SizedType::Plain(_) | SizedType::Number(_) | SizedType::Index(_) => ty.clone(),
        SizedType::Tuple(parts) => SizedType::Tuple(parts.iter().map(dual).collect()),
        SizedType::Tensor(sizes, element) => SizedType::Tensor(sizes.clone(), Box::new(dual(element))),
    }
}

fn dual_at(ty: &SizedType, path: &[usize], varying: &[Path]) -> SizedType {
    if varying.iter().any(|v| v == path) {
        return dual(ty);
    }
    match ty {
        SizedType::Tuple(parts) if varying.iter().any(|v| v.starts_with(path)) => {
            let component = |(i, ty)| dual_at(ty, &[path, &[i + 1]].concat(), varying);
            SizedType::Tuple(parts.iter().enumerate().map(component).collect())
        }
        other => other.clone(),
    }
}

/// J(T, S): all partial derivatives of a T with respect to an S, T's structure outside.
fn blocks(t: &SizedType, s: &SizedType) -> SizedType {
    let float = SizedType::Plain(Type::Float);
    let tensor = |sizes: &[Option<_>], element| SizedType::Tensor(sizes.to_vec(), Box::new(element));
    let can_vary = |ty: &SizedType| ty.erased().is_differentiable();
    match (t, s) {
        _ if !can_vary(t) || !can_vary(s) => SizedType::Tuple(vec![]),
        (SizedType::Tuple(parts), _) => SizedType::Tuple(parts.iter().map(|t| blocks(t, s)).collect()),
        (SizedType::Tensor(n, element), _) if **element != float => tensor(n, blocks(element, s)),
        (_, SizedType::Tuple(parts)) => SizedType::Tuple(parts.iter().map(|s| blocks(t, s)).collect()),
        (SizedType::Tensor(n, _), SizedType::Tensor(m, element)) if **element == float => {
            tensor(&[n.as_slice(), m].concat(), float)
        }
        (SizedType::Tensor(n, _), SizedType::Tensor(..)) => tensor(n, blocks(&float, s)),
        (SizedType::Tensor(..), _) => t.clone(),
        (_, SizedType::Tensor(m, element)) => tensor(m, blocks(t, element)),
        _ => float,
    }
}
