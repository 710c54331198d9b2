//! Who calls whom, and whether in circles.

use lm::term::{Expr, FunName, Kind, Op, Program};
use std::collections::HashSet;

/// The functions that a term calls, or whose Jacobian it takes, in order, with repetitions.
pub fn calls(e: &Expr, out: &mut Vec<FunName>) {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => {}
        Kind::App(op, args) => {
            match op {
                Op::Call(f) => out.push(f.name.clone()),
                Op::JacobianOfFun(f) => out.push(f.name.derived("D")),
                Op::JacobianAt(f) => out.push(f.name.derived("sufrevpass")),
                Op::Tuple
                | Op::Get(..)
                | Op::If
                | Op::Assert
                | Op::Dummy
                | Op::Prim(_)
                | Op::JacobianOf(_)
                | Op::LmGet(..)
                | Op::Pack(_)
                | Op::Unpack(_) => {}
            }
            args.iter().for_each(|a| calls(a, out));
        }
        Kind::Let(bindings, body) => {
            bindings.iter().for_each(|b| calls(&b.rhs, out));
            calls(body, out);
        }
        Kind::Lam(_, body) => calls(body, out),
    }
}

/// Whether a function calls itself, directly or not.
pub fn is_recursive(program: &Program, name: &FunName) -> bool {
    let mut seen = HashSet::new();
    let mut waiting = vec![name.clone()];
    while let Some(caller) = waiting.pop() {
        let Some(def) = program.defs.get(&caller) else { continue };
        let mut called = Vec::new();
        calls(&def.body, &mut called);
        if called.contains(name) {
            return true;
        }
        waiting.extend(called.into_iter().filter(|callee| seen.insert(callee.clone())));
    }
    false
}
