//! What becomes of terms whose values nobody reads.
//!
//! In what the program says, they are evaluated: they may print, or stop the program. What a derivation made is not,
//! unless it prints: an error in it goes with it, as where a pass drops dead bindings. Derivations count on that. They
//! ask for a value and its derivative together, and give zeros for what a function does not depend on.

use super::selection;
use crate::effect::Effects;
use crate::prim::Prim;
use crate::term::{Expr, FunName, Kind, Op, Program};

/// What is done with a term that nobody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is evaluated.
    Evaluated,
    /// It is left out, unless it prints.
    Dropped,
}

impl Unread {
    /// What is done in a definition of the program.
    pub fn of(program: &Program, name: &FunName) -> Unread {
        if program.is_derived(name) { Unread::Dropped } else { Unread::Evaluated }
    }

    /// Whether a term need not be evaluated for anything but its value. `effects` are those of the program.
    pub fn is_idle(self, e: &Expr, effects: &Effects) -> bool {
        match self {
            _ if selection(e).is_some() => true,
            Unread::Evaluated => is_total(e),
            Unread::Dropped => !effects.in_term(e),
        }
    }

    /// Whether a term that is not idle passes on to its parts that nobody reads them. What the program says may stop it
    /// where values of parts meet.
    pub fn passes_on(self, e: &Expr) -> bool {
        let meets_nothing = matches!(e.kind(), Kind::Let(..) | Kind::App(Op::If | Op::Tuple, _));
        self == Unread::Dropped || meets_nothing
    }
}

/// Whether the term neither prints nor fails, for what it is made of: names, and zeros like them.
fn is_total(e: &Expr) -> bool {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => true,
        Kind::App(Op::Tuple | Op::Get(..) | Op::Dummy | Op::Prim(Prim::ZeroOf), args) => args.iter().all(is_total),
        Kind::App(..) | Kind::Let(..) => false,
    }
}
