//! The nesting of array operations.
//!
//! ```text
//! p(map2(λx. e, v, w)) = max(1 + p(e), p(v), p(w))        p(e + e') = max(p(e), p(e'))        p(x) = 0
//! p(f(e ..)) = max(p(body of f), p(e) ..), and 1 more for the body of a recursive f
//! ```
//!
//! An operation on whole tensors without a function, such as `v + w`, makes p at least 1. Inside of a loop it adds no
//! level, as it would for the paper. So p is at most the paper's, and the bound is the stricter.
//!
//! Source: Huot and Shaikhha, sec. 5.3 (NAO). Calls and recursion are ours.

use crate::derive::call_order::is_recursive;
use lm::prim::Prim;
use lm::term::{Expr, FunName, Kind, Op, Program};
use std::collections::HashMap;

/// Returns how deep array operations are nested in a function, through calls; 0 for one on numbers alone.
pub fn nesting(program: &Program, f: &FunName) -> u64 {
    let mut nesting = Nesting { program, known: HashMap::new(), has_whole: false };
    let loops = nesting.of_function(f);
    loops.max(u64::from(nesting.has_whole))
}

struct Nesting<'a> {
    program: &'a Program,
    /// The depths of functions so far; 0 for functions that are being visited.
    known: HashMap<FunName, u64>,
    /// Whether an operation on whole tensors was visited.
    has_whole: bool,
}

impl Nesting<'_> {
    fn of_function(&mut self, name: &FunName) -> u64 {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        self.known.insert(name.clone(), 0);
        let body = self.program.defs.get(name).map(|def| def.body.clone());
        let depth = body.map_or(0, |body| u64::from(is_recursive(self.program, name)) + self.of_term(&body));
        self.known.insert(name.clone(), depth);
        depth
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
                self.has_whole |= matches!(op, Op::Prim(prim) if is_of_whole_tensors(*prim, args));
                let own = if let Op::Call(f) = op { self.of_function(&f.name) } else { 0 };
                arguments.max(own)
            }
        }
    }
}

/// Returns whether a primitive without a function goes over all Floats of a tensor.
fn is_of_whole_tensors(prim: Prim, args: &[Expr]) -> bool {
    let is_whole = matches!(
        prim,
        Prim::Add
            | Prim::Sub
            | Prim::Mul
            | Prim::Neg
            | Prim::Dot
            | Prim::Sum
            | Prim::Imax
            | Prim::ZeroOf
            | Prim::AddAt
            | Prim::DeltaAt
    );
    is_whole && args.iter().any(|e| e.ty().mentions_array())
}
