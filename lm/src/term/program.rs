//! Programs: definitions, and the rules that rewrite them.

use super::{Derivative, Expr, Fun, FunName, Path, Span, Supply, Var};
use crate::sizes::Signature;
use std::sync::Arc;

impl Fun {
    /// Returns the parts of arguments that vary.
    pub fn varying_of(&self, args: &[Expr]) -> Expr {
        let part = |path: &Path| path[1..].iter().fold(args[path[0] - 1].clone(), |e, i| Expr::get(*i, e));
        let parts: Vec<Expr> = match self.name.varying() {
            None => args.to_vec(),
            Some(paths) => paths.iter().map(part).collect(),
        };
        if let [one] = parts.as_slice() { one.clone() } else { Expr::tuple(parts) }
    }
}

/// A top-level function with its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Def {
    /// Name and types.
    pub fun: Arc<Fun>,
    /// One variable per parameter.
    pub params: Vec<Var>,
    /// The body; its free variables are the parameters.
    pub body: Expr,
}

impl Def {
    /// Returns a definition. Panics when the body's type is not the function's result type.
    pub fn new(name: FunName, params: Vec<Var>, body: Expr) -> Def {
        let types = params.iter().map(|p| p.ty().clone()).collect();
        let fun = Fun { name, params: types, result: body.ty().clone() };
        Def { fun: Arc::new(fun), params, body }
    }
}

/// `template = replacement`, for all values of the parameters: the optimiser may apply it from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The name that diagnostics give it.
    pub name: Arc<str>,
    /// The parameters: each matches any term of its type. The template mentions each.
    pub params: Vec<Var>,
    /// The parameters that are functions, which the sides call. The template applies each to a variable that it binds.
    pub functions: Vec<Arc<Fun>>,
    /// The pattern to replace.
    pub template: Expr,
    /// The replacement, of the same type.
    pub replacement: Expr,
    /// The place of the name.
    pub span: Span,
}

impl Rule {
    /// Returns the rule as a function that gives both sides.
    pub fn as_def(&self) -> Def {
        let sides = Expr::tuple([self.template.clone(), self.replacement.clone()]);
        Def::new(FunName::base(&self.name), self.params.clone(), sides)
    }
}

/// A checked program: definitions in source order, by name.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The definitions.
    pub defs: indexmap::IndexMap<FunName, Def>,
    /// Functions that are implemented elsewhere, in source order.
    pub externals: indexmap::IndexMap<FunName, Arc<Fun>>,
    /// The derivatives among the definitions that were written by hand; derivations made the others.
    pub by_hand: indexmap::IndexSet<FunName>,
    /// The rewrite rules that it gives, in source order.
    pub rules: Vec<Rule>,
    /// The sizes that definitions say.
    pub sizes: indexmap::IndexMap<FunName, Arc<Signature>>,
    /// The supply of fresh variables for passes that rewrite the program.
    pub supply: Supply,
}

impl Program {
    /// Returns whether there is a function of that name, here or elsewhere.
    pub fn has(&self, name: &FunName) -> bool {
        self.defs.contains_key(name) || self.externals.contains_key(name)
    }

    /// Returns what a definition says of the sizes of a function: its own, or that which it is a derivative of.
    pub fn signature(&self, fun: &Fun) -> Option<Signature> {
        self.signature_from(0, fun)
    }

    /// Returns what a derivative has by the sizes of what it is a derivative of, whatever it says itself.
    pub fn signature_of_derivative(&self, fun: &Fun) -> Option<Signature> {
        self.signature_from(1, fun)
    }

    /// Returns the name of the definition that says the sizes of a function.
    pub fn definition_of_sizes(&self, name: &FunName) -> Option<FunName> {
        (0..=name.derivations.len()).map(|n| name.without_derivatives(n)).find(|name| self.sizes.contains_key(name))
    }

    fn signature_from(&self, first: usize, fun: &Fun) -> Option<Signature> {
        let derivatives = &fun.name.derivations;
        (first..=derivatives.len()).filter(|_| !self.sizes.is_empty()).find_map(|n| {
            let signature = self.sizes.get(&fun.name.without_derivatives(n))?;
            signature.derived(&derivatives[..n], fun)
        })
    }

    /// Returns whether a derivation made the text of a definition. `[CL f]` is f in another notation: it is derived where f
    /// is.
    pub fn is_derived(&self, name: &FunName) -> bool {
        name.derivations.iter().any(|derivation| *derivation != Derivative::Cl) && !self.by_hand.contains(name)
    }
}
