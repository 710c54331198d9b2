//! Shows the stages of a derivation, for `lmc demo`: the results of its recipes' steps, under their headings.
//!
//! Source: working notes, sec. 9. Takes: a function. Gives: definitions in the order of [`recipes::shown`].

use super::pass::{Task, Work};
use super::trace::{Step, Trace};
use super::{Error, Pipeline};
use crate::derive::cost::Comparison;
use crate::derive::figures::fig09_11_category as category;
use crate::derive::figures::paper003_unary as unary;
use crate::derive::recipes::{self, NormalForm, Recipe, Shown, When};
use lm::term::{Def, Derivative, Expr, FunName, Kind, Op};
use lm::types::Type;
use std::sync::Arc;

/// One stage of a derivation.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The heading.
    pub heading: Arc<str>,
    /// The definition at this stage, or the meaning of one in the category language or in UNF.
    pub def: Def,
    /// The definition in the category language, at the stages that have it.
    pub category: Option<category::Def>,
    /// The definition in UNF, at the stages that have it.
    pub unary: Option<(unary::Def, unary::print::Language)>,
    /// The definition as operations on whole arrays, at the stage that has it.
    pub bulk: Option<Arc<bulk::ir::Function>>,
    /// The type of the record, at the stage that shows it.
    pub record: Option<Type>,
    /// The cost of the definition and of its function, at the stage that shows it.
    pub cost: Option<Comparison>,
    /// The rewrites that led here, if they are traced.
    pub steps: Vec<Step>,
}

impl Pipeline {
    /// Returns all stages of the derivation of one function; with `trace`, each with its rewrites.
    pub fn stages(&mut self, name: &FunName, trace: bool) -> Result<Vec<Stage>, Error> {
        if self.deriving_themselves.contains(name) {
            return Err(Error::OfItself(name.clone()));
        }
        self.show_all(recipes::shown(self.derivation_of(name)), name, trace)
    }

    /// Returns all stages of the derivation of one function by the rules of the notes alone, as [`Pipeline::stages`] does.
    ///
    /// Errors: those of the derivation; the definition with all maps in place of their names is too large.
    pub fn stages_by_notes(&mut self, name: &FunName, trace: bool) -> Result<Vec<Stage>, Error> {
        self.show_all(recipes::by_notes(), name, trace)
    }

    /// Returns a function as it is written, and with its linear maps in normal form. With `trace`, it comes with the
    /// rewrites.
    pub fn normal_form(&mut self, name: &FunName, form: NormalForm, trace: bool) -> Result<Vec<Stage>, Error> {
        self.keep_maps();
        self.show_all(&recipes::simplified(form), name, trace)
    }

    fn show_all(&mut self, parts: &[Shown], name: &FunName, trace: bool) -> Result<Vec<Stage>, Error> {
        self.watch.trace = trace.then(Trace::default);
        let mut stages = Vec::new();
        let made = parts.iter().try_for_each(|shown| self.show(shown, name, &mut stages));
        self.watch.trace = None;
        made.map(|()| stages)
    }

    fn show(&mut self, shown: &Shown, name: &FunName, stages: &mut Vec<Stage>) -> Result<(), Error> {
        match shown {
            Shown::Original(heading) => {
                let def = self.as_written(name)?;
                stages.push(self.stage(heading, &Work::new(def)));
            }
            Shown::Bulk(heading, recipe) => {
                let def = self.start(&recipe.from, &Task { derivative: None, of: name.clone() })?;
                let form = self.in_arrays.get(name).map(|known| known.form.clone());
                let stage = self.stage(heading, &Work::new(def));
                stages.push(Stage { bulk: form, ..stage });
            }
            Shown::Result(is_float, shown) => {
                if *is_float == (self.source(name)?.fun.result == Type::Float) {
                    self.show(shown, name, stages)?;
                }
            }
            Shown::Form(recipe) if recipe.when == When::Maps && !self.has_maps(name) => {}
            Shown::Form(recipe) => self.show_steps(recipe, Task { derivative: None, of: name.clone() }, stages)?,
            // A reverse derivative written by hand records nothing.
            Shown::Way(recipe, _)
                if matches!(recipe.when, When::Records | When::RecordsInHalves) && !self.has_records(name) => {}
            Shown::Way(recipe, _) if recipe.when == When::Unary && !self.is_unary(name) => {}
            Shown::Way(recipe, derivative) => {
                let task = Task { derivative: Some(derivative.clone()), of: name.clone() };
                // A gradient that needs reverse derivatives by hand has none of these stages.
                if recipe.when != When::DualToFloat || self.holds(recipe.when, &task)? {
                    self.show_steps(recipe, task, stages)?;
                }
            }
            Shown::FirstOf(recipes, derivative) => {
                let task = Task { derivative: Some(derivative.clone()), of: name.clone() };
                let recipe = self.first_of(recipes.iter().copied(), &task)?;
                self.show_steps(recipe, task, stages)?;
            }
            Shown::Cost(heading, derivative) => {
                let derived = name.derived(derivative.clone());
                self.require(&derived)?;
                let (derived, value) = (self.source(&derived)?, self.source(name)?);
                let cost = Comparison::of(&value, &derived, &self.program);
                let stage = self.stage(heading, &Work::new(derived));
                stages.push(Stage { cost: Some(cost), ..stage });
            }
            Shown::Whole(heading, derivative) => {
                let def = self.source(&name.derived(derivative.clone()))?;
                let mut stage = self.stage(heading, &Work::new(def));
                stage.record = (*derivative == Derivative::SufFwdPass).then(|| record_of(&stage.def));
                stages.push(stage);
            }
        }
        Ok(())
    }

    fn show_steps(&mut self, recipe: &Recipe, task: Task, stages: &mut Vec<Stage>) -> Result<(), Error> {
        let start = self.start(&recipe.from, &task)?;
        let work = self.run(recipe.before_sharing(), &task, Work::new(start), stages)?;
        if task.derivative.is_some() {
            // Other recipes start from what is shown.
            self.unshared.insert((task.name(), recipe.when), work.def.clone());
        }
        self.run(recipe.sharing(), &task, work, stages)?;
        Ok(())
    }

    /// Returns a definition as a stage. A definition in the category language or in UNF comes with its meaning.
    pub(super) fn stage(&mut self, heading: &str, work: &Work) -> Stage {
        let supply = &mut self.program.supply;
        let def = match (&work.category, &work.unary) {
            (Some(category), _) => category::back(category, supply),
            (None, Some((form, _))) => unary::back(form, supply),
            (None, None) => work.def.clone(),
        };
        let steps = self.watch.trace.as_mut().map(|trace| trace.take_to(&def.body)).unwrap_or_default();
        let (category, unary) = (work.category.clone(), work.unary.clone());
        Stage { heading: heading.into(), def, category, unary, bulk: None, record: None, cost: None, steps }
    }
}

/// Returns the type of the record of a first half. Expands a record that has only a name.
fn record_of(first: &Def) -> Type {
    let named = &first.fun.result.as_tuple().expect("a value and a record")[1];
    match named {
        Type::Record(of) => packed_type(&first.body, of).unwrap_or_else(|| named.clone()),
        _ => named.clone(),
    }
}

fn packed_type(e: &Expr, of: &FunName) -> Option<Type> {
    e.find_map(|e| match e.kind() {
        Kind::App(Op::Pack(f), args) if **f == *of => Some(args[0].ty().clone()),
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => None,
    })
}
