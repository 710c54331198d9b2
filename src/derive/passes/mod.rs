//! Simplifies definitions by passes on terms: one file each, and one row each in [`PASSES`].
//!
//! A pass takes a definition and gives one of the same meaning. Its row gives its purpose and its
//! postcondition, a property of its result. Debug builds check the postcondition after each run. No pass imports
//! another; the pipeline orders the passes. [`laws`] lists the laws that passes apply themselves.

pub mod add_destinations;
pub mod anf;
pub mod apply;
pub mod apply_maps;
pub mod arrays;
pub mod carry_states;
pub mod closed_folds;
pub mod counted_recursion;
pub mod cse;
pub mod dce;
pub mod dead_components;
pub mod expand_arrays;
pub mod folds_of_maps;
pub mod fuse_sums;
pub mod hoist_residuals;
pub mod independent_arguments;
pub mod inline_maps;
pub mod inline_marked;
pub mod inline_single_uses;
pub mod laws;
pub mod literal_zeros;
pub mod merge_calls;
pub mod number_temporaries;
pub mod pair_recursive_calls;
pub mod rules;
pub mod share_elements;
pub mod simplify;
pub mod sink_one_hots;
pub mod split_pairs;
pub mod transpose;
pub mod zeros_of_empty_sums;

use crate::derive::figures::paper000_dual::apart;
use crate::derive::postcondition::TermPass;

#[rustfmt::skip]
/// The table, in the order in which the passes first run.
pub static PASSES: &[TermPass] = &[
    TermPass { name: "expand_arrays", violation: expand_arrays::violation,
        purpose:       "writes primitives on arrays that no derivation has rules for in terms of others",
        postcondition: "no such primitive is left" },
    TermPass { name: "counted_recursion", violation: counted_recursion::violation,
        purpose:       "writes functions that call themselves once, and count, as folds",
        postcondition: "no function that counts and prints nothing calls itself once" },
    TermPass { name: "zeros_of_empty_sums", violation: zeros_of_empty_sums::violation,
        purpose:       "gives a sum over no elements its zero, where the shape of an element is known without one",
        postcondition: "a sum is guarded against an empty range at most once" },
    TermPass { name: "rules", violation: rules::violation,
        purpose:       "applies the rewrite rules of the program",
        postcondition: "no rule that comes to an end matches anywhere" },
    TermPass { name: "inline_marked", violation: inline_marked::violation,
        purpose:       "inlines the calls that the program marks by `$inline`, and those of small functions that pass arrays on",
        postcondition: "no such call of a function that can be inlined is left" },
    TermPass { name: "folds_of_maps", violation: folds_of_maps::violation,
        purpose:       "writes folds whose steps go element by element as a fold for each element",
        postcondition: "no step of a fold makes each number of its state from that number alone, if its text shows that" },
    TermPass { name: "independent_arguments", violation: independent_arguments::violation,
        purpose:       "tells derivations of the arguments on whose numbers a call does not depend",
        postcondition: "no such argument is passed but by `stop_gradient`" },
    TermPass { name: "inline_maps", violation: inline_maps::violation,
        purpose:       "writes calls of functions of linear maps as what they say of maps",
        postcondition: "no transposed Jacobian is called by its name" },
    TermPass { name: "apply_maps", violation: apply_maps::violation,
        purpose:       "applies the linear maps of a program, from either side",
        postcondition: "no application is of an operator for which there is a law" },
    TermPass { name: "anf", violation: anf::violation,
        purpose:       "names every intermediate value",
        postcondition: "each argument is an atom or a function, and each condition is an atom" },
    TermPass { name: "closed_folds", violation: closed_folds::violation,
        purpose:       "writes folds that add up, and folds that choose, without the state that each step has, and takes \
                        out of states what no step changes",
        postcondition: "no fold on numbers only adds to its state, or keeps its state or takes a term without it; no \
                        step gives a component of its state as it is, beside others" },
    TermPass { name: "simplify", violation: simplify::violation,
        purpose:       "applies the laws of linear maps and of tangents, and inlines maps that are used once",
        postcondition: "no variable is bound to an atom, to a map that is free to copy, to a short tuple, or to a \
                        product of maps that is only projected; no map is composed with 1 or added to 0, and no \
                        Jacobian is that of a primitive" },
    TermPass { name: "dce", violation: dce::violation,
        purpose:       "drops bindings, and components of results, that nothing uses",
        postcondition: "each binding is used or has an effect" },
    TermPass { name: "inline_single_uses", violation: inline_single_uses::violation,
        purpose:       "moves an expression that is used once to its use, while lines stay short",
        postcondition: "no variable is bound to an atom or to a short tuple, and none to a short expression that is \
                        used once" },
    TermPass { name: "transpose", violation: transpose::violation,
        purpose:       "transposes a Jacobian and gathers the cotangents of each map that it binds",
        postcondition: "only derivatives of functions, sums over an axis and variables are still transposed" },
    TermPass { name: "apply", violation: apply::violation,
        purpose:       "applies linear maps to vectors",
        postcondition: "no value is a linear map" },
    TermPass { name: "apart", violation: apart::violation,
        purpose:       "makes loops for values and loops for tangents of loops over dual numbers",
        postcondition: "no function on dual numbers is called, unless it prints" },
    TermPass { name: "arrays", violation: arrays::violation,
        purpose:       "fuses loops, and drops the zeros of arrays in which one element is not zero",
        postcondition: "no variable is bound to an atom or to a short tuple" },
    TermPass { name: "literal_zeros", violation: literal_zeros::violation,
        purpose:       "writes zeros of known shape as literals",
        postcondition: "each zero that is left needs a witness of its shape, is in one, or in an array that is zero but for one element" },
    TermPass { name: "cse", violation: cse::violation,
        purpose:       "computes equal terms once",
        postcondition: "no variable is bound to an operator on atoms that another variable in scope is bound to" },
    TermPass { name: "dead_components", violation: dead_components::violation,
        purpose:       "drops components of the elements of tensors that nothing reads",
        postcondition: "each component of the elements of a tensor that is built here is read or named" },
    TermPass { name: "pair_recursive_calls", violation: pair_recursive_calls::violation,
        purpose:       "calls a recursive function for its value and its derivative at once",
        postcondition: "a block that calls `[vjp g]` of a recursive g once at a point does not call g there" },
    TermPass { name: "merge_calls", violation: merge_calls::violation,
        purpose:       "merges conditionals on one variable, and calls of a function and of its derivatives",
        postcondition: "a conditional is merged with the first on the same variable, if all that it needs is bound \
                        before" },
    TermPass { name: "fuse_sums", violation: fuse_sums::violation,
        purpose:       "makes one sum of sums over one range that share work",
        postcondition: "blocks are flat, and no two costly sums in a block are equal" },
    TermPass { name: "share_elements", violation: share_elements::violation,
        purpose:       "reads the elements of arrays in place of computing them again",
        postcondition: "no loop computes a function of the C library that an array in scope has at its index" },
    TermPass { name: "carry_states", violation: carry_states::violation,
        purpose:       "carries the state of a fold from step to step, where a loop reads the states in order",
        postcondition: "outside of loops, no block keeps the states of a fold for a loop that reads them in order" },
    TermPass { name: "sink_one_hots", violation: sink_one_hots::violation,
        purpose:       "makes arrays in which one element is not zero in the branches that use them",
        postcondition: "no such array, made of atoms, is made before the only branches that use it" },
    TermPass { name: "split_pairs", violation: split_pairs::violation,
        purpose:       "adds pairs component by component where a loop gives them",
        postcondition: "no step of a loop gives a sum of tuples as a whole" },
    TermPass { name: "add_destinations", violation: add_destinations::violation,
        purpose:       "lets reverse derivatives of recursive functions add to a destination of their caller",
        postcondition: "each outermost call of `[rev f]`, for a recursive f, has a destination" },
    TermPass { name: "number_temporaries", violation: number_temporaries::violation,
        purpose:       "numbers intermediate values in order of appearance",
        postcondition: "the temporaries are t1, t2, .. in order" },
    TermPass { name: "hoist_residuals", violation: hoist_residuals::violation,
        purpose:       "computes values of loops that do not depend on directions once, before the loops",
        postcondition: "a loop that depends on a direction computes no costly number that does not" },
];

/// Returns the pass of a name; the steps of a derivation are no passes.
pub fn named(name: &str) -> Option<&'static TermPass> {
    PASSES.iter().find(|pass| pass.name == name)
}
