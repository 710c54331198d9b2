//! Knows what holds where a term is: what names stand for, the ranges of indices, the conditions of branches.
//!
//! ```text
//! let n = size(v) in build(n, λi. ..)        0 <= i < size(v)
//! if c then .. else ..                       c holds in the first branch, and not in the second
//! ```
//!
//! A pass that goes through a definition tells what it comes by, and laws with conditions ask. Variables are bound once,
//! so what is known of them stays known.
//!
//! Source: Efficient differentiable programming in a functional array-processing language (ICFP 2019), Fig. 8, whose
//! side conditions on indices need the sizes of Using rewrite strategies .. (FTfJP 2023).

mod reads;
mod sizes;

use crate::prim::{Cost, Effect, Prim};
use crate::scope::{free_variables, substitute};
use crate::sizes::Signature;
use crate::term::{Binding, Constant, Expr, Kind, Op, Pattern, Var};
use crate::types::Type;
use reads::Read;
use rustc_hash::{FxHashMap, FxHashSet};
use sizes::{base, has_size, is_at_most, is_size, of_components, shifted, size};

/// The longest number that a name stands for: a longer one is known by its name.
const LONGEST_NUMBER: usize = 200;

/// The most nodes of a term that is cheap to compute again.
const MOST_CHEAP: usize = 60;

/// Returns the variables that a binding gives terms: a variable, or components of a tuple of sizes.
fn terms_of(b: &Binding) -> Vec<(&Var, Expr)> {
    match &b.pattern {
        Pattern::Var(x) => vec![(x, b.rhs.clone())],
        Pattern::Tuple(xs) if is_size(&b.rhs) => {
            xs.iter().enumerate().map(|(i, x)| (x, Expr::get(i + 1, b.rhs.clone()))).collect()
        }
        Pattern::Tuple(_) => Vec::new(),
    }
}

/// What is known.
#[derive(Debug, Default)]
pub struct Facts {
    names: FxHashMap<u32, Named>,
    /// The sizes that indices are below.
    sizes: FxHashMap<u32, Expr>,
    /// The conditions of the branches around, with their values there.
    conditions: Vec<(Expr, bool)>,
    /// Sizes that a check found equal, where it was made before.
    equal: Vec<(Expr, Expr)>,
    /// What was read, where that was done before.
    read: Vec<Read>,
    /// Numbers, and sizes that they are indices for: an element was read before.
    below: Vec<(Expr, Expr)>,
    /// The directions, and the names of what depends on them.
    late: FxHashSet<u32>,
}

/// The number of facts that hold in blocks, at a point of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize, usize, usize, usize);

/// The term of a name.
#[derive(Clone, Debug)]
struct Named {
    /// None where only sizes are to be known, so that no law sees through the name.
    term: Option<Expr>,
    /// Whether the name is used once, where it is evaluated at most as often as the term.
    is_once: bool,
    /// Its value as a size, and its own size, without names: sizes of many layers would be walked again for each use.
    number: Option<Expr>,
    size: Option<Expr>,
}

impl Facts {
    /// Returns what the sizes of a signature say of the parameters.
    pub fn of(signature: Option<&Signature>, params: &[Var]) -> Facts {
        let mut facts = Facts::default();
        let Some(signature) = signature else { return facts };
        let args: Vec<Expr> = params.iter().map(Expr::var).collect();
        // The first of equal sizes stands for them, so that one is left.
        facts.equal.extend(signature.equal_sizes(&args));
        for (i, limit) in signature.limits(&args) {
            facts.index(&params[i], &limit);
        }
        facts
    }

    /// Learns what a name stands for.
    pub fn name(&mut self, b: &Binding, is_once: bool) {
        if self.is_late(&b.rhs) {
            self.late.extend(b.pattern.vars().iter().map(Var::id));
        }
        self.sizes(b);
        for (x, term) in terms_of(b) {
            let is_once = is_once && matches!(b.pattern, Pattern::Var(_));
            self.names.entry(x.id()).and_modify(|named| (named.term, named.is_once) = (Some(term), is_once));
        }
        let read = reads::reads(&b.rhs).into_iter();
        let read = read.map(|read| Read { sizes: read.sizes.iter().map(|n| self.number(n)).collect(), ..read });
        let read: Vec<Read> = read.collect();
        self.read.extend(read);
    }

    /// Learns what a binding says of sizes and of indices, and nothing else.
    pub fn sizes(&mut self, b: &Binding) {
        for (x, term) in terms_of(b) {
            // Each of some sums of a number with itself would be twice as long as the one before.
            let is_short = |n: &Expr| n.size() <= LONGEST_NUMBER;
            let number = is_size(&term).then(|| self.number(&term)).filter(is_short);
            let is_array = matches!(term.ty(), Type::Tensor(..)) && has_size(&term);
            let size = is_array.then(|| self.size_of(&term)).filter(is_short);
            self.names.insert(x.id(), Named { term: None, is_once: false, number, size });
        }
        if let Some([v, w]) = b.rhs.args_of_prim(Prim::CommonSize) {
            let sizes = (self.size_of(w), self.size_of(v));
            self.equal.push(sizes);
        }
        for (k, v) in reads::elements(&b.rhs) {
            let n = self.size_of(v);
            let ks = k.args_of(&Op::Tuple).map_or(vec![(k.clone(), n.clone())], |ks| {
                ks.iter().enumerate().map(|(i, k)| (k.clone(), Expr::get(i + 1, n.clone()))).collect()
            });
            self.below.extend(ks);
        }
    }

    /// Learns that a variable is an index of tensors of a size.
    pub fn index(&mut self, i: &Var, size: &Expr) {
        let size = self.number(size);
        self.sizes.insert(i.id(), size);
    }

    /// Returns whether a variable is known to be an index.
    pub fn is_index(&self, i: &Var) -> bool {
        self.sizes.contains_key(&i.id())
    }

    /// Learns that a variable is a direction.
    pub fn direction(&mut self, j: &Var) {
        self.late.insert(j.id());
    }

    /// Returns whether a term depends on a direction.
    pub fn is_late(&self, e: &Expr) -> bool {
        !self.late.is_empty() && free_variables(e).iter().any(|x| self.late.contains(&x.id()))
    }

    /// Learns the value of a condition, where a branch is entered.
    pub fn condition(&mut self, c: &Expr, value: bool) {
        self.conditions.push((c.clone(), value));
    }

    /// Returns a mark for [`Facts::forget_since`].
    pub fn mark(&self) -> Mark {
        Mark(self.conditions.len(), self.equal.len(), self.read.len(), self.below.len())
    }

    /// Forgets what holds in a block only: the conditions, the equal sizes and the reads learnt since a mark.
    pub fn forget_since(&mut self, mark: Mark) {
        self.conditions.truncate(mark.0);
        self.equal.truncate(mark.1);
        self.read.truncate(mark.2);
        self.below.truncate(mark.3);
    }

    /// Returns what a name stands for, if that may take its place; and whether any part of it may.
    pub fn term(&self, e: &Expr) -> Option<(&Expr, bool)> {
        let named = self.names.get(&e.as_var()?.id())?;
        Some((named.term.as_ref()?, named.is_once))
    }

    /// Returns the value of a condition, where it is known.
    pub fn value(&self, condition: &Expr) -> Option<bool> {
        let c = self.seen_through(condition);
        if let Kind::Const(Constant::Bool(value)) = c.kind() {
            return Some(*value);
        }
        self.conditions.iter().rev().find(|(other, _)| self.seen_through(other) == c).map(|(_, value)| *value)
    }

    /// Returns whether an index is in range for a size: `0 <= k < n`.
    pub fn is_below(&self, k: &Expr, n: &Expr) -> bool {
        let n = self.number(n);
        // What is known of the name itself, before its term.
        if self.size_of_index(k).is_some_and(|size| is_at_most(&size, &n)) {
            return true;
        }
        if self.below.iter().any(|(read, size)| read == k && is_at_most(&self.number(size), &n)) {
            return true;
        }
        let (less, c) = base(&n);
        if c > 0 && less != Expr::integer(0) && self.is_below(k, &less) {
            return true;
        }
        let k = self.number(k);
        if let Some([last, k]) = k.args_of_prim(Prim::Sub) {
            return *last == shifted(&n, -1) && self.is_below(k, &n);
        }
        if let Some([v]) = self.term(&k).map_or(&k, |(term, _)| term).args_of_prim(Prim::Imax) {
            return is_at_most(&self.size_of(v), &n);
        }
        if let Some(ks) = k.args_of(&Op::Tuple) {
            return ks.iter().enumerate().all(|(i, k)| self.is_below(k, &Expr::get(i + 1, n.clone())));
        }
        match (k.kind(), n.kind()) {
            (Kind::Const(Constant::Integer(k)), Kind::Const(Constant::Integer(n))) => (0..*n).contains(k),
            (Kind::App(Op::Get(i, _), tuple), _) => self.size_of_index(&tuple[0]).is_some_and(|size| {
                let component = self.number(&Expr::get(*i, size));
                component == n
            }),
            _ => {
                let (i, c) = base(&k);
                c >= 0 && self.size_of_index(&i).is_some_and(|size| is_at_most(&shifted(&size, c), &n))
            }
        }
    }

    /// Returns whether a tensor has an element at an index, since it was read at all below sizes that the index is below.
    fn was_read(&self, k: &Expr, v: &Expr) -> bool {
        let indices = k.args_of(&Op::Tuple).unwrap_or(std::slice::from_ref(k));
        let covers = |read: &Read| {
            v.as_var() == Some(&read.tensor)
                && indices.len() == read.sizes.len()
                && indices.iter().zip(&read.sizes).all(|(k, n)| self.is_below(k, n))
        };
        self.read.iter().any(covers)
    }

    /// Returns whether a number is known not to be negative.
    pub fn is_natural(&self, n: &Expr) -> bool {
        let n = self.number(n);
        match n.kind() {
            Kind::Const(Constant::Integer(n)) => *n >= 0,
            Kind::App(Op::Prim(Prim::Size | Prim::Imax), _) => true,
            Kind::App(Op::Prim(Prim::Add), args) | Kind::App(Op::Tuple, args) => {
                args.iter().all(|a| self.is_natural(a))
            }
            Kind::App(Op::Get(..), args) => {
                args[0].args_of_prim(Prim::Size).is_some() || self.size_of_index(&args[0]).is_some()
            }
            Kind::Var(_) if self.size_of_index(&n).is_some() => true,
            Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => {
                self.equal.iter().any(|(size, other)| *other == n && size.any(|e| e.args_of_prim(Prim::Size).is_some()))
            }
        }
    }

    /// Returns whether two sizes are known to be equal.
    pub fn are_equal(&self, n: &Expr, m: &Expr) -> bool {
        self.number(n) == self.number(m)
    }

    fn size_of_index(&self, k: &Expr) -> Option<Expr> {
        self.sizes.get(&k.as_var()?.id()).cloned()
    }

    /// Returns whether a term has a value, whatever its variables are, and prints nothing.
    pub fn is_total(&self, e: &Expr) -> bool {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) => true,
            Kind::App(Op::Prim(Prim::Index), args) => {
                args.iter().all(|a| self.is_total(a))
                    && (self.is_below(&args[0], &size(&args[1])) || self.was_read(&args[0], &args[1]))
            }
            Kind::App(Op::Prim(Prim::AsSize), args) => self.is_natural(&args[0]),
            Kind::App(Op::Prim(p @ (Prim::Build | Prim::SumBuild)), args) => {
                let [.., n, f] = args.as_slice() else { return false };
                // Sums of tensors fail where their sizes differ.
                let is_sum_of_numbers = *p == Prim::Build || e.ty().has_fixed_shape();
                is_sum_of_numbers && self.is_natural(n) && self.is_total_function(f)
            }
            Kind::App(Op::Prim(Prim::Map2), args) => {
                let [f, v, w] = args.as_slice() else { return false };
                let have_one_size = self.are_equal(&size(v), &size(w));
                have_one_size && self.is_total_function(f) && self.is_total(v) && self.is_total(w)
            }
            Kind::App(Op::Prim(Prim::Fold | Prim::Scanl | Prim::Reduce | Prim::Scanr), args) => {
                self.is_total_function(&args[0]) && args[1..].iter().all(|a| self.is_total(a))
            }
            Kind::App(Op::Prim(Prim::Place), args) => {
                let [c, f, rest @ ..] = args.as_slice() else { return false };
                [c, f].iter().all(|f| self.is_total_function(f)) && rest.iter().all(|a| self.is_total(a))
            }
            Kind::App(Op::Prim(Prim::Loop), args) => {
                self.is_total_function(&args[1])
                    && args.iter().all(|a| matches!(a.kind(), Kind::Lam(..)) || self.is_total(a))
            }
            Kind::App(op, args) => is_total_operator(op, e.ty()) && args.iter().all(|a| self.is_total(a)),
            Kind::Let(bindings, body) => {
                // Components of an index are indices. The step of a loop has a name that is known to be one.
                let is_no_index = |(x, _): &(u32, Expr)| !self.sizes.contains_key(x);
                let by: FxHashMap<u32, Expr> = bindings.iter().flat_map(components).filter(is_no_index).collect();
                let rest = if by.is_empty() { body.clone() } else { substitute(body, &by) };
                bindings.iter().all(|b| self.is_total(&b.rhs)) && self.is_total(&rest)
            }
            Kind::Lam(..) => false,
        }
    }

    /// Returns whether a function has a value, whatever it is given.
    pub fn is_total_function(&self, f: &Expr) -> bool {
        matches!(f.kind(), Kind::Lam(_, body) if self.is_total(body))
    }

    /// Returns whether it costs no more to compute a term again than to read its value: a few operations on numbers, no
    /// loop and no function of the C library.
    pub fn is_cheap(&self, e: &Expr) -> bool {
        // Copies of copies would grow without end.
        e.size() <= MOST_CHEAP && self.has_cheap_parts(e)
    }

    /// Returns whether a block is cheap with all that it names. Copies of it need names of their own.
    pub fn is_cheap_block(&self, e: &Expr) -> bool {
        let (bindings, result) = e.as_block();
        let has_cheap_parts = |e: &Expr| self.has_cheap_parts(e);
        e.size() <= MOST_CHEAP && bindings.iter().all(|b| has_cheap_parts(&b.rhs)) && has_cheap_parts(result)
    }

    fn has_cheap_parts(&self, e: &Expr) -> bool {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) | Kind::App(Op::Dummy, _) => true,
            Kind::App(op, args) => {
                let is_cheap = match op {
                    Op::Tuple | Op::Get(..) | Op::If => true,
                    Op::Prim(Prim::Index | Prim::Size | Prim::CommonSize | Prim::AsSize | Prim::ZeroOf) => true,
                    Op::Prim(p) => p.cost() == Cost::Cheap && p.effect() != Effect::Shows && is_scalar(e.ty()),
                    _ => false,
                };
                is_cheap && args.iter().all(|a| self.has_cheap_parts(a))
            }
            Kind::Let(..) | Kind::Lam(..) => false,
        }
    }

    /// Returns a number, or a tuple of numbers, as two sizes that are equal are written: names of sizes stand for their
    /// terms, and the size of a tensor that is made is what it is made with.
    fn number(&self, e: &Expr) -> Expr {
        let n = self.number_shown(e);
        if self.equal.is_empty() { n } else { self.standing_for(n) }
    }

    fn number_shown(&self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Var(x) => match self.names.get(&x.id()).and_then(|named| named.number.as_ref()) {
                Some(number) if number != e => self.number(number),
                _ => e.clone(),
            },
            Kind::App(Op::Tuple, parts) => of_components(parts.iter().map(|p| self.number(p)).collect()),
            Kind::App(Op::Get(i, _), args) => {
                let tuple = self.number(&args[0]);
                match tuple.args_of(&Op::Tuple) {
                    Some(parts) => parts[i - 1].clone(),
                    None => Expr::get(*i, tuple),
                }
            }
            Kind::App(Op::Prim(Prim::Size | Prim::CommonSize), args) => self.size_of(&args[0]),
            Kind::App(Op::Prim(Prim::AsSize), args) => self.number(&args[0]),
            Kind::App(Op::Prim(p @ (Prim::Add | Prim::Sub)), args) if *e.ty() == Type::Integer => {
                let [a, b] = [&args[0], &args[1]].map(|e| self.number(e));
                match (&b.kind(), p) {
                    (Kind::Const(Constant::Integer(c)), Prim::Add) => shifted(&a, *c),
                    (Kind::Const(Constant::Integer(c)), _) => shifted(&a, c.wrapping_neg()),
                    _ => Expr::prim(*p, [a, b]),
                }
            }
            _ => e.clone(),
        }
    }

    fn size_of(&self, v: &Expr) -> Expr {
        let n = self.standing_for(self.size_shown(v));
        let parts = match n.ty().as_tuple() {
            Some(parts) if n.args_of(&Op::Tuple).is_none() && !self.equal.is_empty() => parts.len(),
            _ => return n,
        };
        let parts: Vec<Expr> = (1..=parts).map(|i| Expr::get(i, n.clone())).collect();
        let known: Vec<Expr> = parts.iter().map(|part| self.standing_for(part.clone())).collect();
        if known == parts { n } else { Expr::tuple(known) }
    }

    /// Returns the size that stands for those equal to this one.
    fn standing_for(&self, n: Expr) -> Expr {
        self.equal.iter().rev().find(|(same, _)| *same == n).map_or(n, |(_, n)| n.clone())
    }

    fn size_shown(&self, v: &Expr) -> Expr {
        match v.kind() {
            Kind::Var(x) => match self.names.get(&x.id()).and_then(|named| named.size.as_ref()) {
                Some(size) => self.number(size),
                None => size(v),
            },
            Kind::App(Op::Prim(Prim::Build), args) => self.number(&args[0]),
            Kind::App(Op::Prim(Prim::DeltaAt | Prim::Add | Prim::Sub | Prim::Neg | Prim::Into), args) => {
                self.size_of(&args[0])
            }
            Kind::App(Op::Prim(Prim::ZeroOf), args) if matches!(args[0].ty(), Type::Tensor(..)) => {
                self.size_of(&args[0])
            }
            Kind::App(Op::Prim(Prim::Mul), args) => self.size_of(&args[1]),
            Kind::App(Op::Get(..), args) => {
                match self.term(&args[0]).map_or(&args[0], |(t, _)| t).args_of_prim(Prim::Unzip) {
                    Some([v]) => self.size_of(v),
                    _ => size(v),
                }
            }
            Kind::App(Op::Prim(Prim::Map2), args) => self.size_of(&args[1]),
            Kind::App(Op::Prim(Prim::Scanl | Prim::Scanr), args) => {
                Expr::prim(Prim::Add, [self.size_of(&args[2]), Expr::integer(1)])
            }
            Kind::App(Op::Prim(Prim::VecInit), args) => Expr::integer(args.len() as i64),
            _ => size(v),
        }
    }

    /// Returns a condition with the terms that its names stand for.
    fn seen_through(&self, e: &Expr) -> Expr {
        match self.term(e) {
            Some((term, _)) if *term.ty() == Type::Bool => self.seen_through(term),
            _ => e.clone(),
        }
    }
}

/// Returns the components to which a binding gives names, where it takes a variable apart.
fn components(b: &Binding) -> Vec<(u32, Expr)> {
    let (Pattern::Tuple(xs), Kind::Var(_)) = (&b.pattern, b.rhs.kind()) else { return Vec::new() };
    xs.iter().enumerate().map(|(i, x)| (x.id(), Expr::get(i + 1, b.rhs.clone()))).collect()
}

fn is_scalar(ty: &Type) -> bool {
    matches!(ty, Type::Float | Type::Integer | Type::Bool)
}

fn is_total_operator(op: &Op, ty: &Type) -> bool {
    match op {
        Op::Tuple | Op::Get(..) | Op::Dummy | Op::If => true,
        // Sums of tensors fail where their sizes differ.
        Op::Prim(Prim::Add | Prim::Sub) => is_scalar(ty),
        Op::Prim(p) => p.effect() == Effect::Pure,
        _ => false,
    }
}
