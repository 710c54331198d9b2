//! Inlines calls in a derivative at a point that is applied in many directions.
//!
//! ```text
//! g(a)  =  let x = a in b                                                  (def g (x) b)
//! ```
//!
//! A dense Jacobian takes `[fwd f]` or `[rev f]` at one point, and computes once the part that does not depend on the
//! direction. A call prevents that: `fwd$g(s, ds)` depends on the direction as a whole, though most of the work of g
//! depends on s only. So calls are inlined, up to a size. Bodies of loops are not cut, and the loops have passes of their
//! own for what does not vary (`loops::passes`). So in loops calls stay, but for derivatives by dual numbers: there laws
//! take a loop and its directions apart. These calls stay, too: of recursive functions, of functions with effects, and of
//! functions in templates of the program's rules, which look for them.

use crate::derive::call_order;
use crate::derive::pipeline::{Error, Pipeline};
use lm::scope::renamed;
use lm::term::{Binding, Def, Derivative, Expr, FunName, Kind, Op, Pattern, Var};
use rustc_hash::FxHashMap;

/// The nodes of the largest definition that inlining makes.
const MOST_NODES: usize = 2_000;

/// The depth of calls of calls that are inlined.
const MOST_ROUNDS: usize = 16;

/// The calls that are inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those outside of loops.
    OutsideOfLoops,
    /// Those in loops, too.
    Everywhere,
}

impl Pipeline {
    /// Returns the definition with its calls inlined.
    pub(super) fn inlined(&mut self, def: &Def, reach: Reach) -> Result<Def, Error> {
        let mut def = def.clone();
        let mut has_changed = false;
        for _ in 0..MOST_ROUNDS {
            let body = self.with_inlined(&def.body, reach, MOST_NODES.saturating_sub(def.body.size()))?;
            let Some(body) = body else { break };
            def = Def { body, ..def };
            has_changed = true;
        }
        if has_changed { self.simplest(def) } else { Ok(def) }
    }

    /// Returns the term with its present calls inlined, as far as they fit; `None` if it has none.
    fn with_inlined(&mut self, e: &Expr, reach: Reach, mut budget: usize) -> Result<Option<Expr>, Error> {
        let mut called = Vec::new();
        calls(e, reach, &mut called);
        let mut bodies = FxHashMap::default();
        for callee in called {
            if !bodies.contains_key(&callee) {
                let body = self.inlinable(&callee)?;
                bodies.insert(callee.clone(), body);
            }
            let size = bodies[&callee].as_ref().map_or(0, |def| def.body.size());
            match budget.checked_sub(size) {
                Some(left) => budget = left,
                // All its calls, or none: what is computed in one form is found to be the same.
                None => drop(bodies.insert(callee, None)),
            }
        }
        bodies.retain(|_, def| def.is_some());
        Ok((!bodies.is_empty()).then(|| self.put_in_place(e, reach, &bodies)))
    }

    fn put_in_place(&mut self, e: &Expr, reach: Reach, bodies: &FxHashMap<FunName, Option<Def>>) -> Expr {
        if matches!(e.kind(), Kind::Lam(..)) && reach == Reach::OutsideOfLoops {
            return e.clone();
        }
        let e = e.map_children(|c| self.put_in_place(c, reach, bodies));
        match e.kind() {
            Kind::App(Op::Call(f), args) => match bodies.get(&f.name) {
                Some(Some(def)) => self.in_place(def, args),
                _ => e,
            },
            _ => e,
        }
    }

    pub(in crate::derive) fn in_place(&mut self, def: &Def, args: &[Expr]) -> Expr {
        let given = |(x, a): (&Var, &Expr)| Binding { pattern: Pattern::Var(x.clone()), rhs: a.clone() };
        let bindings = def.params.iter().zip(args).map(given).collect();
        renamed(&Expr::block(bindings, def.body.clone()), &mut self.program.supply)
    }

    /// Returns the definition of a function whose calls may be inlined; of a derivative as it is before sharing, in
    /// which its calls are not merged with others.
    fn inlinable(&mut self, name: &FunName) -> Result<Option<Def>, Error> {
        let base = name.as_written();
        if self.program.externals.contains_key(name) || self.is_in_rules(&base) {
            return Ok(None);
        }
        self.require(name)?;
        // A derivative may call another derivative of its function, which calls itself.
        if [name, &base].into_iter().any(|f| call_order::is_recursive(&self.program, f)) {
            return Ok(None);
        }
        let is_unshared = |derivative: &Derivative, of: &FunName| {
            derivative.mode().is_some_and(|mode| *derivative == mode.derivative()) && !self.keeps_values(of)
        };
        let def = match name.underived().filter(|(derivative, of)| is_unshared(derivative, of)) {
            Some((derivative, of)) => self.unshared(&of, &derivative, false)?,
            None => self.source(name)?,
        };
        Ok((!self.effects.in_term(&def.body)).then_some(def))
    }

    fn is_in_rules(&self, base: &FunName) -> bool {
        let mentions = |template: &Expr| {
            let mut called = Vec::new();
            call_order::calls(template, &mut called);
            called.iter().any(|name| name.as_written() == *base)
        };
        self.program.rules.iter().any(|rule| mentions(&rule.template))
    }
}

/// The functions that a term calls, in order, with repetitions.
fn calls(e: &Expr, reach: Reach, out: &mut Vec<FunName>) {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => {}
        Kind::Lam(_, body) if reach == Reach::Everywhere => calls(body, reach, out),
        Kind::Lam(..) => {}
        Kind::App(op, args) => {
            if let Op::Call(f) = op {
                out.push(f.name.clone());
            }
            args.iter().for_each(|a| calls(a, reach, out));
        }
        Kind::Let(bindings, body) => {
            bindings.iter().for_each(|b| calls(&b.rhs, reach, out));
            calls(body, reach, out);
        }
    }
}
