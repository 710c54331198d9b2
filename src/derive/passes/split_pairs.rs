//! Adds pairs component by component where a loop gives them.
//!
//! ```text
//! $loop(n, λp. a + b, s, w)   =   $loop(n, λp. (a.1 + b.1, a.2 + b.2), s, w)
//! let t = a + b in .. t.1 .. t.2   =   .. a.1 + b.1 .. a.2 + b.2          t read by components, each once
//! ```
//!
//! In a loop the terms are pairs: a part of the next state, and a term of the sum. As a whole, a pair goes back to the
//! loop with the state; then each step makes zeros of the shape of the sum. As components, the term of the sum is
//! added in place (`lm::destination`). The terms are variables, or components of variables: no work is copied. Takes
//! and gives: terms without linear maps.

use crate::derive::forms::smallest;
use crate::derive::postcondition::Facts;
use lm::destination::selection;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::occurrences;
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern};
use rustc_hash::FxHashMap;

/// Splits such sums of a definition.
pub fn split_pairs(def: &Def, rewrites: &mut Rewrites) -> Def {
    let mut body = def.body.clone();
    // The terms of a sum may be sums, which are read by components once that one is told apart.
    loop {
        let mut reads = Reads { uses: occurrences(&body), ..Reads::default() };
        reads.term(&body, 0);
        let mut pass = SplitPairs { reads, rewrites, sums: FxHashMap::default() };
        body = pass.term(&body);
        if pass.sums.is_empty() {
            return Def { body, ..def.clone() };
        }
    }
}

/// The components that are read of sums of pairs.
#[derive(Default)]
struct Reads {
    /// The number of uses of each variable.
    uses: FxHashMap<u32, usize>,
    /// The number of functions around the binding of each sum.
    bound: FxHashMap<u32, usize>,
    /// The components that are read of each sum, inside of the same functions: a function may run many times.
    read: FxHashMap<u32, Vec<usize>>,
}

impl Reads {
    fn term(&mut self, e: &Expr, functions: usize) {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) => {}
            Kind::Lam(_, body) => self.term(body, functions + 1),
            Kind::App(Op::Get(i, _), args) if args[0].as_var().is_some() => {
                let t = args[0].as_var().expect("just seen").id();
                if self.bound.get(&t) == Some(&functions) {
                    self.read.entry(t).or_default().push(*i);
                }
            }
            Kind::App(..) => e.children().for_each(|a| self.term(a, functions)),
            Kind::Let(bindings, body) => {
                for b in bindings {
                    self.term(&b.rhs, functions);
                    if let Pattern::Var(t) = &b.pattern
                        && is_sum_of_tuples(&b.rhs)
                    {
                        self.bound.insert(t.id(), functions);
                    }
                }
                self.term(body, functions);
            }
        }
    }

    /// Returns whether a variable is read only by components, and each once.
    fn only_components(&self, t: u32) -> bool {
        let read = self.read.get(&t).map_or(&[][..], Vec::as_slice);
        let once = (1..read.len()).all(|k| !read[..k].contains(&read[k]));
        once && self.uses.get(&t) == Some(&read.len())
    }
}

struct SplitPairs<'a> {
    reads: Reads,
    rewrites: &'a mut Rewrites,
    /// The sums that are split, by the variables that they were bound to.
    sums: FxHashMap<u32, Expr>,
}

impl SplitPairs<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::App(Op::Get(i, _), args) => match args[0].as_var().and_then(|t| self.sums.get(&t.id())) {
                Some(sum) => component(*i, sum),
                None => e.map_children(|a| self.term(a)),
            },
            Kind::Let(bindings, body) => {
                let bindings = bindings.iter().filter_map(|b| self.binding(b)).collect();
                Expr::block(bindings, self.term(body)).at(e.span())
            }
            _ => {
                let e = e.map_children(|a| self.term(a));
                split_step(&e).filter(|_| self.rewrites.may("pairs-loop")).unwrap_or(e)
            }
        }
    }

    fn binding(&mut self, b: &Binding) -> Option<Binding> {
        let rhs = self.term(&b.rhs);
        if let Pattern::Var(t) = &b.pattern
            && is_sum_of_tuples(&rhs)
            && self.reads.only_components(t.id())
            && self.rewrites.may("pairs-get")
        {
            self.sums.insert(t.id(), rhs);
            return None;
        }
        Some(Binding { pattern: b.pattern.clone(), rhs })
    }
}

/// Splits the result of a loop's step, if that is a sum of pairs.
fn split_step(e: &Expr) -> Option<Expr> {
    let [n, step, start, witness] = e.args_of_prim(Prim::Loop)? else { return None };
    let Kind::Lam(p, body) = step.kind() else { return None };
    let (bindings, result) = body.as_block();
    if !is_sum_of_tuples(result) {
        return None;
    }
    let pair = Expr::app(Op::Tuple, vec![component(1, result), component(2, result)]).at(result.span());
    let step = Expr::lam(p.clone(), Expr::block(bindings.to_vec(), pair)).at(step.span());
    Some(Expr::prim(Prim::Loop, [n.clone(), step, start.clone(), witness.clone()]).at(e.span()))
}

/// Returns whether a term is a sum of tuples of no fixed shape whose terms are variables, or components of variables.
fn is_sum_of_tuples(e: &Expr) -> bool {
    let is_sum = e.args_of_prim(Prim::Add).is_some() && e.ty().as_tuple().is_some();
    is_sum && !e.ty().has_fixed_shape() && is_of_variables(e)
}

/// Returns whether the terms of a sum are variables, or components of variables.
fn is_of_variables(e: &Expr) -> bool {
    match e.args_of_prim(Prim::Add) {
        Some(terms) => terms.iter().all(is_of_variables),
        None => selection(e).is_some(),
    }
}

fn component(i: usize, e: &Expr) -> Expr {
    match e.args_of_prim(Prim::Add) {
        Some([a, b]) => Expr::prim(Prim::Add, [component(i, a), component(i, b)]).at(e.span()),
        _ => Expr::get(i, e.clone()).at(e.span()),
    }
}

/// Returns what breaks the postcondition: a loop whose step gives a sum of tuples as a whole.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    smallest(&def.body, |e| match e.args_of_prim(Prim::Loop) {
        Some([_, step, ..]) => {
            matches!(step.kind(), Kind::Lam(_, body) if is_sum_of_tuples(body.as_block().1))
        }
        _ => false,
    })
}
