//! Computes with dual numbers: each number comes with its tangent, inside tuples and tensors.
//!
//! ```text
//! D[x] = x̄      D[k] = (k, 0)      D[(e1, .., en)] = (D[e1], .., D[en])      D[e.i] = D[e].i
//! D[let x = e1 in e2] = let x̄ = D[e1] in D[e2]      D[if b then e1 else e2] = if b then D[e1] else D[e2]
//! D[build(n, λi. e)] = build(n, λi. D[e])           D[v[i]] = D[v][i]       D[size(v)] = size(D[v])
//! D[sum(v)] = sum(D[v])      D[sumbuild(n, λi. e)] = sumbuild(n, λi. D[e])
//! D[fold(λ(s, x). e, a, v)] = fold(λ(s̄, x̄). D[e], D[a], D[v])
//! D[f(e)] = dual$f(D[e])
//! D[p(x, ..)] = let x = value(x̄) in let y = p(x, ..) in zip(y, ∂p(x, ..) ⊙ (tangent(x̄), ..))
//! ```
//!
//! The last rule is for all primitives with a Jacobian in their row: ∂p is that law. Values are bound first, so what
//! tangents need of them is shared. What does not vary is no dual number; where a rule needs one, its tangent is 0.
//! Indices, conditions and texts stay as they are.
//!
//! Source: Fig. 7 of *Efficient differentiable programming in a functional array-processing language* (ICFP 2019). The
//! paper writes the rules of primitives out. Takes: a definition in normal form. Gives: a block in which linear maps are
//! left only as the Jacobians of primitives that are applied on the spot.

pub mod apart;
mod loops;
pub mod types;

use super::fig06_jacobian::{NO_RECORDS, NotDifferentiable, as_asked_for};
use lm::prim::{JacobianRule, Prim};
use lm::scope::free_variables;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Kind, Op, Path, Pattern, Supply, Var, place};
use lm::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Returns `[dual f]`, not optimised. `written` tells the functions whose derivatives are written by hand: those are
/// taken as they are.
pub fn dual(def: &Def, supply: &mut Supply, written: &dyn Fn(&FunName) -> bool) -> Result<Def, NotDifferentiable> {
    let refused = |reason| NotDifferentiable { function: as_asked_for(&def.fun.name), reason };
    let mentions = |has: fn(&Type) -> bool| def.fun.params.iter().chain([&def.fun.result]).any(has);
    if mentions(Type::mentions_lm) {
        return Err(refused("it takes or gives a linear map".into()));
    }
    if mentions(Type::mentions_record) {
        return Err(refused(NO_RECORDS.into()));
    }
    let mut cx = Dual { supply, known: FxHashMap::default(), out: Vec::new(), written };
    let varying = types::varying(&def.fun);
    let types = types::parameters(&def.fun);
    let parameters = def.params.iter().zip(types).enumerate();
    let params = parameters.map(|(i, (x, ty))| cx.parameter(x, ty, &[i + 1], &varying)).collect();
    let result = cx.block(&def.body).map_err(refused)?;
    let result = cx.whole(&result);
    Ok(Def::new(def.fun.name.derived(Derivative::Dual), params, Expr::block(cx.out, result)))
}

/// What is known of a variable that varies, besides its value: atoms.
#[derive(Clone)]
struct Known {
    whole: Expr,
    tangent: Expr,
}

struct Dual<'a> {
    supply: &'a mut Supply,
    /// The variables in scope that vary. Their values have the names of the program.
    known: FxHashMap<u32, Known>,
    out: Vec<Binding>,
    written: &'a dyn Fn(&FunName) -> bool,
}

/// Parameters and atoms.
impl Dual<'_> {
    /// Binds a parameter's value; returns the parameter of `[dual f]`.
    fn parameter(&mut self, x: &Var, ty: Type, path: &[usize], varying: &[Path]) -> Var {
        if !varying.iter().any(|v| v.starts_with(path)) || !x.ty().is_differentiable() {
            return x.clone();
        }
        let p = self.supply.fresh(x.name(), ty);
        let (value, whole) = self.doubled(&Expr::var(&p), x.ty(), path, varying);
        self.value(x, value);
        self.bind_whole(x, whole);
        p
    }

    /// Returns the value and the dual of a part of a parameter, in which some parts are duals.
    fn doubled(&mut self, p: &Expr, ty: &Type, path: &[usize], varying: &[Path]) -> (Expr, Expr) {
        if varying.iter().any(|v| v == path) {
            return (types::value(p, ty, self.supply), p.clone());
        }
        if !varying.iter().any(|v| v.starts_with(path)) {
            return (p.clone(), types::constant(p, self.supply));
        }
        let parts = ty.as_tuple().expect("a path leads through tuples").iter().enumerate();
        let part = |(k, ty)| self.doubled(&Expr::get(k + 1, p.clone()), ty, &[path, &[k + 1]].concat(), varying);
        let (values, wholes): (Vec<Expr>, Vec<Expr>) = parts.map(part).unzip();
        (Expr::tuple(values), Expr::tuple(wholes))
    }

    /// Returns the dual of an atom.
    fn whole(&mut self, atom: &Expr) -> Expr {
        match atom.as_var().and_then(|x| self.known.get(&x.id())) {
            Some(known) => known.whole.clone(),
            None => types::constant(atom, self.supply),
        }
    }

    fn tangent(&self, atom: &Expr) -> Expr {
        let known = atom.as_var().and_then(|x| self.known.get(&x.id()));
        known.map_or_else(|| Expr::prim(Prim::ZeroOf, [Expr::witness(atom)]), |known| known.tangent.clone())
    }

    fn is_known(&self, atom: &Expr) -> bool {
        atom.as_var().is_some_and(|x| self.known.contains_key(&x.id()))
    }

    /// Returns a witness of the duals of values like `w`.
    fn witness(&mut self, w: &Expr) -> Expr {
        match w.ty() {
            ty if ty.has_fixed_shape() => Expr::dummy(types::dual(ty)),
            _ => self.whole(w),
        }
    }
}

/// Bindings.
impl Dual<'_> {
    fn value(&mut self, x: &Var, rhs: Expr) {
        self.out.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
    }

    fn named(&mut self, name: &str, rhs: Expr) -> Expr {
        if rhs.is_atom() {
            return rhs;
        }
        let x = self.supply.fresh(name, rhs.ty().clone());
        self.value(&x, rhs);
        Expr::var(&x)
    }

    /// Binds what is known of y by its dual; its value is bound already.
    fn bind_whole(&mut self, y: &Var, dual: Expr) {
        let whole = self.named(y.name(), dual);
        let tangent = types::tangent(&whole, y.ty(), self.supply);
        let tangent = self.named(&format!("d{}", y.name()), tangent);
        self.known.insert(y.id(), Known { whole, tangent });
    }

    /// `y = value(D[e])`, of the dual.
    fn bind_dual(&mut self, y: &Var, dual: Expr) {
        let whole = self.named(y.name(), dual);
        let value = types::value(&whole, y.ty(), self.supply);
        self.value(y, value);
        self.bind_whole(y, whole);
    }

    /// Binds what is known of y by its tangent; its value is bound already.
    fn bind_tangent(&mut self, y: &Var, tangent: Expr) {
        let tangent = self.named(&format!("d{}", y.name()), tangent);
        let whole = types::zip(&Expr::var(y), &tangent, self.supply);
        let whole = self.named(y.name(), whole);
        self.known.insert(y.id(), Known { whole, tangent });
    }
}

/// Blocks.
impl Dual<'_> {
    /// Pushes D of a block's bindings to `out`. Returns the result, an atom.
    fn block(&mut self, e: &Expr) -> Result<Expr, String> {
        let (bindings, result) = e.as_block();
        bindings.iter().try_for_each(|b| self.binding(b))?;
        if result.is_atom() {
            return Ok(result.clone());
        }
        let y = self.supply.fresh("y", result.ty().clone());
        self.binding(&Binding { pattern: Pattern::Var(y.clone()), rhs: result.clone() })?;
        Ok(Expr::var(&y))
    }

    /// Returns a block that gives the dual of the result, after what `begin` binds.
    fn inner(&mut self, begin: impl FnOnce(&mut Self), e: &Expr) -> Result<Expr, String> {
        self.inner_with(begin, e, |cx, result| cx.whole(&result))
    }

    fn inner_with(
        &mut self,
        begin: impl FnOnce(&mut Self),
        e: &Expr,
        finish: impl FnOnce(&mut Self, Expr) -> Expr,
    ) -> Result<Expr, String> {
        let outer = std::mem::take(&mut self.out);
        begin(self);
        let result = self.block(e).map(|result| finish(self, result));
        let bindings = std::mem::replace(&mut self.out, outer);
        Ok(Expr::block(bindings, result?))
    }

    /// D of a binding. What it needs is where it is.
    fn binding(&mut self, b: &Binding) -> Result<(), String> {
        let before = self.out.len();
        self.placed_binding(b)?;
        place(&mut self.out[before..], b.rhs.span());
        Ok(())
    }

    fn placed_binding(&mut self, b: &Binding) -> Result<(), String> {
        if b.rhs.ty().mentions_lm() {
            return Err("a linear map has no derivative".into());
        }
        if b.rhs.ty().mentions_record() {
            return Err(NO_RECORDS.into());
        }
        if !self.varies(&b.rhs) {
            let rhs = self.size(&b.rhs).unwrap_or_else(|| b.rhs.clone());
            self.out.push(Binding { pattern: b.pattern.clone(), rhs });
            return Ok(());
        }
        match (&b.pattern, b.rhs.as_var()) {
            (Pattern::Var(y), _) => self.variable(y, &b.rhs),
            (Pattern::Tuple(xs), Some(t)) => {
                self.components(xs, t);
                Ok(())
            }
            (Pattern::Tuple(xs), None) => {
                let t = self.supply.fresh("t", b.rhs.ty().clone());
                self.variable(&t, &b.rhs)?;
                self.components(xs, &t);
                Ok(())
            }
        }
    }

    /// Returns D of a size: that of the dual, so that no value is made for it.
    fn size(&mut self, e: &Expr) -> Option<Expr> {
        let Kind::App(op @ Op::Prim(Prim::Size | Prim::CommonSize), args) = e.kind() else { return None };
        let wholes = args.iter().map(|v| if self.is_known(v) { self.whole(v) } else { v.clone() }).collect();
        Some(Expr::app(op.clone(), wholes).at(e.span()))
    }

    fn components(&mut self, xs: &[Var], t: &Var) {
        self.out.push(Binding { pattern: Pattern::Tuple(xs.to_vec()), rhs: Expr::var(t) });
        let Some(known) = self.known.get(&t.id()).cloned() else { return };
        for (i, x) in xs.iter().enumerate().filter(|(_, x)| x.ty().is_differentiable()) {
            self.bind_whole(x, Expr::get(i + 1, known.whole.clone()));
        }
    }

    /// Returns whether the term has a tangent that may be other than zero.
    fn varies(&self, e: &Expr) -> bool {
        e.ty().is_differentiable() && free_variables(e).iter().any(|x| self.known.contains_key(&x.id()))
    }

    /// Binds y, a term that varies, and what is known of it.
    fn variable(&mut self, y: &Var, e: &Expr) -> Result<(), String> {
        match e.kind() {
            Kind::Var(x) => {
                self.value(y, e.clone());
                let known = self.known[&x.id()].clone();
                self.known.insert(y.id(), known);
            }
            Kind::App(Op::If, args) => {
                let [yes, no] = [&args[1], &args[2]].map(|branch| self.inner(|_| (), branch));
                self.bind_dual(y, Expr::conditional(args[0].clone(), yes?, no?).at(e.span()));
            }
            Kind::App(Op::Call(f), args) => self.call(y, e, f, args),
            Kind::App(op, args) => self.application(y, e, op, args)?,
            Kind::Const(_) | Kind::Lam(..) | Kind::Let(..) => {
                return Err("a function that is no argument of a built-in".into());
            }
        }
        Ok(())
    }

    fn application(&mut self, y: &Var, e: &Expr, op: &Op, args: &[Expr]) -> Result<(), String> {
        let dual = match op {
            Op::Tuple => Expr::tuple(args.iter().map(|a| self.whole(a)).collect::<Vec<_>>()),
            Op::Get(i, _) => Expr::get(*i, self.whole(&args[0])),
            Op::Assert => Expr::app(Op::Assert, vec![args[0].clone(), self.whole(&args[1])]),
            Op::Prim(p) => match self.structural(*p, args)? {
                Some(dual) => dual,
                None => return self.primitive(y, e, *p, args),
            },
            Op::JacobianOf(_) | Op::JacobianOfFun(_) | Op::JacobianAt(_) | Op::LmGet(..) => {
                return Err("a linear map has no derivative".into());
            }
            Op::Pack(_) | Op::Unpack(_) => return Err(NO_RECORDS.into()),
            Op::Dummy | Op::If | Op::Call(_) => unreachable!("they have rules of their own"),
        };
        self.bind_dual(y, dual.at(e.span()));
        Ok(())
    }

    /// D of a primitive, by the Jacobian in its row.
    fn primitive(&mut self, y: &Var, e: &Expr, p: Prim, args: &[Expr]) -> Result<(), String> {
        self.value(y, e.clone());
        match p.jacobian() {
            JacobianRule::Zero => Ok(()),
            JacobianRule::Law(_) => {
                let mut tangents: Vec<Expr> = args.iter().map(|a| self.tangent(a)).collect();
                let tangents = if tangents.len() == 1 { tangents.remove(0) } else { Expr::tuple(tangents) };
                let map = Expr::app(Op::JacobianOf(p), args.to_vec());
                self.bind_tangent(y, Expr::prim(Prim::LmApply, [map, tangents]));
                Ok(())
            }
            JacobianRule::Structural => Err(format!("`{}` has no derivative by dual numbers", p.name())),
        }
    }

    /// D of a call: of the function on dual numbers, with respect to the arguments that vary.
    fn call(&mut self, y: &Var, e: &Expr, f: &Arc<Fun>, args: &[Expr]) {
        if (self.written)(&f.name) {
            return self.call_by_hand(y, e, f, args);
        }
        let differentiable = || (0..args.len()).filter(|i| args[*i].ty().is_differentiable());
        let varying: Vec<usize> = differentiable().filter(|i| self.is_known(&args[*i])).collect();
        let is_whole = varying.len() == differentiable().count();
        let paths: Vec<Path> = varying.iter().map(|i| vec![i + 1]).collect();
        let name = if is_whole { f.name.clone() } else { f.name.restricted(&paths) };
        let f = Fun { name, ..(**f).clone() };
        let dual = Fun {
            name: f.name.derived(Derivative::Dual),
            params: types::parameters(&f),
            result: types::dual(&f.result),
        };
        let given = |(i, a): (usize, &Expr)| if varying.contains(&i) { self.whole(a) } else { a.clone() };
        let args = args.iter().enumerate().map(given).collect();
        self.bind_dual(y, Expr::app(Op::Call(Arc::new(dual)), args).at(e.span()));
    }

    /// The value and the tangent of a function whose derivatives are written by hand.
    fn call_by_hand(&mut self, y: &Var, e: &Expr, f: &Arc<Fun>, args: &[Expr]) {
        let tangents: Vec<Expr> = args.iter().map(|a| self.tangent(a)).collect();
        let [point, tangent] = [args.to_vec(), tangents].map(|mut parts| match parts.len() {
            1 => parts.remove(0),
            _ => Expr::tuple(parts),
        });
        let params = vec![point.ty().clone(), tangent.ty().clone()];
        let result = Type::tuple([f.result.clone(), f.result.tangent()]);
        let both = Fun { name: f.name.derived(Derivative::Jvp), params, result };
        let dy = self.supply.fresh(&format!("d{}", y.name()), f.result.tangent());
        let rhs = Expr::app(Op::Call(Arc::new(both)), vec![point, tangent]).at(e.span());
        self.out.push(Binding { pattern: Pattern::Tuple(vec![y.clone(), dy.clone()]), rhs });
        self.bind_tangent(y, Expr::var(&dy));
    }
}
