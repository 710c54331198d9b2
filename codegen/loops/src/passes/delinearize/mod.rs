//! Turns a loop whose index is divided by a number into a nest of loops, whose indices are quotient and remainder.
//!
//! ```text
//! for e in 0..n { s }  =  for q in 0..n / d { for r in 0..d { s[e := d q + r] } };
//!                         for r in 0..n - d (n / d) { s[e := d (n / d) + r] }
//! ```
//!
//! where s divides e by d. The second loop is left out where n is known to be a multiple of d. Then, in linear forms
//! (`ranges`) that speak of q or r,
//!
//! ```text
//! (d a + b) / d  =  a + b / d         a >= 0, b >= 0
//!                =  a                 where b < d
//! x  =  its form                      where the form is simpler than what x is computed from: e - d (e / d) is r
//! ```
//!
//! and again for the inner loop, by what it divides r by. So elements of rows of one size, one after the other, are
//! computed row by row and side by side, and nothing is divided. x86 and NEON cannot divide vectors of Integers. Where
//! rows are short (`unroll`), what belongs to a row is loaded once, and conditionals that depend on the place in it are
//! none.
//!
//! Cost model: a division by a number takes some operations of one cycle each, in lanes many more; by a power of two
//! one. So powers of two make nests only of rows that fill vectors; and so does any number in a long body, which is not
//! written out. Of several divisors it is the one that most others divide, of these the largest.

mod forms;

use super::pass::FunctionCx;
use crate::analyses::ranges::Ranges;
use crate::ir::{Block, Builder, For, Function, Local, Op, Operand, Scalar, Stmt};
use forms::{Behind, Forms};

/// The largest divisor of a nest.
const LARGEST: i64 = 1 << 16;

/// Loops of so few iterations are written out (`unroll`), if that makes no more than so many statements.
const SHORT: i64 = 16;
const MOST_STATEMENTS: usize = 400;

/// The longest body that is copied for what is left behind the last row.
const MOST_COPIED: usize = 150;

pub(super) fn run(cx: &mut FunctionCx) {
    if divides_an_index(cx.function) {
        cx.rewrite(|body, function| {
            let mut ranges = Ranges::new(function);
            let builder = Builder { locals: &mut function.locals };
            let mut nester = Nester { builder, forms: Forms::default() };
            nester.nest_in_block(body, &mut ranges);
            nester.forms.replace_all(body);
        });
    }
}

fn divides_an_index(function: &Function) -> bool {
    let mut found = false;
    function.body.visit(&mut |stmt| {
        found |= matches!(stmt, Stmt::For(looped) if divisor(looped).is_some());
    });
    found
}

struct Nester<'a> {
    builder: Builder<'a>,
    forms: Forms,
}

impl Nester<'_> {
    fn nest_in_block(&mut self, block: &mut Block, ranges: &mut Ranges) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for stmt in std::mem::take(&mut block.stmts) {
            self.nest_in_stmt(stmt, true, ranges, &mut out);
        }
        block.stmts = out;
    }

    /// Puts what a statement becomes behind others; `divides` says whether it may become a nest.
    fn nest_in_stmt(&mut self, mut stmt: Stmt, divides: bool, ranges: &mut Ranges, out: &mut Vec<Stmt>) {
        stmt.operands_mut().into_iter().for_each(|a| self.forms.replace(a));
        if self.forms.is_simpler(&stmt, &mut Behind { locals: self.builder.locals, ranges, out }) {
            return;
        }
        for i in 0..stmt.blocks().count() {
            let mark = ranges.mark();
            ranges.know(self.builder.locals);
            ranges.enter(&stmt, i);
            self.nest_in_block(stmt.block_mut(i), ranges);
            ranges.back_to(mark);
        }
        match stmt {
            Stmt::For(looped) if divides => self.nest_loop(*looped, ranges, out),
            stmt => ranges.emit(stmt, self.builder.locals, out),
        }
    }

    /// A loop of which the body says everything as simply as it can.
    fn nest_loop(&mut self, looped: For, ranges: &mut Ranges, out: &mut Vec<Stmt>) {
        let rows = divisor(&looped).and_then(|d| Some((d, self.rows(&looped, d, ranges, out)?)));
        let Some((d, rows)) = rows else { return ranges.emit(Stmt::For(Box::new(looped)), self.builder.locals, out) };
        let parts = self.divide_loop(&looped, d, rows);
        for (i, part) in parts.into_iter().enumerate() {
            self.nest_in_stmt(part, i == 0, ranges, out);
        }
    }

    /// The number of whole rows, and, unless that is known to be nothing, how many iterations they are and are left
    /// behind them.
    fn rows(
        &mut self,
        looped: &For,
        d: i64,
        ranges: &mut Ranges,
        out: &mut Vec<Stmt>,
    ) -> Option<(Operand, Option<[Operand; 2]>)> {
        let to = ranges.form(&looped.to);
        if let Some((rows, rest)) = forms::quotient(&to, d)
            && rest.as_constant() == Some(0)
        {
            return Some((ranges.compute(&rows, self.builder.locals, out), None));
        }
        if looped.body.len() > MOST_COPIED {
            return None;
        }
        let mut op = |op, args: [Operand; 2]| ranges.op(op, args, self.builder.locals, out);
        let rows = op(Op::DivI, [looped.to.clone(), Operand::Integer(d)]);
        let whole = op(Op::MulI, [rows.clone(), Operand::Integer(d)]);
        let left = op(Op::SubI, [looped.to.clone(), whole.clone()]);
        Some((rows, Some([whole, left])))
    }

    /// The loop as one over rows, and one over what is left behind them.
    fn divide_loop(&mut self, looped: &For, d: i64, (rows, ends): (Operand, Option<[Operand; 2]>)) -> Vec<Stmt> {
        let results: Vec<Local> = looped.results.clone();
        let Some([whole, left]) = ends else { return vec![self.build_nest(looped.clone(), d, rows)] };
        let mut behind = looped.copy(self.builder.locals);
        let ends: Vec<Local> = std::mem::replace(&mut behind.results, results);
        behind.carried.iter_mut().zip(&ends).for_each(|((_, init), x)| *init = Operand::Local(*x));
        let place = self.shift_index(&mut behind, whole);
        (behind.from, behind.to) = (Operand::Integer(0), left);
        self.forms.speak_of([place]);
        let before = For { results: ends, ..looped.clone() };
        vec![self.build_nest(before, d, rows), Stmt::For(Box::new(behind))]
    }

    /// Gives a loop an index of its own, to which is added where it begins.
    fn shift_index(&mut self, looped: &mut For, start: Operand) -> Local {
        let place = self.builder.local(Scalar::Integer.ty());
        let index = std::mem::replace(&mut looped.index, place);
        looped.body.stmts.insert(0, Stmt::Let(index, Op::AddI, vec![start, place.into()]));
        place
    }

    /// A loop over rows, of a loop over a row.
    fn build_nest(&mut self, mut looped: For, d: i64, rows: Operand) -> Stmt {
        let row = self.builder.local(Scalar::Integer.ty());
        let mut body = Vec::new();
        let first = self.builder.op(Op::MulI, [row.into(), Operand::Integer(d)], &mut body);
        let place = self.shift_index(&mut looped, first);
        self.forms.speak_of([row, place]);
        let types = |xs: &mut dyn Iterator<Item = Local>, builder: &mut Builder| -> Vec<Local> {
            xs.map(|x| builder.local(builder.locals[x.0 as usize].ty)).collect()
        };
        let names = types(&mut looped.carried.iter().map(|(y, _)| *y), &mut self.builder);
        let ends = types(&mut looped.results.iter().copied(), &mut self.builder);
        let outer = For {
            results: std::mem::replace(&mut looped.results, ends.clone()),
            index: row,
            from: Operand::Integer(0),
            to: rows,
            carried: names.iter().copied().zip(looped.carried.iter().map(|(_, init)| init.clone())).collect(),
            body: Block::default(),
            ..looped.clone()
        };
        looped.carried.iter_mut().zip(names).for_each(|((_, init), y)| *init = y.into());
        (looped.from, looped.to) = (Operand::Integer(0), Operand::Integer(d));
        body.push(Stmt::For(Box::new(looped)));
        let results = ends.into_iter().map(Operand::Local).collect();
        Stmt::For(Box::new(For { body: Block { stmts: body, results }, ..outer }))
    }
}

/// Returns the number by which a loop is to be divided.
fn divisor(looped: &For) -> Option<i64> {
    if !matches!(looped.from, Operand::Integer(0)) || looped.lanes > 1 || looped.jam > 1 || looped.on_threads {
        return None;
    }
    let is_longer = |d: i64| match looped.to {
        Operand::Integer(n) => d < n && n > SHORT,
        _ => true,
    };
    let length = looped.body.len();
    let is_worth = |d: i64| {
        let is_written_out = d <= SHORT && length * usize::try_from(d).unwrap_or(usize::MAX) <= MOST_STATEMENTS;
        d >= SHORT || is_written_out && !d.unsigned_abs().is_power_of_two()
    };
    let mut found = divisors(&looped.body, looped.index);
    found.retain(|d| (2..=LARGEST).contains(d));
    let divided = |d: i64| found.iter().filter(|other| d % **other == 0).count();
    found.iter().copied().filter(|d| is_longer(*d) && is_worth(*d)).max_by_key(|d| (divided(*d), *d))
}

/// Returns the numbers by which an index is divided.
fn divisors(body: &Block, index: Local) -> Vec<i64> {
    let mut found = Vec::new();
    body.visit(&mut |stmt| {
        if let Stmt::Let(_, Op::DivI, args) = stmt
            && let [Operand::Local(x), Operand::Integer(d)] = args[..]
            && x == index
            && !found.contains(&d)
        {
            found.push(d);
        }
    });
    found
}
