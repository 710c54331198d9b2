//! Follows a strategy over whole definitions: rewriting, passes and stages in turn.
//!
//! ```text
//! split ; pass(cse) ; stage("Loops fused", fuse)   =   rewrite split, run cse, rewrite fuse, show "Loops fused"
//! ```
//!
//! `;` is between definitions. What has neither passes nor stages nor `;` around it is applied to terms.

use super::combinator::Combinator;
use super::tree::Strategy;

/// A part of a strategy over definitions.
#[derive(Clone, Copy, Debug)]
pub enum Action<'a> {
    /// A strategy without passes and stages is to be applied to the terms.
    Rewrite(&'a Strategy),
    /// The pass of that name is to be run.
    Pass(&'a str),
    /// The definition is the result of the stage of that heading.
    Stage(&'a str),
}

/// Does an action on a definition; returns `None` where a strategy fails.
pub type Act<'a, T, E> = dyn FnMut(Action, &T) -> Result<Option<T>, E> + 'a;

/// Applies a strategy to a definition; returns `None` when it fails. `act` does each action and returns its result, or
/// `None` where it fails. A stage is shown when it has succeeded, whatever comes later.
pub fn drive<T: Clone, E>(s: &Strategy, def: &T, act: &mut Act<T, E>) -> Result<Option<T>, E> {
    match s {
        Strategy::Id => Ok(Some(def.clone())),
        Strategy::Fail => Ok(None),
        Strategy::Placed(_, s) => drive(s, def, act),
        Strategy::Pass(name) => act(Action::Pass(name), def),
        Strategy::Stage(heading, s) => match drive(s, def, act)? {
            Some(def) => act(Action::Stage(heading), &def),
            None => Ok(None),
        },
        Strategy::Seq(a, b) => match drive(a, def, act)? {
            Some(def) => drive(b, &def, act),
            None => Ok(None),
        },
        _ if !s.has_passes() => act(Action::Rewrite(s), def),
        Strategy::Choice(a, b) => match drive(a, def, act)? {
            Some(def) => Ok(Some(def)),
            None => drive(b, def, act),
        },
        Strategy::With(Combinator::Try, s) => Ok(Some(drive(s, def, act)?.unwrap_or_else(|| def.clone()))),
        _ => panic!("a pass in a loop or a traversal: the check of strategies admits none"),
    }
}
