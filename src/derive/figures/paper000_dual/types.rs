//! Defines D on types, and the terms that make dual numbers and take them apart.
//!
//! ```text
//! D(Float) = (Tuple Float Float)      D(Integer) = Integer      D(Bool) = Bool      D(String) = String
//! D((Tuple T1 .. Tn)) = (Tuple D(T1) .. D(Tn))      D((Tensor k T)) = (Tensor k D(T))
//!
//! zip(x, dx) = (x, dx)      zip(i, ()) = i      zip(v, dv) = build(size(v), λi. zip(v[i], dv[i]))
//! value(d) = d.1      value(v) = unzip(v).1, of Floats      value(v) = build(size(v), λi. value(v[i]))
//! tangent(d) = d.2    tangent(i) = ()    tangents of tensors in the same way
//! ```
//!
//! Tuples are taken component by component. D is one to one, so the type of an argument tells whose dual it is.
//!
//! Source: Fig. 7 of *Efficient differentiable programming in a functional array-processing language* (ICFP 2019), with
//! the discrete types of *Using Rewrite Strategies for Efficient Functional Automatic Differentiation* (FTfJP 2023).

use lm::prim::Prim;
use lm::shape;
use lm::term::{Derivative, Expr, Fun, Path, Supply};
use lm::types::Type;
use std::sync::Arc;

/// Returns D(T).
pub fn dual(ty: &Type) -> Type {
    match ty {
        Type::Float => Type::tuple([Type::Float, Type::Float]),
        Type::Tuple(parts) => Type::tuple(parts.iter().map(dual)),
        Type::Tensor(rank, element) => Type::Tensor(*rank, Arc::new(dual(element))),
        Type::Integer | Type::Bool | Type::String | Type::Lam(..) | Type::LM(..) | Type::Record(_) => ty.clone(),
    }
}

/// Returns T from D(T); `None` for a type that is none.
pub fn primal(ty: &Type) -> Option<Type> {
    Some(match ty {
        Type::Tuple(parts) if matches!(parts[..], [Type::Float, Type::Float]) => Type::Float,
        Type::Tuple(parts) => Type::tuple(parts.iter().map(primal).collect::<Option<Vec<_>>>()?),
        Type::Tensor(rank, element) => Type::Tensor(*rank, Arc::new(primal(element)?)),
        Type::Integer | Type::Bool | Type::String => ty.clone(),
        Type::Float | Type::Lam(..) | Type::LM(..) | Type::Record(_) => return None,
    })
}

/// Returns the types of the parameters of `[dual f]`: D of what varies of f.
pub fn parameters(f: &Fun) -> Vec<Type> {
    let varying = varying(f);
    let parameter = |(i, ty)| at(ty, &[i + 1], &varying, &|ty| Some(dual(ty)));
    f.params.iter().enumerate().map(parameter).collect::<Option<_>>().expect("every type has a dual")
}

/// Returns the argument type of f from that of `[dual f]`, where only the parts at these paths are dual numbers.
///
/// One parameter and the components of a tuple are told apart by the first step of each path, as names have it.
pub fn primal_argument(argument: &Type, varying: Option<&[Path]>) -> Option<Type> {
    let Some(varying) = varying else { return primal(argument) };
    let parts = argument.as_tuple().filter(|parts| varying.iter().all(|path| path[0] <= parts.len()));
    let of_parameter = |(i, ty)| at(ty, &[i + 1], varying, &primal);
    let of_several = parts.and_then(|parts| parts.iter().enumerate().map(of_parameter).collect::<Option<Vec<_>>>());
    of_several.map(Type::tuple).or_else(|| at(argument, &[1], varying, &primal))
}

/// Returns f from `[dual f]`; `None` for another function.
pub fn primal_function(dual: &Fun) -> Option<Fun> {
    let (_, name) = dual.name.underived().filter(|(derivative, _)| *derivative == Derivative::Dual)?;
    let all = || (1..=dual.params.len()).map(|i| vec![i]).collect();
    let varying = name.varying().map_or_else(all, <[Path]>::to_vec);
    let parameter = |(i, ty)| at(ty, &[i + 1], &varying, &primal);
    let params = dual.params.iter().enumerate().map(parameter).collect::<Option<_>>()?;
    Some(Fun { params, result: primal(&dual.result)?, name })
}

/// Returns the parts of the argument that vary: those that the name lists, or all parameters.
pub fn varying(f: &Fun) -> Vec<Path> {
    f.name.varying().map_or_else(|| (1..=f.params.len()).map(|i| vec![i]).collect(), <[Path]>::to_vec)
}

fn at(ty: &Type, path: &[usize], varying: &[Path], f: &dyn Fn(&Type) -> Option<Type>) -> Option<Type> {
    if varying.iter().any(|v| v == path) {
        return f(ty);
    }
    if !varying.iter().any(|v| v.starts_with(path)) {
        return Some(ty.clone());
    }
    let component = |(i, ty)| at(ty, &[path, &[i + 1]].concat(), varying, f);
    Some(Type::tuple(ty.as_tuple()?.iter().enumerate().map(component).collect::<Option<Vec<_>>>()?))
}

/// Returns the arguments of `[dual f]`, from those of f and a tangent of what varies.
pub fn zipped(f: &Fun, args: &[Expr], ds: &Expr, supply: &mut Supply) -> Vec<Expr> {
    let varying = varying(f);
    let argument = |(i, x)| zipped_at(x, &[i + 1], &varying, ds, supply);
    args.iter().enumerate().map(argument).collect()
}

fn zipped_at(x: &Expr, path: &[usize], varying: &[Path], ds: &Expr, supply: &mut Supply) -> Expr {
    if let Some(k) = varying.iter().position(|v| v == path) {
        let dx = if varying.len() == 1 { ds.clone() } else { Expr::get(k + 1, ds.clone()) };
        return zip(x, &dx, supply);
    }
    if !varying.iter().any(|v| v.starts_with(path)) {
        return x.clone();
    }
    let parts = x.ty().as_tuple().expect("a path leads through tuples").len();
    let part = |k| zipped_at(&Expr::get(k, x.clone()), &[path, &[k]].concat(), varying, ds, supply);
    Expr::tuple((1..=parts).map(part).collect::<Vec<_>>())
}

/// Returns the dual of a value and its tangent, both atoms or components of such.
pub fn zip(v: &Expr, dv: &Expr, supply: &mut Supply) -> Expr {
    match v.ty() {
        ty if !ty.is_differentiable() => v.clone(),
        Type::Tuple(parts) => {
            let part = |k| zip(&Expr::get(k, v.clone()), &Expr::get(k, dv.clone()), supply);
            Expr::tuple((1..=parts.len()).map(part).collect::<Vec<_>>())
        }
        Type::Tensor(rank, _) => over(*rank, v, supply, |i, supply| zip(&element(i, v), &element(i, dv), supply)),
        _ => Expr::tuple([v.clone(), dv.clone()]),
    }
}

/// Returns the dual of a value that does not vary.
pub(super) fn constant(v: &Expr, supply: &mut Supply) -> Expr {
    match v.ty() {
        ty if !ty.is_differentiable() => v.clone(),
        Type::Tuple(parts) => {
            let parts = (1..=parts.len()).map(|k| constant(&Expr::get(k, v.clone()), supply));
            Expr::tuple(parts.collect::<Vec<_>>())
        }
        Type::Tensor(rank, _) => over(*rank, v, supply, |i, supply| constant(&element(i, v), supply)),
        _ => Expr::tuple([v.clone(), Expr::prim(Prim::ZeroOf, [Expr::witness(v)])]),
    }
}

/// Returns the value of a dual, of type T.
pub fn value(d: &Expr, ty: &Type, supply: &mut Supply) -> Expr {
    if ty.is_differentiable() { side(d, ty, 1, supply) } else { d.clone() }
}

/// Returns the tangent of a dual, of type T.
pub fn tangent(d: &Expr, ty: &Type, supply: &mut Supply) -> Expr {
    side(d, ty, 2, supply)
}

/// Takes a dual apart down to its numbers.
fn side(d: &Expr, ty: &Type, k: usize, supply: &mut Supply) -> Expr {
    match ty {
        Type::Float => Expr::get(k, d.clone()),
        Type::Tuple(parts) => {
            let part = |(i, ty)| side(&Expr::get(i + 1, d.clone()), ty, k, supply);
            Expr::tuple(parts.iter().enumerate().map(part).collect::<Vec<_>>())
        }
        Type::Tensor(_, inner) if **inner == Type::Float => Expr::get(k, Expr::prim(Prim::Unzip, [d.clone()])),
        Type::Tensor(rank, inner) => over(*rank, d, supply, |i, supply| side(&element(i, d), inner, k, supply)),
        _ if k == 1 => d.clone(),
        _ => Expr::tuple([]),
    }
}

fn over(rank: usize, v: &Expr, supply: &mut Supply, f: impl FnOnce(&Expr, &mut Supply) -> Expr) -> Expr {
    let size = Expr::prim(Prim::Size, [v.clone()]);
    shape::over(rank, size, supply, |supply, i| f(i, supply))
}

fn element(i: &Expr, v: &Expr) -> Expr {
    Expr::prim(Prim::Index, [i.clone(), v.clone()])
}
