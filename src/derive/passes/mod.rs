//! The passes on terms, one file each. No pass imports another; `pipeline` names them all, and `laws` tables what those
//! that work on binders do.

pub mod add_destinations;
pub mod anf;
pub mod apply;
pub mod cse;
pub mod dce;
pub mod dead_components;
pub mod fuse_sums;
pub mod hoist_residuals;
pub mod inline_single_uses;
pub mod laws;
pub mod literal_zeros;
pub mod merge_calls;
pub mod number_temporaries;
pub mod pair_recursive_calls;
pub mod rules;
pub mod simplify;
pub mod split_pairs;
pub mod transpose;
pub mod zeros_of_empty_sums;
