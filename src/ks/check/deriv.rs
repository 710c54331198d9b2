//! `(deriv e x)`: the value of a term, and its derivatives along the directions of a variable, as dual numbers.
//!
//! ```text
//! (deriv e x) = ([dual [wrt$k f]] y1 .. (tuple x 1.0) .. yn)                                       x : Float
//! (deriv e x) = let { y = (f y1 .. yn); c = ([jacfwd [wrt$k f]] y1 .. yn) } build(size(x), λj. at(y, c, j))
//!
//! f = λ(y1, .., yn). e          y1 .. yn: the free variables of e and x; x is the k-th
//!
//! at(y, c, j) = (y, c[j])       y : Float          at((y1, ..), (c1, ..), j) = (at(y1, c1, j), ..)
//! at(y, c, j) = build(size(y), λi. (y[i], c[i, j]))                 y : (Tensor p Float)
//! at(y, c, j) = build(size(y), λi. at(y[i], c[i], j))               y : (Tensor p T)
//! at(y, (), j) = y                                                  y of a type that cannot vary
//! ```
//!
//! So `(deriv e x)` is `build(size(x), λj. [dual [wrt$k f]](y1, .., zip(x, $delta_at(x, j, 1.0)), .., yn))`, but the value is
//! computed once, and the laws of arrays apply to what is left. The other variables are arguments, so derivatives within
//! e are along directions of their own.
//!
//! Source: Fig. 5 of *Efficient differentiable programming in a functional array-processing language* (ICFP 2019).

use crate::derive::typing;
use crate::ks::check::arrays::{element, get, size};
use crate::ks::check::checker::Checker;
use crate::ks::check::copies::Copy;
use crate::ks::check::error;
use crate::ks::check::terms::apply;
use crate::ks::reader::Sexp;
use lm::alpha;
use lm::scope::{free_variables, substitute};
use lm::term::{Def, Derivative, Expr, Fun, FunName, Op, Span, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The name of the form.
const DERIV: &str = "deriv";

/// A term as a function of its variables.
struct Lifted {
    fun: Arc<Fun>,
    args: Vec<Expr>,
    /// The number of the parameter that varies, from 1.
    varying: usize,
}

impl Checker {
    /// Returns whether `deriv` is the form, and not a function of the program.
    pub(super) fn means_deriv(&self) -> bool {
        let is_own = !self.functions.overloads(DERIV).is_empty() || self.functions.is_broken(DERIV);
        self.expansion.is_some() || !is_own
    }

    /// Checks `(deriv e x)`.
    pub(super) fn deriv(&mut self, args: &[Sexp], span: Span) -> Option<Expr> {
        let [e, x] = args else { return self.malformed("`deriv`", "(deriv e x)", span) };
        let (e, x) = (self.expr(e), self.independent(x));
        let (e, x) = (e?, x?);
        let f = self.lifted(e, &x, span)?;
        match x.ty() {
            Type::Float => self.along_number(f, &x, span),
            _ => self.along_tensor(&f, &x, span),
        }
    }

    /// Returns the variable to differentiate by.
    fn independent(&mut self, s: &Sexp) -> Option<Var> {
        let e = self.expr(s)?;
        let Some(x) = e.as_var() else { return self.fail(error::no_variable(), s.span) };
        let is_tensor = matches!(x.ty(), Type::Tensor(_, element) if **element == Type::Float);
        if *x.ty() != Type::Float && !is_tensor {
            return self.fail(error::no_directions(x.name(), x.ty()), s.span);
        }
        Some(x.clone())
    }

    /// Makes a function of a term. Equal terms share one.
    fn lifted(&mut self, e: Expr, x: &Var, span: Span) -> Option<Lifted> {
        let mut used = free_variables(&e);
        if !used.contains(x) {
            used.push(x.clone());
        }
        if let Some(m) = used.iter().find(|x| x.ty().mentions_lm()) {
            return self.fail(error::deriv_with_map(m.name()), span);
        }
        if e.ty().mentions_lm() {
            return self.fail(error::deriv_of_map(e.ty()), span);
        }
        let params: Vec<Var> = used.iter().map(|y| self.supply.fresh(y.name(), y.ty().clone())).collect();
        let by: FxHashMap<u32, Expr> = used.iter().map(Var::id).zip(params.iter().map(Expr::var)).collect();
        let made_for = Def::new(FunName::base(DERIV), params.clone(), substitute(&e, &by));
        let varying = used.iter().position(|y| y == x).expect("x is among them") + 1;
        let args = used.iter().map(|y| Expr::var(y).at(span)).collect();
        Some(Lifted { fun: self.copy_of_term(made_for), args, varying })
    }

    fn copy_of_term(&mut self, made_for: Def) -> Arc<Fun> {
        if let Some(copy) = self.copies.all.iter().find(|copy| alpha::defs(&copy.made_for, &made_for)) {
            return copy.fun.clone();
        }
        let fun = Arc::new(Fun { name: self.name_of_copy(DERIV), ..(*made_for.fun).clone() });
        let def = Def { fun: fun.clone(), ..made_for.clone() };
        self.copies.all.push(Copy { made_for, fun: fun.clone(), def: Some(def) });
        fun
    }

    fn along_number(&mut self, f: Lifted, x: &Var, span: Span) -> Option<Expr> {
        let dual = f.derived(Derivative::Dual)?;
        let mut args = f.args;
        args[f.varying - 1] = apply(Op::Tuple, vec![Expr::var(x).at(span), Expr::float(1.0)], span);
        Some(apply(Op::Call(Arc::new(dual)), args, span))
    }

    fn along_tensor(&mut self, f: &Lifted, x: &Var, span: Span) -> Option<Expr> {
        let columns = f.derived(Derivative::JacFwd)?;
        let calls = [f.fun.clone(), Arc::new(columns)].map(|g| apply(Op::Call(g), f.args.clone(), span));
        let (bindings, named) = self.names_of(calls.to_vec());
        let [y, c] = named.as_slice() else { panic!("checker: two names for two terms") };
        let bounds = size(&Expr::var(x), span);
        let built = self.over(x.ty(), bounds, span, |cx, j| cx.duals_at(y, c, &j, span));
        Some(Expr::block(bindings, built))
    }

    /// Returns a value with its tangents along one direction, from those along all directions.
    fn duals_at(&mut self, y: &Expr, c: &Expr, j: &Expr, span: Span) -> Expr {
        let pair = |y: Expr, dy: Expr| apply(Op::Tuple, vec![y, dy], span);
        match y.ty().clone() {
            ty if !ty.is_differentiable() => y.clone(),
            Type::Tuple(parts) => {
                let n = parts.len();
                let part = |k| self.duals_at(&get(k, n, y, span), &get(k, n, c, span), j, span);
                apply(Op::Tuple, (1..=n).map(part).collect(), span)
            }
            ty @ Type::Tensor(..) => self.over(&ty, size(y, span), span, |cx, i| {
                let yi = element(&i, y, span);
                match yi.ty() {
                    Type::Float => pair(yi, element(&both(&i, j, span), c, span)),
                    _ => {
                        let (bindings, named) = cx.names_of(vec![yi, element(&i, c, span)]);
                        let [yi, ci] = named.as_slice() else { panic!("checker: two names for two terms") };
                        Expr::block(bindings, cx.duals_at(yi, ci, j, span))
                    }
                }
            }),
            _ => pair(y.clone(), element(j, c, span)),
        }
    }
}

impl Lifted {
    /// Returns a derivative with respect to the variable.
    fn derived(&self, derivative: Derivative) -> Option<Fun> {
        let name = match self.args.len() {
            1 => self.fun.name.clone(),
            _ => self.fun.name.restricted(&[vec![self.varying]]),
        };
        typing::derive(&derivative, &Fun { name, ..(*self.fun).clone() }, &mut |_| None)
    }
}

/// Returns the index of a tensor of tensors, as one tensor of both ranks has it.
fn both(i: &Expr, j: &Expr, span: Span) -> Expr {
    let axes = [i, j].into_iter().flat_map(|i| match i.ty().as_tuple() {
        Some(axes) => (1..=axes.len()).map(|k| get(k, axes.len(), i, span)).collect(),
        None => vec![i.clone()],
    });
    apply(Op::Tuple, axes.collect(), span)
}
