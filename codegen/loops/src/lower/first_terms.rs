//! Tells what the first term of a sum of numbers adds: whether the sum may begin with -0.
//!
//! ```text
//! f(0) + f(1) + ..   =   -0 + f(0) + f(1) + ..           where f(0) adds: -0 + x is x, for all x
//! f(0) + f(1) + ..   =    0 + f(0) + f(1) + ..           where f(0) adds nothing, for it is 0 then
//!
//! sumbuild m g       adds where m is positive, and g(0) adds
//! h(e)               adds where the body of h adds           x + y, k x, v[i], ..        add
//! ```
//!
//! Terms of sums go to the place of the sum (`into`), so a sum over nothing leaves it as it is. How many numbers the first
//! term has is asked before the loop, where m is simple. Else the first term is computed as it is, before the others:
//! that makes two copies of it, which nested sums would double again.

use lm::prim::Prim;
use lm::scope::{free_variables, substitute};
use lm::term::{Binding, Expr, FunName, Kind, Op, Pattern, Program, Var};
use lm::types::Type;
use rustc_hash::FxHashSet;

/// Knows which functions have values that add, when they are added to a sum of numbers.
pub(super) struct FirstTerms {
    /// The functions whose values may add nothing.
    may_add_nothing: FxHashSet<FunName>,
}

impl FirstTerms {
    /// Looks through a program.
    pub(super) fn of(program: &Program) -> FirstTerms {
        let mut terms = FirstTerms { may_add_nothing: FxHashSet::default() };
        // Most functions call those before them, so that few rounds are enough.
        loop {
            let known = terms.may_add_nothing.len();
            for def in program.defs.values() {
                if !terms.adds(&def.body) {
                    terms.may_add_nothing.insert(def.fun.name.clone());
                }
            }
            if terms.may_add_nothing.len() == known {
                return terms;
            }
        }
    }

    /// Returns sizes of which the first term of a sum adds if all are positive, and only then; none if such are not
    /// known. They are simple terms of variables that are bound outside of the function, which gives the terms.
    pub(super) fn sizes(&self, function: &Expr) -> Option<Vec<Expr>> {
        let Kind::Lam(x, term) = function.kind() else { return None };
        with_values(self.sizes_of_term(term)?, || Some(vec![(x, first_index(x.ty())?)]))
    }

    fn sizes_of_term(&self, term: &Expr) -> Option<Vec<Expr>> {
        let each_adds = |args: &[Expr]| args.iter().all(|e| self.adds(e)).then(Vec::new);
        match term.kind() {
            Kind::Let(bindings, body) => bindings.iter().rev().try_fold(self.sizes_of_term(body)?, |sizes, b| {
                let is_in = |x: &Var| sizes.iter().any(|size| free_variables(size).contains(x));
                if b.pattern.vars().iter().any(is_in) { with_values(sizes, || values(b)) } else { Some(sizes) }
            }),
            Kind::App(Op::If, args) => each_adds(&args[1..]),
            Kind::App(Op::Tuple | Op::Get(..), args) => each_adds(args),
            Kind::App(Op::Call(f), _) => (!self.may_add_nothing.contains(&f.name)).then(Vec::new),
            Kind::App(Op::Prim(Prim::SumBuild), args) => {
                let [n, f] = args.as_slice() else { return None };
                let mut sizes = self.sizes(f)?;
                sizes.push(n.clone());
                is_simple(n).then_some(sizes)
            }
            Kind::App(Op::Prim(Prim::Into), args) => each_adds(&args[1..]),
            Kind::App(Op::Prim(Prim::ZeroOf | Prim::Loop), _) => None,
            Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => Some(vec![]),
        }
    }

    /// Returns whether a term adds to a sum of numbers, whatever its variables are.
    fn adds(&self, term: &Expr) -> bool {
        self.sizes_of_term(term).is_some_and(|sizes| sizes.is_empty())
    }
}

/// Returns sizes with values in place of variables.
fn with_values<'a>(sizes: Vec<Expr>, values: impl FnOnce() -> Option<Vec<(&'a Var, Expr)>>) -> Option<Vec<Expr>> {
    if sizes.is_empty() {
        return Some(sizes);
    }
    let values = values()?.into_iter().map(|(x, value)| (x.id(), value)).collect();
    Some(sizes.iter().map(|size| substitute(size, &values)).collect())
}

/// Returns what the variables of a binding are, where it is simple.
fn values(b: &Binding) -> Option<Vec<(&Var, Expr)>> {
    let value = |(i, x)| match &b.pattern {
        Pattern::Var(_) => (x, b.rhs.clone()),
        Pattern::Tuple(_) => (x, Expr::get(i + 1, b.rhs.clone())),
    };
    is_simple(&b.rhs).then(|| b.pattern.vars().iter().enumerate().map(value).collect())
}

/// Returns the first index of a tensor.
fn first_index(ty: &Type) -> Option<Expr> {
    match ty {
        Type::Integer => Some(Expr::integer(0)),
        Type::Tuple(parts) => Some(Expr::tuple(parts.iter().map(first_index).collect::<Option<Vec<_>>>()?)),
        _ => None,
    }
}

/// Returns whether a size is computed without errors and without loops.
fn is_simple(size: &Expr) -> bool {
    match size.kind() {
        Kind::Const(_) | Kind::Var(_) => true,
        Kind::App(Op::Tuple | Op::Get(..) | Op::Prim(Prim::Size | Prim::Add | Prim::Sub | Prim::Mul), args) => {
            args.iter().all(is_simple)
        }
        Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}
