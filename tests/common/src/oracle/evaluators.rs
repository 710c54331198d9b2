//! The evaluators, and the calls that they evaluate.

use lm::eval::Evaluator;
use lm::interp::Interpreter;
use lm::map;
use lm::runtime_error::RuntimeError;
use lm::term::{FunName, Program};
use lm::value::Value;
use loops::ir::Module;
use native::Jit;
use std::cell::RefCell;
use std::collections::HashMap;

/// A way to evaluate a call. A new evaluator is one more row.
pub(super) struct Row {
    pub name: &'static str,
    /// Evaluates a call; `None` where the evaluator does not have what is called.
    pub run: fn(&Subject, &Call) -> Option<Ended>,
}

/// The evaluators that are held to the naive one.
pub(super) const EVALUATORS: &[Row] = &[
    Row { name: "interpreter", run: interpreted },
    Row { name: "interpreter of loops", run: looped },
    Row { name: "native code", run: native },
];

/// The output of a call, and its result or error.
pub(super) type Ended = (String, Result<Value, RuntimeError>);

/// A call of a function of a program. The result is a linear map where there is a vector to apply it to.
pub(super) struct Call {
    pub name: FunName,
    pub args: Vec<Value>,
    pub applied: Option<Applied>,
}

pub(super) enum Applied {
    /// `m ⊙ dx`.
    Forward(Value),
    /// `dr ⊙ᴿ m`.
    Reverse(Value),
}

impl Call {
    pub(super) fn plain(name: FunName, args: Vec<Value>) -> Call {
        Call { name, args, applied: None }
    }
}

/// A program, with loops and native code for some of its functions.
pub(super) struct Subject {
    pub program: Program,
    /// The loops of the entries, after all passes.
    pub loops: Option<Module>,
    pub jit: Option<Jit>,
    pub entries: Vec<FunName>,
    /// What was lowered to bulk programs.
    pub bulk: RefCell<HashMap<FunName, Vec<::bulk::ir::Function>>>,
}

/// Evaluates a call by the naive evaluator. Returns also whether it left a sum over nothing out of an addition.
pub(super) fn oracle(subject: &Subject, call: &Call) -> (Ended, bool) {
    let mut text = Vec::new();
    let evaluator = Evaluator::new(&subject.program, &mut text);
    let result = match &call.applied {
        None => evaluator.call(&call.name, &call.args),
        Some(Applied::Forward(dx)) => evaluator.call_and_apply(&call.name, &call.args, dx),
        Some(Applied::Reverse(dr)) => evaluator.call_and_apply_reverse(&call.name, &call.args, dr),
    };
    let has_left_out = evaluator.has_left_out();
    drop(evaluator);
    ((printed(text), result), has_left_out)
}

fn interpreted(subject: &Subject, call: &Call) -> Option<Ended> {
    let mut text = Vec::new();
    let result = result_by(Interpreter::with_output(&subject.program, &mut text), call);
    Some((printed(text), result))
}

pub(super) fn result_by(mut interpreter: Interpreter, call: &Call) -> Result<Value, RuntimeError> {
    interpreter.call(&call.name, &call.args).and_then(|value| match (&call.applied, &value) {
        (None, _) => Ok(value),
        (Some(Applied::Forward(dx)), Value::Map(m)) => map::apply(&mut interpreter, m, dx),
        (Some(Applied::Reverse(dr)), Value::Map(m)) => map::apply_reverse(&mut interpreter, dr, m),
        (Some(_), value) => panic!("{value:?} is no linear map"),
    })
}

fn looped(subject: &Subject, call: &Call) -> Option<Ended> {
    let module = subject.loops.as_ref().filter(|_| call.applied.is_none())?;
    let entry = subject.entries.iter().position(|name| *name == call.name)?;
    let fun = &subject.program.defs[&call.name].fun;
    let options = loops::interp::Options { depth: 40_000, ..Default::default() };
    let outcome = loops::interp::call(module, module.exported[entry], fun, &call.args, options);
    Some((outcome.output.clone(), outcome.value()))
}

fn native(subject: &Subject, call: &Call) -> Option<Ended> {
    let jit = subject.jit.as_ref().filter(|_| subject.entries.contains(&call.name) && call.applied.is_none())?;
    let mut text = Vec::new();
    let result = jit.call_with_output(&call.name, &call.args, &mut text);
    Some((printed(text), result))
}

fn printed(text: Vec<u8>) -> String {
    String::from_utf8(text).expect("programs print text")
}
