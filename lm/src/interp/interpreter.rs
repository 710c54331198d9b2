//! Holds the state of the reference interpreter. The other files of the folder give it methods.

use super::counts::Counts;
use super::finite::NotFinite;
use crate::destination::{Destination, Plan, Unread};
use crate::effect::Effects;
use crate::random::SplitMix;
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::term::{Expr, Program, Span};
use crate::types::Type;
use crate::value::Value;
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::io::Write;
use std::sync::Arc;

/// The most calls within calls. A call takes up to 17 KB of the stack in debug builds, and more deep in a term.
const CALL_DEPTH: usize = 40_000;

/// The number of calls that take as much of the stack as a function that a built-in calls.
const CALLS_PER_CLOSURE: usize = 8;

/// Evaluates terms of one program.
pub struct Interpreter<'a> {
    pub(super) program: &'a Program,
    pub(super) output: Box<dyn Write + 'a>,
    pub(super) depth: usize,
    /// The values that are being added to.
    pub(super) roots: Vec<Value>,
    /// The treatment of unused terms in the current definition.
    pub(super) unread: Unread,
    /// The functions that print, filled when first needed.
    pub(super) effects: OnceCell<Effects>,
    /// Whether unused terms have no effect, by their address.
    pub(super) idle: FxHashMap<usize, (Expr, Unread, bool)>,
    /// The plans of blocks that were evaluated into a destination, by the address of the block.
    pub(super) plans: FxHashMap<usize, (Expr, Destination, Unread, Arc<Plan>)>,
    /// The plans of the blocks around the term at hand that let values be taken, the innermost last.
    pub(super) around: Vec<Arc<Plan>>,
    /// How many of them are of callers. Definitions may share terms, and what is used once in one of them may be used
    /// more often in another.
    pub(super) of_callers: usize,
    /// Whether to stop at the first operation whose result is not finite.
    pub(super) checks_finite: bool,
    /// The first such operation, until it becomes an error.
    pub(super) not_finite: Option<NotFinite>,
    /// The draws that round results, if they are rounded at random.
    pub(super) rounding: Option<SplitMix>,
    /// Whether to look for a `reduce` whose value depends on the grouping.
    pub(super) checks_grouping: bool,
    /// The first such `reduce`.
    pub regrouped: Option<Regrouped>,
    /// The operations so far.
    pub counts: Counts,
}

/// A `reduce` whose value depends on the grouping.
#[derive(Clone, Debug, PartialEq)]
pub struct Regrouped {
    /// The place of the `reduce`.
    pub span: Span,
    /// The value from the left.
    pub from_left: Value,
    /// The value in another grouping.
    pub in_halves: Value,
}

impl<'a> Interpreter<'a> {
    /// Returns an interpreter whose `print` writes nowhere.
    pub fn new(program: &'a Program) -> Interpreter<'a> {
        Interpreter::with_output(program, std::io::sink())
    }

    /// Returns an interpreter whose `print` writes to `output`.
    pub fn with_output(program: &'a Program, output: impl Write + 'a) -> Interpreter<'a> {
        Interpreter {
            program,
            output: Box::new(output),
            depth: 0,
            roots: Vec::new(),
            unread: Unread::Evaluated,
            effects: OnceCell::new(),
            idle: FxHashMap::default(),
            plans: FxHashMap::default(),
            around: Vec::new(),
            of_callers: 0,
            checks_finite: false,
            not_finite: None,
            rounding: None,
            checks_grouping: false,
            regrouped: None,
            counts: Counts::default(),
        }
    }

    /// Does work inside of the body of a function, so many calls deeper.
    ///
    /// Errors: calls are nested too deep.
    pub(super) fn deeper<T>(
        &mut self,
        calls: usize,
        work: impl FnOnce(&mut Self) -> Result<T, RuntimeError>,
        body: &Expr,
    ) -> Result<T, RuntimeError> {
        if self.depth + calls > CALL_DEPTH {
            return Err(RuntimeError { kind: ErrorKind::RecursionTooDeep(CALL_DEPTH), span: body.span() });
        }
        self.depth += calls;
        let of_callers = std::mem::replace(&mut self.of_callers, self.around.len());
        let result = work(self);
        self.of_callers = of_callers;
        self.depth -= calls;
        result
    }

    /// Does work inside of a block.
    pub(super) fn inside_block<T>(&mut self, plan: &Arc<Plan>, work: impl FnOnce(&mut Self) -> T) -> T {
        if !plan.lets_take() {
            return work(self);
        }
        self.around.push(plan.clone());
        let result = work(self);
        self.around.pop();
        result
    }

    /// Returns whether the term is the only use of a value, which may then be taken.
    pub(super) fn is_only_use(&self, e: &Expr) -> bool {
        self.around[self.of_callers..].iter().rev().any(|plan| plan.is_only_use(e))
    }

    /// Does work inside of the body of a function value.
    pub(super) fn inside_closure<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, RuntimeError>,
        body: &Expr,
    ) -> Result<T, RuntimeError> {
        self.deeper(CALLS_PER_CLOSURE, work, body)
    }
}

pub(super) fn located(mut error: RuntimeError, span: Span) -> RuntimeError {
    if error.span == Span::default() {
        error.span = span;
    }
    error
}

/// Returns a witness of `ty`, when the type alone gives one.
pub(super) fn witness(ty: &Type) -> Option<Value> {
    ty.has_fixed_shape().then(|| Value::dummy(ty))
}
