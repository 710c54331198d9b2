//! Interchange: gives each sum in memory a nest of loops of its own, in which the loops over its terms are the
//! innermost.
//!
//! ```text
//! for i { for j { for k { add a[i, k] += x; add b[k, j] += y } } }
//!   =   for i { for k { s = for j (z = -0) { z + x };         add a[i, k] += s } }
//!       for k { for j lanes W { s = for i (z = -0) { z + y }; add b[k, j] += s } }
//! ```
//!
//! Reverse derivatives add what each iteration of the function gives, in the function's order of loops: to one element
//! again and again, in memory. Here the sum is in registers, each element is added to once, and neighbours run in
//! lanes.
//!
//! A nest is loops that carry nothing, between numbers known before them, around operations, loads, and terms that are
//! added to memory of which nothing is loaded. So the loops may be in any order, as far as values go; the terms of a
//! sum then are in another one, so `--math exact` leaves it. The loops of a nest that the sum's place depends on come
//! first. One of these runs in lanes if neighbours lie side by side wherever it is the index; it comes last then.
//! Otherwise one of the loops over the terms does, and comes first among them. Where there is no such loop, for a sum
//! over terms, the nest stays.
//!
//! Cost model: a value that one loop computed for several sums is computed for each sum, and possibly in more loops. So
//! it must be cheap: operations of one cycle, and loads. In return, the sums need no loads and stores. An expensive
//! term in a loop that adds it often is computed first (`blocks`).

mod blocks;
mod build;
mod nest;

use super::pass::{FunctionCx, Settings};
use crate::analyses::alias::Aliases;
use crate::ir::{Block, Function, Local, Stmt};
use blocks::Split;
use build::NestBuilder;
use nest::{LoopOrder, PerfectNest};
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// The longest nest that is taken apart, in statements.
const MOST_STATEMENTS: usize = 80;

pub(super) fn run(cx: &mut FunctionCx) {
    let Settings { keeps_order, vectors, .. } = cx.settings;
    if keeps_order || vectors.floats == 1 {
        return;
    }
    let lanes = vectors.lanes.unwrap_or(vectors.floats);
    let aliases = cx.aliases();
    cx.rewrite(|body, function| {
        let likely = body.likely_conditions();
        Interchange { function, aliases, likely, lanes }.interchange_in_block(body);
    });
}

struct Interchange<'a> {
    /// Its body aside.
    function: &'a mut Function,
    aliases: Rc<Aliases>,
    likely: FxHashSet<Local>,
    lanes: u32,
}

impl Interchange<'_> {
    fn interchange_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            let is_likely = matches!(&stmt, Stmt::If(_, c, ..) if c.local().is_some_and(|c| self.likely.contains(&c)));
            match self.interchange_nest(&stmt, &[]).or_else(|| self.interchange_in_blocks(&stmt)) {
                Some(nests) => block.stmts.extend(nests),
                None => {
                    // The other side hardly ever runs.
                    let blocks = stmt.blocks_mut().take(if is_likely { 1 } else { 2 });
                    blocks.for_each(|block| self.interchange_in_block(block));
                    block.stmts.push(stmt);
                }
            }
        }
    }

    /// A nest for each sum of a nest, where one has terms to add up.
    fn interchange_nest(&mut self, stmt: &Stmt, apart: &[Local]) -> Option<Vec<Stmt>> {
        let Stmt::For(looped) = stmt else { return None };
        if looped.body.len() > MOST_STATEMENTS {
            return None;
        }
        let nest = PerfectNest::find(looped, &self.aliases, apart)?;
        let orders: Option<Vec<_>> = nest.sums.iter().map(|sum| nest.order(sum)).collect();
        let gains = |orders: &Vec<LoopOrder>| nest.sums.iter().zip(orders).any(|(sum, order)| nest.gains(sum, order));
        let orders = orders.filter(gains)?;
        let mut out = vec![];
        for (sum, order) in nest.sums.iter().zip(&orders) {
            NestBuilder::new(&nest, order, self.lanes, &mut self.function.locals).build_nest(sum, &mut out);
        }
        Some(out)
    }

    /// The same of a nest whose terms are expensive.
    fn interchange_in_blocks(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let Stmt::For(looped) = stmt else { return None };
        if looped.body.len() > MOST_STATEMENTS {
            return None;
        }
        let blocked = Split::find(looped, self.function, &self.aliases)?.blocked(self.function);
        let sums = self.interchange_nest(&Stmt::For(Box::new(blocked.sums.clone())), &blocked.buffers)?;
        Some(blocked.into_stmts(sums, looped, &mut self.function.locals))
    }
}
