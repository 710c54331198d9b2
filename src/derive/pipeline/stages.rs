//! The stages of a derivation, for the demo (working notes, sec. 9).

use super::{Error, Pipeline};
use crate::derive::Derivation;
use crate::derive::figures::fig07_08_pairs::Form;
use crate::derive::figures::fig09_11_category as cl;
use crate::derive::passes::anf;
use lm::rewriter::Step;
use lm::term::{Def, Derivative, Expr, FunName, Kind, Op};
use lm::types::Type;

/// One stage of a derivation.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The heading.
    pub heading: &'static str,
    /// The definition at this stage; for one in the category language, what it means.
    pub def: Def,
    /// The definition in the category language, at the stages that have it.
    pub category: Option<cl::Def>,
    /// The type of what it records, at the stage that says so.
    pub record: Option<Type>,
    /// The rewrites that led here, when they are traced.
    pub steps: Vec<Step>,
}

/// The headings of the derivation by Jacobians, in order (working notes, sec. 9).
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
        if self.deriving_themselves.contains(name) {
            return Err(Error::OfItself(name.clone()));
        }
        let mut stages = Stages::default();
        stages.add("Original definition", &self.source(name)?);
        stages.add("Anf-ised original definition", &self.normal_form(name)?);
        match self.derivation_of(name) {
            Derivation::Jacobian => {
                self.jacobian_stages(name, &mut stages)?;
                self.forward_stages(name, &mut stages)?;
                self.reverse_stages(name, &mut stages)?;
            }
            Derivation::Tupled => {
                self.paired_stages(name, Form::Tupled, &mut stages)?;
                self.recorded_stages(name, &mut stages)?;
                stages.add("Reverse-mode derivative (CSE'd)", &self.source(&name.derived(Derivative::Rev))?);
            }
            Derivation::Polymorphic => {
                self.paired_stages(name, Form::Polymorphic, &mut stages)?;
                self.jacobian_stages(name, &mut stages)?;
                self.reverse_stages(name, &mut stages)?;
            }
            Derivation::Split => {
                self.category_stages(name, &mut stages)?;
                self.recorded_stages(name, &mut stages)?;
                let forward = self.source(&name.derived(Derivative::SufFwdPass))?;
                stages.add("Forward half", &forward);
                stages.0.last_mut().expect("just added").record = Some(record_of(&forward));
                stages.add("Reverse half", &self.source(&name.derived(Derivative::SufRevPass))?);
                stages.add("Reverse-mode derivative", &self.source(&name.derived(Derivative::Rev))?);
            }
        }
        Ok(stages.0)
    }

    fn jacobian_stages(&mut self, name: &FunName, stages: &mut Stages) -> Result<(), Error> {
        let unoptimised = self.jacobian_unoptimised(name)?;
        stages.add("The full Jacobian (unoptimised)", &unoptimised);
        let (optimised, steps) = self.simplified(&unoptimised, "jacobian")?;
        self.jacobians.insert(name.clone(), optimised.clone());
        stages.traced("The full Jacobian (optimised)", &optimised, steps);
        Ok(())
    }

    fn forward_stages(&mut self, name: &FunName, stages: &mut Stages) -> Result<(), Error> {
        let forward = self.forward_unoptimised(name)?;
        stages.add("Forward derivative (unoptimised)", &forward);
        let (forward, steps) = self.applied_with_steps(&forward)?;
        stages.traced("Forward-mode derivative (optimised)", &forward, steps);
        stages.add("Forward-mode derivative (CSE'd)", &self.finished(&forward)?);
        Ok(())
    }

    fn reverse_stages(&mut self, name: &FunName, stages: &mut Stages) -> Result<(), Error> {
        stages.add("Transposed Jacobian", &self.transposed_unoptimised(name)?);
        let (transposed, steps) = self.transposed_with_steps(name)?;
        stages.traced("Optimised transposed Jacobian", &transposed, steps);
        let reverse = self.reverse_unoptimised(name)?;
        stages.add("Reverse-mode derivative (unoptimised)", &reverse);
        let (reverse, steps) = self.applied_with_steps(&reverse)?;
        stages.traced("Reverse-mode derivative (optimised)", &reverse, steps);
        stages.add("Reverse-mode derivative (CSE'd)", &self.finished(&reverse)?);
        Ok(())
    }

    fn category_stages(&mut self, name: &FunName, stages: &mut Stages) -> Result<(), Error> {
        let normal = anf::anf(&self.source(name)?, &mut self.program.supply);
        let category = cl::convert(&normal);
        let pruned = cl::prune(&category);
        for (heading, category) in [("The category language", category), ("The category language, pruned", pruned)] {
            let def = cl::back(&category, &mut self.program.supply);
            stages.0.push(Stage { heading, def, category: Some(category), record: None, steps: Vec::new() });
        }
        stages.add("Back from the category language", &self.normal_form(name)?);
        Ok(())
    }

    /// Reverse mode with a record; or, where it is written by hand, as it is.
    fn recorded_stages(&mut self, name: &FunName, stages: &mut Stages) -> Result<(), Error> {
        if !self.has_records(name) {
            return Ok(());
        }
        let mut all = RecordedStages::default();
        let both = self.value_and_cotangent_with_stages(name, &mut all)?;
        stages.add("The Jacobian with records (unoptimised)", &all.jacobian.expect("it was made"));
        stages.traced("The map alone (optimised)", &all.map.0.expect("it was made"), all.map.1);
        stages.traced("Transposed map", &all.transposed.0.expect("it was made"), all.transposed.1);
        stages.traced("Transposed map, applied", &all.applied.0.expect("it was made"), all.applied.1);
        stages.add("Value and reverse-mode derivative (CSE'd)", &self.tidy_and_ruled(&both));
        Ok(())
    }

    fn paired_stages(&mut self, name: &FunName, form: Form, stages: &mut Stages) -> Result<(), Error> {
        let [unoptimised, optimised] = match form {
            Form::Polymorphic => ["The polymorphic Jacobian (unoptimised)", "The polymorphic Jacobian (optimised)"],
            Form::Tupled | Form::Applied => ["The tupled Jacobian (unoptimised)", "The tupled Jacobian (optimised)"],
        };
        let pairs = self.paired_unoptimised(name, form)?;
        stages.add(unoptimised, &pairs);
        let (pairs, steps) = self.simplified(&pairs, "jacobian")?;
        stages.traced(optimised, &pairs, steps);
        let applied = self.paired_unoptimised(name, Form::Applied)?;
        stages.add("Value and forward derivative (unoptimised)", &applied);
        let (applied, steps) = self.value_and_tangent_with_steps(&applied)?;
        stages.traced("Value and forward-mode derivative (optimised)", &applied, steps);
        stages.add("Value and forward-mode derivative (CSE'd)", &self.finished(&applied)?);
        let alone = self.tangent_alone(name)?;
        stages.add("Forward-mode derivative (CSE'd)", &self.finished(&alone)?);
        Ok(())
    }
}

/// The type of what a first half records; of a record that has a name only, what it is made of.
fn record_of(first: &Def) -> Type {
    let named = &first.fun.result.as_tuple().expect("a value and a record")[1];
    match named {
        Type::Record(of) => packed(&first.body, of).unwrap_or_else(|| named.clone()),
        _ => named.clone(),
    }
}

fn packed(e: &Expr, of: &FunName) -> Option<Type> {
    match e.kind() {
        Kind::App(Op::Pack(f), args) if **f == *of => Some(args[0].ty().clone()),
        Kind::Const(_) | Kind::Var(_) => None,
        Kind::App(_, args) => args.iter().find_map(|a| packed(a, of)),
        Kind::Lam(_, body) => packed(body, of),
        Kind::Let(bindings, body) => bindings.iter().find_map(|b| packed(&b.rhs, of)).or_else(|| packed(body, of)),
    }
}

/// What reverse mode with a record goes through.
#[derive(Default)]
pub(in crate::derive) struct RecordedStages {
    pub(in crate::derive) jacobian: Option<Def>,
    pub(in crate::derive) map: (Option<Def>, Vec<Step>),
    pub(in crate::derive) transposed: (Option<Def>, Vec<Step>),
    pub(in crate::derive) applied: (Option<Def>, Vec<Step>),
}

#[derive(Default)]
struct Stages(Vec<Stage>);

impl Stages {
    fn add(&mut self, heading: &'static str, def: &Def) {
        self.traced(heading, def, Vec::new());
    }

    fn traced(&mut self, heading: &'static str, def: &Def, steps: Vec<Step>) {
        self.0.push(Stage { heading, def: def.clone(), category: None, record: None, steps });
    }
}
