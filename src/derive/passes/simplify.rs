//! Simplifies a block that binds values and maps: by the laws of linear maps, and by inlining.
//!
//! ```text
//! let Dx = m in b   =   b[Dx := m]      where m is free to copy, or Dx occurs once
//!                                       as a short map, or as V(build(n, λi. m)) of which an element is selected
//! let v = build(n, λi. if i == k then e else 0) in .. sum(v) ..   =   .. sum(build(..)) ..      where v occurs once
//! let Dx = S(e) in b   =   let k = e in b[Dx := S(k)]
//! let Dx = m × n in b  =   let Dy = m in let Dz = n in b[Dx := Dy × Dz]      where b only has π(1,2) ∘ Dx and π(2,2) ∘ Dx
//! let n = size(v) in .. let m = size(w) in b   =   let n = size(v) in .. b[m := n]      where v and w have one size
//! let x = a in b   =   b[x := a]        where a is an atom, or a short tuple of atoms
//! let (x1, .., xn) = (a1, .., an) in b   =   b[x1 := a1, ..]
//! (let x = a in m) × n   =   let x = a in m × n       where a is no map, and so for each operator of maps
//! ```
//!
//! One sweep goes through the bindings in order, so its work is the size of the block. Sweeps are repeated while a map
//! that was used several times comes to be used once (law `collect`).
//!
//! Source: working notes, sec. 3, with the restriction of `docs/design.md` (Sharing). Takes: any definition. Gives:
//! one without trivial bindings and without a redex of the laws.

use crate::derive::forms::{smallest, smallest_binding};
use crate::derive::postcondition::Facts;
use lm::law::{is_free_to_copy, is_one_hot};
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter};
use lm::scope::{free_variables, occurrences};
use lm::strategy::Strategy;
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most sweeps over a definition that inline; a sweep that changes nothing ends the pass before. Each further sweep
/// only shortens a result that is right already, as by one more of a chain of vectors of which an element is read.
const SWEEPS: usize = 12;

/// The most sweeps after these, which only tidy up what the last ones have left: they inline no more maps.
const LAST_SWEEPS: usize = 4;

/// The number of earlier sizes that a size is compared with, the nearest first: of n sizes that differ, n comparisons are
/// made, not n².
const SIZES: usize = 16;

/// The largest map that is inlined where it is used once; larger ones keep their names.
const INLINE_SIZE: usize = 60;

/// Simplifies with the laws of `strategy`.
pub fn simplify(def: &Def, strategy: &Strategy, cx: &mut Rewriter) -> Result<Def, OutOfFuel> {
    let mut body = def.body.clone();
    // A coefficient is named only when nothing else helps: `(m ∘ Dy) ⊕ (n ∘ Dy)` is better collected.
    let mut naming = false;
    for number in 0..SWEEPS + LAST_SWEEPS {
        // Spaces and uses may have changed.
        cx.forget();
        let (uses, selected, projected) = (occurrences(&body), selected(&body), projections(&body));
        let repeated = repeated(&body);
        let by = FxHashMap::default();
        let inlines = number < SWEEPS;
        let mut sweep =
            Sweep { uses, selected, repeated, projected, by, sizes: Vec::new(), naming, inlines, strategy, cx };
        let next = sweep.simplify_block(&body)?;
        if next == body && naming {
            break;
        }
        naming |= next == body;
        body = next;
    }
    Ok(Def { body, ..def.clone() })
}

struct Sweep<'a, 'b> {
    uses: FxHashMap<u32, usize>,
    /// The maps of which an element is selected, and the tensors that are summed, where they are bound and not in a function there.
    selected: FxHashSet<u32>,
    /// The maps that functions use, and that are bound outside of them.
    repeated: FxHashSet<u32>,
    /// The number of projections π(i,n) ∘ Dx, for each map Dx.
    projected: FxHashMap<u32, usize>,
    by: FxHashMap<u32, Expr>,
    /// The sizes of tensors that have names in this block.
    sizes: Vec<Var>,
    naming: bool,
    /// Maps and values that are used once take the places of their names.
    inlines: bool,
    strategy: &'a Strategy,
    cx: &'a mut Rewriter<'b>,
}

impl Sweep<'_, '_> {
    fn simplify_block(&mut self, e: &Expr) -> Result<Expr, OutOfFuel> {
        let (bindings, result) = e.as_block();
        let mut out = Vec::with_capacity(bindings.len());
        // Functions that are equal stay equal: they name what they compute.
        let outer = std::mem::take(&mut self.sizes);
        let mark = self.cx.context.facts.mark();
        for b in bindings {
            self.binding(b, &mut out)?;
        }
        let result = self.term(result, &mut out)?;
        self.cx.context.facts.forget_since(mark);
        self.sizes = outer;
        Ok(Expr::block(out, result))
    }

    /// Simplifies a right-hand side or a result; pushes the bindings that laws make to `out`.
    fn term(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Result<Expr, OutOfFuel> {
        let e = self.inner(e)?;
        let e = self.cx.run_on(self.strategy, &e)?.unwrap_or(e);
        let (bindings, result) = e.as_block();
        if !bindings.is_empty() && !self.cx.rewrites.may("let-let") {
            return Ok(e);
        }
        out.extend(bindings.iter().cloned());
        Ok(self.unnested(result, out))
    }

    /// Returns a map whose blocks bind maps only. What else they bind goes to `out`: within a map it would hide its space.
    /// Maps stay where they are bound, as the domain of a block is that of its maps.
    fn unnested(&mut self, m: &Expr, out: &mut Vec<Binding>) -> Expr {
        if m.ty().as_lm().is_none() || !matches!(m.kind(), Kind::App(Op::Prim(_), _)) {
            return m.clone();
        }
        m.map_children(|part| {
            let (bindings, result) = part.as_block();
            let (kept, free) = by_maps(bindings);
            if !free.is_empty() && !self.cx.rewrites.may("let-let") {
                return part.clone();
            }
            out.extend(free);
            let result = self.unnested(result, out);
            Expr::block(kept, result)
        })
    }

    /// Replaces variables, and sweeps the blocks inside a term, each by itself.
    fn inner(&mut self, e: &Expr) -> Result<Expr, OutOfFuel> {
        if let Kind::Var(x) = e.kind() {
            return Ok(self.by.get(&x.id()).unwrap_or(e).clone());
        }
        let mut failure = None;
        let new = e.map_children(|child| {
            let swept = match child.kind() {
                Kind::Let(..) => self.simplify_block(child),
                Kind::App(..) if matches!(e.kind(), Kind::Lam(..)) => self.inner(child).map(|body| {
                    let mut out = Vec::new();
                    let result = self.unnested(&body, &mut out);
                    Expr::block(out, result)
                }),
                Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Lam(..) => self.inner(child),
            };
            swept.unwrap_or_else(|error| {
                failure = Some(error);
                child.clone()
            })
        });
        failure.map_or(Ok(new), Err)
    }

    fn binding(&mut self, b: &Binding, out: &mut Vec<Binding>) -> Result<(), OutOfFuel> {
        // What is only composed with an unused map may be used once.
        let is_unused = || b.pattern.vars().iter().all(|x| !self.uses.contains_key(&x.id()));
        if b.rhs.ty().as_lm().is_some() && is_unused() && self.cx.rewrites.may("let-dead") {
            return Ok(());
        }
        let rhs = self.term(&b.rhs, out)?;
        match &b.pattern {
            Pattern::Var(x) => match self.replacement(x.id(), x.name(), &rhs, out) {
                Some(replacement) => {
                    self.by.insert(x.id(), replacement);
                }
                None => {
                    if rhs.ty().as_lm().is_some() {
                        self.cx.context.spaces.bind(x, &rhs);
                    }
                    if rhs.args_of_prim(Prim::Size).is_some() {
                        self.sizes.push(x.clone());
                    }
                    let kept = Binding { pattern: b.pattern.clone(), rhs };
                    self.cx.context.facts.sizes(&kept);
                    out.push(kept);
                }
            },
            Pattern::Tuple(xs) => match rhs.args_of(&Op::Tuple) {
                Some(parts) if self.cx.rewrites.may("let-tuple") => {
                    for (x, part) in xs.iter().zip(parts) {
                        let one = Binding { pattern: Pattern::Var(x.clone()), rhs: part.clone() };
                        match part.is_atom() && self.cx.rewrites.may("let-atom") {
                            true => drop(self.by.insert(x.id(), part.clone())),
                            false => out.push(one),
                        }
                    }
                }
                _ => out.push(Binding { pattern: b.pattern.clone(), rhs }),
            },
        }
        Ok(())
    }

    /// Returns the term that replaces a variable from now on, if its binding goes.
    fn replacement(&mut self, id: u32, name: &str, rhs: &Expr, out: &mut Vec<Binding>) -> Option<Expr> {
        if let Some(law) = self.inlined_by(id, rhs) {
            return self.cx.rewrites.may(law).then(|| rhs.clone());
        }
        if rhs.args_of_prim(Prim::Size).is_some()
            && let Some(same) = self.same_size(rhs)
            && self.cx.rewrites.may("size-share")
        {
            return Some(same);
        }
        if let Some(maps) = rhs.args_of_prim(Prim::LmVCat)
            && is_only_projected(id, &self.projected, &self.uses)
            && self.cx.rewrites.may("let-vcat")
        {
            return Some(Expr::prim(Prim::LmVCat, maps.iter().map(|m| self.named(name, m, out)).collect::<Vec<_>>()));
        }
        // What a loop uses is applied once, before the loop: a coefficient would be multiplied with in each step.
        let is_named = rhs.ty().as_lm().is_some() && self.naming && !self.repeated.contains(&id);
        if is_named { self.named_coefficient(name, rhs, out) } else { None }
    }

    /// Returns the name of a size that is equal to one.
    fn same_size(&self, n: &Expr) -> Option<Expr> {
        let nearest = self.sizes.iter().rev().take(SIZES).map(Expr::var);
        nearest.into_iter().find(|same| self.cx.context.facts.are_equal(same, n))
    }

    /// Returns the law by which a term takes the place of its variable.
    fn inlined_by(&self, id: u32, rhs: &Expr) -> Option<&'static str> {
        let once = self.inlines && self.uses.get(&id) == Some(&1);
        if rhs.ty().as_lm().is_none() {
            if once && self.selected.contains(&id) && is_one_hot(rhs) && !prints(rhs) {
                return Some("let-once");
            }
            return (rhs.is_atom() || rhs.is_short_tuple()).then_some("let-atom");
        }
        if is_free_to_copy(rhs) {
            return Some("let-free");
        }
        let is_short = rhs.size() <= INLINE_SIZE && is_operator_tree(rhs);
        (once && (is_short || self.selected.contains(&id) && is_family(rhs))).then_some("let-once")
    }

    /// Binds a map to a variable, unless it is free to copy.
    fn named(&mut self, name: &str, m: &Expr, out: &mut Vec<Binding>) -> Expr {
        if is_free_to_copy(m) {
            return m.clone();
        }
        let x = self.cx.supply.fresh(name, m.ty().clone());
        self.cx.context.spaces.bind(&x, m);
        out.push(Binding { pattern: Pattern::Var(x.clone()), rhs: m.clone() });
        Expr::var(&x)
    }

    /// Names the coefficient of `S(e)`; likewise of the maps to and from Float.
    fn named_coefficient(&mut self, name: &str, rhs: &Expr, out: &mut Vec<Binding>) -> Option<Expr> {
        let Kind::App(Op::Prim(p @ (Prim::LmScale | Prim::LmScaleR | Prim::LmDot)), args) = rhs.kind() else {
            return None;
        };
        let coefficient = args.last()?;
        if !self.cx.rewrites.may("let-scale") {
            return None;
        }
        let name = name.strip_prefix('D').unwrap_or(name);
        let k = self.cx.supply.fresh(&format!("k{name}"), coefficient.ty().clone());
        let mut args = args.clone();
        *args.last_mut()? = Expr::var(&k);
        out.push(Binding { pattern: Pattern::Var(k), rhs: coefficient.clone() });
        Some(Expr::prim(*p, args))
    }
}

/// Returns the bindings of a block that bind maps or use those, and the others.
fn by_maps(bindings: &[Binding]) -> (Vec<Binding>, Vec<Binding>) {
    let mut maps = FxHashSet::default();
    bindings.iter().cloned().partition(|b| {
        let is_kept = b.rhs.ty().mentions_lm() || free_variables(&b.rhs).iter().any(|x| maps.contains(&x.id()));
        if is_kept {
            maps.extend(b.pattern.vars().iter().map(|x| x.id()));
        }
        is_kept
    })
}

/// Returns whether the term may print: functions that it calls may.
fn prints(e: &Expr) -> bool {
    e.any(|e| match e.kind() {
        Kind::App(Op::Prim(p), _) => p.has_effect(),
        Kind::App(Op::Call(_), _) => true,
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => false,
    })
}

/// Returns whether a map is used, and in projections only.
fn is_only_projected(id: u32, projected: &FxHashMap<u32, usize>, uses: &FxHashMap<u32, usize>) -> bool {
    projected.get(&id).is_some_and(|n| uses.get(&id) == Some(n))
}

/// Returns how often each map is projected: `π(i,n) ∘ Dx`, or `π(i,n) ∘ (Dx ∘ m)`.
fn projections(body: &Expr) -> FxHashMap<u32, usize> {
    let mut counts = FxHashMap::default();
    body.visit(|e| {
        if let Some([get, m]) = e.args_of_prim(Prim::LmCompose)
            && matches!(get.kind(), Kind::App(Op::LmGet(..), _))
            && let Some(x) = m.args_of_prim(Prim::LmCompose).map_or(m, |args| &args[0]).as_var()
        {
            *counts.entry(x.id()).or_default() += 1;
        }
    });
    counts
}

/// Returns the maps that functions use, and that are bound outside of them.
fn repeated(body: &Expr) -> FxHashSet<u32> {
    let mut found = FxHashSet::default();
    body.visit(|e| {
        if let Kind::Lam(_, body) = e.kind() {
            found.extend(free_variables(body).iter().filter(|x| x.ty().as_lm().is_some()).map(Var::id));
        }
    });
    found
}

/// Returns the variables that some `lmIndex(k, v) ∘ x` selects an element of, or some `sum(x)` adds up, in the function
/// that binds them.
fn selected(body: &Expr) -> FxHashSet<u32> {
    let (mut bound, mut found) = (FxHashSet::default(), FxHashSet::default());
    collect_selected(body, &mut bound, &mut found);
    found
}

fn collect_selected(e: &Expr, bound: &mut FxHashSet<u32>, found: &mut FxHashSet<u32>) {
    match e.kind() {
        Kind::Lam(_, body) => collect_selected(body, &mut FxHashSet::default(), found),
        Kind::Let(bindings, body) => {
            for b in bindings {
                collect_selected(&b.rhs, bound, found);
                bound.extend(b.pattern.vars().iter().map(|x| x.id()));
            }
            collect_selected(body, bound, found);
        }
        Kind::App(_, args) => {
            if let Some([index, m]) = e.args_of_prim(Prim::LmCompose)
                && index.args_of_prim(Prim::LmIndex).is_some()
            {
                let first = m.args_of_prim(Prim::LmCompose).map_or(m, |args| &args[0]);
                found.extend(first.as_var().map(|x| x.id()).filter(|x| bound.contains(x)));
            }
            if let Some([v]) = e.args_of_prim(Prim::Sum) {
                found.extend(v.as_var().map(|x| x.id()).filter(|x| bound.contains(x)));
            }
            args.iter().for_each(|a| collect_selected(a, bound, found));
        }
        Kind::Const(_) | Kind::Var(_) => {}
    }
}

/// Returns whether the map is one whose elements the laws know: `V(build(n, λi. m))`, alone or after another map.
fn is_family(m: &Expr) -> bool {
    let first = m.args_of_prim(Prim::LmCompose).map_or(m, |args| &args[0]);
    let maps = first.args_of_prim(Prim::LmVCatV).and_then(<[Expr]>::last);
    maps.is_some_and(|maps| maps.args_of_prim(Prim::Build).is_some_and(|args| matches!(args[1].kind(), Kind::Lam(..))))
}

/// Returns whether the map is built of operators and variables only. Conditionals and blocks keep their names, so that
/// they are read, transposed and applied once.
fn is_operator_tree(m: &Expr) -> bool {
    match m.kind() {
        Kind::Const(_) | Kind::Var(_) => true,
        Kind::Let(..) | Kind::Lam(..) | Kind::App(Op::If, _) => false,
        Kind::App(_, args) => args.iter().filter(|a| a.ty().mentions_lm()).all(is_operator_tree),
    }
}

/// Returns what breaks the postcondition: a trivial binding, a product of which only components are used, a map with an
/// operand that changes nothing, or a Jacobian of a primitive.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    let (projected, uses) = (projections(&def.body), occurrences(&def.body));
    let is_idle_product = |b: &Binding| match &b.pattern {
        Pattern::Var(x) => b.rhs.args_of_prim(Prim::LmVCat).is_some() && is_only_projected(x.id(), &projected, &uses),
        Pattern::Tuple(_) => false,
    };
    smallest_binding(&def.body, |b| is_trivial(b) || is_idle_product(b))
        .or_else(|| smallest(&def.body, has_idle_operand))
        .or_else(|| smallest(&def.body, |e| matches!(e.kind(), Kind::App(Op::JacobianOf(_), _))))
}

fn is_trivial(b: &Binding) -> bool {
    match &b.pattern {
        Pattern::Var(_) if b.rhs.ty().as_lm().is_some() => is_free_to_copy(&b.rhs),
        Pattern::Var(_) => b.rhs.is_atom() || b.rhs.is_short_tuple(),
        Pattern::Tuple(_) => b.rhs.args_of(&Op::Tuple).is_some(),
    }
}

/// Returns whether the term is `m ∘ 1`, `1 ∘ m`, `m ⊕ 0` or `0 ⊕ m`.
fn has_idle_operand(m: &Expr) -> bool {
    let is_any = |args: Option<&[Expr]>, p| args.is_some_and(|args| args.iter().any(|m| m.args_of_prim(p).is_some()));
    is_any(m.args_of_prim(Prim::LmCompose), Prim::LmOne) || is_any(m.args_of_prim(Prim::LmAdd), Prim::LmZero)
}
