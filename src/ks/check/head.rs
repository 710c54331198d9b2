//! Declarations as written, before any body is checked.

use crate::derive::Derivation;
use crate::ks::reader::Sexp;
use lm::sizes::{Signature, SizedType};
use lm::term::{FunName, Span};
use lm::types::Type;
use std::sync::Arc;

/// A parameter; without a type when that is wrong.
#[derive(Clone, Debug)]
pub struct Param {
    /// The name.
    pub name: Arc<str>,
    /// The type.
    pub ty: Option<Type>,
    /// The type with the sizes that it says.
    pub sized: Option<SizedType>,
    /// The place of the type.
    pub span: Span,
}

/// A definition whose body is not checked yet. Parts that are wrong are missing.
#[derive(Clone, Debug)]
pub struct Header<'a> {
    /// As written.
    pub name: Option<FunName>,
    /// The declared result type.
    pub result: Option<Type>,
    /// The parameters as written.
    pub params: Option<Vec<Param>>,
    /// What the types say of sizes; none where they say nothing.
    pub signature: Option<Arc<Signature>>,
    /// The size variables, where what the types say of sizes is wrong.
    pub lost_sizes: Vec<Arc<str>>,
    /// The body; none of a function that is implemented elsewhere.
    pub body: Option<&'a Sexp>,
    /// The place of the name.
    pub span: Span,
    /// Whether it comes from the prelude.
    pub is_prelude: bool,
}

impl Header<'_> {
    /// Returns the parameter types, when all are right.
    pub fn types(&self) -> Option<Vec<Type>> {
        self.params.as_ref()?.iter().map(|p| p.ty.clone()).collect()
    }
}

/// A rewrite rule whose sides are not checked yet.
#[derive(Debug)]
pub struct RuleHead<'a> {
    /// The name in diagnostics.
    pub name: Arc<str>,
    /// The parameters, which match any term; `None` if they are wrong.
    pub params: Option<Vec<Param>>,
    /// The pattern to replace.
    pub template: &'a Sexp,
    /// The replacement.
    pub replacement: &'a Sexp,
    /// The place of the name.
    pub span: Span,
}

/// A top-level form.
#[derive(Debug)]
pub enum Item<'a> {
    /// A definition.
    Def(Header<'a>),
    /// `(gdef derivative name derivation)`: the name of the derivative, how it is made, and its place.
    Gdef(FunName, Option<Derivation>, Span),
    /// A rewrite rule.
    Rule(RuleHead<'a>),
}
