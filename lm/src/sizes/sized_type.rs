//! Types with the sizes that a definition writes.

use super::polynomial::Polynomial;
use crate::types::Type;
use std::fmt;
use std::sync::Arc;

/// A type, with what is said of its sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum SizedType {
    /// A type without tensors, or a function.
    Plain(Type),
    /// An Integer that is that size: a parameter with the name of a size variable, also where a derivative has it in a
    /// tuple.
    Number(Polynomial),
    /// `(Fin n)`, `(Fin (Tuple n m))`: an index of a tensor of that size.
    Index(Vec<Polynomial>),
    /// A tuple.
    Tuple(Vec<SizedType>),
    /// A tensor: its size in each dimension, where it is said.
    Tensor(Vec<Option<Polynomial>>, Box<SizedType>),
}

impl SizedType {
    /// Returns a type of which nothing more is said.
    pub fn any(ty: &Type) -> SizedType {
        match ty {
            Type::Tuple(parts) => SizedType::Tuple(parts.iter().map(SizedType::any).collect()),
            Type::Tensor(rank, element) => SizedType::Tensor(vec![None; *rank], Box::new(SizedType::any(element))),
            other => SizedType::Plain(other.clone()),
        }
    }

    /// Returns a tensor whose sizes are not said.
    pub fn tensor(rank: usize, element: SizedType) -> SizedType {
        SizedType::Tensor(vec![None; rank], Box::new(element))
    }

    /// Returns the type without sizes.
    pub fn erased(&self) -> Type {
        match self {
            SizedType::Plain(ty) => ty.clone(),
            SizedType::Number(_) => Type::Integer,
            SizedType::Index(sizes) => Type::index(sizes.len()),
            SizedType::Tuple(parts) => Type::tuple(parts.iter().map(SizedType::erased)),
            SizedType::Tensor(sizes, element) => Type::Tensor(sizes.len(), Arc::new(element.erased())),
        }
    }

    /// Returns whether anything is said of sizes.
    pub fn says_sizes(&self) -> bool {
        self.sizes().next().is_some()
    }

    /// Returns all sizes that are said.
    pub fn sizes(&self) -> Box<dyn Iterator<Item = &Polynomial> + '_> {
        match self {
            SizedType::Plain(_) => Box::new(std::iter::empty()),
            SizedType::Number(size) => Box::new(std::iter::once(size)),
            SizedType::Index(sizes) => Box::new(sizes.iter()),
            SizedType::Tuple(parts) => Box::new(parts.iter().flat_map(SizedType::sizes)),
            SizedType::Tensor(sizes, element) => Box::new(sizes.iter().flatten().chain(element.sizes())),
        }
    }

    /// Returns the type of tangents: as [`Type::tangent`], with the same sizes.
    pub fn tangent(&self) -> SizedType {
        match self {
            SizedType::Plain(ty) => SizedType::any(&ty.tangent()),
            SizedType::Number(_) | SizedType::Index(_) => SizedType::Tuple(vec![]),
            SizedType::Tuple(parts) => SizedType::Tuple(parts.iter().map(SizedType::tangent).collect()),
            SizedType::Tensor(sizes, element) => SizedType::Tensor(sizes.clone(), Box::new(element.tangent())),
        }
    }
}

/// Writes the spelling of the language; a size as the parameter that it is, `(n : Integer)`.
impl fmt::Display for SizedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |size: &Option<Polynomial>| size.as_ref().map_or("_".to_string(), Polynomial::spelled);
        match self {
            SizedType::Plain(ty) => write!(f, "{ty}"),
            SizedType::Number(size) => write!(f, "({} : Integer)", size.spelled()),
            SizedType::Index(sizes) => match sizes.as_slice() {
                [n] => write!(f, "(Fin {})", n.spelled()),
                several => {
                    let sizes: Vec<String> = several.iter().map(Polynomial::spelled).collect();
                    write!(f, "(Fin (Tuple {}))", sizes.join(" "))
                }
            },
            SizedType::Tuple(parts) => {
                write!(f, "(Tuple")?;
                parts.iter().try_for_each(|part| write!(f, " {part}"))?;
                write!(f, ")")
            }
            SizedType::Tensor(sizes, element) if sizes.iter().all(Option::is_none) => match sizes.len() {
                1 => write!(f, "(Vec {element})"),
                rank => write!(f, "(Tensor {rank} {element})"),
            },
            SizedType::Tensor(sizes, element) => match sizes.as_slice() {
                [n] => write!(f, "(Vec {} {element})", shown(n)),
                several => {
                    let sizes: Vec<String> = several.iter().map(shown).collect();
                    write!(f, "(Tensor ({}) {element})", sizes.join(" "))
                }
            },
        }
    }
}
