//! Adds up in a register what all iterations of a loop add to one element.
//!
//! ```text
//! for i in a..n { s; add b[e] += x }
//!   =  z = for i in a..n carrying (y = -0.0) { s; y' = y + x; yield y' };  if a < n { add b[e] += z }
//! ```
//!
//! b and e are from outside of the loop, or e is computed from what is, which moves before it. The loop does nothing to
//! what b may share but adding. Then it waits for no store, and its iterations share nothing but a sum. Its other
//! additions, element by element, are no longer held up by this one. So it is in the derivative of what is divided by a
//! norm, or shifted by a largest element: each term goes into its own element, and all into one. Later, when loops are
//! split, those follow that load other elements of b: `ranges` knows that they lie before e, or behind it. (A sweep that
//! updates its cotangents in place has such loops.)
//!
//! The order of the terms changes: of Floats only where it may (`Module::keeps_order`). Where the loop does not run, e
//! may be no index of b.

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::ranges::{Linear, Ranges};
use crate::ir::{Block, Builder, For, Local, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Promotes sums in loops that load nothing of what they add to.
pub(super) fn run(cx: &mut FunctionCx) {
    promote(cx, None);
}

/// Promotes sums in loops that load other elements of what they add to: no other pass can do anything with these.
pub(super) fn run_beside_loads(cx: &mut FunctionCx) {
    let aliases = cx.aliases();
    if loads_what_is_added_to(&cx.function.body, &aliases) {
        promote(cx, Some(Ranges::new(cx.function)));
    }
}

fn promote(cx: &mut FunctionCx, ranges: Option<Ranges>) {
    let (aliases, summaries, keeps_order) = (cx.aliases(), cx.summaries(), cx.settings.keeps_order);
    cx.rewrite(|body, function| {
        let builder = Builder { locals: &mut function.locals };
        let made = if ranges.is_some() { made(body) } else { Made::default() };
        Carrier { aliases, summaries, keeps_order, builder, ranges, made }.promote_in_block(body);
    });
}

/// Returns whether a loop of the block loads from a buffer that it adds to, so that it matters from where.
fn loads_what_is_added_to(block: &Block, aliases: &Aliases) -> bool {
    let mut found = false;
    block.visit(&mut |stmt| {
        if let Stmt::For(looped) = stmt {
            let added = looped.body.stmts.iter().filter_map(|stmt| match stmt {
                Stmt::Memory(Memory::Add(b, ..)) => b.local(),
                _ => None,
            });
            let loads = |a: Local| looped.body.stmts.iter().any(|stmt| loads(stmt, a, aliases).is_some());
            found = found || added.into_iter().any(loads);
        }
    });
    found
}

/// Returns the buffer and the place that a statement loads from, if that may be a place of a buffer.
fn loads<'a>(stmt: &'a Stmt, b: Local, aliases: &Aliases) -> Option<(Local, &'a Operand)> {
    match stmt {
        Stmt::Memory(Memory::Load(_, a, e)) => a.local().filter(|a| aliases.may_share(*a, b)).map(|a| (a, e)),
        _ => None,
    }
}

struct Carrier<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    keeps_order: bool,
    builder: Builder<'a>,
    /// What is known of places, if sums beside loads are wanted.
    ranges: Option<Ranges>,
    /// How places are made, then.
    made: Made,
}

impl Carrier<'_> {
    fn promote_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            for i in 0..stmt.blocks().count() {
                let mark = self.ranges.as_ref().map(Ranges::mark);
                self.ranges.iter_mut().for_each(|ranges| ranges.enter(&stmt, i));
                self.promote_in_block(stmt.block_mut(i));
                self.ranges.iter_mut().zip(mark).for_each(|(ranges, mark)| ranges.back_to(mark));
            }
            let before = block.stmts.len();
            match stmt {
                Stmt::For(looped) if !looped.on_threads => self.promote_in_loop(*looped, &mut block.stmts),
                stmt => block.stmts.push(stmt),
            }
            if let Some(ranges) = &mut self.ranges {
                ranges.know(self.builder.locals);
                block.stmts[before..].iter().for_each(|stmt| ranges.learn_from(stmt));
            }
        }
    }

    fn promote_in_loop(&mut self, mut looped: For, out: &mut Vec<Stmt>) {
        let fixed = fixed(&looped);
        let is_fixed = |a: &Operand| a.local().is_none_or(|x| fixed.is_outside(x) || fixed.computed.contains(&x));
        let is_outside = |a: &Operand| a.local().is_none_or(|x| fixed.is_outside(x));
        let is_sum = |stmt: &Stmt| match stmt {
            Stmt::Memory(Memory::Add(b, e, x)) => is_outside(b) && is_fixed(e) && self.is_sum(&looped, b, e, x),
            _ => false,
        };
        let is_sum: Vec<bool> = looped.body.stmts.iter().map(is_sum).collect();
        let mut sums = Vec::new();
        for (stmt, is_sum) in std::mem::take(&mut looped.body.stmts).into_iter().zip(is_sum) {
            match stmt {
                Stmt::Memory(Memory::Add(b, e, x)) if is_sum => sums.push((b, e, x)),
                stmt => looped.body.stmts.push(stmt),
            }
        }
        let places: Vec<Local> = sums.iter().filter_map(|(_, e, _)| e.local()).collect();
        out.extend(take_places(&mut looped.body.stmts, places, &fixed.computed));
        let ends: Vec<Stmt> = sums.into_iter().map(|(b, e, x)| self.carry_sum(&mut looped, b, e, x)).collect();
        let [from, to] = [looped.from.clone(), looped.to.clone()];
        out.push(Stmt::For(Box::new(looped)));
        if ends.is_empty() {
            return;
        }
        let runs = self.builder.op(Op::LtI, [from, to], out);
        out.push(Stmt::If(vec![], runs, Block { stmts: ends, results: vec![] }, Block::default()));
    }

    /// Returns whether what a loop adds to an element may be added later, and together.
    fn is_sum(&mut self, looped: &For, b: &Operand, e: &Operand, x: &Operand) -> bool {
        let Some(b) = b.local() else { return false };
        if self.keeps_order && x.ty(self.builder.locals) == Scalar::Float.ty() {
            return false;
        }
        let shares = |a: &Operand| a.local().is_some_and(|a| self.aliases.may_share(a, b));
        let mut only_adds = true;
        let mut see = |stmt: &Stmt| {
            only_adds &= match stmt {
                Stmt::Memory(Memory::Add(..)) => true,
                Stmt::Memory(Memory::Load(_, a, _) | Memory::Move { from: a, .. }) if shares(a) => false,
                Stmt::Memory(Memory::Slide(..) | Memory::Slid { .. }) => false,
                Stmt::Call(..) | Stmt::External { .. } | Stmt::Bench { .. } => false,
                stmt => !self.aliases.changes(stmt, b, self.summaries),
            };
        };
        for stmt in looped.body.stmts.iter().filter(|stmt| loads(stmt, b, &self.aliases).is_none()) {
            see(stmt);
            stmt.blocks().for_each(|block| block.visit(&mut see));
        }
        only_adds && self.loads_apart(looped, b, e)
    }

    /// Returns whether the loop's own block loads nothing of what a buffer may share; or, if such sums are wanted, elements
    /// of the buffer other than e.
    fn loads_apart(&mut self, looped: &For, b: Local, e: &Operand) -> bool {
        let loaded = looped.body.stmts.iter().filter_map(|stmt| loads(stmt, b, &self.aliases));
        let (own, views): (Vec<_>, Vec<_>) = loaded.partition(|(a, _)| *a == b);
        let Some(ranges) = &mut self.ranges else { return own.is_empty() && views.is_empty() };
        if !views.is_empty() {
            return false;
        }
        ranges.know(self.builder.locals);
        let mark = ranges.mark();
        ranges.enter(&Stmt::For(Box::new(looped.clone())), 0);
        looped.body.stmts.iter().for_each(|stmt| ranges.learn_from(stmt));
        let is_apart = own.into_iter().all(|(_, f)| are_apart(different_addends(&self.made, e, f), &self.made, ranges));
        ranges.back_to(mark);
        is_apart
    }

    /// Carries the sum; gives what adds it.
    fn carry_sum(&mut self, looped: &mut For, b: Operand, e: Operand, x: Operand) -> Stmt {
        let ty = x.ty(self.builder.locals);
        let is_float = ty == Scalar::Float.ty();
        let (op, nothing) = if is_float { (Op::AddF, Operand::Float(-0.0)) } else { (Op::AddI, Operand::Integer(0)) };
        let [y, z] = [(); 2].map(|()| self.builder.local(ty));
        let next = self.builder.op(op, [y.into(), x], &mut looped.body.stmts);
        looped.carried.push((y, nothing));
        looped.body.results.push(next);
        looped.results.push(z);
        Stmt::Memory(Memory::Add(b, e, z.into()))
    }
}

/// What a loop does not change.
struct Fixed {
    set: FxHashSet<Local>,
    /// The Integers of its own block that are computed from what is outside, by operations that cannot fail.
    computed: FxHashSet<Local>,
}

impl Fixed {
    fn is_outside(&self, x: Local) -> bool {
        !self.set.contains(&x)
    }
}

fn fixed(looped: &For) -> Fixed {
    let set = looped.carried.iter().map(|(y, _)| *y).chain([looped.index]).collect();
    let mut fixed = Fixed { set, computed: FxHashSet::default() };
    looped.body.visit(&mut |stmt| fixed.set.extend(stmt.targets().into_iter().chain(stmt.bound())));
    for stmt in &looped.body.stmts {
        if let Stmt::Let(x, Op::AddI | Op::SubI | Op::MulI | Op::NegI, args) = stmt
            && args.iter().filter_map(Operand::local).all(|a| fixed.is_outside(a) || fixed.computed.contains(&a))
        {
            fixed.computed.insert(*x);
        }
    }
    fixed
}

/// The additions and products of Integers in a function.
type Made = FxHashMap<Local, (Op, Vec<Operand>)>;

fn made(block: &Block) -> Made {
    let mut made = Made::default();
    block.visit(&mut |stmt| {
        if let Stmt::Let(x, op @ (Op::AddI | Op::MulI), args) = stmt {
            made.insert(*x, (*op, args.clone()));
        }
    });
    made
}

/// Returns the addends of each of two places that they do not have in common.
fn different_addends(made: &Made, e: &Operand, f: &Operand) -> [Vec<Operand>; 2] {
    let (mut of_e, mut of_f) = (addends(made, e, MOST_SUMS), addends(made, f, MOST_SUMS));
    of_e.retain(|a| {
        let common = of_f.iter().position(|b| a.same(b));
        common.map(|at| of_f.remove(at)).is_none()
    });
    [of_e, of_f]
}

/// Returns whether two places are known to differ, by the addends that they do not have in common: one of each, or places
/// in two rows of a matrix. Whether the sums fit into 64 bits does not matter.
fn are_apart([of_e, of_f]: [Vec<Operand>; 2], made: &Made, ranges: &mut Ranges) -> bool {
    let mut differ = |a: &Operand, b: &Operand| {
        let mut is_before = |a: &Operand, b: &Operand| {
            let difference = ranges.form(a).minus(&ranges.form(b)).and_then(|form| form.shifted(1));
            ranges.is_not_positive(difference)
        };
        is_before(a, b) || is_before(b, a)
    };
    let zero = Operand::Integer(0);
    if let ([] | [_], [] | [_]) = (&of_e[..], &of_f[..])
        && differ(of_e.first().unwrap_or(&zero), of_f.first().unwrap_or(&zero))
    {
        return true;
    }
    let rows = |addends: &[Operand]| -> Vec<(Operand, Operand, Vec<Operand>)> {
        let factors = |a: &Operand| match made.get(&a.local()?)? {
            (Op::MulI, args) => Some([[args[0].clone(), args[1].clone()], [args[1].clone(), args[0].clone()]]),
            _ => None,
        };
        let split = |at: usize| {
            let rest: Vec<Operand> = [&addends[..at], &addends[at + 1..]].concat();
            let factors = factors(&addends[at]).into_iter().flatten();
            factors.map(|[row, size]| (row, size, rest.clone())).collect::<Vec<_>>()
        };
        (0..addends.len()).flat_map(split).collect()
    };
    let (rows_of_e, rows_of_f) = (rows(&of_e), rows(&of_f));
    let pairs = rows_of_e.iter().flat_map(|e| rows_of_f.iter().map(move |f| (e, f)));
    let found: Vec<_> = pairs.filter(|((a, m, _), (b, n, _))| m.same(n) && differ(a, b)).collect();
    let mut is_column = |addends: &[Operand], size: &Operand| {
        let sum = addends.iter().try_fold(Linear::constant(0), |sum, a| sum.plus(&ranges.form(a)));
        let end = sum.as_ref().and_then(|sum| sum.minus(&ranges.form(size))?.shifted(1));
        ranges.is_not_positive(sum.and_then(|sum| sum.times(-1))) && ranges.is_not_positive(end)
    };
    found.into_iter().any(|((_, size, x), (_, _, y))| is_column(x, size) && is_column(y, size))
}

/// How many sums of sums a place may be.
const MOST_SUMS: usize = 4;

/// Returns the operands that add up to another.
fn addends(made: &Made, a: &Operand, sums: usize) -> Vec<Operand> {
    match a.local().and_then(|x| made.get(&x)) {
        Some((Op::AddI, args)) if sums > 0 => args.iter().flat_map(|arg| addends(made, arg, sums - 1)).collect(),
        _ => vec![a.clone()],
    }
}

/// Takes out of a block what computes some of its places.
fn take_places(stmts: &mut Vec<Stmt>, mut wanted: Vec<Local>, computed: &FxHashSet<Local>) -> Vec<Stmt> {
    let mut taken = Vec::new();
    for at in (0..stmts.len()).rev() {
        if stmts[at].targets().iter().any(|x| wanted.contains(x) && computed.contains(x)) {
            wanted.extend(stmts[at].operands().into_iter().filter_map(Operand::local));
            taken.push(stmts.remove(at));
        }
    }
    taken.reverse();
    taken
}
