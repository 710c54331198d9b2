//! Follows strategies over definitions.
//!
//! ```text
//! laws    = the pass `arrays` by these laws, which knows indices, sizes and names
//! pass(p) = the pass p       stage("Heading", s) = s, whose result is shown
//! ```

use super::{Error, Pipeline};
use crate::derive::passes::arrays::{arrays, hoist};
use crate::derive::passes::inline_single_uses;
use crate::derive::schedule::Strategies;
use lm::strategy::{Action, Named, Strategy, drive};
use lm::term::Def;

/// Takes the pipeline, the heading of a stage, and its result.
pub type Show<'a> = dyn FnMut(&mut Pipeline, &str, &Def) + 'a;

type Run = fn(&mut Pipeline, &Named, &Def) -> Result<Def, Error>;

/// The passes that strategies may name ([`crate::derive::schedule::KNOWN`]).
const PASSES: &[(&str, Run)] = &[
    ("apart", |cx, _, def| cx.duals_apart(def)),
    ("inline", |cx, _, def| cx.with_duals_inlined(def)),
    ("hoist", Pipeline::hoisted),
    ("anf", |cx, _, def| Ok(cx.anf(def))),
    ("cse", |cx, _, def| Ok(cx.cse(def))),
    ("dce", |cx, _, def| Ok(cx.without_dead(def))),
    ("inline_single_uses", |cx, _, def| Ok(cx.with_single_uses_inlined(def))),
];

impl Pipeline {
    /// Returns the strategies of this run.
    pub fn strategies(&self) -> &Strategies {
        &self.strategies
    }

    /// Follows a strategy over a definition. Shows the definition after each stage, with the heading.
    ///
    /// Errors: a part does not come to an end, or leaves what it should remove.
    pub fn follow(&mut self, strategy: &str, def: &Def, show: &mut Show) -> Result<Def, Error> {
        let strategies = self.strategies.clone();
        let named = strategies.get(strategy).unwrap_or_else(|| panic!("there is no strategy `{strategy}`"));
        let done = drive(&named.strategy, def, &mut |action, def| match action {
            Action::Rewrite(part) => self.rewritten(named, part, def).map(Some),
            Action::Pass(name) => {
                let (_, run) = PASSES.iter().find(|(known, _)| *known == name).expect("the strategy was checked");
                run(self, named, def).map(Some)
            }
            Action::Stage(heading) => {
                show(self, heading, def);
                Ok(Some(def.clone()))
            }
        })?;
        Ok(done.unwrap_or_else(|| def.clone()))
    }

    /// Applies laws everywhere in a definition.
    fn rewritten(&mut self, named: &Named, part: &Strategy, def: &Def) -> Result<Def, Error> {
        let (effects, sizes) = (self.effects.clone(), self.program.signature(&def.fun));
        self.rewriting_by("arrays", named, part, def, |by, cx| arrays(def, sizes.as_ref(), by, &effects, cx))
    }

    /// Computes before each loop what no step of it changes.
    fn hoisted(&mut self, named: &Named, def: &Def) -> Result<Def, Error> {
        let (effects, sizes) = (self.effects.clone(), self.program.signature(&def.fun));
        self.rewriting_by("arrays", named, &Strategy::Fail, def, |_, cx| hoist(def, sizes.as_ref(), &effects, cx))
    }

    fn with_single_uses_inlined(&mut self, def: &Def) -> Def {
        let (effects, supply) = (&self.effects, &mut self.program.supply);
        self.watch.steps("inline_single_uses", def, supply, |_, rewrites| {
            inline_single_uses::inline_single_uses(def, effects, rewrites)
        })
    }
}
