//! Finds Floats that are never -0. To add 0 to one of these changes nothing.
//!
//! ```text
//! x + y            unless both may be -0: a sum that is zero otherwise is 0
//! abs x            never
//! if .. a else b   unless one of them may be
//! y, of for .. carrying (y = a) { .. yield b }       unless a or b may be; it is assumed that y is not
//! ```

use crate::ir::{Block, Local, Op, Operand, Stmt};
use rustc_hash::FxHashSet;

/// Returns the Floats of a block that are never -0.
pub(super) fn never_negative_zero(body: &Block) -> FxHashSet<Local> {
    let mut never = FxHashSet::default();
    body.visit(&mut |stmt| match stmt {
        Stmt::Let(x, Op::AddF | Op::AbsF, _) => {
            never.insert(*x);
        }
        Stmt::If(xs, ..) => never.extend(xs),
        Stmt::For(looped) => never.extend(looped.results.iter().chain(looped.carried.iter().map(|(y, _)| y))),
        _ => {}
    });
    loop {
        let known = never.len();
        let mut wrong = Vec::new();
        body.visit(&mut |stmt| find_wrong(stmt, &never, &mut wrong));
        wrong.iter().for_each(|x| {
            never.remove(x);
        });
        if never.len() == known {
            return never;
        }
    }
}

/// Finds what a statement sets that may be -0.
fn find_wrong(stmt: &Stmt, never: &FxHashSet<Local>, wrong: &mut Vec<Local>) {
    let is_never = |a: &Operand| match a {
        Operand::Local(x) => never.contains(x),
        Operand::Float(x) => *x != 0.0 || x.is_sign_positive(),
        Operand::Integer(_) | Operand::Bool(_) | Operand::Text(_) => false,
    };
    match stmt {
        Stmt::Let(x, Op::AddF, args) if !args.iter().any(is_never) => wrong.push(*x),
        Stmt::If(xs, _, then, other) => {
            let arms = then.results.iter().zip(&other.results);
            wrong.extend(xs.iter().zip(arms).filter(|(_, (a, b))| !is_never(a) || !is_never(b)).map(|(x, _)| x));
        }
        Stmt::For(looped) => {
            for (i, (y, init)) in looped.carried.iter().enumerate() {
                if !is_never(init) || !is_never(&looped.body.results[i]) {
                    wrong.extend([*y, looped.results[i]]);
                }
            }
        }
        _ => {}
    }
}
