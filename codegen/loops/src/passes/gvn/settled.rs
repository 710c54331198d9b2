//! Finds what a loop carries but never changes, though loops inside carry it on.
//!
//! ```text
//! x = for .. carrying (y = a) { z = for .. carrying (w = y) { .. yield a }; .. yield z }     x, y, z and w are a
//! ```
//!
//! It is assumed that y is a. If that gives a for the next iteration, it is so for all of them. The sizes of a state that
//! goes through nested folds are such values.

use crate::ir::{Block, For, Local, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

type Values = FxHashMap<Local, Operand>;

/// Returns whether the i-th carried local keeps its first value, given what some locals are known to be.
pub(super) fn is_settled(looped: &For, i: usize, known: &Values) -> bool {
    let (y, init) = &looped.carried[i];
    if looped.body.results[i].local().is_none_or(|x| !is_passed_on(&looped.body, x)) {
        return false;
    }
    let assumed = Values::from_iter([(*y, init.clone())]);
    let (found, opaque) = (Values::default(), FxHashSet::default());
    let mut finder = Finder { known, assumed, found, opaque, blocks: vec![&looped.body] };
    finder.value(&looped.body.results[i]).same(init)
}

/// Returns whether a statement of a block with blocks sets a local.
fn is_passed_on(block: &Block, x: Local) -> bool {
    block.stmts.iter().any(|stmt| stmt.has_blocks() && stmt.targets().contains(&x))
}

struct Finder<'a> {
    known: &'a Values,
    assumed: Values,
    /// What others are if all that is assumed is so: conditionals ask for them in both arms.
    found: Values,
    /// The locals that are nothing but themselves.
    opaque: FxHashSet<Local>,
    /// The blocks around, the innermost last.
    blocks: Vec<&'a Block>,
}

impl<'a> Finder<'a> {
    /// Returns what an operand is, as far as it is passed on.
    fn value(&mut self, a: &Operand) -> Operand {
        let mut a = a.clone();
        while let Some(other) = a.local().and_then(|x| self.assumed.get(&x).or_else(|| self.known.get(&x))) {
            a = other.clone();
        }
        let Some(x) = a.local().filter(|x| !self.opaque.contains(x)) else { return a };
        if let Some(found) = self.found.get(&x) {
            return found.clone();
        }
        let sets = |stmt: &&'a Stmt| stmt.has_blocks() && stmt.targets().contains(&x);
        let Some(stmt) = self.blocks.iter().rev().find_map(|block| block.stmts.iter().find(sets)) else { return a };
        let i = stmt.targets().iter().position(|y| *y == x).expect("it sets the local");
        let found = match stmt {
            Stmt::If(_, _, then, other) => {
                let value = self.value_in(then, i);
                (value.same(&self.value_in(other, i))).then_some(value)
            }
            Stmt::For(looped) => {
                let (y, init) = &looped.carried[i];
                let init = self.value(init);
                self.assumed.insert(*y, init.clone());
                let holds = self.value_in(&looped.body, i).same(&init);
                if !holds {
                    self.assumed.remove(y);
                    self.found.clear();
                }
                holds.then_some(init)
            }
            _ => None,
        };
        match &found {
            Some(found) => drop(self.found.insert(x, found.clone())),
            None => drop(self.opaque.insert(x)),
        }
        found.unwrap_or(a)
    }

    fn value_in(&mut self, block: &'a Block, i: usize) -> Operand {
        self.blocks.push(block);
        let value = self.value(&block.results[i]);
        self.blocks.pop();
        value
    }
}
