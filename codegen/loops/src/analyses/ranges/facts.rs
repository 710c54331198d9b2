//! Holds inequalities between linear forms, and derives others from them.
//!
//! ```text
//! j x + s <= 0,  k x + r <= 0 wanted,  j k > 0:     enough is  |j| r - |k| s <= 0, where x is gone
//! ```
//!
//! (Fourier and Motzkin's elimination, backwards from what is wanted, the newest local first, a few steps deep.)
//! A fact may rest on assumptions: that certain locals are no larger than [`ASSUMED`].

use super::linear::Linear;
use crate::ir::Local;
use rustc_hash::FxHashMap;

/// The bound that assumptions put on the absolute value of a local.
pub const ASSUMED: i128 = 1 << 40;

/// The locals of which something is assumed, in order.
pub type Assumed = Vec<Local>;

/// A range of Integers, its ends included.
pub type Range = (i128, i128);

/// All Integers.
pub const ALL: Range = (i64::MIN as i128, i64::MAX as i128);

/// Locals that forms speak of, and what is known of them here.
#[derive(Default)]
pub struct Facts {
    /// The range of each local, and its place in the order in which they were met.
    locals: FxHashMap<Local, (Range, usize)>,
    facts: Vec<Fact>,
    /// The facts that mention a local.
    about: FxHashMap<Local, Vec<usize>>,
    /// A local that was found equal to a form of older ones: facts that follow speak of these only.
    equal: Vec<(Local, Linear)>,
}

struct Fact {
    /// The form that is at most 0.
    form: Linear,
    assumed: Assumed,
}

/// Limits a search: the facts that it may use, and its length.
#[derive(Clone, Copy)]
struct Search {
    with_assumptions: bool,
    depth: usize,
}

const DEPTH: usize = 7;
/// How long ways may be that lead to questions, shorter ones first.
const DEPTHS: [usize; 4] = [1, 2, 4, DEPTH];
const STEPS: usize = 300;
const RESIDUALS: usize = 3;

impl Facts {
    /// A local in a range, from now on.
    pub fn meet(&mut self, x: Local, range: Range) {
        let next = self.locals.len();
        self.locals.entry(x).or_insert((range, next)).0 = range;
    }

    /// Returns what a local is within.
    pub fn range(&self, x: Local) -> Range {
        self.locals.get(&x).map_or(ALL, |(range, _)| *range)
    }

    fn age(&self, x: Local) -> usize {
        self.locals.get(&x).map_or(0, |(_, age)| *age)
    }

    /// The form is not positive.
    pub fn add(&mut self, form: &Linear, assumed: Assumed) {
        let form = self.resolved(form).tightened();
        if form.as_constant().is_none() {
            form.terms().iter().for_each(|(x, _)| self.about.entry(*x).or_default().push(self.facts.len()));
            self.facts.push(Fact { form, assumed });
        }
    }

    /// The form is 0.
    pub fn add_zero(&mut self, form: &Linear) {
        let form = self.resolved(form);
        let negative = form.times(-1);
        self.add(&form, vec![]);
        negative.iter().for_each(|form| self.add(form, vec![]));
        let alone = form.terms().iter().filter(|(_, k)| k.abs() == 1);
        let Some(&(x, k)) = alone.max_by_key(|(x, _)| self.age(*x)) else { return };
        let Some(rest) = form.with(x, &Linear::constant(0)).and_then(|rest| rest.times(-k)) else { return };
        self.equal.push((x, rest));
        // What was known of the local is known of the other side.
        let known: Vec<usize> = self.about.get(&x).cloned().unwrap_or_default();
        for i in known {
            let Fact { form, assumed } = &self.facts[i];
            let (form, assumed) = (form.clone(), assumed.clone());
            self.add(&form, assumed);
        }
    }

    /// To be given to [`Facts::forget_since`] at the end of a block.
    pub fn now(&self) -> (usize, usize) {
        (self.facts.len(), self.equal.len())
    }

    /// Drops what was learnt since.
    pub fn forget_since(&mut self, (facts, equal): (usize, usize)) {
        for fact in self.facts.drain(facts..) {
            for (x, _) in fact.form.terms() {
                let about = self.about.get_mut(x).expect("the fact is about the local");
                about.retain(|i| *i < facts);
            }
        }
        self.equal.truncate(equal);
    }

    /// Returns the form with older locals in place of those that equal them.
    fn resolved(&self, form: &Linear) -> Linear {
        let mut form = form.clone();
        // An equality speaks only of locals that none before it replaces.
        for (x, other) in &self.equal {
            if form.coefficient(*x) != 0 {
                form = form.with(*x, other).unwrap_or(form);
            }
        }
        form
    }

    /// Returns the least and the largest value of a form, by the ranges of its locals alone.
    pub fn range_of(&self, form: &Linear) -> Range {
        form.terms().iter().fold((form.at_zero(), form.at_zero()), |(least, most), (x, k)| {
            let (a, b) = self.range(*x);
            let (a, b) = if *k > 0 { (a, b) } else { (b, a) };
            (least.saturating_add(k.saturating_mul(a)), most.saturating_add(k.saturating_mul(b)))
        })
    }

    /// Returns whether the form cannot be positive; if so, the assumptions on which that rests.
    pub fn proven(&self, form: &Linear, with_assumptions: bool) -> Option<Assumed> {
        let mut steps = STEPS;
        self.follows(form, Search { with_assumptions, depth: DEPTH }, &mut steps)
    }

    fn follows(&self, form: &Linear, search: Search, steps: &mut usize) -> Option<Assumed> {
        let form = self.resolved(form).tightened();
        if self.range_of(&form).1 <= 0 {
            return Some(vec![]);
        }
        if search.depth == 0 {
            return None;
        }
        let newest = form.terms().iter().map(|(x, _)| *x).max_by_key(|x| self.age(*x))?;
        let search = Search { depth: search.depth - 1, ..search };
        self.without(&form, newest, search.with_assumptions).into_iter().find_map(|(form, assumed)| {
            *steps = steps.checked_sub(1)?;
            self.follows(&form, search, steps).map(|more| join_assumed(assumed, more))
        })
    }

    /// Forms of old locals only, each of which is enough for the form not to be positive, if it is not positive itself;
    /// with assumptions. There are few at most.
    pub fn residuals(&self, form: &Linear, kind: &dyn Fn(Local) -> AskKind) -> Vec<(Linear, Assumed)> {
        let mut found = Vec::new();
        // What takes few facts asks for little: a long way from fact to fact may end at what hardly ever holds.
        for depth in DEPTHS {
            let search = Search { with_assumptions: true, depth };
            self.eliminate((form.clone(), vec![]), kind, search, &mut { STEPS }, &mut found);
            if found.len() == RESIDUALS {
                break;
            }
        }
        found
    }

    fn eliminate(
        &self,
        (form, assumed): (Linear, Assumed),
        kind: &dyn Fn(Local) -> AskKind,
        search: Search,
        steps: &mut usize,
        found: &mut Vec<(Linear, Assumed)>,
    ) {
        let form = self.resolved(&form).tightened();
        let new = form.terms().iter().map(|(x, _)| *x).filter(|x| kind(*x) != AskKind::Old);
        let Some(newest) = new.max_by_key(|x| self.age(*x)) else {
            // What cannot hold is not worth asking for.
            if self.range_of(&form).0 <= 0 && !found.iter().any(|(other, _)| *other == form) {
                found.push((form, assumed));
            }
            return;
        };
        if search.depth == 0 || kind(newest) == AskKind::Fixed {
            return;
        }
        let deeper = Search { depth: search.depth - 1, ..search };
        // The oldest facts come first: what bounds an index are the ends of its loop, before any check in the loop,
        // which may be another index's, into another buffer.
        for (form, more) in self.by_facts(&form, newest, search.with_assumptions).into_iter().rev() {
            if found.len() == RESIDUALS || *steps == 0 {
                return;
            }
            *steps -= 1;
            self.eliminate((form, join_assumed(assumed.clone(), more)), kind, deeper, steps, found);
        }
    }

    /// Returns the ways to get rid of a local: forms without it that are enough, those by its range last.
    fn without(&self, form: &Linear, x: Local, with_assumptions: bool) -> Vec<(Linear, Assumed)> {
        let (least, most) = self.range(x);
        let end = if form.coefficient(x) > 0 { most } else { least };
        let by_range = if (least, most) == ALL { None } else { form.with(x, &Linear::constant(end)) };
        self.by_facts(form, x, with_assumptions).into_iter().chain(by_range.map(|form| (form, vec![]))).collect()
    }

    /// Returns the same by facts. Those without assumptions come first, the latest ones before others.
    fn by_facts(&self, form: &Linear, x: Local, with_assumptions: bool) -> Vec<(Linear, Assumed)> {
        let k = form.coefficient(x);
        let about = self.about.get(&x).map_or(&[][..], Vec::as_slice);
        let fits = |fact: &&Fact| fact.form.coefficient(x).signum() == k.signum();
        let facts = || about.iter().rev().map(|i| &self.facts[*i]).filter(fits);
        let alone = facts().filter(|fact| fact.assumed.is_empty());
        let others = facts().filter(|fact| with_assumptions && !fact.assumed.is_empty());
        let applied = |fact: &Fact| {
            let form = form.combined(fact.form.coefficient(x).abs(), &fact.form, -k.abs())?;
            Some((form, fact.assumed.clone()))
        };
        alone.chain(others).filter_map(applied).collect()
    }
}

/// The role of a local in a condition that is tested before a loop.
#[derive(Clone, Copy, PartialEq)]
pub enum AskKind {
    /// Known there.
    Old,
    /// Known in the loop only: to be bounded by others.
    New,
    /// Known in the loop only, and nothing to be bounded: a size that is never negative says nothing about indices.
    Fixed,
}

/// Returns the assumptions of both.
pub fn join_assumed(mut some: Assumed, more: Assumed) -> Assumed {
    some.extend(more);
    some.sort_unstable();
    some.dedup();
    some
}
