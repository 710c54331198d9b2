//! Finds indices that run along one axis.

use crate::ir::{Fun, Function, Id, Op};

/// An index that is `start + i`, where i runs along an axis, or `start` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The axis, if there is one.
    pub axis: Option<usize>,
    /// An Integer without dimensions; 0 if there is none.
    pub start: Option<Id>,
}

/// Returns an index as a line, if its text shows that it is one.
pub fn of(function: &Function, id: Id) -> Option<Line> {
    let node = function.node(id);
    if node.dims.is_empty() {
        return Some(Line { axis: None, start: Some(id) });
    }
    match &node.op {
        Op::Iota => Some(Line { axis: Some(0), start: None }),
        Op::Spread(axes) => {
            let line = of(function, node.args[0])?;
            Some(Line { axis: line.axis.map(|axis| axes[axis]), ..line })
        }
        Op::Each(Fun::Add) => match (of(function, node.args[0])?, of(function, node.args[1])?) {
            (Line { axis, start: None }, Line { axis: None, start }) => Some(Line { axis, start }),
            (Line { axis: None, start }, Line { axis, start: None }) => Some(Line { axis, start }),
            _ => None,
        },
        _ => None,
    }
}
