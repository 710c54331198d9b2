//! Holds values in parts: tuples by component, tensors of tuples as tuples of tensors.
//!
//! ```text
//! tree of (a, b) = (tree of a, tree of b)          tree of build(n, λi. (a, b)) = (build(n, λi. a), build(n, λi. b))
//! tree of a dual of x and dx: (x, dx), in the place of each Float and of each tensor of Floats
//! ```

use super::Apart;
use lm::prim::Prim;
use lm::shape;
use lm::term::{Expr, Supply};
use lm::types::Type;
use std::sync::Arc;

/// A value in parts.
#[derive(Clone)]
pub(super) enum Tree {
    /// A value that is not in parts so far: an atom.
    Whole(Expr),
    /// The parts of a tuple, or of a tensor of tuples.
    Parts(Vec<Tree>),
}

/// Returns the types of the parts of values; `None` for values without parts.
pub(super) fn part_types(ty: &Type) -> Option<Vec<Type>> {
    match ty {
        Type::Tuple(parts) if !parts.is_empty() => Some(parts.to_vec()),
        Type::Tensor(rank, element) => {
            let part = |part| Type::Tensor(*rank, Arc::new(part));
            Some(part_types(element)?.into_iter().map(part).collect())
        }
        _ => None,
    }
}

/// Returns the types of the smallest parts of values, in order.
pub(super) fn leaf_types(ty: &Type) -> Vec<Type> {
    match part_types(ty) {
        Some(parts) => parts.iter().flat_map(leaf_types).collect(),
        None => vec![ty.clone()],
    }
}

/// Makes a tree of leaves, which come in order.
pub(super) fn of_leaves(ty: &Type, leaves: &mut dyn Iterator<Item = Expr>) -> Tree {
    match part_types(ty) {
        Some(parts) => Tree::Parts(parts.iter().map(|ty| of_leaves(ty, leaves)).collect()),
        None => Tree::Whole(leaves.next().expect("there is a leaf for each smallest part")),
    }
}

impl Apart<'_> {
    /// Returns the parts of a tree. Binds those of a value that is not in parts so far.
    pub(super) fn parts(&mut self, tree: &Tree) -> Vec<Tree> {
        let whole = match tree {
            Tree::Parts(parts) => return parts.clone(),
            Tree::Whole(whole) => whole,
        };
        let n = part_types(whole.ty()).expect("a value with parts").len();
        (0..n)
            .map(|k| {
                let part = component(whole, k, self.supply);
                Tree::Whole(self.bound("t", part))
            })
            .collect()
    }

    /// Returns the smallest parts of a tree, in order.
    pub(super) fn leaves(&mut self, tree: &Tree, ty: &Type) -> Vec<Expr> {
        match (part_types(ty), tree) {
            (Some(types), _) => {
                let parts = self.parts(tree);
                parts.iter().zip(&types).flat_map(|(part, ty)| self.leaves(part, ty)).collect()
            }
            (None, Tree::Whole(e)) => vec![e.clone()],
            (None, Tree::Parts(_)) => panic!("{ty} has no parts"),
        }
    }

    /// Returns a tree as one value, an atom.
    pub(super) fn whole(&mut self, tree: &Tree, ty: &Type) -> Expr {
        match tree {
            Tree::Whole(e) => e.clone(),
            Tree::Parts(_) => {
                let whole = self.assembled(tree, ty);
                self.bound("t", whole)
            }
        }
    }

    fn assembled(&mut self, tree: &Tree, ty: &Type) -> Expr {
        let parts = match tree {
            Tree::Whole(e) => return e.clone(),
            Tree::Parts(parts) => parts.clone(),
        };
        match ty {
            Type::Tuple(types) => {
                let parts = parts.iter().zip(types.iter()).map(|(part, ty)| self.assembled(part, ty));
                Expr::tuple(parts.collect::<Vec<_>>())
            }
            Type::Tensor(rank, element) => {
                let n = self.size(tree, ty);
                let i = self.supply.fresh("i", Type::index(*rank));
                let at_i = self.element(&Expr::var(&i), tree);
                let body = self.assembled(&at_i, element);
                Expr::prim(Prim::Build, [n, Expr::lam(i, body)])
            }
            _ => panic!("{ty} has no parts"),
        }
    }

    /// Returns the element of each part of a tensor.
    pub(super) fn element(&mut self, i: &Expr, tree: &Tree) -> Tree {
        match tree {
            Tree::Whole(v) => Tree::Whole(Expr::prim(Prim::Index, [i.clone(), v.clone()])),
            Tree::Parts(parts) => Tree::Parts(parts.iter().map(|part| self.element(i, part)).collect()),
        }
    }

    /// Returns the size of a tensor: that of its first part which does not depend on the direction, if there is one.
    pub(super) fn size(&mut self, tree: &Tree, ty: &Type) -> Expr {
        Expr::prim(Prim::Size, [self.of_the_size(tree, ty)])
    }

    /// Returns a tensor of the same size, which does not depend on the direction if a part of this one does not.
    pub(super) fn of_the_size(&mut self, tree: &Tree, ty: &Type) -> Expr {
        let leaves = if let Tree::Whole(e) = tree { vec![e.clone()] } else { self.leaves(tree, ty) };
        leaves.iter().find(|leaf| !self.is_late(leaf)).unwrap_or(&leaves[0]).clone()
    }
}

/// Returns the k-th part of a value.
fn component(e: &Expr, k: usize, supply: &mut Supply) -> Expr {
    match e.ty() {
        Type::Tensor(_, element) if element.as_tuple().is_some() => {
            Expr::get(k + 1, Expr::prim(Prim::Unzip, [e.clone()]))
        }
        Type::Tensor(rank, _) => shape::over(*rank, Expr::prim(Prim::Size, [e.clone()]), supply, |supply, i| {
            component(&Expr::prim(Prim::Index, [i.clone(), e.clone()]), k, supply)
        }),
        _ => Expr::get(k + 1, e.clone()),
    }
}

/// Duals as trees.
impl Apart<'_> {
    /// Returns the dual of a value of type T and its tangent.
    pub(super) fn doubled(&mut self, x: &Tree, dx: &Tree, ty: &Type) -> Tree {
        match part_types(ty) {
            _ if !ty.is_differentiable() => x.clone(),
            None => Tree::Parts(vec![x.clone(), dx.clone()]),
            Some(types) => {
                let (xs, dxs) = (self.parts(x), self.parts(dx));
                let part = |((x, dx), ty)| self.doubled(x, dx, ty);
                Tree::Parts(xs.iter().zip(&dxs).zip(&types).map(part).collect())
            }
        }
    }

    /// Returns the value of a dual, of type T.
    pub(super) fn value(&mut self, dual: &Tree, ty: &Type) -> Tree {
        match part_types(ty) {
            _ if !ty.is_differentiable() => dual.clone(),
            None => self.parts(dual)[0].clone(),
            Some(types) => {
                let parts = self.parts(dual);
                Tree::Parts(parts.iter().zip(&types).map(|(part, ty)| self.value(part, ty)).collect())
            }
        }
    }

    /// Returns the tangent of a dual, of type T.
    pub(super) fn tangent(&mut self, dual: &Tree, ty: &Type) -> Tree {
        match part_types(ty) {
            _ if !ty.is_differentiable() => {
                let value = self.whole(dual, ty);
                Tree::Whole(self.bound("d", Expr::prim(Prim::ZeroOf, [Expr::witness(&value)])))
            }
            None => self.parts(dual)[1].clone(),
            Some(types) => {
                let parts = self.parts(dual);
                Tree::Parts(parts.iter().zip(&types).map(|(part, ty)| self.tangent(part, ty)).collect())
            }
        }
    }
}
