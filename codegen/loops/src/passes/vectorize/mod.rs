//! Chooses loops that run W iterations at once, in the lanes of vectors (`docs/lanes.md`).
//!
//! ```text
//! for i in a..b { s }    =    for i in a..b lanes W { s }
//! ```
//!
//! Of a nest of loops it is the one with which the nest is cheapest (`cost`), if that is much cheaper than without. A
//! loop without loops, branches or checks that takes no memory is left to LLVM, which makes vectors of it by itself.
//! The exception is a loop with functions of libm that may be computed for vectors. What is not likely to run stays as
//! it is, and so do nests of which `interchange` chose a loop; but a loop that does several such things may be chosen in
//! their place.

mod cost;
mod explain;

pub use explain::{Explained, explain, notes};

use super::pass::{FunctionCx, LONGEST_WIDE, Settings};
use crate::analyses::alias::Aliases;
use crate::analyses::divergence::Divergence;
use crate::analyses::independence::{Carried, FunctionEffects, Independence, carried, prepare};
use crate::analyses::why_serial::WhySerial;
use crate::ir::{Block, For, Function, Local, LocalInfo, Memory, Stmt, Vectors};
use cost::{InLanes, Trips};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// A loop in lanes must take no more than this part of what it takes otherwise.
const WORTH: f64 = 0.75;

/// The cost of an innermost loop in LLVM's vectors, as a fraction of the scalar cost.
const PLAIN: f64 = 0.5;

/// How many vectors side by side, so that what waits for the sum before it does not wait alone. Not in loops that
/// others repeat: these are short more often than not, and lanes without an iteration take as long as others. Nor in
/// long ones, which have enough that does not wait.
const ABREAST: u32 = 2;

/// An iteration in twice as many lanes must take no more than this part. It takes less where much of it is done once
/// for all lanes: indices, what they all read, what the sum of all is added to.
const WIDER: f64 = 0.85;

/// Four times as many lanes, at most: what each of them has of its own shall stay near.
const WIDEST: u32 = 4;

/// So often a wide loop runs at least, where that is known.
const LONG: f64 = 4.0;

pub(super) fn run(cx: &mut FunctionCx) {
    let aliases = cx.aliases();
    let Settings { vectors, keeps_order, .. } = cx.settings;
    let choice = chooser(cx.function, aliases, cx.effects(), vectors, keeps_order, cx.is_repeated()).choose();
    cx.rewrite(|body, function| mark(body, &choice.lanes, &mut function.locals));
}

fn mark(block: &mut Block, chosen: &FxHashMap<Local, u32>, locals: &mut Vec<LocalInfo>) {
    for mut stmt in std::mem::take(&mut block.stmts) {
        stmt.blocks_mut().for_each(|block| mark(block, chosen, locals));
        match stmt {
            Stmt::For(mut looped) => match chosen.get(&looped.index) {
                Some(lanes) => {
                    one_by_one(&mut looped.body);
                    looped.lanes = *lanes;
                    block.stmts.extend(prepare(*looped, locals));
                }
                None => block.stmts.push(Stmt::For(looped)),
            },
            stmt => block.stmts.push(stmt),
        }
    }
}

/// The choices for one function.
#[derive(Default)]
struct LaneChoice {
    /// The loops that run in lanes, by their indices.
    lanes: FxHashMap<Local, u32>,
    /// Why each of the loops runs in lanes, or does not, in order.
    reasons: Vec<(Local, Reason)>,
}

enum Reason {
    Refused(WhySerial),
    /// LLVM makes vectors of it.
    Plain,
    /// The terms of a sum would be added in another order.
    Order,
    /// Fewer iterations than lanes.
    Short,
    /// The cost in lanes, and the cost without them.
    Cost(f64, f64),
}

/// Returns what chooses the loops of a function that run in lanes.
fn chooser<'a>(
    function: &'a Function,
    aliases: Rc<Aliases>,
    effects: &'a FunctionEffects,
    vectors: Vectors,
    keeps_order: bool,
    is_repeated: bool,
) -> LaneChooser<'a> {
    let likely = function.body.likely_conditions();
    let (chosen, reasons, trips) = (vec![], vec![], Trips::known_in(function));
    let around = usize::from(is_repeated);
    LaneChooser { function, aliases, effects, vectors, keeps_order, likely, trips, around, chosen, reasons }
}

struct LaneChooser<'a> {
    function: &'a Function,
    aliases: Rc<Aliases>,
    effects: &'a FunctionEffects,
    vectors: Vectors,
    keeps_order: bool,
    likely: FxHashSet<Local>,
    trips: Trips,
    /// How many loops there are around the statement at hand; those around calls of the function are one.
    around: usize,
    chosen: Vec<(Local, u32)>,
    reasons: Vec<(Local, Reason)>,
}

impl LaneChooser<'_> {
    fn choose(mut self) -> LaneChoice {
        if self.vectors.floats > 1 {
            self.choose_in_block(&self.function.body);
        }
        LaneChoice { lanes: self.chosen.into_iter().collect(), reasons: self.reasons }
    }

    /// Returns whether all loops that can run in lanes are asked to.
    fn is_forced(&self) -> bool {
        self.vectors.lanes.is_some()
    }

    /// Returns the cost of a block, with the loops that are chosen in it.
    fn choose_in_block(&mut self, block: &Block) -> f64 {
        block.stmts.iter().map(|stmt| self.choose_in_stmt(stmt)).sum()
    }

    fn choose_in_stmt(&mut self, stmt: &Stmt) -> f64 {
        let inside = match stmt {
            Stmt::For(looped) => self.choose_for_loop(looped),
            Stmt::If(_, condition, then, other) => {
                let [often, else_often] = cost::odds(condition, &self.likely);
                let there = often * self.choose_in_block(then);
                let here = self.chosen.len();
                let cost = there + else_often * self.choose_in_block(other);
                if condition.local().is_some_and(|c| self.likely.contains(&c)) && !self.is_forced() {
                    self.chosen.truncate(here);
                }
                cost
            }
            // What is measured is measured as it would run elsewhere.
            Stmt::Bench { body, .. } => self.choose_in_block(body),
            _ => 0.0,
        };
        cost::scalar(stmt) + inside
    }

    fn choose_for_loop(&mut self, looped: &For) -> f64 {
        if looped.lanes > 1 {
            return self.settled(looped);
        }
        let place = self.reasons.len();
        let before = self.chosen.len();
        // Behind its last whole vector LLVM calls functions of libm for one number at a time, lanes for those that are
        // left.
        let is_plain = is_plain(self.function, looped) && (self.keeps_order || !cost::calls_libm(&looped.body));
        // The chunks of a loop are no loop that repeats it.
        self.around += usize::from(!looped.on_threads);
        let inside = self.trips.of(looped) * (self.choose_in_block(&looped.body) + 1.0).max(cost::wait(looped));
        self.around -= usize::from(!looped.on_threads);
        let otherwise = if is_plain { PLAIN * inside } else { inside };
        // A nest that `interchange` ordered keeps its lanes, unless it is one of several things that the loop does.
        let freed = looped.body.has_lanes().then(|| {
            let mut freed = looped.clone();
            one_by_one(&mut freed.body);
            freed
        });
        if freed.is_some() && !does_several_things(looped) {
            return otherwise;
        }
        let looped = freed.as_ref().unwrap_or(looped);
        if is_plain && !self.is_forced() {
            self.reasons.insert(place, (looped.index, Reason::Plain));
            return otherwise;
        }
        let (lanes, cost) = match self.in_lanes(looped) {
            Ok(found) => found,
            Err(reason) => {
                self.reasons.insert(place, (looped.index, reason));
                return otherwise;
            }
        };
        self.reasons.insert(place, (looped.index, Reason::Cost(cost, otherwise)));
        let none_inside = self.chosen.len() == before;
        let worth = if none_inside { WORTH } else { 1.0 };
        if cost <= worth * otherwise || self.is_forced() && none_inside {
            self.chosen.truncate(before);
            self.chosen.push((looped.index, lanes));
            return cost + self.around_lanes(looped, lanes);
        }
        otherwise
    }

    /// Returns what a loop costs that runs in lanes already.
    fn settled(&self, looped: &For) -> f64 {
        let lanes = looped.lanes;
        let chunks = (self.trips.of(looped) / f64::from(lanes)).ceil();
        let around = self.around_lanes(looped, lanes);
        let spread = Divergence::of(self.function, &self.aliases, looped).expect("a loop with lanes can run in them");
        around + chunks * (self.price(&spread, lanes).block_cost(&looped.body) + 1.0)
    }

    /// Returns what a loop in lanes costs beside its iterations, to the loop around it. Whether lanes are worth it in the
    /// loop itself does not depend on that, as it may be long.
    fn around_lanes(&self, looped: &For, lanes: u32) -> f64 {
        if self.around > 0 { cost::around_lanes(looped, lanes) } else { 0.0 }
    }

    fn price<'s>(&'s self, spread: &'s Divergence, lanes: u32) -> InLanes<'s> {
        InLanes { spread, likely: &self.likely, trips: &self.trips, floats: self.vectors.floats, lanes }
    }

    /// Returns how many lanes a loop would get, and what it would cost.
    fn in_lanes(&self, looped: &For) -> Result<(u32, f64), Reason> {
        let Vectors { floats, lanes } = self.vectors;
        let is_long = looped.body.len() > LONGEST_WIDE;
        let abreast = if self.around == 0 && !is_long { ABREAST } else { 1 };
        let lanes = lanes.unwrap_or(abreast * floats);
        let iterations = self.trips.of(looped);
        if !self.is_forced() && iterations < f64::from(lanes) {
            return Err(Reason::Short);
        }
        let independence = Independence::of(self.function, &self.aliases, self.effects, looped);
        let independence = independence.map_err(Reason::Refused)?;
        if independence.has_sums() && self.keeps_order {
            return Err(Reason::Order);
        }
        let carries_best = independence.carried.iter().any(|carried| !matches!(carried, Carried::Same | Carried::Sum));
        let spread = Divergence::of(self.function, &self.aliases, looped).map_err(Reason::Refused)?;
        let price = |lanes| self.price(&spread, lanes);
        let body = |lanes| price(lanes).block_cost(&looped.body) + 1.0;
        let cost = (iterations / f64::from(lanes)).ceil() * body(lanes);
        let may_be_wide = self.vectors.lanes.is_none() && self.around == 0 && !carries_best && !is_long;
        Ok((if may_be_wide { wide(looped, lanes, body) } else { lanes }, cost))
    }
}

/// Returns how many lanes a loop gets for which so many are worth it, with what its body costs in some.
fn wide(looped: &For, lanes: u32, body: impl Fn(u32) -> f64) -> u32 {
    let fits = |wide: u32| looped.known_iterations().is_none_or(|n| n >= LONG * f64::from(wide));
    let mut wide = lanes;
    while 2 * wide <= WIDEST * lanes && fits(2 * wide) && body(2 * wide) <= 2.0 * WIDER * body(wide) {
        wide *= 2;
    }
    wide
}

/// Makes no loop of a block run in lanes.
fn one_by_one(block: &mut Block) {
    for stmt in &mut block.stmts {
        if let Stmt::For(looped) = stmt {
            looped.lanes = 1;
        }
        stmt.blocks_mut().for_each(one_by_one);
    }
}

/// Returns whether the body of a loop has more than one loop or conditional of its own.
fn does_several_things(looped: &For) -> bool {
    looped.body.stmts.iter().filter(|stmt| matches!(stmt, Stmt::For(_) | Stmt::If(..))).nth(1).is_some()
}

/// Returns whether LLVM makes vectors of a loop.
fn is_plain(function: &Function, looped: &For) -> bool {
    let is_simple = looped.body.stmts.iter().all(|stmt| match stmt {
        Stmt::Let(..) => true,
        Stmt::Memory(memory) => {
            matches!(
                memory,
                Memory::Load(..) | Memory::Store(..) | Memory::Add(..) | Memory::View(..) | Memory::Cast(..)
            )
        }
        _ => false,
    });
    let is_sum = |carried: &Carried| !matches!(carried, Carried::Best(_));
    is_simple && carried(&function.locals, looped).is_ok_and(|all| all.iter().all(is_sum))
}
