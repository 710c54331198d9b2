//! Calls a linear map that an earlier stage shows by its name.
//!
//! ```text
//! fun lse'(x, dx)                             fun lse'(x, dx)
//!   = lmApply(let { .. } .., dx)        =       = lmApply(Dlse(x), dx)
//! ```
//!
//! A stage that only applies or transposes the map of the stage before repeats all of it. Where that is long, a reader
//! looks for what has changed, and nothing has. Only texts for people are shortened: KS-Lisp is read stage by stage.

use crate::derive::pipeline::Stage;
use lm::alpha;
use lm::notation::infix;
use lm::prim::Prim;
use lm::term::{Def, Expr, Kind, Op, Var};

/// The longest definition that is repeated, in lines.
const REPEATED: usize = 8;

/// Returns the definition of a stage that applies or transposes the map of an earlier one, with a call in place of it.
pub fn by_name(stage: &Stage, earlier: &[&Stage], width: usize) -> Option<Def> {
    let (bindings, result) = stage.def.body.as_block();
    let Kind::App(Op::Prim(p @ (Prim::LmApply | Prim::LmApplyR | Prim::LmTranspose)), args) = result.kind() else {
        return None;
    };
    let at = args.iter().position(|a| a.ty().as_lm().is_some())?;
    let bound = bindings.iter().flat_map(|b| b.pattern.vars());
    let known: Vec<&Var> = stage.def.params.iter().chain(bound).collect();
    let call = earlier.iter().rev().find_map(|earlier| call_of(&earlier.def, &args[at], &known, width))?;
    let mut args = args.clone();
    args[at] = call;
    let body = Expr::block(bindings.to_vec(), Expr::prim(*p, args));
    Some(Def { body, ..stage.def.clone() })
}

/// Returns a call of a definition with variables of the same names, if it is long and gives that map.
fn call_of(of: &Def, map: &Expr, known: &[&Var], width: usize) -> Option<Expr> {
    let same = |p: &Var| known.iter().rev().find(|x| x.name() == p.name() && x.ty() == p.ty());
    let args: Vec<Var> = of.params.iter().map(|p| same(p).map(|x| (*x).clone())).collect::<Option<_>>()?;
    let is_long = || infix::definition(of, infix::Format::Plain, width).lines().count() > REPEATED;
    let is_same = || alpha::defs(of, &Def { params: args.clone(), body: map.clone(), ..of.clone() });
    (of.body.ty() == map.ty() && is_long() && is_same())
        .then(|| Expr::app(Op::Call(of.fun.clone()), args.iter().map(Expr::var).collect()))
}
