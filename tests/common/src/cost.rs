//! Measures the cost of a function and its derivatives by exact counts.

use lm::interp::{Counts, Interpreter};
use lm::map;
use lm::term::{Derivative, Expr, FunName, Kind, Op};
use lm::timing::Timings;
use lm::types::Type;
use lm::value::Value;
use lmc::derive::call_order;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front::{self, Choices};
use lmc::ks::source::Source;
use std::collections::HashMap;

/// A gradient does at most so much for each thing that the function does, and for each level of loops.
pub const PER_LEVEL: u64 = 4;

/// A function that does less than this counts as one that does so much.
pub const SMALL: u64 = 4;

/// The pipeline of a program, for derivatives by a derivation, or by other choices.
///
/// Errors: what is wrong with the program.
pub fn pipeline(text: &str, choices: impl Into<Choices>) -> Result<Pipeline, String> {
    let source = Source::new("program.ks", text);
    let checked = front::load_for(&source, choices, &Timings::default());
    checked.map(Pipeline::new).map_err(|errors| format!("does not read: {errors:?}"))
}

/// The value of a call, and what it took.
pub fn call(p: &Pipeline, name: &FunName, args: &[Value]) -> Result<(Value, Counts), String> {
    let mut interpreter = Interpreter::new(p.program());
    let value = interpreter.call(name, args).map_err(|error| format!("{name}: {error}"))?;
    Ok((value, interpreter.counts))
}

/// Arithmetic and moves.
pub fn work(counts: &Counts) -> u64 {
    counts.arithmetic() + moves(counts)
}

/// Floats of new tensors and of new states of loops. Memory is flat: elements that are tensors count, even if
/// the interpreter shares them.
pub fn moves(counts: &Counts) -> u64 {
    counts.moves + counts.shared + counts.states
}

/// Splits a whole argument of `f` into its parameters' arguments.
pub fn arguments(p: &Pipeline, f: &FunName, whole: &Value) -> Vec<Value> {
    match whole {
        Value::Tuple(parts) if p.program().defs[f].params.len() != 1 => parts.clone(),
        _ => vec![whole.clone()],
    }
}

/// Counts for a function at a point, and for its derivatives there.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The depth of nested loops, through calls; at least 1.
    pub levels: u64,
    /// The Floats of argument and result.
    pub floats: u64,
    /// The counts of the function.
    pub primal: Counts,
    /// The counts of `[vjp f]`: value and gradient.
    pub vjp: Counts,
    /// The counts of `[rev f]`: the gradient alone.
    pub rev: Counts,
}

impl Measured {
    /// Measures `f` at a point; cotangents are zeros, of which no derivative knows.
    ///
    /// Errors: a derivation, or a call that fails.
    pub fn new(p: &mut Pipeline, f: &FunName, point: &Value) -> Result<Measured, String> {
        let (vjp, rev) = (f.derived(Derivative::Vjp), f.derived(Derivative::Rev));
        for name in [f, &vjp, &rev] {
            p.require(name).map_err(|error| format!("{name}: {error}"))?;
        }
        let (value, primal) = call(p, f, &arguments(p, f, point))?;
        let both = [point.clone(), map::zero(&value)];
        let levels = levels(p, f);
        let floats = (point.floats().len() + value.floats().len()) as u64;
        Ok(Measured { levels, floats, primal, vjp: call(p, &vjp, &both)?.1, rev: call(p, &rev, &both)?.1 })
    }

    /// Returns the cost of the function: its work, reading its argument, and writing its result.
    pub fn base(&self) -> u64 {
        (work(&self.primal) + self.floats).max(SMALL)
    }

    /// The work of value and gradient for each thing that the function does, for each level.
    pub fn per_level(&self) -> f64 {
        work(&self.vjp) as f64 / (self.base() * self.levels) as f64
    }

    /// Returns whether value and gradient, and the gradient alone, are within the bound.
    pub fn is_cheap(&self) -> bool {
        work(&self.vjp).max(work(&self.rev)) <= PER_LEVEL * self.levels * self.base()
    }
}

/// Returns the depth of nested loops, through calls; at least 1. Recursion counts as a loop.
pub fn levels(p: &Pipeline, f: &FunName) -> u64 {
    Nesting { p, known: HashMap::new() }.of_function(f).max(1)
}

struct Nesting<'a> {
    p: &'a Pipeline,
    /// The depths of functions so far; 0 for functions that are being visited.
    known: HashMap<FunName, u64>,
}

impl Nesting<'_> {
    fn of_function(&mut self, name: &FunName) -> u64 {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        self.known.insert(name.clone(), 0);
        let body = self.p.program().defs.get(name).map(|def| def.body.clone());
        let loops = body.map_or(0, |body| u64::from(calls_itself(self.p, name)) + self.of_term(&body));
        self.known.insert(name.clone(), loops);
        loops
    }

    fn of_term(&mut self, e: &Expr) -> u64 {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) => 0,
            Kind::Lam(_, body) => 1 + self.of_term(body),
            Kind::Let(bindings, body) => {
                let bound = bindings.iter().map(|b| self.of_term(&b.rhs)).max().unwrap_or(0);
                bound.max(self.of_term(body))
            }
            Kind::App(op, args) => {
                let arguments = args.iter().map(|e| self.of_term(e)).max().unwrap_or(0);
                let called = if let Op::Call(f) = op { self.of_function(&f.name) } else { 0 };
                arguments.max(called)
            }
        }
    }
}

/// Returns whether a function calls itself, directly or not.
fn calls_itself(p: &Pipeline, name: &FunName) -> bool {
    let mut seen = Vec::new();
    let mut next = vec![name.clone()];
    while let Some(of) = next.pop() {
        let mut called = Vec::new();
        p.program().defs.get(&of).into_iter().for_each(|def| call_order::calls(&def.body, &mut called));
        if called.contains(name) {
            return true;
        }
        called.retain(|f| !seen.contains(f));
        seen.extend(called.iter().cloned());
        next.extend(called);
    }
    false
}

/// A point of a demo: its `example`, or small numbers.
pub fn point_of_demo(p: &Pipeline, f: &FunName) -> Value {
    let example = FunName::base("example");
    let params = &p.program().defs[f].fun.params;
    match p.program().defs.contains_key(&example) {
        true => call(p, &example, &[]).expect("an example").0,
        false if params.len() == 1 => one_of(&params[0]),
        false => Value::Tuple(params.iter().map(one_of).collect()),
    }
}

fn one_of(ty: &Type) -> Value {
    match ty {
        Type::Float => Value::Float(0.75),
        Type::Integer => Value::Integer(2),
        Type::Tuple(parts) => Value::Tuple(parts.iter().map(one_of).collect()),
        other => panic!("no demo takes {other}"),
    }
}

/// The point of a size, of a program that has `f` and `point`.
pub fn point_of_size(p: &Pipeline, n: i64) -> Result<Value, String> {
    Ok(call(p, &FunName::base("point"), &[Value::Integer(n)])?.0)
}
