//! Finds loops that never end, and passes where there is no whole definition, before a strategy is run.
//!
//! ```text
//! moves(s): s takes a step wherever it succeeds
//!   a law, fail: yes      id, try, pass, all, repeat, innermost: no      one, some, topDown, bottomUp: as their strategy
//!   a ; b: either      a <+ b: both      mu x. s: as s, if x does
//! repeat(s), innermost(s), normalize(s) need moves(s); in mu x. s, what leads to x takes a step or goes to a child
//! ```

use super::combinator::Combinator;
use super::mistake::{Cause, Mistake};
use super::tree::Strategy;
use crate::term::Span;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Returns the mistakes of a strategy, which is applied to whole definitions or to parts of them.
pub(super) fn check(s: &Strategy, is_whole: bool, text: &dyn Fn(Span) -> String) -> Vec<Mistake> {
    let mut check = Check { moves: Moves::of(s), text, mistakes: Vec::new() };
    check.walk(s, Span::default(), is_whole);
    check.mistakes
}

/// What is known of the steps of a strategy's parts.
#[derive(Default)]
struct Moves {
    /// Whether the variable of each `mu` takes a step.
    variables: FxHashMap<u32, bool>,
    /// The parts that are known, by address.
    known: FxHashMap<*const Strategy, bool>,
}

impl Moves {
    /// Finds the greatest fixed point: a recursion takes a step unless a way out of it takes none.
    fn of(s: &Strategy) -> Moves {
        let (mut moves, mut recursions) = (Moves::default(), Vec::new());
        collect(s, &mut recursions);
        moves.variables = recursions.iter().map(|(x, _)| (*x, true)).collect();
        loop {
            moves.known.clear();
            let found: Vec<(u32, bool)> = recursions.iter().map(|(x, body)| (*x, moves.moves(body))).collect();
            let stays = found.iter().all(|(x, value)| moves.variables[x] == *value);
            moves.variables.extend(found);
            if stays {
                return moves;
            }
        }
    }

    fn moves(&mut self, s: &Strategy) -> bool {
        let address = std::ptr::from_ref(s);
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let value = match s {
            Strategy::Fail | Strategy::Laws(_) => true,
            Strategy::Id | Strategy::Pass(_) => false,
            Strategy::Seq(a, b) => self.moves(a) | self.moves(b),
            Strategy::Choice(a, b) => self.moves(a) & self.moves(b),
            Strategy::With(combinator, s) => combinator.moves(self.moves(s)),
            Strategy::Mu(x, _) | Strategy::Var(x) => self.variables[x],
            Strategy::Fuel(_, s) | Strategy::Stage(_, s) | Strategy::Placed(_, s) => self.moves(s),
        };
        self.known.insert(address, value);
        value
    }

    /// Returns whether a variable is reached before a step, at the same term.
    fn reaches(&mut self, s: &Strategy, x: u32) -> bool {
        match s {
            Strategy::Id | Strategy::Fail | Strategy::Laws(_) | Strategy::Pass(_) => false,
            Strategy::Var(y) => *y == x,
            Strategy::Seq(a, b) => self.reaches(a, x) || !self.moves(a) && self.reaches(b, x),
            Strategy::Choice(a, b) => self.reaches(a, x) || self.reaches(b, x),
            Strategy::With(combinator, s) => !combinator.descends() && self.reaches(s, x),
            Strategy::Mu(_, s) | Strategy::Fuel(_, s) | Strategy::Stage(_, s) | Strategy::Placed(_, s) => {
                self.reaches(s, x)
            }
        }
    }
}

fn collect(s: &Strategy, recursions: &mut Vec<(u32, Arc<Strategy>)>) {
    if let Strategy::Mu(x, body) = s {
        recursions.push((*x, body.clone()));
    }
    s.parts().for_each(|s| collect(s, recursions));
}

struct Check<'a> {
    moves: Moves,
    text: &'a dyn Fn(Span) -> String,
    mistakes: Vec<Mistake>,
}

impl Check<'_> {
    fn wrong(&mut self, span: Span, cause: fn(String) -> Cause) {
        self.mistakes.push(Mistake { span, cause: cause((self.text)(span)) });
    }

    /// Looks at a strategy and its parts. `is_whole`: it is applied to whole definitions, outside of loops.
    fn walk(&mut self, s: &Strategy, span: Span, is_whole: bool) {
        match s {
            Strategy::Placed(span, s) => return self.walk(s, *span, is_whole),
            Strategy::With(combinator, s) if combinator.loops() && !self.moves.moves(s) => {
                self.wrong(span, Cause::Endless);
            }
            Strategy::Mu(x, s) if self.moves.reaches(s, *x) => self.wrong(span, Cause::Unguarded),
            Strategy::Pass(_) | Strategy::Stage(..) if !is_whole => self.wrong(span, Cause::PassInside),
            _ => {}
        }
        let stays_whole = match s {
            Strategy::With(combinator, _) => *combinator == Combinator::Try,
            Strategy::Mu(..) | Strategy::Fuel(..) => false,
            _ => true,
        };
        s.parts().for_each(|part| self.walk(part, span, is_whole && stays_whole));
    }
}
