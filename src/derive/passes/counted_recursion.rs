//! Writes functions that call themselves once, and count, as folds.
//!
//! ```text
//! f(k, s, v) = if k >= e then b(k, s, v) else f(k + 1, g(k, s, v), v)             the call comes last
//!            = let t = fold (λ(s, i). g(k + i, s, v)) s (build n (λi. i)) in b(k + n, t, v)
//! f(k, v)    = if k >= e then b(k, v) else g(k, v, f(k + 1, v))                   nothing changes but the counter
//!            = fold (λ(r, i). g(k + (n - 1 - i), v, r)) b(k + n, v) (build n (λi. i))
//!                                                                                 n = max(e - k, 0)
//! ```
//!
//! e is made of parameters that the call passes on as they are. The function may count up or down by one, to `==`, `>=`
//! or `>`. Where it counts to `==` and is past it, the range is negative: an error, as the endless recursion was. What
//! a fold has, its laws, loops and lanes, recursion then has, too. Functions that print stay as they are. Takes and
//! gives: any term.

use crate::derive::forms::smallest;
use crate::derive::postcondition::{Facts, check};
use lm::effect::Effects;
use lm::prim::Prim;
use lm::scope::{free_variables, renamed, substitute};
use lm::term::{Binding, Def, Expr, FunName, Kind, Op, Pattern, Program, Supply, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;

/// Writes the functions of a program that count as folds.
pub fn counted_recursion(program: &mut Program) {
    let effects = Effects::of(program);
    let mut supply = std::mem::take(&mut program.supply);
    for def in program.defs.values_mut() {
        if let Some(counted) = Counted::of(def)
            && !effects.in_term(&def.body)
        {
            *def = Def { body: counted.fold(def, &mut supply), ..def.clone() };
            if cfg!(debug_assertions)
                && let Some(pass) = super::named("counted_recursion")
                && let Err(broken) = check(pass, def, &Facts::new(&effects))
            {
                panic!("{broken}");
            }
        }
    }
    program.supply = supply;
}

/// A function that counts.
struct Counted<'a> {
    /// The place among the parameters of the one that counts.
    counter: usize,
    /// Counts up.
    up: bool,
    /// Where it ends: at this place, or one further where that is `past` it.
    end: &'a Expr,
    past: bool,
    /// It ends at the place only, not beyond.
    exact: bool,
    /// What it is in the end.
    base: &'a Expr,
    /// What it is else: a block that ends in the call, if something changes but the counter.
    step: &'a Expr,
    /// The arguments of the call.
    args: &'a [Expr],
    /// The parameters that change, other than the one that counts.
    changed: Vec<usize>,
}

/// How a comparison ends a recursion, read as `counter OP end`.
#[derive(Clone, Copy, PartialEq)]
enum Stop {
    At,
    AtOrAbove,
    Above,
    AtOrBelow,
    Below,
}

impl Stop {
    /// Reads a comparison; `holds` says whether the recursion ends where it holds.
    fn of(p: Prim, is_flipped: bool, holds: bool) -> Option<Stop> {
        let (op, equal) = match p {
            Prim::Eq => return holds.then_some(Stop::At),
            Prim::Lt => (false, false),
            Prim::Lte => (false, true),
            Prim::Gt => (true, false),
            Prim::Gte => (true, true),
            _ => return None,
        };
        let above = op != is_flipped;
        Some(match (above == holds, equal == holds) {
            (true, true) => Stop::AtOrAbove,
            (true, false) => Stop::Above,
            (false, true) => Stop::AtOrBelow,
            (false, false) => Stop::Below,
        })
    }
}

impl<'a> Counted<'a> {
    fn of(def: &'a Def) -> Option<Counted<'a>> {
        let [condition, yes, no] = def.body.args_of(&Op::If)? else { return None };
        let name = &def.fun.name;
        // A fold of linear maps is none that a law removes.
        if calls(condition, name) || def.params.iter().any(|x| x.ty().mentions_lm()) {
            return None;
        }
        let (step, base, holds) = match (calls(yes, name), calls(no, name)) {
            (false, true) => (no, yes, true),
            (true, false) => (yes, no, false),
            _ => return None,
        };
        let args = only_call(step, name)?;
        if args.len() != def.params.len() || args.iter().any(|e| calls(e, name)) {
            return None;
        }
        let is_passed_on = |i: &usize| args[*i].as_var() == Some(&def.params[*i]);
        let passed_on: Vec<&Var> = (0..args.len()).filter(is_passed_on).map(|i| &def.params[i]).collect();
        let (condition, holds) = match condition.args_of_prim(Prim::Not) {
            Some([inner]) => (inner, !holds),
            _ => (condition, holds),
        };
        let Kind::App(Op::Prim(comparison), sides) = condition.kind() else { return None };
        let [left, right] = sides.as_slice() else { return None };
        let found = [(left, right, false), (right, left, true)].into_iter().find_map(|(side, end, is_flipped)| {
            let counter = def.params.iter().position(|x| side.as_var() == Some(x))?;
            let up = step_of(&args[counter], &def.params[counter])?;
            let is_fixed = is_plain(end) && free_variables(end).iter().all(|x| passed_on.contains(&x));
            is_fixed.then_some((counter, up, end, Stop::of(*comparison, is_flipped, holds)?))
        });
        let (counter, up, end, stop) = found?;
        let (past, exact) = match (stop, up) {
            (Stop::At, _) => (false, true),
            (Stop::AtOrAbove, true) | (Stop::AtOrBelow, false) => (false, false),
            (Stop::Above, true) | (Stop::Below, false) => (true, false),
            _ => return None,
        };
        let changed: Vec<usize> = (0..args.len()).filter(|i| !is_passed_on(i) && *i != counter).collect();
        let is_last = matches!(step.as_block().1.kind(), Kind::App(Op::Call(f), _) if f.name == *name);
        let counted = Counted { counter, up, end, past, exact, base, step, args, changed };
        (is_last != counted.changed.is_empty()).then_some(counted)
    }

    fn fold(&self, def: &Def, supply: &mut Supply) -> Expr {
        let mut out = Vec::new();
        let n = self.count(def, &mut out, supply);
        let folded = match self.changed.is_empty() {
            true => self.inward(def, &n, &mut out, supply),
            false => self.onward(def, &n, &mut out, supply),
        };
        Expr::block(out, folded).placed_throughout(def.body.span())
    }

    /// Binds the number of calls.
    fn count(&self, def: &Def, out: &mut Vec<Binding>, supply: &mut Supply) -> Expr {
        let start = Expr::var(&def.params[self.counter]);
        let ends = if self.up { [self.end.clone(), start] } else { [start, self.end.clone()] };
        let mut n = Expr::prim(Prim::Sub, ends);
        if self.past {
            n = Expr::prim(Prim::Add, [n, Expr::integer(1)]);
        }
        let n = bind("n", n, out, supply);
        if self.exact {
            return n;
        }
        let is_none = Expr::prim(Prim::Lt, [n.clone(), Expr::integer(0)]);
        bind("n", Expr::conditional(is_none, Expr::integer(0), n), out, supply)
    }

    /// Binds the counter after so many calls.
    fn counter_after(&self, calls: Expr, def: &Def, out: &mut Vec<Binding>, supply: &mut Supply) -> (u32, Expr) {
        let counter = &def.params[self.counter];
        let op = if self.up { Prim::Add } else { Prim::Sub };
        (counter.id(), bind(counter.name(), Expr::prim(op, [Expr::var(counter), calls]), out, supply))
    }

    /// The fold from the first arguments to the last.
    fn onward(&self, def: &Def, n: &Expr, out: &mut Vec<Binding>, supply: &mut Supply) -> Expr {
        let whole = |parts: Vec<Expr>| match parts.as_slice() {
            [one] => one.clone(),
            _ => Expr::tuple(parts),
        };
        let first = whole(self.changed.iter().map(|&i| Expr::var(&def.params[i])).collect());
        let state = first.ty().clone();
        let mut inner = Vec::new();
        let (s, mut known) = self.parts(def, &state, &mut inner, supply);
        let i = supply.fresh("i", Type::Integer);
        known.extend([self.counter_after(Expr::var(&i), def, &mut inner, supply)]);
        let (bindings, _) = self.step.as_block();
        let next = whole(self.changed.iter().map(|&i| self.args[i].clone()).collect());
        let step = substitute(&Expr::block(bindings.to_vec(), next), &known);
        let step = renamed(&Expr::block(inner, step), supply);
        let folded = over_range([s, i], step, first, n, supply);

        let mut after = Vec::new();
        let (last, mut known) = self.parts(def, &state, &mut after, supply);
        out.push(Binding { pattern: Pattern::Var(last), rhs: folded });
        out.extend(after);
        if free_variables(self.base).contains(&def.params[self.counter]) {
            known.extend([self.counter_after(n.clone(), def, out, supply)]);
        }
        substitute(self.base, &known)
    }

    /// The fold from the value of the last call to that of the first.
    fn inward(&self, def: &Def, n: &Expr, out: &mut Vec<Binding>, supply: &mut Supply) -> Expr {
        let first = match free_variables(self.base).contains(&def.params[self.counter]) {
            true => substitute(self.base, &[self.counter_after(n.clone(), def, out, supply)].into_iter().collect()),
            false => self.base.clone(),
        };
        let first = bind("first", first, out, supply);
        let last = bind("last", Expr::prim(Prim::Sub, [n.clone(), Expr::integer(1)]), out, supply);
        let (r, i) = (supply.fresh("r", first.ty().clone()), supply.fresh("i", Type::Integer));
        let mut inner = Vec::new();
        let before = Expr::prim(Prim::Sub, [last, Expr::var(&i)]);
        let known = [self.counter_after(before, def, &mut inner, supply)].into_iter().collect();
        let step = with_value(self.step, &def.fun.name, &Expr::var(&r));
        let step = renamed(&Expr::block(inner, substitute(&step, &known)), supply);
        over_range([r, i], step, first, n, supply)
    }

    /// Returns a variable for the state, and what stands for the parameters that change, given bindings of its parts.
    fn parts(
        &self,
        def: &Def,
        state: &Type,
        out: &mut Vec<Binding>,
        supply: &mut Supply,
    ) -> (Var, FxHashMap<u32, Expr>) {
        let params: Vec<&Var> = self.changed.iter().map(|&i| &def.params[i]).collect();
        let new: Vec<Var> = params.iter().map(|x| supply.fresh(x.name(), x.ty().clone())).collect();
        let known = params.iter().zip(&new).map(|(old, new)| (old.id(), Expr::var(new))).collect();
        match new.as_slice() {
            [one] => (one.clone(), known),
            _ => {
                let s = supply.fresh("s", state.clone());
                out.push(Binding { pattern: Pattern::Tuple(new), rhs: Expr::var(&s) });
                (s, known)
            }
        }
    }
}

fn bind(name: &str, rhs: Expr, out: &mut Vec<Binding>, supply: &mut Supply) -> Expr {
    let x = supply.fresh(name, rhs.ty().clone());
    out.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
    Expr::var(&x)
}

/// Returns `fold (λ(s, i). step) first (build n (λi. i))`.
fn over_range([s, i]: [Var; 2], step: Expr, first: Expr, n: &Expr, supply: &mut Supply) -> Expr {
    let t = supply.fresh("t", Type::Tuple([s.ty().clone(), Type::Integer].into()));
    let pair = Binding { pattern: Pattern::Tuple(vec![s, i]), rhs: Expr::var(&t) };
    let j = supply.fresh("i", Type::Integer);
    let range = Expr::prim(Prim::Build, [n.clone(), Expr::lam(j.clone(), Expr::var(&j))]);
    Expr::prim(Prim::Fold, [Expr::lam(t, Expr::block(vec![pair], step)), first, range])
}

/// Returns the arguments of the only call of a function in a term, if it is made whenever the term is evaluated.
fn only_call<'a>(e: &'a Expr, name: &FunName) -> Option<&'a [Expr]> {
    let mut count = 0;
    e.visit(|e| count += usize::from(is_call(e, name)));
    if count == 1 { always_made(e, name) } else { None }
}

fn always_made<'a>(e: &'a Expr, name: &FunName) -> Option<&'a [Expr]> {
    match e.kind() {
        Kind::App(_, args) if is_call(e, name) => Some(args),
        Kind::App(Op::If, args) => always_made(&args[0], name),
        Kind::App(_, args) => args.iter().find_map(|arg| always_made(arg, name)),
        Kind::Let(bindings, body) => {
            bindings.iter().map(|b| &b.rhs).chain([body]).find_map(|part| always_made(part, name))
        }
        Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => None,
    }
}

/// Returns a term with the value of the calls of a function.
fn with_value(e: &Expr, name: &FunName, value: &Expr) -> Expr {
    if is_call(e, name) { value.clone() } else { e.map_children(|child| with_value(child, name, value)) }
}

/// Returns whether an argument is the counter and one more, or one less.
fn step_of(arg: &Expr, counter: &Var) -> Option<bool> {
    let is_counter = |e: &Expr| e.as_var() == Some(counter);
    let Kind::App(Op::Prim(p), sides) = arg.kind() else { return None };
    let [a, b] = sides.as_slice() else { return None };
    let [one, minus_one] = [Expr::integer(1), Expr::integer(-1)];
    match p {
        Prim::Add if (is_counter(a) && *b == one) || (is_counter(b) && *a == one) => Some(true),
        Prim::Add if (is_counter(a) && *b == minus_one) || (is_counter(b) && *a == minus_one) => Some(false),
        Prim::Sub if is_counter(a) && *b == one => Some(false),
        _ => None,
    }
}

/// Returns whether a term is Integer arithmetic on parameters and sizes, which neither fails nor costs.
fn is_plain(e: &Expr) -> bool {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => true,
        Kind::App(Op::Get(..) | Op::Prim(Prim::Add | Prim::Sub | Prim::Mul | Prim::Size), args) => {
            args.iter().all(is_plain)
        }
        Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}

fn calls(e: &Expr, name: &FunName) -> bool {
    e.any(|e| is_call(e, name))
}

fn is_call(e: &Expr, name: &FunName) -> bool {
    matches!(e.kind(), Kind::App(Op::Call(f), _) if f.name == *name)
}

/// Returns what breaks the postcondition: a function that counts, and calls itself.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    Counted::of(def).filter(|_| !facts.effects.in_term(&def.body))?;
    smallest(&def.body, |e| calls(e, &def.fun.name))
}
