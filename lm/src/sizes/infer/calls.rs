//! Calls: size variables are told by the arguments, and relations compared.

use super::{ANY, Answer, Claim, Shape, Walk};
use crate::sizes::polynomial::{Atom, Polynomial};
use crate::sizes::relation::{Place, Relation, Step};
use crate::sizes::signature::Signature;
use crate::term::{Def, Expr, Fun, Kind, Op, Span};
use indexmap::IndexMap;
use std::sync::Arc;

/// The size variables of a call, those that are known.
type Sizes = IndexMap<Arc<str>, Polynomial>;

impl Walk<'_> {
    pub(super) fn call(&mut self, e: &Expr, f: &Fun, args: &[Expr]) -> Shape {
        let Some(signature) = (self.known.signature)(f) else { return self.other(e, args) };
        let shapes: Vec<Shape> = args.iter().map(|a| self.term(a)).collect();
        let sizes = sizes(&signature, &shapes);
        let spans: Vec<Span> =
            args.iter().map(|a| if a.span() == Span::default() { e.span() } else { a.span() }).collect();
        let mut proved = Vec::new();
        for relation in signature.relations() {
            proved.push(self.relation(f, &signature, relation, (&shapes, &sizes), (&spans, e.span())));
        }
        let is_proved = !proved.contains(&false);
        let known = self.found.calls.entry(e.address()).or_insert_with(|| proved.clone());
        known.iter_mut().zip(proved).for_each(|(known, now)| *known &= now);
        if !matches!(e.kind(), Kind::App(Op::Call(_), _)) || !(self.known.gives)(&f.name, is_proved) {
            return self.unknown(e.ty(), "_");
        }
        let result = self.of_type(&signature.result, &|atom| of_sizes(atom, &sizes));
        self.named(result, e.ty(), &format!("{}(..)", f.name))
    }

    fn relation(
        &mut self,
        f: &Fun,
        signature: &Signature,
        relation: &Relation,
        (shapes, sizes): (&[Shape], &Sizes),
        (spans, span): (&[Span], Span),
    ) -> bool {
        match relation {
            Relation::Natural(atom) => {
                let number = of_sizes(atom, sizes).unwrap_or_else(|| Polynomial::atom(self.fresh("_")));
                let claim = Claim::Natural { callee: f.name.clone(), variable: atom.to_string() };
                self.not_negative(&number, claim, span)
            }
            Relation::Equal(place, size) => {
                let names = [told_by(signature, size), shown(signature, place)];
                let claim = Claim::Arguments { callee: f.name.clone(), places: names, size: size.to_string() };
                let wanted = size.substituted(&|atom| of_sizes(atom, sizes));
                let wanted = wanted.unwrap_or_else(|| Polynomial::atom(self.fresh("_")));
                self.holds_at(shapes, place, &wanted, false, span, claim)
            }
            Relation::Below(place, size) => {
                let wanted = size.substituted(&|atom| of_sizes(atom, sizes));
                let wanted = wanted.unwrap_or_else(|| Polynomial::atom(self.fresh("_")));
                let claim = Claim::Limit { limit: self.limit_at(shapes, place), is_of_elements: !place.is_one() };
                self.holds_at(shapes, place, &wanted, true, spans[place.param], claim)
            }
        }
    }

    /// Claims that a derivative takes and gives what it has by what it is a derivative of. It may take more.
    pub(super) fn derivative(&mut self, def: &Def, derived: &Signature, result: &Shape) -> bool {
        let shapes: Vec<Shape> = def.params.iter().map(|x| self.env[&x.id()].clone()).collect();
        let (sizes, span) = (sizes(derived, &shapes), def.body.span());
        let by = |atom: &Atom| of_sizes(atom, &sizes);
        for relation in derived.relations() {
            let Relation::Equal(place, size) = relation else { continue };
            let Some(wanted) = size.substituted(&by) else { continue };
            let (name, since) = (def.params[place.param].name(), self.found.findings.len());
            let claim = Claim::Parameter { place: place_in(name, place) };
            self.holds_at(&shapes, place, &wanted, false, span, claim);
            let is_refuted = self.found.findings[since..].iter().any(|finding| finding.answer == Answer::Refuted);
            self.found.findings.truncate(if is_refuted { since + 1 } else { since });
        }
        self.result((&derived.result, &by), result, span, &Claim::Derivative)
    }

    /// Claims that a number is not negative.
    pub(super) fn not_negative(&mut self, number: &Polynomial, claim: Claim, span: Span) -> bool {
        let is_not_negative = |p: &Polynomial| self.bounds.is_not_negative(p);
        let answer = match () {
            () if is_not_negative(number) => Answer::Proved,
            () if is_not_negative(&Polynomial::constant(-1).minus(number)) && !self.bounds.is_unreachable() => {
                Answer::Refuted
            }
            () => Answer::Unknown,
        };
        self.claim(span, claim, [number, &Polynomial::constant(0)], answer)
    }

    /// Returns what a number at a place is known to be below.
    pub(super) fn limit_at(&self, shapes: &[Shape], place: &Place) -> Option<String> {
        match at(&shapes[place.param], &place.path)? {
            Shape::Integer(k) => self.bounds.limit_of(k).map(Polynomial::to_string),
            Shape::Below(limit) => Some(limit.to_string()),
            _ => None,
        }
    }

    /// Claims that the number at a place is a size, or below it.
    pub(super) fn holds_at(
        &mut self,
        shapes: &[Shape],
        place: &Place,
        size: &Polynomial,
        is_limit: bool,
        span: Span,
        claim: Claim,
    ) -> bool {
        let at = at(&shapes[place.param], &place.path);
        // What no element could be is right if there are none.
        let is_there = self.has_elements(&shapes[place.param], &place.path);
        let in_some_run = |answer| if answer == Answer::Refuted && !is_there { Answer::Unknown } else { answer };
        match (is_limit, at) {
            (false, Some(Shape::Tensor(sizes, _))) => {
                let (d, rank) = place.dimension.expect("a tensor has dimensions");
                let found = sizes[d].clone();
                let answer = in_some_run(self.equality(Some(size), found.as_ref()));
                let found = found.unwrap_or_else(|| self.fresh_size("_", d, rank));
                self.claim(span, claim, [size, &found], answer)
            }
            (false, Some(Shape::Integer(k))) => {
                let answer = in_some_run(self.equality(Some(size), Some(k)));
                self.claim(span, claim, [size, k], answer)
            }
            (true, Some(Shape::Integer(k))) => {
                let answer = in_some_run(self.range(k, size));
                self.claim(span, claim, [k, size], answer)
            }
            (true, Some(Shape::Below(limit))) => {
                let is_enough = self.bounds.is_not_negative(&size.minus(limit));
                let answer = if is_enough { Answer::Proved } else { Answer::Unknown };
                let number = Polynomial::atom(self.fresh(ANY));
                self.claim(span, claim, [&number, size], answer)
            }
            _ => {
                let number = Polynomial::atom(self.fresh(ANY));
                let numbers = if is_limit { [&number, size] } else { [size, &number] };
                self.claim(span, claim, numbers, Answer::Unknown)
            }
        }
    }
}

impl Walk<'_> {
    /// Returns whether the tensors on the way to a place are known to have elements.
    fn has_elements(&self, shape: &Shape, path: &[Step]) -> bool {
        let Some(n) = path.iter().position(|step| *step == Step::Each) else { return true };
        let Some(Shape::Tensor(sizes, element)) = at(shape, &path[..n]) else { return false };
        let is_there = |size: &Polynomial| self.bounds.is_not_negative(&size.shifted(-1));
        sizes.iter().all(|size| size.as_ref().is_some_and(is_there)) && self.has_elements(element, &path[n + 1..])
    }
}

fn at<'s>(shape: &'s Shape, path: &[Step]) -> Option<&'s Shape> {
    path.iter().try_fold(shape, |shape, step| match (step, shape) {
        (Step::Part(i, _), Shape::Tuple(parts)) => parts.get(i - 1),
        (Step::Each, Shape::Tensor(_, element)) => Some(&**element),
        _ => None,
    })
}

fn sizes(signature: &Signature, shapes: &[Shape]) -> Sizes {
    let mut sizes = Sizes::new();
    for (name, (place, number)) in signature.numbers() {
        let here = match at(&shapes[place.param], &place.path) {
            Some(Shape::Tensor(sizes, _)) => place.dimension.and_then(|(d, _)| sizes[d].clone()),
            Some(Shape::Integer(k)) => Some(k.clone()),
            _ => None,
        };
        let by = |atom: &Atom| if *atom == Signature::here() { here.clone() } else { of_sizes(atom, &sizes) };
        if let Some(size) = number.substituted(&by) {
            sizes.insert(name.clone(), size);
        }
    }
    sizes
}

fn of_sizes(atom: &Atom, sizes: &Sizes) -> Option<Polynomial> {
    match atom {
        Atom::Variable(name) => sizes.get(name).cloned(),
        Atom::Number(..) => None,
    }
}

/// Returns what tells a size: the place of its variable, if it is one.
fn told_by(signature: &Signature, size: &Polynomial) -> String {
    let variables: Vec<&Atom> = size.atoms().collect();
    let number = match variables.as_slice() {
        [Atom::Variable(name)] if *size == Polynomial::variable(name) => signature.number(name),
        _ => None,
    };
    number.map_or(size.to_string(), |(place, _)| shown(signature, place))
}

/// Returns a place as people name it: `v`, `t.1`, `size(m).2`, `each of w`.
fn shown(signature: &Signature, place: &Place) -> String {
    place_in(&signature.params[place.param].0, place)
}

fn place_in(parameter: &str, place: &Place) -> String {
    let of = place.path.iter().fold(parameter.to_string(), |of, step| match step {
        Step::Part(i, _) => format!("{of}.{i}"),
        Step::Each => format!("each of {of}"),
    });
    match place.dimension {
        Some((d, rank)) if rank > 1 => format!("size({of}).{}", d + 1),
        _ => of,
    }
}
