//! Makes instances of the left sides of laws, for tests.

use super::check::{expand, infer};
use super::context::Context;
use super::matching::{Builder, Subst};
use super::pattern::Pat;
use super::{Body, Equation, Law};
use crate::prim::Prim;
use crate::scheme::Scheme;
use crate::term::{Expr, Supply, Var};
use crate::types::Type;
use std::sync::Arc;

type Name = Arc<str>;

/// Returns a closed instance of the law's left side: sequences of length `count`, each type variable a type of
/// `ground`, each metavariable a term of `term`. Variables are of `supply`. Returns `None` for a law without a left side as a pattern.
pub fn instance(
    law: &Law,
    count: usize,
    ground: &mut impl FnMut() -> Type,
    term: &mut impl FnMut(&mut Supply, &str, &Type) -> Expr,
    supply: &mut Supply,
) -> Option<Expr> {
    let Body::Equation(Equation { lhs, rhs, .. }) = &law.body else {
        return None;
    };
    let mut types = infer(lhs, rhs, count).expect("laws are checked when they are loaded");
    let mut metas: Vec<Name> = types.metas.keys().cloned().collect();
    // A pattern of any type comes last: beside a tensor it may be an index, which has a certain type.
    metas.sort_by_key(|name| (matches!(types.resolve(&types.metas[name]), Scheme::Var(..)), name.clone()));
    let mut terms = Vec::new();
    for name in metas {
        let scheme = types.metas[&name].clone();
        let ty = types.ground(&scheme, ground);
        terms.push((name.clone(), term(supply, name.split('#').next()?, &ty)));
    }
    let mut subst = Subst::of(terms);
    for name in applied(lhs) {
        let ty = subst.term(&name).expect("it has a type").ty().clone();
        let arguments: Vec<Type> = types.arguments[&name].clone().iter().map(|s| types.ground(s, ground)).collect();
        let binders: Vec<Var> = arguments.iter().map(|ty| supply.fresh("i", ty.clone())).collect();
        // A term that each binder counts for.
        let body = binders.iter().fold(term(supply, &name, &ty), |body, i| {
            let zero = if *i.ty() == Type::Integer { Expr::integer(0) } else { term(supply, "x", i.ty()) };
            let is_zero = Expr::prim(Prim::Eq, [Expr::var(i), zero]);
            Expr::conditional(is_zero, body, term(supply, &name, &ty))
        });
        subst.give(name, binders, body);
    }
    let lhs = with_witnesses(&expand(lhs, count, &lhs.sequences()));
    Builder { subst: &subst, whole: &Expr::integer(0), supply, cx: &Context::default() }.build(&lhs)
}

/// Returns the metavariables with arguments.
fn applied(p: &Pat) -> Vec<Name> {
    let mut found = Vec::new();
    p.visit(&mut |p| {
        if let Pat::Applied(name, _) = p {
            found.push(name.clone());
        }
    });
    found
}

/// Puts witnesses where the text leaves them out.
fn with_witnesses(p: &Pat) -> Pat {
    // Left sides leave out the witnesses of scales only; their space is free or fixed by the whole,
    // and Float is an instance of either.
    match p {
        Pat::Domain | Pat::Codomain => Pat::FloatWitness,
        Pat::App(op, args) => Pat::App(op.clone(), args.iter().map(with_witnesses).collect()),
        other => other.clone(),
    }
}
