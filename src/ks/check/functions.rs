//! The functions of a program, by name and argument type.

use indexmap::{IndexMap, IndexSet};
use lm::term::{Derivative, Fun, FunName, Span};
use lm::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A function and where it is defined (nowhere for the prelude's).
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name and types.
    pub fun: Arc<Fun>,
    /// The place of its definition.
    pub span: Span,
    /// Whether the function comes from the prelude and the program does not redefine it.
    pub is_prelude: bool,
}

/// All functions: those as written by name, and derivatives written by hand.
#[derive(Debug, Default)]
pub struct Functions {
    written: IndexMap<Arc<str>, Overloads>,
    derived: IndexMap<FunName, Entry>,
    /// The places in `derived` of the derivatives of a base name.
    derived_of: FxHashMap<Arc<str>, Vec<usize>>,
    /// Names whose definition has an error in its types: calls of them are not judged.
    broken: IndexSet<Arc<str>>,
}

/// The functions of one name.
#[derive(Debug, Default)]
struct Overloads {
    entries: Vec<Entry>,
    /// The place in `entries` of the function of an argument type.
    by_argument: FxHashMap<Type, usize>,
}

impl Functions {
    /// Adds a function as written; the entry in its way, when there is one.
    ///
    /// A user's function replaces the prelude's of the same argument type.
    pub fn add(&mut self, entry: Entry) -> Result<(), Entry> {
        let Overloads { entries, by_argument } = self.written.entry(entry.fun.name.base.clone()).or_default();
        let place = *by_argument.entry(entry.fun.argument()).or_insert(entries.len());
        match entries.get_mut(place) {
            Some(old) if old.is_prelude => *old = entry,
            Some(old) => return Err(old.clone()),
            None => entries.push(entry),
        }
        Ok(())
    }

    /// Adds a derivative written by hand; the entry in its way, when there is one.
    pub fn add_derived(&mut self, entry: Entry) -> Result<(), Entry> {
        match self.derived.get(&entry.fun.name) {
            Some(old) => Err(old.clone()),
            None => {
                self.derived_of.entry(entry.fun.name.base.clone()).or_default().push(self.derived.len());
                self.derived.insert(entry.fun.name.clone(), entry);
                Ok(())
            }
        }
    }

    /// Notes that a definition of that name has wrong types.
    pub fn add_broken(&mut self, name: Arc<str>) {
        self.broken.insert(name);
    }

    /// Returns whether a definition of that name has wrong types.
    pub fn is_broken(&self, name: &str) -> bool {
        self.broken.contains(name)
    }

    /// Returns the functions of a name, in source order.
    pub fn overloads(&self, base: &str) -> &[Entry] {
        self.written.get(base).map_or(&[], |overloads| &overloads.entries)
    }

    /// Returns the function of a name that takes an argument of that type.
    pub fn select(&self, base: &str, argument: &Type) -> Option<&Entry> {
        let Overloads { entries, by_argument } = self.written.get(base)?;
        entries.get(*by_argument.get(argument)?)
    }

    /// Returns the derivative written by hand of that full name.
    pub fn derivative(&self, name: &FunName) -> Option<&Entry> {
        self.derived.get(name)
    }

    /// Returns the derivatives written by hand of those derivations and base name.
    pub fn derivatives(&self, derivations: &[Derivative], base: &str) -> impl Iterator<Item = &Entry> {
        let of_base = self.derived_of.get(base).into_iter().flatten().map(|&place| &self.derived[place]);
        of_base.filter(move |e| e.fun.name.derivations == derivations)
    }

    /// Returns whether a derivative of `[base argument]` is written by hand.
    pub fn has_derivative(&self, base: &str, argument: &Type) -> bool {
        let mut of_base = self.derived_of.get(base).into_iter().flatten().map(|&place| &self.derived[place].fun.name);
        of_base.any(|name| name.overload.as_ref() == Some(argument))
    }

    /// Returns the second halves of reverse derivatives written by hand, each with its place.
    pub fn second_halves(&self) -> impl Iterator<Item = (Arc<Fun>, Span)> {
        let is_one = |e: &&Entry| e.fun.name.derivative() == Some(&Derivative::SufRevPass);
        self.derived.values().filter(is_one).map(|e| (e.fun.clone(), e.span))
    }

    /// Returns every name, in source order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.written.keys().map(|name| &**name)
    }
}
