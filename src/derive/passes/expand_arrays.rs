//! Puts terms on other primitives in place of those that no derivation has rules for.
//!
//! ```text
//! map2(f, v, w)   = build($common_size(v, w), λk. f((v[k], w[k])))      reduce(f, a, v) = fold(f, a, v)
//! scanr(f, a, v)  = the states of scanl(f, a, v backwards), backwards
//! shift1L(v)      = build(n - 1, λk. v[k + 1])                          n = size(v), for n > 0
//! shift1R(v)      = build(n - 1, λk. v[k])
//! ```
//!
//! The text of each right side is `src/ks/expansions.ks`. Takes: a definition as it is written. Gives: the same, before
//! everything else that is done with it.

use crate::derive::forms::smallest;
use crate::derive::postcondition::Facts;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::term::{Def, Expr, Kind, Op, Span, Supply};

/// Returns a primitive on arguments in terms of others, at a place.
pub type Expand<'a> = &'a dyn Fn(Prim, Vec<Expr>, Span, &mut Supply) -> Expr;

/// Expands all primitives that have an expansion.
pub fn expand_arrays(def: &Def, expand: Expand, supply: &mut Supply, rewrites: &mut Rewrites) -> Def {
    Def { body: expanded(&def.body, expand, supply, rewrites), ..def.clone() }
}

/// Returns a term without primitives that have an expansion.
pub fn expanded(e: &Expr, expand: Expand, supply: &mut Supply, rewrites: &mut Rewrites) -> Expr {
    let e = e.map_children(|child| expanded(child, expand, supply, rewrites));
    match e.kind() {
        Kind::App(Op::Prim(p), args) if p.is_expanded() && rewrites.may(law(*p)) => {
            expand(*p, args.clone(), e.span(), supply)
        }
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => e,
    }
}

/// Returns the name of the law of an expansion.
fn law(p: Prim) -> &'static str {
    match p {
        Prim::Map2 => "map2-build",
        Prim::Reduce => "reduce-fold",
        Prim::Scanr => "scanr-scanl",
        Prim::Shift1L => "shift1L-build",
        Prim::Shift1R => "shift1R-build",
        other => panic!("`{}` has no expansion", other.name()),
    }
}

/// Returns whether a term has a primitive with an expansion.
pub fn has_arrays(e: &Expr) -> bool {
    e.any(is_expanded)
}

fn is_expanded(e: &Expr) -> bool {
    matches!(e.kind(), Kind::App(Op::Prim(p), _) if p.is_expanded())
}

/// Returns what breaks the postcondition: a primitive that has an expansion.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    smallest(&def.body, is_expanded)
}
