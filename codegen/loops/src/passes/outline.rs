//! Makes one function of nests of loops that are equal but for the names of locals.
//!
//! ```text
//! for i in 0..n { s }  ..  for j in 0..m { s[i := j, n := m, x := y] }
//!                                  =  call g(n, x)  ..  call g(m, y)      with  fun g(n, x) { for i in 0..n { s } }
//! ```
//!
//! A program multiplies matrices in many places. Once the product is inlined, each place has the same loops, and LLVM
//! would take its time for each of them. This pass is the last one: the others see a loop with all that is around it.
//!
//! Places may differ in the order of what they compute: each value comes before what uses it first. They may differ in
//! which of their numbers are one, too: a product of square matrices is a product. The function takes those apart that
//! are apart in one of the places.
//!
//! A nest stays where it is if it calls, and if a buffer that it writes to may share memory with another one of it:
//! parameters do not. Of a nest that is alone, the nests in it are looked at if a call more is nothing to it: if it takes
//! memory, say.

use super::pass::ModuleCx;
use crate::analyses::alias::Aliases;
use crate::analyses::cache::Analyses;
use crate::analyses::independence::FunctionEffects;
use crate::analyses::roots::Roots;
use crate::analyses::verify::at_once_in;
use crate::ir::{Block, For, FunId, Function, Local, LocalInfo, Memory, Module, Operand, Renaming, Scalar, Stmt, Ty};
use indexmap::{IndexMap, IndexSet};
use lm::term::Version;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

pub(super) fn run(cx: &mut ModuleCx) {
    let places = collect(cx);
    let mut calls: FxHashMap<(FunId, Local), Stmt> = FxHashMap::default();
    let mut number = 0;
    for (shape, places) in places.iter().filter(|(_, places)| places.len() > 1) {
        let parameters = parameters(places);
        let function = outlined(cx.module, shape, &places[0], &parameters, number + 1);
        // Less is known of parameters than of what was made in a place.
        if at_once_in(cx.module, &function, &FunctionEffects::default()).is_err() {
            continue;
        }
        let id = FunId(cx.module.functions.len());
        cx.module.functions.push(function);
        number += 1;
        for place in places {
            let args = parameters.iter().map(|same| Operand::Local(place.outer[same[0]])).collect();
            calls.insert((place.function, place.index), Stmt::Call(place.results.clone(), id, args));
        }
    }
    let callers: IndexSet<FunId> = calls.keys().map(|(caller, _)| *caller).collect();
    let mut before: Vec<(FunId, Block)> = Vec::new();
    for (i, function) in cx.module.functions.iter_mut().enumerate().filter(|(i, _)| callers.contains(&FunId(*i))) {
        before.push((FunId(i), function.body.clone()));
        replace(&mut function.body, &mut |index| calls.remove(&(FunId(i), index)));
    }
    let effects = FunctionEffects::of(cx.module, &mut Analyses::default());
    for (id, body) in before {
        // Less is known of the rows that a call has made, too, and a loop in lanes may write to others.
        if at_once_in(cx.module, &cx.module.functions[id.0], &effects).is_err() {
            cx.module.functions[id.0].body = body;
        }
    }
    // A nest in one that is called is not, itself.
    cx.module.drop_unused();
    cx.module.mark();
}

/// A nest of loops without the names of its locals, and what is known of them.
#[derive(PartialEq, Eq, Hash)]
struct Shape {
    /// The locals that it sets are numbered from 0, in order; each use of a number from outside, and each buffer, has
    /// a number of its own, from [`OUTER`].
    looped: For,
    inner: Vec<Known>,
    outer: Vec<Known>,
    /// Whether it hardly ever runs.
    cold: bool,
}

/// What is known of a local.
#[derive(PartialEq, Eq, Hash)]
struct Known {
    ty: Ty,
    is_size: bool,
}

const OUTER: u32 = 1 << 31;

/// A nest in a function.
struct Place {
    function: FunId,
    /// The index of its outermost loop.
    index: Local,
    results: Vec<Local>,
    /// The locals that it sets, by number.
    inner: Vec<Local>,
    /// The locals from outside, by number without [`OUTER`].
    outer: Vec<Local>,
}

/// A nest that a function could have.
struct Nest<'a> {
    function: usize,
    looped: &'a For,
    /// Whether it hardly ever runs.
    cold: bool,
}

/// Returns the places of nests that may go, by shape.
fn collect(cx: &mut ModuleCx) -> IndexMap<Shape, Vec<Place>, FxBuildHasher> {
    let module = &*cx.module;
    let summaries = cx.analyses.summaries(module);
    let likely: Vec<_> = module.functions.iter().map(|function| function.body.likely_conditions()).collect();
    let mut places: IndexMap<Shape, Vec<Place>, FxBuildHasher> = IndexMap::default();
    let ours = module.functions.iter().enumerate().filter(|(_, function)| !function.c_wrapper);
    let mut blocks: Vec<(usize, &Block, bool)> = ours.map(|(i, function)| (i, &function.body, function.cold)).collect();
    while !blocks.is_empty() {
        let mut nests = vec![];
        blocks.into_iter().for_each(|(i, block, cold)| find(i, block, &likely[i], cold, &mut nests));
        let mut found: Vec<Option<usize>> = vec![];
        for nest in &nests {
            let function = &module.functions[nest.function];
            let (shape, place) = shape_of(nest, function);
            let aliases = cx.analyses.aliases(FunId(nest.function), function, &summaries);
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
fn find<'a>(function: usize, block: &'a Block, likely: &FxHashSet<Local>, cold: bool, found: &mut Vec<Nest<'a>>) {
    for stmt in &block.stmts {
        match stmt {
            Stmt::For(looped) if calls_nothing(stmt) && looped.body.stmts.iter().any(holds_loop) => {
                found.push(Nest { function, looped, cold });
            }
            Stmt::For(looped) if can_call(looped) => find(function, &looped.body, likely, cold, found),
            Stmt::If(_, condition, then, other) => {
                let is_likely = condition.local().is_some_and(|x| likely.contains(&x));
                find(function, then, likely, cold, found);
                find(function, other, likely, cold || is_likely, found);
            }
            _ => {}
        }
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
    let buffers: IndexSet<Local> = place.outer.iter().filter(|x| element(**x).is_some()).copied().collect();
    let is_flat = |x: Local| element(x).is_some_and(|ty| ty.as_scalar().is_some());
    let is_written = |x: Local| aliases.shows(x, &written) || !aliases.reach(x).is_disjoint(&written);
    let share = |x: Local, y: Local| match is_flat(x) && is_flat(y) {
        true => aliases.may_share(x, y),
        false => !aliases.reach(x).is_disjoint(&aliases.reach(y)),
    };
    let changed: Vec<Local> = buffers.iter().copied().filter(|x| is_written(*x)).collect();
    let has_marks = place.outer.iter().any(|x| function.locals[x.0 as usize].ty.as_scalar() == Some(Scalar::Mark));
    known && !has_marks && changed.iter().all(|x| buffers.iter().all(|y| x == y || !share(*x, *y)))
}

/// Takes the names away.
fn shape_of(nest: &Nest, function: &Function) -> (Shape, Place) {
    let (looped, cold) = (nest.looped, nest.cold);
    let mut whole = Block { stmts: vec![Stmt::For(Box::new(looped.clone()))], results: vec![] };
    order_by_use(&mut whole);
    let info = |x: &Local| &function.locals[x.0 as usize];
    let is_buffer = |x: Local| info(&x).ty.as_scalar().is_none();
    let mut numbers =
        Numbers { inner: IndexSet::default(), outer: vec![], buffers: FxHashMap::default(), is_buffer: &is_buffer };
    whole.rename_by(&mut numbers);
    let Numbers { inner, outer, .. } = numbers;
    let known = |x: &Local| Known { ty: info(x).ty, is_size: info(x).is_size };
    let Some(Stmt::For(named)) = whole.stmts.pop() else { unreachable!("a loop stays one") };
    let (inner, outer): (Vec<Local>, Vec<Local>) = (inner.into_iter().collect(), outer);
    let shape = Shape {
        looped: *named,
        inner: inner.iter().map(known).collect(),
        outer: outer.iter().map(known).collect(),
        cold,
    };
    (
        shape,
        Place { function: FunId(nest.function), index: looped.index, results: looped.results.clone(), inner, outer },
    )
}

/// Moves each value that is computed from others alone to what uses it first, in the order in which that uses them. What
/// nothing uses goes.
fn order_by_use(block: &mut Block) {
    let (mut waiting, mut others): (FxHashMap<Local, Stmt>, Vec<Stmt>) = Default::default();
    for mut stmt in std::mem::take(&mut block.stmts) {
        stmt.blocks_mut().for_each(order_by_use);
        match stmt {
            Stmt::Let(x, ..) | Stmt::Memory(Memory::View(x, ..)) => _ = waiting.insert(x, stmt),
            _ => others.push(stmt),
        }
    }
    for stmt in others {
        let mut used = vec![];
        stmt.operands().into_iter().for_each(|a| used.extend(a.local()));
        stmt.blocks().for_each(|inner| inner.visit_operands(&mut |a| used.extend(a.local())));
        compute(used, &mut waiting, &mut block.stmts);
        block.stmts.push(stmt);
    }
    let results = block.results.iter().filter_map(Operand::local).collect();
    compute(results, &mut waiting, &mut block.stmts);
}

/// Adds the statements that compute these locals, each after what it uses. Chains of them are long.
fn compute(locals: Vec<Local>, waiting: &mut FxHashMap<Local, Stmt>, stmts: &mut Vec<Stmt>) {
    enum Todo {
        Find(Local),
        Add(Stmt),
    }
    let mut todo: Vec<Todo> = locals.into_iter().rev().map(Todo::Find).collect();
    while let Some(next) = todo.pop() {
        match next {
            Todo::Find(x) => {
                let Some(stmt) = waiting.remove(&x) else { continue };
                let used: Vec<Local> = stmt.operands().into_iter().filter_map(Operand::local).collect();
                todo.push(Todo::Add(stmt));
                todo.extend(used.into_iter().rev().map(Todo::Find));
            }
            Todo::Add(stmt) => stmts.push(stmt),
        }
    }
}

/// The numbers that locals have got.
struct Numbers<'a> {
    inner: IndexSet<Local, FxBuildHasher>,
    outer: Vec<Local>,
    /// The buffers among the outer ones.
    buffers: FxHashMap<Local, usize>,
    is_buffer: &'a dyn Fn(Local) -> bool,
}

impl Renaming for Numbers<'_> {
    fn rename_operand(&mut self, a: &mut Operand) {
        let Operand::Local(x) = a else { return };
        if let Some(number) = self.inner.get_index_of(&*x) {
            *x = Local(number as u32);
            return;
        }
        let new = self.outer.len();
        let number = if (self.is_buffer)(*x) { *self.buffers.entry(*x).or_insert(new) } else { new };
        if number == new {
            self.outer.push(*x);
        }
        *x = Local(OUTER + number as u32);
    }

    fn rename_target(&mut self, x: &mut Local) {
        let (number, _) = self.inner.insert_full(*x);
        *x = Local(number as u32);
    }
}

/// Returns the parameters of a function for all places: for each one, the numbers of the locals from outside that are
/// one local in every place.
fn parameters(places: &[Place]) -> Vec<Vec<usize>> {
    let mut parameters: IndexMap<Vec<Local>, Vec<usize>> = IndexMap::new();
    for number in 0..places[0].outer.len() {
        let locals = places.iter().map(|place| place.outer[number]).collect();
        parameters.entry(locals).or_default().push(number);
    }
    parameters.into_values().collect()
}

/// Makes the function; the names for people are those of one place.
fn outlined(module: &Module, shape: &Shape, place: &Place, parameters: &[Vec<usize>], number: usize) -> Function {
    let of = &module.functions[place.function.0];
    let info = |x: &Local| of.locals[x.0 as usize].clone();
    let mut locals: Vec<LocalInfo> = parameters.iter().map(|same| info(&place.outer[same[0]])).collect();
    let inner: Vec<LocalInfo> = place.inner.iter().map(info).collect();
    let parameter = |(i, same): (usize, &Vec<usize>)| {
        let locals: Vec<Local> = same.iter().map(|number| Local(OUTER + *number as u32)).collect();
        locals.into_iter().map(move |x| (x, Operand::Local(Local(i as u32))))
    };
    let given = parameters.iter().enumerate().flat_map(parameter).collect();
    let results = shape.looped.results.iter().map(|x| Operand::Local(*x)).collect();
    let nest = Block { stmts: vec![Stmt::For(Box::new(shape.looped.clone()))], results };
    let body = nest.copy_from(&inner, &mut locals, given);
    let params = (0..parameters.len() as u32).map(Local).collect();
    let name = of.name.version(Version::Loops(number));
    Function { cold: shape.cold, ..Function::new(name, params, locals, body, of.span) }
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
