//! Looks into tuples and tensors of maps, and functions.

use super::ApplyMaps;
use super::families::{is_family, size_of_family};
use lm::law::sum;
use lm::prim::Prim;
use lm::term::{Binding, Expr, Kind, Op, Pattern};

impl ApplyMaps<'_, '_> {
    /// Returns an operator on terms in which maps with structure have taken the place of their names.
    pub(super) fn operator(&mut self, op: &Op, args: Vec<Expr>, of: &Expr, out: &mut Vec<Binding>) -> Expr {
        let of_maps = args.iter().any(|a| a.ty().mentions_lm());
        match op {
            Op::Get(i, _) if of_maps && (!has_parts(&args[0]) || self.cx.rewrites.may("get-tuple")) => {
                component(*i, &args[0])
            }
            Op::Prim(Prim::Size) if of_maps && is_family(&args[0]) && self.cx.rewrites.may("size-of-family") => {
                size_of_family(&args[0])
            }
            Op::Prim(Prim::Add) if args.iter().all(is_function) && self.cx.rewrites.may("add-lambda") => {
                pointwise(&args)
            }
            Op::Prim(Prim::Index) if of_maps && is_family(&args[1]) && self.cx.rewrites.may("index-family") => {
                self.element(&args[0], &args[1], of.span(), out)
            }
            _ => app(op, args, of),
        }
    }
}

fn app(op: &Op, args: Vec<Expr>, of: &Expr) -> Expr {
    Expr::try_app(op.clone(), args, of.span()).expect("types do not change")
}

fn is_function(e: &Expr) -> bool {
    matches!(e.kind(), Kind::Lam(..))
}

/// Returns whether a component of the term is a component of one of its parts.
fn has_parts(e: &Expr) -> bool {
    matches!(e.kind(), Kind::Let(..) | Kind::App(Op::Tuple | Op::If, _))
}

/// Returns the sum of functions.
fn pointwise(functions: &[Expr]) -> Expr {
    let Kind::Lam(i, _) = functions[0].kind() else { unreachable!("they are functions") };
    let value = |f: &Expr| match f.kind() {
        Kind::Lam(j, body) if j == i => body.clone(),
        Kind::Lam(j, body) => {
            Expr::block(vec![Binding { pattern: Pattern::Var(j.clone()), rhs: Expr::var(i) }], body.clone())
        }
        _ => unreachable!("they are functions"),
    };
    let values = sum(functions.iter().map(value).collect());
    Expr::lam(i.clone(), values.expect("there are two"))
}

/// Returns the i-th component of a term, in the branches of conditionals.
pub(super) fn component(i: usize, e: &Expr) -> Expr {
    match e.kind() {
        Kind::Let(bindings, body) => Expr::block(bindings.clone(), component(i, body)),
        Kind::App(Op::If, args) => Expr::conditional(args[0].clone(), component(i, &args[1]), component(i, &args[2])),
        _ => Expr::get(i, e.clone()),
    }
}
