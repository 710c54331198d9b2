//! Follows passes one rewrite at a time, for `lmc demo --trace`.
//!
//! A pass that may do k rewrites gives a definition ([`lm::rewrites`]). The trace runs it for k = 0, 1, 2, .., so that
//! each step is from one definition to the next, and the last is what the pass gives.

use lm::alpha;
use lm::notation::infix;
use lm::rewrites::{Rewrite, Rewrites};
use lm::term::{Def, Expr, Supply};
use lm::verify;
use std::sync::Arc;

/// A rewrite of a definition.
#[derive(Clone, Debug)]
pub struct Step {
    /// The name of the pass.
    pub pass: &'static str,
    /// The name of the law.
    pub law: Arc<str>,
    /// The instance of the law, where it is one of a table: the term before, and after with the bindings that it made.
    pub instance: Option<(Expr, Expr)>,
    /// The body of the definition before.
    pub before: Expr,
    /// The body of the definition after.
    pub after: Expr,
}

/// The width of a definition in a message.
const WIDTH: usize = 120;

/// Returns a definition after some of the rewrites of a pass. Debug builds check that it is well typed.
pub(super) fn checked(pass: &'static str, def: Def, last: Option<&Rewrite>) -> Def {
    if cfg!(debug_assertions)
        && let Err(why) = verify::scoping(&def).and_then(|()| verify::typing(&def))
    {
        let law = last.map_or("no law", |rewrite| &rewrite.law);
        let text = infix::definition(&def, infix::Format::Plain, WIDTH);
        panic!("in the midst of the pass `{pass}`, after `{law}`: {why}\n{text}");
    }
    def
}

fn assert_unchanged(pass: &str, from: &Def, after: &Def) {
    let text = |def: &Def| infix::definition(def, infix::Format::Plain, WIDTH);
    assert!(
        alpha::exprs(&from.body, &after.body),
        "the pass `{pass}` changes this without a rewrite:\n{}\nto\n{}",
        text(from),
        text(after)
    );
}

/// The steps so far.
#[derive(Debug, Default)]
pub(in crate::derive) struct Trace {
    steps: Vec<Step>,
}

impl Trace {
    /// Adds a step, unless it only renames variables.
    pub(super) fn add(&mut self, pass: &'static str, rewrite: Rewrite, before: &Expr, after: &Expr) {
        if !alpha::exprs(before, after) {
            let Rewrite { law, instance } = rewrite;
            self.steps.push(Step { pass, law, instance, before: before.clone(), after: after.clone() });
        }
    }

    /// Adds each rewrite of a pass on `from`.
    ///
    /// Panics if the pass changes more than names without a rewrite.
    pub(super) fn follow<E>(
        &mut self,
        pass: &'static str,
        from: &Def,
        supply: &Supply,
        run: &mut impl FnMut(&mut Supply, &mut Rewrites) -> Result<Def, E>,
    ) -> Result<(), E> {
        let mut before = from.body.clone();
        for n in 0.. {
            let mut rewrites = Rewrites::first(n);
            let after = run(&mut supply.clone(), &mut rewrites)?;
            let last = rewrites.into_last();
            let after = checked(pass, after, last.as_ref());
            match last {
                Some(rewrite) => self.add(pass, rewrite, &before, &after.body),
                None if n == 0 => assert_unchanged(pass, from, &after),
                None => break,
            }
            before = after.body;
        }
        Ok(())
    }

    /// Returns the number of steps so far.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Forgets all steps but the first ones.
    pub(super) fn truncate(&mut self, len: usize) {
        self.steps.truncate(len);
    }

    /// Returns the last steps that follow each other up to this body, and starts again. Steps before them belong to a
    /// definition from which this one was made.
    pub(super) fn take_to(&mut self, last: &Expr) -> Vec<Step> {
        let mut steps = std::mem::take(&mut self.steps);
        let mut reached = last.clone();
        let mut first = steps.len();
        while first > 0 && alpha::exprs(&steps[first - 1].after, &reached) {
            first -= 1;
            reached = steps[first].before.clone();
        }
        steps.split_off(first)
    }
}
