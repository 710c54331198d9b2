//! Makes one argument of all parameters, as derivatives take them.

use lm::term::{Binding, Expr, Pattern, Supply, Var};
use lm::types::Type;

/// `let params = s`, with s their tuple; s is the parameter itself when there is one.
pub(in crate::derive) fn whole_argument(params: &[Var], supply: &mut Supply) -> (Var, Vec<Binding>) {
    match params {
        [one] => (one.clone(), vec![]),
        many => {
            let s = supply.fresh("s", Type::tuple(many.iter().map(|p| p.ty().clone())));
            let unpack = Binding { pattern: Pattern::Tuple(many.to_vec()), rhs: Expr::var(&s) };
            (s, vec![unpack])
        }
    }
}
