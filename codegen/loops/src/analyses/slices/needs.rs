//! Finds the statements that slices keep. The least solution is found for all functions at once, and a function is cut
//! in one way for all of its callers.
//!
//! Memory is told apart by its roots (`crate::analyses::alias::Aliases`) and by the type of its elements. One root
//! stands for all that a call gives, and the sizes of a vector of vectors are read more often than its Floats. Where
//! memory is seen as of another type, as records of recursive functions are, all types are one.

use crate::analyses::alias::{Aliases, Written};
use crate::analyses::independence::bests;
use crate::analyses::roots::Root;
use crate::ir::{Block, For, Function, Local, Memory, Op, Operand, Scalar, Stmt, Ty};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Holds the statements that the slices of some functions keep.
#[derive(Debug)]
pub(super) struct Needs<'a> {
    functions: &'a [Function],
    written: &'a [Written],
    facts: HashMap<usize, SliceFacts<'a>>,
}

/// Holds the statements that the slice of one function keeps.
#[derive(Debug)]
pub(super) struct SliceFacts<'a> {
    function: &'a Function,
    /// Whether memory is of one type only.
    is_typed: bool,
    aliases: Aliases,
    /// The locals that are used by what stays.
    used: HashSet<Local>,
    /// Memory that is read by what stays, through buffers of which type.
    read: HashSet<(Root, Ty)>,
    /// For each result, whether a caller uses it.
    results: Vec<bool>,
    /// The types of memory inside the results that callers read.
    results_read: HashSet<Ty>,
    /// The parameters whose memory callers read after the call, with the types that they read.
    left: HashSet<(usize, Ty)>,
    /// The indices of loops, and what is computed from them.
    looped: HashSet<Local>,
    /// The lengths of chunks, which are never 0.
    lengths: HashSet<Local>,
    /// The comparisons of an index with a size, by what they set.
    below: HashMap<Local, Local>,
    /// The scalars computed from arguments without a load.
    plain: HashSet<Local>,
    /// The statements that stay, by their addresses.
    kept: HashSet<*const Stmt>,
}

/// The needs of a statement that affect the statements before it.
#[derive(Clone, Copy, Default)]
struct StmtNeeds {
    /// Whether it stays.
    kept: bool,
    /// Whether the checks before it have to stay, but those of an index that is used for nothing that stays.
    guarded: bool,
    /// Whether these have to stay, too.
    strict: bool,
}

impl<'a> Needs<'a> {
    /// Finds the needs of functions, given by number. Calls from outside use no results.
    pub(super) fn solve(functions: &'a [Function], all: &BTreeSet<usize>, written: &'a [Written]) -> Needs<'a> {
        let is_typed = !all.iter().any(|i| has_casts(&functions[*i]));
        let facts = all.iter().map(|i| (*i, SliceFacts::new(&functions[*i], is_typed, written))).collect();
        let mut needs = Needs { functions, written, facts };
        loop {
            let before = needs.size();
            // Callees mostly come after their callers: what these need of them is known then.
            all.iter().for_each(|i| needs.visit_function(*i));
            if needs.size() == before {
                return needs;
            }
        }
    }

    /// Returns what stays of a function.
    pub(super) fn facts(&self, i: usize) -> &SliceFacts<'a> {
        &self.facts[&i]
    }

    fn size(&self) -> usize {
        self.facts.values().map(SliceFacts::size).sum()
    }

    fn visit_function(&mut self, i: usize) {
        let function = &self.functions[i];
        let facts = self.facts.remove(&i).expect("all functions that are reached have facts");
        let mut walk = Walk { needs: self, at: i, facts };
        walk.visit_results(function);
        walk.visit_block(&function.body, true);
        let facts = walk.facts;
        self.facts.insert(i, facts);
    }
}

impl<'a> SliceFacts<'a> {
    fn new(function: &'a Function, is_typed: bool, written: &[Written]) -> SliceFacts<'a> {
        SliceFacts {
            function,
            is_typed,
            aliases: Aliases::of(function, written),
            used: HashSet::new(),
            read: HashSet::new(),
            results: vec![false; function.results.len()],
            results_read: HashSet::new(),
            left: HashSet::new(),
            looped: index_locals(function),
            lengths: chunk_lengths(function),
            below: below_checks(function),
            plain: plain_scalars(function),
            kept: HashSet::new(),
        }
    }

    fn size(&self) -> usize {
        let results = self.results.iter().filter(|used| **used).count() + self.results_read.len();
        self.used.len() + self.read.len() + results + self.left.len() + self.kept.len()
    }

    pub(super) fn keeps(&self, stmt: &Stmt) -> bool {
        self.kept.contains(&std::ptr::from_ref(stmt))
    }

    pub(super) fn uses(&self, x: Local) -> bool {
        self.used.contains(&x)
    }

    /// Returns which results the slice gives.
    pub(super) fn results(&self) -> &[bool] {
        &self.results
    }

    /// Returns what is read by what stays of what a buffer is, or of what lies in it.
    fn reads(&self, a: &Operand) -> HashSet<Ty> {
        let Some(x) = a.local().filter(|_| self.function.ty(a).as_scalar().is_none()) else { return HashSet::new() };
        // What has no root is not understood.
        let is_known = !self.aliases.roots_of(x).is_empty();
        let reach = self.aliases.reach(x);
        self.read.iter().filter(|(root, _)| !is_known || reach.contains(root)).map(|(_, ty)| *ty).collect()
    }

    /// Returns whether what is written through a buffer is read by what stays.
    fn shows(&self, b: Local) -> bool {
        let ty = self.ty(&Operand::Local(b));
        let roots = self.aliases.roots_of(b);
        self.read.iter().any(|(root, read)| *read == ty && (roots.is_empty() || roots.contains(root)))
    }

    /// Returns which checks a statement needs. The statement is kept and has no blocks. A check of an otherwise unused
    /// index proves that a size is not 0. An access at an index of a loop over that size needs no such check.
    fn guarded(&self, stmt: &Stmt) -> StmtNeeds {
        let index = match stmt {
            Stmt::Let(_, Op::DivI, args) if self.may_be_zero(&args[1]) => Some(&args[1]),
            Stmt::Memory(Memory::Load(_, _, i) | Memory::Store(_, i, _) | Memory::Add(_, i, _)) => Some(i),
            Stmt::Memory(Memory::Zero(..) | Memory::Move { .. }) => None,
            _ => return StmtNeeds { kept: true, ..StmtNeeds::default() },
        };
        let is_looped = index.and_then(Operand::local).is_some_and(|x| self.looped.contains(&x));
        StmtNeeds { kept: true, guarded: true, strict: !is_looped }
    }

    fn may_be_zero(&self, divisor: &Operand) -> bool {
        match divisor {
            Operand::Integer(k) => *k == 0,
            divisor => divisor.local().is_none_or(|x| !self.lengths.contains(&x)),
        }
    }

    /// Returns the type of a buffer. All types are one if the functions cast memory.
    fn ty(&self, b: &Operand) -> Ty {
        if self.is_typed { self.function.ty(b) } else { Scalar::Integer.ty().buffer() }
    }

    fn use_operand(&mut self, a: &Operand) {
        self.used.extend(a.local());
    }

    /// Records that memory of these types, in a buffer or inside it, is read.
    fn read_all(&mut self, a: &Operand, types: &HashSet<Ty>) {
        if let Some(x) = a.local() {
            let reach = self.aliases.reach(x);
            self.read.extend(reach.iter().flat_map(|root| types.iter().map(move |ty| (root, *ty))));
        }
    }
}

/// Returns whether a function sees memory as of another type.
fn has_casts(function: &Function) -> bool {
    let mut casts = false;
    function.body.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Cast(x, b)) = stmt {
            casts |= function.ty(&Operand::Local(*x)) != function.ty(b);
        }
    });
    casts
}

/// Scalar parameters, and what operations at the start of the function, outside of blocks, make of them.
fn plain_scalars(function: &Function) -> HashSet<Local> {
    let is_scalar = |x: &&Local| function.ty(&Operand::Local(**x)).as_scalar().is_some();
    let mut plain: HashSet<Local> = function.params.iter().filter(is_scalar).copied().collect();
    for stmt in &function.body.stmts {
        if let Stmt::Let(x, op, args) = stmt
            && !op.is_libm()
            && args.iter().all(|a| a.local().is_none_or(|x| plain.contains(&x)))
        {
            plain.insert(*x);
        }
    }
    plain
}

/// Returns the indices of loops, and what is computed from them.
fn index_locals(function: &Function) -> HashSet<Local> {
    let mut looped = HashSet::new();
    function.body.visit(&mut |stmt| match stmt {
        Stmt::For(inner) => {
            looped.insert(inner.index);
        }
        Stmt::Let(x, _, args) if args.iter().any(|a| a.local().is_some_and(|x| looped.contains(&x))) => {
            looped.insert(*x);
        }
        _ => {}
    });
    looped
}

fn chunk_lengths(function: &Function) -> HashSet<Local> {
    let mut lengths = HashSet::new();
    function.body.visit(&mut |stmt| {
        if let Stmt::Let(x, Op::Chunk, _) = stmt {
            lengths.insert(*x);
        }
    });
    lengths
}

fn below_checks(function: &Function) -> HashMap<Local, Local> {
    let mut below = HashMap::new();
    function.body.visit(&mut |stmt| {
        if let Stmt::Let(x, Op::Below, args) = stmt {
            below.extend(args[0].local().map(|index| (*x, index)));
        }
    });
    below
}

/// Walks through one function from its end to its start.
struct Walk<'a, 'b> {
    needs: &'b mut Needs<'a>,
    at: usize,
    facts: SliceFacts<'a>,
}

impl<'a> Walk<'a, '_> {
    /// Records what callers need of the results.
    fn visit_results(&mut self, function: &Function) {
        let facts = &mut self.facts;
        for (i, ty) in facts.left.clone() {
            facts.read_all(&Operand::Local(function.params[i]), &HashSet::from([ty]));
        }
        let results_read = facts.results_read.clone();
        for (i, a) in function.body.results.iter().enumerate() {
            if facts.results[i] {
                facts.use_operand(a);
            }
            facts.read_all(a, &results_read);
        }
    }

    fn visit_block(&mut self, block: &Block, is_top: bool) -> StmtNeeds {
        let mut all = StmtNeeds::default();
        for stmt in block.stmts.iter().rev() {
            let outcome = self.visit_stmt(stmt, all, is_top);
            if outcome.kept {
                self.facts.kept.insert(stmt);
            }
            all.kept |= outcome.kept;
            all.guarded |= outcome.guarded;
            all.strict |= outcome.strict;
        }
        all
    }

    fn visit_stmt(&mut self, stmt: &Stmt, later: StmtNeeds, is_top: bool) -> StmtNeeds {
        match stmt {
            Stmt::If(xs, condition, then, other) => {
                for (i, _) in xs.iter().enumerate().filter(|(_, x)| self.facts.used.contains(x)).collect::<Vec<_>>() {
                    [then, other].into_iter().for_each(|arm| self.facts.use_operand(&arm.results[i]));
                }
                let arms = [then, other].map(|arm| self.visit_block(arm, false));
                let kept = arms.iter().any(|arm| arm.kept) || self.is_used(stmt);
                if kept {
                    self.facts.use_operand(condition);
                }
                let [guarded, strict] = [arms.iter().any(|arm| arm.guarded), arms.iter().any(|arm| arm.strict)];
                StmtNeeds { kept, guarded, strict }
            }
            Stmt::For(looped) => {
                for (i, (y, init)) in looped.carried.iter().enumerate() {
                    if self.facts.used.contains(y) || self.facts.used.contains(&looped.results[i]) {
                        self.facts.use_operand(init);
                        self.facts.use_operand(&looped.body.results[i]);
                    }
                }
                self.mark_best_places(looped);
                let body = self.visit_block(&looped.body, false);
                let kept = body.kept || self.is_used(stmt);
                if kept {
                    [&looped.from, &looped.to].into_iter().for_each(|a| self.facts.use_operand(a));
                }
                StmtNeeds { kept, ..body }
            }
            Stmt::Call(xs, callee, args) => self.visit_call(xs, callee.0, args, is_top),
            stmt => {
                let kept = self.stays(stmt, later, is_top);
                if kept {
                    stmt.operands().into_iter().for_each(|a| self.facts.use_operand(a));
                    self.mark_seen(stmt);
                }
                if kept { self.facts.guarded(stmt) } else { StmtNeeds::default() }
            }
        }
    }

    /// Which lane has the first of equals, or the last, its place tells: nothing else in the loop uses it.
    fn mark_best_places(&mut self, looped: &For) {
        if looped.lanes == 1 {
            return;
        }
        for best in bests(&self.facts.function.locals, looped) {
            let is_used =
                |i: usize| [looped.carried[i].0, looped.results[i]].iter().any(|x| self.facts.used.contains(x));
            if best.members().any(is_used) {
                self.facts.used.extend(best.place.map(|i| looped.results[i]));
            }
        }
    }

    fn is_used(&self, stmt: &Stmt) -> bool {
        stmt.targets().iter().any(|x| self.facts.used.contains(x))
    }

    /// Returns whether a statement without blocks stays, not a call.
    fn stays(&self, stmt: &Stmt, later: StmtNeeds, is_top: bool) -> bool {
        match stmt {
            Stmt::Memory(Memory::Alloc { .. } | Memory::Release(_) | Memory::Slide(..)) => true,
            Stmt::Check { condition, .. } => {
                let is_plain = |a: &&Operand| a.local().is_none_or(|x| self.facts.plain.contains(&x));
                let index = condition.local().and_then(|c| self.facts.below.get(&c));
                let is_idle = index.is_some_and(|index| !self.facts.uses(*index));
                later.strict || later.guarded && !is_idle || is_top && stmt.operands().iter().all(is_plain)
            }
            Stmt::Write(_) => false,
            stmt => stmt.writes().map_or_else(|| self.is_used(stmt), |b| self.facts.shows(b)),
        }
    }

    /// The elements of buffers that a statement sees.
    fn mark_seen(&mut self, stmt: &Stmt) {
        if let Stmt::Memory(Memory::Load(_, b, _) | Memory::Move { from: b, .. }) = stmt {
            let facts = &mut self.facts;
            let ty = facts.ty(b);
            let roots = b.local().map(|b| facts.aliases.roots_of(b)).filter(|roots| !roots.is_empty());
            let roots = roots.unwrap_or_else(|| facts.aliases.all().clone());
            facts.read.extend(roots.iter().map(|root| (root, ty)));
        }
    }

    fn visit_call(&mut self, xs: &[Local], callee: usize, args: &[Operand], is_top: bool) -> StmtNeeds {
        let left = self.needs.written[callee].iter();
        let left: HashSet<(usize, Ty)> =
            left.flat_map(|i| self.facts.reads(&args[*i]).into_iter().map(|ty| (*i, ty))).collect();
        let used: Vec<bool> = xs.iter().map(|x| self.facts.used.contains(x)).collect();
        let kept = self.needs.functions[callee].allocates || used.contains(&true) || !left.is_empty();
        // The callee may have checks of sizes that are passed on.
        let checks = is_top && callee != self.at && !self.theirs(callee).kept.is_empty();
        let kept = kept || checks;
        if !kept {
            return StmtNeeds::default();
        }
        let results_read: HashSet<Ty> = xs.iter().flat_map(|x| self.facts.reads(&Operand::Local(*x))).collect();
        let theirs = self.theirs(callee);
        theirs.results.iter_mut().zip(&used).for_each(|(theirs, ours)| *theirs |= ours);
        theirs.results_read.extend(results_read);
        theirs.left.extend(left);
        for (i, p) in self.needs.functions[callee].params.iter().enumerate() {
            let theirs = self.theirs(callee);
            let (is_used, read) = (theirs.uses(*p), theirs.reads(&Operand::Local(*p)));
            if is_used {
                self.facts.use_operand(&args[i]);
            }
            self.facts.read_all(&args[i], &read);
        }
        // What it loads is behind checks of its own.
        StmtNeeds { kept, ..StmtNeeds::default() }
    }

    /// Returns the facts of a callee, which may be the function itself.
    fn theirs(&mut self, callee: usize) -> &mut SliceFacts<'a> {
        if callee == self.at { &mut self.facts } else { self.needs.facts.get_mut(&callee).expect("it is reached") }
    }
}
