//! The passes, one file each. No pass imports another; `pipeline` names them all, and `laws` tables
//! what those that work on binders do.

pub mod anf;
pub mod apart;
pub mod apply;
pub mod beside;
pub mod cse;
pub mod dead;
pub mod into;
pub mod joint;
pub mod laws;
pub mod lower;
pub mod merge;
pub mod narrow;
pub mod residuals;
pub mod rules;
pub mod simplify;
pub mod sums;
pub mod tidy;
pub mod transpose;
