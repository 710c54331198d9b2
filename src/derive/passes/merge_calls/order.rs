//! Orders the bindings of a block.

use lm::rewrites::Rewrites;
use lm::term::{Binding, Kind, Op, Pattern};
use rustc_hash::FxHashMap;

/// Moves tuples and projections, also those by a pattern, right after what they are made of: there they hold back no
/// merge.
pub(super) fn projections_first(all: Vec<Binding>, rewrites: &mut Rewrites) -> Vec<Binding> {
    let last = all.len() - 1;
    let mut after: Vec<Vec<Binding>> = vec![Vec::new(); all.len() + 1];
    // The slot in which each variable is bound: slot 0 is before the block's first binding.
    let mut slots: FxHashMap<u32, usize> = FxHashMap::default();
    let mut slot_of_binding = Vec::with_capacity(all.len());
    for (i, b) in all.into_iter().enumerate() {
        let is_projection = matches!((&b.pattern, b.rhs.kind()), (Pattern::Tuple(_), Kind::Var(_)));
        let is_light = (is_projection || matches!(b.rhs.kind(), Kind::App(Op::Tuple | Op::Get(..), _))) && i < last;
        let needs = lm::scope::occurrences(&b.rhs);
        let earliest = needs.keys().filter_map(|x| slots.get(x)).copied().max().unwrap_or(0);
        // Whether it moves takes a search, for which only a trace has the time.
        let moves = || slot_of_binding[earliest..].iter().any(|slot| *slot > earliest);
        let is_light = is_light && (!rewrites.is_limited() || !moves() || rewrites.may("let-sooner"));
        let slot = if is_light { earliest } else { i + 1 };
        slot_of_binding.push(slot);
        slots.extend(b.pattern.vars().iter().map(|x| (x.id(), slot)));
        match is_light {
            true => after[slot].push(b),
            false => after[slot].insert(0, b),
        }
    }
    after.into_iter().flatten().collect()
}
