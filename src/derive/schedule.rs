//! The strategies of a run: those of lmc, or those of a file in their place.
//!
//! The texts are in `lm/strategies`. A pass asks for a strategy by its name.

use crate::derive::strategy_mistake::diagnostic;
use crate::ks::diagnostic::Diagnostic;
use crate::ks::source::Source;
use lm::strategy::{BUILT_IN, File, Known, Library, Strategy};
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

#[rustfmt::skip]
/// The strategies that lmc applies, and the passes that a strategy may name.
pub static KNOWN: Known = Known {
    passes: &["apart", "inline", "hoist", "anf", "cse", "dce", "inline_single_uses"],
    of_terms: &[
        "jacobian", "transpose", "reverse-half", "apply", "sides", "normal", "returned-map", "figures-2-and-4",
        "figure-5", "matrix", "values",
    ],
    of_definitions: &["directions", "selections", "dual"],
};

static OF_LMC: LazyLock<Strategies> = LazyLock::new(|| {
    let library = Library::new(KNOWN, &BUILT_IN);
    Strategies(Arc::new(library.unwrap_or_else(|refused| panic!("the strategies of lmc: {:?}", refused.mistakes))))
});

/// The strategies of a run.
#[derive(Clone, Debug)]
pub struct Strategies(Arc<Library>);

/// The strategies of lmc.
impl Default for Strategies {
    fn default() -> Strategies {
        OF_LMC.clone()
    }
}

/// The same library, not an equal one.
impl PartialEq for Strategies {
    fn eq(&self, other: &Strategies) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Strategies {
    type Target = Library;

    fn deref(&self) -> &Library {
        &self.0
    }
}

impl Strategies {
    /// Returns the strategies of lmc, with the definitions of a text in the place of those of the same name.
    ///
    /// Errors: the mistakes of the text, and the source in which they are.
    pub fn with(name: &str, text: &str) -> Result<Strategies, (Source, Vec<Diagnostic>)> {
        match OF_LMC.0.with(name, text) {
            Ok(library) => Ok(Strategies(Arc::new(library))),
            Err(refused) => {
                let mistakes = refused.mistakes.iter().map(|mistake| diagnostic(mistake, &refused.names));
                Err((followed_by(None, &refused.files), mistakes.collect()))
            }
        }
    }

    /// Returns a source with the texts of the strategies behind it.
    pub fn behind(&self, source: &Source) -> Source {
        followed_by(Some(source.clone()), self.0.files())
    }
}

/// Returns a source with files behind it.
fn followed_by(source: Option<Source>, files: &[File]) -> Source {
    let sources = files.iter().map(|file| Source::new(&file.name, &file.text));
    let all = source.into_iter().chain(sources).reduce(|before, next| before.followed_by(next));
    all.expect("a library has a text")
}

/// Returns one of lmc's own strategies. Panics when there is none: their names are part of the program.
pub fn strategy(name: &str) -> &'static Strategy {
    OF_LMC.0.strategy(name)
}
