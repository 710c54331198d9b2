//! Gives names their meaning: from the trees of a text to strategies.
//!
//! ```text
//! f(a)        = the body of f, with a for its parameter       laws(g, l) = the laws of the group g, then l
//! ```
//!
//! Each use of a name has a copy of what it stands for, so no definition may mention itself.

use super::law_set::LawSet;
use super::mistake::{Cause, Mistake, Noun};
use super::syntax::{Body, Definition, Name, Shape, Term};
use super::tree::Strategy;
use crate::law::{self, Law};
use crate::term::Span;
use indexmap::IndexMap;
use std::sync::Arc;

/// The most parts of a strategy, in which names are replaced by what they stand for.
const MOST_PARTS: usize = 20_000;

/// Definitions by name.
pub(super) type Definitions = IndexMap<Arc<str>, Definition>;

/// The resolution of one definition.
pub(super) struct Resolver<'a> {
    definitions: &'a Definitions,
    passes: &'a [&'a str],
    /// The definitions that are being resolved, each in the one before.
    within: Vec<Arc<str>>,
    variables: u32,
    parts: usize,
    mistakes: Vec<Mistake>,
}

/// The parameters and variables in scope, with the number of their parts.
type Scope = Vec<(Arc<str>, Arc<Strategy>, usize)>;

/// Returns the strategy of a definition, or the laws of a group as one; and the mistakes. Parameters always fail.
pub(super) fn resolve(definitions: &Definitions, name: &Arc<str>, passes: &[&str]) -> (Strategy, Vec<Mistake>) {
    let mut resolver =
        Resolver { definitions, passes, within: vec![name.clone()], variables: 0, parts: 0, mistakes: Vec::new() };
    let strategy = match &definitions[name].body {
        Body::Group(items) => Strategy::laws_of(resolver.laws(items)),
        Body::Strategy(parameters, term) => {
            let fails = |x: &Name| (x.text.clone(), Arc::new(Strategy::Fail), 1);
            Strategy::clone(&resolver.term(term, &parameters.iter().map(fails).collect()))
        }
    };
    (strategy, resolver.mistakes)
}

impl Resolver<'_> {
    fn wrong(&mut self, span: Span, cause: Cause) -> Arc<Strategy> {
        self.mistakes.push(Mistake { span, cause });
        Arc::new(Strategy::Fail)
    }

    /// Counts parts. Returns false if there are too many, and says so the first time.
    fn may_grow(&mut self, parts: usize, span: Span) -> bool {
        let was_small = self.parts <= MOST_PARTS;
        self.parts += parts;
        let is_small = self.parts <= MOST_PARTS;
        if was_small && !is_small {
            self.wrong(span, Cause::TooLarge(self.within[0].clone(), MOST_PARTS));
        }
        is_small
    }

    fn term(&mut self, term: &Term, scope: &Scope) -> Arc<Strategy> {
        if !self.may_grow(1, term.span) {
            return Arc::new(Strategy::Fail);
        }
        let strategy = match &term.shape {
            Shape::Id => Strategy::Id,
            Shape::Fail => Strategy::Fail,
            Shape::Name(name, arguments) => return self.named(name, arguments, term.span, scope),
            Shape::Laws(items) => Strategy::laws_of(self.laws(items)),
            Shape::Seq(a, b) => Strategy::Seq(self.term(a, scope), self.term(b, scope)),
            Shape::Choice(a, b) => Strategy::Choice(self.term(a, scope), self.term(b, scope)),
            Shape::With(combinator, s) => Strategy::With(*combinator, self.term(s, scope)),
            Shape::Mu(x, s) => {
                self.variables += 1;
                let own = (x.text.clone(), Arc::new(Strategy::Var(self.variables)), 1);
                let number = self.variables;
                let scope = scope.iter().cloned().chain([own]).collect();
                Strategy::Mu(number, self.term(s, &scope))
            }
            Shape::Fuel(n, s) => Strategy::Fuel(*n, self.term(s, scope)),
            Shape::Pass(name) if self.passes.contains(&&*name.text) => Strategy::Pass(name.text.clone()),
            Shape::Pass(name) => {
                let cause = Cause::Unknown { noun: Noun::Pass, name: name.text.clone() };
                return self.wrong(name.span, cause);
            }
            Shape::Stage(heading, s) => Strategy::Stage(heading.clone(), self.term(s, scope)),
        };
        Arc::new(Strategy::Placed(term.span, Arc::new(strategy)))
    }

    fn named(&mut self, name: &Arc<str>, arguments: &[Term], span: Span, scope: &Scope) -> Arc<Strategy> {
        if let Some((_, strategy, parts)) = scope.iter().rev().find(|(x, ..)| x == name) {
            let fits = self.takes(name, 0, arguments.len(), span) && self.may_grow(*parts, span);
            return if fits { strategy.clone() } else { Arc::new(Strategy::Fail) };
        }
        let definitions = self.definitions;
        match definitions.get(name).map(|definition| &definition.body) {
            Some(Body::Group(_)) => self.wrong(span, Cause::Group(name.clone())),
            Some(Body::Strategy(..)) if self.within.contains(name) => self.wrong(span, Cause::Itself(name.clone())),
            Some(Body::Strategy(parameters, body)) => {
                if !self.takes(name, parameters.len(), arguments.len(), span) {
                    return Arc::new(Strategy::Fail);
                }
                let mut inner = Scope::new();
                for (parameter, argument) in parameters.iter().zip(arguments) {
                    let before = self.parts;
                    let made = self.term(argument, scope);
                    inner.push((parameter.text.clone(), made, self.parts - before));
                }
                self.within.push(name.clone());
                let made = self.term(body, &inner);
                self.within.pop();
                made
            }
            None => match law::all().get(name) {
                Some(law) if self.takes(name, 0, arguments.len(), span) => {
                    let set = LawSet::new(vec![law.clone()]);
                    Arc::new(Strategy::Placed(span, Arc::new(Strategy::Laws(Arc::new(set)))))
                }
                Some(_) => Arc::new(Strategy::Fail),
                None => self.wrong(span, Cause::Unknown { noun: Noun::Strategy, name: name.clone() }),
            },
        }
    }

    /// Returns whether the number of arguments fits.
    fn takes(&mut self, name: &Arc<str>, wanted: usize, given: usize, span: Span) -> bool {
        if wanted != given {
            self.wrong(span, Cause::Arguments { name: name.clone(), wanted, given });
        }
        wanted == given
    }

    /// Returns the laws of a list, in order.
    fn laws(&mut self, items: &[Name]) -> Vec<Arc<Law>> {
        items.iter().flat_map(|item| self.laws_of(item)).collect()
    }

    fn laws_of(&mut self, item: &Name) -> Vec<Arc<Law>> {
        if !self.may_grow(1, item.span) {
            return Vec::new();
        }
        let (name, definitions) = (&item.text, self.definitions);
        if let Some(Body::Group(items)) = definitions.get(name).map(|definition| &definition.body) {
            if self.within.contains(name) {
                self.wrong(item.span, Cause::Itself(name.clone()));
                return Vec::new();
            }
            self.within.push(name.clone());
            let laws = self.laws(items);
            self.within.pop();
            return laws;
        }
        let laws: Vec<Arc<Law>> = match name.strip_suffix('*') {
            Some(start) => law::all().values().filter(|law| law.name.starts_with(start)).cloned().collect(),
            None => law::all().get(name).cloned().into_iter().collect(),
        };
        if laws.is_empty() {
            self.wrong(item.span, Cause::Unknown { noun: Noun::Law, name: name.clone() });
        }
        laws
    }
}
