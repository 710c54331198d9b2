//! Drops components of the elements of tensors that nothing reads.
//!
//! ```text
//! let p = build(n, λi. (e1, e2)) in .. p[k].2 ..            =   let p = build(n, λi. e2) in .. p[k] ..
//! let p = scanl(λ((s, r), x). (e1, e2), (a, b), v) in ..     =   likewise, where only p[k].1 is read
//! let p = build(n, ..) in build(n, λi. p[i])                 =   p
//! ```
//!
//! A loop records all values that its map may read. The values that the transposed and applied map does read are known
//! only later. The
//! first component of a scan, its state, stays. Takes and gives: normal form without linear maps.

use crate::derive::forms::smallest_binding;
use crate::derive::postcondition::Facts;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::occurrences;
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;

/// Returns the definition with narrower elements. What only the dropped components needed is dead afterwards.
pub fn dead_components(def: &Def, supply: &mut Supply, rewrites: &mut Rewrites) -> Def {
    let mut body = def.body.clone();
    // A component may have been read for a component that is dropped.
    loop {
        let kept = kept_components(&body);
        let is_last = kept.is_empty() || rewrites.is_spent();
        let mut pass = DeadComponents {
            supply,
            rewrites,
            kept,
            elements: FxHashMap::default(),
            by: FxHashMap::default(),
            sizes: FxHashMap::default(),
        };
        body = pass.term(&body);
        if is_last {
            return Def { body, ..def.clone() };
        }
    }
}

/// Returns the components that are read of the elements of each tensor, where some are not.
fn kept_components(body: &Expr) -> FxHashMap<u32, Vec<usize>> {
    let mut reads = Reads { used: occurrences(body), ..Reads::default() };
    reads.term(body);
    let narrower = |read: &Vec<bool>| read.contains(&false);
    let kept = reads.tensors.into_iter().filter(|(_, read)| narrower(read));
    kept.map(|(p, read)| (p, (0..read.len()).filter(|i| read[*i]).collect())).collect()
}

/// Returns the number of components of the elements that a loop builds, if they are tuples.
fn tuples(e: &Expr) -> Option<usize> {
    let f = match e.kind() {
        Kind::App(Op::Prim(Prim::Build), args) => &args[1],
        Kind::App(Op::Prim(Prim::Scanl), args) => &args[0],
        _ => return None,
    };
    let Kind::Lam(_, body) = f.kind() else { return None };
    body.as_block().1.args_of(&Op::Tuple).map(<[Expr]>::len).filter(|n| *n > 1)
}

/// The components that are read of the elements of each tensor of tuples.
#[derive(Default)]
struct Reads {
    used: FxHashMap<u32, usize>,
    tensors: FxHashMap<u32, Vec<bool>>,
    /// The tensor of each element, and of each state of a scan.
    elements: FxHashMap<u32, u32>,
    /// The tensor that a scan builds, by the parameter of its function: a pair of a state and an element.
    scans: FxHashMap<u32, u32>,
}

impl Reads {
    fn term(&mut self, e: &Expr) {
        match e.kind() {
            Kind::Const(_) => {}
            Kind::Var(x) => self.escapes(x),
            Kind::App(Op::Get(i, _), args) if self.tensor_of(&args[0]).is_some() => {
                let p = self.tensor_of(&args[0]).expect("just seen");
                self.read(p, i - 1);
            }
            Kind::App(Op::Get(2, 2), args) if self.scan_of(&args[0]).is_some() => {}
            Kind::App(Op::Prim(Prim::Size), args) if args[0].as_var().is_some() => {}
            Kind::App(..) | Kind::Lam(..) => e.children().for_each(|c| self.term(c)),
            Kind::Let(bindings, body) => {
                bindings.iter().for_each(|b| self.binding(b));
                self.term(body);
            }
        }
    }

    fn binding(&mut self, b: &Binding) {
        if let (Pattern::Var(p), Some(n)) = (&b.pattern, tuples(&b.rhs)) {
            let is_scan = b.rhs.args_of_prim(Prim::Scanl).is_some();
            self.tensors.insert(p.id(), (0..n).map(|i| is_scan && i == 0).collect());
            if let Some([f, ..]) = b.rhs.args_of_prim(Prim::Scanl)
                && let Kind::Lam(q, _) = f.kind()
            {
                self.scans.insert(q.id(), p.id());
            }
        }
        let element = match b.rhs.kind() {
            Kind::App(Op::Prim(Prim::Index), args) => {
                self.term(&args[0]);
                args[1].as_var().filter(|p| self.tensors.contains_key(&p.id())).map(Var::id)
            }
            Kind::App(Op::Get(1, 2), args) => self.scan_of(&args[0]),
            Kind::Var(_) => self.tensor_of(&b.rhs).filter(|_| matches!(b.pattern, Pattern::Tuple(_))),
            _ => None,
        };
        match (element, &b.pattern) {
            (Some(p), Pattern::Var(t)) => drop(self.elements.insert(t.id(), p)),
            (Some(p), Pattern::Tuple(xs)) => {
                let read = xs.iter().enumerate().filter(|(_, x)| self.used.contains_key(&x.id()));
                read.map(|(i, _)| i).collect::<Vec<_>>().into_iter().for_each(|i| self.read(p, i));
            }
            (None, Pattern::Tuple(xs)) if self.scan_of(&b.rhs).is_some() => {
                let p = self.scan_of(&b.rhs).expect("just seen");
                self.elements.insert(xs[0].id(), p);
            }
            (None, _) => self.term(&b.rhs),
        }
    }

    fn tensor_of(&self, e: &Expr) -> Option<u32> {
        self.elements.get(&e.as_var()?.id()).copied()
    }

    fn scan_of(&self, e: &Expr) -> Option<u32> {
        self.scans.get(&e.as_var()?.id()).copied()
    }

    fn read(&mut self, p: u32, i: usize) {
        self.tensors.get_mut(&p).expect("a tensor of tuples")[i] = true;
    }

    /// Marks all components as read: the whole is used.
    fn escapes(&mut self, x: &Var) {
        let p = self.elements.get(&x.id()).or_else(|| self.scans.get(&x.id())).copied().unwrap_or(x.id());
        if let Some(read) = self.tensors.get_mut(&p) {
            read.fill(true);
        }
    }
}

struct DeadComponents<'a> {
    supply: &'a mut Supply,
    rewrites: &'a mut Rewrites,
    /// The components that are kept of the elements of each tensor that becomes narrower.
    kept: FxHashMap<u32, Vec<usize>>,
    /// The components that are kept of each element.
    elements: FxHashMap<u32, Vec<usize>>,
    by: FxHashMap<u32, Expr>,
    /// The size of each tensor that is built.
    sizes: FxHashMap<u32, Expr>,
}

impl DeadComponents<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Const(_) => e.clone(),
            Kind::Var(x) => self.by.get(&x.id()).unwrap_or(e).clone(),
            Kind::App(Op::Get(i, _), args) if args[0].as_var().is_some_and(|t| self.elements.contains_key(&t.id())) => {
                let t = args[0].as_var().expect("just seen").id();
                let place = self.elements[&t].iter().position(|k| *k == i - 1).expect("what is read is kept");
                let element = self.by[&t].clone();
                if self.elements[&t].len() == 1 { element } else { Expr::get(place + 1, element) }
            }
            Kind::Let(bindings, body) => {
                let bindings = bindings.iter().map(|b| self.binding(b)).collect();
                Expr::block(bindings, self.term(body))
            }
            Kind::App(..) | Kind::Lam(..) => e.map_children(|c| self.term(c)),
        }
    }

    fn binding(&mut self, b: &Binding) -> Binding {
        if let (Pattern::Var(p), Some([n, _])) = (&b.pattern, b.rhs.args_of_prim(Prim::Build)) {
            let n = self.term(n);
            self.sizes.insert(p.id(), n);
        }
        let source = match b.rhs.kind() {
            Kind::App(Op::Prim(Prim::Index), args) => args[1].as_var().and_then(|p| self.kept.get(&p.id())),
            Kind::App(Op::Get(1, 2), args) => args[0].as_var().and_then(|q| self.kept.get(&q.id())),
            Kind::Var(t) => self.elements.get(&t.id()),
            _ => None,
        };
        if let Some(kept) = source.cloned() {
            return self.element(b, kept);
        }
        match &b.pattern {
            Pattern::Var(p) if tuples(&b.rhs).is_some() && self.becomes_narrower(p, &b.rhs) => self.tensor(p, &b.rhs),
            Pattern::Tuple(xs) if b.rhs.as_var().is_some_and(|q| self.kept.contains_key(&q.id())) => {
                let kept = self.kept[&b.rhs.as_var().expect("just seen").id()].clone();
                let rhs = self.term(&b.rhs);
                let state = self.renewed(&xs[0], rhs.ty().as_tuple().expect("a pair")[0].clone());
                self.elements.insert(xs[0].id(), kept);
                Binding { pattern: Pattern::Tuple(vec![state, xs[1].clone()]), rhs }
            }
            pattern => {
                let rhs = self.term(&b.rhs);
                let copied = self.copied(&rhs).filter(|_| self.rewrites.may("build-copy"));
                Binding { pattern: pattern.clone(), rhs: copied.unwrap_or(rhs) }
            }
        }
    }

    /// Rewrites a binding of an element of a narrower tensor, or of the state of its scan.
    fn element(&mut self, b: &Binding, kept: Vec<usize>) -> Binding {
        let rhs = self.term(&b.rhs);
        match &b.pattern {
            Pattern::Var(t) => {
                let new = self.renewed(t, rhs.ty().clone());
                self.elements.insert(t.id(), kept);
                Binding { pattern: Pattern::Var(new), rhs }
            }
            Pattern::Tuple(xs) => {
                let mut xs: Vec<Var> = kept.iter().map(|k| xs[*k].clone()).collect();
                let pattern = if xs.len() == 1 { Pattern::Var(xs.remove(0)) } else { Pattern::Tuple(xs) };
                Binding { pattern, rhs }
            }
        }
    }

    /// Returns whether a loop builds elements with fewer components. Where no rewrite is left, nothing knows them.
    fn becomes_narrower(&mut self, p: &Var, e: &Expr) -> bool {
        let law = if e.args_of_prim(Prim::Scanl).is_some() { "scanl-component" } else { "build-component" };
        let is_narrower = self.kept.contains_key(&p.id()) && self.rewrites.may(law);
        if !is_narrower {
            self.kept.remove(&p.id());
        }
        is_narrower
    }

    /// Rewrites a loop that builds elements with fewer components.
    fn tensor(&mut self, p: &Var, e: &Expr) -> Binding {
        let kept = self.kept[&p.id()].clone();
        let rhs = match e.kind() {
            Kind::App(op @ Op::Prim(Prim::Scanl), args) => {
                let Kind::Lam(q, body) = args[0].kind() else { panic!("a scan is by a function") };
                let start = components(&args[1], &kept);
                let rest = q.ty().as_tuple().expect("a state and an element")[1].clone();
                let new = self.renewed(q, Type::tuple([start.ty().clone(), rest]));
                self.kept.insert(q.id(), kept.clone());
                let body = self.narrowed(body, &kept);
                let (start, over) = (self.term(&start), self.term(&args[2]));
                Expr::app(op.clone(), vec![Expr::lam(new, body), start, over])
            }
            Kind::App(op, args) => {
                let Kind::Lam(i, body) = args[1].kind() else { panic!("a build is by a function") };
                let body = self.narrowed(body, &kept);
                Expr::app(op.clone(), vec![self.term(&args[0]), Expr::lam(i.clone(), body)])
            }
            _ => panic!("a loop is an application"),
        };
        let new = self.renewed(p, rhs.ty().clone());
        Binding { pattern: Pattern::Var(new), rhs: rhs.at(e.span()) }
    }

    fn narrowed(&mut self, body: &Expr, kept: &[usize]) -> Expr {
        let (bindings, result) = body.as_block();
        self.term(&Expr::block(bindings.to_vec(), components(result, kept)))
    }

    fn renewed(&mut self, x: &Var, ty: Type) -> Var {
        let new = self.supply.fresh(x.name(), ty);
        self.by.insert(x.id(), Expr::var(&new));
        if let Some(n) = self.sizes.get(&x.id()).cloned() {
            self.sizes.insert(new.id(), n);
        }
        new
    }

    /// Returns the p of `build(n, λi. p[i])`, if its size is n.
    fn copied(&self, e: &Expr) -> Option<Expr> {
        let [n, f] = e.args_of_prim(Prim::Build)? else { return None };
        let Kind::Lam(i, body) = f.kind() else { return None };
        let (bindings, result) = body.as_block();
        let element = match bindings {
            [] => result,
            [Binding { pattern: Pattern::Var(x), rhs }] if result.as_var() == Some(x) => rhs,
            _ => return None,
        };
        let [k, p] = element.args_of_prim(Prim::Index)? else { return None };
        let is_whole = k.as_var() == Some(i) && self.sizes.get(&p.as_var()?.id()) == Some(n);
        is_whole.then(|| p.clone())
    }
}

fn components(tuple: &Expr, kept: &[usize]) -> Expr {
    let mut parts: Vec<Expr> = kept.iter().map(|k| Expr::get(k + 1, tuple.clone())).collect();
    if parts.len() == 1 { parts.remove(0) } else { Expr::tuple(parts) }
}

/// Returns what breaks the postcondition: a tensor that is built here and has elements with a component that is
/// neither read nor named.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    let mut used = FxHashMap::default();
    def.body.visit_bindings(|b| used.extend(b.pattern.vars().iter().map(|x| (x.id(), 1))));
    let mut reads = Reads { used, ..Reads::default() };
    reads.term(&def.body);
    let is_read = |x: &Var| reads.tensors.get(&x.id()).is_none_or(|read| read.iter().all(|r| *r));
    smallest_binding(&def.body, |b| !b.pattern.vars().iter().all(is_read))
}
