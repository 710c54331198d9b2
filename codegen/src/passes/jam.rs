//! Jam: runs iterations of an outer loop side by side (`crate::jam`), where these load the same or wait for their sums.
//!
//!   for i { for j lanes W { for k (y = 0) { y + a[i, k] b[k, j] }; store c[i, j] } }    =    for i jam 4 { .. }
//!
//! Here b's elements do not depend on i: they are loaded once for four rows, and the four sums of a lane do not wait for each
//! other. Sums keep their terms in order, so this is done whatever Floats are, but for what several iterations add to one element.
//!
//! Cost model. Only loops inside count, weighed by their iterations. An iteration of an innermost loop takes what its
//! statements take, c for what is the same in all iterations of the outer loop and o for the rest, but no less than an
//! addition takes if it carries a sum (LLVM's vectors of innermost loops aside, which have several sums by themselves):
//!
//!   one after the other    max(c + o, LATENCY)
//!   R side by side         max(c / R + o, LATENCY / R)
//!
//! Of a nest, the loop is chosen that makes it cheapest, if that saves a fifth.
//!
//! Of a matrix product, eight rows of a and one vector of b are nine loads for eight products; with two vectors they are ten
//! for sixteen. So lanes of one vector become lanes of two where the sums of all rows fit the registers.

use crate::independence::{Effects, Independence, bests};
use crate::jam;
use crate::loops::{Aliases, Block, For, Function, Local, Memory, Module, Op, Operand, Stmt, Vectors};
use crate::spread::{Layout, Spread};
use std::collections::{HashMap, HashSet};

/// How many iterations run side by side.
const SIDE_BY_SIDE: u32 = 4;

/// Twice as many of so few statements, where vectors are so long: then there are twice as many of them, too.
const FEW_STATEMENTS: usize = 20;
const MANY_REGISTERS: u32 = 8;

/// The vectors that sums of loops side by side may take: half of 32 registers; of 16 half as many.
const SUMS: usize = 16;

/// The longest body of a loop that is copied so often, in statements.
const MOST_STATEMENTS: usize = 60;

/// What is left of the cost must be no more than this part.
const WORTH: f64 = 0.8;

/// How often a loop runs of which that is not known.
const ITERATIONS: f64 = 16.0;

/// How long an addition takes, when one may begin in each unit of time.
const LATENCY: f64 = 4.0;

pub(super) fn jam(module: &mut Module) {
    let effects = Effects::of(module);
    let keeps_order = module.keeps_order;
    for function in module.functions.iter_mut().filter(|function| !function.between && !function.cold) {
        let aliases = Aliases::of(function, &effects.written);
        let likely = function.body.likely_conditions();
        let chooser = Chooser { function, aliases, effects: &effects, keeps_order, likely };
        let mut chosen = HashSet::new();
        chooser.block(&function.body, &mut chosen);
        if !chosen.is_empty() {
            mark(&mut function.body, &chosen, module.vectors);
        }
    }
}

fn mark(block: &mut Block, chosen: &HashSet<Local>, vectors: Vectors) {
    for stmt in &mut block.stmts {
        if let Stmt::For(looped) = stmt
            && chosen.contains(&looped.index)
        {
            let is_short = looped.body.len() <= FEW_STATEMENTS;
            let has_many_registers = vectors.floats >= MANY_REGISTERS;
            looped.jam = if is_short && has_many_registers { 2 * SIDE_BY_SIDE } else { SIDE_BY_SIDE };
            if is_short && vectors.lanes.is_none() {
                widen(&mut looped.body, looped.jam, vectors.floats);
            }
        }
        stmt.blocks_mut().into_iter().for_each(|block| mark(block, chosen, vectors));
    }
}

/// Two vectors in the place of one in loops whose sums then still fit the registers.
fn widen(block: &mut Block, copies: u32, floats: u32) {
    let most = if floats >= MANY_REGISTERS { SUMS } else { SUMS / 2 };
    for stmt in &mut block.stmts {
        match stmt {
            Stmt::For(looped) if looped.lanes == floats && looped.carried.is_empty() && is_long(looped) => {
                let sums = 2 * copies as usize * most_carried(&looped.body);
                looped.lanes *= if (1..=most).contains(&sums) { 2 } else { 1 };
            }
            stmt => stmt.blocks_mut().into_iter().for_each(|block| widen(block, copies, floats)),
        }
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

struct Chooser<'a> {
    function: &'a Function,
    aliases: Aliases,
    effects: &'a Effects,
    keeps_order: bool,
    likely: HashSet<Local>,
}

impl Chooser<'_> {
    fn block(&self, block: &Block, chosen: &mut HashSet<Local>) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::For(looped) => self.nest(looped, chosen),
                // The other side hardly ever runs.
                Stmt::If(_, condition, then, _) if condition.local().is_some_and(|c| self.likely.contains(&c)) => {
                    self.block(then, chosen);
                }
                stmt => stmt.blocks().into_iter().for_each(|block| self.block(block, chosen)),
            }
        }
    }

    fn nest(&self, looped: &For, chosen: &mut HashSet<Local>) {
        let mut candidates = HashMap::new();
        self.candidates(looped, &mut candidates);
        if let Some(part) = candidates.get(&looped.index)
            && candidates.values().all(|other| part <= other)
            && self.may(looped)
        {
            chosen.insert(looped.index);
        } else {
            self.block(&looped.body, chosen);
        }
    }

    /// The loops of a nest that are worth it, and what is left of their cost.
    fn candidates(&self, looped: &For, found: &mut HashMap<Local, f64>) {
        let can = looped.lanes == 1 && !looped.on_threads && looped.body.len() <= MOST_STATEMENTS;
        if can && self.has_no_bests(&looped.body) && jam::refusal(looped).is_none() {
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

    /// Whether no loop inside chooses among elements: what is compared waits for no addition.
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

    /// What is left of the cost of the loops in a loop if its iterations run side by side.
    fn part(&self, looped: &For) -> f64 {
        let own = jam::own(looped);
        let nest = Nest { chooser: self, own: &own };
        let inner = looped.body.stmts.iter().filter(|stmt| !stmt.blocks().is_empty());
        let all = inner.map(|stmt| nest.stmt(stmt, None)).fold(Cost::default(), Cost::and);
        if all.alone > 0.0 { all.jammed / all.alone } else { 1.0 }
    }
}

/// What something costs in each iteration: one after the other, and side by side.
#[derive(Clone, Copy, Default)]
struct Cost {
    alone: f64,
    jammed: f64,
}

impl Cost {
    fn and(self, other: Cost) -> Cost {
        Cost { alone: self.alone + other.alone, jammed: self.jammed + other.jammed }
    }

    fn times(self, n: f64) -> Cost {
        Cost { alone: n * self.alone, jammed: n * self.jammed }
    }

    /// What waits takes at least so long.
    fn at_least(self, time: f64) -> Cost {
        Cost { alone: self.alone.max(time), jammed: self.jammed.max(time / f64::from(SIDE_BY_SIDE)) }
    }
}

/// The loops in a loop.
struct Nest<'a> {
    chooser: &'a Chooser<'a>,
    own: &'a HashSet<Local>,
}

impl Nest<'_> {
    fn block(&self, block: &Block, spread: Option<&Spread>) -> Cost {
        block.stmts.iter().map(|stmt| self.stmt(stmt, spread)).fold(Cost::default(), Cost::and)
    }

    fn stmt(&self, stmt: &Stmt, spread: Option<&Spread>) -> Cost {
        match stmt {
            Stmt::For(looped) if looped.lanes > 1 => {
                let spread = Spread::of(self.chooser.function, &self.chooser.aliases, looped).ok();
                self.looped(looped, spread.as_ref())
            }
            Stmt::For(looped) => self.looped(looped, spread),
            Stmt::If(_, _, then, other) => self.block(then, spread).and(self.block(other, spread)),
            stmt => {
                let alone = simple(stmt, spread);
                let is_common = jam::is_common(stmt, self.own);
                let jammed = if is_common { alone / f64::from(SIDE_BY_SIDE) } else { alone };
                Cost { alone, jammed }
            }
        }
    }

    fn looped(&self, looped: &For, spread: Option<&Spread>) -> Cost {
        let body = self.block(&looped.body, spread);
        let is_innermost = looped.body.stmts.iter().all(|stmt| stmt.blocks().is_empty());
        // LLVM makes several sums of one where it makes vectors.
        let waits = is_innermost && !looped.carried.is_empty() && spread.is_some();
        body.at_least(if waits { LATENCY } else { 0.0 }).times(iterations(looped))
    }
}

fn iterations(looped: &For) -> f64 {
    match (&looped.from, &looped.to) {
        (Operand::Integer(from), Operand::Integer(to)) => to.saturating_sub(*from).max(0) as f64,
        _ => ITERATIONS,
    }
}

/// What a statement costs, for vectors: what works on Integers is for addresses, and mostly free.
fn simple(stmt: &Stmt, spread: Option<&Spread>) -> f64 {
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

/// A vector, a number for all lanes (which an operation loads by itself), or elements from anywhere.
fn access(b: &Operand, i: &Operand, spread: Option<&Spread>) -> f64 {
    let Some(spread) = spread else { return 1.0 };
    match (spread.varies(b), spread.stride(i)) {
        (false, Some(0)) if spread.layout(b) != Layout::Each => 0.5,
        (false, Some(0 | 1)) => 1.0,
        _ => 8.0,
    }
}
