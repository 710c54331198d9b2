//! Arguments: a parameter that is one and the same number in each call is that number.
//!
//! ```text
//! call f(x, 3) .. call f(y, 3)     with  fun f(a, n) { s }     =     fun f(a, n) { s[n := 3] }
//! ```
//!
//! Callers come before what they call, so numbers go through several calls. What is called from outside stays.

use super::pass::ModuleCx;
use crate::ir::{FunId, Operand, Stmt};
use std::collections::HashMap;

/// What a parameter is in the calls seen so far: nothing yet, a number, or different things.
#[derive(Clone)]
enum Given {
    Nothing,
    Number(i64),
    Different,
}

pub(super) fn run(cx: &mut ModuleCx) {
    let module = &mut *cx.module;
    let mut given: Vec<Vec<Given>> =
        module.functions.iter().map(|function| vec![Given::Nothing; function.params.len()]).collect();
    let mut order = module.callees_first();
    order.reverse();
    for exported in &module.exported {
        given[exported.0].fill(Given::Different);
    }
    for FunId(i) in order {
        let function = &mut module.functions[i];
        // A recursive function calls itself in ways that are not seen yet.
        if !function.recursive {
            let numbers = function.params.iter().zip(&given[i]).filter_map(|(x, given)| match given {
                Given::Number(n) => Some((*x, Operand::Integer(*n))),
                Given::Nothing | Given::Different => None,
            });
            let numbers: HashMap<_, _> = numbers.collect();
            function.body.change_operands(&mut |a| {
                if let Some(number) = a.local().and_then(|x| numbers.get(&x)) {
                    *a = number.clone();
                }
            });
        }
        module.functions[i].body.visit(&mut |stmt| {
            if let Stmt::Call(_, callee, args) = stmt {
                given[callee.0].iter_mut().zip(args).for_each(|(given, a)| given.see(a));
            }
        });
    }
}

impl Given {
    fn see(&mut self, a: &Operand) {
        *self = match (&self, a) {
            (Given::Nothing, Operand::Integer(n)) => Given::Number(*n),
            (Given::Number(m), Operand::Integer(n)) if m == n => Given::Number(*n),
            _ => Given::Different,
        };
    }
}
