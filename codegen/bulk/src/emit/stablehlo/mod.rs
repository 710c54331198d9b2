//! Prints bulk programs as StableHLO, the input of XLA: a module of MLIR with a function for each.
//!
//! ```text
//! each            add, multiply, .., compare, select, convert; chlo for functions that StableHLO lacks
//! spread, permute broadcast_in_dim, transpose
//! reduce          reduce; of places and values for the first largest
//! slice, at       slice where the place is known, otherwise dynamic_slice
//! gather, scatter gather, scatter; pad where what is added to lies in a row
//! contract        dot_general, then transpose
//! if, loop        if, while; what a loop keeps is stored in a buffer
//! check           a number: StableHLO cannot stop, so the first result says which check failed first, or 0
//! ```
//!
//! All sizes are known. XLA takes an index outside of an array for the nearest one inside, so what follows a check that
//! failed has a value, and nobody should read it. Where sizes are such that it has no form, it is 0.

mod block;
mod each;
mod functions;
mod loops;
mod masked;
mod names;
mod parts;
mod plan;
mod scatter;
mod shard;
mod sums;
mod types;

use super::place::Places;
use crate::ir::{Function, Id, Op};
use crate::refusal::Refusal;
use lm::term::Constant;
use names::Names;
use plan::Plan;
use rustc_hash::FxHashMap;
use types::{Ty, literal};

pub use shard::{Mesh, Shard, ShardError};
pub use types::Precision;

/// What StableHLO text can say beside the program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The precision of Floats.
    pub precision: Precision,
    /// The devices, if there are several.
    pub mesh: Mesh,
    /// How parameters lie on the devices. Others are on each device whole.
    pub shards: Vec<Shard>,
}

/// Returns a module with the functions. One that is alone is called `main`, as XLA has it.
///
/// Errors: a size is not known.
pub fn module(functions: &[Function], place: Places, options: &Options) -> Result<String, Refusal> {
    functions::module(functions, place, options)
}

/// An array in the text: its name and its type.
#[derive(Clone, Debug)]
struct Val {
    name: String,
    ty: Ty,
}

/// A function under construction.
struct Printer<'a> {
    place: Places<'a>,
    options: &'a Options,
    function: &'a Function,
    plan: Plan,
    text: String,
    depth: usize,
    names: Names,
    /// What the names of the present node are like.
    hint: String,
    values: FxHashMap<Id, Val>,
    /// The results of conditionals and loops.
    parts: FxHashMap<Id, Vec<Option<Val>>>,
    /// The constants of the blocks around, by their text.
    constants: Vec<FxHashMap<String, Val>>,
    /// The number of the check that failed; 0 if there is none.
    status: Option<Val>,
    /// The number of loops around.
    loops: usize,
    /// The messages of the checks.
    checks: Vec<String>,
}

impl<'a> Printer<'a> {
    fn new(function: &'a Function, place: Places<'a>, options: &'a Options) -> Result<Printer<'a>, Refusal> {
        Ok(Printer {
            place,
            options,
            function,
            plan: Plan::new(function)?,
            text: String::new(),
            depth: 2,
            names: Names::default(),
            hint: String::new(),
            values: FxHashMap::default(),
            parts: FxHashMap::default(),
            constants: vec![FxHashMap::default()],
            status: None,
            loops: 0,
            checks: Vec::new(),
        })
    }

    fn line(&mut self, text: impl AsRef<str>) {
        self.text.push_str(&"  ".repeat(self.depth));
        self.text.push_str(text.as_ref());
        self.text.push('\n');
    }

    /// Returns the type of a node.
    fn ty(&self, id: Id) -> Ty {
        let element = self.options.precision.element(self.function.node(id).scalar);
        Ty { element, dims: self.plan.sizes(id).to_vec() }
    }

    /// Writes an operation whose text ends with its type.
    fn assign(&mut self, text: String, ty: Ty) -> Val {
        let name = self.names.fresh(&self.hint);
        self.line(format!("{name} = {text}"));
        Val { name, ty }
    }

    /// Writes an operation whose operands and result have one type.
    fn alike(&mut self, op: &str, args: &[&Val]) -> Val {
        let ty = args[0].ty.clone();
        self.assign(format!("{op} {} : {ty}", operands(args)), ty)
    }

    /// Writes an operation, given its text up to the type.
    fn typed(&mut self, text: String, args: &[&Val], ty: Ty) -> Val {
        self.assign(format!("{text} : {}", signature(args, &ty)), ty)
    }

    /// Returns an array of one number.
    fn constant(&mut self, c: &Constant, ty: &Ty) -> Val {
        let text = match ty.is_empty() {
            true => format!("stablehlo.constant dense<> : {ty}"),
            false => format!("stablehlo.constant dense<{}> : {ty}", literal(c, self.options.precision)),
        };
        if let Some(known) = self.constants.iter().find_map(|known| known.get(&text)) {
            return known.clone();
        }
        let hint = std::mem::replace(&mut self.hint, "c".into());
        let value = self.assign(text.clone(), ty.clone());
        self.hint = hint;
        self.constants.last_mut().expect("a block is open").insert(text, value.clone());
        value
    }

    fn integer(&mut self, n: i64) -> Val {
        self.constant(&Constant::Integer(n), &Ty::integer())
    }

    /// Returns an array of zeros.
    fn zeros(&mut self, ty: &Ty) -> Val {
        let zero = match ty.element {
            "i64" => Constant::Integer(0),
            "i1" => Constant::Bool(false),
            _ => Constant::Float(0.0),
        };
        self.constant(&zero, ty)
    }

    /// Returns the value of a node.
    fn value(&mut self, id: Id) -> Val {
        if let Some(value) = self.values.get(&id) {
            return value.clone();
        }
        match self.splat(id) {
            Some(c) => {
                let ty = self.ty_of_number(id);
                self.constant(&c, &ty)
            }
            None => panic!("node {id:?} {:?} is read before it has text", self.function.node(id)),
        }
    }

    /// Returns the number that all elements of a node are, if that is known. Such a node has no line of its own.
    fn splat(&self, id: Id) -> Option<Constant> {
        if let Some(c) = self.plan.known(id) {
            return Some(c.clone());
        }
        let node = self.function.node(id);
        match &node.op {
            Op::Constant(c) => Some(c.clone()),
            Op::Spread(_) => self.splat(node.args[0]),
            _ => None,
        }
    }

    fn ty_of_number(&self, id: Id) -> Ty {
        // Numbers that are known are not counted as needed, and have no dimensions.
        self.ty(id)
    }

    fn is_zero(&self, id: Id) -> bool {
        matches!(self.splat(id), Some(Constant::Float(0.0) | Constant::Integer(0)))
    }
}

/// Returns operands, as a list.
fn operands(args: &[&Val]) -> String {
    args.iter().map(|arg| arg.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the type of an operation: `(T, U) -> V`.
fn signature(args: &[&Val], result: &Ty) -> String {
    let types: Vec<String> = args.iter().map(|arg| arg.ty.to_string()).collect();
    format!("({}) -> {result}", types.join(", "))
}
