//! Computes elements that are cheap, or read once, where they are read.
//!
//! ```text
//! for i { s; store b[i] = e(i) }; .. load b[k] ..      =   for i { s }; .. e(k) ..
//! move b[0..n] <- a[0..n]; .. load b[k] ..             =   .. load a[k] ..
//! ```
//!
//! e(i) gives all elements of b, and b does not escape. Nothing that e reads is written or released before the last
//! load of b. e is as cheap as a load if it loads one element at most, and does one or two cheap operations. A more
//! expensive e is moved if b has a single load, which reads each element at most once. Such a load is outside of loops.
//! Or it is in one loop, at the index plus or minus something that does not change in the loop.

use super::fuser::WINDOW;
use super::order::is_released;
use crate::analyses::alias::Aliases;
use crate::analyses::effects::{Access, Callees, StmtEffects};
use crate::ir::{Block, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// A more expensive element has so many operations and loads at most.
const MOST_STEPS: usize = 40;

/// The statements of a block in which all loads of a buffer are looked for, if its elements are made without loads.
const FAR: usize = 1_000;

/// The operations of an element that is as cheap as a load.
const CHEAP: usize = 2;

/// Returns whether anything changed.
pub(super) fn elements(body: &mut Block, locals: &mut Vec<LocalInfo>, aliases: &Aliases, callees: Callees) -> bool {
    let uses = count_uses(body);
    let mut finder =
        ElementFinder { locals, aliases, callees, uses, changed: FxHashSet::default(), replaced: FxHashMap::default() };
    finder.inline_in_block(body);
    body.change_operands(&mut |a| finder.resolve(a));
    !finder.changed.is_empty()
}

/// Counts the uses of a buffer.
#[derive(Clone, Copy, Default)]
struct BufferUses {
    loads: usize,
    /// Elements that are stored, or moves to it.
    stores: usize,
    /// Anything else, but that it is made.
    others: usize,
    is_made: bool,
}

fn count_uses(body: &Block) -> FxHashMap<Local, BufferUses> {
    fn add(uses: &mut FxHashMap<Local, BufferUses>, a: &Operand, count: fn(&mut BufferUses) -> &mut usize) {
        if let Some(x) = a.local() {
            *count(uses.entry(x).or_default()) += 1;
        }
    }
    let mut uses: FxHashMap<Local, BufferUses> = FxHashMap::default();
    body.results.iter().for_each(|a| add(&mut uses, a, |uses| &mut uses.others));
    body.visit(&mut |stmt| {
        let mut others = stmt.operands();
        match stmt {
            Stmt::Memory(Memory::Load(_, b, _)) => {
                add(&mut uses, b, |uses| &mut uses.loads);
                others.remove(0);
            }
            Stmt::Memory(Memory::Store(b, ..) | Memory::Move { to: b, .. }) => {
                add(&mut uses, b, |uses| &mut uses.stores);
                others.remove(0);
            }
            Stmt::Memory(Memory::Alloc { buffer, .. }) => uses.entry(*buffer).or_default().is_made = true,
            _ => {}
        }
        others.into_iter().for_each(|a| add(&mut uses, a, |uses| &mut uses.others));
        stmt.blocks().flat_map(|block| &block.results).for_each(|a| add(&mut uses, a, |uses| &mut uses.others));
    });
    uses
}

struct ElementFinder<'a> {
    locals: &'a mut Vec<LocalInfo>,
    aliases: &'a Aliases,
    callees: Callees<'a>,
    uses: FxHashMap<Local, BufferUses>,
    /// The buffers that are not read as `uses` says any more.
    changed: FxHashSet<Local>,
    /// Maps loaded values to the values computed for them.
    replaced: FxHashMap<Local, Operand>,
}

impl ElementFinder<'_> {
    fn inline_in_block(&mut self, block: &mut Block) {
        let mut i = 0;
        while i < block.stmts.len() {
            self.resolve_all(&mut block.stmts[i]);
            for recipe in self.collect_recipes(&block.stmts[..=i]) {
                if let Some(region) = self.find_region(&recipe, &block.stmts[i + 1..]) {
                    self.changed.insert(recipe.buffer);
                    self.changed.extend(recipe.loaded());
                    let rest = block.stmts.split_off(i + 1 + region);
                    let region = block.stmts.split_off(i + 1);
                    region.into_iter().for_each(|stmt| self.inline_recipe(&recipe, stmt, &mut block.stmts));
                    block.stmts.extend(rest);
                }
            }
            block.stmts[i].blocks_mut().for_each(|inner| self.inline_in_block(inner));
            i += 1;
        }
    }

    fn resolve_all(&self, stmt: &mut Stmt) {
        if !self.replaced.is_empty() {
            stmt.operands_mut().into_iter().for_each(|a| self.resolve(a));
            stmt.blocks_mut().for_each(|block| block.change_operands(&mut |a| self.resolve(a)));
        }
    }

    fn resolve(&self, a: &mut Operand) {
        while let Some(other) = a.local().and_then(|x| self.replaced.get(&x)) {
            *a = other.clone();
        }
    }

    /// The recipes of the buffers that the last one of these statements fills, alone.
    fn collect_recipes(&mut self, stmts: &[Stmt]) -> Vec<Recipe> {
        let (last, before) = stmts.split_last().expect("there is one");
        let (all, changed, aliases) = (&self.uses, &self.changed, self.aliases);
        let is_alone = |b: Local| {
            let uses = all.get(&b).copied().unwrap_or_default();
            let is_alone = uses.is_made && uses.stores == 1 && uses.others == 0 && uses.loads > 0;
            is_alone && !changed.contains(&b) && aliases.sharers(b).count() == 1
        };
        match last {
            Stmt::For(looped) => {
                let effects = StmtEffects::of(last, self.aliases, self.callees);
                let stored = looped.body.stmts.iter().filter_map(|stmt| match stmt {
                    Stmt::Memory(Memory::Store(Operand::Local(b), i, a)) if i.local() == Some(looped.index) => {
                        is_alone(*b)
                            .then(|| Recipe::of_loop(*b, a, looped, &effects, self.aliases, self.locals))
                            .flatten()
                    }
                    _ => None,
                });
                stored.collect()
            }
            Stmt::Memory(Memory::Move { to, from, .. }) => {
                let stays = |from: Local| !is_released(from, before.iter());
                let buffer = to.local().filter(|b| is_alone(*b) && from.local().is_some_and(stays));
                buffer.and_then(|b| Recipe::of_move(b, from, self.locals)).into_iter().collect()
            }
            _ => vec![],
        }
    }

    /// Returns the number of statements up to the last load, if the recipe can replace all loads.
    fn find_region(&self, recipe: &Recipe, rest: &[Stmt]) -> Option<usize> {
        let wanted = self.uses[&recipe.buffer].loads;
        let loaded = recipe.loaded();
        let mut marks = FxHashSet::default();
        let mut found = 0;
        // What loads nothing is the same everywhere.
        let window = if loaded.is_empty() { FAR } else { WINDOW };
        for (i, stmt) in rest.iter().take(window).enumerate() {
            let loads = loads(stmt, recipe.buffer);
            if !recipe.is_cheap() && loads > 0 && (wanted > 1 || !self.reads_once(stmt, recipe.buffer)) {
                return None;
            }
            found += loads;
            if !loaded.is_empty() {
                let effects = StmtEffects::of(stmt, self.aliases, self.callees);
                let is_read = |b: &Local| Access { buffer: *b, at: None, writes: false, deep: false };
                let written = |b: &Local| effects.accesses.iter().any(|a| a.meets(&is_read(b), self.aliases));
                if loaded.iter().any(written) || effects.releases.iter().any(|m| !marks.contains(m)) {
                    return None;
                }
                marks.extend(if let Stmt::Memory(Memory::Mark(m)) = stmt { Some(*m) } else { None });
            }
            if found == wanted {
                return Some(i + 1);
            }
        }
        None
    }

    /// Returns whether a statement reads each element once at most.
    fn reads_once(&self, stmt: &Stmt, b: Local) -> bool {
        match stmt {
            Stmt::If(_, _, then, other) => {
                [then, other].into_iter().flat_map(|arm| &arm.stmts).all(|stmt| self.reads_once(stmt, b))
            }
            Stmt::For(looped) => looped.body.stmts.iter().all(|stmt| self.reads_once_in(stmt, b, looped)),
            Stmt::Bench { .. } => loads(stmt, b) == 0,
            _ => true,
        }
    }

    fn reads_once_in(&self, stmt: &Stmt, b: Local, looped: &For) -> bool {
        match stmt {
            Stmt::If(_, _, then, other) => {
                [then, other].into_iter().flat_map(|arm| &arm.stmts).all(|stmt| self.reads_once_in(stmt, b, looped))
            }
            Stmt::Memory(Memory::Load(_, c, i)) if c.local() == Some(b) => {
                let mut i = i.clone();
                self.resolve(&mut i);
                runs_with(&i, looped)
            }
            stmt => loads(stmt, b) == 0,
        }
    }

    /// The statement with the recipe in place of loads.
    fn inline_recipe(&mut self, recipe: &Recipe, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        stmt.operands_mut().into_iter().for_each(|a| self.resolve(a));
        match stmt {
            Stmt::Memory(Memory::Load(x, b, k)) if b.local() == Some(recipe.buffer) => {
                let steps = Block { stmts: recipe.steps.clone(), results: vec![recipe.value.clone()] };
                let Block { stmts, mut results } = steps.copy(self.locals, FxHashMap::from_iter([(recipe.index, k)]));
                out.extend(stmts);
                self.replaced.insert(x, results.remove(0));
            }
            mut stmt => {
                for block in stmt.blocks_mut() {
                    let mut stmts = Vec::with_capacity(block.stmts.len());
                    std::mem::take(&mut block.stmts)
                        .into_iter()
                        .for_each(|s| self.inline_recipe(recipe, s, &mut stmts));
                    block.stmts = stmts;
                    block.results.iter_mut().for_each(|a| self.resolve(a));
                }
                out.push(stmt);
            }
        }
    }
}

/// How the element of a buffer is computed from its index.
struct Recipe {
    buffer: Local,
    index: Local,
    /// Operations and loads.
    steps: Vec<Stmt>,
    value: Operand,
    /// Whether the loop does nothing else.
    is_all: bool,
}

impl Recipe {
    /// Returns the recipe of the elements that a loop stores.
    fn of_loop(
        buffer: Local,
        value: &Operand,
        looped: &For,
        effects: &StmtEffects,
        aliases: &Aliases,
        locals: &[LocalInfo],
    ) -> Option<Recipe> {
        let mut needed: FxHashSet<Local> = value.local().into_iter().collect();
        let mut steps = Vec::new();
        for stmt in looped.body.stmts.iter().rev() {
            let is_step = match stmt {
                Stmt::Let(x, ..) => needed.remove(x),
                Stmt::Memory(Memory::Load(x, ..)) if locals[x.0 as usize].ty.as_scalar().is_some() => needed.remove(x),
                _ => false,
            };
            if is_step {
                needed.extend(stmt.operands().into_iter().filter_map(Operand::local));
                steps.push(stmt.clone());
            }
        }
        steps.reverse();
        needed.remove(&looped.index);
        let others = looped.body.stmts.iter().filter(|stmt| !matches!(stmt, Stmt::Check { .. })).count();
        let is_all = looped.carried.is_empty() && others == steps.len() + 1;
        let recipe = Recipe { buffer, index: looped.index, steps, value: value.clone(), is_all };
        let changes = |b: Local| {
            let read = Access { buffer: b, at: None, writes: false, deep: false };
            effects.accesses.iter().any(|a| a.meets(&read, aliases))
        };
        let fits = needed.is_disjoint(&effects.set) && !recipe.loaded().into_iter().any(changes);
        (fits && (recipe.is_cheap() || recipe.is_movable())).then_some(recipe)
    }

    /// Returns the recipe of a copy.
    fn of_move(buffer: Local, from: &Operand, locals: &mut Vec<LocalInfo>) -> Option<Recipe> {
        let element = from.ty(locals).element().filter(|ty| ty.as_scalar().is_some())?;
        let [index, x] = [Scalar::Integer.ty(), element].map(|ty| {
            locals.push(LocalInfo::unnamed(ty));
            Local(u32::try_from(locals.len() - 1).expect("a function has fewer locals"))
        });
        let load = Stmt::Memory(Memory::Load(x, from.clone(), Operand::Local(index)));
        Some(Recipe { buffer, index, steps: vec![load], value: Operand::Local(x), is_all: true })
    }

    fn loaded(&self) -> BTreeSet<Local> {
        let loaded = self.steps.iter().filter_map(|stmt| match stmt {
            Stmt::Memory(Memory::Load(_, b, _)) => b.local(),
            _ => None,
        });
        loaded.collect()
    }

    fn is_cheap(&self) -> bool {
        let count = |f: &dyn Fn(&Stmt) -> bool| self.steps.iter().filter(|stmt| f(stmt)).count();
        let loads = count(&|stmt| matches!(stmt, Stmt::Memory(_)));
        loads <= 1
            && self.steps.len() - loads <= CHEAP
            && self.steps.iter().all(|stmt| !matches!(stmt, Stmt::Let(_, op, _) if !op.is_cheap()))
    }

    fn is_movable(&self) -> bool {
        self.is_all && self.steps.len() <= MOST_STEPS
    }
}

/// Returns how many loads of a buffer are in a statement.
fn loads(stmt: &Stmt, b: Local) -> usize {
    let own = matches!(stmt, Stmt::Memory(Memory::Load(_, c, _)) if c.local() == Some(b));
    let inner = stmt.blocks().flat_map(|block| &block.stmts).map(|stmt| loads(stmt, b));
    usize::from(own) + inner.sum::<usize>()
}

/// Returns whether an index is another one in each iteration: that of the loop, plus or minus what does not change in
/// it.
fn runs_with(i: &Operand, looped: &For) -> bool {
    let is_index = |a: &Operand| a.local() == Some(looped.index);
    let mut set = FxHashSet::default();
    looped.body.visit(&mut |stmt| set.extend(stmt.targets().into_iter().chain(stmt.bound())));
    set.extend(looped.carried.iter().map(|(x, _)| *x));
    let mut runs = is_index(i);
    looped.body.visit(&mut |stmt| {
        if let Stmt::Let(x, Op::AddI | Op::SubI, args) = stmt {
            let is_fixed = |a: &Operand| !is_index(a) && a.local().is_none_or(|y| !set.contains(&y));
            let once = is_index(&args[0]) && is_fixed(&args[1]) || is_index(&args[1]) && is_fixed(&args[0]);
            runs |= once && i.local() == Some(*x);
        }
    });
    runs
}
