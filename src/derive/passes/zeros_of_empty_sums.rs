//! Gives a sum over no elements its zero, where the shape of an element is known without one.
//!
//! ```text
//! sum v   =   if v is empty then zeros else sum v         for v = build n (λi. e), i not in the shape of e
//! sum (build n f)   =   sumbuild n f                      so that the elements need no place but that of the sum
//! ```
//!
//! A sum of tensors over nothing has no other way to know its shape; where this fails, it is a run-time error. Takes
//! and gives: any term.

use crate::derive::figures::shape::Shapes;
use crate::derive::forms::smallest;
use crate::derive::postcondition::Facts;
use indexmap::IndexMap;
use lm::effect::Effects;
use lm::prim::Prim;
use lm::shape;
use lm::term::{Binding, Def, Expr, FunName, Kind, Op, Pattern, Program};
use lm::types::Type;

/// Guards each sum of a program that may be over nothing and has a zero then. Does so, too, in definitions of the
/// program as they are written.
pub fn zeros_of_empty_sums(program: &mut Program, written: &mut IndexMap<FunName, Def>) {
    let mut supply = std::mem::take(&mut program.supply);
    let effects = Effects::of(program);
    let mut guard =
        |def: &Def| Def { body: Guard(Shapes::new(program, &effects, &mut supply)).term(&def.body), ..def.clone() };
    let guarded: Vec<Def> = program.defs.values().map(&mut guard).collect();
    written.values_mut().for_each(|def| *def = guard(def));
    program.defs = guarded.into_iter().map(|def| (def.fun.name.clone(), def)).collect();
    program.supply = supply;
}

struct Guard<'a>(Shapes<'a>);

impl Guard<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) => e.clone(),
            Kind::Lam(..) => e.map_children(|child| self.term(child)),
            Kind::Let(bindings, body) => {
                let mut out = Vec::with_capacity(bindings.len());
                for b in bindings {
                    let b = Binding { pattern: b.pattern.clone(), rhs: self.term(&b.rhs) };
                    self.0.define(&b);
                    out.push(b);
                }
                Expr::block(out, self.term(body))
            }
            Kind::App(Op::If, args) if is_emptiness(&args[0]) && is_sum(&args[2]) => {
                let sum = args[2].map_children(|child| self.term(child));
                Expr::conditional(args[0].clone(), self.term(&args[1]), sum).at(e.span())
            }
            Kind::App(..) => {
                let e = e.map_children(|child| self.term(child));
                if is_sum(&e) && !e.ty().has_fixed_shape() { self.guarded(&e) } else { e }
            }
        }
    }

    fn guarded(&mut self, e: &Expr) -> Expr {
        let Kind::App(op, args) = e.kind() else { return e.clone() };
        // `sum (let .. in v)`: what v is made of is bound before.
        let (bindings, last) = args[0].as_block();
        bindings.iter().for_each(|b| self.0.define(b));
        let mut out = bindings.to_vec();
        let mut args = args.clone();
        args[0] = last.clone();
        let element = match op {
            Op::Prim(Prim::Sum) => self.0.uniform(&args[0]),
            _ => self.0.uniform_of(&args[1]),
        };
        let Some(element) = element else { return e.clone() };
        let size = match (op, args[0].kind()) {
            (Op::Prim(Prim::SumBuild), _) => self.bind_as("n", args[0].clone(), &mut out),
            (_, Kind::App(Op::Prim(Prim::Build), parts)) => {
                let n = self.bind_as("n", parts[0].clone(), &mut out);
                args[0] = Expr::prim(Prim::Build, [n.clone(), parts[1].clone()]).at(args[0].span());
                n
            }
            (_, Kind::App(Op::Prim(Prim::Map2), _)) => {
                args[0] = self.bind_as("v", args[0].clone(), &mut out);
                Expr::prim(Prim::Size, [args[0].clone()])
            }
            _ => Expr::prim(Prim::Size, [args[0].clone()]),
        };
        if let Op::Prim(Prim::SumBuild) = op {
            args[0] = size.clone();
        }
        let mut zero = Vec::new();
        let (before, element) = element.as_block();
        zero.extend(before.iter().cloned());
        let element = self.bind_as("shape", element.clone(), &mut zero);
        let Some(zeros) = shape::zeros(e.ty(), &element, self.0.supply) else { return e.clone() };
        let sum = match args[0].args_of(&Op::Prim(Prim::Build)) {
            Some(build) if *op == Op::Prim(Prim::Sum) => Expr::prim(Prim::SumBuild, build.to_vec()),
            _ => Expr::app(op.clone(), args),
        };
        let sum = sum.at(e.span());
        let zeros = Expr::block(zero, zeros).placed_throughout(e.span());
        let guarded = Expr::conditional(is_empty(&size), zeros, sum).at(e.span());
        Expr::block(out, guarded)
    }

    fn bind_as(&mut self, name: &str, e: Expr, out: &mut Vec<Binding>) -> Expr {
        if e.is_atom() {
            return e;
        }
        let x = self.0.supply.fresh(name, e.ty().clone());
        let use_of = Expr::var(&x).at(e.span());
        out.push(Binding { pattern: Pattern::Var(x), rhs: e });
        use_of
    }
}

/// Returns `n = 0`, or that a component of n is 0.
fn is_empty(n: &Expr) -> Expr {
    let is_zero = |n: Expr| Expr::prim(Prim::Eq, [n, Expr::integer(0)]);
    match n.ty() {
        Type::Tuple(parts) => {
            let zeros = (1..=parts.len()).map(|i| is_zero(Expr::get(i, n.clone())));
            zeros.reduce(|a, b| Expr::prim(Prim::Or, [a, b])).expect("an index has components")
        }
        _ => is_zero(n.clone()),
    }
}

fn is_sum(e: &Expr) -> bool {
    matches!(e.kind(), Kind::App(Op::Prim(Prim::Sum), _))
        || matches!(e.kind(), Kind::App(Op::Prim(Prim::SumBuild), args) if args.len() == 2)
}

/// Returns whether a term is what [`is_empty`] returns: such a sum has its zero.
fn is_emptiness(e: &Expr) -> bool {
    match e.kind() {
        Kind::App(Op::Prim(Prim::Eq), args) => args[1] == Expr::integer(0),
        Kind::App(Op::Prim(Prim::Or), args) => args.iter().all(is_emptiness),
        Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}

/// Returns what breaks the postcondition: a sum that is guarded twice.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    let guarded = |e: &Expr| -> Option<Expr> {
        let [empty, _, sum] = e.args_of(&Op::If)? else { return None };
        is_emptiness(empty).then(|| sum.as_block().1.clone())
    };
    smallest(&def.body, |e| guarded(e).is_some_and(|sum| guarded(&sum).is_some_and(|sum| is_sum(&sum))))
}
