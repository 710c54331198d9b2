//! Finds the nests that functions could have, and their places.

use super::Round;
use super::shape::{Place, Shape, shape_of};
use crate::analyses::alias::Aliases;
use crate::analyses::roots::Roots;
use crate::ir::{Block, For, FunId, Function, Local, Memory, Op, Operand, Scalar, Stmt};
use crate::passes::pass::ModuleCx;
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// A nest that a function could have.
pub(super) struct Nest<'a> {
    pub(super) function: usize,
    /// What divides it into chunks, in order.
    pub(super) division: Vec<&'a Stmt>,
    pub(super) looped: &'a For,
    /// Whether it hardly ever runs.
    pub(super) cold: bool,
}

/// Returns the places of nests that may go, by shape.
pub(super) fn collect(cx: &mut ModuleCx, round: Round) -> IndexMap<Shape, Vec<Place>, FxBuildHasher> {
    let module = &*cx.module;
    let written = cx.analyses.written(module);
    let likely: Vec<_> = module.functions.iter().map(|function| function.body.likely_conditions()).collect();
    let mut places: IndexMap<Shape, Vec<Place>, FxBuildHasher> = IndexMap::default();
    let ours = module.functions.iter().enumerate().filter(|(_, function)| !function.c_wrapper);
    let mut blocks: Vec<(usize, &Block, bool)> = ours.map(|(i, function)| (i, &function.body, function.cold)).collect();
    while !blocks.is_empty() {
        let mut nests = vec![];
        blocks.into_iter().for_each(|(i, block, cold)| find(i, block, &likely[i], cold, round, &mut nests));
        let mut found: Vec<Option<usize>> = vec![];
        for nest in &nests {
            let function = &module.functions[nest.function];
            let (shape, place) = shape_of(nest, function, round);
            let aliases = cx.analyses.aliases(FunId(nest.function), function, &written);
            found.push(is_apart(&place, function, nest.looped, &aliases).then(|| {
                let entry = places.entry(shape);
                let number = entry.index();
                entry.or_default().push(place);
                number
            }));
        }
        let is_alone = |number: &Option<usize>| number.is_none_or(|number| places[number].len() == 1);
        let alone = nests.into_iter().zip(found).filter(|(nest, number)| is_alone(number) && can_call(nest.looped));
        let heavy = alone.filter(|(nest, _)| nest.looped.body.stmts.iter().any(looks_at_arena));
        blocks = heavy.map(|(nest, _)| (nest.function, &nest.looped.body, nest.cold)).collect();
    }
    places
}

/// Finds the outermost nests.
fn find<'a>(
    function: usize,
    block: &'a Block,
    likely: &FxHashSet<Local>,
    cold: bool,
    round: Round,
    found: &mut Vec<Nest<'a>>,
) {
    for (i, stmt) in block.stmts.iter().enumerate() {
        match stmt {
            Stmt::For(looped) if looped.on_threads && round == Round::Inside => {
                find(function, &looped.body, likely, cold, round, found);
            }
            Stmt::For(looped) if calls_nothing(stmt) && is_worth_it(looped, round) => {
                found.push(Nest { function, division: division(block, i), looped, cold });
            }
            Stmt::For(looped) if can_call(looped) => find(function, &looped.body, likely, cold, round, found),
            Stmt::If(_, condition, then, other) => {
                let is_likely = condition.local().is_some_and(|x| likely.contains(&x));
                find(function, then, likely, cold, round, found);
                find(function, other, likely, cold || is_likely, round, found);
            }
            _ => {}
        }
    }
}

/// Returns the statements before a loop on threads that say how it is divided, and are for nothing else.
fn division(block: &Block, place: usize) -> Vec<&Stmt> {
    if !matches!(&block.stmts[place], Stmt::For(looped) if looped.on_threads) {
        return vec![];
    }
    let mut users: FxHashMap<Local, Vec<usize>> = FxHashMap::default();
    for (i, stmt) in block.stmts.iter().enumerate() {
        uses_of(stmt).into_iter().for_each(|x| users.entry(x).or_default().push(i));
    }
    block.results.iter().filter_map(Operand::local).for_each(|x| users.entry(x).or_default().push(block.stmts.len()));
    let mut taken: Vec<usize> = vec![];
    for i in (0..place).rev().filter(|i| is_pure(&block.stmts[*i])) {
        let stmt = &block.stmts[i];
        let is_own = |user: &usize| taken.contains(user) || *user == place && divides(stmt);
        let is_for_it = |x: &Local| users.get(x).is_some_and(|users| users.iter().all(is_own));
        if stmt.targets().iter().all(is_for_it) {
            taken.push(i);
        }
    }
    taken.into_iter().rev().map(|i| &block.stmts[i]).collect()
}

fn uses_of(stmt: &Stmt) -> Vec<Local> {
    let own = stmt.operands().into_iter().filter_map(Operand::local);
    own.chain(stmt.blocks().flat_map(Block::uses)).collect()
}

/// Returns whether a statement only computes numbers and conditions, by operations.
fn is_pure(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Let(..) | Stmt::If(..)) && stmt.blocks().all(|block| block.stmts.iter().all(is_pure))
}

fn divides(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Let(_, Op::Chunk, _)) || stmt.blocks().any(|block| block.stmts.iter().any(divides))
}

/// What chunks do is worth a call where its code is long: iterations at once, with those that are left over.
fn is_worth_it(looped: &For, round: Round) -> bool {
    let is_at_once = |looped: &For| looped.lanes > 1 || looped.jam > 1;
    let mut at_once = is_at_once(looped);
    looped.body.visit(&mut |stmt| at_once |= matches!(stmt, Stmt::For(looped) if is_at_once(looped)));
    looped.body.stmts.iter().any(holds_loop) && (at_once || round == Round::Whole)
}

/// Iterations at once, in lanes or side by side, have no calls.
fn can_call(looped: &For) -> bool {
    looped.lanes == 1 && looped.jam == 1
}

fn calls_nothing(stmt: &Stmt) -> bool {
    let calls = match stmt {
        Stmt::Let(..) | Stmt::If(..) | Stmt::For(_) | Stmt::Check { .. } => false,
        // What lies on the stack goes with the function.
        Stmt::Memory(memory) => matches!(memory, Memory::Stack(..)),
        Stmt::Call(..) | Stmt::Bench { .. } | Stmt::External { .. } | Stmt::Write(_) => true,
    };
    !calls && stmt.blocks().all(|block| block.stmts.iter().all(calls_nothing))
}

fn looks_at_arena(stmt: &Stmt) -> bool {
    stmt.uses_arena() || stmt.blocks().any(|block| block.stmts.iter().any(looks_at_arena))
}

fn holds_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For(_)) || stmt.blocks().any(|block| block.stmts.iter().any(holds_loop))
}

/// Returns whether no buffer of a nest that is written to shares memory with another one of it, and whether the top of
/// the arena is its own matter.
fn is_apart(place: &Place, function: &Function, looped: &For, aliases: &Aliases) -> bool {
    let (mut written, mut known) = (Roots::new(), true);
    looped.body.visit(&mut |stmt| {
        if let Some(x) = stmt.writes() {
            let roots = aliases.roots_of(x);
            known &= !roots.is_empty();
            written.extend(&roots);
        }
    });
    let element = |x: Local| function.locals[x.0 as usize].ty.element();
    let outer = || place.outer.iter().filter_map(Operand::local);
    let buffers: IndexSet<Local> = outer().filter(|x| element(*x).is_some()).collect();
    let is_flat = |x: Local| element(x).is_some_and(|ty| ty.as_scalar().is_some());
    let is_written = |x: Local| aliases.shows(x, &written) || !aliases.reach(x).is_disjoint(&written);
    let share = |x: Local, y: Local| match is_flat(x) && is_flat(y) {
        true => aliases.may_share(x, y),
        false => !aliases.reach(x).is_disjoint(&aliases.reach(y)),
    };
    let changed: Vec<Local> = buffers.iter().copied().filter(|x| is_written(*x)).collect();
    let has_marks = outer().any(|x| function.locals[x.0 as usize].ty.as_scalar() == Some(Scalar::Mark));
    known && !has_marks && changed.iter().all(|x| buffers.iter().all(|y| x == y || !share(*x, *y)))
}
