//! Evaluates terms into destinations.
//!
//! ```text
//! a + b            add a, then b            0         add nothing
//! $delta_at w i x  add x to element i       let, if   as always, then the body or the branch taken
//! sumbuild n f     add f(0), f(1), ...      (a, ..)   component by component
//! g(e)             g's body, into the destination
//! ```
//!
//! So a sum of one-hot vectors costs what its numbers cost, as in native code: none of them becomes a vector of zeros.
//! `destination` plans which values of a block go where.

use super::calls::Calls;
use super::interpreter::{Interpreter, located};
use super::sizes::size_of;
use super::target::{Target, all_floats, nothing, without_unread};
use super::terms::bind_pattern;
use crate::destination::{Destination, Plan, Step, Unread, beside_a_value, gives_parts, plan, selection};
use crate::effect::Effects;
use crate::prim::Prim;
use crate::runtime_error::RuntimeError;
use crate::tensor::{Position, Tensor};
use crate::term::{Expr, Kind, Op};
use crate::value::{Closure, Env, Value};
use std::sync::Arc;

type Outcome = Result<Value, RuntimeError>;

/// The plans of the blocks around a term, the innermost first.
#[derive(Clone, Copy)]
pub(super) struct Planned<'a> {
    plan: &'a Plan,
    outer: Option<&'a Planned<'a>>,
}

impl Planned<'_> {
    /// Returns whether the term was added where it was bound.
    fn has_added(&self, e: &Expr) -> bool {
        self.plan.is_added(e) || self.outer.is_some_and(|outer| outer.has_added(e))
    }
}

impl Interpreter<'_> {
    /// Evaluates into a target, and returns the parts that go back to the caller. `planned` knows the values
    /// that were added before.
    pub(super) fn eval_into(&mut self, e: &Expr, env: &mut Env, target: &Target, planned: Option<&Planned>) -> Outcome {
        match target {
            Target::Own => self.eval(e, env),
            Target::Nowhere => {
                if !self.is_idle(e) {
                    let passes_on = self.unread.passes_on(e);
                    if passes_on {
                        self.spread(e, env, target, planned)?
                    } else {
                        self.eval(e, env)?
                    };
                }
                Ok(nothing())
            }
            Target::Add(_) | Target::Parts(_) if planned.is_some_and(|planned| planned.has_added(e)) => {
                self.eval(e, env)
            }
            Target::Add(_) | Target::Parts(_) => self.spread(e, env, target, planned),
        }
    }

    /// Returns whether a term has nothing but its value, and remembers the answer.
    fn is_idle(&mut self, e: &Expr) -> bool {
        match self.idle.get(&e.address()) {
            Some((_, unread, is_idle)) if *unread == self.unread => *is_idle,
            _ => {
                let effects = self.effects.get_or_init(|| Effects::of(self.program));
                let is_idle = self.unread.is_idle(e, effects);
                // The term is kept, so that no other gets its address.
                self.idle.insert(e.address(), (e.clone(), self.unread, is_idle));
                is_idle
            }
        }
    }

    /// Evaluates a term whose parts have targets.
    fn spread(&mut self, e: &Expr, env: &mut Env, target: &Target, planned: Option<&Planned>) -> Outcome {
        match e.kind() {
            Kind::Let(..) => self.block_into(e, env, target, planned),
            Kind::App(Op::If, args) => {
                self.counts.comparisons += 1;
                let chosen = if self.eval(&args[0], env)? == Value::Bool(true) { &args[1] } else { &args[2] };
                self.eval_into(chosen, env, target, planned)
            }
            Kind::App(Op::Get(i, n), args) if gives_parts(&args[0]) => {
                self.counts.accesses += 1;
                let mut parts = vec![Target::Nowhere; *n];
                parts[i - 1] = target.clone();
                let Value::Tuple(mut parts) = self.eval_into(&args[0], env, &Target::Parts(parts), None)? else {
                    panic!("a component of no tuple")
                };
                Ok(parts.swap_remove(i - 1))
            }
            Kind::App(Op::Tuple, args) => {
                let part = |(i, e)| self.eval_into(e, env, &target.component(i), planned);
                Ok(Value::Tuple(args.iter().enumerate().map(part).collect::<Result<_, _>>()?))
            }
            Kind::App(Op::Call(f), args) => {
                let args = args.iter().map(|a| self.eval(a, env)).collect::<Result<Vec<_>, _>>()?;
                self.call_into(&f.name, &args, target).map_err(|error| located(error, e.span()))
            }
            // The sum of two unused values may fail.
            Kind::App(Op::Prim(p), args) => match target.with_own_places().filter(|_| self.unread == Unread::Evaluated)
            {
                Some(kept) => Ok(without_unread(self.prim_into(*p, e, args, env, &kept, planned)?, target)),
                None => self.prim_into(*p, e, args, env, target, planned),
            },
            _ => {
                let value = self.eval(e, env)?;
                self.distribute(value, target)
            }
        }
    }

    /// Evaluates a block, some bindings of which have destinations.
    pub(super) fn eval_into_own(&mut self, block: &Expr, env: &mut Env) -> Outcome {
        self.block_into(block, env, &Target::Own, None)
    }

    fn block_into(&mut self, block: &Expr, env: &mut Env, target: &Target, outer: Option<&Planned>) -> Outcome {
        let (bindings, result) = block.as_block();
        self.counts.accesses += bindings.len() as u64;
        let plan = self.plan(block, target.destination(&[]));
        let planned = Planned { plan: &plan, outer };
        self.inside_block(&plan, |cx| {
            for b in bindings {
                let destination = plan.of(&b.pattern);
                if destination.is_own() {
                    cx.bind(b, env)?;
                    continue;
                }
                let inner = cx.resolve(&destination, target, env)?;
                let value = cx.eval_into(&b.rhs, env, &inner, Some(&planned))?;
                bind_pattern(&b.pattern, value, env);
            }
            cx.eval_into(result, env, target, Some(&planned))
        })
    }

    /// Returns the plan for a block, and remembers it.
    pub(super) fn plan(&mut self, block: &Expr, root: Destination) -> Arc<Plan> {
        match self.plans.get(&block.address()) {
            Some((_, known, unread, plan)) if *known == root && *unread == self.unread => plan.clone(),
            _ => {
                let made = Arc::new(plan(block, &root, self.unread));
                // The block is kept, so that no other gets its address.
                self.plans.insert(block.address(), (block.clone(), root, self.unread, made.clone()));
                made
            }
        }
    }

    fn resolve(&mut self, destination: &Destination, target: &Target, env: &mut Env) -> Result<Target, RuntimeError> {
        Ok(match destination {
            Destination::Own => Target::Own,
            Destination::Nowhere => Target::Nowhere,
            Destination::Choice(c, yes, no) => {
                let chosen = if self.eval(c, env)? == Value::Bool(true) { yes } else { no };
                self.resolve(chosen, target, env)?
            }
            Destination::Parts(parts) => {
                Target::Parts(parts.iter().map(|d| self.resolve(d, target, env)).collect::<Result<_, _>>()?)
            }
            Destination::Add(path) => {
                let mut at = target.clone();
                for step in path {
                    at = match step {
                        Step::Component(i) => at.component(i - 1),
                        Step::Element(i) => {
                            let Target::Add(place) = &at else { panic!("an element of what is not added to") };
                            Target::Add(self.element(place, i, env)?)
                        }
                    };
                }
                at
            }
        })
    }

    fn prim_into(
        &mut self,
        p: Prim,
        e: &Expr,
        args: &[Expr],
        env: &mut Env,
        target: &Target,
        planned: Option<&Planned>,
    ) -> Outcome {
        match (p, target) {
            (Prim::Add, _) if target.destination(&[]).takes_all() && !e.ty().has_fixed_shape() => {
                self.eval_into(&args[0], env, target, planned)?;
                self.eval_into(&args[1], env, target, planned)
            }
            (Prim::Add, Target::Parts(_)) if target.destination(&[]).gives_back_numbers(e.ty()) => {
                let a = self.eval_into(&args[0], env, target, planned)?;
                let b = self.eval_into(&args[1], env, target, planned)?;
                self.sum_of_given(a, b, target)
            }
            (Prim::ZeroOf, _) => {
                let w = self.eval(&args[0], env)?;
                Ok(self.zero_into(&w, target))
            }
            (Prim::Into, _) => self.starting_at_zero(&args[0], &args[1], env, target),
            (Prim::DeltaAt, Target::Add(place)) => {
                let place = self.element(place, &args[1], env).map_err(|error| located(error, e.span()))?;
                self.eval_into(&args[2], env, &Target::Add(place), planned)
            }
            // A sum of numbers is finished before it is added, whether it has a name or not. Without a witness, a sum that
            // goes back starts from its first term.
            (Prim::SumBuild, _)
                if !e.ty().has_fixed_shape() && (args.len() == 3 || matches!(target, Target::Add(_))) =>
            {
                let values = args.iter().map(|a| self.eval(a, env)).collect::<Result<Vec<_>, _>>()?;
                let [witness @ .., n, Value::Function(f)] = values.as_slice() else {
                    panic!("sumbuild of no function")
                };
                self.sum_into(witness.first(), n, f, target).map_err(|error| located(error, e.span()))
            }
            (Prim::Loop, _) => {
                let values = args.iter().map(|a| self.eval(a, env)).collect::<Result<Vec<_>, _>>()?;
                let [Value::Integer(n), Value::Function(f), start, w] = values.as_slice() else {
                    panic!("a loop over {values:?}")
                };
                self.loop_into(*n, f, start, w, target)
            }
            (Prim::Build, Target::Add(place)) => {
                let n = Position::of(&self.eval(&args[0], env)?);
                let Value::Tensor(elements) = self.part(place) else { panic!("elements of no tensor") };
                let size = elements.size().to_vec();
                if n.as_size().as_deref() != Some(&size) {
                    let value = self.eval(e, env)?;
                    return self.distribute(value, target).map_err(|error| located(error, e.span()));
                }
                let Value::Function(f) = self.eval(&args[1], env)? else { panic!("build of no function") };
                let mut calls = Calls::of(&f);
                for (at, i) in Tensor::positions(&size).enumerate() {
                    calls.run(self, i.value(), &Target::Add(place.below(at)))?;
                }
                Ok(nothing())
            }
            _ => {
                let value = self.eval(e, env)?;
                self.distribute(value, target).map_err(|error| located(error, e.span()))
            }
        }
    }

    /// Returns the sum of what goes back to the caller of two values.
    fn sum_of_given(&mut self, a: Value, b: Value, target: &Target) -> Outcome {
        match (target, a, b) {
            (Target::Own, a, b) => self.add(&a, &b),
            (Target::Parts(parts), Value::Tuple(a), Value::Tuple(b)) => {
                let pairs = a.into_iter().zip(b).zip(parts);
                let sums = pairs.map(|((a, b), part)| self.sum_of_given(a, b, part));
                Ok(Value::Tuple(sums.collect::<Result<_, _>>()?))
            }
            _ => Ok(nothing()),
        }
    }

    /// Adds `f(i)` for each i. Parts that go back to the caller are summed from the zero of w's shape.
    pub(super) fn sum_into(&mut self, w: Option<&Value>, n: &Value, f: &Closure, target: &Target) -> Outcome {
        let size = size_of(&Position::of(n))?;
        let roots = self.roots.len();
        let inner = match w {
            Some(w) => self.with_zeros(w, target),
            None => target.clone(),
        };
        let mut calls = Calls::of(f);
        for i in Tensor::positions(&size) {
            calls.run(self, i.value(), &inner)?;
        }
        let sum = self.collect(target, &mut roots.clone());
        self.roots.truncate(roots);
        Ok(sum)
    }

    /// Computes `(s, z) = f(i, s)` for each i in turn, and returns the last s and the sum of the z.
    pub(super) fn loop_into(&mut self, n: i64, f: &Closure, start: &Value, w: &Value, target: &Target) -> Outcome {
        let roots = self.roots.len();
        let sum = self.with_zeros(w, &target.component(1));
        let inner = Target::Parts(vec![Target::Own, sum]);
        let mut calls = Calls::of(f);
        let mut state = start.clone();
        for i in 0..n {
            let before = std::mem::replace(&mut state, nothing());
            let Value::Tuple(mut parts) = calls.run(self, Value::Tuple(vec![Value::Integer(i), before]), &inner)?
            else {
                panic!("a step of a loop gives a pair")
            };
            state = parts.swap_remove(0);
            self.counts.states += all_floats(&state);
        }
        let sum = self.collect(&target.component(1), &mut roots.clone());
        self.roots.truncate(roots);
        let state = self.distribute(state, &target.component(0))?;
        Ok(Value::Tuple(vec![state, sum]))
    }

    /// Evaluates `a + b` by adding one to the other: to `b`, where only `b` needs no copy and the order does not show.
    pub(super) fn sum_of_two(&mut self, a: &Expr, b: &Expr, env: &mut Env) -> Outcome {
        const VARIABLE: u8 = 2;
        let rank = |cx: &Self, e: &Expr| match e.kind() {
            _ if cx.is_only_use(e) => VARIABLE,
            Kind::App(Op::Call(_) | Op::Get(..), _) => 1,
            _ => 0,
        };
        let (rank_a, rank_b) = (rank(self, a), rank(self, b));
        let is_second_first = rank_b > rank_a && (rank_b == VARIABLE || self.is_idle(a));
        let (a, b) = if is_second_first { (b, a) } else { (a, b) };
        let a = if self.is_only_use(a) { self.take(a, env) } else { self.eval(a, env)? };
        self.adding_to(a, |cx, target| cx.eval_into(b, env, target, None).map(drop))
    }

    /// Takes the value out of a variable, or out of a component of one, that is not used again.
    fn take(&mut self, e: &Expr, env: &mut Env) -> Value {
        let (x, path) = selection(e).expect("a use of a variable");
        let mut value = env.get_mut(&x.id()).expect("a bound variable");
        for i in path {
            let Value::Tuple(parts) = value else { panic!("a component of no tuple") };
            value = &mut parts[i - 1];
        }
        std::mem::replace(value, nothing())
    }

    /// Evaluates `$into(w, e)`: adds e to zeros of w's shape. Of a pair with a value, it adds the second component
    /// only.
    pub(super) fn starting_at_zero(&mut self, w: &Expr, e: &Expr, env: &mut Env, target: &Target) -> Outcome {
        let roots = self.roots.len();
        let is_beside = beside_a_value(w, e) && !target.destination(&[]).takes_all();
        let w = self.eval(w, env)?;
        let value = match w.as_tuple().filter(|_| is_beside) {
            Some(witnesses) => {
                let rest = target.component(1);
                let inner = Target::Parts(vec![target.component(0), self.with_zeros(&witnesses[1], &rest)]);
                let Value::Tuple(mut pair) = self.eval_into(e, env, &inner, None)? else {
                    panic!("{e:?} gives no pair")
                };
                pair[1] = self.collect(&rest, &mut roots.clone());
                Value::Tuple(pair)
            }
            None => {
                let inner = self.with_zeros(&w, target);
                self.eval_into(e, env, &inner, None)?;
                self.collect(target, &mut roots.clone())
            }
        };
        self.roots.truncate(roots);
        Ok(value)
    }
}
