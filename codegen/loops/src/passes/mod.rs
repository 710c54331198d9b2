//! The passes over loops, in order. Each takes any module that keeps the rules of loops, and leaves one that computes
//! the same values, prints the same text and stops with the same errors.
//!
//! No pass imports another; what they share is in `loops` and `ranges`.

mod adds;
mod arguments;
mod arms;
mod bounds;
mod calls;
mod carry;
mod fusion;
mod inline;
mod interchange;
mod jam;
pub mod lanes;
mod motion;
mod near;
mod nest;
mod peel;
mod place;
mod rectangular;
mod reuse;
mod scopes;
mod share;
mod split;
mod stack;
mod stored;
mod sweep;
mod tables;
pub mod threads;
mod unchecked;
mod unroll;
mod versions;

use crate::error::Error;
use crate::ir::Module;
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

/// Every pass, in the order in which they first run.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "inline",
        purpose: "puts functions that are small, or called once, in the place of their calls",
        when: |_| true,
        run: inline::inline,
    },
    Pass {
        name: "scopes",
        purpose: "ends scopes whose values would be copied with those around them",
        when: |_| true,
        run: scopes::scopes,
    },
    Pass {
        name: "rectangular",
        purpose: "finds out once that all rows of a parameter have one size",
        when: |_| true,
        run: rectangular::rectangular,
    },
    Pass {
        name: "arguments",
        purpose: "puts numbers in the place of parameters that are the same number in each call",
        when: |_| true,
        run: arguments::arguments,
    },
    Pass {
        name: "share",
        purpose: "computes and loads once what is known to be the same, and constants not at all",
        when: |_| true,
        run: share::share,
    },
    Pass {
        name: "place",
        purpose: "makes buffers that outlive a scope where they stay",
        when: |_| true,
        run: place::place,
    },
    Pass {
        name: "motion",
        purpose: "does before a loop what is the same in each iteration",
        when: |_| true,
        run: motion::motion,
    },
    Pass {
        name: "arms",
        purpose: "makes before a conditional the buffers that both its arms make",
        when: |_| true,
        run: arms::arms,
    },
    Pass {
        name: "unchecked",
        purpose: "leaves out the checks of indices and sizes",
        when: |checks| checks == Checks::None,
        run: unchecked::unchecked,
    },
    Pass {
        name: "stored",
        purpose: "stores what one loop computes for a later one that would compute it again",
        when: |_| true,
        run: stored::stored,
    },
    Pass {
        name: "bounds",
        purpose: "drops the checks that always hold",
        when: |checks| checks == Checks::Hoisted,
        run: bounds::bounds,
    },
    Pass {
        name: "carry",
        purpose: "adds up in a register what all iterations of a loop add to one element",
        when: |_| true,
        run: carry::carry,
    },
    Pass {
        name: "fusion",
        purpose: "makes one loop of loops over the same range, and buffers that only pass values on go",
        when: |_| true,
        run: fusion::fusion,
    },
    Pass {
        name: "split",
        purpose: "makes loops over ranges of a loop with a conditional that depends on where its index is",
        when: |_| true,
        run: split::split,
    },
    Pass {
        name: "nest",
        purpose: "makes a nest of loops of one that divides its index",
        when: |_| true,
        run: nest::nest,
    },
    Pass { name: "unroll", purpose: "writes out loops of few iterations", when: |_| true, run: unroll::unroll },
    Pass {
        name: "versions",
        purpose: "checks ranges before a loop in place of each index in it",
        when: |checks| checks == Checks::Hoisted,
        run: versions::versions,
    },
    Pass {
        name: "calls",
        purpose: "puts what loops call in the place of the calls, where else they could run in lanes",
        when: |_| true,
        run: calls::calls,
    },
    Pass {
        name: "peel",
        purpose: "ends recursions in the caller, where most calls are their last ones",
        when: |_| true,
        run: peel::peel,
    },
    Pass {
        name: "tables",
        purpose: "computes once, before a loop, what inner loops compute again in each iteration",
        when: |_| true,
        run: tables::tables,
    },
    Pass {
        name: "stack",
        purpose: "puts small buffers of constant size on the stack",
        when: |_| true,
        run: stack::stack,
    },
    Pass { name: "adds", purpose: "adds to what is loaded, added to and stored", when: |_| true, run: adds::adds },
    Pass { name: "sweep", purpose: "drops what nobody uses", when: |_| true, run: sweep::sweep },
    Pass {
        name: "interchange",
        purpose: "gives each sum in memory a nest of loops of its own, those over its terms innermost",
        when: |_| true,
        run: interchange::interchange,
    },
    Pass {
        name: "lanes",
        purpose: "runs iterations of loops at once, in the lanes of vectors",
        when: |_| true,
        run: lanes::lanes,
    },
    Pass {
        name: "near",
        purpose: "copies side by side the rows that lanes go through more than once",
        when: |_| true,
        run: near::near,
    },
    Pass {
        name: "threads",
        purpose: "divides loops into chunks, which threads may run",
        when: |_| true,
        run: threads::threads,
    },
    Pass {
        name: "reuse",
        purpose: "makes buffers in the place of others that are done",
        when: |_| true,
        run: reuse::reuse,
    },
    Pass {
        name: "jam",
        purpose: "runs iterations of outer loops side by side, which load once what they share",
        when: |_| true,
        run: jam::jam,
    },
];

/// The passes in the order in which they run: what one leaves may be work for another that ran before.
const ORDER: &[&str] = &[
    "inline",
    "scopes",
    "rectangular",
    "share",
    "arguments",
    "arms",
    "place",
    "motion",
    "share",
    "arms",
    "unchecked",
    "stored",
    "bounds",
    "carry",
    "fusion",
    "split",
    "nest",
    "share",
    "unroll",
    "share",
    "bounds",
    "versions",
    "calls",
    "peel",
    "fusion",
    "share",
    "tables",
    "stack",
    "adds",
    "sweep",
    "interchange",
    "lanes",
    "near",
    "threads",
    "reuse",
    "jam",
];

/// What [`Selection::Through`] calls the loops as lowering makes them.
pub const LOWER: &str = "lower";

/// The names of the passes, and of what they start from.
fn names() -> String {
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
    /// Those up to the last run of the one of that name, or none for [`LOWER`].
    Through(String),
    /// Those of these names.
    Only(Vec<String>),
}

impl Selection {
    /// The passes, for a way of checking.
    ///
    /// Errors: a name is not that of a pass.
    fn passes(&self, checks: Checks) -> Result<Vec<&'static Pass>, Error> {
        let is_pass = |name: &str| PASSES.iter().any(|pass| pass.name == name);
        let known = |name: &str| {
            is_pass(name).then_some(()).ok_or_else(|| Error::UnknownPass { name: name.to_string(), known: names() })
        };
        let chosen: Vec<&str> = match self {
            Selection::All => ORDER.to_vec(),
            Selection::Through(last) if last == LOWER => vec![],
            Selection::Through(last) => {
                known(last)?;
                let end = ORDER.iter().rposition(|name| name == last).expect("each pass runs");
                ORDER[..=end].to_vec()
            }
            Selection::Only(names) => {
                names.iter().try_for_each(|name| known(name))?;
                ORDER.iter().copied().filter(|name| names.iter().any(|chosen| chosen == name)).collect()
            }
        };
        let pass = |name| PASSES.iter().find(|pass| pass.name == name).expect("the order is of passes");
        let chosen = chosen.into_iter().map(pass);
        Ok(chosen.filter(|pass| (pass.when)(checks)).collect())
    }
}

/// Runs passes; in debug builds, the rules of loops are checked after each.
///
/// Errors: as [`Selection::passes`].
pub fn run(module: &mut Module, selection: &Selection, checks: Checks, timings: &Timings) -> Result<(), Error> {
    for pass in selection.passes(checks)? {
        timings.time(pass.name, || (pass.run)(module));
        module.mark();
        if cfg!(debug_assertions) {
            let broken = |violation| panic!("pass {} broke a rule: {violation}\n{module}", pass.name);
            crate::analyses::verify::verify(module).unwrap_or_else(broken);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
