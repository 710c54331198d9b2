//! Applies a block of maps to a vector, until no map is left.
//!
//! ```text
//! (let Dy = m in b) ⊙ dx   =   let dy = m ⊙ dx in b ⊙ dx, where `Dy ⊙ dx` is read as dy
//! ```
//!
//! Every map bound in a Jacobian has the function's argument as its domain; in a transposed Jacobian, the result. So
//! there is one vector `dx` to apply all of them to, and each is applied once. The laws `apply-*` do the rest. A map
//! that is a call becomes a call of the derivative.
//!
//! Source: working notes, sec. 3 and Fig. 4. Takes: `lmApply(block, dx)` as a definition's body, below value bindings.
//! Gives: no linear maps.

use crate::derive::derived_call::call_derivative;
use crate::derive::forms::{self, without_unused_maps};
use crate::derive::postcondition::Facts;
use lm::law::{component_source, name_it};
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter};
use lm::scope::renamed;
use lm::strategy::Strategy;
use lm::term::{Binding, Def, Derivative, Expr, Fun, Kind, Op, Pattern, place};
use lm::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Applies every map.
pub fn apply(def: &Def, strategy: &Strategy, cx: &mut Rewriter) -> Result<Def, OutOfFuel> {
    let mut pass = Apply { strategy, cx, tangents: FxHashMap::default() };
    let mut out = Vec::new();
    let result = pass.last(&def.body, &mut out)?;
    let body = Expr::block(out, result);
    let body = if cx.rewrites.is_limited() { without_unused_maps(&body, &def.body) } else { body };
    Ok(Def { body, ..def.clone() })
}

struct Apply<'a, 'b> {
    strategy: &'a Strategy,
    cx: &'a mut Rewriter<'b>,
    /// The result of applying each bound map.
    tangents: FxHashMap<u32, Expr>,
}

impl Apply<'_, '_> {
    /// Applies the maps in the result of a block, and in what it binds; pushes its bindings to `out`.
    fn last(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        let (bindings, result) = e.as_block();
        for b in bindings {
            let rhs = self.value(&b.rhs, out)?;
            out.push(Binding { pattern: b.pattern.clone(), rhs });
        }
        self.value(result, out)
    }

    /// Applies the maps in a term on values; pushes the bindings of the term to `out`.
    fn value(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        match e.kind() {
            Kind::Let(..) => match self.cx.rewrites.may("let-let") {
                true => self.last(e, out),
                false => Ok(e.clone()),
            },
            Kind::App(Op::Prim(Prim::LmApply), args) => {
                let dx = self.value(&args[1], out)?;
                let dx = self.name_it(&dx, out);
                self.map(&args[0], &dx, out)
            }
            Kind::App(Op::If, args) => {
                let c = self.value(&args[0], out)?;
                let (yes, no) = (self.branch(&args[1])?, self.branch(&args[2])?);
                Ok(Expr::conditional(c, yes, no).at(e.span()))
            }
            Kind::App(op, args) if !matches!(op, Op::Dummy) => {
                let args = args.iter().map(|a| self.value(a, out)).collect::<Result<Vec<_>, _>>()?;
                Ok(Expr::try_app(op.clone(), args, e.span()).expect("types do not change"))
            }
            Kind::Lam(x, body) => Ok(Expr::lam(x.clone(), self.branch(body)?).at(e.span())),
            Kind::Const(_) | Kind::Var(_) | Kind::App(..) => Ok(e.clone()),
        }
    }

    fn branch(&mut self, e: &Expr) -> Result<Expr, OutOfFuel> {
        let mut out = Vec::new();
        let result = self.last(e, &mut out)?;
        Ok(Expr::block(out, result))
    }

    fn may(&mut self, law: &str) -> bool {
        self.cx.rewrites.may(law)
    }

    /// Gives a vector a name, unless it is free to copy.
    fn name_it(&mut self, v: &Expr, out: &mut Vec<Binding>) -> Expr {
        if v.is_atom() || !self.may("let-name") { v.clone() } else { name_it(v, self.cx.supply, out) }
    }

    /// Returns `m ⊙ dx`, placed where m is in the source, and pushes what it needs to `out`. dx is free to copy.
    fn map(&mut self, m: &Expr, dx: &Expr, out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        if self.cx.rewrites.is_spent() {
            return Ok(applied_later(m, dx));
        }
        let before = out.len();
        let applied = self.applied(m, dx, out)?;
        place(&mut out[before..], m.span());
        Ok(applied.placed(m.span()))
    }

    fn applied(&mut self, m: &Expr, dx: &Expr, out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        let law = match m.kind() {
            Kind::Let(..) => "apply-let",
            Kind::App(Op::If, _) => "apply-if",
            Kind::App(Op::Prim(Prim::LmTo), _) => "apply-to",
            Kind::App(Op::Prim(Prim::LmVCatV), _) if is_family(m) => "apply-build",
            Kind::App(Op::Prim(Prim::LmAddV), _) if is_family(m) => "apply-sumbuild",
            Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Lam(..) => {
                let applied = self.normal(&applied_later(m, dx), out)?;
                let applied = self.leaves(&applied, out)?;
                return self.normal(&applied, out);
            }
        };
        if !self.may(law) {
            return Ok(applied_later(m, dx));
        }
        match m.kind() {
            Kind::Let(bindings, body) => {
                for b in bindings {
                    self.binding(b, dx, out)?;
                }
                self.map(body, dx, out)
            }
            Kind::App(Op::If, args) => {
                let mut branch = |m: &Expr| {
                    let mut inner = Vec::new();
                    let result = self.map(m, dx, &mut inner)?;
                    Ok(Expr::block(inner, result))
                };
                let (yes, no) = (branch(&args[1])?, branch(&args[2])?);
                Ok(Expr::conditional(args[0].clone(), yes, no))
            }
            Kind::App(Op::Prim(Prim::LmAddV), args) => {
                let built = self.family(&args[1], dx)?;
                let parts = built.args_of_prim(Prim::Build).expect("a family of maps is a build");
                Ok(Expr::prim(Prim::SumBuild, [args[0].clone(), parts[0].clone(), parts[1].clone()]))
            }
            Kind::App(Op::Prim(Prim::LmVCatV), args) => self.family(&args[1], dx),
            Kind::App(_, args) => self.map(&args[1], dx, out),
            Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => unreachable!("no law of these"),
        }
    }

    /// Returns `build(n, λi. m ⊙ dx)`, for `build(n, λi. m)`; likewise for a literal vector of maps.
    fn family(&mut self, maps: &Expr, dx: &Expr) -> Result<Expr, OutOfFuel> {
        let mut step = |m: &Expr| {
            let mut inner = Vec::new();
            let result = self.map(m, dx, &mut inner)?;
            Ok(Expr::block(inner, result))
        };
        match maps.kind() {
            Kind::App(op @ Op::Prim(Prim::VecInit), maps) => {
                let images = maps.iter().map(step).collect::<Result<_, _>>()?;
                Ok(Expr::app(op.clone(), images))
            }
            Kind::App(op @ Op::Prim(Prim::Build), args) => {
                let Kind::Lam(i, m) = args[1].kind() else { panic!("a family of maps is a function of the index") };
                let image = Expr::lam(i.clone(), step(m)?);
                Ok(Expr::app(op.clone(), vec![args[0].clone(), image]))
            }
            _ => unreachable!("a family of maps is a literal or a build"),
        }
    }

    /// Returns the loop for `lmFold(n, λi. M(i)) ⊙ (ds, dc)`.
    fn recurrence(&mut self, fold: &[Expr], dx: &Expr, out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        let [n, _, to, f] = fold else { panic!("lmFold has four arguments") };
        let Kind::Lam(i, body) = f.kind() else { panic!("the steps of lmFold are a function") };
        let [start, input] = [1, 2].map(|k| Expr::get(k, dx.clone()));
        let input = self.name_it(&input, out);
        let p = self.cx.supply.fresh("p", Type::tuple([Type::Integer, start.ty().clone()]));
        let ds = self.cx.supply.fresh("ds", start.ty().clone());
        let mut inner = vec![Binding { pattern: Pattern::Tuple(vec![i.clone(), ds.clone()]), rhs: Expr::var(&p) }];
        let result = self.map(body, &Expr::tuple([Expr::var(&ds), input]), &mut inner)?;
        let step = Expr::lam(p, Expr::block(inner, result));
        let outputs = Expr::witness(&Expr::get(2, component_source(to)));
        Ok(Expr::prim(Prim::Loop, [n.clone(), step, start, outputs]))
    }

    /// Returns `lmSum(v)ᵀ ⊙ r = build(size(v), λi. r)`.
    fn broadcast(&mut self, v: &Expr, r: &Expr, out: &mut Vec<Binding>) -> Expr {
        let Type::Tensor(rank, _) = v.ty() else { panic!("{v:?} is no tensor") };
        let i = self.cx.supply.fresh("i", Type::index(*rank));
        let r = self.name_it(r, out);
        Expr::prim(Prim::Build, [Expr::prim(Prim::Size, [v.clone()]), Expr::lam(i, r)])
    }

    fn binding(&mut self, b: &Binding, dx: &Expr, out: &mut Vec<Binding>) -> Result<(), OutOfFuel> {
        let Pattern::Var(x) = &b.pattern else {
            out.push(b.clone());
            return Ok(());
        };
        if x.ty().as_lm().is_none() {
            out.push(b.clone());
            return Ok(());
        }
        if self.cx.rewrites.is_limited() {
            // Terms that are left as they are may use it.
            out.push(Binding { pattern: b.pattern.clone(), rhs: renamed(&b.rhs, self.cx.supply) });
        }
        if !self.may("let-apply") {
            return Ok(());
        }
        let tangent = self.map(&b.rhs, dx, out)?;
        let tangent = match tangent.is_atom() || is_zero(&tangent) {
            true => tangent,
            false => self.bind_as(x.name(), tangent, out),
        };
        self.tangents.insert(x.id(), tangent);
        Ok(())
    }

    /// Names the result of applying a map: `dy` for `Dy`, `ry` for `Ry`. Names a tuple component by component.
    fn bind_as(&mut self, map: &str, tangent: Expr, out: &mut Vec<Binding>) -> Expr {
        if let Some(parts) = tangent.args_of(&Op::Tuple) {
            let parts: Vec<Expr> = parts
                .iter()
                .map(|p| if p.is_atom() || is_zero(p) { p.clone() } else { self.bind_as(map, p.clone(), out) })
                .collect();
            return Expr::tuple(parts);
        }
        let mut letters = map.chars();
        let name: String = letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect();
        let t = self.cx.supply.fresh(&name, tangent.ty().clone());
        let use_ = Expr::var(&t);
        out.push(Binding { pattern: Pattern::Var(t), rhs: tangent });
        use_
    }

    fn normal(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        let e = self.cx.run(self.strategy, e)?.unwrap_or_else(|| e.clone());
        let (bindings, result) = e.as_block();
        for b in bindings {
            // A vector that a law named may itself hold applications of maps.
            let rhs = self.leaves(&b.rhs, out)?;
            out.push(Binding { pattern: b.pattern.clone(), rhs });
        }
        Ok(result.clone())
    }

    /// Applies maps that no law applies: bound maps, blocks, derivatives of calls.
    fn leaves(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        let Kind::App(op, args) = e.kind() else { return Ok(e.clone()) };
        if self.cx.rewrites.is_spent() {
            return Ok(e.clone());
        }
        if let Op::Prim(Prim::LmApply) = op {
            let dx = self.leaves(&args[1], out)?;
            return self.leaf(&args[0], dx, out);
        }
        if matches!(op, Op::Dummy | Op::If) {
            return if *op == Op::If { self.value(e, out) } else { Ok(e.clone()) };
        }
        let args = args.iter().map(|a| self.leaves(a, out)).collect::<Result<Vec<_>, _>>()?;
        Ok(Expr::try_app(op.clone(), args, e.span()).expect("types do not change"))
    }

    fn leaf(&mut self, m: &Expr, dx: Expr, out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        if let Kind::Var(x) = m.kind() {
            let known = self.tangents.get(&x.id()).cloned();
            return Ok(known.filter(|_| self.may("let-apply")).unwrap_or_else(|| applied_later(m, &dx)));
        }
        Ok(self.operator(m, dx, out)?.placed(m.span()))
    }

    fn operator(&mut self, m: &Expr, dx: Expr, out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        let transposed = m.args_of_prim(Prim::LmTranspose).map(|t| &t[0]);
        let law = match m.kind() {
            Kind::Let(..) | Kind::App(Op::If | Op::Prim(Prim::LmTo), _) => {
                let dx = self.name_it(&dx, out);
                return self.map(m, &dx, out);
            }
            Kind::App(Op::Prim(Prim::LmVCatV | Prim::LmAddV), _) if is_family(m) => {
                let dx = self.name_it(&dx, out);
                return self.map(m, &dx, out);
            }
            Kind::App(Op::JacobianOfFun(_), _) => "call-fwd",
            Kind::App(Op::Prim(Prim::LmFold), _) => "apply-fold",
            _ if transposed.and_then(as_jacobian).is_some() => "call-rev",
            _ if transposed.and_then(at_record).is_some() => "call-recorded",
            _ if transposed.and_then(|m| m.args_of_prim(Prim::LmSum)).is_some() => "apply-ones",
            // A strategy of the user may lack the law. The postcondition finds the map that is left.
            _ => return Ok(applied_later(m, &dx)),
        };
        if !self.may(law) {
            return Ok(applied_later(m, &dx));
        }
        if let Some((fun, args)) = as_jacobian(m) {
            return Ok(call_derivative(Derivative::Fwd, fun, args, dx));
        }
        if let Some(fold) = m.args_of_prim(Prim::LmFold) {
            let dx = self.name_it(&dx, out);
            return self.recurrence(fold, &dx, out);
        }
        let m = transposed.expect("other laws are of transposed maps");
        if let Some((fun, args)) = as_jacobian(m) {
            return Ok(call_derivative(Derivative::Rev, fun, args, dx));
        }
        if let Some((fun, args)) = at_record(m) {
            return Ok(call_second_half(fun, &args[0], dx));
        }
        let [v] = m.args_of_prim(Prim::LmSum).expect("the last of the laws") else { panic!("`lmSum` takes one") };
        Ok(self.broadcast(v, &dx, out))
    }
}

/// Returns `m ⊙ dx` as it stands.
fn applied_later(m: &Expr, dx: &Expr) -> Expr {
    Expr::prim(Prim::LmApply, [m.clone(), dx.clone()])
}

/// Returns whether a map is `V(w, v)` or `⊕(v)` of a tensor v whose elements are known.
fn is_family(m: &Expr) -> bool {
    let is_build = |v: &Expr| v.args_of_prim(Prim::Build).is_some_and(|args| matches!(args[1].kind(), Kind::Lam(..)));
    match (m.args_of_prim(Prim::LmVCatV), m.args_of_prim(Prim::LmAddV)) {
        (Some([_, v]), _) => v.args_of_prim(Prim::VecInit).is_some() || is_build(v),
        (_, Some([_, v])) => is_build(v),
        _ => false,
    }
}

fn is_zero(e: &Expr) -> bool {
    e.args_of_prim(Prim::ZeroOf).is_some()
}

fn as_jacobian(m: &Expr) -> Option<(&Arc<Fun>, &[Expr])> {
    match m.kind() {
        Kind::App(Op::JacobianOfFun(fun), args) => Some((fun, args)),
        _ => None,
    }
}

fn at_record(m: &Expr) -> Option<(&Arc<Fun>, &[Expr])> {
    match m.kind() {
        Kind::App(Op::JacobianAt(fun), args) => Some((fun, args)),
        _ => None,
    }
}

/// Returns `sufrevpass$f(dr, r)`, where r is the record.
fn call_second_half(fun: &Fun, record: &Expr, dr: Expr) -> Expr {
    let half = Fun {
        name: fun.name.derived(Derivative::SufRevPass),
        params: vec![dr.ty().clone(), record.ty().clone()],
        result: fun.varying().tangent(),
    };
    Expr::app(Op::Call(Arc::new(half)), vec![dr, record.clone()])
}

/// Returns what breaks the postcondition: a value that is a linear map.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    forms::with_map(&def.body)
}
