//! Alias analysis: tells which buffers may share memory.
//!
//! Memory has roots: what an `alloc` makes, what a parameter is, and what lies in its buffers, what a call made. For
//! each buffer are known the roots that it may be a part of, for each root those that may lie in it:
//!
//! ```text
//! x = load b[i]                                 x has what lies in b
//! x = b[i..], b as T, b after slide             x has what b has
//! store b[i] = x, move b <- x                   what x has, or what lies in it, lies in b
//! x = if .., x = for .. carrying (y = a)        x has what the blocks yield; y what a and x have
//! x.. = call f(a..)                             x has a new root, and all that is in each a that f gives back
//! ```
//!
//! A move of scalars moves no address, so nothing comes to lie in b. Nor does it where an address in b is set right
//! after a slide: what lay in b lies there still.
//!
//! Buffers of different roots share no memory that anything writes. Lowering adds only to memory that it made for the
//! purpose. It gives that memory to a function as the place of a sum, for one argument only.
//!
//! And what was just allocated shares nothing with what was there before, whatever its roots (`made`). What a conditional
//! chooses shares only what one of the two shares that it chooses from.

pub mod contents;
mod made;
pub mod summary;

use crate::analyses::clamps::Clamps;
use crate::analyses::roots::{Root, Roots};
use crate::ir::{Argument, Block, Function, Local, Memory, Operand, Returned, Stmt};
use contents::Contents;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Holds what alias analysis knows of the buffers of a function.
#[derive(Debug, Default)]
pub struct Aliases {
    /// The roots of each buffer, by number.
    roots: Vec<Roots>,
    /// For each root, the roots that may lie in it.
    contents: Contents,
    /// The place of each local in the order in which they are set.
    order: FxHashMap<Local, usize>,
    /// For each buffer allocated in the function, the earliest allocation of the memory that it is part of.
    made: FxHashMap<Local, usize>,
    /// The buffers that conditionals choose, each with those that it may be.
    chosen: FxHashMap<Local, Vec<Local>>,
    /// The roots that can be reached from a buffer, computed on demand.
    reached: RefCell<FxHashMap<Local, Rc<Roots>>>,
    /// All roots, if they were asked for.
    all: OnceCell<Roots>,
    /// The clamped Integers of the function: not about memory, but independence asks for them beside it.
    clamps: Clamps,
}

static NONE: Roots = Roots::new();

/// Holds what a caller has to know of a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The numbers of the parameters that it writes to.
    pub written: BTreeSet<usize>,
    /// The numbers of the parameters that its results may share memory with.
    pub given_back: BTreeSet<usize>,
}

impl Summary {
    /// Returns whether another summary has all that this one has.
    pub fn is_part_of(&self, other: &Summary) -> bool {
        self.written.is_subset(&other.written) && self.given_back.is_subset(&other.given_back)
    }
}

impl Aliases {
    /// Returns what is known, given a summary of each function of the module.
    pub fn of(function: &Function, summaries: &[Summary]) -> Aliases {
        let mut finder = AliasFinder::new(function, summaries);
        for x in &function.params {
            finder.aliases.enter(*x);
            finder.add_root(*x, Root::Made(*x));
            let inside = Roots::single(Root::Inside(*x));
            finder.add_content(&Roots::single(Root::Made(*x)), &inside);
            finder.add_content(&inside, &inside);
        }
        while std::mem::take(&mut finder.changed) {
            finder.visit_block(&function.body);
        }
        finder.aliases.chosen = chosen(function);
        finder.aliases.made = made::allocation_order(function, &finder.aliases);
        finder.aliases.clamps = Clamps::of(&function.body);
        finder.aliases
    }

    /// Returns whether the two may share memory that is written, where both are known.
    pub fn may_share(&self, x: Local, y: Local) -> bool {
        let is_new =
            |x: Local, y: Local| self.made.get(&x).is_some_and(|made| self.order.get(&y).is_some_and(|y| y < made));
        let shares = |x: Local, y: Local| x == y || self.shows(x, self.roots(y)) && !is_new(x, y) && !is_new(y, x);
        let [xs, ys] = [&x, &y].map(|x| self.chosen.get(x).map_or(std::slice::from_ref(x), Vec::as_slice));
        x == y || shares(x, y) && xs.iter().any(|x| ys.iter().any(|y| shares(*x, *y)))
    }

    /// Returns whether a buffer may be a part of one of the roots.
    pub fn shows(&self, x: Local, roots: &Roots) -> bool {
        // What has no root was never set, or is not understood.
        let own = self.roots(x);
        own.is_empty() || !own.is_disjoint(roots)
    }

    /// Returns the roots that a buffer may be a part of.
    pub fn roots_of(&self, x: Local) -> Roots {
        self.roots(x).clone()
    }

    fn roots(&self, x: Local) -> &Roots {
        // A pass may have made locals since.
        self.roots.get(x.0 as usize).unwrap_or(&NONE)
    }

    /// Returns the roots that a buffer may be a part of, and those of all that lies in it.
    pub fn reach(&self, x: Local) -> Rc<Roots> {
        let known = self.reached.borrow().get(&x).cloned();
        known.unwrap_or_else(|| {
            let reached = Rc::new(self.reached_from(self.roots(x)));
            self.reached.borrow_mut().insert(x, reached.clone());
            reached
        })
    }

    /// Returns whether the address of a root may lie in memory.
    pub fn is_held(&self, root: Root) -> bool {
        self.contents.all().any(|inner| inner.contains(&root))
    }

    /// Returns all roots there are.
    pub fn all(&self) -> &Roots {
        self.all.get_or_init(|| {
            let mut all = Roots::new();
            self.roots.iter().chain(self.contents.all()).for_each(|roots| all.extend(roots));
            all
        })
    }

    /// Returns the roots, and those of all that may lie in them.
    pub fn reached_from(&self, roots: &Roots) -> Roots {
        self.contents.reached_from(roots)
    }

    /// Returns whether the statement itself, not its blocks, may change what a buffer shows.
    pub fn changes(&self, stmt: &Stmt, y: Local, summaries: &[Summary]) -> bool {
        stmt.writes().is_some_and(|x| self.may_share(x, y))
            || stmt.hands_over(summaries).into_iter().any(|x| self.shows(y, &self.reach(x)))
    }

    /// Returns whether a block does nothing to a buffer but adding to it, under this name.
    pub fn only_adds(&self, block: &Block, b: Local, summaries: &[Summary]) -> bool {
        let mut only_adds = true;
        block.visit(&mut |stmt| {
            only_adds &= match stmt {
                Stmt::Memory(Memory::Add(a, ..)) if a.local() == Some(b) => true,
                Stmt::Memory(Memory::Load(_, a, _)) => a.local().is_none_or(|a| !self.may_share(a, b)),
                stmt => !self.changes(stmt, b, summaries),
            };
        });
        only_adds
    }

    /// Returns the clamped Integers of the function.
    pub fn clamps(&self) -> &Clamps {
        &self.clamps
    }

    /// Returns the buffers that may be a part of what a local is allocated as.
    pub fn sharers(&self, made: Local) -> impl Iterator<Item = Local> {
        let roots = self.roots.iter().enumerate().filter(move |(_, roots)| roots.contains(&Root::Made(made)));
        roots.map(|(x, _)| Local(x as u32))
    }

    /// Returns whether all that a buffer may be a part of was allocated as one of these.
    pub fn is_made_among(&self, x: Local, made: &FxHashSet<Local>) -> bool {
        let is_one = |root: Root| matches!(root, Root::Made(y) if made.contains(&y));
        !self.roots(x).is_empty() && self.roots(x).iter().all(is_one)
    }

    fn enter(&mut self, x: Local) {
        let next = self.order.len();
        self.order.entry(x).or_insert(next);
    }
}

impl Stmt {
    /// Returns the buffer that the statement itself writes to.
    pub fn writes(&self) -> Option<Local> {
        match self {
            Stmt::Memory(
                Memory::Store(b, ..) | Memory::Add(b, ..) | Memory::Zero(b, _) | Memory::Move { to: b, .. },
            ) => b.local(),
            _ => None,
        }
    }

    /// Returns the buffers that a call writes to, or to what lies in them.
    pub fn hands_over(&self, summaries: &[Summary]) -> Vec<Local> {
        let Stmt::Call(_, callee, args) = self else { return vec![] };
        let is_written = |i: &usize| summaries[callee.0].written.contains(i);
        args.iter().enumerate().filter(|(i, _)| is_written(i)).filter_map(|(_, a)| a.local()).collect()
    }
}

/// A buffer that may be more than so many is not looked through.
const MOST_CHOICES: usize = 4;

/// Returns the buffers that conditionals choose, each with those that it may be.
fn chosen(function: &Function) -> FxHashMap<Local, Vec<Local>> {
    let mut chosen: FxHashMap<Local, Vec<Local>> = FxHashMap::default();
    function.body.visit(&mut |stmt| {
        let Stmt::If(xs, _, then, other) = stmt else { return };
        for (x, arms) in xs.iter().zip(then.results.iter().zip(&other.results)) {
            let (Some(a), Some(b)) = (arms.0.local(), arms.1.local()) else { continue };
            let mut all: Vec<Local> = [a, b].iter().flat_map(|a| chosen.get(a).cloned().unwrap_or(vec![*a])).collect();
            all.sort_unstable();
            all.dedup();
            if is_buffer(function, *x) && all.len() <= MOST_CHOICES {
                chosen.insert(*x, all);
            }
        }
    });
    chosen
}

fn is_buffer(function: &Function, x: Local) -> bool {
    function.locals[x.0 as usize].ty.as_scalar().is_none()
}

struct AliasFinder<'a> {
    function: &'a Function,
    summaries: &'a [Summary],
    aliases: Aliases,
    /// The buffer that each local was loaded from. An address that was set right after a slide counts as loaded.
    loaded: FxHashMap<Local, Local>,
    changed: bool,
}

impl<'a> AliasFinder<'a> {
    fn new(function: &'a Function, summaries: &'a [Summary]) -> AliasFinder<'a> {
        let roots = vec![Roots::new(); function.locals.len()];
        let aliases = Aliases { roots, ..Aliases::default() };
        AliasFinder { function, summaries, aliases, loaded: FxHashMap::default(), changed: true }
    }

    fn visit_block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            stmt.bound().into_iter().for_each(|x| self.aliases.enter(x));
            if let Stmt::For(looped) = stmt {
                looped.carried.iter().for_each(|(y, init)| self.add_same(*y, init));
            }
            if let Stmt::Bench { given, .. } = stmt {
                given.iter().for_each(|(x, a)| self.add_same(*x, a));
            }
            stmt.blocks().for_each(|block| self.visit_block(block));
            stmt.targets().into_iter().for_each(|x| self.aliases.enter(x));
            self.visit_stmt(stmt);
        }
    }

    fn visit_stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::If(xs, _, then, other) => {
                for arm in [then, other] {
                    xs.iter().zip(&arm.results).for_each(|(x, a)| self.add_same(*x, a));
                }
            }
            Stmt::For(looped) => {
                for (i, (y, _)) in looped.carried.iter().enumerate() {
                    self.add_same(*y, &looped.body.results[i]);
                    self.add_same(looped.results[i], &Operand::Local(*y));
                }
            }
            Stmt::Call(xs, callee, args) => {
                let shared = self.summaries[callee.0].given_back.iter().map(|i| &args[*i]);
                self.visit_call(xs, &shared.collect::<Vec<_>>());
            }
            Stmt::External { results, args, .. } => {
                let data = |arg: &Argument| if let Argument::Tensor(data, _) = arg { Some(data.clone()) } else { None };
                let data: Vec<Operand> = args.iter().filter_map(data).collect();
                let xs: Vec<Local> = results.iter().flat_map(Returned::locals).collect();
                self.visit_call(&xs, &data.iter().collect::<Vec<_>>());
            }
            Stmt::Memory(memory) => self.visit_memory(memory),
            Stmt::Let(..) | Stmt::Bench { .. } | Stmt::Check { .. } | Stmt::Write(_) => {}
        }
    }

    fn visit_memory(&mut self, memory: &Memory) {
        match memory {
            Memory::Alloc { buffer, .. } | Memory::Stack(buffer, _) => {
                self.add_root(*buffer, Root::Made(*buffer));
            }
            Memory::Load(x, b, _) if is_buffer(self.function, *x) => {
                let inside = self.roots_inside(b);
                self.add_roots(*x, &inside);
                self.loaded.extend(b.local().map(|b| (*x, b)));
            }
            Memory::Slid { target: x, buffer: b, .. } => {
                self.add_same(*x, b);
                let from = b.local().and_then(|b| self.loaded.get(&b).copied());
                self.loaded.extend(from.map(|from| (*x, from)));
            }
            Memory::View(x, b, _) | Memory::Cast(x, b) => self.add_same(*x, b),
            Memory::Store(b, _, a) if is_buffer_operand(self.function, a) && !self.is_loaded_from(a, b) => {
                let (roots, inner) = (self.roots(b), self.roots(a));
                self.add_content(&roots, &inner);
            }
            // No address lies where scalars are moved: a record has addresses beside them, but is never moved itself.
            Memory::Move { to, from, .. } if is_table(self.function, from) => {
                let (roots, inner) = (self.roots(to), self.roots_inside(from));
                self.add_content(&roots, &inner);
            }
            Memory::Store(..)
            | Memory::Load(..)
            | Memory::Move { .. }
            | Memory::Zero(..)
            | Memory::Add(..)
            | Memory::Mark(_)
            | Memory::Release(_)
            | Memory::Above(..)
            | Memory::Before(..)
            | Memory::Slide(..) => {}
        }
    }

    fn is_loaded_from(&self, a: &Operand, b: &Operand) -> bool {
        a.local().and_then(|a| self.loaded.get(&a)).is_some_and(|from| b.local() == Some(*from))
    }

    /// The results of a call are new, or any part of what it was given; so is what lies in them.
    fn visit_call(&mut self, xs: &[Local], shared: &[&Operand]) {
        let Some(first) = xs.iter().copied().find(|x| is_buffer(self.function, *x)) else { return };
        let mut reached = Roots::single(Root::Made(first));
        for a in shared {
            reached.add(&self.roots(a));
        }
        let reached = self.aliases.reached_from(&reached);
        let made = Roots::single(Root::Made(first));
        self.add_content(&made, &reached);
        xs.iter().for_each(|x| self.add_roots(*x, &reached));
    }

    /// Returns the roots that may lie in a buffer.
    fn roots_inside(&mut self, b: &Operand) -> Roots {
        let Some(b) = b.local() else { return Roots::new() };
        let Aliases { roots, contents, .. } = &mut self.aliases;
        self.changed |= contents.join(&roots[b.0 as usize]);
        contents.inside(&roots[b.0 as usize])
    }

    fn roots(&self, a: &Operand) -> Roots {
        a.local().map(|x| self.aliases.roots_of(x)).unwrap_or_default()
    }

    fn add_same(&mut self, x: Local, a: &Operand) {
        let Some(a) = a.local().filter(|a| *a != x && is_buffer(self.function, x)) else { return };
        let mut roots = std::mem::take(&mut self.aliases.roots[x.0 as usize]);
        self.changed |= roots.add(self.aliases.roots(a));
        self.aliases.roots[x.0 as usize] = roots;
    }

    fn add_roots(&mut self, x: Local, roots: &Roots) {
        if is_buffer(self.function, x) {
            self.changed |= self.aliases.roots[x.0 as usize].add(roots);
        }
    }

    fn add_root(&mut self, x: Local, root: Root) {
        self.add_roots(x, &Roots::single(root));
    }

    fn add_content(&mut self, roots: &Roots, inner: &Roots) {
        self.changed |= self.aliases.contents.hold(roots, inner);
    }
}

/// Returns whether the elements of a buffer are buffers.
fn is_table(function: &Function, a: &Operand) -> bool {
    function.ty(a).element().is_some_and(|element| element.as_scalar().is_none())
}

fn is_buffer_operand(function: &Function, a: &Operand) -> bool {
    a.local().is_some_and(|x| is_buffer(function, x))
}
