//! Converts UNF back to terms: the meaning of UNF.
//!
//! Each value of the list is an atom. `var_i` names one again, so that it costs nothing, and `proj` forgets atoms: what
//! is left is a binding for each operator. Source: *Denotationally correct ..*, Fig. 10, after the forward substitution of
//! sec. 5.1. Takes: UNF. Gives: the term that `convert` was given, in normal form, but for bindings of several names.

use super::{Argument, Def, Named, Step, values};
use lm::term::{self, Binding, Expr, Op, Pattern, Supply, Var};

/// Returns the definition without UNF, with the variables that UNF names.
pub fn back(def: &Def, supply: &mut Supply) -> term::Def {
    let (bindings, result) = evaluated(def, supply);
    let body = whole(bindings, result, &def.steps);
    term::Def { fun: def.fun.clone(), params: def.params.clone(), body }
}

/// Returns the bindings of a definition, one for each operator, and its result, an atom.
pub(super) fn evaluated(def: &Def, supply: &mut Supply) -> (Vec<Binding>, Expr) {
    let list = def.params.iter().map(Expr::var).collect();
    let mut run = Run { supply, list, out: Vec::new() };
    run.steps(&def.steps);
    (run.out, run.list.pop().expect("the steps add the result"))
}

/// Returns the block of steps. A last value that had no name in the program is its result as it is.
fn whole(mut bindings: Vec<Binding>, result: Expr, steps: &[Step]) -> Expr {
    let last = steps.iter().rev().find_map(|step| match step {
        Step::Proj(_) => None,
        Step::Op { result, .. } | Step::If { result, .. } | Step::Binder { result, .. } => Some(result.name.is_none()),
        Step::Var(_) | Step::Constant(_) | Step::Dummy(_) => Some(false),
    });
    let is_last = |b: &Binding| matches!(&b.pattern, Pattern::Var(x) if result.as_var() == Some(x));
    match (last, bindings.pop()) {
        (Some(true), Some(b)) if is_last(&b) => Expr::block(bindings, b.rhs),
        (_, b) => Expr::block(bindings.into_iter().chain(b).collect(), result),
    }
}

struct Run<'a> {
    supply: &'a mut Supply,
    /// The values so far: atoms.
    list: Vec<Expr>,
    out: Vec<Binding>,
}

impl Run<'_> {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Var(i) => self.list.push(self.list[i - 1].clone()),
                Step::Constant(k) => self.list.push(Expr::constant(k.clone())),
                Step::Dummy(ty) => self.list.push(Expr::dummy(ty.clone())),
                Step::Op { op, arity, result } => {
                    let args = self.last(*arity);
                    self.bind(Expr::app(op.clone(), args), result);
                }
                Step::If { yes, no, result } => {
                    let c = self.last(1).remove(0);
                    let [yes, no] = [yes, no].map(|branch| self.branch(branch));
                    self.bind(Expr::app(Op::If, vec![c, yes, no]), result);
                }
                Step::Binder { op, args, result } => {
                    let mut values = self.last(values(args)).into_iter();
                    let args = args.iter().map(|arg| match arg {
                        Argument::Value => values.next().expect("they are counted"),
                        Argument::Function(x, body) => self.function(x, body),
                    });
                    let args = args.collect();
                    self.bind(Expr::app(op.clone(), args), result);
                }
                Step::Proj(dropped) => {
                    let kept = self.list.len() - 1;
                    self.list.drain(kept - dropped..kept);
                }
            }
        }
    }

    fn last(&self, n: usize) -> Vec<Expr> {
        self.list[self.list.len() - n..].to_vec()
    }

    fn bind(&mut self, rhs: Expr, result: &Named) {
        let x = result.name.clone().unwrap_or_else(|| self.supply.fresh("t", rhs.ty().clone()));
        self.list.push(Expr::var(&x));
        self.out.push(Binding { pattern: Pattern::Var(x), rhs: rhs.at(result.span) });
    }

    fn function(&mut self, x: &Var, body: &[Step]) -> Expr {
        self.list.push(Expr::var(x));
        let body = self.branch(body);
        self.list.pop();
        Expr::lam(x.clone(), body)
    }

    /// Returns the block of steps that add one value to the list, which stays.
    fn branch(&mut self, steps: &[Step]) -> Expr {
        let outer = std::mem::take(&mut self.out);
        self.steps(steps);
        let bindings = std::mem::replace(&mut self.out, outer);
        let result = self.list.pop().expect("the steps add a value");
        whole(bindings, result, steps)
    }
}
