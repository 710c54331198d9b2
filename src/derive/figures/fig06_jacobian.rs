//! Derives the full Jacobian, from linear-map combinators.
//!
//! ```text
//! ∂f(x) = let ∂x = 1 in ∇[e]
//!
//! ∇[k] = 0      ∇[x] = ∂x      ∇[(e1, .., en)] = ∇[e1] × .. × ∇[en]
//! ∇[f(e)] = ∂f(e) ∘ ∇[e]
//! ∇[let x = e1 in e2] = let x = e1 in let ∂x = ∇[e1] in ∇[e2]
//! ∇[if b then e1 else e2] = if b then ∇[e1] else ∇[e2]
//! ```
//!
//! Source: working notes, Fig. 6; the conditional is promised in the text only. Takes: a definition in normal form.
//! Gives: a block that binds values and maps in turn.
//!
//! ```text
//! ∇[build(n, λi. e)] = V(build(n, λi. ∇[e]))           ∇[sumbuild(n, λi. e)] = ⊕(build(n, λi. ∇[e]))
//! ∇[v[i]] = π(i) ∘ ∇[v]      ∇[sum(v)] = lmSum ∘ ∇[v]      ∇[fold(f, a, v)]: see `recurrence`
//! ```
//!
//! π(i), the element at i, is H of a one-hot tensor of maps, and lmSum is H of a tensor of ones.
//! The work of a conditional or a loop is in the value and in the map. The pass `merge_calls` merges the branches, so
//! that they are computed once.

use super::checkpoints::segments::Checkpoints;
use lm::prim::{JacobianRule, Prim};
use lm::scope;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Kind, Op, Path, Pattern, Supply, Var, place};
use lm::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The reason why a function has no derivative.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{function}` cannot be differentiated: {reason}")]
pub struct NotDifferentiable {
    /// The function.
    pub function: FunName,
    /// The construct that has no rule.
    pub reason: String,
}

/// Returns `[D f]`, not optimised.
///
/// If the name lists parameters (`[wrt$1 f]`), the Jacobian is with respect to these. `written` tells the
/// functions whose derivatives are written by hand: those are taken as they are.
pub fn jacobian(
    def: &Def,
    supply: &mut Supply,
    written: &dyn Fn(&FunName) -> bool,
    checkpoints: Checkpoints,
) -> Result<Def, NotDifferentiable> {
    let mut cx = Nabla::of_parameters(def, supply, written);
    cx.checkpoints = checkpoints;
    let result = cx.nabla_block(&def.body).map_err(|reason| refused(def, reason))?;
    is_between_values(def)?;
    Ok(Def::new(def.fun.name.derived(Derivative::D), def.params.clone(), Expr::block(cx.out, result)))
}

/// Refuses a function of linear maps or of records.
pub(super) fn is_between_values(def: &Def) -> Result<(), NotDifferentiable> {
    if def.fun.params.iter().chain([&def.fun.result]).any(lm::types::Type::mentions_lm) {
        return Err(refused(def, "it takes or gives a linear map".into()));
    }
    if def.fun.params.iter().chain([&def.fun.result]).any(lm::types::Type::mentions_record) {
        return Err(refused(def, NO_RECORDS.into()));
    }
    Ok(())
}

pub(super) fn refused(def: &Def, reason: String) -> NotDifferentiable {
    NotDifferentiable { function: as_asked_for(&def.fun.name), reason }
}

/// Returns the name without what varies, which is nothing that a user said.
pub(super) fn as_asked_for(name: &FunName) -> FunName {
    let derivations = name.derivations.iter().filter(|d| d.varying().is_none()).cloned().collect();
    FunName { derivations, ..name.clone() }
}

pub(super) const NO_RECORDS: &str = "it uses a half of the reverse derivative of a recursive function, and the record \
    that the halves share has no derivative; reverse derivatives that are not in halves have derivatives of any order";

const NO_FUNCTIONS: &str = "it computes with a function of all Integers; ∇[λi. e] = L(λi. ∇[e]), whose transpose L' is \
    a sum over all Integers";

pub(super) struct Nabla<'a> {
    pub(super) supply: &'a mut Supply,
    /// A witness of S, the argument of the function.
    space: Expr,
    /// ∂x for each x in scope that can change.
    pub(super) maps: FxHashMap<u32, Expr>,
    pub(super) out: Vec<Binding>,
    pub(super) written: &'a dyn Fn(&FunName) -> bool,
    pub(super) checkpoints: Checkpoints<'a>,
}

impl<'a> Nabla<'a> {
    pub(super) fn new(supply: &'a mut Supply, space: Expr, written: &'a dyn Fn(&FunName) -> bool) -> Nabla<'a> {
        let checkpoints = Checkpoints::default();
        Nabla { supply, space, maps: FxHashMap::default(), out: Vec::new(), written, checkpoints }
    }

    /// Inside a definition, with the maps to its parameters bound.
    pub(super) fn of_parameters(def: &Def, supply: &'a mut Supply, written: &'a dyn Fn(&FunName) -> bool) -> Nabla<'a> {
        let parts: Vec<Expr> = def.params.iter().map(Expr::var).collect();
        let all = || (1..=def.params.len()).map(|i| vec![i]).collect();
        let varying: Vec<Path> = def.fun.name.varying().map_or_else(all, <[Path]>::to_vec);
        let mut cx = Nabla::new(supply, Expr::witness(&def.fun.varying_of(&parts)), written);
        for (i, x) in def.params.iter().enumerate() {
            let map = cx.parameter(&parts[i], &[i + 1], &varying);
            cx.bind_map(x, map);
        }
        cx
    }

    /// Returns the map to a part of the argument: a projection, where it varies.
    fn parameter(&self, part: &Expr, path: &[usize], varying: &[Path]) -> Expr {
        if let Some(k) = varying.iter().position(|v| v == path) {
            return match varying.len() {
                1 => Expr::prim(Prim::LmOne, [self.space.clone()]),
                n => Expr::app(Op::LmGet(k + 1, n), vec![self.space.clone()]),
            };
        }
        if !varying.iter().any(|v| v.starts_with(path)) {
            return self.zero(part);
        }
        let n = part.ty().as_tuple().expect("a path leads through tuples").len();
        let component = |i| self.parameter(&Expr::get(i, part.clone()), &[path, &[i]].concat(), varying);
        Expr::prim(Prim::LmVCat, (1..=n).map(component).collect::<Vec<_>>())
    }
}

impl Nabla<'_> {
    /// ∇ of a block: its bindings go to `out`.
    pub(super) fn nabla_block(&mut self, e: &Expr) -> Result<Expr, String> {
        let (bindings, result) = e.as_block();
        bindings.iter().try_for_each(|b| self.binding(b))?;
        if !has_tensor(result) || result.is_atom() {
            return self.nabla(result);
        }
        // The rules for tensors need the value as a witness.
        let y = self.supply.fresh("y", result.ty().clone());
        self.binding(&Binding { pattern: Pattern::Var(y.clone()), rhs: result.clone() })?;
        Ok(self.variable(&y, &Expr::var(&y)))
    }

    /// ∇ of a block as a block.
    pub(super) fn branch(&mut self, e: &Expr) -> Result<Expr, String> {
        let outer = std::mem::take(&mut self.out);
        let result = self.nabla_block(e);
        let bindings = std::mem::replace(&mut self.out, outer);
        Ok(Expr::block(bindings, result?))
    }

    /// ∇ of a binding. What it needs is where it is.
    pub(super) fn binding(&mut self, b: &Binding) -> Result<(), String> {
        let before = self.out.len();
        self.value_and_map(b)?;
        place(&mut self.out[before..], b.rhs.span());
        Ok(())
    }

    fn value_and_map(&mut self, b: &Binding) -> Result<(), String> {
        can_be_bound(b.rhs.ty())?;
        if let Pattern::Tuple(xs) = &b.pattern
            && has_tensor(&b.rhs)
            && !b.rhs.is_atom()
        {
            let whole = self.supply.fresh("t", b.rhs.ty().clone());
            self.binding(&Binding { pattern: Pattern::Var(whole.clone()), rhs: b.rhs.clone() })?;
            let xs = Binding { pattern: Pattern::Tuple(xs.clone()), rhs: Expr::var(&whole) };
            return self.binding(&xs);
        }
        // The map repeats the branches of a conditional and the bodies of loops, so the value gets
        // binders of its own.
        self.out.push(Binding { pattern: b.pattern.clone(), rhs: scope::renamed(&b.rhs, self.supply) });
        let map = match &b.pattern {
            Pattern::Var(y) if b.rhs.ty().is_differentiable() => match self.tensor(y, &b.rhs)? {
                Some(map) => map,
                // The branches say nothing of the shape of what they give.
                None if b.rhs.args_of(&Op::If).is_some() && !b.rhs.ty().has_fixed_shape() => {
                    Expr::prim(Prim::LmTo, [Expr::var(y), self.nabla(&b.rhs)?])
                }
                None => self.nabla(&b.rhs)?,
            },
            _ => self.nabla(&b.rhs)?,
        };
        match &b.pattern {
            Pattern::Var(x) => self.bind_map(x, map),
            Pattern::Tuple(xs) => {
                let whole = self.supply.fresh("t", b.rhs.ty().clone());
                self.bind_map(&whole, map);
                let whole = self.variable(&whole, &b.rhs);
                for (i, x) in xs.iter().enumerate() {
                    let select = Expr::app(Op::LmGet(i + 1, xs.len()), vec![Expr::witness(&b.rhs)]);
                    self.bind_map(x, Expr::prim(Prim::LmCompose, [select, whole.clone()]));
                }
            }
        }
        Ok(())
    }

    /// Binds ∂x, when x can change.
    pub(super) fn bind_map(&mut self, x: &Var, map: Expr) {
        if x.ty().is_differentiable() && !is_zero(&map) {
            let dx = self.supply.fresh(&format!("D{}", x.name()), map.ty().clone());
            self.maps.insert(x.id(), Expr::var(&dx));
            self.out.push(Binding { pattern: Pattern::Var(dx), rhs: map });
        }
    }

    pub(super) fn variable(&self, x: &Var, value: &Expr) -> Expr {
        self.maps.get(&x.id()).cloned().unwrap_or_else(|| self.zero(value))
    }

    /// Returns the zero map to the space of `e`.
    pub(super) fn zero(&self, e: &Expr) -> Expr {
        Expr::prim(Prim::LmZero, [self.space.clone(), Expr::witness(e)])
    }

    /// ∇ of an operator on atoms.
    pub(super) fn nabla(&mut self, e: &Expr) -> Result<Expr, String> {
        match e.kind() {
            Kind::Const(_) | Kind::App(Op::Dummy, _) => Ok(self.zero(e)),
            Kind::Var(x) => Ok(self.variable(x, e)),
            _ if !e.ty().is_differentiable() => Ok(self.zero(e)),
            Kind::App(op, args) => self.application(e, op, args),
            Kind::Lam(..) | Kind::Let(..) => Err(NO_FUNCTIONS.into()),
        }
    }

    fn application(&mut self, e: &Expr, op: &Op, args: &[Expr]) -> Result<Expr, String> {
        match op {
            Op::Tuple if args.is_empty() => Ok(self.zero(e)),
            Op::Tuple => Ok(Expr::prim(Prim::LmVCat, self.nablas(args)?)),
            Op::Get(i, n) => {
                let select = Expr::app(Op::LmGet(*i, *n), vec![Expr::witness(&args[0])]);
                Ok(Expr::prim(Prim::LmCompose, [select, self.nabla(&args[0])?]))
            }
            Op::If => Ok(Expr::conditional(args[0].clone(), self.branch(&args[1])?, self.branch(&args[2])?)),
            // The assertion itself is made where the value is computed.
            Op::Assert => self.nabla(&args[1]),
            Op::Prim(p) => match p.jacobian() {
                JacobianRule::Zero => Ok(self.zero(e)),
                JacobianRule::Law(_) => self.chain(Op::JacobianOf(*p), args),
                JacobianRule::Structural => Err(format!("`{}` has no derivative here", p.name())),
            },
            Op::Call(_) if args.is_empty() => Ok(self.zero(e)),
            Op::Call(f) => self.call(e, f, args),
            Op::JacobianOf(_) | Op::JacobianOfFun(_) | Op::JacobianAt(_) | Op::LmGet(..) => {
                Err("a linear map has no derivative".into())
            }
            Op::Pack(_) | Op::Unpack(_) => Err(NO_RECORDS.into()),
            Op::Dummy => unreachable!("handled by nabla"),
        }
    }

    /// Returns `∂f(e) ∘ ∇[e]`, with respect to those of the arguments that can change.
    fn call(&mut self, e: &Expr, f: &Arc<Fun>, args: &[Expr]) -> Result<Expr, String> {
        let maps = self.nablas(args)?;
        let differentiable: Vec<usize> = (0..args.len()).filter(|i| args[*i].ty().is_differentiable()).collect();
        let varying: Vec<usize> = differentiable.iter().copied().filter(|i| !is_zero(&maps[*i])).collect();
        if varying.is_empty() {
            return Ok(self.zero(e));
        }
        if varying.len() == differentiable.len() || (self.written)(&f.name) {
            return self.chain(Op::JacobianOfFun(f.clone()), args);
        }
        let paths: Vec<Path> = varying.iter().map(|i| vec![i + 1]).collect();
        let restricted = Fun { name: f.name.restricted(&paths), ..(**f).clone() };
        let derivative = Expr::app(Op::JacobianOfFun(Arc::new(restricted)), args.to_vec());
        let mut maps: Vec<Expr> = varying.iter().map(|i| maps[*i].clone()).collect();
        let inner = if maps.len() == 1 { maps.remove(0) } else { Expr::prim(Prim::LmVCat, maps) };
        Ok(Expr::prim(Prim::LmCompose, [derivative, inner]))
    }

    /// Returns `∂f(e) ∘ ∇[e]`.
    fn chain(&mut self, derivative: Op, args: &[Expr]) -> Result<Expr, String> {
        let mut maps = self.nablas(args)?;
        let inner = if maps.len() == 1 { maps.remove(0) } else { Expr::prim(Prim::LmVCat, maps) };
        Ok(Expr::prim(Prim::LmCompose, [Expr::app(derivative, args.to_vec()), inner]))
    }

    pub(super) fn nablas(&mut self, args: &[Expr]) -> Result<Vec<Expr>, String> {
        args.iter().map(|a| self.nabla(a)).collect()
    }
}

/// Refuses a value in a function that is differentiated.
pub(super) fn can_be_bound(ty: &Type) -> Result<(), String> {
    if is_of_functions(ty) {
        return Err(NO_FUNCTIONS.into());
    }
    if ty.mentions_lm() {
        return Err("a linear map has no derivative".into());
    }
    if ty.mentions_record() {
        return Err(NO_RECORDS.into());
    }
    Ok(())
}

/// Returns whether a type is one of functions, or of maps from or to functions, as L and L' are.
fn is_of_functions(ty: &Type) -> bool {
    match ty {
        Type::Lam(..) => true,
        Type::LM(s, t) => is_of_functions(s) || is_of_functions(t),
        _ => false,
    }
}

/// Returns whether the map is zero, as far as its operators say.
pub(super) fn is_zero(m: &Expr) -> bool {
    let family = |maps: &Expr| match maps.kind() {
        Kind::App(Op::Prim(Prim::Build), args) => match args[1].kind() {
            Kind::Lam(_, m) => is_zero(m),
            _ => false,
        },
        Kind::App(Op::Prim(Prim::VecInit), maps) => maps.iter().all(is_zero),
        _ => false,
    };
    match m.kind() {
        Kind::App(Op::Prim(Prim::LmZero), _) => true,
        Kind::App(Op::Prim(Prim::LmCompose), args) => args.iter().any(is_zero),
        Kind::App(Op::Prim(Prim::LmVCat | Prim::LmAdd), args) => args.iter().all(is_zero),
        Kind::App(Op::Prim(Prim::LmTo), args) => is_zero(&args[1]),
        Kind::App(Op::Prim(Prim::LmVCatV | Prim::LmAddV), args) => args.last().is_some_and(family),
        Kind::App(Op::If, args) => is_zero(&args[1]) && is_zero(&args[2]),
        Kind::Let(_, m) => is_zero(m),
        _ => false,
    }
}

/// Returns whether a value of the term's type, or of an argument's, has a tensor in it.
fn has_tensor(e: &Expr) -> bool {
    let args = match e.kind() {
        Kind::App(_, args) => args.as_slice(),
        _ => &[],
    };
    e.ty().mentions_array() || args.iter().any(|a| a.ty().mentions_array())
}
