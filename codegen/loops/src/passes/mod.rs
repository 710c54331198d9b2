//! Lists the passes over loops, in order. A pass takes any module that keeps the rules of loops. It leaves one that
//! computes the same values, prints the same text and stops with the same errors.
//!
//! No pass imports another. What they share is in `ir` and `analyses`; `pass` says what a pass is.

mod alloc_to_stack;
mod arena_place;
mod arena_scopes;
mod buffer_reuse;
mod check_elimination;
mod coalesce_buffers;
mod collapse;
mod dce;
mod delinearize;
mod drop_checks;
mod expand_powers;
mod expand_quotients;
mod first_writes;
mod flatten_rows;
mod fuse_read_add_write;
mod fusion;
mod gather_neighbours;
mod gather_stencils;
mod gvn;
mod hoist_allocs;
mod hoist_common;
mod hoist_loads;
mod index_set_split;
mod inline;
mod inline_base_case;
mod inline_for_lanes;
mod interchange;
mod licm;
mod loop_versioning;
mod outline;
mod pack_rows;
pub mod parallelize;
mod pass;
mod propagate_arguments;
mod rectangular;
mod scalar_promotion;
mod selection;
mod sink_common;
mod spread_sums;
mod store_forward_values;
mod tabulate;
mod unpack_records;
mod unroll;
mod unroll_and_jam;
mod update_in_place;
pub mod vectorize;

use crate::analyses::cache::Analyses;
use crate::analyses::verify::verify;
use crate::error::Error;
use crate::ir::Module;
use lm::timing::Timings;
use pass::{ALL, Asks, FunctionPass, LIKELY, NOT_RECURSIVE, OURS, PassWork};
pub use pass::{Checks, Pass};
pub use selection::{LOWERING, Selection};

const ALWAYS: fn(Checks) -> bool = |_| true;
const HOISTED: fn(Checks) -> bool = |checks| checks == Checks::Hoisted;

/// Every pass, in the order in which they first run.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "inline",
        purpose: "inlines functions that are small or called once",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Module(inline::run),
    },
    Pass {
        name: "arena_scopes",
        purpose: "ends scopes together with those around them, so that values are not copied",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Module(arena_scopes::run),
    },
    Pass {
        name: "rectangular",
        purpose: "tests once whether rows have one size, tangents and cotangents that of what they belong to, and matrices equal sides",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Module(rectangular::run),
    },
    Pass {
        name: "expand_powers",
        purpose: "multiplies and takes roots for powers with small constant exponents, with fast math",
        reorders: true,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: ALL, asks: Asks::Nothing, run: expand_powers::run }),
    },
    Pass {
        name: "gvn",
        purpose: "computes and loads equal values once, and folds constants",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: OURS, asks: Asks::Callees, run: gvn::run }),
    },
    Pass {
        name: "unpack_records",
        purpose: "takes apart records that one function makes and reads",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: OURS, asks: Asks::Nothing, run: unpack_records::run }),
    },
    Pass {
        name: "propagate_arguments",
        purpose: "replaces parameters by the number that every call passes",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Module(propagate_arguments::run),
    },
    Pass {
        name: "hoist_allocs",
        purpose: "makes the buffers that both arms of a conditional make before it",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: NOT_RECURSIVE, asks: Asks::Nothing, run: hoist_allocs::run }),
    },
    Pass {
        name: "arena_place",
        purpose: "makes buffers that outlive a scope where they stay",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: OURS, asks: Asks::Nothing, run: arena_place::run }),
    },
    Pass {
        name: "licm",
        purpose: "moves computations that are the same in each iteration before the loop",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: OURS, asks: Asks::Callees, run: licm::run }),
    },
    Pass {
        name: "flatten_rows",
        purpose: "makes a matrix of a table of rows that a loop makes anew, where all rows have one size",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Nothing, run: flatten_rows::run }),
    },
    Pass {
        name: "drop_checks",
        purpose: "drops the checks of indices and sizes",
        reorders: false,
        when: |checks| checks == Checks::None,
        work: PassWork::Function(FunctionPass { of: ALL, asks: Asks::Nothing, run: drop_checks::run }),
    },
    Pass {
        name: "expand_quotients",
        purpose: "compares an Integer with its divisor, where the quotient is 0 or 1",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Nothing, run: expand_quotients::run }),
    },
    Pass {
        name: "store_forward_values",
        purpose: "stores values that a later loop would compute again",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: store_forward_values::run }),
    },
    Pass {
        name: "check_elimination",
        purpose: "drops checks that always hold",
        reorders: false,
        when: HOISTED,
        work: PassWork::Function(FunctionPass { of: ALL, asks: Asks::Nothing, run: check_elimination::run }),
    },
    Pass {
        name: "scalar_promotion",
        purpose: "keeps an element that all iterations of a loop add to in a register",
        reorders: true,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: scalar_promotion::run }),
    },
    Pass {
        name: "hoist_common",
        purpose: "moves loads and additions that both arms of a conditional begin with before it",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: hoist_common::run }),
    },
    Pass {
        name: "coalesce_buffers",
        purpose: "makes one buffer of a copy and what it copies, and of a sum and a part of it",
        reorders: true,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Nothing, run: coalesce_buffers::run }),
    },
    Pass {
        name: "gather_stencils",
        purpose: "lets the elements of a box take what iterations around them add",
        reorders: true,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: gather_stencils::run }),
    },
    Pass {
        name: "update_in_place",
        purpose: "changes the elements of a loop's state that a step changes, in place of making a new state",
        reorders: true,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: update_in_place::run }),
    },
    Pass {
        name: "fusion",
        purpose: "fuses loops over the same range, and drops buffers that only pass values on",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: fusion::run }),
    },
    Pass {
        name: "dce",
        purpose: "drops unused code",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: ALL, asks: Asks::Callees, run: dce::run }),
    },
    Pass {
        name: "spread_sums",
        purpose: "chooses what to store or add, where the terms of a sum are zero for all but one element",
        reorders: true,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Nothing, run: spread_sums::run }),
    },
    Pass {
        name: "index_set_split",
        purpose: "splits a loop at the index where a condition in it changes",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Nothing, run: index_set_split::run }),
    },
    Pass {
        name: "delinearize",
        purpose: "makes a nest of a loop that divides its index",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Nothing, run: delinearize::run }),
    },
    Pass {
        name: "promote_beside_loads",
        purpose: "adds up in a register what a loop adds to one element of a buffer of which it loads others",
        reorders: true,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass {
            of: OURS,
            asks: Asks::Callees,
            run: scalar_promotion::run_beside_loads,
        }),
    },
    Pass {
        name: "collapse",
        purpose: "makes one loop of two that go through all elements of a matrix in order",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Nothing, run: collapse::run }),
    },
    Pass {
        name: "unroll",
        purpose: "unrolls loops of few iterations",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Nothing, run: unroll::run }),
    },
    Pass {
        name: "loop_versioning",
        purpose: "checks ranges once before a loop instead of each index in it",
        reorders: false,
        when: HOISTED,
        work: PassWork::Function(FunctionPass {
            of: |function| !function.cold,
            asks: Asks::Nothing,
            run: loop_versioning::run,
        }),
    },
    Pass {
        name: "inline_for_lanes",
        purpose: "inlines the calls of a loop that could run in lanes without them",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Module(inline_for_lanes::run),
    },
    Pass {
        name: "inline_base_case",
        purpose: "ends recursions in the caller, since most calls are the last ones",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass {
            of: |function| function.recursive && !function.cold,
            asks: Asks::Nothing,
            run: inline_base_case::run,
        }),
    },
    Pass {
        name: "gather_neighbours",
        purpose: "lets elements take what iterations around them add",
        reorders: true,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: gather_neighbours::run }),
    },
    Pass {
        name: "hoist_loads",
        purpose: "loads before a loop an element of a buffer of which the loop changes others",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: hoist_loads::run }),
    },
    Pass {
        name: "tabulate",
        purpose: "fills a table before a loop with values that its inner loops would compute again",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: tabulate::run }),
    },
    Pass {
        name: "alloc_to_stack",
        purpose: "moves small buffers of constant size to the stack",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: NOT_RECURSIVE, asks: Asks::Nothing, run: alloc_to_stack::run }),
    },
    Pass {
        name: "fuse_read_add_write",
        purpose: "turns a load, an addition and a store into one addition in place",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: OURS, asks: Asks::Callees, run: fuse_read_add_write::run }),
    },
    Pass {
        name: "sink_common",
        purpose: "moves stores and additions that both arms of a conditional end with behind it",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: sink_common::run }),
    },
    Pass {
        name: "interchange",
        purpose: "gives each sum in memory a nest of its own, with the loops over its terms innermost",
        reorders: true,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: interchange::run }),
    },
    Pass {
        name: "first_writes",
        purpose: "stores the first term of each element of a sum, in place of zeros and an addition",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: first_writes::run }),
    },
    Pass {
        name: "vectorize",
        purpose: "runs iterations of a loop at once, in the lanes of vectors",
        reorders: true,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Effects, run: vectorize::run }),
    },
    Pass {
        name: "pack_rows",
        purpose: "copies rows that lanes read more than once side by side",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: pack_rows::run }),
    },
    Pass {
        name: "parallelize",
        purpose: "divides loops into chunks that threads may run",
        reorders: true,
        when: ALWAYS,
        work: PassWork::Module(parallelize::run),
    },
    Pass {
        name: "buffer_reuse",
        purpose: "reuses the memory of buffers that are done",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Callees, run: buffer_reuse::run }),
    },
    Pass {
        name: "unroll_and_jam",
        purpose: "runs iterations of outer loops side by side, so that they load shared values once",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Function(FunctionPass { of: LIKELY, asks: Asks::Effects, run: unroll_and_jam::run }),
    },
    Pass {
        name: "outline",
        purpose: "makes one function of loops, and of runs of statements, that are equal but for their names",
        reorders: false,
        when: ALWAYS,
        work: PassWork::Module(outline::run),
    },
];

/// The passes in the order in which they run: what one leaves may be work for another that ran before.
const ORDER: &[&str] = &[
    "inline",
    "arena_scopes",
    "rectangular",
    "expand_powers",
    "gvn",
    "unpack_records",
    "propagate_arguments",
    "hoist_allocs",
    "arena_place",
    "licm",
    "gvn",
    "hoist_allocs",
    "flatten_rows",
    "arena_place",
    "drop_checks",
    "expand_quotients",
    "store_forward_values",
    "check_elimination",
    "scalar_promotion",
    "hoist_common",
    "coalesce_buffers",
    "gather_stencils",
    "update_in_place",
    "fusion",
    "dce",
    "spread_sums",
    "update_in_place",
    "index_set_split",
    "delinearize",
    "gvn",
    "promote_beside_loads",
    "collapse",
    "unroll",
    "expand_powers",
    "gvn",
    "unroll",
    "check_elimination",
    "loop_versioning",
    "inline_for_lanes",
    "inline_base_case",
    "unpack_records",
    "gather_neighbours",
    "fusion",
    "gvn",
    "hoist_loads",
    "tabulate",
    "alloc_to_stack",
    "fuse_read_add_write",
    "dce",
    "sink_common",
    "interchange",
    "first_writes",
    "vectorize",
    "pack_rows",
    "parallelize",
    "buffer_reuse",
    "unroll_and_jam",
    "outline",
];

/// Runs passes; in debug builds, the rules of loops are checked after each.
///
/// Errors: as [`Selection::passes`].
pub fn run(module: &mut Module, selection: &Selection, checks: Checks, timings: &Timings) -> Result<(), Error> {
    let mut analyses = Analyses::default();
    selection.passes(checks)?.into_iter().for_each(|pass| pass.run(module, &mut analyses, timings));
    Ok(())
}

impl Pass {
    /// Runs the pass; in debug builds, the rules of loops are checked afterwards.
    pub fn run(&self, module: &mut Module, analyses: &mut Analyses, timings: &Timings) {
        timings.time(self.name, || self.work.run(module, analyses));
        module.mark();
        if cfg!(debug_assertions) {
            let broken = |violation| panic!("pass {} broke a rule: {violation}\n{module}", self.name);
            verify(module).unwrap_or_else(broken);
        }
    }
}
