//! The stages of a derivation, for the demo (working notes, sec. 9).

use super::{Error, Pipeline};
use lm::rewriter::Step;
use lm::term::{Def, FunName};

/// One stage of a derivation.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The heading.
    pub heading: &'static str,
    /// The definition at this stage.
    pub def: Def,
    /// The rewrites that led here, when they are traced.
    pub steps: Vec<Step>,
}

/// The headings, in order (working notes, sec. 9).
pub const HEADINGS: [&str; 12] = [
    "Original definition",
    "Anf-ised original definition",
    "The full Jacobian (unoptimised)",
    "The full Jacobian (optimised)",
    "Forward derivative (unoptimised)",
    "Forward-mode derivative (optimised)",
    "Forward-mode derivative (CSE'd)",
    "Transposed Jacobian",
    "Optimised transposed Jacobian",
    "Reverse-mode derivative (unoptimised)",
    "Reverse-mode derivative (optimised)",
    "Reverse-mode derivative (CSE'd)",
];

impl Pipeline {
    /// All stages of the derivation of one function; with `trace`, each with its rewrites.
    pub fn stages(&mut self, name: &FunName, trace: bool) -> Result<Vec<Stage>, Error> {
        self.trace = trace;
        let mut stages = Vec::new();
        let mut add = |def: &Def, steps: Vec<Step>| {
            let heading = HEADINGS[stages.len()];
            stages.push(Stage { heading, def: def.clone(), steps });
        };
        add(&self.source(name)?, vec![]);
        add(&self.normal_form(name)?, vec![]);
        let unoptimised = self.jacobian_unoptimised(name)?;
        add(&unoptimised, vec![]);
        let (optimised, steps) = self.simplified(&unoptimised, "jacobian")?;
        self.jacobians.insert(name.clone(), optimised.clone());
        add(&optimised, steps);
        let forward = self.forward_unoptimised(name)?;
        add(&forward, vec![]);
        let (forward, steps) = self.applied_with_steps(&forward)?;
        add(&forward, steps);
        add(&self.finished(&forward)?, vec![]);
        add(&self.transposed_unoptimised(name)?, vec![]);
        let (transposed, steps) = self.transposed_with_steps(name)?;
        add(&transposed, steps);
        let reverse = self.reverse_unoptimised(name)?;
        add(&reverse, vec![]);
        let (reverse, steps) = self.applied_with_steps(&reverse)?;
        add(&reverse, steps);
        add(&self.finished(&reverse)?, vec![]);
        Ok(stages)
    }
}
