//! Runs of statements in one block. The step of a fold is in the loop that computes the value, in the one that computes
//! states again, and often in the function without its derivative, too.
//!
//! Statements that only compute a value from others are not part of the order: Integers, conditions and addresses are
//! computed again where they are needed, in the function and out of it. A run is of the others. Those that may be equal
//! get one number; of the runs of numbers that are repeated, the one that saves most is tried first. Where its places
//! turn out to differ, or cannot be apart, its halves are tried.

use super::super::pass::ModuleCx;
use super::calls::{add, put_calls};
use super::repeats::Repeats;
use super::scope::Scope;
use super::shape::{Around, Place, Shape, is_apart, is_stack, outlined, parameters, shape_of};
use super::text::{Text, TextBlock};
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::cache::Analyses;
use crate::analyses::independence::FunctionEffects;
use crate::analyses::roots::Root;
use crate::ir::{Block, FunId, Local, Memory, Module, Operand, Scalar, Stmt};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::collections::{BTreeSet, BinaryHeap};
use std::rc::Rc;

/// So many statements are worth a function, beside its call.
const WORTH_A_CALL: usize = 48;

/// A call has at most so many arguments and results: they go through memory.
const MOST_PASSED: usize = 64;

/// How often the statements of a module are looked at, at most, on average.
const MOST_LOOKS: usize = 32;

pub(super) fn run(cx: &mut ModuleCx, functions: usize) {
    let groups = Finder::of(cx).groups();
    if groups.is_empty() {
        return;
    }
    let effects = FunctionEffects::of(cx.module, &mut *cx.analyses);
    let mut changes: IndexMap<FunId, Changes> = IndexMap::new();
    let mut number = functions;
    for Group { shape, places, results } in groups {
        let found: Vec<&Place> = places.iter().map(|found| &found.place).collect();
        let parameters = parameters(&found);
        let results: Vec<usize> = results.into_iter().collect();
        let function = outlined(cx.module, &shape, found[0], &parameters, &results, number + 1);
        let Some(id) = add(cx.module, function, &effects) else { continue };
        number += 1;
        for Found { place, block, gone, .. } in places {
            let args = parameters.iter().map(|same| Operand::Local(place.outer[same[0]])).collect();
            let set: Vec<Local> = results.iter().map(|number| place.inner[*number]).collect();
            let call = Stmt::Call(set, id, args);
            let of_function = changes.entry(place.function).or_default();
            of_function.entry(block).or_default().push(Change { gone, call });
        }
    }
    let callers: IndexSet<FunId> = changes.keys().copied().collect();
    put_calls(cx.module, &callers, |id, body| replace(body, &mut 0, &changes[&id]));
}

/// A call in place of statements of a block.
struct Change {
    /// The statements that go, by their places in the block.
    gone: BTreeSet<usize>,
    call: Stmt,
}

/// The changes of a function, by the numbers of the blocks: see [`TextBlock`].
type Changes = FxHashMap<usize, Vec<Change>>;

/// Puts the calls of a function in their places. `next` is the number of the block.
fn replace(block: &mut Block, next: &mut usize, changes: &Changes) {
    let own = changes.get(next);
    *next += 1;
    block.stmts.iter_mut().flat_map(Stmt::blocks_mut).for_each(|inner| replace(inner, next, changes));
    let Some(own) = own else { return };
    let mut kept: Vec<Option<Stmt>> = std::mem::take(&mut block.stmts).into_iter().map(Some).collect();
    let mut calls: FxHashMap<usize, Vec<Stmt>> = FxHashMap::default();
    for Change { gone, call } in own {
        let (first, last) = (gone.first().expect("a run has statements"), gone.last().expect("a run has statements"));
        let stack = (*first..*last).filter(|i| kept[*i].as_ref().is_some_and(is_stack)).collect::<Vec<_>>();
        let mut new: Vec<Stmt> = stack.into_iter().filter_map(|i| kept[i].take()).collect();
        new.push(call.clone());
        calls.insert(*first, new);
        gone.iter().for_each(|i| kept[*i] = None);
    }
    for (i, stmt) in kept.into_iter().enumerate() {
        block.stmts.extend(calls.remove(&i).into_iter().flatten());
        block.stmts.extend(stmt);
    }
}

/// Where a run is.
struct Found {
    place: Place,
    /// Where it starts in the sequence of all.
    start: usize,
    /// What is needed of it afterwards, by number.
    needed: BTreeSet<usize>,
    /// The number of its block in its function.
    block: usize,
    /// The statements that go, by their places in the block.
    gone: BTreeSet<usize>,
}

/// Places of one shape.
struct Group {
    shape: Shape,
    places: Vec<Found>,
    /// What one of them needs afterwards, by number.
    results: BTreeSet<usize>,
}

/// A run of items that may be repeated.
struct Candidate {
    /// The statements that a function of it saves, at most.
    saved: usize,
    length: usize,
    starts: Starts,
}

/// Where a run starts in the sequence of all.
enum Starts {
    Repeat(usize),
    At(Vec<usize>),
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Candidate) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> std::cmp::Ordering {
        (self.saved, self.length).cmp(&(other.saved, other.length))
    }
}

struct Finder<'a> {
    module: &'a Module,
    analyses: &'a mut Analyses,
    summaries: Vec<Summary>,
    aliases: FxHashMap<usize, Rc<Aliases>>,
    likely: Vec<FxHashSet<Local>>,
    text: Text<'a>,
    /// The items of all blocks, one block behind the other; none between them.
    order: Vec<Option<usize>>,
    repeats: Repeats,
    /// How many statements there are in front of each place in `order`.
    before: Vec<usize>,
    /// How many items that work there are in front of each place in `order`.
    working: Vec<usize>,
    /// Whether an item, or one in it, or one that it is in, goes.
    taken: Vec<bool>,
    /// What is known of a block, by its number in the text.
    scopes: FxHashMap<usize, Rc<Scope<'a>>>,
    looks: usize,
}

impl<'a> Finder<'a> {
    fn of(cx: &'a mut ModuleCx) -> Finder<'a> {
        let ModuleCx { module, analyses } = cx;
        let module: &Module = module;
        let summaries = analyses.summaries(module);
        let likely: Vec<_> = module.functions.iter().map(|function| function.body.likely_conditions()).collect();
        let text = Text::of(module, &likely);
        let (mut order, mut sequence, mut before, mut working) = (vec![], vec![], vec![0], vec![0]);
        let mut symbols: IndexMap<u64, usize> = IndexMap::new();
        let mut add = |item: Option<usize>, symbol: Option<u64>| {
            let single = order.len();
            order.push(item);
            // What has to stay, and what is between blocks, is like nothing else.
            sequence.push(symbol.map_or((1, single), |symbol| {
                let next = symbols.len();
                (0, *symbols.entry(symbol).or_insert(next))
            }));
            let stmt = item.map(|item| &text.blocks[text.items[item].block].block.stmts[text.items[item].stmt]);
            let size = stmt.map_or(0, |stmt| 1 + stmt.blocks().map(Block::len).sum::<usize>());
            before.push(before[single] + size);
            working.push(working[single] + usize::from(item.is_some_and(|item| text.works[item])));
        };
        for items in &text.sequences {
            items.iter().for_each(|item| add(Some(*item), text.symbols[*item]));
            add(None, None);
        }
        let sequence: Vec<usize> = sequence.into_iter().map(|(kind, number)| kind * order.len() + number).collect();
        Finder {
            module,
            analyses,
            summaries,
            aliases: FxHashMap::default(),
            likely,
            repeats: Repeats::of(&sequence),
            taken: vec![false; text.items.len()],
            text,
            order,
            before,
            working,
            scopes: FxHashMap::default(),
            looks: 0,
        }
    }

    /// Chooses runs, those first that save most.
    fn groups(mut self) -> Vec<Group> {
        let mut groups = vec![];
        let repeats = self.repeats.runs.iter().enumerate();
        let mut waiting: BinaryHeap<Candidate> = repeats
            .filter(|(_, (length, places))| self.works(self.repeats.first(places), *length))
            .map(|(number, (length, places))| {
                let start = self.repeats.first(places);
                let saved = (places.len() - 1) * self.size(start, *length);
                Candidate { saved, length: *length, starts: Starts::Repeat(number) }
            })
            .filter(|candidate| candidate.saved >= WORTH_A_CALL)
            .collect();
        let all: usize = self.module.functions.iter().map(|function| function.body.len()).sum();
        while let Some(candidate) = waiting.pop() {
            if self.looks > MOST_LOOKS * all {
                break;
            }
            let starts = match candidate.starts {
                Starts::Repeat(number) => self.repeats.starts(&self.repeats.runs[number].1),
                Starts::At(starts) => starts,
            };
            self.looks += starts.len();
            let Some((length, starts)) = self.free(candidate.length, starts) else { continue };
            let size = self.size(starts[0], length);
            let saved = (starts.len() - 1) * size;
            if size < WORTH_A_CALL || !self.works(starts[0], length) {
                continue;
            }
            if saved < candidate.saved {
                waiting.push(Candidate { saved, length, starts: Starts::At(starts) });
                continue;
            }
            match self.group(length, &starts) {
                Some(group) => {
                    group.places.iter().for_each(|found| self.take(found.start, length));
                    groups.push(group);
                }
                None => {
                    let half = length / 2;
                    let behind: Vec<usize> = starts.iter().map(|start| start + half).collect();
                    for (length, starts) in [(half, starts), (length - half, behind)] {
                        let saved = (starts.len() - 1) * self.size(starts[0], length);
                        waiting.push(Candidate { saved, length, starts: Starts::At(starts) });
                    }
                }
            }
        }
        groups
    }

    /// Returns how many statements a run has, without those that only compute a value.
    fn size(&self, start: usize, length: usize) -> usize {
        self.before[start + length] - self.before[start]
    }

    /// Returns whether a run takes time beside a call.
    fn works(&self, start: usize, length: usize) -> bool {
        self.working[start] < self.working[start + length]
    }

    /// Returns the run, or its beginning, with those of its starts where nothing of it goes with another one.
    fn free(&self, length: usize, starts: Vec<usize>) -> Option<(usize, Vec<usize>)> {
        let free_from = |start: usize| {
            let items = self.order[start..start + length].iter();
            items.take_while(|item| item.is_some_and(|item| !self.taken[item])).count()
        };
        let mut free: Vec<(usize, usize)> = starts.into_iter().map(|start| (free_from(start), start)).collect();
        let mut lengths: Vec<usize> = free.iter().map(|(length, _)| *length).collect();
        lengths.sort_unstable();
        let mut length = *lengths.iter().rev().nth(1).filter(|length| **length > 0)?;
        free.retain(|(own, _)| *own >= length);
        if let Some(gap) = free.windows(2).map(|pair| pair[1].1 - pair[0].1).min().filter(|gap| *gap < length) {
            // It overlaps itself: a part of it is repeated that does not.
            length = gap;
        }
        Some((length, free.into_iter().map(|(_, start)| start).collect()))
    }

    fn take(&mut self, start: usize, length: usize) {
        for item in self.order[start..start + length].iter().flatten() {
            self.taken[*item..self.text.items[*item].end].fill(true);
            let mut around = self.text.items[*item].parent;
            while let Some(parent) = around.filter(|parent| !self.taken[*parent]) {
                self.taken[parent] = true;
                around = self.text.items[parent].parent;
            }
        }
    }

    /// Returns the largest group of places that have one shape.
    fn group(&mut self, length: usize, starts: &[usize]) -> Option<Group> {
        let mut shapes: IndexMap<Shape, Vec<Found>, FxBuildHasher> = IndexMap::default();
        for start in starts {
            self.looks += self.size(*start, length);
            if let Some((shape, found)) = self.shape(*start, length) {
                shapes.entry(shape).or_default().push(found);
            }
        }
        let several = shapes.into_iter().filter(|(_, places)| places.len() > 1);
        let (shape, places) = several.max_by_key(|(_, places)| places.len())?;
        let results: BTreeSet<usize> = places.iter().flat_map(|found| found.needed.iter().copied()).collect();
        let found: Vec<&Place> = places.iter().map(|found| &found.place).collect();
        let is_short = parameters(&found).len() + results.len() <= MOST_PASSED;
        let fits = is_short && found.iter().all(|place| self.may_return(&shape, place, &results));
        fits.then_some(Group { shape, places, results })
    }

    fn aliases(&mut self, function: usize) -> Rc<Aliases> {
        let found = self.aliases.entry(function);
        let new = || self.analyses.aliases(FunId(function), &self.module.functions[function], &self.summaries);
        found.or_insert_with(new).clone()
    }

    /// Returns what is in a place; nothing where it cannot be a function.
    fn shape(&mut self, start: usize, length: usize) -> Option<(Shape, Found)> {
        let items: Vec<usize> = self.order[start..start + length].iter().copied().collect::<Option<_>>()?;
        let of = self.text.items[items[0]].block;
        let TextBlock { function, number: own, block, cold } = self.text.blocks[of];
        let new = || Rc::new(Scope::of(block, &self.module.functions[function]));
        let scope = self.scopes.entry(of).or_insert_with(new).clone();
        let run: BTreeSet<usize> = items.iter().map(|item| self.text.items[*item].stmt).collect();
        let aliases = self.aliases(function);
        let around = Around {
            id: FunId(function),
            function: &self.module.functions[function],
            aliases: &aliases,
            likely: &self.likely[function],
            summaries: &self.summaries,
        };
        let moved = scope.with_values(&run);
        let (gone, needed) = scope.needed(&run, &moved);
        let stmts: Vec<Stmt> = moved.iter().map(|i| block.stmts[*i].clone()).collect();
        let whole = Block { stmts, results: vec![] };
        let (shape, place) = shape_of(whole.stmts.clone(), cold, around);
        if !is_apart(&place, &whole, around) || !keeps_addresses(&place, &whole, around) {
            return None;
        }
        let number = |x: &Local| place.inner.iter().position(|inner| inner == x);
        let needed = needed.iter().map(number).collect::<Option<_>>()?;
        Some((shape, Found { place, start, needed, block: own, gone }))
    }

    /// Returns whether the results of a call may be these. No mark is one, nor what lies on the stack, and no two of
    /// them share memory.
    fn may_return(&mut self, shape: &Shape, place: &Place, results: &BTreeSet<usize>) -> bool {
        let aliases = self.aliases(place.function.0);
        let function = &self.module.functions[place.function.0];
        let mut stack = FxHashSet::default();
        shape.body.visit(&mut |stmt| {
            if let Stmt::Memory(Memory::Stack(x, _)) = stmt {
                stack.insert(place.inner[x.0 as usize]);
            }
        });
        let of: Vec<Local> = results.iter().map(|number| place.inner[*number]).collect();
        let ty = |x: &Local| function.locals[x.0 as usize].ty;
        let buffers: Vec<Local> = of.iter().copied().filter(|x| ty(x).as_scalar().is_none()).collect();
        let is_on_stack = |root: Root| matches!(root, Root::Made(x) if stack.contains(&x));
        let stays = |x: &Local| !aliases.roots_of(*x).is_empty() && !aliases.reach(*x).iter().any(is_on_stack);
        let mut pairs = buffers.iter().enumerate().flat_map(|(i, x)| buffers[..i].iter().map(move |y| (*x, *y)));
        of.iter().all(|x| ty(x).as_scalar() != Some(Scalar::Mark))
            && buffers.iter().all(stays)
            && pairs.all(|(x, y)| aliases.reach(x).is_disjoint(&aliases.reach(y)))
    }
}

/// Returns whether addresses are only put into what the statements make: a caller does not see where else they are.
fn keeps_addresses(place: &Place, stmts: &Block, around: Around) -> bool {
    let Around { function, aliases, .. } = around;
    let made: FxHashSet<Local> = place.inner.iter().copied().collect();
    let is_table = |a: &Operand| function.ty(a).element().is_some_and(|ty| ty.as_scalar().is_none());
    let mut keeps = true;
    stmts.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Store(b, ..) | Memory::Move { to: b, .. }) = stmt
            && is_table(b)
        {
            keeps &= b.local().is_some_and(|b| aliases.is_made_among(b, &made));
        }
    });
    keeps
}
