//! Selects passes by their names.

use super::pass::{Checks, Pass};
use super::{ORDER, PASSES};
use crate::error::Error;

/// The name by which [`Selection::Through`] selects the loops as lowering makes them.
pub const LOWERING: &str = "lowering";

/// Returns the names of the passes, and of what they start from.
fn names() -> String {
    let names: Vec<&str> = [LOWERING].into_iter().chain(PASSES.iter().map(|pass| pass.name)).collect();
    names.join(", ")
}

/// Which passes run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    #[default]
    All,
    /// The passes up to the last run of the named one, or none for [`LOWERING`].
    Through(String),
    /// The passes with these names.
    Only(Vec<String>),
}

impl Selection {
    /// Returns the passes in the order in which they run, for a way of checking.
    ///
    /// Errors: a name is not that of a pass.
    pub fn passes(&self, checks: Checks) -> Result<Vec<&'static Pass>, Error> {
        let is_pass = |name: &str| PASSES.iter().any(|pass| pass.name == name);
        let known = |name: &str| {
            is_pass(name).then_some(()).ok_or_else(|| Error::UnknownPass { name: name.to_string(), known: names() })
        };
        let chosen: Vec<&str> = match self {
            Selection::All => ORDER.to_vec(),
            Selection::Through(last) if last == LOWERING => vec![],
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
