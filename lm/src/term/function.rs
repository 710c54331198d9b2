//! Top-level functions: names, definitions, programs.

use super::{Expr, Span, Supply, Var};
use crate::types::Type;
use std::fmt;
use std::sync::Arc;

/// The name of a top-level function: derivations, outermost first, then the base name, then the
/// argument type where the base name is overloaded.
///
/// Shown as `f`, `[f T]`, `[fwd f]`, `[fwd [rev [f T]]]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunName {
    /// Such as `fwd`, `rev`; empty for a function as written.
    pub derivations: Vec<Arc<str>>,
    /// The name in the source.
    pub base: Arc<str>,
    /// The argument type, when several functions share the base name.
    pub overload: Option<Type>,
}

impl FunName {
    /// A function as written, not overloaded.
    pub fn base(name: &str) -> FunName {
        FunName { derivations: Vec::new(), base: name.into(), overload: None }
    }

    /// `[derivation self]`.
    pub fn derived(&self, derivation: &str) -> FunName {
        let mut name = self.clone();
        name.derivations.insert(0, derivation.into());
        name
    }
}

impl fmt::Display for FunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.derivations.iter().try_for_each(|d| write!(f, "[{d} "))?;
        match &self.overload {
            Some(ty) => write!(f, "[{} {ty}]", self.base)?,
            None => write!(f, "{}", self.base)?,
        }
        self.derivations.iter().try_for_each(|_| write!(f, "]"))
    }
}

/// A top-level function as a call sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fun {
    /// Its name.
    pub name: FunName,
    /// One type per parameter.
    pub params: Vec<Type>,
    /// The result type.
    pub result: Type,
}

impl Fun {
    /// The type S of `f : S -> T`: the parameter's type, or the tuple of all of them.
    pub fn argument(&self) -> Type {
        match self.params.as_slice() {
            [one] => one.clone(),
            many => Type::tuple(many.iter().cloned()),
        }
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
    /// A definition. Panics when the body's type is not the function's result type.
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
    /// What stands for any term of its type. The template mentions each.
    pub params: Vec<Var>,
    /// What is replaced.
    pub template: Expr,
    /// What replaces it, of the same type.
    pub replacement: Expr,
    /// The place of the name.
    pub span: Span,
}

impl Rule {
    /// The rule as a function that gives both sides.
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
    /// The rewrite rules that it gives, in source order.
    pub rules: Vec<Rule>,
    /// Fresh variables for whatever rewrites the program.
    pub supply: Supply,
}

impl Program {
    /// Whether there is a function of that name, here or elsewhere.
    pub fn has(&self, name: &FunName) -> bool {
        self.defs.contains_key(name) || self.externals.contains_key(name)
    }
}
