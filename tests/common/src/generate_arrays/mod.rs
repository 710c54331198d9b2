//! Random programs on arrays: well-typed, smooth, of several functions, as KS text.
//!
//! Types carry sizes, so that indices are in range, and sizes agree where they must. `N` and `M` are sizes that a
//! point of the program fixes. Other sizes are constants, successors of sizes, values of indices, or sizes of rows in
//! variables. The program itself is text for the language's checker.
//!
//! A program is made from a list of numbers, its choices; when they run out, every choice is the simplest
//! one. So proptest shrinks programs by shrinking the list.

mod functions;
mod numbers;
mod scope;
mod tensors;
mod terms;
mod types;

use Ty::{Bool, Float, Integer, Row};
use functions::results;
use proptest::prelude::*;
pub use types::{Size, Ty};
use types::{count_of, sizes_of, vec};

/// The options for generated programs.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// At most so many functions (at least one).
    pub functions: usize,
    /// The greatest depth of terms.
    pub depth: usize,
    /// At most so many nodes in each function, leaves apart.
    pub nodes: usize,
}

/// Programs, as a proptest strategy.
pub fn programs(options: Options) -> impl Strategy<Value = Generated> {
    prop::collection::vec(0..5040u32, 0..400).prop_map(move |choices| program(&choices, options))
}

/// A program and what is known of it.
#[derive(Clone, Debug, Default)]
pub struct Generated {
    /// KS text.
    pub text: String,
    /// In source order, those that take functions apart; each calls earlier ones, recursion apart.
    pub functions: Vec<Signature>,
    /// Whether a function calls itself.
    pub is_recursive: bool,
    /// Whether derivatives differ from finite differences on purpose.
    pub stops_gradients: bool,
}

/// A function as its callers see it.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Its name.
    pub name: String,
    /// The types of its parameters, with sizes.
    pub params: Vec<Ty>,
    /// The type of its result.
    pub result: Ty,
    /// The type of its first parameter, if that is a function.
    function: Option<(Ty, Ty)>,
    /// The rough cost of a call, at sizes of 5.
    cost: f64,
}

/// The highest cost of a call, in the rough measure of [`Signature::cost`].
const MOST_COST: f64 = 3_000.0;

/// The depth of recursion, at most.
const MOST_CALLS: i32 = 3;

/// The program of these choices.
pub fn program(choices: &[u32], options: Options) -> Generated {
    let mut maker = Maker {
        choices: choices.iter(),
        options,
        made: Generated::default(),
        callable: Vec::new(),
        scope: Vec::new(),
        next_id: 0,
        nodes: 0,
        loops: 0,
        times: 1.0,
        cost: 0.0,
        stops: false,
        applied: None,
        again: None,
    };
    maker.stops = maker.choose(8) == 7;
    let count = 1 + maker.choose(options.functions.max(1));
    for i in 0..count {
        maker.functions(i, i + 1 == count);
    }
    maker.made
}

#[derive(Clone)]
struct Variable {
    name: String,
    id: usize,
    ty: Ty,
}

/// The call of a recursive function from inside.
#[derive(Clone)]
struct Again {
    signature: Signature,
    calls_left: usize,
    /// The name of the parameter that counts.
    count: String,
}

struct Maker<'a> {
    choices: std::slice::Iter<'a, u32>,
    options: Options,
    made: Generated,
    callable: Vec<Signature>,
    scope: Vec<Variable>,
    next_id: usize,
    nodes: usize,
    loops: usize,
    /// The rough number of times that the place is reached.
    times: f64,
    cost: f64,
    stops: bool,
    /// The parameter that is a function.
    applied: Option<(String, Ty, Ty)>,
    again: Option<Again>,
}
