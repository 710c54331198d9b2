//! Why a loop's iterations run one after the other.

use crate::loops::{Local, Stmt};
use std::fmt::{self, Display, Formatter};

/// What stands in the way of running iterations at once, in lanes or in threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// A statement that has no meaning for several iterations at once: its name.
    Statement(&'static str),
    /// An address is looked at that is another one in each lane.
    Address(Local),
    /// Memory is given back to a mark by some lanes only, while others may need what is above it.
    Release(Local),
    /// A text is another one in each lane.
    Text(Local),
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Statement(name) => write!(f, "it has `{name}`"),
            Refusal::Address(Local(x)) => write!(f, "%{x} is another address in each lane, and looked at"),
            Refusal::Release(Local(m)) => write!(f, "some lanes release %{m}, which others may be above of"),
            Refusal::Text(Local(x)) => write!(f, "the text %{x} is another one in each lane"),
        }
    }
}

impl Refusal {
    /// The refusal of a statement, its blocks aside, that has no meaning for several iterations at once.
    pub(crate) fn of(stmt: &Stmt) -> Option<Refusal> {
        use crate::loops::Memory::{Before, Slid, Slide};
        let name = match stmt {
            Stmt::Call(..) => "call",
            Stmt::External { .. } => "external",
            Stmt::Write(_) => "write",
            Stmt::Bench { .. } => "bench",
            Stmt::Memory(Slide(..) | Slid { .. }) => "slide",
            Stmt::Memory(Before(..)) => "before",
            Stmt::Let(..) | Stmt::If(..) | Stmt::For(_) | Stmt::Check { .. } | Stmt::Memory(_) => return None,
        };
        Some(Refusal::Statement(name))
    }
}
