//! Checks of derivatives at random points.
//!
//! ```text
//! <dr, fwd$f(s, ds)> = <rev$f(s, dr), ds>                               forward against reverse
//! <dr, fwd$f(s, ds)> ~ <dr, f(s + h ds) - f(s - h ds)> / 2h             against central differences
//! <rev$f(s, dr), ds> ~ <dr, f(s + h ds) - f(s - h ds)> / 2h
//! interpreter ~ native: the same to the bit with exact arithmetic, but for sums whose terms come in another order
//! ```
//!
//! The points are random, unless the program says where: a function `example` without parameters that
//! gives the argument. Then the first point is that one, and the others lie near it.
//!
//! A function that uses `stop_gradient` is not compared with differences. Native code is not run where the interpreter
//! meets its limit of nested calls: it has no such limit, and would fill its stack first.
//!
//! At the first points where it has Floats, each parameter is moved by itself, too. A parameter that has none at any
//! point was not checked, and a warning says so. A function that calls external ones is called by native code only,
//! and may have only one of the two derivatives.
//!
//! The interpreter has a limit of work for each function. Beyond it native code is called alone, if it has agreed so far:
//! that a program is right is seen at all points, that native code means the same at those that the limit allows.
//!
//! Where terms cancel, only their rounding is left. So where derivatives disagree, the point moves by some ulps, and
//! what that changes is not counted.
//!
//! The step study takes the differences at h = 1e-2 .. 1e-8 and keeps the closest: a large step is
//! wrong by curvature, a small one by rounding, and the best lies between.

mod check;
mod compare;
mod noise;
mod random;
mod report;
mod tangent;

use crate::derive::call_order::calls;
use crate::derive::passes::inline_maps::takes_or_gives_map;
use crate::derive::pipeline::{Error, Pipeline};
use indexmap::IndexSet;
use lm::prim::Prim;
use lm::term::{Def, Derivative, Expr, FunName, Kind, Op, Path, Program};
use native::{Jit, Math};

pub use check::{check, check_at, check_finite, check_within};
pub use compare::{distance, same_bits};
pub use random::Random;
pub use report::{Comparison, Fault, Outside, Parameter, Report, Worst};
pub use tangent::part_that_varies;

/// Largest relative difference between forward and reverse mode that agrees.
pub const FORWARD_REVERSE: f64 = 1e-10;
/// Largest difference between interpreter and native code with [`Math::Exact`] that agrees, relative to the largest
/// number of a value, or to one where all numbers are smaller. So what cancelling terms leave counts as zero.
pub const NATIVE: f64 = 1e-12;
/// The same with [`Math::Fast`], whose roundings a function may magnify: `1 - t * t` of a `t` near one is as far off as
/// `t`, and small.
pub const NATIVE_FAST: f64 = 1e-9;
/// Largest relative difference from finite differences that agrees.
pub const DIFFERENCES: f64 = 1e-6;

/// Returns the largest error of this native code that agrees: [`NATIVE`] or [`NATIVE_FAST`].
pub fn native_limit(jit: Option<&Jit>) -> f64 {
    match jit.map(Jit::math) {
        Some(Math::Fast) => NATIVE_FAST,
        Some(Math::Exact) | None => NATIVE,
    }
}

/// Returns the function and its two derivatives.
pub fn names(f: &FunName) -> [FunName; 3] {
    [f.clone(), f.derived(Derivative::Fwd), f.derived(Derivative::Rev)]
}

/// Makes what [`check`] runs, and returns the names of it. Of a function that calls external ones, only one of the two
/// derivatives may be there.
///
/// Errors: the function, or both of its derivatives, cannot be made; or one for another reason than an external
/// function.
pub fn prepare(pipeline: &mut Pipeline, f: &FunName) -> Result<Vec<FunName>, Error> {
    let [_, forward, reverse] = names(f);
    pipeline.require(f)?;
    let made = [&forward, &reverse].map(|name| pipeline.require(name));
    let there = match made {
        [Ok(()), Ok(())] => vec![forward, reverse],
        [Err(Error::External(..)), Ok(())] => vec![reverse],
        [Ok(()), Err(Error::External(..))] => vec![forward],
        [forward, reverse] => return Err(forward.and(reverse).expect_err("one of them failed")),
    };
    Ok([vec![f.clone()], there].concat())
}

/// Returns whether there is something to check about a function without being asked: its result can change. Of a
/// program with an `example`, only functions that take it: for others random arguments would rarely fit.
pub fn is_worth_checking(program: &Program, f: &FunName) -> bool {
    let fun = &program.defs[f].fun;
    let fits = |example: &Def| example.fun.result == fun.argument();
    let chosen = program.defs.get(&FunName::base(EXAMPLE)).is_none_or(fits);
    let can_vary = fun.argument().is_differentiable() && fun.result.is_differentiable();
    chosen && can_vary && !takes_or_gives_map(fun)
}

/// The name of a function without parameters that gives the point.
const EXAMPLE: &str = "example";

/// Returns the function `example` that gives an argument of `f`, if the program has one.
pub fn example(program: &Program, f: &FunName) -> Option<FunName> {
    let defs = &program.defs;
    let name = FunName::base(EXAMPLE);
    let gives = |def: &Def| def.params.is_empty() && def.fun.result == defs[f].fun.argument();
    defs.get(&name).is_some_and(gives).then_some(name)
}

/// Returns whether a function uses `stop_gradient`, itself or through its callees. Its derivatives then differ from
/// differences on purpose. Arguments on which a call does not depend are stopped without a difference.
pub fn stops_gradients(pipeline: &Pipeline, f: &FunName) -> bool {
    let is_stop = |e: &Expr| e.args_of_prim(Prim::StopGradient).is_some();
    let stops = |def: &Def| {
        let (mut all, mut without_effect) = (0, 0);
        def.body.visit(|e| {
            all += usize::from(is_stop(e));
            if let Kind::App(Op::Call(f), args) = e.kind() {
                let independent = args.iter().enumerate().filter(|(i, _)| pipeline.is_independent(&f.name, *i));
                without_effect += independent.filter(|(_, a)| is_stop(a)).count();
            }
        });
        all > without_effect
    };
    let program = pipeline.program();
    // Derived functions compute as those do from which they come.
    let all = reached(program, &f.unrestricted());
    let written: IndexSet<FunName> = all.iter().flat_map(|name| reached(program, &name.as_written())).collect();
    let is_one = |name: &FunName| !program.is_derived(name) && program.defs.get(name).is_some_and(stops);
    written.iter().any(is_one)
}

/// Returns whether a function calls an external one, itself or through its callees.
fn calls_externals(program: &Program, f: &FunName) -> bool {
    reached(program, f).iter().any(|name| program.externals.contains_key(name))
}

/// Returns the program as it is written, if a function uses `reduce`, itself or through its callees.
fn reduces(pipeline: &Pipeline, f: &FunName) -> Option<Program> {
    let program = pipeline.program_as_written();
    let uses_it = |def: &Def| def.body.any(|e| e.args_of_prim(Prim::Reduce).is_some());
    let found = reached(&program, f).iter().filter_map(|name| program.defs.get(name)).any(uses_it);
    found.then_some(program)
}

/// Returns a function with its callees, direct or not.
fn reached(program: &Program, f: &FunName) -> IndexSet<FunName> {
    let mut reached = IndexSet::from([f.clone()]);
    let mut next = 0;
    while let Some(name) = reached.get_index(next).cloned() {
        next += 1;
        let Some(def) = program.defs.get(&name) else { continue };
        let mut called = Vec::new();
        calls(&def.body, &mut called);
        reached.extend(called);
    }
    reached
}

/// Returns the parts of the argument that vary, with their names; none where it is only one.
pub fn ways(program: &Program, f: &FunName) -> Vec<(String, Path)> {
    let ways = varying_parts(program, f);
    if ways.len() > 1 { ways } else { Vec::new() }
}

/// Returns the parts of the argument that vary, with their names.
fn varying_parts(program: &Program, f: &FunName) -> Vec<(String, Path)> {
    let params = &program.defs[f].params;
    let ways = match f.varying() {
        Some(paths) => paths.to_vec(),
        None => (1..=params.len()).filter(|i| params[i - 1].ty().is_differentiable()).map(|i| vec![i]).collect(),
    };
    let name = |way: Path| {
        let components: String = way[1..].iter().map(|i| format!(".{i}")).collect();
        (format!("{}{components}", params[way[0] - 1].name()), way)
    };
    ways.into_iter().map(name).collect()
}
