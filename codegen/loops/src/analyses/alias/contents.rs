//! Holds what may lie in roots of memory.
//!
//! Each root has contents of its own. The exception are roots that one buffer may be a part of together with very many
//! others: what lies in one of these lies in all of them. They would be gone through one by one for each such buffer,
//! and what lies in them is mostly the same. What they are is told apart as ever.

use crate::analyses::roots::{Root, Roots};
use rustc_hash::FxHashMap;

/// More roots than so many of one buffer are very many.
const MANY: usize = 64;

/// The roots that lie in roots.
#[derive(Debug, Default)]
pub struct Contents {
    of: FxHashMap<Root, Roots>,
    /// The roots of which it is known together.
    common: Roots,
    in_common: Roots,
}

impl Contents {
    /// Returns what is known of any root.
    pub(super) fn all(&self) -> impl Iterator<Item = &Roots> {
        self.of.values().chain([&self.in_common])
    }

    /// Very many roots are known together from here on. Whether more lies in any of them than before.
    pub(super) fn join(&mut self, roots: &Roots) -> bool {
        if roots.len() <= MANY {
            return false;
        }
        let joined = self.common.add_new(roots);
        let within: Vec<Roots> = joined.iter().filter_map(|root| self.of.remove(&root)).collect();
        within.iter().for_each(|within| self.in_common.extend(within));
        !joined.is_empty()
    }

    /// Notes that each of the second roots may lie in each of the first. Whether that is new.
    pub fn hold(&mut self, roots: &Roots, inner: &Roots) -> bool {
        let mut is_new = self.join(roots);
        for root in roots.without(&self.common).iter() {
            is_new |= self.of.entry(root).or_default().add(inner);
        }
        if !roots.is_disjoint(&self.common) {
            is_new |= self.in_common.add(inner);
        }
        is_new
    }

    /// Returns what lies in any of the roots.
    pub fn inside(&self, roots: &Roots) -> Roots {
        let mut inside = if roots.is_disjoint(&self.common) { Roots::new() } else { self.in_common.clone() };
        for root in roots.without(&self.common).iter() {
            self.of.get(&root).into_iter().for_each(|within| inside.extend(within));
        }
        inside
    }

    /// Returns the roots, and those of all that may lie in them.
    pub fn reached_from(&self, roots: &Roots) -> Roots {
        let mut reached = roots.clone();
        let mut new = roots.clone();
        let mut is_common_known = false;
        while !new.is_empty() {
            let mut next = Roots::new();
            if !is_common_known && !new.is_disjoint(&self.common) {
                is_common_known = true;
                next.extend(&reached.add_new(&self.in_common));
            }
            for within in new.without(&self.common).iter().filter_map(|root| self.of.get(&root)) {
                next.extend(&reached.add_new(within));
            }
            new = next;
        }
        reached
    }
}
