//! Contenders: a row for each column of the tables.

use lmc::derive::Derivation;
use lmc::derive::schedule::Strategies;
use lmc::ks::front::Choices;
use native::Options;

/// Whose code it is.
pub enum Kind {
    /// Ours, made in some way.
    Lmc(Way),
    /// Written by hand: `cc/NAME.cc`, or, where a variant is named, `cc/NAME_VARIANT.cc`, if it is there; the options
    /// of the compiler.
    ByHand(&'static str, &'static [&'static str]),
    /// A program in `python/`, and what it is called with.
    Python(&'static str, &'static [&'static str]),
}

/// How lmc makes a program.
#[derive(Clone, Copy)]
pub struct Way {
    /// The options of the compilation.
    pub options: fn() -> Options,
    /// The derivation.
    pub derivation: Derivation,
    /// The text of a file of strategies, and its name; empty for those of lmc.
    pub strategies: (&'static str, &'static str),
}

impl Way {
    /// `lmc compile` without options.
    pub const DEFAULT: Way = Way { options: Options::default, derivation: Derivation::Jacobian, strategies: ("", "") };

    /// Returns the way in which derivatives are made. Panics when the strategies have a mistake.
    pub fn choices(&self) -> Choices {
        let (name, text) = self.strategies;
        let strategies = if text.is_empty() { Ok(Strategies::default()) } else { Strategies::with(name, text) };
        let strategies = strategies.unwrap_or_else(|(_, mistakes)| panic!("{name}: {mistakes:?}"));
        Choices { derivation: self.derivation, strategies, ..Choices::default() }
    }

    /// Returns whether two ways give the same code.
    pub fn is(&self, other: &Way) -> bool {
        std::ptr::fn_addr_eq(self.options, other.options)
            && self.derivation == other.derivation
            && self.strategies == other.strategies
    }
}

/// A column.
pub struct Contender {
    /// Its heading.
    pub name: &'static str,
    /// The number of threads that it may use.
    pub threads: usize,
    /// Whose code it is.
    pub kind: Kind,
}

impl Contender {
    /// A contender with one thread.
    pub const fn new(name: &'static str, kind: Kind) -> Contender {
        Contender { name, threads: 1, kind }
    }

    /// The same with so many threads.
    pub const fn on(self, threads: usize) -> Contender {
        Contender { threads, ..self }
    }
}

/// Which contenders are wanted.
#[derive(Clone)]
pub struct Selection {
    /// The most threads of chosen contenders.
    pub threads: usize,
    /// Prefixes of chosen names, or whole names with a point after them. If there are none, all are chosen.
    pub names: Vec<String>,
}

impl Selection {
    /// Returns whether a contender is chosen. Those of lmc always are: the first of them is the reference.
    pub fn has(&self, Contender { name, threads, kind }: &Contender) -> bool {
        let named = self.names.is_empty()
            || self.names.iter().any(|wanted| match wanted.strip_suffix('.') {
                Some(whole) => *name == whole,
                None => name.starts_with(wanted.as_str()),
            });
        *threads <= self.threads && (named || matches!(kind, Kind::Lmc(_)))
    }
}
