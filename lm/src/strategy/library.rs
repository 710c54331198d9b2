//! The strategies of a run: those of lmc, of which a file may replace some.
//!
//! Names are looked up after the file's definitions have taken the place of lmc's. So a file that defines a group anew
//! changes every strategy that uses it.

use super::check::check;
use super::mistake::{Cause, Mistake};
use super::parse;
use super::resolve::{Definitions, resolve};
use super::syntax::{Body, Definition};
use super::tree::Strategy;
use crate::law;
use crate::term::Span;
use indexmap::{IndexMap, IndexSet};
use std::fmt::Write;
use std::sync::Arc;

/// The files of the strategies that lmc applies unless another file says otherwise: names and texts. A definition of a
/// later one takes the place of that of an earlier one.
pub const BUILT_IN: [(&str, &str); 2] = [
    ("derive.strategy", include_str!("../../strategies/derive.strategy")),
    ("dual.strategy", include_str!("../../strategies/dual.strategy")),
];

/// Other files that come with lmc. The definitions of one take the place of those of [`BUILT_IN`].
pub const VARIANTS: [(&str, &str); 4] = [
    ("outermost", include_str!("../../strategies/outermost.strategy")),
    ("paper", include_str!("../../strategies/paper.strategy")),
    ("sum001", include_str!("../../strategies/sum001.strategy")),
    ("none", include_str!("../../strategies/none.strategy")),
];

/// What the compiler brings to strategies.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The passes that a strategy may name.
    pub passes: &'static [&'static str],
    /// The strategies that passes apply to terms in definitions.
    pub of_terms: &'static [&'static str],
    /// The strategies that are applied to whole definitions.
    pub of_definitions: &'static [&'static str],
}

/// A text of a library.
#[derive(Clone, Debug)]
pub struct File {
    /// The name that people know it by.
    pub name: Arc<str>,
    /// The text.
    pub text: Arc<str>,
    /// The offset of its first byte among the texts of the library.
    pub start: u32,
}

/// A strategy with a name and without parameters.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name.
    pub name: Arc<str>,
    /// The purpose, in a few words.
    pub purpose: Arc<str>,
    /// The place of the name in the texts of the library.
    pub span: Span,
    /// The strategy.
    pub strategy: Strategy,
}

/// Strategies by name.
#[derive(Clone, Debug)]
pub struct Library {
    known: Known,
    files: Vec<File>,
    /// The number of the files that it began with.
    own: usize,
    definitions: Definitions,
    strategies: IndexMap<Arc<str>, Named>,
}

/// The reason why a file is no library: its mistakes, in order, and the texts in which they are.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The texts.
    pub files: Vec<File>,
    /// The mistakes.
    pub mistakes: Vec<Mistake>,
    /// The names that could have been meant.
    pub names: Vec<Arc<str>>,
}

impl Library {
    /// Returns the strategies of some texts alone, each with its name.
    pub fn new(known: Known, texts: &[(&str, &str)]) -> Result<Library, Refused> {
        let (definitions, strategies) = (Definitions::new(), IndexMap::new());
        let empty = Library { known, files: Vec::new(), own: texts.len(), definitions, strategies };
        texts.iter().try_fold(empty, |library, (name, text)| library.with(name, text))
    }

    /// Returns the library with the definitions of a text in the place of its own.
    pub fn with(&self, name: &str, text: &str) -> Result<Library, Refused> {
        let start = self.files.last().map_or(0, |file| file.start + file.text.len() as u32);
        let file = File { name: name.into(), text: text.into(), start };
        let mut library = Library { strategies: IndexMap::new(), ..self.clone() };
        library.files.push(file);
        let (read, mut mistakes) = parse::file(text, start);
        let mut defined: IndexMap<Arc<str>, Span> = IndexMap::new();
        for definition in read {
            mistakes.extend(self.refused(&definition, &defined));
            defined.insert(definition.name.text.clone(), definition.name.span);
            library.definitions.insert(definition.name.text.clone(), definition);
        }
        if mistakes.is_empty() {
            mistakes = library.resolve();
        }
        if mistakes.is_empty() {
            return Ok(library);
        }
        let names = library.names();
        Err(Refused { files: library.files, mistakes: each_once(mistakes), names })
    }

    /// Returns the mistake of a definition among the others of its file.
    fn refused(&self, definition: &Definition, defined: &IndexMap<Arc<str>, Span>) -> Option<Mistake> {
        let name = &definition.name;
        let (text, has_parameters) =
            (name.text.clone(), matches!(&definition.body, Body::Strategy(p, _) if !p.is_empty()));
        let is_group = matches!(definition.body, Body::Group(_));
        let cause = if let Some(first) = defined.get(&text) {
            Cause::Twice(text, *first)
        } else if law::all().contains_key(&text) {
            Cause::IsLaw(text)
        } else if self.known.uses(&text) && (is_group || has_parameters) {
            Cause::OtherKind(text)
        } else {
            return None;
        };
        Some(Mistake { span: name.span, cause })
    }

    /// Gives all names their meaning. Returns the mistakes.
    fn resolve(&mut self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        let mut strategies = IndexMap::new();
        for (name, definition) in &self.definitions {
            let (strategy, wrong) = resolve(&self.definitions, name, self.known.passes);
            let is_whole = !self.known.of_terms.contains(&&**name);
            let is_sound = wrong.is_empty();
            mistakes.extend(wrong);
            if is_sound {
                mistakes.extend(check(&strategy, is_whole, &|span| self.excerpt(span)));
            }
            if matches!(&definition.body, Body::Strategy(parameters, _) if parameters.is_empty()) {
                let purpose = definition.purpose.clone().unwrap_or_default();
                let named = Named { name: name.clone(), purpose, span: definition.name.span, strategy };
                strategies.insert(name.clone(), named);
            }
        }
        self.strategies = strategies;
        mistakes
    }

    /// Returns the text of a place, on one line.
    fn excerpt(&self, span: Span) -> String {
        let file = self.files.iter().rev().find(|file| file.start <= span.start);
        let bytes = |file: &File| (span.start - file.start) as usize..(span.end - file.start) as usize;
        let text = file.and_then(|file| file.text.get(bytes(file))).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns the texts, in order.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// Returns whether a file has replaced some definitions.
    pub fn is_changed(&self) -> bool {
        self.files.len() > self.own
    }

    /// Returns the strategies without parameters, in order.
    pub fn strategies(&self) -> impl Iterator<Item = &Named> {
        self.strategies.values()
    }

    /// Returns the strategy of a name.
    pub fn get(&self, name: &str) -> Option<&Named> {
        self.strategies.get(name)
    }

    /// Returns a strategy that lmc applies. Panics when there is none: these names are part of the program.
    pub fn strategy(&self, name: &str) -> &Strategy {
        &self.get(name).unwrap_or_else(|| panic!("there is no strategy `{name}`")).strategy
    }

    /// Returns the names of definitions and laws.
    fn names(&self) -> Vec<Arc<str>> {
        self.definitions.keys().chain(law::all().keys()).cloned().collect()
    }

    /// Returns the text of all definitions, or of the one of a name with those that it needs.
    pub fn text(&self, name: Option<&str>) -> String {
        let mut wanted: IndexSet<Arc<str>> = match name {
            Some(name) => IndexSet::from([name.into()]),
            None => self.definitions.keys().cloned().collect(),
        };
        let mut next = 0;
        while let Some(name) = wanted.get_index(next) {
            let mentioned = self.definitions.get(name).map(Definition::mentioned).unwrap_or_default();
            wanted.extend(mentioned);
            next += 1;
        }
        let mut text = String::new();
        for definition in self.definitions.values().filter(|definition| wanted.contains(&definition.name.text)) {
            let separator = if text.is_empty() { "" } else { "\n" };
            let _ = write!(text, "{separator}{definition}");
        }
        text
    }
}

/// Returns mistakes in order of place. One in a definition with parameters is found at each use.
fn each_once(mut found: Vec<Mistake>) -> Vec<Mistake> {
    found.sort_by_key(|mistake| mistake.span.start);
    let mut once: Vec<Mistake> = Vec::new();
    for mistake in found {
        if !once.contains(&mistake) {
            once.push(mistake);
        }
    }
    once
}

impl Known {
    /// Returns whether lmc itself applies the strategy of a name.
    fn uses(&self, name: &str) -> bool {
        self.of_terms.contains(&name) || self.of_definitions.contains(&name)
    }
}
