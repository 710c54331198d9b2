//! Which buffers may share memory.
//!
//! Memory has roots: what an `alloc` makes, what a parameter is, and what lies in its buffers, what a call made. For each
//! buffer are known the roots that it may be a part of, for each root those that may lie in it:
//!
//!   x = load b[i]                                 x has what lies in b
//!   x = b[i..], b as T, b after slide             x has what b has
//!   store b[i] = x, move b <- x                   what x has, or what lies in it, lies in b
//!   x = if .., x = for .. carrying (y = a)        x has what the blocks yield; y what a and x have
//!   x.. = call f(a..)                             x has a root of its own, and all that is in the a that f does not change
//!
//! Buffers of different roots share nothing that anybody writes: what is written belongs to nobody else, since lowering
//! adds only to what it made for the purpose, and gives that to a function as the place of a sum, for one argument.
//!
//! And what was just allocated shares nothing with what was there before, whatever its roots.

use super::{Argument, Block, Function, Local, Memory, Module, Operand, Returned, Stmt};
use indexmap::IndexSet;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// What is known of the buffers of a function.
#[derive(Debug, Default)]
pub struct Aliases {
    /// The roots of each buffer.
    roots: HashMap<Local, Roots>,
    /// What may lie in a root.
    within: HashMap<Root, Roots>,
    /// The place of each local in the order in which they are set.
    order: HashMap<Local, usize>,
    /// When the buffer, or what it is a part of, was allocated, for those that just were.
    made: HashMap<Local, usize>,
    /// What can be reached from buffers, for those that were asked for.
    reached: RefCell<HashMap<Local, Rc<Roots>>>,
}

/// Of a function, the parameters that it writes to.
pub type Written = HashSet<usize>;

/// Memory that is taken at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// What the local is set to there.
    Made(Local),
    /// What lies in a parameter, however deep.
    Inside(Local),
}

/// Several of them.
pub type Roots = BTreeSet<Root>;

impl Aliases {
    /// What is known, given what each function of the module writes to.
    pub fn of(function: &Function, written: &[Written]) -> Aliases {
        let mut finder = Finder::new(function, written);
        for x in &function.params {
            finder.aliases.enter(*x);
            finder.has(*x, Root::Made(*x));
            finder.holds(Root::Made(*x), Root::Inside(*x));
            finder.holds(Root::Inside(*x), Root::Inside(*x));
        }
        while std::mem::take(&mut finder.changed) {
            finder.block(&function.body);
        }
        finder.found()
    }

    /// Whether the two may share memory that is written, where both are known.
    pub fn may_share(&self, x: Local, y: Local) -> bool {
        let is_new =
            |x: Local, y: Local| self.made.get(&x).is_some_and(|made| self.order.get(&y).is_some_and(|y| y < made));
        let shares = || self.roots.get(&y).map_or_else(|| self.shows(x, &Roots::new()), |roots| self.shows(x, roots));
        x == y || shares() && !is_new(x, y) && !is_new(y, x)
    }

    /// Whether a buffer may be a part of one of the roots.
    pub fn shows(&self, x: Local, roots: &Roots) -> bool {
        // What has no root was never set, or is not understood.
        self.roots.get(&x).is_none_or(|own| own.is_empty() || !own.is_disjoint(roots))
    }

    /// The roots that a buffer may be a part of.
    pub fn roots_of(&self, x: Local) -> Roots {
        self.roots.get(&x).cloned().unwrap_or_default()
    }

    /// The roots that a buffer may be a part of, and those of all that lies in it.
    pub fn reach(&self, x: Local) -> Rc<Roots> {
        let known = self.reached.borrow().get(&x).cloned();
        known.unwrap_or_else(|| {
            let reached = Rc::new(self.reached_from(self.roots_of(x)));
            self.reached.borrow_mut().insert(x, reached.clone());
            reached
        })
    }

    /// Whether the address of a root may lie in memory.
    pub fn is_held(&self, root: Root) -> bool {
        self.within.values().any(|inner| inner.contains(&root))
    }

    /// All roots there are.
    pub fn all(&self) -> Roots {
        self.roots.values().flatten().chain(self.within.values().flatten()).copied().collect()
    }

    /// The roots, and those of all that may lie in them.
    pub fn reached_from(&self, roots: Roots) -> Roots {
        let mut reached = Roots::new();
        let mut waiting: Vec<Root> = roots.into_iter().collect();
        while let Some(root) = waiting.pop() {
            if reached.insert(root) {
                waiting.extend(self.within.get(&root).into_iter().flatten());
            }
        }
        reached
    }

    /// Whether the statement itself, not its blocks, may change what a buffer shows.
    pub fn changes(&self, stmt: &Stmt, y: Local, written: &[Written]) -> bool {
        stmt.writes().is_some_and(|x| self.may_share(x, y))
            || stmt.hands_over(written).into_iter().any(|x| self.shows(y, &self.reach(x)))
    }

    /// The roots of what the statement itself, not its blocks, may change; none where that is not known.
    pub fn changed_roots(&self, stmt: &Stmt, written: &[Written]) -> Option<Roots> {
        let mut changed = Roots::new();
        if let Some(x) = stmt.writes() {
            changed.extend(self.roots.get(&x).filter(|roots| !roots.is_empty())?);
        }
        for x in stmt.hands_over(written) {
            changed.extend(self.reach(x).iter());
        }
        Some(changed)
    }

    /// The buffers that may be a part of what a local is allocated as.
    pub fn sharers(&self, made: Local) -> impl Iterator<Item = Local> {
        self.roots.iter().filter(move |(_, roots)| roots.contains(&Root::Made(made))).map(|(x, _)| *x)
    }

    /// Whether all that a buffer may be a part of was allocated as one of these.
    pub fn is_made_among(&self, x: Local, made: &HashSet<Local>) -> bool {
        let is_one = |root: &Root| matches!(root, Root::Made(y) if made.contains(y));
        self.roots.get(&x).is_some_and(|roots| !roots.is_empty() && roots.iter().all(is_one))
    }

    fn enter(&mut self, x: Local) {
        let next = self.order.len();
        self.order.entry(x).or_insert(next);
    }
}

/// What each function writes to: its parameters' buffers, by number.
pub fn written(module: &Module) -> Vec<Written> {
    let mut written = vec![Written::new(); module.functions.len()];
    loop {
        let found: Vec<Written> = module.functions.iter().map(|f| written_by(f, &written)).collect();
        if found == written {
            return written;
        }
        written = found;
    }
}

fn written_by(function: &Function, written: &[Written]) -> Written {
    let aliases = Aliases::of(function, written);
    let mut roots = Roots::new();
    function.body.visit(&mut |stmt| {
        roots.extend(stmt.writes().into_iter().flat_map(|x| aliases.roots_of(x)));
        roots.extend(
            stmt.hands_over(written).into_iter().flat_map(|x| aliases.reach(x).iter().copied().collect::<Vec<_>>()),
        );
    });
    let is_written = |x: &Local| roots.contains(&Root::Made(*x)) || roots.contains(&Root::Inside(*x));
    let params = function.params.iter().enumerate();
    params.filter(|(_, x)| is_buffer(function, **x) && is_written(x)).map(|(i, _)| i).collect()
}

impl Stmt {
    /// The buffer that the statement itself writes to.
    pub fn writes(&self) -> Option<Local> {
        match self {
            Stmt::Memory(
                Memory::Store(b, ..) | Memory::Add(b, ..) | Memory::Zero(b, _) | Memory::Move { to: b, .. },
            ) => b.local(),
            _ => None,
        }
    }

    /// The buffers that a call writes to, or to what lies in them.
    pub fn hands_over(&self, written: &[Written]) -> Vec<Local> {
        let Stmt::Call(_, callee, args) = self else { return vec![] };
        let is_written = |i: &usize| written[callee.0].contains(i);
        args.iter().enumerate().filter(|(i, _)| is_written(i)).filter_map(|(_, a)| a.local()).collect()
    }
}

fn is_buffer(function: &Function, x: Local) -> bool {
    function.locals[x.0 as usize].ty.as_scalar().is_none()
}

struct Finder<'a> {
    function: &'a Function,
    written: &'a [Written],
    /// The order in which locals are set, and what was just allocated.
    aliases: Aliases,
    /// The roots met so far, by number.
    numbers: IndexSet<Root>,
    roots: HashMap<Local, Bits>,
    /// What lies in each root.
    within: Vec<Bits>,
    changed: bool,
}

/// A set of small numbers.
#[derive(Clone, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn of(number: usize) -> Bits {
        let mut bits = vec![0; number / 64 + 1];
        bits[number / 64] = 1 << (number % 64);
        Bits(bits)
    }

    /// Adds all of another set; whether any of it is new.
    fn add(&mut self, other: &Bits) -> bool {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        let mut is_new = false;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            is_new |= other & !*own != 0;
            *own |= other;
        }
        is_new
    }

    fn numbers(&self) -> impl Iterator<Item = usize> {
        let words = self.0.iter().enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(|(i, word)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * i + bit))
    }
}

impl<'a> Finder<'a> {
    fn new(function: &'a Function, written: &'a [Written]) -> Finder<'a> {
        let (numbers, roots, within) = (IndexSet::new(), HashMap::new(), vec![]);
        Finder { function, written, aliases: Aliases::default(), numbers, roots, within, changed: true }
    }

    fn found(self) -> Aliases {
        let named = |bits: &Bits| -> Roots { bits.numbers().map(|i| self.numbers[i]).collect() };
        let roots = self.roots.iter().map(|(x, bits)| (*x, named(bits))).collect();
        let within = self.numbers.iter().zip(&self.within).map(|(root, bits)| (*root, named(bits))).collect();
        Aliases { roots, within, ..self.aliases }
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            stmt.bound().into_iter().for_each(|x| self.aliases.enter(x));
            if let Stmt::For(looped) = stmt {
                looped.carried.iter().for_each(|(y, init)| self.same(*y, init));
            }
            if let Stmt::Bench { given, .. } = stmt {
                given.iter().for_each(|(x, a)| self.same(*x, a));
            }
            stmt.blocks().into_iter().for_each(|block| self.block(block));
            stmt.targets().into_iter().for_each(|x| self.aliases.enter(x));
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::If(xs, _, then, other) => {
                for arm in [then, other] {
                    xs.iter().zip(&arm.results).for_each(|(x, a)| self.same(*x, a));
                }
            }
            Stmt::For(looped) => {
                for (i, (y, _)) in looped.carried.iter().enumerate() {
                    self.same(*y, &looped.body.results[i]);
                    self.same(looped.results[i], &Operand::Local(*y));
                }
            }
            Stmt::Call(xs, callee, args) => {
                let written = &self.written[callee.0];
                let shared = args.iter().enumerate().filter(|(i, _)| !written.contains(i)).map(|(_, a)| a);
                self.made_by_call(xs, &shared.collect::<Vec<_>>());
            }
            Stmt::External { results, args, .. } => {
                let data = |arg: &Argument| if let Argument::Tensor(data, _) = arg { Some(data.clone()) } else { None };
                let data: Vec<Operand> = args.iter().filter_map(data).collect();
                let xs: Vec<Local> = results.iter().flat_map(Returned::locals).collect();
                self.made_by_call(&xs, &data.iter().collect::<Vec<_>>());
            }
            Stmt::Memory(memory) => self.memory(memory),
            Stmt::Let(..) | Stmt::Bench { .. } | Stmt::Check { .. } | Stmt::Write(_) => {}
        }
    }

    fn memory(&mut self, memory: &Memory) {
        match memory {
            Memory::Alloc { buffer, .. } | Memory::Stack(buffer, _) => {
                self.has(*buffer, Root::Made(*buffer));
                self.aliases.made.insert(*buffer, self.aliases.order[buffer]);
            }
            Memory::Load(x, b, _) if is_buffer(self.function, *x) => {
                let inside = self.inside(&self.roots(b));
                self.have(*x, &inside);
            }
            Memory::Slid { target, buffer, .. } => self.same(*target, buffer),
            Memory::View(x, b, _) | Memory::Cast(x, b) => {
                self.same(*x, b);
                if let Some(made) = b.local().and_then(|b| self.aliases.made.get(&b)) {
                    self.aliases.made.insert(*x, *made);
                }
            }
            Memory::Store(b, _, a) if is_buffer_operand(self.function, a) => {
                let (roots, inner) = (self.roots(b), self.roots(a));
                self.hold(&roots, &inner);
            }
            Memory::Move { to, from, .. } => {
                let (roots, inner) = (self.roots(to), self.inside(&self.roots(from)));
                self.hold(&roots, &inner);
            }
            Memory::Store(..)
            | Memory::Load(..)
            | Memory::Zero(..)
            | Memory::Add(..)
            | Memory::Mark(_)
            | Memory::Release(_)
            | Memory::Above(..)
            | Memory::Before(..)
            | Memory::Slide(..) => {}
        }
    }

    /// The results of a call are new, or any part of what it was given; so is what lies in them.
    fn made_by_call(&mut self, xs: &[Local], shared: &[&Operand]) {
        let Some(first) = xs.iter().copied().find(|x| is_buffer(self.function, *x)) else { return };
        let mut reached = Bits::of(self.number(Root::Made(first)));
        for a in shared {
            reached.add(&self.roots(a));
        }
        loop {
            let inside = self.inside(&reached);
            if !reached.add(&inside) {
                break;
            }
        }
        let made = Bits::of(self.number(Root::Made(first)));
        self.hold(&made, &reached);
        xs.iter().for_each(|x| self.have(*x, &reached));
    }

    /// What lies in any of the roots.
    fn inside(&self, roots: &Bits) -> Bits {
        let mut inside = Bits::default();
        for root in roots.numbers() {
            inside.add(&self.within[root]);
        }
        inside
    }

    fn number(&mut self, root: Root) -> usize {
        let (number, _) = self.numbers.insert_full(root);
        self.within.resize_with(self.numbers.len(), Bits::default);
        number
    }

    fn roots(&self, a: &Operand) -> Bits {
        a.local().and_then(|x| self.roots.get(&x)).cloned().unwrap_or_default()
    }

    fn same(&mut self, x: Local, a: &Operand) {
        let roots = self.roots(a);
        self.have(x, &roots);
    }

    fn have(&mut self, x: Local, roots: &Bits) {
        if is_buffer(self.function, x) {
            self.changed |= self.roots.entry(x).or_default().add(roots);
        }
    }

    fn has(&mut self, x: Local, root: Root) {
        let bits = Bits::of(self.number(root));
        self.have(x, &bits);
    }

    fn hold(&mut self, roots: &Bits, inner: &Bits) {
        for root in roots.numbers() {
            self.changed |= self.within[root].add(inner);
        }
    }

    fn holds(&mut self, root: Root, inner: Root) {
        let [root, inner] = [root, inner].map(|root| Bits::of(self.number(root)));
        self.hold(&root, &inner);
    }
}

fn is_buffer_operand(function: &Function, a: &Operand) -> bool {
    a.local().is_some_and(|x| is_buffer(function, x))
}
