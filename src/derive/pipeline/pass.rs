//! Names the passes of recipes, and runs them.

use super::records::Recording;
use super::{Error, Pipeline, checked};
use crate::derive::figures::fig07_08_pairs::Partner;
use crate::derive::figures::fig09_11_category as category;
use crate::derive::passes::{anf, dce};
use lm::rewriter::Step;
use lm::scope::renamed;
use lm::term::{Def, Derivative, FunName, Mode};

/// A pass of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Normal form; by the derivation `split`, through the category language.
    Normal,
    /// Normal form.
    Anf,
    /// The category language, from normal form.
    Convert,
    /// The category language without unused values.
    Prune,
    /// Terms with variables, from the category language.
    Back,
    /// A copy with the name of the derivative.
    Rename,
    /// The Jacobian of a normal form.
    Jacobian,
    /// The Jacobian that was written by hand, without names for maps.
    WrittenJacobian,
    /// The values of a normal form paired with their derivatives.
    Pair(Partner),
    /// The laws of a schedule, then dead code and names that are used once.
    Simplify(&'static str),
    /// `lmTranspose` of the Jacobian.
    TransposeLater,
    /// Transposition pushed to the leaves.
    Transpose,
    /// A map at a point, applied to a vector.
    ApplyTo(Mode),
    /// Application pushed to the leaves, until no map is left.
    Apply,
    /// The place of the function, for terms that have none in the source.
    Place,
    /// The tangent of a pair.
    Tangent,
    /// The value beside a derivative.
    ValueBeside,
    /// The Jacobian whose values record what the map needs.
    Record,
    /// The map of that, whose parameters are the values that it reads.
    MapAlone,
    /// The map, transposed.
    TransposeMap,
    /// The transposed map, applied to a cotangent.
    ApplyMap,
    /// The values again, with the cotangent.
    WithValues,
    /// Equal values computed once; nothing is merged.
    ShareValues,
    /// The cotangent of value and cotangent.
    Cotangent,
    /// One of the two halves of value and cotangent, cut at the record.
    CutRecorded,
    /// One of the two halves of value and cotangent, cut at the cotangent.
    Cut,
    /// The forward half, then the reverse half.
    CallHalves,
    /// The derivative of a reverse derivative, from derivatives of the function below.
    Symmetry,
    /// The derivative by `Symmetry`, with the value.
    SymmetryWithValue,
    /// The shape of the value.
    Shape,
    /// The gradient, by a call of the reverse derivative.
    Gradient,
    /// The product of Hessian and vector, by a call of the forward derivative of the gradient.
    HessianVector,
    /// The Hessian, by a call of the columns of the gradient.
    Hessian,
    /// The columns or the rows of the Jacobian, whichever are fewer.
    ColumnsOrRows,
    /// The columns of the Jacobian, each by the forward derivative, or the rows, each by the reverse derivative.
    Directions(Mode),
    /// The derivative of an external function, from the derivatives that the user wrote.
    OfExternal,
    /// The derivative as it was written by hand.
    AsWritten,
    /// The derivative with respect to parts, from the one that was written by hand.
    PartOfWritten,
    /// Binders of its own, without dead code.
    Refresh,
    /// Equal terms and calls at one point computed once.
    Share,
    /// The form that a person would write.
    Tidy,
    /// The rewrite rules of the program.
    Rules,
}

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

    /// Returns the mode of the derivative that is made.
    pub(in crate::derive) fn mode(&self) -> Mode {
        self.derivative().mode().expect("the recipe is one for derivatives of one mode")
    }
}

/// A definition on its way through the passes.
pub(in crate::derive) struct Work {
    /// The definition.
    pub(in crate::derive) def: Def,
    /// The definition in the category language, while it is there.
    pub(in crate::derive) category: Option<category::Def>,
    /// The values that belong to the map, while that goes alone.
    pub(in crate::derive) recording: Option<Recording>,
    /// The rewrites, where they are traced.
    pub(in crate::derive) steps: Vec<Step>,
}

impl Work {
    pub(in crate::derive) fn new(def: Def) -> Work {
        Work { def, category: None, recording: None, steps: Vec::new() }
    }

    /// Returns the recording, which an earlier pass has made.
    pub(in crate::derive) fn recording(&self) -> &Recording {
        self.recording.as_ref().expect("the pass `record` came before")
    }

    fn category(&self) -> &category::Def {
        self.category.as_ref().expect("the pass `convert` came before")
    }
}

impl Pass {
    /// Returns the name, as `lmc explain` prints it: `simplify jacobian`, `merge_calls`.
    pub fn name(self) -> String {
        let mut name = String::new();
        for c in format!("{self:?}").chars().filter(|c| !"\")".contains(*c)) {
            match c {
                '(' => name.push(' '),
                c if c.is_uppercase() && !name.is_empty() && !name.ends_with(' ') => name.push('_'),
                _ => {}
            }
            if c != '(' {
                name.extend(c.to_lowercase());
            }
        }
        name
    }

    /// Runs the pass.
    pub(in crate::derive) fn run(self, cx: &mut Pipeline, task: &Task, mut work: Work) -> Result<Work, Error> {
        let def = &work.def;
        work.def = match self {
            Pass::Normal => cx.normal(def),
            Pass::Anf => cx.watch.pass("anf", || anf::anf(def, &mut cx.program.supply)),
            Pass::Convert => {
                work.category = Some(cx.watch.timings.time("convert", || category::convert(def)));
                return Ok(work);
            }
            Pass::Prune => {
                work.category = Some(cx.watch.timings.time("prune", || category::prune(work.category())));
                return Ok(work);
            }
            Pass::Back => {
                let supply = &mut cx.program.supply;
                let result = def.body.ty().clone();
                let def = cx.watch.pass("back", || category::back(work.category(), supply));
                work.category = None;
                checked("back", def, |back| back.body.ty() == &result)
            }
            Pass::Rename => cx.copy_named(def, &task.name()),
            Pass::Jacobian => cx.jacobian(def)?,
            Pass::WrittenJacobian => cx.written_jacobian(&task.of)?,
            Pass::Pair(partner) => cx.paired(def, partner)?,
            Pass::Simplify(schedule) => return cx.simplify(work, schedule),
            Pass::TransposeLater => cx.transposed_later(def, &task.of),
            Pass::Transpose => return cx.transpose(work, &task.of),
            Pass::ApplyTo(mode) => cx.applied_to(def, &task.of, mode),
            Pass::Apply => return cx.apply(work),
            Pass::Place => cx.placed(def.clone()),
            Pass::Tangent => cx.tangent(def, &task.of),
            Pass::ValueBeside => cx.value_beside(&task.of, task.mode())?,
            Pass::Record => return cx.record_values(work, &task.of),
            Pass::MapAlone => cx.map_alone(&work),
            Pass::TransposeMap => return cx.transpose_map(work),
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
            Pass::OfExternal => cx.derivative_of_external(task.derivative(), &task.of, &task.name())?,
            Pass::AsWritten => cx.source(&task.name())?,
            Pass::PartOfWritten => cx.part_of_written(&task.of, task.mode())?,
            Pass::Refresh => {
                let fresh = Def { body: renamed(&def.body, &mut cx.program.supply), ..def.clone() };
                dce::dce(&fresh, &cx.effects)
            }
            Pass::Share => cx.shared(def, &[])?,
            Pass::Tidy => cx.tidied(def),
            Pass::Rules => cx.ruled(def),
        };
        Ok(work)
    }
}
