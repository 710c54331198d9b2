//! Finds terms with an effect: terms that print, or call functions that print.

use crate::term::{Expr, Fun, FunName, Kind, Op, Program};
use rustc_hash::FxHashSet;

/// The functions of a program that print, directly or by what they call. A derivative does when
/// its function does.
#[derive(Clone, Debug, Default)]
pub struct Effects(FxHashSet<FunName>);

impl Effects {
    /// Looks through a program.
    pub fn of(program: &Program) -> Effects {
        let mut effects = Effects::default();
        loop {
            let found = program.defs.values().filter(|d| effects.in_term(&d.body)).map(|d| underived(&d.fun));
            let found: FxHashSet<FunName> = found.collect();
            if found.len() == effects.0.len() {
                return effects;
            }
            effects.0 = found;
        }
    }

    /// Returns whether the term has an effect.
    pub fn in_term(&self, e: &Expr) -> bool {
        e.any(|e| match e.kind() {
            Kind::App(Op::Prim(p), _) => p.has_effect(),
            Kind::App(Op::Call(f), _) => self.0.contains(&underived(f)),
            Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => false,
        })
    }
}

fn underived(f: &Fun) -> FunName {
    f.name.as_written()
}
