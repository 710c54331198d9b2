//! Built-ins that are written in the language, on arguments of any type: `arrays.ks`, `linalg.ks`.
//!
//! ```text
//! (map f v)  =  (build (size v) (lam (k : i) (f (index k v))))
//! ```
//!
//! A call is replaced by the body: type variables by types, parameters by variables that are bound to
//! the arguments, and a call of a parameter that is a function by the function's body,
//!
//! ```text
//! (f e)  =  (let (x e) body)      for f = (lam (x : T) body).
//! ```
//!
//! The expansion takes the place of the call, so that a run-time error is reported at the call.

use crate::ks::check::builtins::Builtin;
use crate::ks::check::checker::Checker;
use crate::ks::check::error;
use crate::ks::check::scope::Meaning;
use crate::ks::check::shapes::is_shape_of;
use crate::ks::check::terms::{types, with_argument};
use crate::ks::check::written::{DEFINITIONS, Definition};
use crate::ks::reader::{Sexp, Shape};
use lm::scheme::Named;
use lm::term::{Expr, Kind, Span, Var};
use lm::types::Type;

/// Returns a copy of a body, with the place of a call.
fn copy_at(s: &Sexp, span: Span) -> Sexp {
    let shape = match &s.shape {
        Shape::List(items) => Shape::List(items.iter().map(|item| copy_at(item, span)).collect()),
        shape => shape.clone(),
    };
    Sexp { shape, span }
}

impl Checker {
    /// Returns the body of a definition in place of a call that its typing admits.
    pub(super) fn expand(&mut self, row: &Builtin, number: usize, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let instance = row.instance(&types(&args)).expect("the row was chosen for these arguments");
        self.body_at(&DEFINITIONS[number], instance, args, span)
    }

    /// Returns the body of a definition at some types, in place of a call.
    pub(super) fn body_at(
        &mut self,
        definition: &Definition,
        (bound, result): (Named, Type),
        args: Vec<Expr>,
        span: Span,
    ) -> Option<Expr> {
        let outer_scope = std::mem::take(&mut self.scope);
        let mut bindings = Vec::new();
        for (name, arg) in definition.params.iter().zip(args) {
            if let Kind::Lam(..) = arg.kind() {
                self.scope.bind(name, Meaning::Function(arg));
            } else {
                let x = self.bind(name, Some(arg.ty().clone()))?;
                bindings.push((x, arg));
            }
        }
        let outer = self.expansion.replace(bound);
        let body = self.expr(&copy_at(&definition.body, span));
        self.expansion = outer;
        self.scope = outer_scope;
        let body = body?;
        assert_eq!(*body.ty(), result, "the body of `{}`", definition.name);
        let with_arguments = |body: Expr, (x, arg): (Var, Expr)| with_argument(&x, arg, &body);
        Some(bindings.into_iter().rev().fold(body, with_arguments).at(span))
    }

    /// Returns the type of a type variable of the definition that is being expanded.
    pub(super) fn type_variable(&self, name: &str) -> Option<Type> {
        let types = self.expansion.as_ref()?;
        types.iter().find(|(variable, _)| **variable == *name).map(|(_, ty)| ty.clone())
    }

    /// Checks `($zero x)`, the zero of x's type and shape; `($zeros T shape)`, that of a type and a shape;
    /// `($difference y x)`, the tangent from x to y.
    pub(super) fn vector_form(&mut self, word: &str, args: &[Sexp], span: Span) -> Option<Expr> {
        match (word, args) {
            ("$zero", [x]) => {
                let x = self.expr(x)?;
                self.zero_like(x, span)
            }
            ("$difference", [y, x]) => {
                let (y, x) = (self.expr(y)?, self.expr(x)?);
                Some(self.difference(y, x, span))
            }
            ("$zeros", [ty, shape]) => {
                let (ty, shape) = (self.ty(ty)?, self.expr(shape)?);
                if !is_shape_of(&ty, shape.ty()) {
                    let found = shape.ty().clone();
                    return self.fail(error::wrong_shape(&ty, &found), span);
                }
                let shape = self.shorter_shape(&ty, shape, span);
                self.zeros(&ty, shape, span)
            }
            _ => panic!("arrays.ks: malformed `{word}`"),
        }
    }
}
