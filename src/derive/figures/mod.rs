//! Holds the derivations of the papers, a file for each figure.
//!
//! Figures are those of *Working notes on automatic differentiation* (Ellis, Peyton Jones and Fitzgibbon, 2020).
//!
//! | figure | shows | file | laws |
//! | --- | --- | --- | --- |
//! | Fig. 2 | built-in functions and their Jacobians | `lm/src/prim.rs`; arrays: [`fig06_arrays`] | `jacobian-..`, `apply-get`, `get-vcat` |
//! | Figs. 3, 4 | operators on linear maps and their laws | `lm/src/map.rs`, `lm/laws/linear.laws` | `apply-..`, `zero-compose`, `scale-add`, .. |
//! | Fig. 5 | transposition and reverse application | [`transpose`](super::passes::transpose) | `transpose-..`, `reverse-..` |
//! | Fig. 6 | the full Jacobian | [`fig06_jacobian`], [`fig06_arrays`]; one binding at a time: [`fig06_steps`] | `nabla-..`, `call-fwd`, `call-rev` |
//! | Figs. 7, 8 | tupled and polymorphic pairs | [`fig07_08_pairs`] | `call-jvp` |
//! | Fig. 9 | the category language: syntax | [`fig09_11_category`] | |
//! | Fig. 10 | its semantics, conversion and pruning | [`fig09_11_category`]: `convert`, `prune`, `back` | |
//! | Fig. 11 | its types | [`fig09_11_category::typing`] | |
//! | Figs. 12-15 | folds, forward and reverse | [`fig12_15_folds`] | `apply-fold`, `transpose-fold`, `fold-pairs` |
//! | sec. 5.4 | records | [`records`] | `call-recorded` |
//! | sec. 6.1 | the two halves, by rules on the category language | [`fig09_11_category`]: `forward`, `reverse` | |
//!
//! Derivations that no figure shows have files of their own:
//!
//! | subject | file |
//! | --- | --- |
//! | Jacobians that are written by hand | [`by_hand`] |
//! | derivatives of reverse derivatives, by symmetry of second derivatives | [`symmetry`] |
//! | gradients, Jacobians and Hessians as values | [`dense`] |
//! | folds in segments, whose derivatives keep few states | [`checkpoints`] |
//! | shapes of values | [`shape`] |
//!
//! Those of other papers:
//!
//! | paper | derivation | file |
//! | --- | --- | --- |
//! | *Efficient differentiable programming in a functional array-processing language* | dual numbers | [`paper000_dual`] |
//! | *Denotationally correct, purely functional, efficient reverse-mode automatic differentiation* | lists of functions of one argument | [`paper003_unary`] |
//!
//! A further paper gets a file or a folder here, a row above, and rows of [`recipes`](super::recipes). These names are
//! kept for the papers that are planned:
//!
//! | paper | derivation | file |
//! | --- | --- | --- |
//! | 001 | sums of functions of one variable | `paper001_sum` |
//! | 004 | arrays of dual numbers | `paper004_dual_arrays` |

pub mod by_hand;
pub mod checkpoints;
pub mod dense;
pub mod fig06_arrays;
pub mod fig06_jacobian;
pub mod fig06_steps;
pub mod fig07_08_pairs;
pub mod fig09_11_category;
pub mod fig12_15_folds;
pub mod paper000_dual;
pub mod paper003_unary;
pub mod records;
pub mod shape;
pub mod symmetry;
