//! Writes sizes so that equal ones are the same term, and compares those that differ by a number.

use crate::prim::Prim;
use crate::term::{Constant, Expr, Kind, Op};
use crate::types::Type;

/// Returns a tuple; of all components of a term, that term.
pub(super) fn of_components(parts: Vec<Expr>) -> Expr {
    let whole = |(i, part): (usize, &Expr)| match part.kind() {
        Kind::App(Op::Get(k, n), args) if *k == i + 1 && *n == parts.len() => Some(args[0].clone()),
        _ => None,
    };
    let wholes: Option<Vec<Expr>> = parts.iter().enumerate().map(whole).collect();
    match wholes.as_deref() {
        Some([first, others @ ..]) if others.iter().all(|other| other == first) => first.clone(),
        _ => Expr::tuple(parts),
    }
}

/// Returns whether a term may give a size.
pub(super) fn is_size(e: &Expr) -> bool {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => true,
        Kind::App(Op::Tuple | Op::Get(..), args) => args.iter().all(is_size),
        Kind::App(Op::Prim(Prim::Size | Prim::CommonSize | Prim::AsSize), _) => true,
        Kind::App(Op::Prim(Prim::Add | Prim::Sub), args) => *e.ty() == Type::Integer && args.iter().all(is_size),
        Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}

/// Returns whether a term shows the size of its value.
pub(super) fn has_size(e: &Expr) -> bool {
    match e.kind() {
        Kind::Var(_) | Kind::App(Op::Get(..), _) => true,
        Kind::App(Op::Prim(p), _) => matches!(
            p,
            Prim::Build
                | Prim::DeltaAt
                | Prim::Add
                | Prim::Sub
                | Prim::Neg
                | Prim::Into
                | Prim::Mul
                | Prim::ZeroOf
                | Prim::VecInit
                | Prim::Scanl
                | Prim::Scanr
                | Prim::Map2
        ),
        Kind::Const(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}

/// Returns a number as another number and what is added to it.
pub(super) fn base(n: &Expr) -> (Expr, i64) {
    match (n.kind(), n.args_of_prim(Prim::Add)) {
        (Kind::Const(Constant::Integer(c)), _) => (Expr::integer(0), *c),
        (_, Some([n, c])) if *c.ty() == Type::Integer => match c.kind() {
            Kind::Const(Constant::Integer(c)) => (n.clone(), *c),
            _ => (Expr::prim(Prim::Add, [n.clone(), c.clone()]), 0),
        },
        _ => (n.clone(), 0),
    }
}

/// Returns n + c, as all equal sums are written.
pub(super) fn shifted(n: &Expr, c: i64) -> Expr {
    let (base, before) = base(n);
    let sum = before.wrapping_add(c);
    match base.kind() {
        Kind::Const(Constant::Integer(0)) => Expr::integer(sum),
        _ if sum == 0 => base,
        _ => Expr::prim(Prim::Add, [base, Expr::integer(sum)]),
    }
}

/// Returns whether n <= m is known. Sizes do not overflow: a tensor of such a size cannot be made.
pub(super) fn is_at_most(n: &Expr, m: &Expr) -> bool {
    let ((n, c), (m, d)) = (base(n), base(m));
    n == m && c <= d
}

pub(super) fn size(v: &Expr) -> Expr {
    Expr::prim(Prim::Size, [v.clone()])
}
