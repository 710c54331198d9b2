//! What a lowered term is: a tree of operands in the form of its type.

use crate::loops::Operand;
use std::rc::Rc;

/// The value of a term. Cheap to clone, whatever its size.
#[derive(Clone, Debug)]
pub(super) enum Val {
    Leaf(Operand),
    Tuple(Rc<[Val]>),
}

impl Val {
    pub(super) fn tuple(parts: impl IntoIterator<Item = Val>) -> Val {
        Val::Tuple(parts.into_iter().collect())
    }

    /// The operand of a scalar.
    pub(super) fn leaf(&self) -> Operand {
        match self {
            Val::Leaf(operand) => operand.clone(),
            Val::Tuple(_) => panic!("a tuple where the type says scalar"),
        }
    }

    /// The components of a tuple.
    pub(super) fn parts(&self) -> &[Val] {
        match self {
            Val::Tuple(parts) => parts,
            Val::Leaf(_) => panic!("a scalar where the type says tuple"),
        }
    }

    /// The operands in order of layout.
    pub(super) fn flatten(&self) -> Vec<Operand> {
        let mut out = Vec::new();
        self.push_leaves(&mut out);
        out
    }

    fn push_leaves(&self, out: &mut Vec<Operand>) {
        match self {
            Val::Leaf(operand) => out.push(operand.clone()),
            Val::Tuple(parts) => parts.iter().for_each(|part| part.push_leaves(out)),
        }
    }
}
