//! Puts in place of calls what they say of linear maps.
//!
//! ```text
//! [Dt f](a)                 =  (∂f(a))ᵀ                     [tupled f](a)  =  (f(a), ∂f(a))
//! [polymorphic f](a, m)     =  (f(a), ∂f(a) ∘ m)
//! [polymorphicR f](a, m)    =  (f(a), m ∘ (∂f(a))ᵀ)
//! g(a)                      =  let x = a in b               where g takes or gives a map: (def g (x) b)
//! ∂f(a)                     =  let x = a in m               on request: (def [D f] (x) m)
//! ```
//!
//! Source: working notes, Figs. 6-8. Takes: any definition. Gives: one that calls no function of linear maps, except for
//! functions that call themselves and external ones.

use crate::derive::postcondition::Facts;
use lm::law::name_it;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::renamed;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Kind, Op, Pattern, Span, Supply, Var};
use lm::types::Type;
use std::sync::Arc;

/// The nodes that take the place of calls, at most. Functions that call each other twice, n in a row, have 2^n calls.
pub const MOST_NODES: usize = 20_000;

/// The functions that a definition calls.
#[derive(Clone, Copy)]
pub struct Callees<'a> {
    /// Returns the definition of a function, if it may be put in place of a call.
    pub body: &'a dyn Fn(&FunName) -> Option<Def>,
    /// Returns the Jacobian of a function, if it may be put in place of its name.
    pub jacobian: &'a dyn Fn(&FunName) -> Option<Def>,
    /// Returns the types of the parameters of a function, with respect to any part of its argument.
    pub params: &'a dyn Fn(&FunName) -> Option<Vec<Type>>,
}

/// Puts the bodies of functions of linear maps in place of their calls.
pub fn inline_maps(def: &Def, callees: Callees, supply: &mut Supply, rewrites: &mut Rewrites) -> Def {
    Def { body: Inline { callees, supply, rewrites, left: MOST_NODES }.term(&def.body), ..def.clone() }
}

struct Inline<'a> {
    callees: Callees<'a>,
    supply: &'a mut Supply,
    rewrites: &'a mut Rewrites,
    /// The nodes that may still take the place of calls.
    left: usize,
}

impl Inline<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        let e = e.map_children(|a| self.term(a));
        match e.kind() {
            Kind::App(Op::JacobianOfFun(f), args) => {
                let new = (self.callees.jacobian)(&f.name).and_then(|def| self.body("call-jacobian", &def, args));
                new.map_or(e.clone(), |new| new.placed(e.span()))
            }
            Kind::App(Op::Call(f), args) if takes_or_gives_map(f) => {
                self.call(f, args).map_or(e.clone(), |new| new.placed(e.span()))
            }
            _ => e,
        }
    }

    fn call(&mut self, f: &Fun, args: &[Expr]) -> Option<Expr> {
        if let Some(def) = (self.callees.body)(&f.name) {
            return self.body("call-map", &def, args);
        }
        let law = match f.name.derivative()? {
            Derivative::Dt => "call-transposed",
            Derivative::Tupled => "call-tupled",
            Derivative::Polymorphic => "call-polymorphic",
            Derivative::PolymorphicR => "call-polymorphicR",
            _ => return None,
        };
        if !self.rewrites.may(law) {
            return None;
        }
        let mut bindings = Vec::new();
        let args: Vec<Expr> = args.iter().map(|a| name_it(a, self.supply, &mut bindings)).collect();
        let name = f.name.without_derivatives(1);
        let new = match law {
            "call-transposed" => {
                let (result, _) = f.result.as_lm()?;
                let of = Fun { name, params: f.params.clone(), result: result.clone() };
                Expr::prim(Prim::LmTranspose, [jacobian(of, args)])
            }
            "call-tupled" => {
                let of = Fun { name, params: f.params.clone(), result: f.result.as_tuple()?[0].clone() };
                Expr::tuple([value(&of, args.clone()), jacobian(of, args)])
            }
            _ => {
                let params = (self.callees.params)(&name)?;
                let point = components(params.len(), &args[0]);
                let of = Fun { name, params, result: f.result.as_tuple()?[0].clone() };
                let map = jacobian(of.clone(), point.clone());
                let maps = match law {
                    "call-polymorphic" => vec![map, args[1].clone()],
                    _ => vec![args[1].clone(), Expr::prim(Prim::LmTranspose, [map])],
                };
                // A map into a space of the same tangents is taken, too, but is composed with nothing.
                let after = Expr::try_app(Op::Prim(Prim::LmCompose), maps, Span::default())?;
                Expr::tuple([value(&of, point), after])
            }
        };
        Some(Expr::block(bindings, new))
    }

    /// Returns the body of a function at arguments.
    fn body(&mut self, law: &str, def: &Def, args: &[Expr]) -> Option<Expr> {
        self.left = self.left.checked_sub(def.body.size())?;
        if !self.rewrites.may(law) {
            return None;
        }
        let given = |(x, a): (&Var, &Expr)| Binding { pattern: Pattern::Var(x.clone()), rhs: a.clone() };
        let bindings = def.params.iter().zip(args).map(given).collect();
        Some(renamed(&Expr::block(bindings, def.body.clone()), self.supply))
    }
}

fn value(f: &Fun, args: Vec<Expr>) -> Expr {
    let value = Fun { name: f.name.unrestricted(), ..f.clone() };
    Expr::app(Op::Call(Arc::new(value)), args)
}

fn jacobian(f: Fun, args: Vec<Expr>) -> Expr {
    Expr::app(Op::JacobianOfFun(Arc::new(f)), args)
}

/// Returns the arguments that a point is, for a function of so many parameters.
fn components(params: usize, point: &Expr) -> Vec<Expr> {
    if params == 1 { vec![point.clone()] } else { (1..=params).map(|i| Expr::get(i, point.clone())).collect() }
}

/// Returns whether a function takes or gives a linear map, or something with one in it.
pub fn takes_or_gives_map(f: &Fun) -> bool {
    f.params.iter().chain([&f.result]).any(Type::mentions_lm)
}

/// Returns what breaks the postcondition: a transposed Jacobian by its name.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    def.body.find_map(|e| match e.kind() {
        Kind::App(Op::Call(f), _) => (f.name.derivative() == Some(&Derivative::Dt)).then(|| e.clone()),
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => None,
    })
}
