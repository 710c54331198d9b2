//! Lists the laws that passes apply: laws with binders, which no pattern of `lm`'s table can express.
//!
//! One row has the law, and an instance of it as a program before and after. `lmc laws` lists them with the others.
//! The test `tests/lmc/pass_laws.rs` runs the pass on each instance, compares the result with the row, and both values
//! with each other.

mod calls;
mod expansions;
mod jacobian;
mod law;
mod maps;
mod names;
mod programs;
mod run;
mod sharing;

pub use law::PassLaw;

/// Returns the laws of all passes.
pub fn all() -> impl Iterator<Item = &'static PassLaw> {
    let families =
        [expansions::LAWS, names::LAWS, maps::LAWS, sharing::LAWS, calls::LAWS, jacobian::LAWS, programs::LAWS];
    families.into_iter().flatten()
}
