//! The passes over loops, in order. Each takes any module that keeps the rules of loops, and leaves one that computes the
//! same values, prints the same text and stops with the same errors.
//!
//! No pass imports another; what they share is in `loops` and `ranges`.

mod bounds;
mod inline;
pub(crate) mod lanes;
mod motion;
mod rectangular;
mod share;
mod sweep;
mod tables;
mod unchecked;
mod versions;

use crate::error::Error;
use crate::loops::{self, Module};
use lm::timing::Timings;

/// A pass.
pub struct Pass {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// When it runs.
    when: fn(Checks) -> bool,
    run: fn(&mut Module),
}

/// Every pass, in the order in which they run.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "unchecked",
        purpose: "leaves out the checks of indices and sizes",
        when: |checks| checks == Checks::None,
        run: unchecked::unchecked,
    },
    Pass {
        name: "inline",
        purpose: "puts functions that are small, or called once, in the place of their calls",
        when: |_| true,
        run: inline::inline,
    },
    Pass {
        name: "rectangular",
        purpose: "finds out once that all rows of a parameter have one size",
        when: |_| true,
        run: rectangular::rectangular,
    },
    Pass {
        name: "share",
        purpose: "computes and loads once what is known to be the same, and constants not at all",
        when: |_| true,
        run: share::share,
    },
    Pass {
        name: "motion",
        purpose: "does before a loop what is the same in each iteration",
        when: |_| true,
        run: motion::motion,
    },
    Pass {
        name: "bounds",
        purpose: "drops the checks that always hold",
        when: |checks| checks == Checks::Hoisted,
        run: bounds::bounds,
    },
    Pass {
        name: "versions",
        purpose: "checks ranges before a loop in place of each index in it",
        when: |checks| checks == Checks::Hoisted,
        run: versions::versions,
    },
    Pass {
        name: "tables",
        purpose: "computes once, before a loop, what inner loops compute again in each iteration",
        when: |_| true,
        run: tables::tables,
    },
    Pass { name: "sweep", purpose: "drops what nobody uses", when: |_| true, run: sweep::sweep },
    Pass {
        name: "lanes",
        purpose: "runs iterations of loops at once, in the lanes of vectors",
        when: |_| true,
        run: lanes::lanes,
    },
];

/// What [`Selection::Through`] calls the loops as lowering makes them.
pub const LOWER: &str = "lower";

/// The names of the passes, and of what they start from.
pub(crate) fn names() -> String {
    let names: Vec<&str> = [LOWER].into_iter().chain(PASSES.iter().map(|pass| pass.name)).collect();
    names.join(", ")
}

/// Where indices and sizes are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    /// Where the program has them.
    Full,
    /// Before loops where that is enough, and not at all where it is known that they hold. Errors are the same.
    #[default]
    Hoisted,
    /// Nowhere: unsafe. A program that would stop with such an error does anything at all.
    None,
}

/// Which passes run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    #[default]
    All,
    /// Those up to the one of that name, or none for [`LOWER`].
    Through(String),
    /// Those of these names.
    Only(Vec<String>),
}

impl Selection {
    /// The passes, for a way of checking.
    ///
    /// Errors: a name is not that of a pass.
    fn passes(&self, checks: Checks) -> Result<Vec<&'static Pass>, Error> {
        let place = |name: &str| {
            let found = PASSES.iter().position(|pass| pass.name == name);
            found.ok_or_else(|| Error::UnknownPass(name.to_string()))
        };
        let chosen: Vec<&Pass> = match self {
            Selection::All => PASSES.iter().collect(),
            Selection::Through(last) if last == LOWER => vec![],
            Selection::Through(last) => PASSES[..=place(last)?].iter().collect(),
            Selection::Only(names) => {
                let places = names.iter().map(|name| place(name)).collect::<Result<Vec<_>, _>>()?;
                PASSES.iter().enumerate().filter(|(i, _)| places.contains(i)).map(|(_, pass)| pass).collect()
            }
        };
        Ok(chosen.into_iter().filter(|pass| (pass.when)(checks)).collect())
    }
}

/// Runs passes; in debug builds, the rules of loops are checked after each.
///
/// Errors: as [`Selection::passes`].
pub(crate) fn run(module: &mut Module, selection: &Selection, checks: Checks, timings: &Timings) -> Result<(), Error> {
    for pass in selection.passes(checks)? {
        timings.time(pass.name, || (pass.run)(module));
        module.mark();
        if cfg!(debug_assertions) {
            let broken = |violation| panic!("pass {} broke a rule: {violation}\n{module}", pass.name);
            loops::verify(module).unwrap_or_else(broken);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
