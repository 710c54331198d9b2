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
pub(super) struct Contents {
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
    pub(super) fn hold(&mut self, roots: &Roots, inner: &Roots) -> bool {
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
    pub(super) fn inside(&self, roots: &Roots) -> Roots {
        let mut inside = if roots.is_disjoint(&self.common) { Roots::new() } else { self.in_common.clone() };
        for root in roots.without(&self.common).iter() {
            self.of.get(&root).into_iter().for_each(|within| inside.extend(within));
        }
        inside
    }

    /// Returns the roots, and those of all that may lie in them.
    pub(super) fn reached_from(&self, roots: &Roots) -> Roots {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Local;

    fn set(locals: impl IntoIterator<Item = u32>) -> Roots {
        let mut set = Roots::new();
        locals.into_iter().for_each(|x| set.extend(&Roots::single(Root::Made(Local(x)))));
        set
    }

    #[test]
    fn what_lies_in_few_is_told_apart() {
        let mut contents = Contents::default();
        assert!(contents.hold(&set([1, 2]), &set([3])) && contents.hold(&set([2]), &set([4])));
        assert!(!contents.hold(&set([1]), &set([3])));
        assert_eq!((contents.inside(&set([1])), contents.inside(&set([2, 5]))), (set([3]), set([3, 4])));
    }

    #[test]
    fn what_lies_in_very_many_lies_in_each() {
        let mut contents = Contents::default();
        contents.hold(&set([1]), &set([200]));
        contents.hold(&set([2]), &set([201]));
        assert!(contents.hold(&set(0..100), &set([202])) && !contents.hold(&set(0..100), &set([202])));
        assert_eq!(contents.inside(&set([50])), set([200, 201, 202]));
        assert_eq!(contents.inside(&set([150])), set([]));
        assert!(contents.hold(&set([70]), &set([203])));
        assert_eq!(contents.inside(&set([71, 150])), set([200, 201, 202, 203]));
    }

    #[test]
    fn roots_are_reached_through_roots() {
        let mut contents = Contents::default();
        contents.hold(&set([300]), &set([5]));
        contents.hold(&set(0..100), &set([200]));
        contents.hold(&set([200]), &set([201, 300]));
        assert_eq!(contents.reached_from(&set([300])), set([5, 200, 201, 300]));
        assert_eq!(contents.reached_from(&set([200])), set([5, 200, 201, 300]));
        assert_eq!(contents.reached_from(&set([201])), set([201]));
    }
}
