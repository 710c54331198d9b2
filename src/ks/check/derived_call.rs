//! Calls of derivatives: `([fwd f] s ds)`, `([D f] x)`, `([rev sin] x dr)`.
//!
//! The arguments choose the function: their type gives the argument type of f. A derivative of a
//! built-in, unless written by hand, is that of a definition that calls it; the Jacobian of a primitive
//! is a term of its own.

use crate::derive::typing;
use crate::ks::check::builtins::{builtin_arguments, builtin_function};
use crate::ks::check::checker::Checker;
use crate::ks::check::terms::{apply, argument_type, types};
use crate::ks::check::{builtins, error};
use lm::prim::Prim;
use lm::term::{Def, Derivative, Expr, Fun, FunName, Op, Span, Var};
use lm::types::Type;
use std::sync::Arc;

impl Checker {
    /// Returns a call of a derivative: of the function that its arguments choose.
    pub(super) fn derived_call(&mut self, name: &FunName, args: Vec<Expr>, span: Span) -> Option<Expr> {
        if !self.is_function(&name.base) {
            return self.orphan_call(name, args, span);
        }
        if self.is_second_order(name) {
            return self.fail(error::derivative_of_second_order(&name.base), span);
        }
        let argument = argument_type(&types(&args));
        let reported = self.errors.len();
        let chosen = self.differentiated(name, &argument, span);
        let Some((base, fun)) = chosen else {
            // A function without a record has an error, here or in its own definition.
            let is_of_unknown = |f: (&FunName, &Option<Type>)| f.0.base == name.base && f.1.is_none();
            let is_reported = self.errors.len() > reported || self.records.iter().any(is_of_unknown);
            let base = typing::base_argument(&name.derivations, &argument).and_then(|s| self.base_function(name, &s));
            if let Some(base) = base.filter(|_| !is_reported) {
                self.has_gradient(name, &base, span)?;
            }
            return if is_reported { None } else { self.wrong_arguments(name, &args, span) };
        };
        let is_builtin = self.functions.select(&base.name.base, &base.argument()).is_none();
        if is_builtin && self.functions.derivative(&fun.name).is_some() {
            self.defined_builtin(&base, span)?;
        } else if is_builtin {
            let is_jacobian = matches!(name.derivations[0], Derivative::D | Derivative::Dt);
            let fits = is_jacobian && builtins::select(&name.base, &types(&args)).is_some();
            let base = if fits { Fun { params: types(&args), ..base } } else { base };
            return self.builtin_derivative(name, &base, args, span);
        }
        Some(self.call_derivative(name, &base, fun, args, span))
    }

    /// Reports a gradient of a function that has none.
    pub(super) fn has_gradient(&mut self, name: &FunName, base: &Fun, span: Span) -> Option<()> {
        let mut record = |f: &Fun| self.records.get(&f.name).cloned().flatten();
        match typing::without_gradient(&name.derivations, base, &mut record) {
            Some(f) => {
                let (name, of, result) = (name.to_string(), f.name.to_string(), f.result);
                self.fail(error::no_gradient(name, of, &result), span)
            }
            None => Some(()),
        }
    }

    fn call_derivative(&mut self, name: &FunName, base: &Fun, fun: Fun, args: Vec<Expr>, span: Span) -> Expr {
        let params = fun.params.clone();
        let inner = name.derivations.get(1..).unwrap_or_default();
        let op = if name.derivations[0] == Derivative::D {
            let mut record = |f: &Fun| self.record(f, span);
            let inner = typing::derive_all(inner, base, &mut record);
            Op::JacobianOfFun(Arc::new(inner.expect("its Jacobian has a type")))
        } else {
            Op::Call(Arc::new(fun))
        };
        self.fit(args, &params, span, |args| apply(op, args, span))
    }

    /// Returns the function that a call of a derivative is about, and the derivative; `None` where none fits.
    fn differentiated(&mut self, name: &FunName, argument: &Type, span: Span) -> Option<(Fun, Fun)> {
        let candidates = match typing::base_argument(&name.derivations, argument) {
            Some(s) => self.base_function(name, &s).into_iter().collect(),
            None if name.derivations.iter().any(Derivative::is_half) => self.named(name),
            None => Vec::new(),
        };
        candidates.into_iter().find_map(|base| {
            let mut record = |f: &Fun| self.record(f, span);
            let fun = typing::derive_all(&name.derivations, &base, &mut record)?;
            let fun = typing::at_any_space(fun, argument);
            (fun.argument() == *argument).then_some((base, fun))
        })
    }

    /// Returns the functions of that name, derivations apart.
    fn named(&self, name: &FunName) -> Vec<Fun> {
        let overloads = self.functions.overloads(&name.base).iter().map(|e| (*e.fun).clone());
        let fits = |fun: &Fun| name.overload.as_ref().is_none_or(|ty| *ty == fun.argument());
        let builtins = builtin_arguments(name).into_iter().filter_map(|ty| builtin_function(&name.base, &ty));
        overloads.filter(fits).chain(builtins).collect()
    }

    /// Returns `($jacobian_at f r s t)`, as it is printed: the Jacobian of f at a recorded point.
    pub(super) fn jacobian_at(&mut self, name: &FunName, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let at = self.named(name).into_iter().find_map(|base| {
            let mut record = |f: &Fun| self.record(f, span);
            let fun = typing::derive_all(&name.derivations, &base, &mut record)?;
            Expr::try_app(Op::JacobianAt(Arc::new(fun)), args.clone(), span)
        });
        if at.is_some() { at } else { self.wrong_arguments(name, &args, span) }
    }

    /// Returns a call of a derivative whose type is known only from its definition.
    fn orphan_call(&mut self, name: &FunName, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let argument = argument_type(&types(&args));
        let fits =
            |fun: &Fun| fun.argument() == argument && (name.overload.is_none() || name.overload == fun.name.overload);
        let found = self.functions.derivatives(&name.derivations, &name.base).find(|e| fits(&e.fun));
        match found.map(|e| e.fun.clone()) {
            Some(fun) => {
                let params = fun.params.clone();
                Some(self.fit(args, &params, span, |args| apply(Op::Call(fun), args, span)))
            }
            None => self.wrong_arguments(name, &args, span),
        }
    }

    /// Returns `[D p]` and `[Dt p]` of a primitive, which are its Jacobian unless a derivative of it is written by hand;
    /// other derivatives of built-ins as those of functions that call them.
    fn builtin_derivative(&mut self, name: &FunName, base: &Fun, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let row = builtins::select(&base.name.base, &base.params).expect("the base was found among the built-ins");
        let is_given = self.functions.has_derivative(&base.name.base, &base.argument());
        let primitive = row.primitive(&base.params).filter(|_| !is_given);
        let body = match (name.derivations.as_slice(), primitive) {
            ([Derivative::D], Some(prim)) => self.jacobian(prim, base, args, span),
            ([Derivative::Dt], Some(prim)) => {
                let jacobian = self.jacobian(prim, base, args, span);
                apply(Op::Prim(Prim::LmTranspose), vec![jacobian], span)
            }
            _ => {
                let base = self.defined_builtin(base, span)?;
                let mut record = |f: &Fun| self.record(f, span);
                let fun = typing::derive_all(&name.derivations, &base, &mut record)?;
                self.call_derivative(name, &base, fun, args, span)
            }
        };
        Some(body)
    }

    /// Returns `(def [p S] T ((x : S) ..) (p x ..))`, a definition that derivatives can be made from.
    pub(super) fn defined_builtin(&mut self, base: &Fun, span: Span) -> Option<Fun> {
        let name = FunName { overload: Some(base.argument()), ..FunName::base(&base.name.base) };
        let fun = Fun { name: name.clone(), ..base.clone() };
        if !self.checked.prelude.contains_key(&name) {
            let params: Vec<Var> = base.params.iter().map(|ty| self.supply.fresh("x", ty.clone())).collect();
            let row = builtins::select(&base.name.base, &base.params).expect("the base was found among the built-ins");
            let body = self.body_of(row, params.iter().map(|x| Expr::var(x).at(span)).collect(), span)?;
            self.checked.prelude.insert(name.clone(), Def { fun: Arc::new(fun.clone()), params, body });
        }
        Some(fun)
    }

    fn jacobian(&mut self, prim: Prim, base: &Fun, args: Vec<Expr>, span: Span) -> Expr {
        self.fit(args, &base.params, span, |args| apply(Op::JacobianOf(prim), args, span))
    }
}
