//! Derives the full Jacobian one binding at a time, for traces.
//!
//! ```text
//! f(x) = let y = e in b    =    let y = e in rest(x, y)         where rest(x, y) = b
//! ∂f(x)  =  let ∂x = 1 in let y = e in let ∂y = ∇[e] in ∂rest(x, y) ∘ (∂x × ∂y)
//! ```
//!
//! What is left to do is the Jacobian of a function, which is a term. So the rules of Fig. 6 that made the maps so far
//! make all of this definition, too: the rest is a call. The next definition has one more binding and a shorter rest.
//!
//! Source: working notes, Fig. 6. Takes: a definition in normal form. Gives: the same, with a call for its rest.

use lm::prim::{JacobianRule, Prim};
use lm::scope::{free_variables, renamed, substitute};
use lm::term::{Def, Expr, FunName, Kind, Op, Supply, Var};

/// Returns the number of steps: one for each binding, and one for a result that is an operator.
pub fn steps(def: &Def) -> usize {
    let (bindings, result) = def.body.as_block();
    bindings.len() + usize::from(!result.is_atom())
}

/// Returns the Jacobian by its name, which the first step replaces.
pub fn whole(def: &Def) -> Expr {
    Expr::app(Op::JacobianOfFun(def.fun.clone()), def.params.iter().map(Expr::var).collect())
}

/// Returns the rule after which so many steps are done: for the last binding among them, or for the result.
pub fn rule(def: &Def, done: usize) -> &'static str {
    let (bindings, result) = def.body.as_block();
    let last = done.checked_sub(1);
    last.map_or("nabla-function", |i| rule_of(bindings.get(i).map_or(result, |b| &b.rhs)))
}

fn rule_of(e: &Expr) -> &'static str {
    match e.kind() {
        Kind::Var(_) => "nabla-variable",
        Kind::Const(_) | Kind::Lam(..) | Kind::Let(..) => "nabla-constant",
        _ if !e.ty().is_differentiable() => "nabla-constant",
        Kind::App(op, args) => rule_of_operator(op, args),
    }
}

fn rule_of_operator(op: &Op, args: &[Expr]) -> &'static str {
    match op {
        Op::Tuple if !args.is_empty() => "nabla-tuple",
        Op::Get(..) => "nabla-get",
        Op::If => "nabla-if",
        Op::Assert => "nabla-assert",
        Op::Call(_) => "nabla-call",
        Op::Prim(p) => match p.jacobian() {
            JacobianRule::Zero => "nabla-constant",
            JacobianRule::Law(_) => "nabla-call",
            JacobianRule::Structural => OF_ARRAYS.iter().find(|(q, _)| q == p).map_or("nabla-fold", |(_, rule)| rule),
        },
        Op::Tuple | Op::Dummy | Op::JacobianOf(_) | Op::JacobianOfFun(_) | Op::JacobianAt(_) | Op::LmGet(..) => {
            "nabla-constant"
        }
        Op::Pack(_) | Op::Unpack(_) => "nabla-constant",
    }
}

/// The rules for arrays; the other primitives that have rules of their own are folds and loops.
const OF_ARRAYS: &[(Prim, &str)] = &[
    (Prim::Build, "nabla-build"),
    (Prim::SumBuild, "nabla-sumbuild"),
    (Prim::VecInit, "nabla-vector"),
    (Prim::Unzip, "nabla-unzip"),
    (Prim::Index, "nabla-index"),
    (Prim::Sum, "nabla-sum"),
    (Prim::DeltaAt, "nabla-delta"),
    (Prim::Into, "nabla-into"),
    (Prim::AddAt, "nabla-add-at"),
];

/// Returns a definition with a call in place of all that comes after its first bindings, and the function called.
pub fn with_rest(def: &Def, bindings: usize, name: FunName, supply: &mut Supply) -> (Def, Def) {
    let (all, result) = def.body.as_block();
    let (first, rest) = all.split_at(bindings);
    let rest = Expr::block(rest.to_vec(), result.clone());
    let read = free_variables(&rest);
    let params: Vec<Var> = read.iter().map(|x| supply.fresh(x.name(), x.ty().clone())).collect();
    let by = read.iter().map(Var::id).zip(params.iter().map(Expr::var)).collect();
    let rest = Def::new(name, params, substitute(&renamed(&rest, supply), &by));
    let call = Expr::app(Op::Call(rest.fun.clone()), read.iter().map(Expr::var).collect());
    (Def { body: Expr::block(first.to_vec(), call), ..def.clone() }, rest)
}
