//! Brings Jacobians that are written by hand, `(def [D f] ...)`, into the form of derived ones.
//!
//! ```text
//! let Dy = m in b   =   b[Dy := m]
//! ```
//!
//! A derived Jacobian binds maps from S only, so that each is applied once; other maps have no names. Takes: a
//! term that gives a linear map. Gives: one that binds no maps.

use lm::scope::substitute;
use lm::term::{Binding, Expr, Kind, Op, Pattern};
use rustc_hash::FxHashMap;

/// Returns the term without names for maps.
pub fn without_map_names(e: &Expr) -> Expr {
    let Kind::Let(bindings, body) = e.kind() else { return e.map_children(without_map_names) };
    let mut by = FxHashMap::default();
    let mut out = Vec::new();
    for b in bindings {
        let rhs = substitute(&without_map_names(&b.rhs), &by);
        match &b.pattern {
            Pattern::Var(x) if rhs.ty().mentions_lm() => drop(by.insert(x.id(), rhs)),
            Pattern::Tuple(xs) if rhs.ty().mentions_lm() => {
                by.extend(xs.iter().enumerate().map(|(i, x)| (x.id(), Expr::get(i + 1, rhs.clone()))));
            }
            pattern => out.push(Binding { pattern: pattern.clone(), rhs }),
        }
    }
    Expr::block(out, substitute(&without_map_names(body), &by))
}

/// Returns a function from which the term takes a linear map, about which no law says anything.
pub fn opaque_map(e: &Expr) -> Option<String> {
    e.find_map(|e| match e.kind() {
        Kind::App(Op::Call(f), _) if f.result.mentions_lm() => Some(f.name.to_string()),
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => None,
    })
}
