//! Replaces a parameter by a number, if it is the same number in each call.
//!
//! ```text
//! call f(x, 3) .. call f(y, 3)     with  fun f(a, n) { s }     =     fun f(a, n) { s[n := 3] }
//! ```
//!
//! Callers come before what they call, so numbers go through several calls. What is called from outside stays.

use super::pass::ModuleCx;
use crate::ir::{FunId, Operand, Stmt};
use rustc_hash::FxHashMap;

/// The value of a parameter in the calls seen so far: none yet, one number, or different values.
#[derive(Clone)]
enum ArgumentValue {
    Nothing,
    Number(i64),
    Different,
}

pub(super) fn run(cx: &mut ModuleCx) {
    let module = &mut *cx.module;
    let mut given: Vec<Vec<ArgumentValue>> =
        module.functions.iter().map(|function| vec![ArgumentValue::Nothing; function.params.len()]).collect();
    let mut order = module.callees_first();
    order.reverse();
    for exported in &module.exported {
        given[exported.0].fill(ArgumentValue::Different);
    }
    for FunId(i) in order {
        let function = &mut module.functions[i];
        // A recursive function calls itself in ways that are not seen yet.
        if !function.recursive {
            let numbers = function.params.iter().zip(&given[i]).filter_map(|(x, given)| match given {
                ArgumentValue::Number(n) => Some((*x, Operand::Integer(*n))),
                ArgumentValue::Nothing | ArgumentValue::Different => None,
            });
            let numbers: FxHashMap<_, _> = numbers.collect();
            let mut replace = |a: &mut Operand| {
                if let Some(number) = a.local().and_then(|x| numbers.get(&x)) {
                    *a = number.clone();
                }
            };
            function.body.change_operands(&mut replace);
            function.extents.iter_mut().flat_map(|(_, sizes)| sizes).for_each(replace);
        }
        module.functions[i].body.visit(&mut |stmt| {
            if let Stmt::Call(_, callee, args) = stmt {
                given[callee.0].iter_mut().zip(args).for_each(|(given, a)| given.meet_argument(a));
            }
        });
    }
}

impl ArgumentValue {
    fn meet_argument(&mut self, a: &Operand) {
        *self = match (&self, a) {
            (ArgumentValue::Nothing, Operand::Integer(n)) => ArgumentValue::Number(*n),
            (ArgumentValue::Number(m), Operand::Integer(n)) if m == n => ArgumentValue::Number(*n),
            _ => ArgumentValue::Different,
        };
    }
}
