//! Names every intermediate value: administrative normal form.
//!
//! ```text
//! f(g(x), y)   =   let t = g(x) in f(t, y)
//! ```
//!
//! Source: working notes, sec. 5.1. Takes: any term. Gives: normal form, as [`crate::derive::forms`] writes it.

use crate::derive::forms;
use crate::derive::postcondition::Facts;
use lm::rewrites::Rewrites;
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Supply};

/// Returns the definition in normal form.
pub fn anf(def: &Def, supply: &mut Supply, rewrites: &mut Rewrites) -> Def {
    Def { body: Anf { supply, rewrites }.block(&def.body), ..def.clone() }
}

/// Returns the normal form of a term, as a block of its own.
pub fn normalise_block(e: &Expr, supply: &mut Supply) -> Expr {
    Anf { supply, rewrites: &mut Rewrites::all() }.block(e)
}

struct Anf<'a> {
    supply: &'a mut Supply,
    rewrites: &'a mut Rewrites,
}

impl Anf<'_> {
    fn block(&mut self, e: &Expr) -> Expr {
        let mut out = Vec::new();
        let (bindings, result) = e.as_block();
        self.bindings(bindings, &mut out);
        let result = self.simple(result, &mut out);
        Expr::block(out, result)
    }

    fn bindings(&mut self, bindings: &[Binding], out: &mut Vec<Binding>) {
        for b in bindings {
            let rhs = self.simple(&b.rhs, out);
            out.push(Binding { pattern: b.pattern.clone(), rhs });
        }
    }

    /// Returns the term as an operator on atoms; pushes what it needs to `out`.
    fn simple(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Expr {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) => e.clone(),
            Kind::Let(bindings, body) => {
                if !self.rewrites.may("let-let") {
                    return e.clone();
                }
                self.bindings(bindings, out);
                self.simple(body, out)
            }
            Kind::Lam(x, body) => Expr::lam(x.clone(), self.block(body)).at(e.span()),
            Kind::App(Op::If, args) => {
                let c = self.atom(&args[0], out);
                let (yes, no) = (self.block(&args[1]), self.block(&args[2]));
                Expr::conditional(c, yes, no).at(e.span())
            }
            Kind::App(..) => e.map_children(|a| self.atom(a, out)),
        }
    }

    /// Returns the term as an atom, or as a function if it is one.
    fn atom(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Expr {
        let e = self.simple(e, out);
        if e.is_atom() || matches!(e.kind(), Kind::Lam(..)) || !self.rewrites.may("let-name") {
            return e;
        }
        let t = self.supply.fresh("t", e.ty().clone());
        let use_ = Expr::var(&t);
        out.push(Binding { pattern: Pattern::Var(t), rhs: e });
        use_
    }
}

/// Returns what breaks the postcondition: a term that is not in normal form.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    forms::not_normal(&def.body)
}
