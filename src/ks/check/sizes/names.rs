//! Size variables as names: what they mean in a body, and in the type of a variable of a `lam`.

use super::error;
use crate::ks::check::checker::Checker;
use crate::ks::check::error as errors;
use crate::ks::check::head::Param;
use crate::ks::check::scope::Meaning;
use lm::scope::{free_variables, renamed};
use lm::sizes::{Annotation, Atom, Polynomial, Signature, SizedType};
use lm::term::{Binding, Expr, Kind, Pattern, Span, Var};
use lm::types::Type;
use std::sync::Arc;

/// The size variables that a body may mention, as variables of their own.
pub type Sizes = Vec<(Arc<str>, Var)>;

impl Checker {
    /// Returns what a definition says of sizes: nothing, or its signature. `span` is the place of the result's type.
    pub(in crate::ks::check) fn signature(
        &mut self,
        params: &[Param],
        result: &SizedType,
        span: Span,
    ) -> Option<Option<Arc<Signature>>> {
        let types: Option<Vec<_>> = params.iter().map(|p| Some((p.name.clone(), p.sized.clone()?))).collect();
        let says_sizes = result.says_sizes() || params.iter().flat_map(|p| &p.sized).any(SizedType::says_sizes);
        if !says_sizes {
            return Some(None);
        }
        match Signature::written(types?, result.clone()) {
            Ok(signature) => {
                self.names_are_numbers(&signature, params)?;
                Some(Some(Arc::new(signature)))
            }
            Err(what) => {
                let says = |p: &&Param| p.sized.as_ref().is_some_and(|ty| names(ty).any(|name| name == what.variable));
                let place = params.iter().find(says).map_or(span, |p| p.span);
                self.fail(error::undetermined(&what), place)
            }
        }
    }

    /// Reports a parameter with the name of a size that is no Integer.
    fn names_are_numbers(&mut self, signature: &Signature, params: &[Param]) -> Option<()> {
        let variables = signature.variables();
        let is_other =
            |(name, ty): &&(Arc<str>, SizedType)| variables.contains(name) && !matches!(ty, SizedType::Number(_));
        match signature.params.iter().zip(params).find(|(param, _)| is_other(param)) {
            Some(((name, _), param)) => {
                self.fail(errors::duplicate_variable(name, "definition: as a parameter and a size"), param.span)
            }
            None => Some(()),
        }
    }

    /// Binds the size variables that are no parameters.
    pub(in crate::ks::check) fn bind_sizes(&mut self, signature: Option<&Signature>) -> Sizes {
        let variables = signature.iter().flat_map(|s| s.variables()).collect::<Vec<_>>();
        let is_parameter = |name: &str| signature.is_some_and(|s| s.is_parameter(name));
        let mut sizes = Vec::new();
        for name in variables.into_iter().filter(|name| !is_parameter(name)) {
            let x = self.supply.fresh(&name, Type::Integer);
            self.size_variables.insert(x.id());
            self.scope.bind(&name, Meaning::Variable(x.clone()));
            sizes.push((name, x));
        }
        sizes
    }

    /// Binds the size variables of a definition whose signature is wrong: what they are was reported.
    pub(in crate::ks::check) fn bind_lost_sizes(&mut self, sizes: &[Arc<str>], params: &[Param]) {
        let is_parameter = |name: &Arc<str>| params.iter().any(|p| p.name == *name);
        for name in sizes.iter().filter(|name| !is_parameter(name)) {
            self.scope.bind(name, Meaning::Unknown);
        }
    }

    /// Returns the body with the numbers of the size variables that it mentions.
    pub(in crate::ks::check) fn with_sizes(
        &mut self,
        signature: Option<&Signature>,
        sizes: &Sizes,
        params: &[Var],
        body: Expr,
    ) -> Option<Expr> {
        let (Some(signature), false) = (signature, sizes.is_empty()) else { return Some(body) };
        let (used, span, mut bindings) = (free_variables(&body), body.span(), Vec::new());
        let args: Vec<Expr> = params.iter().map(Expr::var).collect();
        for (name, x) in sizes.iter().filter(|(_, x)| used.contains(x)) {
            if signature.number(name).is_some_and(|(place, _)| !place.is_one()) {
                return self.fail(error::of_elements(name), span);
            }
            let rhs = signature.number_of(name, &args).expect("arguments tell the size variables of a signature");
            bindings.push(Binding { pattern: Pattern::Var(x.clone()), rhs: rhs.placed(span) });
        }
        Some(Expr::block(bindings, body).at(span))
    }

    /// Keeps the sizes that the type of a variable of a `lam` says.
    pub(in crate::ks::check) fn annotate(&mut self, x: &Var, ty: &SizedType, span: Span) -> Option<()> {
        if !ty.says_sizes() {
            return Some(());
        }
        let mut names = Vec::new();
        for name in ty.sizes().flat_map(|n| n.atoms()).map(ToString::to_string) {
            match self.scope.get(&name) {
                Some(Meaning::Variable(n)) if self.size_variables.contains(&n.id()) => {}
                Some(Meaning::Variable(n)) if *n.ty() == Type::Integer => {
                    names.push((Arc::from(name.as_str()), Expr::var(n)));
                }
                Some(Meaning::Unknown) => return None,
                Some(Meaning::Variable(_) | Meaning::Function(_)) | None => {
                    let suggestion = self.suggestions.closest(&name, self.scope.names());
                    return self.fail(errors::unknown_variable(&name, suggestion), span);
                }
            }
        }
        self.annotations.insert(x.id(), Annotation { ty: ty.clone(), names });
        Some(())
    }

    /// Returns a copy of a function with other variables, which are annotated as before.
    pub(in crate::ks::check) fn function_renamed(&mut self, function: &Expr) -> Expr {
        let copy = renamed(function, &mut self.supply);
        if !self.annotations.is_empty() {
            for (old, new) in functions(function).into_iter().zip(functions(&copy)) {
                if let Some(annotation) = self.annotations.get(&old).cloned() {
                    self.annotations.insert(new, annotation);
                }
            }
        }
        copy
    }
}

/// Returns the names in the sizes of a type.
pub fn names(ty: &SizedType) -> impl Iterator<Item = Arc<str>> {
    ty.sizes().flat_map(Polynomial::atoms).filter_map(|atom| match atom {
        Atom::Variable(name) => Some(name.clone()),
        Atom::Number(..) => None,
    })
}

/// Returns the numbers of the variables of all functions in a term, in order.
fn functions(e: &Expr) -> Vec<u32> {
    let mut found = Vec::new();
    e.visit(|e| {
        if let Kind::Lam(x, _) = e.kind() {
            found.push(x.id());
        }
    });
    found
}
