//! Runs a function on dual numbers, and calls those whose derivative is written by hand.
//!
//! ```text
//! D[f(s)] = (f(s), Share id (Add (Add (Scale k1 d1) (Scale k2 d2)) ..))      (k1, k2, ..) = [rev f](s, 1)
//! ```
//!
//! That is for one Float; a value of several takes `[rev f]` once for each.
//!
//! Source: the report of `delta`, Fig. 6, without the reverse pass.

use super::evaluator::Evaluator;
use super::recorder::Recorder;
use super::value::{Number, Outcome, Val};
use super::vector::{untraced, zero};
use crate::delta::{Link, Operation, Place, Traced};
use crate::runtime_error::RuntimeError;
use crate::term::{Derivative, FunName};
use crate::value::Value;
use std::sync::Arc;

impl Evaluator<'_> {
    /// Calls a function of the program, and traces how its value depends on the Floats of its arguments.
    ///
    /// The program has `[rev f]` of each function f that is called and whose derivative in reverse mode is written by
    /// hand, and the functions that the derivatives of primitives call, such as `digamma`.
    ///
    /// Panics where the result holds a function or a linear map.
    pub fn trace(&self, name: &FunName, args: &[Value]) -> Result<Traced, RuntimeError> {
        let mut inputs = 0;
        let mut input = |value| {
            let place = Place::Input(u32::try_from(inputs).expect("memory ends before 2^32 Floats"));
            inputs += 1;
            Val::Float(Number { value, place: Some(place) })
        };
        let args: Vec<Val> = args.iter().map(|arg| Val::from(arg).with_floats(&mut input)).collect();
        self.recorder.replace(Some(Recorder::new(self.program, inputs)));
        let result = self.call_val(name, args);
        let recorder = self.recorder.take().expect("it was there before the call");
        let result = result?;
        let results = result.floats().iter().map(|x| x.place).collect();
        Ok(Traced { value: result.to_value(), results, trace: recorder.trace })
    }

    /// Returns `[rev f]` if it is what the trace takes in place of f's text.
    pub(super) fn derivative_by_hand(&self, f: &FunName, args: &[Val]) -> Option<FunName> {
        let recorder = self.recorder.borrow();
        let is_by_hand = recorder.as_ref()?.by_hand.contains(f);
        let varies = || args.iter().any(|arg| arg.floats().iter().any(|x| x.place.is_some()));
        (is_by_hand && args.iter().all(Val::is_data) && varies()).then(|| f.derived(Derivative::Rev))
    }

    /// Calls f, whose derivative is written by hand.
    pub(super) fn call_by_hand(&self, f: &FunName, reverse: FunName, args: &[Val]) -> Outcome {
        let plain = args.iter().map(|arg| untraced(self, arg)).collect::<Result<Vec<Val>, _>>()?;
        let places: Vec<Option<Place>> = args.iter().flat_map(Val::floats).map(|x| x.place).collect();
        let value = self.call_val(f, plain.clone())?;
        let whole = if let [one] = plain.as_slice() { one.clone() } else { Val::Tuple(plain) };
        let operation = Operation::ByHand(Arc::new(reverse.clone()));
        let mut numbers = Vec::new();
        for (k, number) in value.floats().iter().enumerate() {
            let cotangent = self.call_val(&reverse, vec![whole.clone(), basis(&value, k)])?;
            let factors = cotangent.floats();
            assert_eq!(factors.len(), places.len(), "the Floats of a cotangent of {f}");
            let link =
                |(place, factor): (&Option<Place>, &Number)| Some(Link { of: (*place)?, scale: Some(factor.value) });
            let links: Vec<Link> = places.iter().zip(&factors).filter_map(link).collect();
            numbers.push(self.node(operation.clone(), number.value, &links));
        }
        let mut numbers = numbers.into_iter();
        Ok(value.with_floats(&mut |_| numbers.next().expect("one for each Float")))
    }
}

/// Returns the cotangent of a value that is 1 at its k-th Float and 0 at the others.
fn basis(value: &Val, k: usize) -> Val {
    let mut place = 0..;
    zero(value).with_floats(&mut |_| Val::constant(if place.next() == Some(k) { 1.0 } else { 0.0 }))
}
