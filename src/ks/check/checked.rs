//! A checked program, and the options of the checker.

use crate::derive::schedule::Strategies;
use crate::derive::{Checkpoint, Derivation};
use crate::ks::diagnostic::Diagnostic;
use indexmap::{IndexMap, IndexSet};
use lm::term::{Def, Expr, FunName, Kind, Op, Program, Span};
use lm::types::Type;
use rustc_hash::FxHashSet;

/// The options of the checker.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// Accept a definition of a derivative of a function that the file does not define, and of the
    /// split derivations, without its other half. Stages of a derivation need this when they are read back; in a
    /// user's file it would hide a misspelt name.
    pub orphan_derivatives: bool,
    /// Returns the B of `[suffwdpass f] : S -> (T, B)` for a function of a program, by doing the derivation. Without
    /// this option, calls of the halves of a function are errors, unless the halves are written by hand.
    pub record: Option<Record>,
    /// Is told the built-ins that the program's own text calls, some of them more than once.
    pub called: Option<Called>,
    /// The derivation by which derivatives are made, where the file does not choose one.
    pub derivation: Derivation,
    /// The states of folds that derivatives keep, where the program does not say.
    pub checkpoint: Checkpoint,
    /// The strategies by which laws are applied.
    pub strategies: Strategies,
    /// Report sizes that are not known to be right, which are checked at run time otherwise.
    pub strict_sizes: bool,
}

/// See [`CheckOptions::record`].
pub type Record = fn(Checked, &FunName) -> Result<Type, Box<Diagnostic>>;

/// See [`CheckOptions::called`]: the name of a built-in, and the types of the arguments of a call.
pub type Called = fn(&str, &[Type]);

/// What was found of sizes at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeCheck {
    /// The place.
    pub span: Span,
    /// What must hold, in words.
    pub what: String,
    /// Whether it is proved; otherwise it is checked when the program runs.
    pub is_proved: bool,
}

/// A program without errors.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The user's definitions in source order, then those of the prelude that they call.
    pub program: Program,
    /// The derivatives that the file asks for by `gdef`, in source order, each once.
    pub requested: Vec<FunName>,
    /// The derivation by which derivatives are made.
    pub derivation: Derivation,
    /// The states of folds that derivatives keep, where the program does not say.
    pub checkpoint: Checkpoint,
    /// The strategies by which laws are applied.
    pub strategies: Strategies,
    /// The calls that `$inline` marks: the callee and the place.
    pub marked: FxHashSet<(FunName, Span)>,
    /// The functions for which a `gdef` chooses another one.
    pub chosen: IndexMap<FunName, Derivation>,
    /// The prelude's other definitions. Their variables come from the program's supply.
    pub prelude: IndexMap<FunName, Def>,
    /// The definitions with primitives that have an expansion, as they are written, once these are expanded.
    pub with_arrays: IndexMap<FunName, Def>,
    /// The warnings about a legal program, in order of place.
    pub warnings: Vec<Diagnostic>,
    /// What types with sizes ask for, in order of place: what is proved, and what is checked at run time.
    pub size_checks: Vec<SizeCheck>,
    /// The place of the name of each definition of the user.
    pub places: IndexMap<FunName, Span>,
    /// The place of the name of each definition of the user that takes functions. The program has copies of it only.
    pub templates: IndexMap<FunName, Span>,
}

impl Checked {
    /// Moves a definition of the prelude, and those it calls, into the program.
    ///
    /// Does nothing for a name that the program defines, or that is not defined at all.
    pub fn include(&mut self, name: &FunName) {
        let mut wanted = vec![name.clone()];
        while let Some(name) = wanted.pop() {
            if let Some(def) = self.prelude.shift_remove(&name) {
                wanted.extend(callees(&def.body));
                self.program.defs.insert(name, def);
            }
        }
    }

    /// Returns the functions of that base name, as written by the user or included from the prelude.
    pub fn overloads<'a>(&'a self, base: &'a str) -> impl Iterator<Item = &'a Def> {
        let is_one = move |def: &&Def| def.fun.name.derivations.is_empty() && *def.fun.name.base == *base;
        self.program.defs.values().filter(is_one)
    }
}

/// Returns the functions that a term calls or takes the Jacobian of.
pub(super) fn callees(e: &Expr) -> Vec<FunName> {
    let mut found = IndexSet::new();
    let mut rest = vec![e];
    while let Some(e) = rest.pop() {
        if let Kind::App(Op::Call(f) | Op::JacobianOfFun(f), _) = e.kind() {
            // The derivative of a function is made from the function.
            found.insert(f.name.as_written());
        }
        rest.extend(e.children());
    }
    found.into_iter().collect()
}
