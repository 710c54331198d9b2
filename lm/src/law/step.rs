//! Matches and builds functions of a tuple, which the text of a law takes apart: the steps of folds and loops.
//!
//! ```text
//! λ(i, x). e          λp. let (i, x) = p in e
//! λ(i, (x, y)). e     λp. let (i, t) = p in let (x, y) = t in e
//! ```

use super::matching::{Builder, Name, Subst};
use super::pattern::{Binder, Pat};
use crate::prim::Prim;
use crate::term::{Binding, Expr, Kind, Pattern, Var};
use crate::types::Type;

impl Subst<'_> {
    /// Takes a function of a tuple apart: gives its variables to binders, and returns its result.
    pub(super) fn enter_step<'e>(&mut self, binders: &[Binder], f: &'e Expr) -> Option<&'e Expr> {
        let Kind::Lam(p, body) = f.kind() else { return None };
        let (bindings, result) = body.as_block();
        let (first, names) = bindings.split_first()?;
        let xs = apart(first, p).filter(|xs| xs.len() == binders.len())?;
        let mut names = names.to_vec();
        for (binder, x) in binders.iter().zip(xs) {
            match binder {
                Binder::Name(name) => self.bind(name.clone(), x.clone()),
                Binder::Pair(parts) => {
                    let at = names.iter().position(|b| apart(b, x).is_some_and(|ys| ys.len() == parts.len()))?;
                    let pair = names.remove(at);
                    parts.iter().zip(pair.pattern.vars()).for_each(|(name, y)| self.bind(name.clone(), y.clone()));
                    self.bind("".into(), x.clone());
                }
            }
        }
        self.bind("".into(), p.clone());
        self.take_names(&names);
        Some(result)
    }
}

/// Returns the variables to which a binding gives the components of a variable.
fn apart<'b>(b: &'b Binding, of: &Var) -> Option<&'b [Var]> {
    match &b.pattern {
        Pattern::Tuple(xs) if b.rhs.as_var() == Some(of) => Some(xs),
        _ => None,
    }
}

impl Builder<'_> {
    /// Returns the arguments of a loop. The others tell the type that its step takes.
    pub(super) fn with_step(&mut self, p: Prim, pats: &[Pat], scope: &mut Vec<(Name, Var)>) -> Option<Vec<Expr>> {
        let is_step = |p: &&Pat| matches!(p, Pat::Step(..));
        let at = pats.iter().position(|p| is_step(&p))?;
        let others: Vec<Expr> =
            pats.iter().filter(|p| !is_step(p)).map(|p| self.at(p, None, scope)).collect::<Option<_>>()?;
        let mut types: Vec<Option<Type>> = others.iter().map(|e| Some(e.ty().clone())).collect();
        types.insert(at, None);
        let domain = p.rules().iter().find_map(|rule| rule.domain(&types, at))?;
        let step = self.step(&pats[at], domain, scope)?;
        Some([&others[..at], &[step], &others[at..]].concat())
    }

    fn step(&mut self, p: &Pat, domain: Type, scope: &mut Vec<(Name, Var)>) -> Option<Expr> {
        let Pat::Step(binders, body) = p else { panic!("{p:?} is no step") };
        let (around, p) = (scope.len(), self.supply.fresh("p", domain));
        let mut bindings = Vec::new();
        let xs = self.unpacked(&binders.iter().map(Binder::name).collect::<Vec<_>>(), &p, &mut bindings)?;
        for (binder, x) in binders.iter().zip(xs) {
            match binder {
                Binder::Name(name) => scope.push((name.clone(), x)),
                Binder::Pair(parts) => {
                    let ys = self.unpacked(&[&parts[0], &parts[1]], &x, &mut bindings)?;
                    scope.extend(parts.iter().cloned().zip(ys));
                }
            }
        }
        let body = self.at(body, None, scope);
        scope.truncate(around);
        Some(Expr::lam(p, Expr::block(bindings, body?)))
    }

    /// Binds the components of a variable that is a tuple.
    fn unpacked(&mut self, names: &[&str], of: &Var, bindings: &mut Vec<Binding>) -> Option<Vec<Var>> {
        let parts = of.ty().as_tuple().filter(|parts| parts.len() == names.len())?;
        let xs: Vec<Var> = names.iter().zip(parts).map(|(x, ty)| self.supply.fresh(x, ty.clone())).collect();
        bindings.push(Binding { pattern: Pattern::Tuple(xs.clone()), rhs: Expr::var(of) });
        Some(xs)
    }
}
