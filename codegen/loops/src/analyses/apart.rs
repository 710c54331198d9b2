//! Tells whether two places of a buffer are known to differ.
//!
//! ```text
//! a + c, b + c               a < b
//! a m + x, b m + y           a < b, and 0 <= x, y < m: places in two rows of a matrix; a and b are moderate
//! ```
//!
//! Whether the sums fit into 64 bits does not matter: buffers are far smaller. A factor that is just any number could make
//! a multiple of m of anything.

use super::ranges::{ASSUMED, Linear, Ranges};
use crate::ir::{Block, Local, Op, Operand, Stmt};
use rustc_hash::FxHashMap;

/// How many sums of sums a place may be.
const MOST_SUMS: usize = 4;

/// Holds how the places of a function are made.
#[derive(Default)]
pub struct Places {
    made: FxHashMap<Local, (Op, Vec<Operand>)>,
}

/// A product in a sum, with what else is added.
struct Row<'a> {
    row: &'a Operand,
    size: &'a Operand,
    rest: Vec<Operand>,
}

impl Places {
    /// Returns how the places of a function body are made.
    pub fn of(body: &Block) -> Places {
        let mut places = Places::default();
        body.visit(&mut |stmt| {
            if let Stmt::Let(x, op @ (Op::AddI | Op::MulI), args) = stmt {
                places.made.insert(*x, (*op, args.clone()));
            }
        });
        places
    }

    /// Returns whether two places are known to differ where these ranges hold.
    pub fn are_apart(&self, places: [&Operand; 2], ranges: &mut Ranges) -> bool {
        // Of a sum more may be known than of its terms.
        (0..=MOST_SUMS).any(|sums| self.are_sums_apart(places.map(|place| self.addends(place, sums)), ranges))
    }

    fn are_sums_apart(&self, [mut of_e, mut of_f]: [Vec<Operand>; 2], ranges: &mut Ranges) -> bool {
        of_e.retain(|a| {
            let common = of_f.iter().position(|b| a.same(b));
            common.map(|at| of_f.remove(at)).is_none()
        });
        let zero = Operand::Integer(0);
        if let ([] | [_], [] | [_]) = (&of_e[..], &of_f[..]) {
            let [a, b] = [&of_e, &of_f].map(|addends| addends.first().unwrap_or(&zero));
            if differ(a, b, ranges) {
                return true;
            }
        }
        let (rows_of_e, rows_of_f) = (self.rows(&of_e), self.rows(&of_f));
        let mut pairs = rows_of_e.iter().flat_map(|e| rows_of_f.iter().map(move |f| (e, f)));
        pairs.any(|(e, f)| {
            let is_column = |row: &Row, ranges: &mut Ranges| is_index(&row.rest, e.size, ranges);
            e.size.same(f.size)
                && differ(e.row, f.row, ranges)
                && [e, f].into_iter().all(|row| is_moderate(row.row, ranges) && is_column(row, ranges))
        })
    }

    /// Returns the operands that add up to another.
    fn addends(&self, a: &Operand, sums: usize) -> Vec<Operand> {
        match a.local().and_then(|x| self.made.get(&x)) {
            Some((Op::AddI, args)) if sums > 0 => args.iter().flat_map(|arg| self.addends(arg, sums - 1)).collect(),
            _ => vec![a.clone()],
        }
    }

    fn rows(&self, addends: &[Operand]) -> Vec<Row<'_>> {
        let mut rows = Vec::new();
        for (at, a) in addends.iter().enumerate() {
            let Some((Op::MulI, factors)) = a.local().and_then(|x| self.made.get(&x)) else { continue };
            for (row, size) in [(&factors[0], &factors[1]), (&factors[1], &factors[0])] {
                rows.push(Row { row, size, rest: [&addends[..at], &addends[at + 1..]].concat() });
            }
        }
        rows
    }
}

fn differ(a: &Operand, b: &Operand, ranges: &mut Ranges) -> bool {
    let mut is_before = |a: &Operand, b: &Operand| {
        let difference = ranges.form(a).minus(&ranges.form(b)).and_then(|form| form.shifted(1));
        ranges.is_not_positive(difference)
    };
    is_before(a, b) || is_before(b, a)
}

fn is_moderate(a: &Operand, ranges: &mut Ranges) -> bool {
    let form = ranges.form(a);
    [1, -1].into_iter().all(|k| ranges.is_not_positive(form.times(k).and_then(|form| form.shifted(-ASSUMED))))
}

/// Returns whether a sum is at least 0 and below a size.
fn is_index(addends: &[Operand], size: &Operand, ranges: &mut Ranges) -> bool {
    let sum = addends.iter().try_fold(Linear::constant(0), |sum, a| sum.plus(&ranges.form(a)));
    let past = sum.as_ref().and_then(|sum| sum.minus(&ranges.form(size))?.shifted(1));
    ranges.is_not_positive(sum.and_then(|sum| sum.times(-1))) && ranges.is_not_positive(past)
}
