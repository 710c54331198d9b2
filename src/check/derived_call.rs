//! Calls of derivatives: `([fwd f] s ds)`, `([D f] x)`, `([rev sin] x dr)`.
//!
//! The arguments choose the function: their type gives the argument type of f. A derivative of a
//! built-in that nobody wrote by hand becomes the application of the primitive's Jacobian.

use crate::check::call::{apply, types};
use crate::check::signatures::{argument_type, derivations};
use crate::check::{CheckError, Checker, builtins, derived};
use lm::prim::Prim;
use lm::term::{Expr, Fun, FunName, Op, Span};
use std::sync::Arc;

impl Checker {
    /// A call of a derivative: of the function that its arguments choose.
    pub(super) fn derived_call(&mut self, name: &FunName, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let is_written = self.functions.derivatives(&name.derivations, &name.base).next().is_some();
        if let Some(derivation) = derived::unsupported(derivations(name)).filter(|_| !is_written) {
            return self.fail(CheckError::NotSupported(format!("the derivation `{derivation}` is")), span);
        }
        let is_orphan = !self.is_function(&name.base) || derived::unsupported(derivations(name)).is_some();
        if is_orphan {
            return self.orphan_call(name, args, span);
        }
        if self.is_second_order(name) {
            return self.fail(CheckError::DerivativeOfSecondOrder(name.base.to_string()), span);
        }
        let argument = argument_type(&types(&args));
        let base = derived::base_argument(derivations(name), &argument).and_then(|s| self.base_function(name, &s));
        let fun = base.as_ref().and_then(|base| derived::derive_all(derivations(name), base));
        let (Some(base), Some(fun)) = (base, fun.filter(|fun| fun.argument() == argument)) else {
            return self.wrong_arguments(name, &args, span);
        };
        let is_builtin = self.functions.select(&base.name.base, &base.argument()).is_none();
        if is_builtin && self.functions.derivative(&fun.name).is_none() {
            let is_jacobian = matches!(&*name.derivations[0], "D" | "Dt");
            let fits = is_jacobian && builtins::select(&name.base, &types(&args)).is_some();
            let base = if fits { Fun { params: types(&args), ..base } } else { base };
            return self.builtin_derivative(name, &base, args, span);
        }
        let params = fun.params.clone();
        let op = match (is_builtin, &*name.derivations[0]) {
            (false, "D") => {
                let inner = derived::derive_all(name.derivations[1..].iter().map(|d| &**d), &base)?;
                Op::JacobianOfFun(Arc::new(inner))
            }
            _ => Op::Call(Arc::new(fun)),
        };
        Some(self.fit(args, &params, span, |args| apply(op, args, span)))
    }

    /// A call of a derivative whose type is known only from its definition.
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

    /// `[D p]`, `[Dt p]`, `[fwd p]`, `[rev p]` of a primitive, by its Jacobian.
    fn builtin_derivative(&mut self, name: &FunName, base: &Fun, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let row = builtins::select(&base.name.base, &base.params).expect("the base was found among the built-ins");
        let derivation = match name.derivations.as_slice() {
            [only] => &**only,
            _ => "",
        };
        let body = match (derivation, row.primitive(&base.params)) {
            ("D", Some(prim)) => self.jacobian(prim, base, args, span),
            ("Dt", Some(prim)) => {
                let jacobian = self.jacobian(prim, base, args, span);
                apply(Op::Prim(Prim::LmTranspose), vec![jacobian], span)
            }
            ("fwd" | "rev", Some(prim)) => self.apply_jacobian(derivation, prim, base, args, span),
            _ => return self.fail(CheckError::NotSupported(format!("the derivative `{name}` of a built-in is")), span),
        };
        Some(body)
    }

    fn jacobian(&mut self, prim: Prim, base: &Fun, args: Vec<Expr>, span: Span) -> Expr {
        self.fit(args, &base.params, span, |args| apply(Op::JacobianOf(prim), args, span))
    }

    /// The Jacobian applied to a tangent, or to a cotangent: the second part of the argument.
    fn apply_jacobian(&mut self, derivation: &str, prim: Prim, base: &Fun, args: Vec<Expr>, span: Span) -> Expr {
        let (bindings, mut args) = self.take_apart(args, 2, span);
        let vector = args.pop().expect("the argument of such a derivative is a pair");
        let jacobian = self.jacobian(prim, base, args, span);
        let applied = match derivation {
            "fwd" => apply(Op::Prim(Prim::LmApply), vec![jacobian, vector], span),
            _ => apply(Op::Prim(Prim::LmApplyR), vec![vector, jacobian], span),
        };
        Expr::block(bindings, applied)
    }
}
