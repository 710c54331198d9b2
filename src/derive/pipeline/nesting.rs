//! Chooses the derivation of functions whose conditionals nest deep.
//!
//! The Jacobian of Fig. 6 repeats the branches of a conditional in let position, for the value and for the map. So the
//! text of k such conditionals, one in the other, grows with k². Later passes merge the copies level by level, which
//! takes time that grows faster still. The pairs of Fig. 7 have each branch once.

use crate::derive::Derivation;
use indexmap::IndexMap;
use lm::term::{Expr, FunName, Kind, Op, Program};

/// How deep conditionals may nest for derivations that repeat their branches.
const MOST_LEVELS: usize = 12;

/// Chooses `tupled` for functions with deeper conditionals, unless the program chooses a derivation for them, or
/// `derivation`, for all, is one that does not repeat branches.
pub(super) fn choose_for_deep(program: &Program, derivation: Derivation, chosen: &mut IndexMap<FunName, Derivation>) {
    if matches!(
        derivation,
        Derivation::Tupled | Derivation::Split | Derivation::Dual | Derivation::Unary | Derivation::DualArrays
    ) {
        return;
    }
    for def in program.defs.values().filter(|def| levels(&def.body, true) > MOST_LEVELS) {
        chosen.entry(def.fun.name.as_written()).or_insert(Derivation::Tupled);
    }
}

/// Returns how deep conditionals nest whose values are used. That in tail position (`is_tail`) gives the value of all.
fn levels(e: &Expr, is_tail: bool) -> usize {
    let deepest = |args: &[Expr], is_tail: bool| args.iter().map(|a| levels(a, is_tail)).max().unwrap_or(0);
    match e.kind() {
        Kind::App(Op::If, args) if is_tail => levels(&args[0], false).max(deepest(&args[1..], true)),
        Kind::App(Op::If, args) => 1 + deepest(args, false),
        Kind::App(_, args) => deepest(args, false),
        Kind::Let(..) => {
            let (bindings, result) = e.as_block();
            let bound = bindings.iter().map(|b| levels(&b.rhs, false)).max().unwrap_or(0);
            bound.max(levels(result, is_tail))
        }
        Kind::Lam(_, body) => levels(body, false),
        Kind::Const(_) | Kind::Var(_) => 0,
    }
}
