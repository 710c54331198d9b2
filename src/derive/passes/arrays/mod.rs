//! Fuses loops, and drops the zeros of arrays in which one element is not zero.
//!
//! ```text
//! let t = $delta_at(v, k, 1.0) in sumbuild(size(v), λi. w[i] * t[i])   =   w[k]      0 <= k < size(v)
//! build((n, m), λp. build(m, λj. build(n, λi. e))[p.2][p.1])           =   build((n, m), λp. let { i = p.1; j = p.2 } e)
//! ```
//!
//! A walk in the order of evaluation tells what is known ([`lm::facts`]): what names stand for, the ranges of indices, the
//! conditions of branches. At each term, the laws of arrays are applied until none fits. They see through names.
//!
//! Source: Efficient differentiable programming in a functional array-processing language (ICFP 2019), Fig. 8. Takes: a
//! definition without linear maps. Gives: one to which no law of the strategy applies.

mod early;
mod early_loops;
mod steps;

use crate::derive::forms::smallest_binding;
use crate::derive::postcondition::Facts;
use early::Early;
use lm::effect::Effects;
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter, Rounds};
use lm::rewrites::Rewrites;
use lm::scope::{free_variables, occurrences};
use lm::sizes::Signature;
use lm::strategy::Strategy;
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use steps::with_named_components;

/// The most walks over a definition; a walk that changes nothing ends the pass before.
const WALKS: usize = 12;

/// Applies the laws of arrays everywhere. `laws` are those of one term, `sizes` what is known of the parameters.
pub fn arrays(
    def: &Def,
    sizes: Option<&Signature>,
    laws: &Strategy,
    effects: &Effects,
    cx: &mut Rewriter,
) -> Result<Def, OutOfFuel> {
    walked(def, sizes, Some(laws), effects, cx)
}

/// Computes before a loop all numbers, and results of loops, that no step of it changes.
pub fn hoist(def: &Def, sizes: Option<&Signature>, effects: &Effects, cx: &mut Rewriter) -> Result<Def, OutOfFuel> {
    walked(def, sizes, None, effects, cx)
}

/// By laws, or, without, out of loops.
fn walked(
    def: &Def,
    sizes: Option<&Signature>,
    laws: Option<&Strategy>,
    effects: &Effects,
    cx: &mut Rewriter,
) -> Result<Def, OutOfFuel> {
    let (laws, hoists) = (laws.unwrap_or(&Strategy::Fail), laws.is_none());
    let mut body = def.body.clone();
    for _ in 0..WALKS {
        cx.context.facts = lm::facts::Facts::of(sizes, &def.params);
        cx.forget();
        let uses = occurrences(&body);
        let mut once = FxHashSet::default();
        used_once(&body, &mut FxHashSet::default(), &mut |x| uses.get(&x) == Some(&1), &mut once);
        let mut read_once = FxHashSet::default();
        // A use in a function counts twice.
        arrays_read_once(&body, &Around::default(), &mut |x| uses.get(&x) == Some(&2), &mut read_once);
        let by = FxHashMap::default();
        let mut walk = Walk {
            laws,
            hoists,
            effects,
            once,
            read_once,
            is_of_result: true,
            directions: 0,
            of_steps: FxHashSet::default(),
            by,
            cx,
        };
        let walked = walk.block(&body)?;
        let next = without_unused(&walked, effects, cx.rewrites);
        if next == body {
            break;
        }
        body = next;
    }
    Ok(Def { body, ..def.clone() })
}

struct Walk<'a, 'b> {
    laws: &'a Strategy,
    /// Whether numbers leave loops, too.
    hoists: bool,
    effects: &'a Effects,
    /// The variables that are used once, in the function and branch that binds them.
    once: FxHashSet<u32>,
    /// The arrays of which each element is read at most once, in one loop.
    read_once: FxHashSet<u32>,
    /// Whether the term is a part of the result, as it is: a `build` there is a loop over directions.
    is_of_result: bool,
    /// The number of loops over directions around.
    directions: usize,
    /// What depends on the step of a loop below a direction.
    of_steps: FxHashSet<u32>,
    /// What takes the place of a name.
    by: FxHashMap<u32, Expr>,
    cx: &'a mut Rewriter<'b>,
}

impl Walk<'_, '_> {
    fn block(&mut self, e: &Expr) -> Result<Expr, OutOfFuel> {
        let (bindings, result) = e.as_block();
        let before = self.cx.context.facts.mark();
        let mut out = Vec::with_capacity(bindings.len());
        for b in bindings {
            self.binding(b, &mut out)?;
        }
        let result = self.term(result, &mut out)?;
        self.cx.context.facts.forget_since(before);
        Ok(self.with_bindings_in_branches(out, result))
    }

    fn binding(&mut self, b: &Binding, out: &mut Vec<Binding>) -> Result<(), OutOfFuel> {
        let around = std::mem::take(&mut self.is_of_result);
        let rhs = self.term(&b.rhs, out)?;
        self.is_of_result = around;
        match (&b.pattern, rhs.args_of(&Op::Tuple)) {
            (Pattern::Var(x), _) => {
                if let Some(law) = self.inlined_by(x, &rhs)
                    && self.cx.rewrites.may(law)
                {
                    self.by.insert(x.id(), rhs);
                    return Ok(());
                }
                if let Some(parts) = rhs.args_of(&Op::Tuple)
                    && self.cx.rewrites.may("let-components")
                {
                    return self.by_components(x, parts, out);
                }
            }
            (Pattern::Tuple(xs), Some(parts)) if self.cx.rewrites.may("let-tuple") => {
                let one = |(x, part): (&Var, &Expr)| Binding { pattern: Pattern::Var(x.clone()), rhs: part.clone() };
                return xs.iter().zip(parts).map(one).try_for_each(|b| self.binding(&b, out));
            }
            (Pattern::Tuple(xs), None) if self.is_index(&rhs) && self.cx.rewrites.may("let-tuple") => {
                let component = |(k, x): (usize, &Var)| (x.id(), Expr::get(k + 1, rhs.clone()));
                self.by.extend(xs.iter().enumerate().map(component));
                return Ok(());
            }
            _ => {}
        }
        let b = Binding { pattern: b.pattern.clone(), rhs };
        if self.is_of_steps(&b.rhs) {
            self.of_steps.extend(b.pattern.vars().iter().map(Var::id));
        }
        if !self.effects.in_term(&b.rhs) {
            // Where no direction counts, another array may be the same, and be made once for both.
            let facts = &self.cx.context.facts;
            let is_late_array = || is_made_by_elements(&b.rhs, facts) && facts.is_late(&b.rhs);
            let is_once = matches!(&b.pattern, Pattern::Var(x)
                if self.once.contains(&x.id()) || self.read_once.contains(&x.id()) && is_late_array());
            self.cx.context.facts.name(&b, is_once);
        }
        out.push(b);
        Ok(())
    }

    /// Names the components of a tuple, instead of the tuple.
    fn by_components(&mut self, x: &Var, parts: &[Expr], out: &mut Vec<Binding>) -> Result<(), OutOfFuel> {
        let mut names = Vec::with_capacity(parts.len());
        for part in parts {
            let y = self.cx.supply.fresh(x.name(), part.ty().clone());
            names.push(Expr::var(&y));
            self.binding(&Binding { pattern: Pattern::Var(y), rhs: part.clone() }, out)?;
        }
        let names = names.iter().map(|y| self.by.get(&y.as_var().expect("a name").id()).unwrap_or(y).clone());
        let tuple = Expr::tuple(names.collect::<Vec<_>>());
        self.by.insert(x.id(), tuple);
        Ok(())
    }

    /// Applies the laws in a term, and at its root until none fits; pushes bindings to `out`.
    fn term(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        let (mut e, mut rounds) = (e.clone(), Rounds::default());
        loop {
            e = self.inner(&e, out)?;
            let Some(new) = self.cx.run_on(self.laws, &e)?.filter(|new| *new != e) else { return Ok(e) };
            let (bindings, result) = new.as_block();
            if !bindings.is_empty() && !self.cx.rewrites.may("let-let") {
                return Ok(new);
            }
            for b in bindings {
                self.binding(b, out)?;
            }
            e = result.clone();
            self.cx.round(&mut rounds, &e)?;
        }
    }

    fn inner(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        let new = match e.kind() {
            Kind::Const(_) | Kind::App(Op::Dummy, _) => return Ok(e.clone()),
            Kind::Var(x) => return Ok(self.by.get(&x.id()).unwrap_or(e).clone()),
            Kind::Let(bindings, result) if self.cx.rewrites.may("let-let") => {
                bindings.iter().try_for_each(|b| self.binding(b, out))?;
                return self.term(result, out);
            }
            Kind::Let(..) => return self.block(e),
            Kind::Lam(x, body) => Expr::lam(x.clone(), self.block(body)?),
            Kind::App(Op::If, args) => {
                let c = self.term(&args[0], out)?;
                let [yes, no] = [(true, &args[1]), (false, &args[2])].map(|(value, branch)| {
                    let before = self.cx.context.facts.mark();
                    self.cx.context.facts.condition(&c, value);
                    let branch = self.block(branch);
                    self.cx.context.facts.forget_since(before);
                    branch
                });
                Expr::conditional(c, yes?, no?)
            }
            Kind::App(op, args) => self.application(op, args, out)?,
        };
        Ok(if new == *e { e.clone() } else { new.at(e.span()) })
    }

    fn is_of_steps(&self, e: &Expr) -> bool {
        !self.of_steps.is_empty() && free_variables(e).iter().any(|x| self.of_steps.contains(&x.id()))
    }

    /// Returns whether a term is a loop that is computed once for all directions, so that no branch is its place.
    fn leaves_loop(&self, e: &Expr) -> bool {
        let is_loop = || e.any(|e| matches!(e.kind(), Kind::Lam(..)));
        self.directions > 0 && is_loop() && !self.cx.context.facts.is_late(e) && !self.is_of_steps(e)
    }

    fn application(&mut self, op: &Op, args: &[Expr], out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        let around = self.is_of_result;
        self.is_of_result &= matches!(op, Op::Tuple | Op::Prim(Prim::Build));
        let is_direction = self.is_of_result && *op == Op::Prim(Prim::Build);
        self.directions += usize::from(is_direction);
        let mut new: Vec<Expr> = Vec::with_capacity(args.len());
        for arg in args {
            let arg = match op {
                Op::Prim(Prim::Fold | Prim::Scanl | Prim::Loop) => {
                    with_named_components(arg, self.cx.supply, self.cx.rewrites)
                }
                _ => arg.clone(),
            };
            if let (Op::Prim(p), Kind::Lam(x, body), Some(n)) = (op, arg.kind(), new.last()) {
                let facts = &mut self.cx.context.facts;
                match p {
                    Prim::Build | Prim::SumBuild => facts.index(x, n),
                    Prim::Loop => number_of_step(x, body).into_iter().for_each(|i| facts.index(i, n)),
                    _ => {}
                }
                if is_direction {
                    facts.direction(x);
                } else if self.directions > 0 {
                    self.of_steps.insert(x.id());
                }
            }
            let arg = self.term(&arg, out)?;
            let arg =
                if self.directions > 0 || self.hoists { self.without_early(op, new.last(), arg, out) } else { arg };
            new.push(arg);
        }
        self.directions -= usize::from(is_direction);
        self.is_of_result = around;
        Ok(Expr::app(op.clone(), new))
    }

    /// Returns the function of a loop without what no step changes, which goes to `out`.
    fn without_early(&mut self, op: &Op, n: Option<&Expr>, f: Expr, out: &mut Vec<Binding>) -> Expr {
        let (Op::Prim(Prim::Build | Prim::SumBuild), Some(n), Kind::Lam(i, body)) = (op, n, f.kind()) else { return f };
        let mut early = Early::new(&self.cx.context.facts, self.effects, self.cx.rewrites, self.cx.supply);
        early.hoists = self.hoists;
        let (new, found) = early.out_of(n, i, body);
        if found.is_empty() {
            return f;
        }
        for b in found {
            self.cx.context.facts.name(&b, false);
            out.push(b);
        }
        new.at(f.span())
    }

    fn is_index(&self, e: &Expr) -> bool {
        e.as_var().is_some_and(|x| self.cx.context.facts.is_index(x))
    }

    /// Returns the law by which a term takes the place of its name.
    fn inlined_by(&self, x: &Var, rhs: &Expr) -> Option<&'static str> {
        if rhs.is_atom() || rhs.is_short_tuple() || is_load(rhs) {
            return Some("let-atom");
        }
        (self.once.contains(&x.id()) && !self.effects.in_term(rhs)).then_some("let-once")
    }

    /// Returns a block. What only one branch of its result uses is computed there, if the other one is zero.
    fn with_bindings_in_branches(&mut self, mut out: Vec<Binding>, result: Expr) -> Expr {
        let Some([c, yes, no]) = result.args_of(&Op::If) else { return Expr::block(out, result) };
        let is_zero = |e: &Expr| e.args_of_prim(Prim::ZeroOf).is_some();
        let (branch, other) = match (is_zero(yes), is_zero(no)) {
            (false, true) => (yes, no),
            (true, false) => (no, yes),
            _ => return Expr::block(out, result),
        };
        let mut outside = free_variables(c);
        outside.extend(free_variables(other));
        let mut inside = Vec::new();
        for k in (0..out.len()).rev() {
            let stays = self.effects.in_term(&out[k].rhs)
                || self.leaves_loop(&out[k].rhs)
                || out[k].pattern.vars().iter().any(|x| outside.contains(x));
            if stays || !self.cx.rewrites.may("let-branch") {
                outside.extend(free_variables(&out[k].rhs));
            } else {
                inside.insert(0, out.remove(k));
            }
        }
        if inside.is_empty() {
            return Expr::block(out, result);
        }
        let branch = Expr::block(inside, branch.clone());
        let [yes, no] = if is_zero(no) { [branch, no.clone()] } else { [yes.clone(), branch] };
        let span = result.span();
        Expr::block(out, Expr::conditional(c.clone(), yes, no).at(span))
    }
}

/// Returns the variable that has the number of the step, of a step of a loop.
fn number_of_step<'e>(p: &Var, body: &'e Expr) -> Option<&'e Var> {
    let first = body.as_block().0.first()?;
    match &first.pattern {
        Pattern::Tuple(xs) if first.rhs.as_var() == Some(p) => xs.first(),
        _ => None,
    }
}

/// Returns whether the term reads a number, or compares two.
fn is_load(e: &Expr) -> bool {
    match e.kind() {
        Kind::App(Op::Prim(Prim::Index), _) if *e.ty() != Type::Float => false,
        Kind::App(Op::Prim(Prim::Index | Prim::Eq | Prim::Size) | Op::Get(..), args) => {
            args.iter().all(|a| a.is_atom() || a.is_short_tuple())
        }
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}

/// Collects the variables that are used once, not in a function or branch inside of the one that binds them.
fn used_once(e: &Expr, bound: &mut FxHashSet<u32>, is_once: &mut dyn FnMut(u32) -> bool, found: &mut FxHashSet<u32>) {
    match e.kind() {
        Kind::Const(_) => {}
        Kind::Var(x) => {
            if bound.contains(&x.id()) && is_once(x.id()) {
                found.insert(x.id());
            }
        }
        Kind::Lam(_, body) => used_once(body, &mut FxHashSet::default(), is_once, found),
        Kind::App(Op::If, args) => {
            used_once(&args[0], bound, is_once, found);
            args[1..].iter().for_each(|branch| used_once(branch, &mut FxHashSet::default(), is_once, found));
        }
        Kind::Let(bindings, body) => {
            for b in bindings {
                used_once(&b.rhs, bound, is_once, found);
                bound.extend(b.pattern.vars().iter().map(|x| x.id()));
            }
            used_once(body, bound, is_once, found);
        }
        Kind::App(_, args) => args.iter().for_each(|a| used_once(a, bound, is_once, found)),
    }
}

/// Returns whether an element of an array is made of a number that is cheap and elements of others at its place.
fn is_made_by_elements(e: &Expr, facts: &lm::facts::Facts) -> bool {
    let is_made = |e: &Expr| e.is_atom() || is_made_by_elements(e, facts);
    match e.kind() {
        Kind::App(Op::Prim(Prim::Build | Prim::DeltaAt), _) => true,
        Kind::App(Op::Prim(Prim::Add | Prim::Sub | Prim::Neg), args) => args.iter().all(is_made),
        Kind::App(Op::Prim(Prim::Mul), args) => facts.is_cheap(&args[0]) && is_made(&args[1]),
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}

/// The variables of the function around, and of the one around that with the index of the loop between them.
#[derive(Clone, Default)]
struct Around {
    bound: FxHashSet<u32>,
    outer: Option<(u32, FxHashSet<u32>)>,
}

/// Collects the variables that are used once, in `index(i, x)` under the λi of a loop right below what binds them.
fn arrays_read_once(e: &Expr, around: &Around, is_once: &mut dyn FnMut(u32) -> bool, found: &mut FxHashSet<u32>) {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => {}
        Kind::Lam(_, body) => arrays_read_once(body, &Around::default(), is_once, found),
        Kind::Let(bindings, body) => {
            let mut around = around.clone();
            for b in bindings {
                arrays_read_once(&b.rhs, &around, is_once, found);
                around.bound.extend(b.pattern.vars().iter().map(|x| x.id()));
            }
            arrays_read_once(body, &around, is_once, found);
        }
        Kind::App(Op::Prim(Prim::Build | Prim::SumBuild), args) => {
            let [before @ .., f] = args.as_slice() else { return };
            before.iter().for_each(|a| arrays_read_once(a, around, is_once, found));
            match f.kind() {
                Kind::Lam(i, body) => {
                    let outer = Some((i.id(), around.bound.clone()));
                    arrays_read_once(body, &Around { bound: FxHashSet::default(), outer }, is_once, found);
                }
                _ => arrays_read_once(f, around, is_once, found),
            }
        }
        Kind::App(op, args) => {
            if let (Op::Prim(Prim::Index), Some((i, outer))) = (op, &around.outer)
                && let [Some(k), Some(v)] = [args[0].as_var(), args[1].as_var()]
                && k.id() == *i
                && outer.contains(&v.id())
                && is_once(v.id())
            {
                found.insert(v.id());
            }
            args.iter().for_each(|a| arrays_read_once(a, around, is_once, found));
        }
    }
}

/// Returns the term without bindings that nothing uses.
fn without_unused(e: &Expr, effects: &Effects, rewrites: &mut Rewrites) -> Expr {
    let e = e.map_children(|a| without_unused(a, effects, rewrites));
    let Kind::Let(bindings, body) = e.kind() else { return e };
    let mut used = free_variables(body);
    let mut kept = Vec::new();
    for b in bindings.iter().rev() {
        let stays = effects.in_term(&b.rhs) || b.pattern.vars().iter().any(|x| used.contains(x));
        if stays || !rewrites.may("let-dead") {
            used.extend(free_variables(&b.rhs));
            kept.insert(0, b.clone());
        }
    }
    Expr::block(kept, body.clone())
}

/// Returns what breaks the postcondition: a name for what needs none.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    let is_plain = |b: &Binding| matches!(b.pattern, Pattern::Var(_)) && (b.rhs.is_atom() || b.rhs.is_short_tuple());
    smallest_binding(&def.body, is_plain)
}
