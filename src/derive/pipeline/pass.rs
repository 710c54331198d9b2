//! Runs the passes of recipes.

use super::records::Recording;
use super::{Error, Pipeline, Stage, checked};
use crate::derive::figures::fig09_11_category as category;
use crate::derive::figures::paper003_unary as unary;
use crate::derive::recipes::Pass;
use lm::rewrites::Rewrite;
use lm::scope::{renamed, substitute};
use lm::term::{Def, Derivative, Expr, FunName, Mode, Var};

/// A function, and the derivative of it that a recipe makes.
pub(in crate::derive) struct Task {
    /// The derivative; `None` for a form of the function itself.
    pub(in crate::derive) derivative: Option<Derivative>,
    /// The function.
    pub(in crate::derive) of: FunName,
}

impl Task {
    /// Returns the name of the function to make.
    pub(in crate::derive) fn name(&self) -> FunName {
        match &self.derivative {
            Some(derivative) => self.of.derived(derivative.clone()),
            None => self.of.clone(),
        }
    }

    /// Returns the derivative that is made.
    pub(in crate::derive) fn derivative(&self) -> &Derivative {
        self.derivative.as_ref().expect("the recipe is one for a derivative")
    }

    /// Returns the mode in which the derivative is used: linear maps are made for both.
    pub(in crate::derive) fn direction(&self) -> Mode {
        self.derivative.as_ref().and_then(Derivative::mode).unwrap_or(Mode::Reverse)
    }

    /// Returns the mode of the derivative that is made.
    pub(in crate::derive) fn mode(&self) -> Mode {
        self.derivative().mode().expect("the recipe is one for derivatives of one mode")
    }
}

/// A definition on its way through the passes.
pub(in crate::derive) struct Work {
    /// The definition.
    pub(in crate::derive) def: Def,
    /// The definition in the category language, between the passes that use it.
    pub(in crate::derive) category: Option<category::Def>,
    /// The definition in UNF, between the passes that use it.
    pub(in crate::derive) unary: Option<(unary::Def, unary::print::Language)>,
    /// The values that belong to the map, while a pass takes the map alone.
    pub(in crate::derive) recording: Option<Recording>,
}

impl Work {
    pub(in crate::derive) fn new(def: Def) -> Work {
        Work { def, category: None, unary: None, recording: None }
    }

    /// Returns the recorded values, which an earlier pass has made.
    pub(in crate::derive) fn recording(&self) -> &Recording {
        self.recording.as_ref().expect("the pass `record` came before")
    }

    pub(super) fn category(&self) -> &category::Def {
        self.category.as_ref().expect("the pass `convert` came before")
    }
}

impl Pass {
    /// Runs the pass. Adds the stages that it shows itself.
    pub(in crate::derive) fn run(
        self,
        cx: &mut Pipeline,
        task: &Task,
        mut work: Work,
        stages: &mut Vec<Stage>,
    ) -> Result<Work, Error> {
        let def = &work.def;
        work.def = match self {
            Pass::Prepare => {
                let expanded = cx.arrays_expanded(def);
                let inlined = cx.with_marked_inlined(&expanded);
                let folded = cx.with_maps_of_folds(&inlined);
                cx.with_independent_marked(&folded)
            }
            Pass::Normal => cx.normal(def),
            Pass::Anf => cx.anf(def),
            Pass::WithoutMaps => cx.without_maps(def)?,
            Pass::InlineMaps => cx.maps_inlined(def, false)?,
            Pass::InlineJacobians => cx.maps_inlined(def, true)?,
            Pass::ApplyMaps => cx.maps_applied(def)?,
            Pass::Convert => return Ok(cx.convert(work)),
            Pass::Prune => return Ok(cx.prune(work)),
            Pass::UnaryForm => return Ok(cx.unary_form(work)),
            Pass::Target => {
                work.unary = work.unary.map(|(form, _)| (form, unary::print::Language::Target));
                return Ok(work);
            }
            Pass::Sweep => return cx.swept(work, &task.of),
            Pass::Back => return Ok(cx.back(work)),
            Pass::Rename => cx.copy_named(def, &task.name()),
            Pass::Jacobian => cx.jacobian(def)?,
            Pass::JacobianOfStates => cx.jacobian_of_states(def)?,
            Pass::WrittenJacobian => cx.written_jacobian(&task.of)?,
            Pass::Pair(partner) => cx.paired(def, partner)?,
            Pass::Dual => cx.dual(def)?,
            Pass::Apart => cx.apart(def, &task.of)?,
            Pass::ReverseByMap => cx.reverse_by_map(def, &task.of)?,
            Pass::Simplify(schedule) => cx.simplified(def, schedule)?,
            Pass::TransposeLater => cx.transposed_later(def, &task.of),
            Pass::Transpose => cx.transpose(def, &task.of)?,
            Pass::ApplyTo(mode) => cx.applied_to(def, &task.of, mode),
            Pass::ApplyFromRight => cx.applied_from_right(def, &task.of),
            Pass::Apply => cx.apply(def)?,
            Pass::Place => cx.placed(def.clone()),
            Pass::Tangent => cx.tangent(def, &task.of),
            Pass::ValueBeside => cx.value_beside(&task.of, task.mode())?,
            Pass::Record => return cx.record_values(work, &task.of),
            Pass::Split => return cx.split_category(work),
            Pass::ReverseHalf => return Ok(cx.reverse_category(work)),
            Pass::TransposeLeaves => cx.transpose_leaves(def)?,
            Pass::MapAlone => {
                work.category = None;
                cx.map_alone(&work)
            }
            Pass::TransposeMap => cx.transpose_map(&work)?,
            Pass::ApplyMap => cx.apply_map(&work),
            Pass::WithValues => cx.with_values(&work, &task.of),
            Pass::ShareValues => cx.shared_values(def),
            Pass::Cotangent => cx.cotangent(def, &task.of),
            Pass::CutRecorded => cx.recorded_halves(def, &task.of)?.half(task.derivative()),
            Pass::Cut => cx.halves(def, &task.of)?.half(task.derivative()),
            Pass::CallHalves => cx.call_halves(&task.of, task.derivative().clone())?,
            Pass::Symmetry => cx.by_symmetry(&task.of, task.mode())?,
            Pass::SymmetryWithValue => cx.value_by_symmetry(&task.of, task.mode())?,
            Pass::Shape => cx.shape(def),
            Pass::Gradient => cx.gradient(&task.of, &task.name())?,
            Pass::HessianVector => cx.hessian_vector(&task.of, &task.name())?,
            Pass::Hessian => cx.hessian(&task.of, &task.name())?,
            Pass::ColumnsOrRows => cx.columns_or_rows(&task.of, &task.name())?,
            Pass::Directions(mode) => cx.dense_jacobian(&task.of, mode, &task.name())?,
            Pass::LoopOverDirections => cx.loop_over_directions(&task.of, &task.name())?,
            Pass::Strategy(strategy) => {
                let show = &mut |cx: &mut Pipeline, heading: &str, def: &Def| {
                    stages.push(cx.stage(heading, &Work::new(def.clone())));
                };
                cx.follow(strategy, def, show)?
            }
            Pass::OfExternal => cx.derivative_of_external(task.derivative(), &task.of, &task.name())?,
            Pass::AsWritten => cx.source(&task.name())?,
            Pass::PartOfWritten => cx.part_of_written(&task.of, task.mode())?,
            Pass::Refresh => cx.refreshed(def),
            Pass::Share => cx.shared(def, &[])?,
            Pass::CarryStates => cx.with_states_carried(def)?,
            Pass::Tidy => cx.tidied(def),
            Pass::Rules => cx.ruled(def),
        };
        Ok(work)
    }
}

impl Pipeline {
    /// Runs a pass that makes its result from other derivatives. Where there is another form of the result, the way from
    /// that is one step of the trace, the law dual-apart.
    pub(super) fn made_anew(
        &mut self,
        other: &Def,
        make: impl FnOnce(&mut Pipeline) -> Result<Def, Error>,
    ) -> Result<Def, Error> {
        let trace = self.watch.trace.take();
        let made = make(self);
        self.watch.trace = trace;
        let made = made?;
        if other.fun.name != made.fun.name {
            return Ok(made);
        }
        let by = made.params.iter().map(Var::id).zip(other.params.iter().map(Expr::var)).collect();
        let made = Def { body: substitute(&made.body, &by), params: other.params.clone(), ..made };
        if let Some(trace) = &mut self.watch.trace {
            let rewrite = Rewrite { law: "dual-apart".into(), instance: None };
            trace.add("apart", rewrite, &other.body, &made.body);
        }
        Ok(made)
    }

    fn convert(&mut self, work: Work) -> Work {
        let category = self.watch.timings.time("convert", || category::convert(&work.def));
        Work { category: Some(category), ..work }
    }

    fn prune(&mut self, work: Work) -> Work {
        let category = self.watch.timings.time("prune", || category::prune(work.category()));
        Work { category: Some(category), ..work }
    }

    fn back(&mut self, work: Work) -> Work {
        let supply = &mut self.program.supply;
        let def = self.watch.makes("back", || category::back(work.category(), supply));
        let def = checked("back", def, |back| back.body.ty() == work.def.body.ty());
        Work { def, category: None, ..work }
    }

    fn refreshed(&mut self, def: &Def) -> Def {
        let fresh = Def { body: renamed(&def.body, &mut self.program.supply), ..def.clone() };
        self.without_dead(&fresh)
    }
}
