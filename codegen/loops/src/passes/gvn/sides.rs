//! Derives what holds on the two sides of a condition: the condition, and the results of earlier conditionals that
//! asked for it.
//!
//! ```text
//! if c s else t                          =  if c s[c := true] else t[c := false]
//! x = if c a else b;  if c s else t      =  x = if c a else b;  if c s[x := a] else t[x := b]
//! ```
//!
//! a and b are known outside of the first conditional. So a size that is a number on one side of a condition is that
//! number wherever this side is taken again.

use crate::ir::{Block, Local, Operand};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

/// The values of a conditional's result where its condition holds, and where it does not, if they are known outside of
/// it.
type SideValues = [Option<Operand>; 2];

/// Maps conditions to the results of the conditionals on them, with their values.
#[derive(Default)]
pub(super) struct Sides {
    set: FxHashMap<Local, Vec<(Local, SideValues)>>,
}

impl Sides {
    /// Notes what a conditional sets, and what its arms give for that.
    pub(super) fn learn(&mut self, condition: &Operand, xs: &[Local], arms: [&Block; 2]) {
        let Some(condition) = condition.local().filter(|_| !xs.is_empty()) else { return };
        // What blocks in an arm set is not in scope at its end.
        let inside = arms.map(|arm| arm.stmts.iter().flat_map(|stmt| stmt.targets()).collect::<BTreeSet<_>>());
        let known = |side: usize, i: usize| {
            let a = &arms[side].results[i];
            a.local().is_none_or(|x| !inside[side].contains(&x)).then(|| a.clone())
        };
        let set = xs.iter().enumerate().map(|(i, x)| (*x, [known(0, i), known(1, i)]));
        let set = set.filter(|(_, known)| known.iter().any(Option::is_some));
        self.set.entry(condition).or_default().extend(set);
    }

    /// Makes known what is known on one side of a condition. Returns what it is known of.
    pub(super) fn tell(
        &self,
        condition: &Operand,
        holds: bool,
        replaced: &mut FxHashMap<Local, Operand>,
    ) -> Vec<Local> {
        let Some(condition) = condition.local() else { return vec![] };
        let set = self.set.get(&condition).into_iter().flatten();
        let known = set.filter_map(|(x, known)| Some((*x, known[usize::from(!holds)].clone()?)));
        let known: Vec<_> = known.chain([(condition, Operand::Bool(holds))]).collect();
        let mut told = Vec::new();
        for (x, a) in known {
            if let Entry::Vacant(place) = replaced.entry(x) {
                place.insert(a);
                told.push(x);
            }
        }
        told
    }
}
