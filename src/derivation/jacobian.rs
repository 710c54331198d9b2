//! The full Jacobian, from linear-map combinators.
//!
//!   ∂f(x) = let ∂x = 1 in ∇[e]
//!
//!   ∇[k] = 0      ∇[x] = ∂x      ∇[(e1, .., en)] = ∇[e1] × .. × ∇[en]
//!   ∇[f(e)] = ∂f(e) ∘ ∇[e]
//!   ∇[let x = e1 in e2] = let x = e1 in let ∂x = ∇[e1] in ∇[e2]
//!   ∇[if b then e1 else e2] = if b then ∇[e1] else ∇[e2]
//!
//! Source: working notes, Fig. 6; the call rule is a composition there too, though printed as an
//! application, and the conditional is promised in the text only. Takes: a definition in normal
//! form. Gives: a block that binds values and maps in turn.
//! A conditional's branches stand in the value and in the map; the passes `slice` and `merge` see to it
//! that they are computed once.

use lm::prim::{Derivative, Prim};
use lm::scope;
use lm::term::{Binding, Def, Expr, FunName, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use std::collections::HashMap;

/// Why a function has no derivative.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{function}` cannot be differentiated: {reason}")]
pub struct NotDifferentiable {
    /// The function.
    pub function: FunName,
    /// The construct that has no rule.
    pub reason: String,
}

/// `[D f]`, not optimised.
pub fn jacobian(def: &Def, supply: &mut Supply) -> Result<Def, NotDifferentiable> {
    if mentions_array(&def.body) || def.params.iter().any(|x| x.ty().mentions_array()) {
        let reason = "derivatives of functions on arrays are not supported yet".into();
        return Err(NotDifferentiable { function: def.fun.name.clone(), reason });
    }
    let parts: Vec<Expr> = def.params.iter().map(Expr::var).collect();
    let argument = if let [one] = parts.as_slice() { one.clone() } else { Expr::tuple(parts.clone()) };
    let mut cx = Nabla { supply, space: Expr::witness(&argument), maps: HashMap::new(), out: Vec::new() };
    for (i, x) in def.params.iter().enumerate() {
        let map = match def.params.len() {
            1 => Expr::prim(Prim::LmOne, [cx.space.clone()]),
            n => Expr::app(Op::LmGet(i + 1, n), vec![cx.space.clone()]),
        };
        cx.bind_map(x, map);
    }
    let refused = |reason| NotDifferentiable { function: def.fun.name.clone(), reason };
    let result = cx.block(&def.body).map_err(refused)?;
    let is_map = |ty: &Type| ty.mentions_lm();
    if def.fun.params.iter().any(is_map) || is_map(&def.fun.result) {
        return Err(refused("it takes or gives a linear map".into()));
    }
    Ok(Def::new(def.fun.name.derived("D"), def.params.clone(), Expr::block(cx.out, result)))
}

struct Nabla<'a> {
    supply: &'a mut Supply,
    /// A witness of S, the argument of the function.
    space: Expr,
    /// ∂x for each x in scope that can change.
    maps: HashMap<u32, Expr>,
    out: Vec<Binding>,
}

impl Nabla<'_> {
    /// ∇ of a block: its bindings go to `out`.
    fn block(&mut self, e: &Expr) -> Result<Expr, String> {
        let (bindings, result) = e.as_block();
        bindings.iter().try_for_each(|b| self.binding(b))?;
        self.nabla(result)
    }

    /// ∇ of a block as a block.
    fn branch(&mut self, e: &Expr) -> Result<Expr, String> {
        let outer = std::mem::take(&mut self.out);
        let result = self.block(e);
        let bindings = std::mem::replace(&mut self.out, outer);
        Ok(Expr::block(bindings, result?))
    }

    fn binding(&mut self, b: &Binding) -> Result<(), String> {
        if b.rhs.ty().mentions_lm() {
            return Err("a linear map has no derivative".into());
        }
        // The map repeats the branches of a conditional, so the value gets binders of its own.
        let value = if b.rhs.args_of(&Op::If).is_some() { scope::renamed(&b.rhs, self.supply) } else { b.rhs.clone() };
        self.out.push(Binding { pattern: b.pattern.clone(), rhs: value });
        let map = self.nabla(&b.rhs)?;
        match &b.pattern {
            Pattern::Var(x) => self.bind_map(x, map),
            Pattern::Tuple(xs) => {
                let whole = self.supply.fresh("t", b.rhs.ty().clone());
                self.bind_map(&whole, map);
                let whole = self.variable(&whole, &b.rhs);
                for (i, x) in xs.iter().enumerate() {
                    let select = Expr::app(Op::LmGet(i + 1, xs.len()), vec![Expr::witness(&tuple_of(xs))]);
                    self.bind_map(x, Expr::prim(Prim::LmCompose, [select, whole.clone()]));
                }
            }
        }
        Ok(())
    }

    /// Binds ∂x, when x can change.
    fn bind_map(&mut self, x: &Var, map: Expr) {
        if x.ty().is_differentiable() {
            let dx = self.supply.fresh(&format!("D{}", x.name()), map.ty().clone());
            self.maps.insert(x.id(), Expr::var(&dx));
            self.out.push(Binding { pattern: Pattern::Var(dx), rhs: map });
        }
    }

    fn variable(&self, x: &Var, value: &Expr) -> Expr {
        self.maps.get(&x.id()).cloned().unwrap_or_else(|| self.zero(value))
    }

    /// The zero map to the space of `e`.
    fn zero(&self, e: &Expr) -> Expr {
        Expr::prim(Prim::LmZero, [self.space.clone(), Expr::witness(e)])
    }

    /// ∇ of an operator on atoms.
    fn nabla(&mut self, e: &Expr) -> Result<Expr, String> {
        match e.kind() {
            Kind::Const(_) | Kind::App(Op::Dummy, _) => Ok(self.zero(e)),
            Kind::Var(x) => Ok(self.variable(x, e)),
            _ if !e.ty().is_differentiable() => Ok(self.zero(e)),
            Kind::App(op, args) => self.application(e, op, args),
            Kind::Lam(..) | Kind::Let(..) => Err("a function that is no argument of a built-in".into()),
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
            Op::Prim(p) => match p.row().derivative {
                Derivative::Zero => Ok(self.zero(e)),
                Derivative::Law(_) => self.chain(Op::JacobianOf(*p), args),
                Derivative::Structural => Err(format!("`{}` has no derivative", p.name())),
            },
            Op::Call(_) if args.is_empty() => Ok(self.zero(e)),
            Op::Call(f) => self.chain(Op::JacobianOfFun(f.clone()), args),
            Op::JacobianOf(_) | Op::JacobianOfFun(_) | Op::LmGet(..) => Err("a linear map has no derivative".into()),
            Op::Dummy => unreachable!("handled by nabla"),
        }
    }

    /// `∂f(e) ∘ ∇[e]`.
    fn chain(&mut self, derivative: Op, args: &[Expr]) -> Result<Expr, String> {
        let mut maps = self.nablas(args)?;
        let inner = if maps.len() == 1 { maps.remove(0) } else { Expr::prim(Prim::LmVCat, maps) };
        Ok(Expr::prim(Prim::LmCompose, [Expr::app(derivative, args.to_vec()), inner]))
    }

    fn nablas(&mut self, args: &[Expr]) -> Result<Vec<Expr>, String> {
        args.iter().map(|a| self.nabla(a)).collect()
    }
}

/// Whether the term computes with tensors anywhere.
fn mentions_array(e: &Expr) -> bool {
    let below = match e.kind() {
        Kind::Const(_) | Kind::Var(_) => false,
        Kind::App(_, args) => args.iter().any(mentions_array),
        Kind::Let(bindings, body) => bindings.iter().any(|b| mentions_array(&b.rhs)) || mentions_array(body),
        Kind::Lam(_, body) => mentions_array(body),
    };
    below || e.ty().mentions_array()
}

fn tuple_of(xs: &[Var]) -> Expr {
    Expr::dummy(Type::tuple(xs.iter().map(|x| x.ty().clone())))
}
