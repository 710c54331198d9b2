//! Changes the innermost block of a nest, so that it leaves alone what the step does not change.

use super::others::is_passing;
use super::step::passing;
use crate::analyses::nests::Nest;
use crate::ir::{Block, Builder, Local, LocalInfo, Memory, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// Moves the store of an element into the arms that choose its value, and drops it where that is the old one.
///
/// ```text
/// v = if c { .. yield a } else { x = load s[k]; yield x }; store N[k] = v     =     if c { .. store N[k] = a } else { .. }
/// ```
pub(super) fn sink_store(block: &mut Block, buffer: Local, old: Local, own: &FxHashSet<Local>) {
    let is_store = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Store(b, ..)) if b.local() == Some(buffer));
    let Some(at) = block.stmts.iter().position(is_store) else { return };
    let Stmt::Memory(Memory::Store(_, place, value)) = block.stmts[at].clone() else { return };
    let Some(value) = value.local() else { return };
    if own.contains(&value) {
        block.stmts.remove(at);
        return;
    }
    let sets = |x: Local| block.stmts.iter().position(|stmt| stmt.targets().contains(&x));
    let Some(choice) = sets(value) else { return };
    let is_place_known = place.local().and_then(sets).is_none_or(|set| set < choice);
    let is_used_again = block.stmts.iter().enumerate().any(|(i, stmt)| i != at && stmt.mentions(value))
        || block.results.iter().any(|a| a.local() == Some(value));
    let reads_between = block.stmts[choice + 1..at].iter().any(|stmt| stmt.mentions(old));
    if !is_place_known || is_used_again || reads_between {
        return;
    }
    let Stmt::If(xs, _, then, other) = &block.stmts[choice] else { return };
    let Some(i) = xs.iter().position(|x| *x == value) else { return };
    // What was chosen before, for one arm only, is chosen there.
    let earlier = [then, other].map(|arm| arm.results[i].local().and_then(|x| choice_before(block, choice, x)));
    let mut earlier = earlier.map(|set| set.map(|set| (set, block.stmts[set].clone())));
    let mut gone: Vec<usize> = earlier.iter().flatten().map(|(set, _)| *set).collect();
    gone.sort_unstable();
    gone.iter().rev().for_each(|set| drop(block.stmts.remove(*set)));
    let [choice, at] = [choice, at].map(|at| at - gone.len());
    let Stmt::If(xs, _, then, other) = &mut block.stmts[choice] else { return };
    xs.remove(i);
    for (arm, earlier) in [then, other].into_iter().zip(&mut earlier) {
        let value = arm.results.remove(i);
        arm.stmts.extend(earlier.take().map(|(_, stmt)| stmt));
        arm.stmts.push(Stmt::Memory(Memory::Store(Operand::Local(buffer), place.clone(), value)));
        sink_store(arm, buffer, old, own);
    }
    block.stmts.remove(at);
}

/// Returns the conditional before a place that sets a local which is used only there, if all that it does is to load and
/// to compute.
fn choice_before(block: &Block, at: usize, x: Local) -> Option<usize> {
    let set = block.stmts[..at].iter().position(|stmt| stmt.targets().contains(&x))?;
    let Stmt::If(xs, ..) = &block.stmts[set] else { return None };
    let used = Block { stmts: block.stmts[set + 1..].to_vec(), results: block.results.clone() };
    (xs.len() == 1 && used.use_counts().get(&x) == Some(&1) && is_computed(&block.stmts[set])).then_some(set)
}

fn is_computed(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Let(..) | Stmt::Memory(Memory::Load(..)) | Stmt::If(..))
        && stmt.blocks().flat_map(|block| &block.stmts).all(is_computed)
}

/// Moves loads of an iteration's own element of the old state into the arms that use them.
///
/// ```text
/// v = load s[k]; if c { .. v .. } else { }     =     if c { v = load s[k]; .. v .. } else { }
/// ```
pub(super) fn sink_loads(block: &mut Block, own: &FxHashSet<Local>, locals: &mut Vec<LocalInfo>) {
    for at in (0..block.stmts.len()).rev() {
        if let Some((x, choice)) = only_choice(block, at, own) {
            let Stmt::Memory(Memory::Load(_, buffer, i)) = block.stmts.remove(at) else { unreachable!("it is a load") };
            let mut loaded = x;
            for arm in block.stmts[choice - 1].blocks_mut().filter(|arm| arm.mentions(x)) {
                arm.rename(&FxHashMap::from_iter([(x, loaded)]));
                arm.stmts.insert(0, Stmt::Memory(Memory::Load(loaded, buffer.clone(), i.clone())));
                // The next arm has a local of its own.
                let info = LocalInfo { name: None, ..locals[x.0 as usize].clone() };
                loaded = Builder { locals }.with(info);
            }
        }
    }
    for stmt in block.stmts.iter_mut().filter(|stmt| matches!(stmt, Stmt::If(..))) {
        stmt.blocks_mut().for_each(|arm| sink_loads(arm, own, locals));
    }
}

/// Returns the local that a statement loads, and the conditional in arms of which alone it is used, if nothing between
/// the two changes memory.
fn only_choice(block: &Block, at: usize, own: &FxHashSet<Local>) -> Option<(Local, usize)> {
    let Stmt::Memory(Memory::Load(x, ..)) = &block.stmts[at] else { return None };
    let mut used = (at + 1..block.stmts.len()).filter(|i| block.stmts[*i].mentions(*x));
    let (choice, None) = (used.next()?, used.next()) else { return None };
    let Stmt::If(_, condition, ..) = &block.stmts[choice] else { return None };
    let only_reads = |stmt: &Stmt| matches!(stmt, Stmt::Let(..) | Stmt::Memory(Memory::Load(..)));
    let is_result = block.results.iter().any(|a| a.local() == Some(*x));
    let is_right = own.contains(x) && !is_result && condition.local() != Some(*x);
    (is_right && block.stmts[at + 1..choice].iter().all(only_reads)).then_some((*x, choice))
}

/// Takes the cotangent of an element out of the state, except where it is passed on.
///
/// ```text
/// v = load s[k]; if c { add N[k] += v } else { s }     =     v = load N[k]; if c { } else { store N[k] = 0; s }
/// ```
pub(super) fn take_out(block: &mut Block, buffer: Local, loaded: Local, nest: &Nest) {
    let is_load = |stmt: &Stmt| stmt.targets().contains(&loaded);
    let load = block.stmts.iter().position(is_load).expect("the nest loads the element");
    let Stmt::Memory(Memory::Load(_, _, place)) = block.stmts[load].clone() else { unreachable!("it is a load") };
    settle(block, load + 1, &Element { buffer, loaded, nest, place });
}

struct Element<'a> {
    buffer: Local,
    loaded: Local,
    nest: &'a Nest,
    place: Operand,
}

/// The element is taken out from a statement of the block on.
fn settle(block: &mut Block, from: usize, element: &Element) {
    let Element { buffer, loaded, nest, place } = element;
    let passes = |stmt: &Stmt| is_passing(stmt, *buffer, *loaded, nest);
    if let Some(at) = block.stmts.iter().position(passes) {
        block.stmts.remove(at);
        return;
    }
    let is_split =
        |stmt: &Stmt| stmt.has_blocks() && stmt.blocks().any(|arm| passing(arm, *buffer, *loaded, nest) == Some(true));
    if let Some(at) = block.stmts.iter().position(is_split) {
        block.stmts[at].blocks_mut().for_each(|arm| settle(arm, 0, element));
        return;
    }
    let first = block.stmts.iter().position(|stmt| stmt.mentions(*buffer));
    match first.map(|at| &mut block.stmts[at]) {
        Some(stmt @ Stmt::Memory(Memory::Add(..))) if adds_at_place(stmt, nest) => {
            let Stmt::Memory(Memory::Add(b, k, a)) = stmt.clone() else { unreachable!("it is an addition") };
            *stmt = Stmt::Memory(Memory::Store(b, k, a));
        }
        _ => {
            let zero = Memory::Store(Operand::Local(*buffer), place.clone(), Operand::Float(0.0));
            block.stmts.insert(from, Stmt::Memory(zero));
        }
    }
}

fn adds_at_place(stmt: &Stmt, nest: &Nest) -> bool {
    matches!(stmt, Stmt::Memory(Memory::Add(_, k, _)) if nest.is_place(k))
}
