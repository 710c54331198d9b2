//! Sizes in types: as written, as numbers in bodies, and whether they are right.
//!
//! ```text
//! (def f T ((v : Vec n S)) body)   =   (def f T ((v : Vec S)) (let (n (size v)) body))       n occurs in the body
//! ```
//!
//! Types of terms have no sizes. What a definition says of them is its [`lm::sizes::Signature`]; `judge.rs` compares that
//! with what is inferred. Where it is not known whether a call has the sizes that a function says, an `assert` around the
//! call finds out when it runs.

mod checks;
mod error;
mod judge;
mod names;
mod written;

pub use names::names;
