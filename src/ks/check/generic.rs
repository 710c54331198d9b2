//! Built-ins that are written in the language, on arguments of any type: `arrays.ks`.
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
//! The whole stands where the call stands, so that a run-time error is one of the call.

use crate::ks::check::builtins::Builtin;
use crate::ks::check::checker::Checker;
use crate::ks::check::error;
use crate::ks::check::scope::Meaning;
use crate::ks::check::terms::types;
use crate::ks::check::written::DEFINITIONS;
use crate::ks::reader::{Sexp, Shape};
use lm::term::{Binding, Expr, Kind, Pattern, Span};
use lm::types::Type;

/// The copy of a body that stands at a call.
fn placed(s: &Sexp, span: Span) -> Sexp {
    let shape = match &s.shape {
        Shape::List(items) => Shape::List(items.iter().map(|item| placed(item, span)).collect()),
        shape => shape.clone(),
    };
    Sexp { shape, span }
}

impl Checker {
    /// The body of a definition in place of a call that its typing admits.
    pub(super) fn expand(&mut self, row: &Builtin, number: usize, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let definition = &DEFINITIONS[number];
        let (bound, result) = row.instance(&types(&args)).expect("the row was chosen for these arguments");
        let outer_scope = std::mem::take(&mut self.scope);
        let mut bindings = Vec::new();
        for (name, arg) in definition.params.iter().zip(args) {
            if let Kind::Lam(..) = arg.kind() {
                self.scope.bind(name, Meaning::Function(arg));
            } else {
                let x = self.bind(name, Some(arg.ty().clone()))?;
                bindings.push(Binding { pattern: Pattern::Var(x), rhs: arg });
            }
        }
        let outer = self.expansion.replace(bound);
        let body = self.expr(&placed(&definition.body, span));
        self.expansion = outer;
        self.scope = outer_scope;
        let body = body?;
        assert_eq!(*body.ty(), result, "arrays.ks: the body of `{}`", definition.name);
        Some(Expr::block(bindings, body).at(span))
    }

    /// The type that a name stands for in the definition that is expanded.
    pub(super) fn type_variable(&self, name: &str) -> Option<Type> {
        let types = self.expansion.as_ref()?;
        types.iter().find(|(variable, _)| **variable == *name).map(|(_, ty)| ty.clone())
    }

    /// `($zero x)`, the zero of x's type and shape; `($zeros T shape)`, that of a type and a shape;
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
                if ty.shape() != *shape.ty() {
                    let found = shape.ty().clone();
                    return self.fail(error::wrong_shape(&ty, &found), span);
                }
                self.zeros(&ty, shape, span)
            }
            _ => panic!("arrays.ks: malformed `{word}`"),
        }
    }
}
