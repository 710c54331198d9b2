//! Derivations: their passes, schedules and types.

mod arrays;
mod costs;
mod deriv;
mod dual;
mod dual_classes;
mod dual_values;
mod expand_arrays;
mod folds_of_maps;
mod inline;
mod matrix;
mod passes;
mod returned_map;
mod schedule;
mod strategies;
mod typing;
mod unary;
