//! Analyses of loops that are written as text.

mod alias;
mod cache;
mod counts;
mod divergence;
mod independence;
mod jam;
mod ranges;
mod roots;
mod slices;
mod times;
mod verify;

use loops::ir::{For, Function, Stmt};

/// Returns the first loop of a function that runs in lanes. Panics where none does.
fn first_in_lanes(function: &Function) -> For {
    let mut found = None;
    function.body.visit(&mut |stmt| {
        if let Stmt::For(looped) = stmt
            && looped.lanes > 1
        {
            found.get_or_insert((**looped).clone());
        }
    });
    found.expect("a loop with lanes")
}
