//! Compares what the evaluators give for one call.

use super::evaluators::{Applied, Call, EVALUATORS, Ended, Subject, oracle, result_by};
use crate::{bulk, rounding};
use ::bulk::interp::Stop;
use ::bulk::ir::Failure;
use lm::interp::Interpreter;
use lm::runtime_error::{ErrorKind, RuntimeError};
use lm::term::{Expr, FunName, Kind, Op, Program};
use lm::value::Value;
use lmc::gradcheck::{NATIVE, distance};

/// Counts of the comparisons.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Calls that give a value.
    pub values: usize,
    /// Calls that fail.
    pub errors: usize,
    /// Calls of native code.
    pub native: usize,
    /// Calls in bulk form.
    pub bulk: usize,
    /// Calls whose comparison says nothing, since rounding decides it.
    pub by_rounding: usize,
}

/// The reason why a comparison fails.
pub(super) enum Why {
    Differs(String),
    /// What differs may be rounding alone.
    Rounding(String),
}

impl From<String> for Why {
    fn from(text: String) -> Why {
        Why::Differs(text)
    }
}

impl From<&str> for Why {
    fn from(text: &str) -> Why {
        Why::Differs(text.into())
    }
}

impl Why {
    pub(super) fn into_text(self) -> String {
        match self {
            Why::Differs(text) | Why::Rounding(text) => text,
        }
    }

    fn map(self, told: impl FnOnce(String) -> String) -> Why {
        match self {
            Why::Differs(text) => Why::Differs(told(text)),
            Why::Rounding(text) => Why::Rounding(told(text)),
        }
    }
}

/// Compares a call by all evaluators; returns the value, if there is one.
pub(super) fn agree(subject: &Subject, call: &Call, tally: &mut Tally) -> Result<Option<Value>, Why> {
    let (wanted, has_left_out) = oracle(subject, call);
    // A sum over nothing that is only added to something may need a shape, or none.
    let needs_shape =
        |found: &Ended| matches!(&found.1, Err(error) if has_left_out && error.kind == ErrorKind::ShapeUnknown);
    for row in EVALUATORS {
        let Some(found) = (row.run)(subject, call) else { continue };
        if needs_shape(&found) {
            continue;
        }
        tally.native += usize::from(row.name == "native code");
        is_right(subject, call, &wanted, &found)
            .map_err(|why| why.map(|why| differs(call, row.name, &wanted, &found, &why)))?;
    }
    for found in in_bulk(subject, call, &wanted) {
        tally.bulk += 1;
        is_right(subject, call, &wanted, &found)
            .map_err(|why| why.map(|why| differs(call, "bulk", &wanted, &found, &why)))?;
    }
    tally.values += usize::from(wanted.1.is_ok());
    tally.errors += usize::from(wanted.1.is_err());
    Ok(wanted.1.ok())
}

fn differs(call: &Call, row: &str, wanted: &Ended, found: &Ended, why: &str) -> String {
    let Call { name, args, .. } = call;
    format!("{name} at {args:?}, {row}: {why}\n  oracle {wanted:?}\n  found  {found:?}")
}

/// Evaluates a call in its bulk forms. An error is any error that the oracle has.
fn in_bulk(subject: &Subject, call: &Call, wanted: &Ended) -> Vec<Ended> {
    let Some(def) = subject.program.defs.get(&call.name).filter(|_| call.applied.is_none()) else { return vec![] };
    let mut known = subject.bulk.borrow_mut();
    let forms = known.entry(call.name.clone()).or_insert_with(|| bulk::lowered(&subject.program, &call.name));
    let like = wanted.1.as_ref().ok();
    let ended = |function: &::bulk::ir::Function| {
        let found = bulk::call(function, &def.fun.params, &def.fun.result, &call.args, like)?;
        let result = match (found, &wanted.1) {
            // Arrays have a size also where there are no elements to show it.
            (Ok(_), Err(RuntimeError { kind: ErrorKind::ShapeUnknown, .. })) => return None,
            (Ok(value), _) => Ok(value),
            (Err(_), Err(error)) => Err(error.clone()),
            // Rows of several sizes, and states that grow, are refused when they are met.
            (Err(Stop { failure: Failure::Size, .. }), Ok(_)) => return None,
            (Err(stop), Ok(_)) => Err(RuntimeError { kind: ErrorKind::AssertFailed, span: stop.span }),
        };
        Some((String::new(), result))
    };
    forms.iter().filter_map(ended).collect()
}

fn is_right(subject: &Subject, call: &Call, wanted: &Ended, found: &Ended) -> Result<(), Why> {
    match (&wanted.1, &found.1) {
        (Ok(_), Ok(found)) if !is_finite(found) && has_infinite_partials(subject, call) => {}
        (Ok(wanted), Ok(found)) => is_close(subject, call, wanted, found)?,
        // The limit of depth depends on the evaluator's stack.
        (Err(RuntimeError { kind: ErrorKind::RecursionTooDeep(_), .. }), _) => return Ok(()),
        (Err(wanted), Err(found)) if wanted == found || both_do_not_fit(wanted, found) => {}
        (Err(wanted), Err(found)) if is_at_result_of_call(&subject.program, wanted, found) => {}
        // Of a sum over nothing the interpreter knows no shape where it has no map to ask; the oracle asks its space.
        (Ok(_), Err(RuntimeError { kind: ErrorKind::ShapeUnknown, .. })) if call.applied.is_some() => return Ok(()),
        // Derivations drop unused values, and so their errors.
        (Err(_), _) if subject.program.is_derived(&call.name) => return Ok(()),
        _ => return Err("it ends otherwise".into()),
    }
    if wanted.0 == found.0 { Ok(()) } else { Err("it prints otherwise".into()) }
}

fn is_finite(value: &Value) -> bool {
    value.floats().iter().all(|x| x.is_finite())
}

/// Returns whether a map that is applied in reverse has partial derivatives that are not finite, at a point where what
/// is computed is not used, say. The map meets zeros there, and so do the basis vectors of the naive evaluator, but
/// not the same ones (`docs/design.md`, "Known limits").
fn has_infinite_partials(subject: &Subject, call: &Call) -> bool {
    let partials = || Interpreter::new(&subject.program).checking_finite().call(&call.name, &call.args);
    matches!(call.applied, Some(Applied::Reverse(_)))
        && matches!(partials(), Err(RuntimeError { kind: ErrorKind::NotFinite(_), .. }))
}

/// Returns whether two errors concern an index or a size, one in the term of the other. A term that is added in place
/// is checked before all of it is evaluated.
fn both_do_not_fit(a: &RuntimeError, b: &RuntimeError) -> bool {
    let does_not_fit =
        |e: &RuntimeError| matches!(e.kind, ErrorKind::IndexOutOfRange { .. } | ErrorKind::SizeMismatch { .. });
    let contains = |a: &RuntimeError, b: &RuntimeError| a.span.start <= b.span.start && b.span.end <= a.span.end;
    does_not_fit(a) && does_not_fit(b) && (contains(a, b) || contains(b, a))
}

/// Returns whether a size that does not fit is found at the result of a function that is called in the term: it is added
/// in place there.
fn is_at_result_of_call(program: &Program, wanted: &RuntimeError, found: &RuntimeError) -> bool {
    let contains = |e: &Expr| wanted.span.start <= e.span().start && e.span().end <= wanted.span.end;
    let ends_there = |f: &FunName| program.defs.get(f).is_some_and(|f| f.body.as_block().1.span() == found.span);
    let calls_it = |e: &Expr| matches!(e.kind(), Kind::App(Op::Call(f), _) if contains(e) && ends_there(&f.name));
    matches!(wanted.kind, ErrorKind::SizeMismatch { .. })
        && wanted.kind == found.kind
        && program.defs.values().any(|def| def.body.any(calls_it))
}

/// Numbers below that are what cancelling terms left: they may differ as that number may.
const CANCELLED: f64 = 1e-3;

fn is_close(subject: &Subject, call: &Call, wanted: &Value, found: &Value) -> Result<(), Why> {
    let numbers = wanted.floats();
    // By basis vectors, an infinite partial derivative meets the zeros of the others.
    if matches!(call.applied, Some(Applied::Reverse(_))) && !is_finite(wanted) {
        return Ok(());
    }
    let finite = numbers.iter().filter(|x| x.is_finite());
    let largest = finite.fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs()));
    let apart = distance(wanted, found) * (largest / largest.max(CANCELLED));
    let again = |seed: u64| result_by(Interpreter::new(&subject.program).rounding(seed), call);
    let why = || format!("the values are {apart:e} apart");
    match apart <= NATIVE {
        true => Ok(()),
        false if rounding::explains(wanted, found, &again) => Err(Why::Rounding(why())),
        false => Err(Why::Differs(why())),
    }
}
