//! Holds what a traced run keeps.

use crate::delta::{Dual, Trace};
use crate::prim::Prim;
use crate::term::{FunName, Mode, Program};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// What a traced run keeps.
pub(super) struct Recorder {
    pub trace: Trace,
    pub duals: FxHashMap<Prim, Rc<Dual>>,
    /// The functions whose derivative in reverse mode is written by hand.
    pub by_hand: FxHashSet<FunName>,
}

impl Recorder {
    pub fn new(program: &Program, inputs: usize) -> Recorder {
        let replaced = |name: &FunName| name.underived().filter(|(derivative, _)| derivative.replaces(Mode::Reverse));
        let by_hand = program.by_hand.iter().filter_map(|name| Some(replaced(name)?.1)).collect();
        Recorder { trace: Trace::new(inputs), duals: FxHashMap::default(), by_hand }
    }
}
