//! Decides which recipe makes a derivative.

use super::pass::Task;
use super::{Error, Pipeline};
use crate::derive::Derivation;
use crate::derive::figures::checkpoints::segments::Checkpoints;
use crate::derive::recipes::When;
use lm::term::{Derivative, FunName, Mode};
use lm::types::Type;

impl Pipeline {
    /// Returns whether the condition of a recipe holds for the function to make.
    pub(super) fn holds(&mut self, when: When, task: &Task) -> Result<bool, Error> {
        let (of, derivative) = (&task.of, task.derivative());
        let is_written = |derivative| self.written.contains(&of.unrestricted().derived(derivative));
        let halves = || *derivative == Derivative::Rev && is_written(Derivative::SufRevPass);
        Ok(match when {
            When::Always => true,
            When::Shown => false,
            When::Maps => self.has_maps(of),
            When::Written => self.written.contains(&task.name()),
            When::External => self.program.externals.contains_key(of),
            When::PartOfWritten => of.varying().is_some() && (halves() || is_written(derivative.clone())),
            When::HalvesWritten => halves(),
            When::Symmetric => self.symmetry(of, task.mode())?.is_some(),
            When::SymmetricWithValue => self.symmetry(of, task.mode())?.is_some_and(|parts| parts.has_value()),
            When::Records => self.has_records(of) && self.symmetry(of, Mode::Reverse)?.is_none(),
            When::RecordsInHalves => self.derivation_of(of) == Derivation::Split && self.holds(When::Records, task)?,
            When::Unary => self.is_unary(of) && self.symmetry(of, Mode::Reverse)?.is_none(),
            When::OwnForward => !is_written(Derivative::D) && self.is_another_forward(of)?,
            When::Dual => {
                let mode = derivative.mode().unwrap_or(Mode::Forward);
                self.is_dual(of, mode) && (derivative.mode().is_none() || self.symmetry(of, mode)?.is_none())
            }
            When::DualToFloat => {
                let is_to_float = self.source(of)?.fun.result == Type::Float;
                is_to_float && self.is_dual(of, Mode::Reverse) && self.is_dual(of, Mode::Forward)
            }
            When::Pairs => self.is_paired(of) && self.symmetry(of, Mode::Forward)?.is_none(),
        })
    }

    /// Returns whether the Jacobian of a function keeps states that forward mode does not: its folds are in segments, or
    /// it is that of another form of the function.
    fn is_another_forward(&mut self, of: &FunName) -> Result<bool, Error> {
        let def = self.differentiable(of, Mode::Forward)?;
        let checkpoints =
            Checkpoints { option: self.checkpoint, effects: Some(&self.effects), updates: Some(&self.updates) };
        Ok(self.carried.contains(&of.unrestricted()) || def.body.any(|e| checkpoints.divides(e)))
    }
}
