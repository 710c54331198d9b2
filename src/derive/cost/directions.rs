//! Finds the loops over directions: the `build`s that make the result.
//!
//! ```text
//! let c = build(n, λj. ..) in (c, build(m, λi. c[i]))          j and i
//! ```

use lm::prim::Prim;
use lm::term::{Binding, Expr, Kind, Op, Pattern, Var};
use rustc_hash::FxHashSet;

/// Returns the indices of the loops over directions in a body.
pub(super) fn of(body: &Expr) -> FxHashSet<u32> {
    let mut found = Directions { bound: Vec::new(), out: FxHashSet::default() };
    found.result(body);
    found.out
}

struct Directions<'e> {
    bound: Vec<&'e Binding>,
    out: FxHashSet<u32>,
}

impl<'e> Directions<'e> {
    /// Looks at a term that is a part of the result.
    fn result(&mut self, e: &'e Expr) {
        match e.kind() {
            Kind::Let(bindings, body) => {
                self.bound.extend(bindings);
                self.result(body);
            }
            Kind::Var(x) => self.term_of(x).into_iter().for_each(|e| self.result(e)),
            Kind::App(Op::Tuple, parts) => parts.iter().for_each(|part| self.result(part)),
            Kind::App(Op::If, args) => args[1..].iter().for_each(|branch| self.result(branch)),
            Kind::App(Op::Prim(Prim::Index), args) => self.result(&args[1]),
            Kind::App(Op::Prim(Prim::Build), args) => {
                if let Kind::Lam(j, body) = args[1].kind() {
                    self.out.insert(j.id());
                    self.result(body);
                }
            }
            Kind::App(..) | Kind::Const(_) | Kind::Lam(..) => {}
        }
    }

    fn term_of(&self, x: &Var) -> Option<&'e Expr> {
        let is_of = |b: &&&Binding| matches!(&b.pattern, Pattern::Var(y) if y == x);
        self.bound.iter().rev().find(is_of).map(|b| &b.rhs)
    }
}
