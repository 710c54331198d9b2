//! Finds the statements that slices keep. The least solution is found for all functions at once, and a function is cut
//! in one way for all of its callers.

use super::facts::{SliceFacts, StmtNeeds, has_casts};
use crate::analyses::alias::Summary;
use crate::analyses::independence::bests;
use crate::ir::{Block, For, Function, Local, Memory, Operand, Stmt, Ty};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Holds the statements that the slices of some functions keep.
#[derive(Debug)]
pub(super) struct Needs<'a> {
    functions: &'a [Function],
    summaries: &'a [Summary],
    facts: FxHashMap<usize, SliceFacts<'a>>,
}

impl<'a> Needs<'a> {
    /// Finds the needs of functions, given by number. Calls from outside use no results.
    pub(super) fn solve(functions: &'a [Function], all: &BTreeSet<usize>, summaries: &'a [Summary]) -> Needs<'a> {
        let is_typed = !all.iter().any(|i| has_casts(&functions[*i]));
        let facts = all.iter().map(|i| (*i, SliceFacts::new(&functions[*i], is_typed, summaries))).collect();
        let mut needs = Needs { functions, summaries, facts };
        loop {
            let before = needs.size();
            // Callees mostly come after their callers: what these need of them is known then.
            all.iter().for_each(|i| needs.visit_function(*i));
            if needs.size() == before {
                return needs;
            }
        }
    }

    /// Returns what stays of a function.
    pub(super) fn facts(&self, i: usize) -> &SliceFacts<'a> {
        &self.facts[&i]
    }

    fn size(&self) -> usize {
        self.facts.values().map(SliceFacts::size).sum()
    }

    fn visit_function(&mut self, i: usize) {
        let function = &self.functions[i];
        let facts = self.facts.remove(&i).expect("all functions that are reached have facts");
        let mut walk = Walk { needs: self, at: i, facts };
        walk.visit_results(function);
        walk.visit_block(&function.body, true);
        let facts = walk.facts;
        self.facts.insert(i, facts);
    }
}

/// One function, from its end to its start, with what is known of the others.
struct Walk<'a, 'b> {
    needs: &'b mut Needs<'a>,
    at: usize,
    facts: SliceFacts<'a>,
}

impl<'a> Walk<'a, '_> {
    /// Records what callers need of the results.
    fn visit_results(&mut self, function: &Function) {
        let facts = &mut self.facts;
        for (i, ty) in facts.left.clone() {
            facts.read_all(&Operand::Local(function.params[i]), &FxHashSet::from_iter([ty]));
        }
        let results_read = facts.results_read.clone();
        for (i, a) in function.body.results.iter().enumerate() {
            if facts.results[i] {
                facts.use_operand(a);
            }
            facts.read_all(a, &results_read);
        }
    }

    fn visit_block(&mut self, block: &Block, is_top: bool) -> StmtNeeds {
        let mut all = StmtNeeds::default();
        for stmt in block.stmts.iter().rev() {
            let outcome = self.visit_stmt(stmt, all, is_top);
            if outcome.kept {
                self.facts.kept.insert(stmt);
            }
            all.kept |= outcome.kept;
            all.guarded |= outcome.guarded;
            all.strict |= outcome.strict;
        }
        all
    }

    fn visit_stmt(&mut self, stmt: &Stmt, later: StmtNeeds, is_top: bool) -> StmtNeeds {
        match stmt {
            Stmt::If(xs, condition, then, other) => {
                for (i, _) in xs.iter().enumerate().filter(|(_, x)| self.facts.used.contains(x)).collect::<Vec<_>>() {
                    [then, other].into_iter().for_each(|arm| self.facts.use_operand(&arm.results[i]));
                }
                let arms = [then, other].map(|arm| self.visit_block(arm, false));
                let kept = arms.iter().any(|arm| arm.kept) || self.is_used(stmt);
                if kept {
                    self.facts.use_operand(condition);
                }
                let [guarded, strict] = [arms.iter().any(|arm| arm.guarded), arms.iter().any(|arm| arm.strict)];
                StmtNeeds { kept, guarded, strict }
            }
            Stmt::For(looped) => {
                for (i, (y, init)) in looped.carried.iter().enumerate() {
                    if self.facts.used.contains(y) || self.facts.used.contains(&looped.results[i]) {
                        self.facts.use_operand(init);
                        self.facts.use_operand(&looped.body.results[i]);
                    }
                }
                self.mark_best_places(looped);
                let body = self.visit_block(&looped.body, false);
                let kept = body.kept || self.is_used(stmt);
                if kept {
                    [&looped.from, &looped.to].into_iter().for_each(|a| self.facts.use_operand(a));
                }
                StmtNeeds { kept, ..body }
            }
            Stmt::Call(xs, callee, args) => self.visit_call(xs, callee.0, args, is_top),
            stmt => {
                let kept = self.stays(stmt, later, is_top);
                if kept {
                    stmt.operands().into_iter().for_each(|a| self.facts.use_operand(a));
                    self.mark_seen(stmt);
                }
                if kept { self.facts.guarded(stmt) } else { StmtNeeds::default() }
            }
        }
    }

    /// Which lane has the first of equals, or the last, its place tells: nothing else in the loop uses it.
    fn mark_best_places(&mut self, looped: &For) {
        if looped.lanes == 1 {
            return;
        }
        for best in bests(&self.facts.function.locals, looped) {
            let is_used =
                |i: usize| [looped.carried[i].0, looped.results[i]].iter().any(|x| self.facts.used.contains(x));
            if best.members().any(is_used) {
                self.facts.used.extend(best.place.map(|i| looped.results[i]));
            }
        }
    }

    fn is_used(&self, stmt: &Stmt) -> bool {
        stmt.targets().iter().any(|x| self.facts.used.contains(x))
    }

    /// Returns whether a statement without blocks stays, not a call.
    fn stays(&self, stmt: &Stmt, later: StmtNeeds, is_top: bool) -> bool {
        match stmt {
            Stmt::Memory(Memory::Alloc { .. } | Memory::Release(_) | Memory::Slide(..)) => true,
            Stmt::Check { condition, .. } => {
                let is_plain = |a: &&Operand| a.local().is_none_or(|x| self.facts.plain.contains(&x));
                let index = condition.local().and_then(|c| self.facts.below.get(&c));
                let is_idle = index.is_some_and(|index| !self.facts.uses(*index));
                later.strict || later.guarded && !is_idle || is_top && stmt.operands().iter().all(is_plain)
            }
            Stmt::Write(_) => false,
            stmt => stmt.writes().map_or_else(|| self.is_used(stmt), |b| self.facts.shows(b)),
        }
    }

    /// The elements of buffers that a statement sees.
    fn mark_seen(&mut self, stmt: &Stmt) {
        if let Stmt::Memory(Memory::Load(_, b, _) | Memory::Move { from: b, .. }) = stmt {
            let facts = &mut self.facts;
            let ty = facts.ty(b);
            let roots = b.local().map(|b| facts.aliases.roots_of(b)).filter(|roots| !roots.is_empty());
            let roots = roots.unwrap_or_else(|| facts.aliases.all().clone());
            facts.read.extend(roots.iter().map(|root| (root, ty)));
        }
    }

    fn visit_call(&mut self, xs: &[Local], callee: usize, args: &[Operand], is_top: bool) -> StmtNeeds {
        let left = self.needs.summaries[callee].written.iter();
        let left: FxHashSet<(usize, Ty)> =
            left.flat_map(|i| self.facts.reads(&args[*i]).into_iter().map(|ty| (*i, ty))).collect();
        let used: Vec<bool> = xs.iter().map(|x| self.facts.used.contains(x)).collect();
        let kept = self.needs.functions[callee].allocates || used.contains(&true) || !left.is_empty();
        // The callee may have checks of sizes that are passed on.
        let checks = is_top && callee != self.at && !self.theirs(callee).kept.is_empty();
        let kept = kept || checks;
        if !kept {
            return StmtNeeds::default();
        }
        let results_read: FxHashSet<Ty> = xs.iter().flat_map(|x| self.facts.reads(&Operand::Local(*x))).collect();
        let theirs = self.theirs(callee);
        theirs.results.iter_mut().zip(&used).for_each(|(theirs, ours)| *theirs |= ours);
        theirs.results_read.extend(results_read);
        theirs.left.extend(left);
        for (i, p) in self.needs.functions[callee].params.iter().enumerate() {
            let theirs = self.theirs(callee);
            let (is_used, read) = (theirs.uses(*p), theirs.reads(&Operand::Local(*p)));
            if is_used {
                self.facts.use_operand(&args[i]);
            }
            self.facts.read_all(&args[i], &read);
        }
        // What it loads is behind checks of its own.
        StmtNeeds { kept, ..StmtNeeds::default() }
    }

    /// Returns the facts of a callee, which may be the function itself.
    fn theirs(&mut self, callee: usize) -> &mut SliceFacts<'a> {
        if callee == self.at { &mut self.facts } else { self.needs.facts.get_mut(&callee).expect("it is reached") }
    }
}
