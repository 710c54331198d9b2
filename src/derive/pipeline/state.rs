//! Holds the state of the pipeline: the program, its choices, and the functions made so far.

use super::bulk::InArrays;
use super::nesting::choose_for_deep;
use super::watch::{Observer, Watch};
use crate::derive::call_order;
use crate::derive::dependence::Dependence;
use crate::derive::figures::checkpoints::updates::Updates;
use crate::derive::passes::rules::EndlessRule;
use crate::derive::recipes::When;
use crate::derive::schedule::Strategies;
use crate::derive::{Checkpoint, Derivation};
use crate::ks::check::Checked;
use indexmap::IndexMap;
use lm::effect::Effects;
use lm::term::{Def, FunName, Program, Span};
use lm::timing::Timings;
use rustc_hash::{FxHashMap, FxHashSet};

/// Derives functions of one program on demand.
pub struct Pipeline {
    pub(in crate::derive) program: Program,
    /// Definitions of the prelude that the program does not call so far.
    pub(in crate::derive) prelude: IndexMap<FunName, Def>,
    pub(in crate::derive) effects: Effects,
    /// The functions that change a part of an argument.
    pub(in crate::derive) updates: Updates,
    /// The derivation by which derivatives are made, where the program does not choose one.
    pub(super) derivation: Derivation,
    /// The states of folds that derivatives keep, where the program does not say.
    pub(super) checkpoint: Checkpoint,
    /// The strategies by which laws are applied.
    pub(in crate::derive) strategies: Strategies,
    /// The functions for which it does, and those whose conditionals nest deep (`nesting`).
    pub(super) chosen: IndexMap<FunName, Derivation>,
    pub(in crate::derive) watch: Watch,
    /// The results of recipes before sharing, from which other recipes start.
    pub(super) unshared: FxHashMap<(FunName, When), Def>,
    /// The functions on whole arrays, for the derivation `dual-arrays`.
    pub(super) in_arrays: FxHashMap<FunName, InArrays>,
    /// The calls that the program marks by `$inline`: the callee and the place.
    pub(super) marked: FxHashSet<(FunName, Span)>,
    /// The parameters on which the results of functions depend.
    pub(super) dependence: Dependence,
    /// The functions that pass on arrays that they are given.
    pub(super) passing_on: FxHashSet<FunName>,
    /// The definitions with primitives that have an expansion, as they are written.
    pub(super) with_arrays: IndexMap<FunName, Def>,
    /// The definitions before they were prepared.
    pub(super) as_they_were: FxHashMap<FunName, Def>,
    /// The forward derivatives that carry tensors as states. They are differentiated backwards in another form.
    pub(in crate::derive) carried: FxHashSet<FunName>,
    pub(super) in_progress: Vec<FunName>,
    /// Functions whose callees have all been made, or are being made.
    pub(super) closed: FxHashSet<FunName>,
    /// The functions of the source text. The user wrote the derivatives among them.
    pub(in crate::derive) written: FxHashSet<FunName>,
    pub(super) endless: Vec<EndlessRule>,
    /// The functions of the program whose linear maps were applied, as they were.
    pub(super) with_maps: IndexMap<FunName, Def>,
    /// The same without linear maps.
    pub(super) map_free: IndexMap<FunName, Def>,
    /// Whether linear maps stay as they are.
    pub(super) keeps_maps: bool,
    /// The functions that call derivatives of themselves.
    pub(super) deriving_themselves: FxHashSet<FunName>,
}

impl Pipeline {
    /// Returns a pipeline for a checked program.
    pub fn new(mut checked: Checked) -> Pipeline {
        checked.expand_arrays();
        let Checked { program, prelude, derivation, checkpoint, strategies, mut chosen, marked, with_arrays, .. } =
            checked;
        choose_for_deep(&program, derivation, &mut chosen);
        let effects = Effects::of(&program);
        let updates = Updates::of(&program);
        let written = program.defs.keys().chain(program.externals.keys()).cloned().collect();
        let deriving_themselves = call_order::deriving_themselves(&program);
        let watch = Watch { effects: effects.clone(), ..Watch::default() };
        let mut pipeline = Pipeline {
            program,
            prelude,
            effects,
            updates,
            derivation,
            checkpoint,
            strategies,
            chosen,
            watch,
            unshared: FxHashMap::default(),
            in_arrays: FxHashMap::default(),
            marked,
            dependence: Dependence::default(),
            passing_on: FxHashSet::default(),
            with_arrays,
            as_they_were: FxHashMap::default(),
            carried: FxHashSet::default(),
            in_progress: Vec::new(),
            closed: FxHashSet::default(),
            written,
            endless: Vec::new(),
            with_maps: IndexMap::new(),
            map_free: IndexMap::new(),
            keeps_maps: false,
            deriving_themselves,
        };
        let defs: Vec<Def> = pipeline.program.defs.values().cloned().collect();
        for def in defs {
            let def = pipeline.ruled(&def);
            pipeline.program.defs.insert(def.fun.name.clone(), def);
        }
        pipeline.rule_written();
        pipeline.inline_all_marked();
        pipeline.fold_all_maps();
        pipeline.mark_all_independent();
        pipeline
    }

    /// Adds the times of passes to a table, and shows their results to an observer.
    pub fn watch(&mut self, timings: Timings, observer: Option<Observer>) {
        self.watch.timings = timings;
        self.watch.observer = observer;
    }

    /// Returns the program, with the derivatives made so far.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the program, with the derivatives made so far. Its functions on arrays are as they are written, where
    /// nothing else has changed them.
    pub fn program_as_written(&self) -> Program {
        let mut program = self.program.clone();
        for (name, def) in &self.with_arrays {
            let is_changed = self.as_they_were.contains_key(name) || self.with_maps.contains_key(name);
            if self.keeps_maps || !is_changed {
                program.defs.insert(name.clone(), def.clone());
            }
        }
        program
    }

    /// Returns the program, with the derivatives made so far.
    pub fn into_program(self) -> Program {
        self.program
    }

    /// Returns the derivation by which the derivatives of a function are made.
    pub fn derivation_of(&self, name: &FunName) -> Derivation {
        let base = name.as_written();
        self.chosen.get(&base).copied().unwrap_or(self.derivation)
    }
}
