//! Typed terms: applications, the types of arguments, and their tuple.

use lm::prim::Prim;
use lm::scope::{occurrences, substitute};
use lm::term::{Binding, Expr, Kind, Op, Pattern, Span, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;

/// Returns the types of arguments.
pub fn types(args: &[Expr]) -> Vec<Type> {
    args.iter().map(|arg| arg.ty().clone()).collect()
}

/// Returns the one argument, or the tuple of all.
pub fn gather(mut args: Vec<Expr>, span: Span) -> Expr {
    match args.len() {
        1 => args.remove(0),
        _ => apply(Op::Tuple, args, span),
    }
}

/// Returns the operator applied to arguments that were checked to fit it.
pub fn apply(op: Op, args: Vec<Expr>, span: Span) -> Expr {
    Expr::try_app(op.clone(), args, span)
        .unwrap_or_else(|| panic!("checker: {op:?} does not take the arguments it was chosen for"))
}

/// Returns the type of the one argument, or of the tuple of all.
pub fn argument_type(types: &[Type]) -> Type {
    match types {
        [one] => one.clone(),
        many => Type::tuple(many.iter().cloned()),
    }
}

/// Returns the body of a function with its argument. A variable, a constant, or an element that is read once, needs no
/// name. An element that only one branch reads has one: it may be out of range.
pub fn with_argument(x: &Var, arg: Expr, body: &Expr) -> Expr {
    let is_element = arg.args_of_prim(Prim::Index).is_some_and(|parts| parts.iter().all(Expr::is_atom));
    let has_branches = || body.any(|e| matches!(e.kind(), Kind::App(Op::If, _)));
    let is_read_once = || occurrences(body).get(&x.id()) == Some(&1) && !has_branches();
    if matches!(arg.kind(), Kind::Var(_) | Kind::Const(_)) || is_element && is_read_once() {
        return substitute(body, &FxHashMap::from_iter([(x.id(), arg)]));
    }
    bound(x, arg, body)
}

/// Returns the body of a function with its argument under its name.
pub fn bound(x: &Var, arg: Expr, body: &Expr) -> Expr {
    Expr::block(vec![Binding { pattern: Pattern::Var(x.clone()), rhs: arg }], body.clone())
}
