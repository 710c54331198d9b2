//! Finds what a rewrite changed: the smallest term that differs, and where it is.

use crate::term::{Binding, Expr, Kind, Var};

/// The part of a term that a rewrite changed.
#[derive(Clone, Debug)]
pub struct Change {
    /// The variables in whose definitions the part is, the outermost first.
    pub places: Vec<Var>,
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
    let mut places = Vec::new();
    if let Some((redex, made)) = instance
        && find(before, after, redex, &mut places)
    {
        return Change { places, before: Part::of(redex), after: Part::of(made) };
    }
    let mut places = Vec::new();
    let (before, after) = smallest(before, after, &mut places);
    let (mut old, mut new) = (Part::of(before), Part::of(after));
    if old.bindings.is_empty() && new.bindings.is_empty() {
        return Change { places, before: old, after: new };
    }
    let [all_old, all_new] = [&old, &new].map(|part| part.bindings.clone());
    old.bindings.retain(|b| !all_new.contains(b));
    new.bindings.retain(|b| !all_old.contains(b));
    if old.result == new.result {
        (old.result, new.result) = (None, None);
    }
    Change { places, before: old, after: new }
}

/// Returns the smallest terms at one place that differ.
fn smallest<'a>(mut before: &'a Expr, mut after: &'a Expr, places: &mut Vec<Var>) -> (&'a Expr, &'a Expr) {
    while let Some((place, a, b)) = only_difference(before, after) {
        places.extend(place.cloned());
        (before, after) = (a, b);
    }
    (before, after)
}

type Difference<'a> = (Option<&'a Var>, &'a Expr, &'a Expr);

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

/// Looks for a term, from the smallest change outwards if it is there, else anywhere. Pushes the variables in whose
/// definitions it is.
fn find(before: &Expr, after: &Expr, redex: &Expr, places: &mut Vec<Var>) -> bool {
    if before == redex {
        return true;
    }
    if let Some((place, a, b)) = only_difference(before, after) {
        let len = places.len();
        places.extend(place.cloned());
        if find(a, b, redex, places) {
            return true;
        }
        places.truncate(len);
    }
    anywhere(before, redex, places)
}

fn anywhere(e: &Expr, redex: &Expr, places: &mut Vec<Var>) -> bool {
    if e == redex {
        return true;
    }
    if e.size() <= redex.size() {
        return false;
    }
    match e.kind() {
        Kind::Let(bindings, body) => {
            for b in bindings {
                let len = places.len();
                places.extend(b.pattern.vars().first().cloned());
                if anywhere(&b.rhs, redex, places) {
                    return true;
                }
                places.truncate(len);
            }
            anywhere(body, redex, places)
        }
        _ => e.children().any(|child| anywhere(child, redex, places)),
    }
}
