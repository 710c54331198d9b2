//! Typed terms: applications, the types of arguments, and their tuple.

use lm::term::{Expr, Op, Span};
use lm::types::Type;

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
