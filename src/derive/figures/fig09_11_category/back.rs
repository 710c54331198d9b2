//! Converts CL back to terms: the meaning of CL.
//!
//! ```text
//! t ◇ I = t      t ◇ P[i1..im/n] = (t.i1, .., t.im)      t ◇ K(k) = k      t ◇ F(f) = f(t)
//! t ◇ (c1 ; c2) = (t ◇ c1) ◇ c2                  t ◇ (c1, .., cn) = (t ◇ c1, .., t ◇ cn)
//! t ◇ IF(c1, c2, c3) = if t ◇ c1 then t ◇ c2 else t ◇ c3
//! t ◇ L(x, cr, cb) = let x = t ◇ cr in (t ▷ x) ◇ cb
//! t ◇ B[p](cs, i, ce) = p(t ◇ cs, λi. (t ▷ i) ◇ ce)
//! ```
//!
//! Here t is a list of atoms, so that `t.i` is one of them, and nothing is copied that costs work: a value that
//! c2 takes for its environment gets a name first. Source: working notes, Fig. 10. Takes: CL. Gives: the term
//! that `convert` was given, if the CL is of one, pruned or not.

use super::{Argument, Def, Term};
use lm::term::{self, Binding, Expr, Op, Pattern, Span, Supply};
use std::borrow::Cow;

/// Returns the definition without CL, with the variables that the binders of CL name.
pub fn back(def: &Def, supply: &mut Supply) -> term::Def {
    let params: Vec<Expr> = def.params.iter().map(Expr::var).collect();
    let body = value(Back { supply }.term(&def.body, &params));
    term::Def { fun: def.fun.clone(), params: def.params.clone(), body }
}

/// Returns `t ◇ c` as one term; t is a list of atoms.
pub(super) fn applied(c: &Term, t: &[Expr], supply: &mut Supply) -> Expr {
    value(Back { supply }.term(c, t))
}

struct Back<'a> {
    supply: &'a mut Supply,
}

/// Returns a list as one value.
fn value(parts: Vec<Expr>) -> Expr {
    match <[Expr; 1]>::try_from(parts) {
        Ok([one]) => one,
        Err(many) => Expr::tuple(many),
    }
}

impl Back<'_> {
    /// Returns `t ◇ c`, as a list.
    fn term(&mut self, c: &Term, t: &[Expr]) -> Vec<Expr> {
        // Chains of lets and compositions are long, so they are not walked by recursion.
        let (mut c, mut t, mut bindings) = (c, Cow::Borrowed(t), Vec::new());
        let result = loop {
            match c {
                Term::Let(pattern, rhs, body) => {
                    let rhs = value(self.term(rhs, &t));
                    bindings.push(Binding { pattern: pattern.clone(), rhs });
                    t.to_mut().extend(pattern.vars().iter().map(Expr::var));
                    c = body;
                }
                Term::Compose(first, after) => {
                    t = Cow::Owned(self.term(first, &t));
                    if !matches!(**after, Term::Function { .. }) {
                        t.to_mut().iter_mut().for_each(|e| self.name(e, &mut bindings));
                    }
                    c = after;
                }
                Term::Function { op, arity, span } => {
                    break vec![self.function(op, *arity, *span, t.into_owned(), &mut bindings)];
                }
                Term::Identity => break t.into_owned(),
                Term::Pruning { chosen, .. } => break chosen.iter().map(|i| t[i - 1].clone()).collect(),
                Term::Tuple(parts) => break parts.iter().map(|part| value(self.term(part, &t))).collect(),
                Term::Constant(k) => break vec![Expr::constant(k.clone())],
                Term::Dummy(ty) => break vec![Expr::dummy(ty.clone())],
                Term::If(condition, yes, no) => {
                    let [c, a, b] = [condition, yes, no].map(|c| value(self.term(c, &t)));
                    break vec![Expr::conditional(c, a, b)];
                }
                Term::Binder { op, args, span } => {
                    let args = args.iter().map(|arg| self.argument(arg, &t)).collect();
                    break vec![application(op, args, *span)];
                }
            }
        };
        if bindings.is_empty() { result } else { vec![Expr::block(bindings, value(result))] }
    }

    /// Names a term that is no atom.
    fn name(&mut self, e: &mut Expr, bindings: &mut Vec<Binding>) {
        if !e.is_atom() {
            let x = self.supply.fresh("t", e.ty().clone());
            let rhs = std::mem::replace(e, Expr::var(&x));
            bindings.push(Binding { pattern: Pattern::Var(x), rhs });
        }
    }

    /// Returns `f(t)`; t is the list of the arguments, or one value that is their tuple.
    fn function(&mut self, op: &Op, arity: usize, span: Span, t: Vec<Expr>, bindings: &mut Vec<Binding>) -> Expr {
        if t.len() == arity {
            return application(op, t, span);
        }
        let mut whole = value(t);
        if arity == 1 {
            return application(op, vec![whole], span);
        }
        if whole.args_of(&Op::Tuple).is_none() {
            self.name(&mut whole, bindings);
        }
        application(op, (1..=arity).map(|i| Expr::get(i, whole.clone())).collect(), span)
    }

    fn argument(&mut self, arg: &Argument, t: &[Expr]) -> Expr {
        match arg {
            Argument::Value(c) => value(self.term(c, t)),
            Argument::Function(x, body) => {
                let inner: Vec<Expr> = t.iter().cloned().chain([Expr::var(x)]).collect();
                Expr::lam(x.clone(), value(self.term(body, &inner)))
            }
        }
    }
}

fn application(op: &Op, args: Vec<Expr>, span: Span) -> Expr {
    Expr::app(op.clone(), args).at(span)
}
