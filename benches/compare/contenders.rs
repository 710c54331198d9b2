//! The contenders: a row for each column of the tables.

use native::Options;

/// Options of lmc.
pub type MakeOptions = fn() -> Options;

/// Whose code it is.
pub enum Kind {
    /// Ours, with some options.
    Lmc(MakeOptions),
    /// Written by hand: `cc/NAME.cc`, or, where a variant is named, `cc/NAME_VARIANT.cc`, if it is there; the options
    /// of the compiler.
    ByHand(&'static str, &'static [&'static str]),
    /// A program in `python/`, and what it is called with.
    Python(&'static str, &'static [&'static str]),
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

/// Which contenders are wanted.
pub struct Selection {
    /// The most threads of chosen contenders.
    pub threads: usize,
    /// Prefixes of chosen names, or whole names with a point after them. If there are none, all are chosen.
    pub names: Vec<String>,
}

impl Selection {
    /// Returns whether a contender is chosen. The reference, lmc with one thread, always is.
    pub fn has(&self, contender: usize) -> bool {
        let Contender { name, threads, kind } = &CONTENDERS[contender];
        let named = self.names.is_empty()
            || self.names.iter().any(|wanted| match wanted.strip_suffix('.') {
                Some(whole) => *name == whole,
                None => name.starts_with(wanted.as_str()),
            });
        *threads <= self.threads && (named || matches!(kind, Kind::Lmc(_)))
    }
}

/// All of them. The first row of each number of threads is the one that targets are for.
pub const CONTENDERS: &[Contender] = &[
    lmc("lmc", 1, Options::default),
    by_hand("C++", 1, "", &["-O3"]),
    by_hand("C++ fast-math", 1, "", &["-O3", "-ffast-math"]),
    by_hand("C++ in lanes", 1, "lanes", &["-O3", "-ffast-math"]),
    python("JAX", 1, "with_jax.py", &[]),
    python("PyTorch", 1, "with_torch.py", &[]),
    python("PyTorch compiled", 1, "with_torch.py", &["compiled"]),
    lmc("lmc", 2, Options::default),
    by_hand("C++", 2, "", &["-O3", "-fopenmp"]),
    by_hand("C++ fast-math", 2, "", &["-O3", "-ffast-math", "-fopenmp"]),
    python("JAX", 2, "with_jax.py", &[]),
    python("PyTorch", 2, "with_torch.py", &[]),
];

const fn lmc(name: &'static str, threads: usize, options: MakeOptions) -> Contender {
    Contender { name, threads, kind: Kind::Lmc(options) }
}

const fn by_hand(
    name: &'static str,
    threads: usize,
    variant: &'static str,
    options: &'static [&'static str],
) -> Contender {
    Contender { name, threads, kind: Kind::ByHand(variant, options) }
}

const fn python(
    name: &'static str,
    threads: usize,
    script: &'static str,
    arguments: &'static [&'static str],
) -> Contender {
    Contender { name, threads, kind: Kind::Python(script, arguments) }
}
