//! Puts terms on other primitives in place of those that no derivation has rules for.
//!
//! ```text
//! map2(f, v, w)   = build($common_size(v, w), λk. f((v[k], w[k])))      reduce(f, a, v) = fold(f, a, v)
//! scanr(f, a, v)  = the states of scanl(f, a, v backwards), backwards
//! shift1L(v)      = build(if n == 0 then 0 else n - 1, λk. v[k + 1])    n = size(v)
//! shift1R(v)      = build(if n == 0 then 0 else n - 1, λk. v[k])
//! ```
//!
//! The text of each right side is `src/ks/expansions.ks`. Takes: a definition as it is written. Gives: the same, before
//! everything else that is done with it.

use crate::derive::forms::smallest;
use crate::derive::postcondition::Facts;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::term::{Def, Expr, Kind, Op, Span, Supply};

/// Returns the body of a definition of that text in place of a call, at a place.
pub type Expand<'a> = &'a dyn Fn(&str, Vec<Expr>, Span, &mut Supply) -> Expr;

/// Expands all primitives that have an expansion.
pub fn expand_arrays(def: &Def, expand: Expand, supply: &mut Supply, rewrites: &mut Rewrites) -> Def {
    Def { body: expanded(&def.body, expand, supply, rewrites), ..def.clone() }
}

/// Returns a term without primitives that have an expansion.
pub fn expanded(e: &Expr, expand: Expand, supply: &mut Supply, rewrites: &mut Rewrites) -> Expr {
    let expansion = expansion(e);
    let e = e.map_children(|child| expanded(child, expand, supply, rewrites));
    match (expansion, e.kind()) {
        (Some((law, definition)), Kind::App(_, args)) if rewrites.may(law) => {
            expand(definition, args.clone(), e.span(), supply)
        }
        _ => e,
    }
}

/// Returns the law by which a primitive is expanded, and the name of the definition that says how.
fn expansion(e: &Expr) -> Option<(&'static str, &'static str)> {
    let Kind::App(Op::Prim(p), args) = e.kind() else { return None };
    let has_some = args.first().is_some_and(is_never_empty);
    match p {
        Prim::Map2 => Some(("map2-build", "map2")),
        Prim::Reduce => Some(("reduce-fold", "reduce")),
        Prim::Scanr => Some(("scanr-scanl", "scanr")),
        Prim::Shift1L if has_some => Some(("shift1L-of-some", "shift1L_of_some")),
        Prim::Shift1L => Some(("shift1L-build", "shift1L")),
        Prim::Shift1R if has_some => Some(("shift1R-of-some", "shift1R_of_some")),
        Prim::Shift1R => Some(("shift1R-build", "shift1R")),
        other => {
            assert!(!other.is_expanded(), "`{}` has no expansion", other.name());
            None
        }
    }
}

/// Returns whether a vector has elements, whatever the arguments of its operator are. Then n - 1 is a size, and what is
/// known of n is known of it.
fn is_never_empty(v: &Expr) -> bool {
    matches!(v.as_block().1.kind(), Kind::App(Op::Prim(Prim::Scanl | Prim::Scanr | Prim::VecInit), _))
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
