//! Compares terms up to the numbers and names of bound variables.

use crate::term::{Def, Expr, Kind, Program, Rule, Var};
use rustc_hash::FxHashMap;

/// Returns whether two programs have the same definitions and external functions, in any order, and the same rules.
pub fn programs(a: &Program, b: &Program) -> bool {
    let same = |(name, def): (_, &Def)| b.defs.get(name).is_some_and(|other| defs(def, other));
    let same_rule = |(a, b): (&Rule, &Rule)| defs(&a.as_def(), &b.as_def());
    let same_rules = a.rules.len() == b.rules.len() && a.rules.iter().zip(&b.rules).all(same_rule);
    same_rules && a.externals == b.externals && a.defs.len() == b.defs.len() && a.defs.iter().all(same)
}

/// Returns whether two definitions have the same name, types and body.
pub fn defs(a: &Def, b: &Def) -> bool {
    let mut pairs = Pairs::default();
    a.fun == b.fun && pairs.bind(&a.params, &b.params) && pairs.equal(&a.body, &b.body)
}

/// Returns whether two terms are the same; free variables must be the same variables.
pub fn exprs(a: &Expr, b: &Expr) -> bool {
    Pairs::default().equal(a, b)
}

/// The bound variables met so far: each with its partner, in both directions.
///
/// Binders are unique in a term, so a pair is never undone. The maps are only looked up in.
#[derive(Default)]
struct Pairs {
    right_of: FxHashMap<u32, u32>,
    left_of: FxHashMap<u32, u32>,
}

impl Pairs {
    fn bind(&mut self, a: &[Var], b: &[Var]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| self.bind_one(x, y))
    }

    fn bind_one(&mut self, x: &Var, y: &Var) -> bool {
        self.right_of.insert(x.id(), y.id());
        self.left_of.insert(y.id(), x.id());
        x.ty() == y.ty()
    }

    fn are_partners(&self, x: &Var, y: &Var) -> bool {
        match (self.right_of.get(&x.id()), self.left_of.get(&y.id())) {
            (Some(right), Some(left)) => *right == y.id() && *left == x.id(),
            (None, None) => x == y,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    fn equal(&mut self, a: &Expr, b: &Expr) -> bool {
        if a.ty() != b.ty() || a.size() != b.size() {
            return false;
        }
        match (a.kind(), b.kind()) {
            (Kind::Const(c), Kind::Const(d)) => c == d,
            (Kind::Var(x), Kind::Var(y)) => self.are_partners(x, y),
            (Kind::App(f, args), Kind::App(g, others)) => {
                f == g && args.len() == others.len() && args.iter().zip(others).all(|(a, b)| self.equal(a, b))
            }
            (Kind::Let(bindings, body), Kind::Let(others, other)) => {
                bindings.len() == others.len()
                    && bindings.iter().zip(others).all(|(x, y)| {
                        let same_shape = std::mem::discriminant(&x.pattern) == std::mem::discriminant(&y.pattern);
                        same_shape && self.equal(&x.rhs, &y.rhs) && self.bind(x.pattern.vars(), y.pattern.vars())
                    })
                    && self.equal(body, other)
            }
            (Kind::Lam(x, body), Kind::Lam(y, other)) => self.bind_one(x, y) && self.equal(body, other),
            (Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..), _) => false,
        }
    }
}
