//! Lists the laws that write a map of tuples as its matrix: rows by ×, in them columns by ⋈, in them 0, 1 or S(k).
//!
//! ```text
//! π(2,2) × S(k) ∘ π(1,2)   =   (0 ⋈ 1) × (S(k) ⋈ 0)
//! ```
//!
//! Two of them copy maps, which no other schedule wants. So they decide whether two maps of numbers and tuples are
//! equal, as far as their coefficients tell.

use super::context::Context;
use super::native::{Head, Native, component_source, prim2, projection};
use crate::prim::Prim;
use crate::term::{Expr, Op};

#[rustfmt::skip]
/// The table.
pub static MATRIX: &[Native] = &[
    Native { name: "one-rows",       source: "derived", text: "1(s) = π(1,n) × .. × π(n,n)",                       head: Some(Head::Prim(Prim::LmOne)),     rewrite: one_rows },
    Native { name: "scale-rows",     source: "derived", text: "S(s, k) = (S(k) ∘ π(1,n)) × .. × (S(k) ∘ π(n,n))", head: Some(Head::Prim(Prim::LmScale)),   rewrite: scale_rows },
    Native { name: "zero-rows",      source: "derived", text: "0(s, t) = 0(s, t.1) × .. × 0(s, t.n)",             head: Some(Head::Prim(Prim::LmZero)),    rewrite: zero_rows },
    Native { name: "zero-columns",   source: "derived", text: "0(s, t) = 0(s.1, t) ⋈ .. ⋈ 0(s.n, t)",             head: Some(Head::Prim(Prim::LmZero)),    rewrite: zero_columns },
    Native { name: "get-columns",    source: "derived", text: "π(i,n) = 0 ⋈ .. ⋈ 1 ⋈ .. ⋈ 0",                     head: Some(Head::Projection),            rewrite: get_columns },
    Native { name: "exchange",       source: "derived", text: "×(m ..) ⋈ ×(n ..) ⋈ .. = (m ⋈ n ⋈ ..) × ..",       head: Some(Head::Prim(Prim::LmHCat)),    rewrite: exchange },
    Native { name: "rows-compose",   source: "derived", text: "×(m ..) ∘ n = ×(m ∘ n ..), for any n",              head: Some(Head::Prim(Prim::LmCompose)), rewrite: rows_compose },
    Native { name: "compose-columns", source: "derived", text: "m ∘ ⋈(n ..) = ⋈(m ∘ n ..), for any m",            head: Some(Head::Prim(Prim::LmCompose)), rewrite: compose_columns },
];

/// Returns the number of components, if the type of the space is a tuple with components.
fn components(space: &Expr) -> Option<usize> {
    space.ty().as_tuple().map(<[_]>::len).filter(|n| *n > 0)
}

fn component(space: &Expr, i: usize) -> Expr {
    Expr::witness(&Expr::get(i, component_source(space)))
}

fn get(i: usize, n: usize, space: &Expr) -> Expr {
    Expr::app(Op::LmGet(i, n), vec![space.clone()])
}

fn one_rows(e: &Expr, _: &Context) -> Option<Expr> {
    let space = &e.args_of_prim(Prim::LmOne)?[0];
    let n = components(space)?;
    Some(Expr::prim(Prim::LmVCat, (1..=n).map(|i| get(i, n, space))))
}

fn scale_rows(e: &Expr, _: &Context) -> Option<Expr> {
    let (space, k) = prim2(e, Prim::LmScale)?;
    let n = components(space).filter(|_| k.is_atom())?;
    let row = |i| {
        let scale = Expr::prim(Prim::LmScale, [component(space, i), k.clone()]);
        Expr::prim(Prim::LmCompose, [scale, get(i, n, space)])
    };
    Some(Expr::prim(Prim::LmVCat, (1..=n).map(row)))
}

fn zero_rows(e: &Expr, _: &Context) -> Option<Expr> {
    let (s, t) = prim2(e, Prim::LmZero)?;
    let row = |i| Expr::prim(Prim::LmZero, [s.clone(), component(t, i)]);
    Some(Expr::prim(Prim::LmVCat, (1..=components(t)?).map(row)))
}

fn zero_columns(e: &Expr, _: &Context) -> Option<Expr> {
    let (s, t) = prim2(e, Prim::LmZero)?;
    let column = |i| Expr::prim(Prim::LmZero, [component(s, i), t.clone()]);
    let n = components(s).filter(|_| t.ty().as_tuple().is_none())?;
    Some(Expr::prim(Prim::LmHCat, (1..=n).map(column)))
}

fn get_columns(e: &Expr, _: &Context) -> Option<Expr> {
    let (i, n, space) = projection(e)?;
    let chosen = component(space, i);
    let column = |j| match j == i {
        true => Expr::prim(Prim::LmOne, [chosen.clone()]),
        false => Expr::prim(Prim::LmZero, [component(space, j), chosen.clone()]),
    };
    Some(Expr::prim(Prim::LmHCat, (1..=n).map(column)))
}

fn exchange(e: &Expr, _: &Context) -> Option<Expr> {
    let columns = e.args_of_prim(Prim::LmHCat)?;
    let columns = columns.iter().map(|column| column.args_of_prim(Prim::LmVCat)).collect::<Option<Vec<_>>>()?;
    let row = |i: usize| Expr::prim(Prim::LmHCat, columns.iter().map(|column| column[i].clone()));
    Some(Expr::prim(Prim::LmVCat, (0..columns[0].len()).map(row)))
}

fn rows_compose(e: &Expr, _: &Context) -> Option<Expr> {
    let (rows, n) = prim2(e, Prim::LmCompose)?;
    let rows = rows.args_of_prim(Prim::LmVCat)?;
    Some(Expr::prim(Prim::LmVCat, rows.iter().map(|m| Expr::prim(Prim::LmCompose, [m.clone(), n.clone()]))))
}

fn compose_columns(e: &Expr, _: &Context) -> Option<Expr> {
    let (m, columns) = prim2(e, Prim::LmCompose)?;
    let columns = columns.args_of_prim(Prim::LmHCat)?;
    Some(Expr::prim(Prim::LmHCat, columns.iter().map(|n| Expr::prim(Prim::LmCompose, [m.clone(), n.clone()]))))
}
