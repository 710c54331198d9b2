//! Chooses the treatment of terms whose values are unused.
//!
//! In definitions of the program they are evaluated: they may print, or stop the program. In definitions that a
//! derivation made they are dropped with their errors, unless they print, as a pass drops dead bindings. Derivations
//! count on that: they ask for a value and its derivative together, and for zeros where a function does not depend on
//! an argument.

use super::selection;
use crate::effect::Effects;
use crate::prim::Prim;
use crate::term::{Expr, FunName, Kind, Op, Program};

/// The treatment of a term whose value is unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Unused values are evaluated.
    Evaluated,
    /// Unused values are left out, unless they print.
    Dropped,
}

impl Unread {
    /// Returns the treatment in a definition of the program.
    pub fn of(program: &Program, name: &FunName) -> Unread {
        if program.is_derived(name) { Unread::Dropped } else { Unread::Evaluated }
    }

    /// Returns whether a term has nothing but its value: it neither prints, nor stops the program. `effects` are those
    /// of the program.
    pub fn is_idle(self, e: &Expr, effects: &Effects) -> bool {
        match self {
            _ if selection(e).is_some() => true,
            Unread::Evaluated => is_total(e),
            Unread::Dropped => !effects.in_term(e),
        }
    }

    /// Returns whether the parts of an unused term that is not idle are unused as well. In a definition of the program
    /// they are used where values of parts meet, which may stop the program.
    pub fn passes_on(self, e: &Expr) -> bool {
        let meets_nothing = matches!(e.kind(), Kind::Let(..) | Kind::App(Op::If | Op::Tuple, _));
        self == Unread::Dropped || meets_nothing
    }
}

/// Returns whether the term cannot print or fail, since it consists of names, and of zeros of their shapes.
fn is_total(e: &Expr) -> bool {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => true,
        Kind::App(Op::Tuple | Op::Get(..) | Op::Dummy | Op::Prim(Prim::ZeroOf), args) => args.iter().all(is_total),
        Kind::App(..) | Kind::Let(..) => false,
    }
}
