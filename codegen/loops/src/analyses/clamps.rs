//! Finds Integers that are the smaller or the larger one of two: so `index_set_split` puts the bounds of a loop's parts
//! between those of the loop.
//!
//! ```text
//! c = le.i a b; x = if c { a } else { b }       x is the smaller one; the larger one with the arms exchanged
//! x = add.i n -1                                x is less than n, a size
//! ```

use crate::ir::{Block, Local, Op, Operand, Stmt};
use rustc_hash::FxHashMap;

/// Holds the clamped Integers of a function.
#[derive(Debug, Default)]
pub struct Clamps {
    of: FxHashMap<Local, Clamp>,
}

#[derive(Debug)]
enum Clamp {
    Smaller([Operand; 2]),
    Larger([Operand; 2]),
    Less(Operand),
}

/// A bound is one of so many, one in the other, at most.
const DEEPEST: usize = 8;

impl Clamps {
    /// Returns those that a function body sets.
    pub fn of(body: &Block) -> Clamps {
        let mut compared: FxHashMap<Local, [Operand; 2]> = FxHashMap::default();
        let mut clamps = Clamps::default();
        body.visit(&mut |stmt| match stmt {
            Stmt::Let(x, Op::LeI | Op::LtI, args) => drop(compared.insert(*x, [args[0].clone(), args[1].clone()])),
            Stmt::Let(x, Op::AddI, args) if matches!(args[1], Operand::Integer(-1_000..=0)) => {
                clamps.of.insert(*x, Clamp::Less(args[0].clone()));
            }
            Stmt::Let(x, Op::SubI, args) if matches!(args[1], Operand::Integer(0..=1_000)) => {
                clamps.of.insert(*x, Clamp::Less(args[0].clone()));
            }
            Stmt::If(xs, Operand::Local(c), then, other) => {
                let Some([a, b]) = compared.get(c) else { return };
                for (x, (yes, no)) in xs.iter().zip(then.results.iter().zip(&other.results)) {
                    if yes.same(a) && no.same(b) {
                        clamps.of.insert(*x, Clamp::Smaller([a.clone(), b.clone()]));
                    } else if yes.same(b) && no.same(a) {
                        clamps.of.insert(*x, Clamp::Larger([a.clone(), b.clone()]));
                    }
                }
            }
            _ => {}
        });
        clamps
    }

    /// Returns whether an Integer is no more than another one, where some locals are said to be sizes.
    pub fn is_at_most(&self, a: &Operand, most: &Operand, is_size: &dyn Fn(Local) -> bool) -> bool {
        self.at_most(a, most, is_size, DEEPEST)
    }

    /// Returns whether an Integer is not negative.
    pub fn is_not_negative(&self, a: &Operand, is_size: &dyn Fn(Local) -> bool) -> bool {
        self.not_negative(a, is_size, DEEPEST)
    }

    fn at_most(&self, a: &Operand, most: &Operand, is_size: &dyn Fn(Local) -> bool, depth: usize) -> bool {
        let is_none = matches!(a, Operand::Integer(..=0)) && most.local().is_some_and(is_size);
        if is_none || a.same(most) || matches!((a, most), (Operand::Integer(a), Operand::Integer(b)) if a <= b) {
            return true;
        }
        let Some((depth, clamp)) = self.clamp(a, depth) else { return false };
        let mut each = |a: &Operand| self.at_most(a, most, is_size, depth);
        match clamp {
            Clamp::Smaller(both) => both.iter().any(&mut each),
            Clamp::Larger(both) => both.iter().all(each),
            Clamp::Less(than) => than.local().is_some_and(is_size) && each(than),
        }
    }

    fn not_negative(&self, a: &Operand, is_size: &dyn Fn(Local) -> bool, depth: usize) -> bool {
        if matches!(a, Operand::Integer(0..)) || a.local().is_some_and(is_size) {
            return true;
        }
        let Some((depth, clamp)) = self.clamp(a, depth) else { return false };
        let mut each = |a: &Operand| self.not_negative(a, is_size, depth);
        match clamp {
            Clamp::Smaller(both) => both.iter().all(each),
            Clamp::Larger(both) => both.iter().any(&mut each),
            Clamp::Less(_) => false,
        }
    }

    fn clamp(&self, a: &Operand, depth: usize) -> Option<(usize, &Clamp)> {
        Some((depth.checked_sub(1)?, self.of.get(&a.local()?)?))
    }
}
