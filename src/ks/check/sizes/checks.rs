//! Puts checks into a definition where it is not known that sizes are right.
//!
//! ```text
//! f(e ..)   =   let x = e .. in assert (size(x) == size(y) ..) f(x ..)
//! body      =   let r = body in assert (size(r) == n ..) r
//! ```

use crate::ks::check::checker::Checker;
use lm::sizes::{Found, Signature};
use lm::term::{Binding, Def, Expr, Kind, Op, Program, Span};

impl Checker {
    /// Returns the definition with checks around calls, and around its result, that are not proved; `unproved` say what that is to have.
    pub(super) fn with_checks(&mut self, def: Def, unproved: &[Signature], found: &Found, program: &Program) -> Def {
        let is_wrong = |proved: &Vec<bool>| proved.contains(&false);
        let mut body = def.body.clone();
        if found.calls.values().any(is_wrong) {
            body = self.with_checked_calls(&body, found, program);
        }
        for signature in unproved {
            let args: Vec<Expr> = def.params.iter().map(Expr::var).collect();
            let span = body.span();
            let (bindings, result) = self.name_of(body);
            let condition = signature.condition_of_result(&result, &args, &mut self.supply);
            body = asserted(bindings, condition, result, span);
        }
        Def { body, ..def }
    }

    fn with_checked_calls(&mut self, e: &Expr, found: &Found, program: &Program) -> Expr {
        let proved = found.calls.get(&e.address()).filter(|proved| proved.contains(&false));
        let (Kind::App(op @ (Op::Call(f) | Op::JacobianOfFun(f)), args), Some(proved)) = (e.kind(), proved) else {
            return e.map_children(|part| self.with_checked_calls(part, found, program));
        };
        let signature = program.signature(f).expect("a call that is judged has a signature");
        let (mut bindings, mut atoms) = (Vec::new(), Vec::new());
        for arg in args {
            let arg = self.with_checked_calls(arg, found, program);
            let (binding, atom) = self.name_of(arg);
            bindings.extend(binding);
            atoms.push(atom);
        }
        let relations = signature.relations().iter().zip(proved).filter(|(_, proved)| !**proved);
        let condition = signature.condition(relations.map(|(r, _)| r), &atoms, &mut self.supply);
        asserted(bindings, condition, Expr::app(op.clone(), atoms).at(e.span()), e.span())
    }
}

fn asserted(bindings: Vec<Binding>, condition: Option<Expr>, e: Expr, span: Span) -> Expr {
    let body = match condition {
        None => e,
        Some(c) => Expr::app(Op::Assert, vec![c.placed(span), e]).at(span),
    };
    Expr::block(bindings, body).at(span)
}
