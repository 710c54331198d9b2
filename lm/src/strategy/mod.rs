//! Strategies: the places and the order in which laws are applied, as text.
//!
//! ```text
//! id t         = t                              repeat s     = try (s ; repeat s)
//! fail t       = failure                        topDown s    = s <+ one (topDown s)
//! (s1 ; s2) t  = s2 (s1 t)                      bottomUp s   = one (bottomUp s) <+ s
//! (s1 <+ s2) t = s1 t, or s2 t when s1 fails    normalize s  = repeat (topDown s)
//! try s        = s <+ id                        innermost s  = all (innermost s) ; try (s ; innermost s)
//! (mu x. s) t  = s t, where x is mu x. s        fuel (n, s)  = s, in which laws apply n times at most
//!
//! one, some, all: s at the first child where it succeeds, at those where it does, at all or fail;
//! condition, rhs(k), ..: s at the child of that name, or fail.
//! pass(p): the pass p on the whole definition; stage("Heading", s): s, whose result is shown.
//! ```
//!
//! The text of a file becomes definitions ([`parse`]), and these become strategies ([`Library`]), in which names have
//! their meaning. A file that can be loaded has no loop whose steps may be none: `check.rs` tells.
//!
//! Source: Using rewrite strategies for efficient functional automatic differentiation (FTfJP 2023),
//! sec. 5.1.
//!
//! `innermost` reaches the same normal form as `normalize`, for a confluent set of laws. It does not walk the term
//! again for each step, but remembers which nodes are normal. So its work is the size of the term plus the number of
//! rewrites.

mod check;
mod combinator;
mod drive;
mod law_set;
mod lexer;
mod library;
mod mistake;
pub mod parse;
mod print;
mod resolve;
pub mod syntax;
mod tree;

pub use combinator::{Combinator, Place};
pub use drive::{Act, Action, drive};
pub use law_set::LawSet;
pub use library::{BUILT_IN, File, Known, Library, Named, Refused, VARIANTS};
pub use mistake::{Cause, Mistake, Noun};
pub use tree::Strategy;
