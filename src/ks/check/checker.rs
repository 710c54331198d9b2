//! The state of a check. The methods are in the other files, by what they check.

use crate::ks::check::checked::{CheckOptions, Checked};
use crate::ks::check::copies::Copies;
use crate::ks::check::functions::Functions;
use crate::ks::check::scope::Scope;
use crate::ks::check::suggest::Suggestions;
use crate::ks::diagnostic::Diagnostic;
use indexmap::{IndexMap, IndexSet};
use lm::scheme::Named;
use lm::sizes::Annotation;
use lm::term::{FunName, Span, Supply};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// The state of a check.
pub struct Checker {
    pub(super) options: CheckOptions,
    pub(super) functions: Functions,
    pub(super) scope: Scope,
    pub(super) supply: Supply,
    /// The types of a built-in's type variables while its body is checked.
    pub(super) expansion: Option<Named>,
    pub(super) copies: Copies,
    /// The checked part of the program so far.
    pub(super) checked: Checked,
    /// Functions whose bodies have errors.
    pub(super) unsound: IndexSet<FunName>,
    /// The records that were asked for; none where there is an error.
    pub(super) records: IndexMap<FunName, Option<Type>>,
    /// The sizes that types of variables of functions say, by the number of the variable.
    pub(super) annotations: FxHashMap<u32, Annotation>,
    /// The numbers of variables that are size variables of a definition.
    pub(super) size_variables: FxHashSet<u32>,
    pub(super) suggestions: Suggestions,
    pub(super) errors: Vec<Diagnostic>,
    pub(super) warnings: Vec<Diagnostic>,
}

impl Checker {
    /// Starts a check.
    pub(super) fn new(options: CheckOptions) -> Checker {
        Checker {
            options,
            functions: Functions::default(),
            scope: Scope::default(),
            supply: Supply::default(),
            expansion: None,
            copies: Copies::default(),
            checked: Checked::default(),
            unsound: IndexSet::new(),
            records: IndexMap::new(),
            annotations: FxHashMap::default(),
            size_variables: FxHashSet::default(),
            suggestions: Suggestions::default(),
            errors: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reports an error at a place, and returns `None`, the result of checking a wrong part.
    pub(super) fn fail<T>(&mut self, error: Diagnostic, span: Span) -> Option<T> {
        self.errors.push(error.at(span));
        None
    }
}
