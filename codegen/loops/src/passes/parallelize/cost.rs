//! Estimates the cost of an iteration as a polynomial of sizes known before the loop, in units of about a quarter of a
//! nanosecond.
//!
//! ```text
//! cost(for i in 0..n { s })   n cost(s)      n / 2 where n is itself an index below n; 8 where it is not known
//! cost(if a b)                (cost(a) + cost(b)) / 2, or that of the likely one
//! cost(f(a))                  that of f's body
//! ```
//!
//! of which a loop in lanes takes the V-th part for vectors of V Floats, as does an innermost loop that LLVM can run on
//! vectors (`vectors`). But the divided loop itself loads and stores memory at about 8 bytes a unit, whether in vectors
//! or not. The data of inner loops are mostly in the first caches.
//!
//! It decides only how a loop is divided, and nothing of it is measured: so it is the same on each run.

use super::planner::{Planner, WorkEstimate};
use super::slice::IndexSlice;
use super::vectors::runs_on_vectors;
use crate::ir::{self, Block, For, Function, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use lm::libm::Speed;
use rustc_hash::{FxHashMap, FxHashSet};

/// A number of iterations.
#[derive(Clone, Copy)]
enum Trips {
    Number(i64),
    /// A local, divided by a number.
    Local(Local, i64),
}

/// The work that is worth a thread, in units of about a quarter of a nanosecond: about 3 us.
pub const GRAIN: u64 = 12_500;

/// The assumed number of iterations of a loop with unknown bounds.
const UNKNOWN: Trips = Trips::Number(8);
/// The cost of a long loop: eight chunks, as in `lmc.chunk`.
const LONG: i64 = 8 * GRAIN as i64;
/// Calls deeper than that count as much as a few statements.
const DEPTH: usize = 6;
const SHALLOW: i64 = 100;
/// Terms beyond so many are as the last one.
const MOST_TERMS: usize = 16;
/// A product of more than so many sizes is larger than all that matters.
const MOST_FACTORS: usize = 6;

/// Returns the cost of an iteration of a loop.
pub(super) fn estimate(planner: &Planner, looped: &For, inside: &FxHashSet<Local>) -> WorkEstimate {
    let mut estimator = Estimator { planner, terms: Vec::new() };
    let function = planner.function;
    let mut known =
        KnownNumbers { function, trips: FxHashMap::default(), outside: Some(inside), likely: FxHashSet::default() };
    let samples = samples(planner, looped, inside);
    known.trips.extend(samples.iter().map(|(x, _)| (*x, Trips::Local(*x, 1))));
    if let Some(n) = looped.to.local() {
        known.trips.insert(looped.index, Trips::Local(n, 2));
    }
    let once = Weight { scale: 1.0, sizes: vec![], on_vectors: false };
    let part = estimator.on_vectors(looped, known.function, once.clone());
    estimator.estimate_block(&looped.body, &mut known, &part, 0);
    let is_access = |stmt: &&Stmt| matches!(stmt, Stmt::Memory(Memory::Load(..) | Memory::Store(..) | Memory::Add(..)));
    let accesses = looped.body.stmts.iter().filter(is_access).count() as i64;
    estimator.add_cost(&once.part(1.0 - part.scale), accesses);
    let terms = estimator.terms.into_iter().map(|(weight, sizes)| ((weight.round() as i64).max(1), sizes)).collect();
    WorkEstimate { terms, samples }
}

/// Returns the sizes that the loop's own block computes from its index, and counts by.
fn samples(planner: &Planner, looped: &For, inside: &FxHashSet<Local>) -> Vec<(Local, IndexSlice)> {
    let mut bounds: Vec<Local> = Vec::new();
    let mut note = |a: &Operand| bounds.extend(a.local().filter(|x| inside.contains(x)));
    looped.body.visit(&mut |stmt| match stmt {
        Stmt::For(inner) => note(&inner.to),
        Stmt::Call(_, _, args) => args.iter().for_each(&mut note),
        _ => {}
    });
    bounds.sort();
    bounds.dedup();
    let is_fixed = |b: Local| {
        let mut changes = inside.contains(&b);
        looped.body.visit(&mut |stmt| changes |= planner.aliases.changes(stmt, b, &planner.world.effects.summaries));
        !changes
    };
    let is_integer = |x: &Local| planner.function.ty(&(*x).into()) == Scalar::Integer.ty();
    let set_here = |x: &Local| looped.body.stmts.iter().any(|stmt| stmt.targets().contains(x));
    let slice = |x: Local| Some((x, IndexSlice::find_for(looped.index, &looped.body, &x.into(), &is_fixed)?));
    bounds.into_iter().filter(is_integer).filter(set_here).filter_map(slice).collect()
}

/// The weight of a statement: a number times sizes.
#[derive(Clone)]
struct Weight {
    scale: f64,
    sizes: Vec<Local>,
    /// Whether it is done to vectors.
    on_vectors: bool,
}

impl Weight {
    fn times(&self, trips: Trips) -> Weight {
        let mut product = self.clone();
        match trips {
            Trips::Number(n) => product.scale *= n.max(0) as f64,
            Trips::Local(x, by) if product.sizes.len() < MOST_FACTORS => {
                product.scale /= by as f64;
                product.sizes.push(x);
                product.sizes.sort();
            }
            Trips::Local(..) => {}
        }
        product
    }

    fn part(&self, of: f64) -> Weight {
        Weight { scale: self.scale * of, ..self.clone() }
    }
}

/// Holds the known numbers of a function.
struct KnownNumbers<'a> {
    function: &'a Function,
    trips: FxHashMap<Local, Trips>,
    /// For the function of the loop, the locals set outside of the loop, which are known.
    outside: Option<&'a FxHashSet<Local>>,
    likely: FxHashSet<Local>,
}

impl KnownNumbers<'_> {
    fn trips(&self, a: &Operand) -> Trips {
        match a {
            Operand::Integer(n) => Trips::Number(*n),
            Operand::Local(x) => match self.trips.get(x) {
                Some(trips) => *trips,
                None if self.outside.is_some_and(|inside| !inside.contains(x)) => Trips::Local(*x, 1),
                None => UNKNOWN,
            },
            Operand::Float(_) | Operand::Bool(_) | Operand::Text(_) => UNKNOWN,
        }
    }
}

struct Estimator<'p, 'a> {
    planner: &'p Planner<'a>,
    terms: Vec<(f64, Vec<Local>)>,
}

impl Estimator<'_, '_> {
    /// Returns what the body of a loop counts: a vector takes about as long as a number.
    fn on_vectors(&self, looped: &For, function: &Function, weight: Weight) -> Weight {
        let module = self.planner.module;
        let in_lanes = looped.lanes > 1 || runs_on_vectors(&function.locals, looped, module.keeps_order);
        if weight.on_vectors || !in_lanes {
            return weight;
        }
        Weight { on_vectors: true, ..weight.part(1.0 / f64::from(module.vectors.floats)) }
    }

    fn estimate_block(&mut self, block: &Block, known: &mut KnownNumbers, weight: &Weight, depth: usize) {
        for stmt in &block.stmts {
            self.add_cost(weight, own_cost(stmt));
            match stmt {
                Stmt::Let(x, Op::Likely, _) => {
                    known.likely.insert(*x);
                }
                Stmt::Let(x, Op::AddI | Op::SubI, args) if matches!(args[1], Operand::Integer(_)) => {
                    // Near enough.
                    let near = known.trips(&args[0]);
                    known.trips.insert(*x, near);
                }
                Stmt::For(inner) => {
                    let trips = known.trips(&inner.to);
                    let below = if let Trips::Local(x, by) = trips { Trips::Local(x, 2 * by) } else { trips };
                    known.trips.insert(inner.index, below);
                    let weight = self.on_vectors(inner, known.function, weight.times(trips));
                    self.estimate_block(&inner.body, known, &weight, depth);
                }
                Stmt::If(_, condition, then, other) => {
                    let is_likely = condition.local().is_some_and(|c| known.likely.contains(&c));
                    let [yes, no] = if is_likely { [1.0, 0.0] } else { [0.5, 0.5] };
                    self.estimate_block(then, known, &weight.part(yes), depth);
                    self.estimate_block(other, known, &weight.part(no), depth);
                }
                Stmt::Call(_, callee, args) => self.estimate_call(callee.0, args, known, weight, depth),
                _ => {}
            }
        }
    }

    fn estimate_call(&mut self, callee: usize, args: &[Operand], known: &KnownNumbers, weight: &Weight, depth: usize) {
        if depth == DEPTH {
            return self.add_cost(weight, SHALLOW);
        }
        let function = &self.planner.module.functions[callee];
        let integer = |a: &Operand| known.function.ty(a) == Scalar::Integer.ty();
        let given = function.params.iter().zip(args).filter(|(_, a)| integer(a));
        let trips = given.map(|(x, a)| (*x, known.trips(a))).collect();
        let mut known = KnownNumbers { function, trips, outside: None, likely: FxHashSet::default() };
        self.estimate_block(&function.body, &mut known, weight, depth + 1);
    }

    fn add_cost(&mut self, weight: &Weight, cost: i64) {
        let amount = weight.scale * cost as f64;
        let full = self.terms.len() >= MOST_TERMS;
        match self.terms.iter_mut().find(|(_, sizes)| *sizes == weight.sizes) {
            Some((sum, _)) => *sum += amount,
            None if full => self.terms.last_mut().expect("there are some").0 += amount,
            None => self.terms.push((amount, weight.sizes.clone())),
        }
    }
}

/// Returns what a statement costs itself.
fn own_cost(stmt: &Stmt) -> i64 {
    match stmt {
        Stmt::Let(_, op, _) => price(*op),
        Stmt::For(_) | Stmt::Call(..) | Stmt::Memory(Memory::Alloc { .. }) => 8,
        Stmt::Memory(Memory::Zero(..) | Memory::Move { .. }) => 16,
        Stmt::Memory(Memory::Add(..)) => 3,
        Stmt::Memory(Memory::View(..) | Memory::Cast(..)) => 0,
        _ => 1,
    }
}

/// Returns what an operation costs.
fn price(op: Op) -> i64 {
    match op.cost() {
        ir::Cost::Free | ir::Cost::Cheap | ir::Cost::Simple | ir::Cost::Hash | ir::Cost::Runtime => 1,
        ir::Cost::Division | ir::Cost::IntegerDivision => 8,
        ir::Cost::Root => 20,
        ir::Cost::Libm(f) => match f.speed() {
            Speed::Fast => 20,
            Speed::Slow => 80,
        },
    }
}

impl WorkEstimate {
    /// Returns whether the loop may take long enough: not where its length is known and small.
    pub(super) fn is_worth_it(&self, looped: &For) -> bool {
        let [(cost, sizes)] = self.terms.as_slice() else { return true };
        match (&looped.from, &looped.to) {
            _ if !sizes.is_empty() => true,
            (Operand::Integer(from), Operand::Integer(to)) => to.saturating_sub(*from).saturating_mul(*cost) >= LONG,
            _ => true,
        }
    }

    /// Returns the statements that compute it, for a loop that starts at an index, and the number.
    pub(super) fn emit(&self, from: &Operand, locals: &mut Vec<LocalInfo>) -> (Vec<Stmt>, Operand) {
        let mut stmts = Vec::new();
        let mut known = FxHashMap::default();
        for (x, slice) in &self.samples {
            if !self.terms.iter().any(|(_, sizes)| sizes.contains(x)) {
                continue;
            }
            let (slice, value) = slice.at(from, locals);
            stmts.extend(slice);
            known.insert(*x, value);
        }
        let mut total = Operand::Integer(0);
        for (weight, sizes) in &self.terms {
            let mut product = Operand::Integer(*weight);
            for x in sizes {
                let size = known.get(x).cloned().unwrap_or(Operand::Local(*x));
                product = let_integer(Op::Count, [product, size], &mut stmts, locals);
            }
            total = match (total, product) {
                (Operand::Integer(0), product) => product,
                (total, product) => let_integer(Op::AddI, [total, product], &mut stmts, locals),
            };
        }
        (stmts, total)
    }
}

/// `x = op a, b`, of Integers.
pub(super) fn let_integer<const N: usize>(
    op: Op,
    args: [Operand; N],
    stmts: &mut Vec<Stmt>,
    locals: &mut Vec<LocalInfo>,
) -> Operand {
    let x = Local(u32::try_from(locals.len()).expect("a function has fewer locals"));
    locals.push(LocalInfo::unnamed(op.result().ty()));
    stmts.push(Stmt::Let(x, op, args.to_vec()));
    Operand::Local(x)
}
