//! Estimates in how many dimensions native code keeps elements of the states of a fold.
//!
//! ```text
//! s' = build (size s) (lam (i j) (if (eq j k) e (index (i j) s)))                        a step overwrites a column
//! s' = build (size s) (lam (i j) (sub (index (i j) s) (mul (index (i k) s) x)))      its derivative reads a column
//! ```
//!
//! A dimension counts unless a condition fixes its index where a step changes elements, or unless the derivative of the
//! step reads elements at one index of it. A derivative does not read what the step only adds, subtracts or passes on.
//! This only chooses how many states are kept between segments: what is found, and what is not, changes no value.

use lm::prim::Prim;
use lm::term::{Constant, Expr, FunName, Kind, Op, Pattern, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// The most terms to look at in a step.
const MOST_TERMS: usize = 20_000;

/// For each parameter of functions that give it with a part of it changed: in how many dimensions.
pub(super) type Changing = FxHashMap<FunName, Vec<(usize, usize)>>;

/// Returns in how many dimensions elements of each tensor in the state of a step are kept; none if its states are none
/// of tensors and numbers.
pub(super) fn kept_dimensions(step: &Expr, changing: &Changing) -> Option<Vec<usize>> {
    let Kind::Lam(p, body) = step.kind() else { return None };
    let state = &p.ty().as_tuple()?[0];
    let parts = state.as_tuple().unwrap_or(std::slice::from_ref(state));
    let ranks = parts.iter().map(rank).collect::<Option<Vec<usize>>>()?;
    let mut seen = Seen::new(changing, ranks);
    let whole = if state.as_tuple().is_some() { Is::State } else { Is::Part(0) };
    seen.names.insert(p.id(), Is::Pair(Box::new(whole)));
    let result = seen.block(body);
    let news = match seen.resolve(&result) {
        Is::Term(e) if state.as_tuple().is_some() => e.args_of(&Op::Tuple)?.to_vec(),
        _ => vec![result],
    };
    let changes: Vec<usize> = news.iter().enumerate().map(|(i, new)| seen.changed(new, i)).collect();
    news.iter().for_each(|new| seen.read(new, true));
    let least = |(i, change): (usize, usize)| change.min(seen.reads[i].unwrap_or(0)).min(seen.ranks[i]);
    (news.len() == seen.ranks.len()).then(|| changes.into_iter().enumerate().map(least).collect())
}

/// Returns in how many dimensions a function gives a parameter changed.
pub(super) fn changed_dimensions(body: &Expr, param: &Var, changing: &Changing) -> Option<usize> {
    let mut seen = Seen::new(changing, vec![rank(param.ty())?]);
    seen.names.insert(param.id(), Is::Part(0));
    let result = seen.block(body);
    Some(seen.changed(&result, 0))
}

/// Returns the rank of a tensor of numbers, or 0 for a number; none for other types. A vector of vectors is taken for a
/// matrix: native code makes one of it where that is one.
fn rank(ty: &Type) -> Option<usize> {
    match ty {
        Type::Tensor(1, element) if matches!(&**element, Type::Tensor(1, _)) => rank(element).map(|rank| rank + 1),
        Type::Tensor(rank, element) => element.has_fixed_shape().then_some(*rank),
        Type::Tuple(_) | Type::Lam(..) | Type::LM(..) | Type::Record(_) => None,
        _ => Some(0),
    }
}

/// What a variable is.
#[derive(Clone)]
enum Is {
    /// The state, or what its parts are in, with an element of the vector.
    Pair(Box<Is>),
    State,
    Part(usize),
    Term(Expr),
    /// The index of a `build` or of another function in the step, or a part of it.
    Index,
    Other,
}

struct Seen<'a> {
    changing: &'a Changing,
    ranks: Vec<usize>,
    /// In how many dimensions the derivative reads elements of each part.
    reads: Vec<Option<usize>>,
    names: FxHashMap<u32, Is>,
    /// The indices that a variable is made of.
    indices: FxHashMap<u32, Vec<u32>>,
    /// The parts of indices that are tuples.
    parts: FxHashMap<u32, Vec<u32>>,
    /// The indices that are numbers of the step where conditions hold.
    fixed: Vec<u32>,
    known: FxHashSet<(u32, bool, Vec<u32>)>,
    left: usize,
}

impl<'a> Seen<'a> {
    fn new(changing: &'a Changing, ranks: Vec<usize>) -> Seen<'a> {
        Seen {
            changing,
            reads: vec![None; ranks.len()],
            ranks,
            names: FxHashMap::default(),
            indices: FxHashMap::default(),
            parts: FxHashMap::default(),
            fixed: vec![],
            known: FxHashSet::default(),
            left: MOST_TERMS,
        }
    }

    /// Binds the variables of a block; returns its result.
    fn block(&mut self, e: &Expr) -> Expr {
        let (bindings, result) = e.as_block();
        for b in bindings {
            let is = self.resolve(&b.rhs);
            let made_of = self.made_of(&b.rhs);
            match &b.pattern {
                Pattern::Var(x) => {
                    if let (Is::Index, Some(y)) = (&is, b.rhs.as_var()) {
                        let parts = self.parts.get(&y.id()).cloned();
                        self.parts.extend(parts.map(|parts| (x.id(), parts)));
                    }
                    self.indices.insert(x.id(), made_of);
                    self.names.insert(x.id(), is);
                }
                Pattern::Tuple(xs) => {
                    for (k, x) in xs.iter().enumerate() {
                        let part = self.part_of(&is, k, xs.len());
                        let own = if matches!(part, Is::Index) { vec![x.id()] } else { made_of.clone() };
                        self.indices.insert(x.id(), own);
                        self.names.insert(x.id(), part);
                    }
                    if let (Is::Index, Some(y)) = (&is, b.rhs.as_var()) {
                        self.parts.insert(y.id(), xs.iter().map(Var::id).collect());
                    }
                }
            }
        }
        result.clone()
    }

    fn resolve(&self, e: &Expr) -> Is {
        match e.kind() {
            Kind::Var(x) => self.names.get(&x.id()).cloned().unwrap_or(Is::Other),
            Kind::App(Op::Get(i, n), args) => match self.part_of(&self.resolve(&args[0]), i - 1, *n) {
                Is::Other => Is::Term(e.clone()),
                is => is,
            },
            _ => Is::Term(e.clone()),
        }
    }

    /// Returns a part of what a tuple is.
    fn part_of(&self, is: &Is, k: usize, n: usize) -> Is {
        match is {
            Is::Pair(state) if k == 0 => (**state).clone(),
            Is::State => Is::Part(k),
            Is::Index => Is::Index,
            Is::Term(e) => match e.args_of(&Op::Tuple) {
                Some(parts) if parts.len() == n => self.resolve(&parts[k]),
                _ => Is::Other,
            },
            Is::Pair(_) | Is::Part(_) | Is::Other => Is::Other,
        }
    }

    /// Returns the indices that a term is made of.
    fn made_of(&self, e: &Expr) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        e.visit(|e| {
            let indices = e.as_var().and_then(|x| self.indices.get(&x.id()));
            indices.into_iter().flatten().for_each(|index| {
                if !found.contains(index) {
                    found.push(*index);
                }
            });
        });
        found
    }

    fn enter(&mut self, x: &Var) {
        self.names.insert(x.id(), Is::Index);
        self.indices.insert(x.id(), vec![x.id()]);
    }

    /// Returns in how many dimensions a new part differs from the old one.
    fn changed(&mut self, new: &Expr, i: usize) -> usize {
        let whole = self.ranks[i];
        let Is::Term(e) = self.resolve(new) else {
            return if matches!(self.resolve(new), Is::Part(j) if i == j) { 0 } else { whole };
        };
        match e.kind() {
            Kind::Let(..) => {
                let result = self.block(&e);
                self.changed(&result, i)
            }
            Kind::App(Op::Prim(Prim::Build), args) => {
                let Kind::Lam(x, body) = args[1].kind() else { return whole };
                self.enter(x);
                self.changed_element(body, x, i).unwrap_or(0)
            }
            Kind::App(Op::Call(f), args) => {
                let changes = self.changing.get(&f.name.as_written()).cloned().unwrap_or_default();
                let of = |(k, dimensions): &(usize, usize)| {
                    matches!(self.resolve(&args[*k]), Is::Part(j) if i == j).then_some(*dimensions)
                };
                changes.iter().find_map(of).unwrap_or(whole).min(whole)
            }
            _ => whole,
        }
    }

    /// Returns in how many dimensions elements change; none if this one does not.
    fn changed_element(&mut self, e: &Expr, x: &Var, i: usize) -> Option<usize> {
        let e = self.block(e);
        let whole = Some(self.ranks[i]);
        let Some(left) = self.left.checked_sub(1) else { return whole };
        self.left = left;
        let Is::Term(e) = self.resolve(&e) else { return self.left_over(x, i) };
        match e.kind() {
            Kind::Let(..) => self.changed_element(&e, x, i),
            Kind::App(Op::If, args) => {
                let before = std::mem::replace(&mut self.reads, vec![None; self.ranks.len()]);
                self.read(&args[0], false);
                let reads = std::mem::replace(&mut self.reads, before);
                if reads.iter().any(Option::is_some) {
                    // Native code does not know again which elements a step changed.
                    return whole;
                }
                let arms = [true, false].map(|holds| {
                    let mark = self.fixed.len();
                    self.learn(&args[0], holds);
                    let arm = self.changed_element(&args[if holds { 1 } else { 2 }], x, i);
                    self.fixed.truncate(mark);
                    arm
                });
                arms.into_iter().flatten().max()
            }
            Kind::App(Op::Prim(Prim::Index), args) if self.is_own(&args[0], x) => {
                let is_old = matches!(self.resolve(&args[1]), Is::Part(j) if i == j);
                if is_old { None } else { self.left_over(x, i) }
            }
            _ => self.left_over(x, i),
        }
    }

    /// Returns the dimensions of which the index is not fixed.
    fn left_over(&self, x: &Var, i: usize) -> Option<usize> {
        let own = self.parts.get(&x.id()).cloned().unwrap_or_else(|| vec![x.id()]);
        let fixed = own.iter().filter(|part| self.fixed.contains(part)).count();
        Some(self.ranks[i].saturating_sub(fixed))
    }

    /// Returns whether a term is the index of a `build`.
    fn is_own(&self, e: &Expr, x: &Var) -> bool {
        let own = self.parts.get(&x.id()).cloned().unwrap_or_default();
        if e.as_var().is_some_and(|y| y.id() == x.id() || !own.is_empty() && self.parts.get(&y.id()) == Some(&own)) {
            return true;
        }
        let Is::Term(e) = self.resolve(e) else { return self.made_of(e) == [x.id()] };
        e.args_of(&Op::Tuple).is_some_and(|parts| {
            parts.len() == own.len()
                && parts.iter().zip(&own).all(|(part, id)| part.as_var().is_some_and(|y| y.id() == *id))
        })
    }

    /// Learns which indices are numbers of the step where a condition holds, or does not.
    fn learn(&mut self, condition: &Expr, holds: bool) {
        let Is::Term(e) = self.resolve(condition) else { return };
        let Kind::App(op, args) = e.kind() else { return };
        match (op, holds) {
            (Op::Prim(Prim::And), true) | (Op::Prim(Prim::Or), false) => {
                args.iter().for_each(|arg| self.learn(arg, holds));
            }
            (Op::Prim(Prim::Not), _) => self.learn(&args[0], !holds),
            (Op::Prim(Prim::Eq), true) | (Op::Prim(Prim::Ne), false) => {
                for [a, b] in [[&args[0], &args[1]], [&args[1], &args[0]]] {
                    let index = a.as_var().filter(|a| self.indices.get(&a.id()).is_some_and(|of| **of == [a.id()]));
                    let is_number = self.made_of(b).iter().all(|index| self.fixed.contains(index));
                    if let Some(index) = index.filter(|_| is_number) {
                        self.fixed.push(index.id());
                        return;
                    }
                }
            }
            _ => {}
        }
    }

    fn reads_at_least(&mut self, i: usize, dimensions: usize) {
        let found = self.reads[i].unwrap_or(0).max(dimensions);
        self.reads[i] = Some(found.min(self.ranks[i]));
    }

    /// Notes what the derivative of a term reads; a linear one is only added, subtracted or passed on.
    fn read(&mut self, e: &Expr, linear: bool) {
        let Some(left) = self.left.checked_sub(1) else {
            return (0..self.ranks.len()).for_each(|i| self.reads_at_least(i, usize::MAX));
        };
        self.left = left;
        match self.resolve(e) {
            Is::Index | Is::Other => {}
            Is::Part(i) if linear && self.ranks[i] == 0 => {}
            Is::Part(i) => self.reads_at_least(i, usize::MAX),
            Is::State | Is::Pair(_) => (0..self.ranks.len()).for_each(|i| self.reads_at_least(i, usize::MAX)),
            Is::Term(term) => {
                let is_new = e.as_var().is_none_or(|x| self.known.insert((x.id(), linear, self.fixed.clone())));
                if is_new {
                    self.read_term(&term, linear);
                }
            }
        }
    }

    fn read_term(&mut self, e: &Expr, linear: bool) {
        match e.kind() {
            Kind::Let(..) => {
                let result = self.block(e);
                self.read(&result, linear);
            }
            Kind::Lam(x, body) => {
                self.enter(x);
                let result = self.block(body);
                self.read(&result, false);
            }
            Kind::App(op, args) => self.read_application(op, args, linear),
            Kind::Var(_) | Kind::Const(_) => {}
        }
    }

    fn read_application(&mut self, op: &Op, args: &[Expr], linear: bool) {
        match (op, args) {
            (Op::Prim(Prim::Size), _) => {}
            (Op::Prim(Prim::Index), [at, tensor]) => {
                self.read(at, false);
                // An element of a row, or a row.
                let (mut of, mut tensor) = (self.made_of(at), tensor.clone());
                if let Is::Term(row) = self.resolve(&tensor)
                    && let Some([k, rows]) = row.args_of_prim(Prim::Index)
                    && matches!(self.resolve(rows), Is::Part(_))
                {
                    self.read(k, false);
                    of.extend(self.made_of(k).into_iter().filter(|index| !of.contains(index)).collect::<Vec<_>>());
                    tensor = rows.clone();
                } else if matches!(tensor.ty(), Type::Tensor(_, element) if !element.has_fixed_shape()) && !linear {
                    of.push(u32::MAX);
                }
                match self.resolve(&tensor) {
                    Is::Part(_) if linear => {}
                    Is::Part(i) => {
                        let free = of.iter().filter(|index| !self.fixed.contains(index)).count();
                        self.reads_at_least(i, if free > 1 { usize::MAX } else { free });
                    }
                    _ => self.read(&tensor, linear),
                }
            }
            (Op::Prim(Prim::Mul), [a, b]) if self.is_constant(a) => self.read(b, linear),
            (Op::Prim(Prim::Mul | Prim::Div), [a, b]) if self.is_constant(b) => self.read(a, linear),
            (Op::If, [c, then, other]) => {
                self.read(c, false);
                for (arm, holds) in [(then, true), (other, false)] {
                    let mark = self.fixed.len();
                    self.learn(c, holds);
                    let result = self.block(arm);
                    self.read(&result, linear);
                    self.fixed.truncate(mark);
                }
            }
            (Op::Prim(Prim::Build | Prim::SumBuild), [n, f]) => {
                self.read(n, false);
                if let Kind::Lam(x, body) = f.kind() {
                    self.enter(x);
                    let result = self.block(body);
                    self.read(&result, linear);
                }
            }
            (Op::Prim(Prim::Add | Prim::Sub | Prim::Neg) | Op::Tuple | Op::Get(..), _) => {
                args.iter().for_each(|arg| self.read(arg, linear));
            }
            _ => args.iter().for_each(|arg| self.read(arg, false)),
        }
    }

    fn is_constant(&self, e: &Expr) -> bool {
        let is_number = |e: &Expr| matches!(e.kind(), Kind::Const(Constant::Float(_)));
        is_number(e) || matches!(self.resolve(e), Is::Term(e) if is_number(&e))
    }
}
