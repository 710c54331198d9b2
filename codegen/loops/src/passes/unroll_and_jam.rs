//! Unroll and jam: runs iterations of an outer loop side by side (`crate::analyses::jam`), if they load the same
//! elements or wait for their sums.
//!
//! ```text
//! for i { for j lanes W { for k (y = 0) { y + a[i, k] b[k, j] }; store c[i, j] } }    =    for i jam 4 { .. }
//! ```
//!
//! Here b's elements do not depend on i: they are loaded once for four rows, and the four sums of a lane do not wait
//! for each other. Sums keep their terms in order, so this is done whatever Floats are, but for what several iterations
//! add to one element.
//!
//! Cost model. Only loops inside count, weighed by their iterations. An iteration of an innermost loop takes what its
//! statements take: c for what is the same in all iterations of the outer loop, and o for the rest. If it carries a
//! sum, it takes at least as long as an addition. (Innermost loops that LLVM runs on vectors have several sums, and are
//! left aside.)
//!
//! ```text
//! one after the other    max(c + o, LATENCY)
//! R side by side         max(c / R + o, LATENCY / R)
//! ```
//!
//! Of a nest, the loop is chosen that makes it cheapest, if that saves a fifth.
//!
//! Of a product of rows with rows, each product takes two loads, and with one loop still one. So a second loop of the
//! nest, around the first or in it, runs side by side, too. That is done if it saves a fifth again and the sums fit the
//! registers (a block).
//!
//! ```text
//! for i { for k { s = for j lanes W { s + a[i, j] b[k, j] }; store c[i, k] } }  =  for i jam 4 { for k jam 4 { .. } }
//!
//! R by R'                max(sum of each statement / those of R and R' for which it is the same, LATENCY / (R R'))
//! ```
//!
//! Of a matrix product, eight rows of a and one vector of b are nine loads for eight products; with two vectors they
//! are ten for sixteen. So lanes of one vector become lanes of two where the sums of all rows fit the registers. A loop
//! in lanes whose sums have no others side by side, as of a row times a matrix, gets up to four vectors.

use super::pass::{FunctionCx, LONGEST_WIDE, Settings};
use crate::analyses::alias::Aliases;
use crate::analyses::divergence::{Divergence, Layout};
use crate::analyses::independence::{FunctionEffects, Independence, bests};
use crate::analyses::jam;
use crate::ir::{Block, For, Function, Local, Memory, Op, Operand, Stmt, Vectors};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// How many iterations run side by side.
const SIDE_BY_SIDE: u32 = 4;

/// Twice as many of so few statements, where vectors are so long: then there are twice as many of them, too.
const FEW_STATEMENTS: usize = 20;
const MANY_REGISTERS: u32 = 8;

/// The vectors that sums of loops side by side may take: half of 32 registers; of 16 half as many.
const SUMS: usize = 16;

/// The longest body of a loop that is copied so often, in statements.
const MOST_STATEMENTS: usize = 60;

/// A choice is worth it if at most this fraction of the cost remains.
const WORTH: f64 = 0.8;

/// How often a loop runs of which that is not known.
const ITERATIONS: f64 = 16.0;

/// How long an addition takes, when one may begin in each unit of time.
const LATENCY: f64 = 4.0;

pub(super) fn run(cx: &mut FunctionCx) {
    let (aliases, effects) = (cx.aliases(), cx.effects());
    let Settings { keeps_order, vectors, .. } = cx.settings;
    let function = &*cx.function;
    let likely = function.body.likely_conditions();
    let chooser = JamChooser { function, aliases, effects, keeps_order, likely, vectors };
    let mut chosen = FxHashMap::default();
    chooser.choose_in_block(&function.body, &mut vec![], &mut chosen);
    if !chosen.is_empty() {
        mark(&mut cx.function.body, &chosen, vectors);
    }
    if vectors.lanes.is_none() && vectors.floats > 1 {
        widen_alone(&mut cx.function.body, vectors.floats);
    }
}

/// How many iterations of a loop run side by side.
#[derive(Clone, Copy)]
struct JamChoice {
    copies: u32,
    /// Whether iterations of another loop of its nest do, too.
    in_block: bool,
}

fn mark(block: &mut Block, chosen: &FxHashMap<Local, JamChoice>, vectors: Vectors) {
    for stmt in &mut block.stmts {
        if let Stmt::For(looped) = stmt
            && let Some(choice) = chosen.get(&looped.index)
        {
            looped.jam = choice.copies;
            if is_short(looped) && !choice.in_block && vectors.lanes.is_none() {
                widen(&mut looped.body, looped.jam, vectors.floats);
            }
        }
        stmt.blocks_mut().for_each(|block| mark(block, chosen, vectors));
    }
}

fn is_short(looped: &For) -> bool {
    looped.body.len() <= FEW_STATEMENTS
}

/// Returns how many vectors the sums of loops side by side may take.
fn most_sums(floats: u32) -> usize {
    if floats >= MANY_REGISTERS { SUMS } else { SUMS / 2 }
}

/// Jams twice as many vectors in loops whose sums still fit in the registers.
fn widen(block: &mut Block, copies: u32, floats: u32) {
    for stmt in &mut block.stmts {
        match stmt {
            Stmt::For(looped) if looped.lanes == floats => give_vectors(looped, copies, 2, floats),
            stmt => stmt.blocks_mut().for_each(|block| widen(block, copies, floats)),
        }
    }
}

/// Gives four vectors to loops in lanes whose sums would wait for each other, since none run side by side. Not in loops
/// that others repeat, which are short more often than not, nor in long ones.
fn widen_alone(block: &mut Block, floats: u32) {
    for stmt in &mut block.stmts {
        match stmt {
            Stmt::For(looped) if looped.lanes == floats && looped.body.len() <= LONGEST_WIDE => {
                give_vectors(looped, 1, SIDE_BY_SIDE, floats);
            }
            Stmt::For(looped) if !looped.on_threads => {}
            stmt => stmt.blocks_mut().for_each(|block| widen_alone(block, floats)),
        }
    }
}

/// Gives a loop that has one vector so many, if the sums of so many copies fit in the registers.
fn give_vectors(looped: &mut For, copies: u32, most: u32, floats: u32) {
    let sums = copies as usize * most_carried(&looped.body);
    let fits = |looped: &For| (1..=most_sums(floats)).contains(&(2 * sums * (looped.lanes / floats) as usize));
    while looped.carried.is_empty() && looped.lanes < most * floats && is_long(looped) && fits(looped) {
        looped.lanes *= 2;
    }
}

fn is_long(looped: &For) -> bool {
    let is_known = matches!((&looped.from, &looped.to), (Operand::Integer(_), Operand::Integer(_)));
    !is_known || iterations(looped) >= f64::from(2 * looped.lanes)
}

fn most_carried(block: &Block) -> usize {
    let mut most = 0;
    block.visit(&mut |stmt| {
        if let Stmt::For(looped) = stmt {
            most = most.max(looped.carried.len());
        }
    });
    most
}

/// Returns how many vectors the sums of the deepest loops take, in so many lanes.
fn vectors_of_sums(block: &Block, lanes: u32, floats: u32) -> usize {
    let of = |stmt: &Stmt| match stmt {
        Stmt::For(looped) => {
            let lanes = lanes.max(looped.lanes);
            let own = looped.carried.len() * lanes.div_ceil(floats) as usize;
            own.max(vectors_of_sums(&looped.body, lanes, floats))
        }
        stmt => stmt.blocks().map(|block| vectors_of_sums(block, lanes, floats)).max().unwrap_or(0),
    };
    block.stmts.iter().map(of).max().unwrap_or(0)
}

struct JamChooser<'a> {
    function: &'a Function,
    aliases: Rc<Aliases>,
    effects: &'a FunctionEffects,
    keeps_order: bool,
    likely: FxHashSet<Local>,
    vectors: Vectors,
}

impl JamChooser<'_> {
    /// Chooses among the loops of a block inside of the loops `around`, which are outermost first.
    fn choose_in_block<'b>(
        &self,
        block: &'b Block,
        around: &mut Vec<&'b For>,
        chosen: &mut FxHashMap<Local, JamChoice>,
    ) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::For(looped) => self.choose_in_nest(looped, around, chosen),
                // The other side hardly ever runs.
                Stmt::If(_, condition, then, _) if condition.local().is_some_and(|c| self.likely.contains(&c)) => {
                    self.choose_in_block(then, around, chosen);
                }
                stmt => stmt.blocks().for_each(|block| self.choose_in_block(block, around, chosen)),
            }
        }
    }

    fn choose_in_nest<'b>(&self, looped: &'b For, around: &mut Vec<&'b For>, chosen: &mut FxHashMap<Local, JamChoice>) {
        let mut candidates = FxHashMap::default();
        self.candidates(looped, &mut candidates);
        if let Some(part) = candidates.get(&looped.index)
            && candidates.values().all(|other| part <= other)
            && self.may(looped)
        {
            self.choose_partner(looped, around, chosen);
        } else {
            around.push(looped);
            self.choose_in_block(&looped.body, around, chosen);
            around.pop();
        }
    }

    /// Chooses a loop, with another one if the two make a block.
    fn choose_partner(&self, looped: &For, around: &[&For], chosen: &mut FxHashMap<Local, JamChoice>) {
        if let Some((partner, copies)) = self.partner(looped, around) {
            chosen.insert(partner, JamChoice { copies, in_block: true });
            chosen.insert(looped.index, JamChoice { copies: SIDE_BY_SIDE, in_block: true });
        } else {
            chosen.insert(looped.index, JamChoice { copies: self.copies_alone(looped), in_block: false });
        }
    }

    /// Returns how many iterations run side by side of a loop of which no other loop's do.
    fn copies_alone(&self, looped: &For) -> u32 {
        let has_many_registers = self.vectors.floats >= MANY_REGISTERS;
        if is_short(looped) && has_many_registers { 2 * SIDE_BY_SIDE } else { SIDE_BY_SIDE }
    }

    /// Returns the loop around a chosen one, or in it, with which it makes the cheapest block, and how many of its
    /// iterations run side by side.
    fn partner(&self, looped: &For, around: &[&For]) -> Option<(Local, u32)> {
        let sums = SIDE_BY_SIDE as usize * vectors_of_sums(&looped.body, 1, self.vectors.floats).max(1);
        let copies = u32::try_from(most_sums(self.vectors.floats) / sums).unwrap_or(1).min(SIDE_BY_SIDE);
        if copies < 2 {
            return None;
        }
        let around = around.iter().map(|outer| (*outer, *outer, looped));
        let inside = loops_in(&looped.body).into_iter().map(|inner| (inner, looped, inner));
        let judged = around.chain(inside).filter(|(_, outer, _)| is_short(outer)).filter_map(|(partner, _, inner)| {
            let part = self.part_of_block(looped, partner, copies, inner);
            (part <= WORTH && self.can(partner) && self.may(partner)).then_some((partner.index, part))
        });
        let best = judged.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        Some((best.0, copies))
    }

    /// Returns what a block leaves of the cost of the loops in its inner loop, if otherwise one loop alone runs side by
    /// side.
    fn part_of_block(&self, looped: &For, partner: &For, copies: u32, inner: &For) -> f64 {
        let alone = [Jam::new(looped, self.copies_alone(looped))];
        let block = [Jam::new(looped, SIDE_BY_SIDE), Jam::new(partner, copies)];
        let [alone, block] = [self.cost(inner, &alone), self.cost(inner, &block)];
        if alone.jammed > 0.0 { block.jammed / alone.jammed } else { 1.0 }
    }

    fn can(&self, looped: &For) -> bool {
        let can = looped.lanes == 1 && !looped.on_threads && looped.body.len() <= MOST_STATEMENTS;
        can && self.has_no_bests(&looped.body) && jam::refusal(looped).is_none()
    }

    /// The loops of a nest that are worth it, and what is left of their cost.
    fn candidates(&self, looped: &For, found: &mut FxHashMap<Local, f64>) {
        if self.can(looped) {
            let part = self.part(looped);
            found.extend((part <= WORTH).then_some((looped.index, part)));
        }
        looped.body.visit(&mut |stmt| {
            if let Stmt::For(inner) = stmt
                && !found.contains_key(&inner.index)
            {
                self.candidates(inner, found);
            }
        });
    }

    /// Returns whether no loop inside chooses among elements: what is compared waits for no addition.
    fn has_no_bests(&self, block: &Block) -> bool {
        let mut none = true;
        block.visit(&mut |stmt| {
            none &= !matches!(stmt, Stmt::For(inner) if !bests(&self.function.locals, inner).is_empty());
        });
        none
    }

    fn may(&self, looped: &For) -> bool {
        let independence = Independence::of(self.function, &self.aliases, self.effects, looped);
        independence.is_ok_and(|independence| !(independence.has_sums() && self.keeps_order))
    }

    /// Returns what is left of the cost of the loops in a loop if its iterations run side by side.
    fn part(&self, looped: &For) -> f64 {
        let all = self.cost(looped, &[Jam::new(looped, SIDE_BY_SIDE)]);
        if all.alone > 0.0 { all.jammed / all.alone } else { 1.0 }
    }

    /// Returns what the loops in a loop cost.
    fn cost(&self, looped: &For, jams: &[Jam]) -> JamCost {
        let nest = JamNest { chooser: self, jams };
        let inner = looped.body.stmts.iter().filter(|stmt| stmt.has_blocks());
        inner.map(|stmt| nest.stmt_cost(stmt, None)).fold(JamCost::default(), JamCost::and)
    }
}

fn loops_in(block: &Block) -> Vec<&For> {
    let inside = block.stmts.iter().flat_map(|stmt| {
        let own = if let Stmt::For(looped) = stmt { Some(&**looped) } else { None };
        own.into_iter().chain(stmt.blocks().flat_map(loops_in))
    });
    inside.collect()
}

/// A loop whose iterations run side by side.
struct Jam {
    /// The locals that may differ between the iterations.
    own: FxHashSet<Local>,
    copies: f64,
}

impl Jam {
    fn new(looped: &For, copies: u32) -> Jam {
        Jam { own: jam::own(looped), copies: f64::from(copies) }
    }
}

/// The cost of an iteration: one after the other, and side by side.
#[derive(Clone, Copy, Default)]
struct JamCost {
    alone: f64,
    jammed: f64,
}

impl JamCost {
    fn and(self, other: JamCost) -> JamCost {
        JamCost { alone: self.alone + other.alone, jammed: self.jammed + other.jammed }
    }

    fn times(self, n: f64) -> JamCost {
        JamCost { alone: n * self.alone, jammed: n * self.jammed }
    }

    /// Returns what waits takes at least so long, and with others side by side its part of that.
    fn at_least(self, time: f64, copies: f64) -> JamCost {
        JamCost { alone: self.alone.max(time), jammed: self.jammed.max(time / copies) }
    }
}

/// The loops in a loop.
struct JamNest<'a> {
    chooser: &'a JamChooser<'a>,
    jams: &'a [Jam],
}

impl JamNest<'_> {
    fn block_cost(&self, block: &Block, spread: Option<&Divergence>) -> JamCost {
        block.stmts.iter().map(|stmt| self.stmt_cost(stmt, spread)).fold(JamCost::default(), JamCost::and)
    }

    fn stmt_cost(&self, stmt: &Stmt, spread: Option<&Divergence>) -> JamCost {
        match stmt {
            Stmt::For(looped) if looped.lanes > 1 => {
                let spread = Divergence::of(self.chooser.function, &self.chooser.aliases, looped).ok();
                self.loop_cost(looped, spread.as_ref())
            }
            Stmt::For(looped) => self.loop_cost(looped, spread),
            Stmt::If(_, _, then, other) => self.block_cost(then, spread).and(self.block_cost(other, spread)),
            stmt => {
                let alone = simple(stmt, spread);
                let common = self.jams.iter().filter(|jam| jam::is_common(stmt, &jam.own));
                JamCost { alone, jammed: alone / common.map(|jam| jam.copies).product::<f64>() }
            }
        }
    }

    fn loop_cost(&self, looped: &For, spread: Option<&Divergence>) -> JamCost {
        let body = self.block_cost(&looped.body, spread);
        let is_innermost = looped.body.stmts.iter().all(|stmt| !stmt.has_blocks());
        // LLVM makes several sums of one where it makes vectors.
        let waits = is_innermost && !looped.carried.is_empty() && spread.is_some();
        let copies = self.jams.iter().map(|jam| jam.copies).product();
        body.at_least(if waits { LATENCY } else { 0.0 }, copies).times(iterations(looped))
    }
}

fn iterations(looped: &For) -> f64 {
    match (&looped.from, &looped.to) {
        (Operand::Integer(from), Operand::Integer(to)) => to.saturating_sub(*from).max(0) as f64,
        _ => ITERATIONS,
    }
}

/// Returns what a statement costs, for vectors: what works on Integers is for addresses, and mostly free.
fn simple(stmt: &Stmt, spread: Option<&Divergence>) -> f64 {
    match stmt {
        Stmt::Let(_, Op::AddF | Op::SubF | Op::MulF | Op::NegF | Op::AbsF | Op::MinF | Op::MaxF, _) => 0.5,
        Stmt::Let(_, op, _) if op.work().is_some() => 10.0,
        Stmt::Memory(Memory::Load(_, b, i)) => access(b, i, spread),
        Stmt::Memory(Memory::Store(b, i, _)) => access(b, i, spread),
        // Of lanes that add to one element, the sum is added up first.
        Stmt::Memory(Memory::Add(b, i, _)) => 4.0 * access(b, i, spread).max(1.0),
        _ => 0.0,
    }
}

/// Returns a vector, a number for all lanes (which an operation loads by itself), or elements from anywhere.
fn access(b: &Operand, i: &Operand, spread: Option<&Divergence>) -> f64 {
    let Some(spread) = spread else { return 1.0 };
    match (spread.varies(b), spread.stride(i)) {
        (false, Some(0)) if spread.layout(b) != Layout::Each => 0.5,
        (false, Some(0 | 1)) => 1.0,
        _ => 8.0,
    }
}
