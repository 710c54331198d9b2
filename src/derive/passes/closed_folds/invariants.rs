//! Takes out of the state of a fold what no step changes.
//!
//! ```text
//! fold(λ((a, s), x). (a, e{a, s, x}), (b, c), v)  =  (b, fold(λ(s, x). e{b, s, x}, c, v))
//! ```
//!
//! As a part of the state, a would have a cotangent for each step, as large as a is.

use lm::law::name_it;
use lm::prim::Prim;
use lm::scope::renamed;
use lm::term::{Binding, Def, Expr, FunName, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;

/// Returns the definition of a function that a program has.
pub type Callee<'a> = dyn Fn(&FunName) -> Option<Def> + 'a;

/// Returns a fold without the components that its steps keep, if there are any, and others.
pub fn without_invariants(e: &Expr, callee: &Callee, supply: &mut Supply) -> Option<Expr> {
    let [f, start, v] = e.args_of_prim(Prim::Fold)? else { return None };
    let Kind::Lam(p, body) = f.kind() else { return None };
    let types = start.ty().as_tuple()?.to_vec();
    let body = step_in_view(p, body, callee, supply);
    let (bindings, result) = body.as_block();
    let next = result.args_of(&Op::Tuple)?;
    let places = places(p, bindings);
    let is_kept = |i: usize| place(&next[i], &places) == Some(vec![1, i + 1]);
    let (kept, changed): (Vec<usize>, Vec<usize>) = (0..types.len()).partition(|i| is_kept(*i));
    if kept.is_empty() || changed.is_empty() {
        return None;
    }
    let mut out = Vec::new();
    let start = match start.args_of(&Op::Tuple) {
        Some(parts) => parts.iter().map(|part| name_it(part, supply, &mut out)).collect(),
        None => {
            let whole = name_it(start, supply, &mut out);
            (1..=types.len()).map(|i| Expr::get(i, whole.clone())).collect::<Vec<_>>()
        }
    };
    let together = |parts: Vec<Expr>| if let [one] = &parts[..] { one.clone() } else { Expr::tuple(parts) };
    let of_changed = |all: &[Expr]| together(changed.iter().map(|i| all[*i].clone()).collect());
    let first = of_changed(&start);
    let element = p.ty().as_tuple()?[1].clone();
    let q = supply.fresh(p.name(), Type::tuple([first.ty().clone(), element]));
    // All components, where those that change are those of a term.
    let all = |of: &Expr| {
        let part = |i: usize| match changed.iter().position(|k| *k == i) {
            None => start[i].clone(),
            Some(_) if changed.len() == 1 => of.clone(),
            Some(k) => Expr::get(k + 1, of.clone()),
        };
        Expr::tuple((0..types.len()).map(part).collect::<Vec<_>>())
    };
    let pair = Expr::tuple([all(&Expr::get(1, Expr::var(&q))), Expr::get(2, Expr::var(&q))]);
    let whole = Binding { pattern: Pattern::Var(p.clone()), rhs: pair };
    let step = Expr::block([vec![whole], bindings.to_vec()].concat(), of_changed(next));
    let fold = Expr::prim(Prim::Fold, [renamed(&Expr::lam(q, step), supply), first, v.clone()]);
    let last = name_it(&fold.at(e.span()), supply, &mut out);
    Some(Expr::block(out, all(&last)))
}

/// Returns the body of a step; of one that only calls a function of the program, that function's.
fn step_in_view(p: &Var, body: &Expr, callee: &Callee, supply: &mut Supply) -> Expr {
    let mut of_callee = || {
        let Kind::App(Op::Call(f), args) = body.kind() else { return None };
        let [argument] = &args[..] else { return None };
        let def = callee(&f.name).filter(|_| argument.as_var() == Some(p))?;
        let [param] = &def.params[..] else { return None };
        let binding = Binding { pattern: Pattern::Var(param.clone()), rhs: Expr::var(p) };
        Some(renamed(&Expr::block(vec![binding], def.body.clone()), supply))
    };
    of_callee().unwrap_or_else(|| body.clone())
}

/// Returns where in the pair of state and element the variables of a step lie that are parts of it.
fn places(p: &Var, bindings: &[Binding]) -> FxHashMap<u32, Vec<usize>> {
    let mut places = FxHashMap::from_iter([(p.id(), vec![])]);
    for b in bindings {
        let Some(of) = place(&b.rhs, &places) else { continue };
        match &b.pattern {
            Pattern::Var(x) => drop(places.insert(x.id(), of)),
            Pattern::Tuple(xs) => {
                places.extend(xs.iter().enumerate().map(|(i, x)| (x.id(), [&of[..], &[i + 1]].concat())));
            }
        }
    }
    places
}

fn place(e: &Expr, places: &FxHashMap<u32, Vec<usize>>) -> Option<Vec<usize>> {
    match e.kind() {
        Kind::Var(x) => places.get(&x.id()).cloned(),
        Kind::App(Op::Get(i, _), args) => Some([place(&args[0], places)?, vec![*i]].concat()),
        Kind::Const(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => None,
    }
}
