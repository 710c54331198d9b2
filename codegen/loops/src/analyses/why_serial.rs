//! Names the reasons for which the iterations of a loop run one after the other.

use crate::ir::{Local, Stmt};
use std::fmt::{self, Display, Formatter};

/// The reason why iterations cannot run at once, in lanes or in threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhySerial {
    /// A statement that has no meaning for several iterations at once: its name.
    Statement(&'static str),
    /// An address is looked at that is another one in each lane.
    Address(Local),
    /// Memory is given back to a mark by some lanes only, while others may need what is above it.
    Release(Local),
    /// A carried value is no sum, and neither the largest of elements nor the smallest, nor chosen with one.
    Carried(Local),
    /// An iteration writes to the first buffer where another one may see it, in the second.
    Conflict(Local, Local),
    /// A write goes to a buffer that may be any of several.
    Unknown(Local),
    /// Memory is compared with a mark from before the loop, or given back to it.
    Mark(Local),
    /// A text is another one in each lane.
    Text(Local),
}

impl Display for WhySerial {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            WhySerial::Statement(name) => write!(f, "it has `{name}`"),
            WhySerial::Address(Local(x)) => write!(f, "%{x} is another address in each lane, and looked at"),
            WhySerial::Release(Local(m)) => write!(f, "some lanes release %{m}, which others may be above of"),
            WhySerial::Carried(Local(y)) => write!(f, "%{y} is carried, and neither a sum nor a best element"),
            WhySerial::Conflict(Local(b), Local(c)) if b == c => {
                write!(f, "what is written to %{b} may be another iteration's")
            }
            WhySerial::Conflict(Local(b), Local(c)) => {
                write!(f, "what is written to %{b} another iteration may see in %{c}")
            }
            WhySerial::Unknown(Local(b)) => write!(f, "%{b} is written to, and may be one of several buffers"),
            WhySerial::Mark(Local(m)) => write!(f, "the mark %{m} is from before the loop"),
            WhySerial::Text(Local(x)) => write!(f, "the text %{x} is another one in each lane"),
        }
    }
}

impl WhySerial {
    /// Returns the refusal of a statement, its blocks aside, that has no meaning for several iterations at once.
    pub fn of(stmt: &Stmt) -> Option<WhySerial> {
        use crate::ir::Memory::{Before, Slid, Slide};
        let name = match stmt {
            Stmt::Call(..) => "call",
            Stmt::External { .. } => "external",
            Stmt::Write(_) => "write",
            Stmt::Bench { .. } => "bench",
            Stmt::Memory(Slide(..) | Slid { .. }) => "slide",
            Stmt::Memory(Before(..)) => "before",
            Stmt::Let(..) | Stmt::If(..) | Stmt::For(_) | Stmt::Check { .. } | Stmt::Memory(_) => return None,
        };
        Some(WhySerial::Statement(name))
    }
}
