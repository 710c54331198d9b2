//! Nests of loops that call nothing, with the values right in front of them that nothing else needs: how a nest is
//! divided among threads, say.
//!
//! Of a nest that is alone, the nests in it are looked at if a call more is nothing to it: if it takes memory, say.

use super::super::pass::ModuleCx;
use super::calls::{add, put_calls};
use super::shape::{Around, Place, Shape, is_apart, outlined, parameters, shape_of, value_of};
use crate::analyses::independence::FunctionEffects;
use crate::ir::{Block, For, FunId, Function, Local, Memory, Operand, Stmt};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// Returns how many functions there are.
pub(super) fn run(cx: &mut ModuleCx) -> usize {
    let places = collect(cx);
    let mut calls: FxHashMap<(FunId, Local), Stmt> = FxHashMap::default();
    let mut number = 0;
    for (shape, found) in places.iter().filter(|(_, found)| found.len() > 1) {
        let places: Vec<&Place> = found.iter().map(|(place, _)| place).collect();
        let parameters = parameters(&places);
        let Some(Stmt::For(looped)) = shape.body.stmts.last() else { unreachable!("a nest is a loop") };
        let results: Vec<usize> = looped.results.iter().map(|x| x.0 as usize).collect();
        let function = outlined(cx.module, shape, places[0], &parameters, &results, number + 1);
        let Some(id) = add(cx.module, function, &FunctionEffects::default()) else { continue };
        number += 1;
        for (place, index) in found {
            let args = parameters.iter().map(|same| Operand::Local(place.outer[same[0]])).collect();
            let results = results.iter().map(|number| place.inner[*number]).collect();
            calls.insert((place.function, *index), Stmt::Call(results, id, args));
        }
    }
    let callers: IndexSet<FunId> = calls.keys().map(|(caller, _)| *caller).collect();
    put_calls(cx.module, &callers, |id, body| replace(body, &mut |index| calls.remove(&(id, index))));
    number
}

/// A nest that a function could have.
struct Nest<'a> {
    function: usize,
    /// The values in front of it.
    values: Vec<&'a Stmt>,
    looped: &'a For,
    /// Whether it hardly ever runs.
    cold: bool,
}

/// Returns the places of nests that may go, by shape, each with the index of its outermost loop.
fn collect(cx: &mut ModuleCx) -> IndexMap<Shape, Vec<(Place, Local)>, FxBuildHasher> {
    let module = &*cx.module;
    let summaries = cx.analyses.summaries(module);
    let facts: Vec<Facts> = module.functions.iter().map(Facts::of).collect();
    let mut places: IndexMap<Shape, Vec<(Place, Local)>, FxBuildHasher> = IndexMap::default();
    let ours = module.functions.iter().enumerate().filter(|(_, function)| !function.c_wrapper);
    let mut blocks: Vec<(usize, &Block, bool)> = ours.map(|(i, function)| (i, &function.body, function.cold)).collect();
    while !blocks.is_empty() {
        let mut nests = vec![];
        blocks.into_iter().for_each(|(i, block, cold)| find(i, block, &facts[i], cold, &mut nests));
        let mut found: Vec<Option<usize>> = vec![];
        for nest in &nests {
            let (id, function) = (FunId(nest.function), &module.functions[nest.function]);
            let aliases = cx.analyses.aliases(id, function, &summaries);
            let likely = &facts[nest.function].likely;
            let around = Around { id, function, aliases: &aliases, likely, summaries: &summaries };
            let mut stmts: Vec<Stmt> = nest.values.iter().map(|stmt| (*stmt).clone()).collect();
            stmts.push(Stmt::For(Box::new(nest.looped.clone())));
            let (shape, place) = shape_of(stmts, nest.cold, around);
            found.push(is_apart(&place, &nest.looped.body, around).then(|| {
                let entry = places.entry(shape);
                let number = entry.index();
                entry.or_default().push((place, nest.looped.index));
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
fn find<'a>(function: usize, block: &'a Block, facts: &Facts, cold: bool, found: &mut Vec<Nest<'a>>) {
    for (i, stmt) in block.stmts.iter().enumerate() {
        match stmt {
            Stmt::For(looped) if calls_nothing(stmt) && looped.body.stmts.iter().any(holds_loop) => {
                found.push(Nest { function, values: facts.values_of(stmt, &block.stmts[..i]), looped, cold });
            }
            Stmt::For(looped) if can_call(looped) => find(function, &looped.body, facts, cold, found),
            Stmt::If(_, condition, then, other) => {
                let is_likely = condition.local().is_some_and(|x| facts.likely.contains(&x));
                find(function, then, facts, cold, found);
                find(function, other, facts, cold || is_likely, found);
            }
            _ => {}
        }
    }
}

/// What is known of the locals of a function.
struct Facts {
    /// The conditions that mostly hold.
    likely: FxHashSet<Local>,
    /// How often each local is used.
    uses: FxHashMap<Local, usize>,
}

impl Facts {
    fn of(function: &Function) -> Facts {
        Facts { likely: function.body.likely_conditions(), uses: function.body.use_counts() }
    }

    /// Returns the values that are computed right in front of a statement, for nothing but it.
    fn values_of<'a>(&self, stmt: &Stmt, before: &'a [Stmt]) -> Vec<&'a Stmt> {
        let mut uses: FxHashMap<Local, usize> = FxHashMap::default();
        let mut values: Vec<&Stmt> = vec![];
        let mut last = stmt;
        for value in before.iter().rev() {
            let used = last.operands().into_iter().filter_map(Operand::local);
            used.for_each(|x| *uses.entry(x).or_default() += 1);
            if !value_of(value).is_some_and(|x| uses.contains_key(&x) && uses[&x] == self.uses[&x]) {
                break;
            }
            values.push(value);
            last = value;
        }
        values.reverse();
        values
    }
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

/// Puts calls in the places of loops, by their indices.
fn replace(block: &mut Block, call: &mut impl FnMut(Local) -> Option<Stmt>) {
    for stmt in &mut block.stmts {
        let new = if let Stmt::For(looped) = stmt { call(looped.index) } else { None };
        match new {
            Some(new) => *stmt = new,
            None => stmt.blocks_mut().for_each(|block| replace(block, call)),
        }
    }
}
