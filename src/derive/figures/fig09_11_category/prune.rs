//! Prunes CL: each term works in the environment of its free variables only.
//!
//! ```text
//! c   =   P[i1..im/n] ; c'      i1 .. im: the values of the environment that c uses, in order
//! ```
//!
//! So it is done to every part, from the inside out; where all are used, there is nothing to do. A tuple of
//! different variables is one pruning: `(P[2/3], P[1/3]) = P[2,1/3]`.
//!
//! Source: working notes, Fig. 10. Takes and gives: CL. A part whose environment shrinks lists what is left, so
//! where no more than k values are alive at a time, the result is at most k times as long.

use super::{Argument, Def, Term};
use lm::term::Pattern;

/// Returns the definition, pruned; its type is checked.
///
/// Panics if it is ill-typed, which it is only when `def` is.
pub fn prune(def: &Def) -> Def {
    let size = def.params.len();
    let part = term(&def.body, size);
    let body = part.within(&(1..=size).collect::<Vec<_>>());
    Def { body, ..def.clone() }.checked("pruning")
}

/// A term in the environment of the values that it uses.
struct Part {
    /// The numbers of these values in the environment that it was in, in order.
    used: Vec<usize>,
    term: Term,
}

impl Part {
    /// Returns the term in an environment of these values, its own among them.
    fn within(self, env: &[usize]) -> Term {
        Term::pruning(self.used.iter().map(|i| place(*i, env)).collect(), env.len()).then(self.term)
    }
}

/// Returns the number of a value in an environment that has it.
fn place(i: usize, env: &[usize]) -> usize {
    env.binary_search(&i).expect("an environment has what its terms use") + 1
}

fn term(c: &Term, size: usize) -> Part {
    match c {
        Term::Identity | Term::Function { .. } => Part { used: (1..=size).collect(), term: c.clone() },
        Term::Constant(_) | Term::Dummy(_) => Part { used: Vec::new(), term: c.clone() },
        Term::Pruning { chosen, .. } => composed(chosen, Part { used: all(chosen.len()), term: Term::Identity }),
        Term::Compose(first, after) => sequence(first, after, size),
        Term::Tuple(parts) => {
            let (used, parts) = together(parts.iter().map(|c| term(c, size)).collect());
            let chosen = distinct(&parts, used.len());
            let term = chosen.map_or(Term::Tuple(parts), |chosen| Term::pruning(chosen, used.len()));
            Part { used, term }
        }
        Term::If(condition, yes, no) => {
            let (used, parts) = together([condition, yes, no].map(|c| term(c, size)).into());
            let [condition, yes, no] = <[Term; 3]>::try_from(parts).expect("as many as before").map(Box::new);
            Part { used, term: Term::If(condition, yes, no) }
        }
        Term::Let(..) => lets(c, size),
        Term::Binder { op, args, span } => {
            let (used, args) = arguments(args, size);
            Part { used, term: Term::Binder { op: op.clone(), args, span: *span } }
        }
    }
}

fn all(size: usize) -> Vec<usize> {
    (1..=size).collect()
}

/// Returns `P[chosen] ; part`.
fn composed(chosen: &[usize], part: Part) -> Part {
    let wanted: Vec<usize> = part.used.iter().map(|j| chosen[j - 1]).collect();
    let mut used = wanted.clone();
    used.sort_unstable();
    let places = wanted.iter().map(|i| place(*i, &used)).collect();
    Part { term: Term::pruning(places, used.len()).then(part.term), used }
}

fn sequence(first: &Term, after: &Term, size: usize) -> Part {
    if let Term::Pruning { chosen, .. } = first {
        return composed(chosen, term(after, chosen.len()));
    }
    let width = first.width(size);
    let after = term(after, width).within(&all(width));
    let first = term(first, size);
    Part { used: first.used, term: first.term.then(after) }
}

/// Parts of a term, in the environment of all values that they use.
fn together(parts: Vec<Part>) -> (Vec<usize>, Vec<Term>) {
    let used = parts.iter().fold(Vec::new(), |used, part| union(&used, &part.used));
    let terms = parts.into_iter().map(|part| part.within(&used)).collect();
    (used, terms)
}

fn union(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut both = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let next = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => *x.min(y),
            (Some(x), None) | (None, Some(x)) => *x,
            (None, None) => unreachable!("the loop has ended"),
        };
        i += usize::from(a.get(i) == Some(&next));
        j += usize::from(b.get(j) == Some(&next));
        both.push(next);
    }
    both
}

/// Returns the numbers of the values that the terms are, when they are different ones.
fn distinct(terms: &[Term], size: usize) -> Option<Vec<usize>> {
    let number = |c: &Term| match c {
        Term::Identity if size == 1 => Some(1),
        Term::Pruning { chosen, .. } => {
            if let [i] = chosen.as_slice() {
                Some(*i)
            } else {
                None
            }
        }
        _ => None,
    };
    let numbers: Vec<usize> = terms.iter().map(number).collect::<Option<_>>()?;
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] < pair[1]).then_some(numbers)
}

/// A chain of lets, which may be long, from its end.
fn lets(c: &Term, size: usize) -> Part {
    let (mut chain, mut c, mut size) = (Vec::new(), c, size);
    while let Term::Let(pattern, rhs, body) = c {
        chain.push((pattern, rhs, size));
        size += pattern.vars().len();
        c = body;
    }
    chain.into_iter().rev().fold(term(c, size), |body, (pattern, rhs, size)| binding(pattern, rhs, body, size))
}

fn binding(pattern: &Pattern, rhs: &Term, body: Part, size: usize) -> Part {
    let rhs = term(rhs, size);
    let bound: Vec<usize> = (size + 1..=size + pattern.vars().len()).collect();
    let outer: Vec<usize> = body.used.iter().copied().filter(|i| *i <= size).collect();
    let used = union(&rhs.used, &outer);
    let rhs = rhs.within(&used);
    let body = body.within(&[used.as_slice(), &bound].concat());
    Part { used, term: Term::Let(pattern.clone(), Box::new(rhs), Box::new(body)) }
}

fn arguments(args: &[Argument], size: usize) -> (Vec<usize>, Vec<Argument>) {
    let part = |arg: &Argument| match arg {
        Argument::Value(c) => term(c, size),
        Argument::Function(_, body) => term(body, size + 1),
    };
    let parts: Vec<Part> = args.iter().map(part).collect();
    let outer = |part: &Part| part.used.iter().copied().filter(|i| *i <= size).collect::<Vec<_>>();
    let used = parts.iter().fold(Vec::new(), |used, part| union(&used, &outer(part)));
    let inner = [used.as_slice(), &[size + 1]].concat();
    let within = |(arg, part): (&Argument, Part)| match arg {
        Argument::Value(_) => Argument::Value(part.within(&used)),
        Argument::Function(x, _) => Argument::Function(x.clone(), part.within(&inner)),
    };
    let args = args.iter().zip(parts).map(within).collect();
    (used, args)
}
