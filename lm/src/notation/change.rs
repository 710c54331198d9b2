//! Finds what a rewrite changed: the smallest term that differs, and where it is.

use crate::term::{Binding, Expr, Kind, Var};

/// The part of a term that a rewrite changed.
#[derive(Clone, Debug)]
pub struct Change {
    /// The variable in whose definition the part is: the innermost, if there are several.
    pub place: Option<Var>,
    /// The part before.
    pub before: Part,
    /// The part after.
    pub after: Part,
}

/// Bindings of a block, and its result, or either of them.
#[derive(Clone, Debug)]
pub struct Part {
    /// The bindings, in order.
    pub bindings: Vec<Binding>,
    /// The result of the block, where it changed, too; a term that is no block.
    pub result: Option<Expr>,
}

impl Part {
    fn of(e: &Expr) -> Part {
        let (bindings, result) = e.as_block();
        Part { bindings: bindings.to_vec(), result: Some(result.clone()) }
    }
}

/// Returns what changed from one term to another. With the instance of a law, returns that, where it is in the term.
pub fn change(before: &Expr, after: &Expr, instance: Option<&(Expr, Expr)>) -> Change {
    if let Some((redex, made)) = instance
        && let Some(place) = find(before, after, redex, None)
    {
        return Change { place: place.cloned(), before: Part::of(redex), after: Part::of(made) };
    }
    let (place, before, after) = smallest(before, after);
    let place = place.cloned();
    let (mut old, mut new) = (Part::of(before), Part::of(after));
    if old.bindings.is_empty() && new.bindings.is_empty() {
        return Change { place, before: old, after: new };
    }
    let [all_old, all_new] = [&old, &new].map(|part| part.bindings.clone());
    old.bindings.retain(|b| !all_new.contains(b));
    new.bindings.retain(|b| !all_old.contains(b));
    if old.result == new.result {
        (old.result, new.result) = (None, None);
    }
    Change { place, before: old, after: new }
}

/// The variable in whose definition two terms stand, and the terms.
type Difference<'a> = (Option<&'a Var>, &'a Expr, &'a Expr);

/// Returns the smallest terms at one place that differ.
fn smallest<'a>(before: &'a Expr, after: &'a Expr) -> Difference<'a> {
    let mut all = (None, before, after);
    while let Some((inner, a, b)) = only_difference(all.1, all.2) {
        all = (inner.or(all.0), a, b);
    }
    all
}

/// Returns the one child in which two terms with the same root differ, with the variable that it defines.
fn only_difference<'a>(before: &'a Expr, after: &'a Expr) -> Option<Difference<'a>> {
    let children: Vec<Difference> = match (before.kind(), after.kind()) {
        (Kind::App(f, args), Kind::App(g, others)) if f == g && args.len() == others.len() => {
            args.iter().zip(others).map(|(a, b)| (None, a, b)).collect()
        }
        (Kind::Lam(x, a), Kind::Lam(y, b)) if x == y => vec![(None, a, b)],
        (Kind::Let(old, a), Kind::Let(new, b)) if old.len() == new.len() => {
            let is_bound_alike = old.iter().zip(new).all(|(a, b)| a.pattern == b.pattern);
            let bound = old.iter().zip(new).map(|(a, b)| (a.pattern.vars().first(), &a.rhs, &b.rhs));
            if is_bound_alike { bound.chain([(None, a, b)]).collect() } else { Vec::new() }
        }
        _ => Vec::new(),
    };
    let mut different = children.into_iter().filter(|(_, a, b)| a != b);
    let first = different.next()?;
    different.next().is_none().then_some(first)
}

/// Looks for a term where two others differ, else anywhere. Returns the variable in whose definition it is, if it is in
/// one; `outer` is that of the terms.
fn find<'a>(before: &'a Expr, after: &'a Expr, redex: &Expr, outer: Option<&'a Var>) -> Option<Option<&'a Var>> {
    if before == redex {
        return Some(outer);
    }
    let inner = only_difference(before, after).and_then(|(place, a, b)| find(a, b, redex, place.or(outer)));
    inner.or_else(|| anywhere(before, redex, outer))
}

fn anywhere<'a>(e: &'a Expr, redex: &Expr, outer: Option<&'a Var>) -> Option<Option<&'a Var>> {
    if e == redex {
        return Some(outer);
    }
    if e.size() <= redex.size() {
        return None;
    }
    let Kind::Let(bindings, body) = e.kind() else {
        return e.children().find_map(|child| anywhere(child, redex, outer));
    };
    let bound = bindings.iter().find_map(|b| anywhere(&b.rhs, redex, b.pattern.vars().first().or(outer)));
    bound.or_else(|| anywhere(body, redex, outer))
}
