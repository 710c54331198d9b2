//! Built-ins that are written in the language, on arguments of any type: `arrays.ks`.
//!
//!   (map f v)  =  (build (size v) (lam (k : i) (f (index k v))))
//!
//! A call is replaced by the body: type variables by types, parameters by variables that are bound to
//! the arguments, and a call of a parameter that is a function by the function's body,
//!
//!   (f e)  =  (let (x e) body)      for f = (lam (x : T) body).
//!
//! The whole stands where the call stands, so that a run-time error is one of the call.

use crate::ks::check::builtins::Builtin;
use crate::ks::check::call::types;
use crate::ks::check::names::symbol;
use crate::ks::check::scope::Meaning;
use crate::ks::check::{Checker, error};
use crate::ks::reader::{Sexp, Shape, read};
use lm::scheme::Named;
use lm::term::{Binding, Expr, Kind, Pattern, Span};
use lm::types::Type;
use std::sync::{Arc, LazyLock};

/// A built-in as it is written.
#[derive(Debug)]
pub struct Definition {
    /// The name.
    pub name: Arc<str>,
    /// The typing, in the notation of [`lm::scheme`].
    pub typing: String,
    params: Vec<Arc<str>>,
    body: Sexp,
}

/// All of them.
pub static DEFINITIONS: LazyLock<Vec<Definition>> =
    LazyLock::new(|| read(include_str!("../arrays.ks")).forms.iter().map(definition).collect());

/// Reads `(def name T ((x : T1) ...) body)`. Panics when it is another form: the text is our own.
fn definition(form: &Sexp) -> Definition {
    let [_, name, result, params, body] = list(form) else { panic!("arrays.ks: malformed definition {form:?}") };
    let params = list(params);
    let params = if params.first().is_some_and(|p| symbol(p).is_some()) {
        vec![params]
    } else {
        params.iter().map(list).collect()
    };
    let typing = params.iter().map(|p| type_text(&p[2..])).chain(["->".into(), text(result)]);
    let typing = typing.collect::<Vec<_>>().join(" ");
    let named = |s: &Sexp| symbol(s).unwrap_or_else(|| panic!("arrays.ks: {s:?} is no name")).clone();
    Definition { name: named(name), typing, params: params.iter().map(|p| named(&p[0])).collect(), body: body.clone() }
}

fn list(s: &Sexp) -> &[Sexp] {
    match &s.shape {
        Shape::List(items) => items,
        _ => panic!("arrays.ks: {s:?} is no list"),
    }
}

fn type_text(items: &[Sexp]) -> String {
    match items {
        [one] => text(one),
        several => format!("({})", several.iter().map(text).collect::<Vec<_>>().join(" ")),
    }
}

fn text(s: &Sexp) -> String {
    symbol(s).map_or_else(
        || format!("({})", list(s).iter().map(text).collect::<Vec<_>>().join(" ")),
        |name| name.to_string(),
    )
}

/// The copy of a body that stands at a call.
fn placed(s: &Sexp, span: Span) -> Sexp {
    let shape = match &s.shape {
        Shape::List(items) => Shape::List(items.iter().map(|item| placed(item, span)).collect()),
        shape => shape.clone(),
    };
    Sexp { shape, span }
}

/// What the type variables of a definition stand for while its body is checked.
#[derive(Debug)]
pub struct Expansion {
    types: Named,
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
        let outer = self.expansion.replace(Expansion { types: bound });
        let body = self.expr(&placed(&definition.body, span));
        self.expansion = outer;
        self.scope = outer_scope;
        let body = body?;
        assert_eq!(*body.ty(), result, "arrays.ks: the body of `{}`", definition.name);
        Some(Expr::block(bindings, body).at(span))
    }

    /// The type that a name stands for in the definition that is expanded.
    pub(super) fn type_variable(&self, name: &str) -> Option<Type> {
        let types = &self.expansion.as_ref()?.types;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_read() {
        let map = DEFINITIONS.iter().find(|g| &*g.name == "map").expect("map is there");
        assert_eq!(map.typing, "(Lam s t) (Tensor i s) -> (Tensor i t)");
        assert_eq!(map.params.len(), 2);
        assert!(DEFINITIONS.iter().all(|g| lm::scheme::Rule::parse(&g.typing).at_arity(g.params.len()).is_some()));
    }
}
