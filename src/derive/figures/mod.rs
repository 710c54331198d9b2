//! Holds the derivations of the papers, a file for each figure.

pub mod by_hand;
pub mod dense;
pub mod fig06_arrays;
pub mod fig06_jacobian;
pub mod fig07_08_pairs;
pub mod fig09_11_category;
pub mod fig12_15_folds;
pub mod records;
pub mod shape;
pub mod symmetry;
