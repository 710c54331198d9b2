//! Proves that calls, and results, have the sizes that types say: of the terms that are lowered.

use lm::sizes::{Known, Signature, infer};
use lm::term::{Def, Fun, FunName, Program};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;

/// What types say of the sizes of functions.
pub(super) struct Sizes {
    /// The program; an empty one, where no types say sizes.
    program: Program,
    /// Whether results have the sizes that types say, where that was asked for.
    gives: RefCell<FxHashMap<FunName, bool>>,
}

impl Sizes {
    pub(super) fn new(program: &Program) -> Sizes {
        let program = if program.sizes.is_empty() { Program::default() } else { program.clone() };
        Sizes { program, gives: RefCell::default() }
    }

    /// Returns the signature of a function, if it tells which sizes are equal.
    pub(super) fn signature(&self, fun: &Fun) -> Option<Signature> {
        self.program.signature(fun).filter(|signature| !signature.relations().is_empty())
    }

    /// Returns the calls in a definition that have the sizes which the types of callees say, by the address of the term.
    pub(super) fn proved(&self, def: &Def, signature: Option<&Signature>) -> FxHashSet<usize> {
        if self.program.sizes.is_empty() {
            return FxHashSet::default();
        }
        let calls = self.found(def, signature).calls.into_iter();
        calls.filter(|(_, proved)| !proved.contains(&false)).map(|(address, _)| address).collect()
    }

    /// Returns the signature of a function whose result is proved to have the sizes that its type says, if its arguments
    /// do.
    pub(super) fn result(&self, fun: &Fun) -> Option<Signature> {
        self.program.signature(fun).filter(|_| self.gives(&fun.name))
    }

    fn found(&self, def: &Def, signature: Option<&Signature>) -> lm::sizes::Found {
        let gives = |name: &FunName, is_proved: bool| is_proved && self.gives(name);
        let known = Known {
            signature: &|fun| self.program.signature(fun),
            gives: &gives,
            derived: None,
            annotations: &FxHashMap::default(),
        };
        infer(def, signature, &known)
    }

    /// Returns whether the result of a function has the sizes that its type says. Of a function that calls itself, that
    /// is not known while it is looked at.
    fn gives(&self, name: &FunName) -> bool {
        if let Some(known) = self.gives.borrow().get(name) {
            return *known;
        }
        self.gives.borrow_mut().insert(name.clone(), false);
        let def = self.program.defs.get(name);
        let gives = def.is_some_and(|def| {
            let signature = self.program.signature(&def.fun);
            signature.is_some_and(|signature| self.found(def, Some(&signature)).result_is_proved)
        });
        self.gives.borrow_mut().insert(name.clone(), gives);
        gives
    }
}
