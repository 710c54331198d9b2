//! Derives gradients, Jacobians and Hessians as dense values.
//!
//! ```text
//! grad$f(s) = rev$f(s, 1.0)          hvp$f(s, ds) = fwd$[grad f](s, ds)          hess$f(s) = jacfwd$[grad f](s)
//! jac$f(s)  = if (scalars of s) <= (scalars of f(s)) then jacfwd$f(s) else jacrev$f(s)
//!
//! jacfwd$f(s) = let e1 .. en in blocks(c)      c[j] = fwd$f(s, $delta_at(s, j, 1.0))          columns
//! jacrev$f(s) = let e1 .. en in blocks(r)      r[i] = rev$f(s, $delta_at(f(s), i, 1.0))       rows
//! ```
//!
//! e1 .. en do not depend on the direction, and are computed once. For that, calls are inlined (`inline`), and
//! what loops compute that does not depend on it is stored (`passes::residuals`). A part of s that is told apart by
//! components is a direction of its own, of the derivative with respect to that part, `[fwd [wrt$2.1 f]]`.
//!
//! The block of T by S has T's structure outside, then S's: tuples give tuples of blocks, a tensor of scalars by a
//! tensor of scalars one tensor of both ranks, and other tensors tensors of blocks ([`crate::derive::typing::blocks`]).

mod blocks;
mod cotangent;
mod inline;
mod linear;

use crate::derive::figures::fig06_jacobian::NotDifferentiable;
use crate::derive::figures::symmetry::derivative;
use crate::derive::pipeline::{Error, Pipeline};
use blocks::{Blocks, Position, along_axes, index, size};
use linear::{Directions, Linear};
use lm::prim::Prim;
use lm::shape;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Mode, Op, Path, Pattern, Supply, Var};
use lm::types::Type;
use std::sync::Arc;

/// A side with at most this many scalars is chosen if the other side's size is known only at run time.
const FEW: i64 = 4;

impl Pipeline {
    /// Returns f as the dense derivatives take it: a function of values, to Float for a gradient.
    fn between_values(&mut self, of: &FunName, needs_float: bool) -> Result<Fun, Error> {
        let f = Fun { name: of.clone(), ..(*self.source(of)?.fun).clone() };
        if needs_float && f.result != Type::Float {
            return Err(Error::NoGradient(of.clone(), f.result));
        }
        if f.params.iter().chain([&f.result]).any(Type::mentions_lm) {
            let reason = "it takes or gives a linear map".into();
            return Err(NotDifferentiable { function: of.clone(), reason }.into());
        }
        Ok(f)
    }

    /// Returns `[jacfwd f]` or `[jacrev f]`, by calls of `[fwd f]` or `[rev f]`, so that it keeps no records.
    pub(in crate::derive) fn dense_by_calls(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        let f = Fun { name: of.clone(), ..(*self.source(of)?.fun).clone() };
        let mode = if name.derivative() == Some(&Derivative::JacFwd) { Mode::Forward } else { Mode::Reverse };
        let def = self.all_directions(&f, mode, name, Directions::Calls)?;
        self.without_halves(&def)
    }

    /// `grad$f(s) = rev$f(s, 1.0)`.
    pub(in crate::derive) fn gradient(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        let f = &self.between_values(of, true)?;
        let (params, s) = self.parameters(f);
        let body = Expr::app(Op::Call(Arc::new(derivative(Derivative::Rev, f))), vec![s, Expr::float(1.0)]);
        Ok(Def::new(name.clone(), params, body))
    }

    /// `hvp$f(s, ds) = fwd$[grad f](s, ds)`.
    pub(in crate::derive) fn hessian_vector(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        let f = &self.between_values(of, true)?;
        let derived = derivative(Derivative::Fwd, &gradient_of(f));
        let supply = &mut self.program.supply;
        let [s, ds] = [0, 1].map(|i| supply.fresh(["s", "ds"][i], derived.params[i].clone()));
        let body = Expr::app(Op::Call(Arc::new(derived)), vec![Expr::var(&s), Expr::var(&ds)]);
        Ok(Def::new(name.clone(), vec![s, ds], body))
    }

    /// `hess$f(s) = jacfwd$[grad f](s)`: the gradient has as many scalars as what varies, so columns are never more
    /// than rows.
    pub(in crate::derive) fn hessian(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        let f = &self.between_values(of, true)?;
        let (params, _) = self.parameters(f);
        let body = call_with(&derivative(Derivative::JacFwd, &gradient_of(f)), &params);
        Ok(Def::new(name.clone(), params, body))
    }

    /// Returns `[jac f]`: the columns or the rows, whichever are fewer.
    pub(in crate::derive) fn columns_or_rows(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        let f = &self.between_values(of, false)?;
        let (params, _) = self.parameters(f);
        let [columns, rows] =
            [Derivative::JacFwd, Derivative::JacRev].map(|way| call_with(&derivative(way, f), &params));
        let body = match (count(&f.varying()), count(&f.result)) {
            (Some(s), Some(t)) if s <= t => columns,
            (Some(_), Some(_)) => rows,
            (Some(s), None) if s <= FEW => columns,
            (None, Some(t)) if t <= FEW => rows,
            _ => {
                let condition = self.has_fewer_columns(f, &params);
                Expr::conditional(condition, columns, rows)
            }
        };
        Ok(Def::new(name.clone(), params, body))
    }

    /// Returns whether what varies has at most as many scalars as the result.
    fn has_fewer_columns(&mut self, f: &Fun, params: &[Var]) -> Expr {
        let parts: Vec<Expr> = params.iter().map(Expr::var).collect();
        let all = Fun { name: f.name.unrestricted(), ..f.clone() };
        let result = call_with(&derivative(Derivative::Shape, &all), params);
        let supply = &mut self.program.supply;
        let argument = shape::of_term(f.varying_of(&parts), supply);
        let [s, t] = [("ss", argument), ("st", result)].map(|(name, shape)| {
            let x = supply.fresh(name, shape.ty().clone());
            (Binding { pattern: Pattern::Var(x.clone()), rhs: shape }, Expr::var(&x))
        });
        let counts = [(&f.varying(), &s.1), (&f.result, &t.1)].map(|(ty, shape)| scalars(ty, shape, supply));
        Expr::block(vec![s.0, t.0], Expr::prim(Prim::Lte, counts))
    }

    /// Returns `[jacfwd f]`, all columns, or `[jacrev f]`, all rows. What does not depend on the direction is computed
    /// once.
    pub(in crate::derive) fn dense_jacobian(&mut self, of: &FunName, mode: Mode, name: &FunName) -> Result<Def, Error> {
        let f = self.between_values(of, false)?;
        self.all_directions(&f, mode, name, Directions::Cut)
    }

    /// Returns `[jacfwd f]`, `[grad f]` or `[rev f]`, by a call of `[dual f]` for each direction.
    pub(in crate::derive) fn loop_over_directions(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        if name.derivative() != Some(&Derivative::JacFwd) {
            return self.along_directions_by(of, name, Directions::Dual);
        }
        let f = self.between_values(of, false)?;
        self.all_directions(&f, Mode::Forward, name, Directions::Dual)
    }

    /// Returns all columns, or all rows, arranged as blocks.
    fn all_directions(&mut self, f: &Fun, mode: Mode, name: &FunName, how: Directions) -> Result<Def, Error> {
        let (params, _) = self.parameters(f);
        let mut out = Vec::new();
        if !f.varying().is_differentiable() || !f.result.is_differentiable() {
            return Ok(Def::new(name.clone(), params, Expr::tuple([])));
        }
        let (s, t) = match mode {
            Mode::Forward => self.columns(f, &params, how, &mut out)?,
            Mode::Reverse => self.rows(f, &params, how, &mut out)?,
        };
        let blocks = Blocks { supply: &mut self.program.supply }.block_of_parts(&t, &s);
        Ok(Def::new(name.clone(), params, Expr::block(out, blocks)))
    }

    /// Returns the derivative along each direction of s, by the parts of s.
    fn columns(
        &mut self,
        f: &Fun,
        params: &[Var],
        how: Directions,
        out: &mut Vec<Binding>,
    ) -> Result<(Position, Position), Error> {
        let parts: Vec<Expr> = params.iter().map(Expr::var).collect();
        let whole = f.varying_of(&parts);
        let varying = f.name.varying();
        let mut table = Vec::new();
        let mut value = None;
        for (path, w) in leaves(&whole) {
            let name = restricted(f, varying, &path);
            let linear = self.linear(&Fun { name, ..f.clone() }, Mode::Forward, params, how)?;
            out.extend(linear.early.iter().cloned());
            value.get_or_insert_with(|| linear.value.clone());
            let columns = self.along(&linear, &w, &|e| e);
            table.push((path, self.bound(out, "columns", columns)));
        }
        let value = value.expect("something varies");
        Ok((Position::new(whole, table), Position::new(value, Vec::new())))
    }

    /// Returns the cotangent of what varies for each direction of the result, by the parts of that.
    fn rows(
        &mut self,
        f: &Fun,
        params: &[Var],
        how: Directions,
        out: &mut Vec<Binding>,
    ) -> Result<(Position, Position), Error> {
        let parts: Vec<Expr> = params.iter().map(Expr::var).collect();
        let linear = self.linear(f, Mode::Reverse, params, how)?;
        out.extend(linear.early.iter().cloned());
        let mut table = Vec::new();
        for (path, w) in leaves(&linear.value) {
            let inside = |e| embedded(&linear.value, &path, e);
            let rows = self.along(&linear, &w, &inside);
            table.push((path, self.bound(out, "rows", rows)));
        }
        Ok((Position::new(f.varying_of(&parts), Vec::new()), Position::new(linear.value, table)))
    }

    /// Returns the derivative along each direction of a part like `w`, in its structure; `inside` makes a direction of
    /// the part one of the whole.
    fn along(&mut self, linear: &Linear, w: &Expr, inside: &dyn Fn(Expr) -> Expr) -> Expr {
        match w.ty() {
            ty if !ty.is_differentiable() => Expr::tuple([]),
            Type::Tensor(rank, _) => {
                let i = self.program.supply.fresh("i", Type::index(*rank));
                let at = |e| inside(Expr::prim(Prim::DeltaAt, [w.clone(), Expr::var(&i), e]));
                let body = self.along(linear, &index(Expr::var(&i), w.clone()), &at);
                Expr::prim(Prim::Build, [size(w), Expr::lam(i, body)])
            }
            Type::Tuple(parts) => {
                let part = |k| self.along(linear, &Expr::get(k, w.clone()), &|e| inside(embedded(w, &[k], e)));
                Expr::tuple((1..=parts.len()).map(part).collect::<Vec<_>>())
            }
            _ => linear.at(inside(Expr::float(1.0)), &mut self.program.supply),
        }
    }

    /// Returns fresh parameters of f, and the one argument that derivatives take.
    fn parameters(&mut self, f: &Fun) -> (Vec<Var>, Expr) {
        let names: Vec<Arc<str>> = match self.program.defs.get(&f.name.unrestricted()) {
            Some(def) => def.params.iter().map(|x| x.name().clone()).collect(),
            None => f.params.iter().map(|_| "x".into()).collect(),
        };
        let supply = &mut self.program.supply;
        let params: Vec<Var> = names.iter().zip(&f.params).map(|(x, ty)| supply.fresh(x, ty.clone())).collect();
        let parts: Vec<Expr> = params.iter().map(Expr::var).collect();
        let whole = if let [one] = parts.as_slice() { one.clone() } else { Expr::tuple(parts) };
        (params, whole)
    }
}

/// f with respect to the part at a path of what varies.
fn restricted(f: &Fun, varying: Option<&[Path]>, path: &[usize]) -> FunName {
    let whole = f.name.unrestricted();
    match (varying, path) {
        (None, []) => whole,
        (None, path) if f.params.len() == 1 => whole.restricted(&[[&[1], path].concat()]),
        (None, path) => whole.restricted(&[path.to_vec()]),
        (Some([one]), path) => whole.restricted(&[[one, path].concat()]),
        (Some(several), path) => whole.restricted(&[[&several[path[0] - 1], &path[1..]].concat()]),
    }
}

/// Returns `[grad f]`, with respect to what varies of f.
fn gradient_of(f: &Fun) -> Fun {
    let gradient = derivative(Derivative::Grad, f);
    let name = f.name.varying().map_or(gradient.name.clone(), |paths| gradient.name.restricted(paths));
    Fun { name, ..gradient }
}

/// Returns the parts that vary, told apart by components.
fn leaves(e: &Expr) -> Vec<(Path, Expr)> {
    match e.ty() {
        ty if !ty.is_differentiable() => Vec::new(),
        Type::Tuple(parts) => {
            let below = |k| {
                let inner = leaves(&Expr::get(k, e.clone()));
                inner.into_iter().map(move |(path, w)| ([&[k], &path[..]].concat(), w))
            };
            (1..=parts.len()).flat_map(below).collect()
        }
        _ => vec![(Vec::new(), e.clone())],
    }
}

/// Returns a tangent of the whole that is zero except at the part at a path.
fn embedded(whole: &Expr, path: &[usize], e: Expr) -> Expr {
    let Some((k, rest)) = path.split_first() else { return e };
    let n = whole.ty().as_tuple().expect("a path leads through tuples").len();
    let component = |i| {
        let part = Expr::get(i, whole.clone());
        match i == *k {
            true => embedded(&part, rest, e.clone()),
            false => Expr::prim(Prim::ZeroOf, [Expr::witness(&part)]),
        }
    };
    Expr::tuple((1..=n).map(component).collect::<Vec<_>>())
}

/// Returns the number of scalars in values of a type, if the type fixes it.
fn count(ty: &Type) -> Option<i64> {
    match ty {
        Type::Float => Some(1),
        ty if !ty.is_differentiable() => Some(0),
        Type::Tuple(parts) => parts.iter().map(count).sum(),
        _ => None,
    }
}

/// Returns the number of scalars in a value, from its shape.
fn scalars(ty: &Type, shape: &Expr, supply: &mut Supply) -> Expr {
    if let Some(n) = count(ty) {
        return Expr::integer(n);
    }
    match ty {
        Type::Tuple(parts) => {
            let parts = parts.iter().enumerate();
            let counts = parts.map(|(k, ty)| scalars(ty, &Expr::get(k + 1, shape.clone()), supply));
            counts.reduce(|a, b| Expr::prim(Prim::Add, [a, b])).expect("a tuple that varies has components")
        }
        Type::Tensor(rank, element) => match count(element) {
            Some(n) if element.has_fixed_shape() => {
                let axes = along_axes(shape, *rank).into_iter();
                let factors = (n != 1).then(|| Expr::integer(n)).into_iter().chain(axes);
                factors.reduce(|a, b| Expr::prim(Prim::Mul, [a, b])).expect("a tensor has an axis")
            }
            _ => {
                let i = supply.fresh("i", Type::index(*rank));
                let inner = scalars(element, &index(Expr::var(&i), shape.clone()), supply);
                Expr::prim(Prim::SumBuild, [size(shape), Expr::lam(i, inner)])
            }
        },
        _ => panic!("{ty} does not vary"),
    }
}

fn call_with(f: &Fun, params: &[Var]) -> Expr {
    Expr::app(Op::Call(Arc::new(f.clone())), params.iter().map(Expr::var).collect())
}
