//! Arranges columns or rows as the blocks of a dense Jacobian.
//!
//! ```text
//! block of (t1, ..) by s = (block of t1 by s, ..)          block of t by (s1, ..) = (block of t by s1, ..)
//! entry of t[i].. by s[j].. = columns[j]..[i]..  or  rows[i]..[j]..
//! ```
//!
//! [`crate::derive::typing::blocks`] has the types. Takes: for each part of the argument its columns, or for each part
//! of the result its rows. Gives: a term.

use lm::prim::Prim;
use lm::shape;
use lm::term::{Expr, Path, Supply};
use lm::types::Type;
use std::sync::Arc;

/// A part of the argument, or of the result.
#[derive(Clone)]
pub(super) struct Position {
    /// The components that lead to the part.
    path: Path,
    /// The components and elements that lead to it: from its columns or rows, if it has some, else from the whole.
    steps: Vec<Step>,
    /// A witness of the part.
    witness: Expr,
    /// Its columns or rows.
    source: Option<Expr>,
    /// The columns or rows of each part.
    table: Arc<[(Path, Expr)]>,
}

#[derive(Clone)]
enum Step {
    Component(usize),
    Element(Expr),
}

impl Position {
    /// Returns the whole, and the columns or rows of each part of it, by the components that lead there.
    pub(super) fn new(witness: Expr, table: Vec<(Path, Expr)>) -> Position {
        Position { path: Vec::new(), steps: Vec::new(), witness, source: None, table: table.into() }.arrived()
    }

    fn ty(&self) -> &Type {
        self.witness.ty()
    }

    /// Returns the components, if it is a tuple.
    fn components(&self) -> Option<Vec<Position>> {
        let parts = self.ty().as_tuple()?.len();
        let component = |k| {
            let mut place = self.clone();
            place.path.push(k);
            place.steps.push(Step::Component(k));
            place.witness = Expr::get(k, self.witness.clone());
            place.arrived()
        };
        Some((1..=parts).map(component).collect())
    }

    fn element(&self, i: Expr) -> Position {
        let mut place = self.clone();
        place.witness = index(i.clone(), self.witness.clone());
        place.steps.push(Step::Element(i));
        place
    }

    /// From here on, steps are from the columns or rows.
    fn arrived(mut self) -> Position {
        if self.source.is_none()
            && let Some((_, source)) = self.table.iter().find(|(path, _)| *path == self.path)
        {
            self.source = Some(source.clone());
            self.steps.clear();
        }
        self
    }

    fn walk(&self, from: Expr) -> Expr {
        self.steps.iter().fold(from, |e, step| match step {
            Step::Component(k) => Expr::get(*k, e),
            Step::Element(i) => index(i.clone(), e),
        })
    }

    /// Returns the rank, of a tensor of scalars.
    fn rank_of_scalars(&self) -> Option<usize> {
        match self.ty() {
            Type::Tensor(rank, element) if **element == Type::Float => Some(*rank),
            _ => None,
        }
    }
}

/// The arrangement of columns or rows as blocks.
pub(super) struct Blocks<'a> {
    pub(super) supply: &'a mut Supply,
}

impl Blocks<'_> {
    /// Returns the block of the result's part t by the argument's part s.
    pub(super) fn block_of_parts(&mut self, t: &Position, s: &Position) -> Expr {
        if !t.ty().is_differentiable() || !s.ty().is_differentiable() {
            return Expr::tuple([]);
        }
        if let Some(parts) = t.components() {
            return Expr::tuple(parts.iter().map(|t| self.block_of_parts(t, s)).collect::<Vec<_>>());
        }
        if let (Type::Tensor(rank, _), None) = (t.ty(), t.rank_of_scalars()) {
            return shape::over(*rank, size(&t.witness), self.supply, |supply, i| {
                Blocks { supply }.block_of_parts(&t.element(i.clone()), s)
            });
        }
        if let Some(parts) = s.components() {
            return Expr::tuple(parts.iter().map(|s| self.block_of_parts(t, s)).collect::<Vec<_>>());
        }
        match (t.rank_of_scalars(), s.rank_of_scalars()) {
            _ if is_there(t, s) => entry(t, s),
            (Some(p), Some(q)) => self.merged(t, p, s, q),
            (Some(p), None) => shape::over(p, size(&t.witness), self.supply, |supply, i| {
                Blocks { supply }.block_of_parts(&t.element(i.clone()), s)
            }),
            (None, _) => {
                let Type::Tensor(q, _) = s.ty() else { return entry(t, s) };
                shape::over(*q, size(&s.witness), self.supply, |supply, j| {
                    Blocks { supply }.block_of_parts(t, &s.element(j.clone()))
                })
            }
        }
    }

    /// Returns one tensor of both ranks.
    fn merged(&mut self, t: &Position, p: usize, s: &Position, q: usize) -> Expr {
        let bounds = [along_axes(&size(&t.witness), p), along_axes(&size(&s.witness), q)].concat();
        shape::over(p + q, Expr::tuple(bounds), self.supply, |_, ij| {
            let axes = along_axes(ij, p + q);
            let [i, j] = [&axes[..p], &axes[p..]].map(|axes| match axes {
                [one] => one.clone(),
                many => Expr::tuple(many.to_vec()),
            });
            entry(&t.element(i), &s.element(j))
        })
    }
}

/// Returns whether the block of a scalar by a part, or of a part by a scalar, is a row or column, as it is.
fn is_there(t: &Position, s: &Position) -> bool {
    let is_part = |place: &Position| *place.ty() == Type::Float || place.rank_of_scalars().is_some();
    // The steps at the scalar's side come first, so the other side may be left whole.
    let is_scalar_first = |place: &Position| {
        let comes_first = place.source.is_some() || place.steps.is_empty();
        *place.ty() == Type::Float && comes_first
    };
    is_part(t) && is_part(s) && (is_scalar_first(t) || is_scalar_first(s))
}

/// Returns the entry, or all entries of one place by a scalar one.
fn entry(t: &Position, s: &Position) -> Expr {
    match (&t.source, &s.source) {
        (_, Some(columns)) => t.walk(s.walk(columns.clone())),
        (Some(rows), _) => s.walk(t.walk(rows.clone())),
        (None, None) => panic!("a part with neither rows nor columns"),
    }
}

/// Returns the Integers of an index or a size.
pub(super) fn along_axes(index: &Expr, rank: usize) -> Vec<Expr> {
    match rank {
        1 => vec![index.clone()],
        _ => (1..=rank).map(|k| Expr::get(k, index.clone())).collect(),
    }
}

/// Returns `v[i]`.
pub(super) fn index(i: Expr, v: Expr) -> Expr {
    Expr::prim(Prim::Index, [i, v])
}

/// Returns `size(v)`.
pub(super) fn size(v: &Expr) -> Expr {
    Expr::prim(Prim::Size, [v.clone()])
}
