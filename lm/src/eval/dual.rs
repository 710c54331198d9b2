//! Evaluates dual numbers: a Float comes with its Delta term, or with none where it depends on no traced argument.
//!
//! ```text
//! D[r] = (r, Zero)                  D[op(e1, ..)] = the rule of op, from the law in its row (`delta/rule.rs`)
//! D[anything else] moves numbers about; `sum` has sums, `traced` whole runs and derivatives by hand
//! ```
//!
//! An operation on numbers without terms has none, so a run that is not traced is as if this file were not there.
//!
//! Source: the report of `delta`, Fig. 3.

use super::environment::Env;
use super::evaluator::Evaluator;
use super::value::{Number, Outcome, Val};
use crate::delta::{Dual, Link, Operation, Term};
use crate::prim::Prim;
use crate::runtime_error::RuntimeError;
use std::borrow::Borrow;
use std::rc::Rc;

impl Evaluator<'_> {
    /// Returns the value of a primitive on numbers, with its Delta term.
    pub(super) fn float<V: Borrow<Val>>(&self, p: Prim, args: &[V], value: f64) -> Outcome {
        if args.iter().all(|x| x.borrow().place().is_none()) {
            return Ok(Val::constant(value));
        }
        self.dual_float(p, &args.iter().map(Borrow::borrow).collect::<Vec<_>>(), value)
    }

    fn dual_float(&self, p: Prim, args: &[&Val], value: f64) -> Outcome {
        let dual = self.dual(p);
        let plain = |x: &Val| if let Val::Float(x) = x { Val::constant(x.value) } else { x.clone() };
        let env = dual.params.iter().zip(args).fold(Env::default(), |env, (x, arg)| env.with(x, plain(arg)));
        let mut links = Vec::with_capacity(args.len());
        self.links(&dual.term, args, &env, &mut links)?;
        Ok(self.node(Operation::Prim(p), value, &links))
    }

    fn dual(&self, p: Prim) -> Rc<Dual> {
        let mut recorder = self.recorder.borrow_mut();
        let recorder = recorder.as_mut().expect("only a traced run has places");
        recorder.duals.entry(p).or_insert_with(|| Rc::new(Dual::of(p))).clone()
    }

    /// Adds the links of a term over the arguments, whose values are in `env`.
    fn links(&self, term: &Term, args: &[&Val], env: &Env, links: &mut Vec<Link>) -> Result<(), RuntimeError> {
        match term {
            Term::Zero => {}
            Term::Same(i) => links.extend(args[*i].place().map(|of| Link { of, scale: None })),
            Term::Scale(k, i) => {
                if let Some(of) = args[*i].place() {
                    links.push(Link { of, scale: Some(self.eval(k, env)?.float()) });
                }
            }
            Term::Add(terms) => terms.iter().try_for_each(|term| self.links(term, args, env, links))?,
            Term::If(c, a, b) => {
                let chosen = if self.eval(c, env)?.boolean() { a } else { b };
                self.links(chosen, args, env, links)?;
            }
        }
        Ok(())
    }

    /// Returns a number with a new node; without one, where it depends on nothing.
    pub(super) fn node(&self, operation: Operation, value: f64, links: &[Link]) -> Val {
        if links.is_empty() {
            return Val::constant(value);
        }
        let mut recorder = self.recorder.borrow_mut();
        let recorder = recorder.as_mut().expect("only a traced run has places");
        Val::Float(Number { value, place: Some(recorder.trace.push(operation, value, links)) })
    }

    /// Returns a sum of numbers, whose value is known, with its Delta term.
    pub(super) fn sum_node(&self, terms: &[&Val], value: f64) -> Val {
        let links: Vec<Link> = terms.iter().filter_map(|x| Some(Link { of: x.place()?, scale: None })).collect();
        self.node(Operation::Sum, value, &links)
    }
}
