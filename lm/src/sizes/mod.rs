//! Sizes in types: what a definition says of the sizes of its tensors, and what follows from it.
//!
//! ```text
//! (def dot Float ((v : Vec n Float) (w : Vec n Float)) ..)      size(v) = n, size(w) = n
//! T ::= (Vec n T) | (Tensor (n m ..) T) | (Fin n) | ..          n ::= k | name | (add n n) | (sub n n) | (mul n n)
//! ```
//!
//! Types of terms have no sizes ([`crate::types::Type`]). A [`Signature`] keeps those that a definition writes, and
//! [`infer`](infer()) finds those of terms, as [`Polynomial`]s. What it claims of a call holds whatever the values are.
//!
//! Source: sizes in types as in *Using rewrite strategies for efficient functional automatic differentiation* (FTfJP
//! 2023), with variables for sizes, sums and products.

mod derived;
mod infer;
mod polynomial;
mod relation;
mod signature;
mod sized_type;
mod terms;

pub use infer::{ANY, Annotation, Answer, Claim, Finding, Found, Known, infer};
pub use polynomial::{Atom, Polynomial, sum_of};
pub use relation::{Place, Relation, Step};
pub use signature::{Signature, Undetermined};
pub use sized_type::SizedType;
pub use terms::Check;
