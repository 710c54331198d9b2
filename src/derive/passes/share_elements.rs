//! Reads the elements of arrays in place of computing them again.
//!
//! ```text
//! let v = build n (λi. e i) in .. build n (λj. .. e j ..)    =    .. build n (λj. .. v[j] ..)    likewise sumbuild
//! ```
//!
//! A value often has a loop whose elements the derivative needs again: exp is its own derivative, tanh has its own in
//! its derivative. The law is for elements that cost more than to be read: a square root, a function of the C library.
//! Sums that share such work are one loop before (`fuse_sums`), and need no array. Takes and gives: normal form.

use crate::derive::postcondition::Facts;
use lm::effect::Effects;
use lm::prim::{Cost, Prim};
use lm::rewrites::Rewrites;
use lm::term::{Atom, Binding, Def, Expr, Kind, Op, Pattern, Var};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Shares the elements of arrays.
pub fn share_elements(def: &Def, effects: &Effects, rewrites: &mut Rewrites) -> Def {
    let mut pass = ShareElements { effects, rewrites, loops: FxHashMap::default(), first: None };
    Def { body: pass.term(&def.body), ..def.clone() }
}

struct ShareElements<'a> {
    effects: &'a Effects,
    rewrites: &'a mut Rewrites,
    /// What loops of each size compute.
    loops: FxHashMap<Atom, Steps>,
    /// The first term that an array has.
    first: Option<Expr>,
}

/// The terms in steps of loops of one size. Equal terms have equal numbers; the index is number 0.
#[derive(Default)]
struct Steps {
    numbers: FxHashMap<(Op, Vec<Part>), usize>,
    /// The arrays in scope that have a term as their elements.
    arrays: FxHashMap<usize, Var>,
}

/// An argument of an operator: one that all steps share, or a term of a step.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Part {
    Outer(Atom),
    Own(usize),
}

/// The numbers of the variables that a step binds.
struct Step {
    size: Atom,
    index: Var,
    /// None for a term without a number.
    own: FxHashMap<u32, Option<usize>>,
}

impl ShareElements<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Let(bindings, result) => {
                let mut added = Vec::new();
                let shared = bindings.iter().map(|b| self.binding(b, &mut added)).collect();
                let result = self.term(result);
                for (size, number) in added {
                    self.loops.get_mut(&size).map(|steps| steps.arrays.remove(&number));
                }
                Expr::block(shared, result).at(e.span())
            }
            _ => self.in_loop(e).map_or_else(|| e.map_children(|c| self.term(c)), |(shared, _)| shared),
        }
    }

    fn binding(&mut self, b: &Binding, added: &mut Vec<(Atom, usize)>) -> Binding {
        let Some((rhs, element)) = self.in_loop(&b.rhs) else {
            return Binding { pattern: b.pattern.clone(), rhs: self.term(&b.rhs) };
        };
        if let (Pattern::Var(x), Some((size, number))) = (&b.pattern, element)
            && rhs.args_of_prim(Prim::Build).is_some()
        {
            let steps = self.loops.entry(size.clone()).or_default();
            if let Entry::Vacant(entry) = steps.arrays.entry(number) {
                entry.insert(x.clone());
                added.push((size, number));
            }
        }
        Binding { pattern: b.pattern.clone(), rhs }
    }

    /// Shares elements within a loop over an index. Returns the number of what its steps give, if that has one.
    fn in_loop(&mut self, e: &Expr) -> Option<(Expr, Option<(Atom, usize)>)> {
        let Kind::App(op @ Op::Prim(Prim::Build | Prim::SumBuild), args) = e.kind() else { return None };
        let [.., n, f] = args.as_slice() else { return None };
        let (size, Kind::Lam(index, body)) = (Atom::of(n)?, f.kind()) else { return None };
        let (bindings, result) = body.as_block();
        let mut step = Step { size: size.clone(), index: index.clone(), own: FxHashMap::default() };
        step.own.insert(index.id(), Some(0));
        let mut added = Vec::new();
        let mut shared = Vec::with_capacity(bindings.len());
        for b in bindings {
            let b = self.binding(b, &mut added);
            let (rhs, number) = self.numbered(&b.rhs, &step);
            let number = number.filter(|_| matches!(b.pattern, Pattern::Var(_)));
            step.own.extend(b.pattern.vars().iter().map(|x| (x.id(), number)));
            shared.push(Binding { pattern: b.pattern, rhs });
        }
        let result = self.term(result);
        let (result, number) = self.numbered(&result, &step);
        let number = result.as_var().map_or(number, |x| step.own.get(&x.id()).copied().flatten());
        for (size, number) in added {
            self.loops.get_mut(&size).map(|steps| steps.arrays.remove(&number));
        }
        let f = Expr::lam(index.clone(), Expr::block(shared, result)).at(f.span());
        let args = args[..args.len() - 1].iter().cloned().chain([f]).collect();
        let shared = Expr::try_app(op.clone(), args, e.span());
        Some((shared.expect("types do not change"), number.map(|number| (size, number))))
    }

    /// Returns the number of an operator on atoms in a step, and the term: the element of an array that has it, if it
    /// costs more.
    fn numbered(&mut self, e: &Expr, step: &Step) -> (Expr, Option<usize>) {
        let Some(key) = self.key(e, step) else { return (e.clone(), None) };
        let steps = self.loops.entry(step.size.clone()).or_default();
        let next = steps.numbers.len() + 1;
        let number = *steps.numbers.entry(key).or_insert(next);
        match steps.arrays.get(&number) {
            Some(v) if is_costly(e) && self.rewrites.may("element-share") => {
                self.first.get_or_insert_with(|| e.clone());
                let element = Expr::prim(Prim::Index, [Expr::var(&step.index), Expr::var(v)]);
                (element.placed(e.span()), Some(number))
            }
            _ => (e.clone(), Some(number)),
        }
    }

    fn key(&self, e: &Expr, step: &Step) -> Option<(Op, Vec<Part>)> {
        let Kind::App(op, args) = e.kind() else { return None };
        if matches!(op, Op::If | Op::Dummy) || self.effects.in_term(e) {
            return None;
        }
        let part = |e: &Expr| match Atom::of(e)? {
            Atom::Var(x) => match step.own.get(&x) {
                Some(number) => number.map(Part::Own),
                None => Some(Part::Outer(Atom::Var(x))),
            },
            atom => Some(Part::Outer(atom)),
        };
        Some((op.clone(), args.iter().map(part).collect::<Option<_>>()?))
    }
}

/// Returns whether a term on atoms costs more than to read a number.
fn is_costly(e: &Expr) -> bool {
    matches!(e.kind(), Kind::App(Op::Prim(p), _) if p.cost() != Cost::Cheap)
}

/// Returns what breaks the postcondition: an element that is computed again.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    let rewrites = &mut Rewrites::all();
    let mut pass = ShareElements { effects: facts.effects, rewrites, loops: FxHashMap::default(), first: None };
    pass.term(&def.body);
    pass.first
}
