//! What a signature says of arguments: sizes at places in them are equal to polynomials.

use super::polynomial::{Atom, Polynomial};
use super::sized_type::SizedType;

/// A step to a part of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The i-th component of so many, from 1.
    Part(usize, usize),
    /// Each element.
    Each,
}

/// A number in the arguments: an Integer, or a size of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The parameter, from 0.
    pub param: usize,
    /// The way from the parameter to the Integer or to the tensor.
    pub path: Vec<Step>,
    /// Of a tensor, the dimension, from 0, and how many it has.
    pub dimension: Option<(usize, usize)>,
}

impl Place {
    /// Returns whether it is one number, and not one for each element of a tensor.
    pub fn is_one(&self) -> bool {
        !self.path.contains(&Step::Each)
    }

    /// Returns whether it is one size of a tensor.
    pub fn is_size(&self) -> bool {
        self.dimension.is_some() && self.is_one()
    }
}

/// What holds of the arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// The number is the polynomial.
    Equal(Place, Polynomial),
    /// The number is not negative, and below the polynomial.
    Below(Place, Polynomial),
    /// The size variable is not negative.
    Natural(Atom),
}

/// Calls `found` with each size that a type says, and its place; with a limit of an index, `is_limit` is set.
pub(super) fn each_size(ty: &SizedType, at: &Place, found: &mut dyn FnMut(Place, &Polynomial, bool)) {
    let to = |step| {
        let mut path = at.path.clone();
        path.extend(step);
        Place { path, ..at.clone() }
    };
    match ty {
        SizedType::Plain(_) => {}
        SizedType::Number(size) => found(at.clone(), size, false),
        SizedType::Index(sizes) => {
            let rank = sizes.len();
            for (i, size) in sizes.iter().enumerate() {
                let step = (rank > 1).then_some(Step::Part(i + 1, rank));
                found(to(step), size, true);
            }
        }
        SizedType::Tuple(parts) => {
            for (i, part) in parts.iter().enumerate() {
                each_size(part, &to(Some(Step::Part(i + 1, parts.len()))), found);
            }
        }
        SizedType::Tensor(sizes, element) => {
            for (i, size) in sizes.iter().enumerate() {
                if let Some(size) = size {
                    found(Place { dimension: Some((i, sizes.len())), ..at.clone() }, size, false);
                }
            }
            each_size(element, &to(Some(Step::Each)), found);
        }
    }
}
