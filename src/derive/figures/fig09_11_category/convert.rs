//! Converts terms to CL.
//!
//! ```text
//! C[k]Γ = P[/n] ; K(k)           C[x]Γ = P[φ(Γ, x)/n]            C[f(e)]Γ = C[e]Γ ; F(f)
//! C[(e1, .., en)]Γ = (C[e1]Γ, .., C[en]Γ)                        C[if e1 e2 e3]Γ = IF(C[e1]Γ, C[e2]Γ, C[e3]Γ)
//! C[let x = er in eb]Γ = L(x, C[er]Γ, C[eb](Γ, x))               C[build es (λi. e)]Γ = B(C[es]Γ, i, C[e](Γ, i))
//! ```
//!
//! n is the size of Γ. Source: working notes, Fig. 10. There the call rule is printed the other way round, a
//! variable as `F(π(Γ, x))`, and `K(k)` is allowed in any environment, though Fig. 11 types it in the empty one.
//! Takes: any definition. Gives: CL, in proportion to it.

use super::{Argument, Def, Term};
use lm::term::{self, Binding, Expr, Kind, Op, Var};
use rustc_hash::FxHashMap;

/// Returns the definition in CL; its type is checked.
///
/// Panics if it is ill-typed, which no definition is.
pub fn convert(def: &term::Def) -> Def {
    let mut scope = Scope::default();
    def.params.iter().for_each(|x| scope.bind(x));
    let body = scope.term(&def.body);
    Def { fun: def.fun.clone(), params: def.params.clone(), body }.checked("conversion to CL")
}

/// Γ: the variables in scope, each with its number from 1.
#[derive(Default)]
struct Scope {
    numbers: FxHashMap<u32, usize>,
    size: usize,
}

impl Scope {
    /// Γ, x. Every binder is a different variable, so variables out of scope may stay.
    fn bind(&mut self, x: &Var) {
        self.size += 1;
        self.numbers.insert(x.id(), self.size);
    }

    fn term(&mut self, e: &Expr) -> Term {
        match e.kind() {
            Kind::Const(k) => self.of_nothing(Term::Constant(k.clone())),
            Kind::Var(x) => Term::pruning(vec![self.numbers[&x.id()]], self.size),
            Kind::Let(bindings, body) => self.convert_block(bindings, body),
            Kind::App(op, args) => self.application(e, op, args),
            Kind::Lam(..) => panic!("conversion to CL: a function that is no argument: {e:?}"),
        }
    }

    /// Returns `P[/n] ; c`.
    fn of_nothing(&self, c: Term) -> Term {
        Term::pruning(Vec::new(), self.size).then(c)
    }

    fn convert_block(&mut self, bindings: &[Binding], body: &Expr) -> Term {
        let outer = self.size;
        let mut bound = Vec::with_capacity(bindings.len());
        for b in bindings {
            bound.push((b.pattern.clone(), self.term(&b.rhs)));
            b.pattern.vars().iter().for_each(|x| self.bind(x));
        }
        let body = self.term(body);
        self.size = outer;
        let around = |body, (pattern, rhs)| Term::Let(pattern, Box::new(rhs), Box::new(body));
        bound.into_iter().rev().fold(body, around)
    }

    fn application(&mut self, e: &Expr, op: &Op, args: &[Expr]) -> Term {
        let (arity, span) = (args.len(), e.span());
        match op {
            Op::Dummy => self.of_nothing(Term::Dummy(e.ty().clone())),
            Op::If => {
                let [c, yes, no] = [0, 1, 2].map(|i| Box::new(self.term(&args[i])));
                Term::If(c, yes, no)
            }
            // A tuple of one is no environment of one.
            Op::Tuple if arity != 1 => self.tuple(args),
            _ if args.iter().any(|arg| matches!(arg.kind(), Kind::Lam(..))) => {
                Term::Binder { op: op.clone(), args: args.iter().map(|arg| self.argument(arg)).collect(), span }
            }
            _ => {
                let of = if let [one] = args { self.term(one) } else { self.tuple(args) };
                of.then(Term::Function { op: op.clone(), arity, span })
            }
        }
    }

    fn tuple(&mut self, parts: &[Expr]) -> Term {
        Term::Tuple(parts.iter().map(|e| self.term(e)).collect())
    }

    fn argument(&mut self, e: &Expr) -> Argument {
        let Kind::Lam(x, body) = e.kind() else { return Argument::Value(self.term(e)) };
        self.bind(x);
        let body = self.term(body);
        self.size -= 1;
        Argument::Function(x.clone(), body)
    }
}
