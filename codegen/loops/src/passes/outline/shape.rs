//! Statements without the names of their locals, and functions made of them.

use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::roots::Roots;
use crate::ir::{Block, FunId, Function, Local, LocalInfo, Memory, Module, Op, Operand, Renaming, Scalar, Stmt, Ty};
use indexmap::{IndexMap, IndexSet};
use lm::term::Version;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// Statements without the names of their locals, and what is known of these.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// The locals that the statements set are numbered from 0, in order; each use of a number from outside, and each
    /// buffer, has a number of its own, from [`OUTER`].
    pub(super) body: Block,
    inner: Vec<Known>,
    outer: Vec<Known>,
    /// Whether they hardly ever run.
    cold: bool,
}

/// What is known of a local.
#[derive(PartialEq, Eq, Hash)]
struct Known {
    ty: Ty,
    is_size: bool,
    /// Whether it is a condition from outside that mostly holds.
    is_likely: bool,
}

const OUTER: u32 = 1 << 31;

/// Where statements of a shape are.
pub(super) struct Place {
    pub(super) function: FunId,
    /// The locals that they set, by number.
    pub(super) inner: Vec<Local>,
    /// The locals from outside, by number without [`OUTER`].
    pub(super) outer: Vec<Local>,
}

/// What is known of a function that statements are in.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) id: FunId,
    pub(super) function: &'a Function,
    pub(super) aliases: &'a Aliases,
    /// The conditions that mostly hold.
    pub(super) likely: &'a FxHashSet<Local>,
    pub(super) summaries: &'a [Summary],
}

/// Returns whether no buffer from outside that is written to shares memory with another one, and whether the top of the
/// arena is the statements' own matter.
pub(super) fn is_apart(place: &Place, stmts: &Block, around: Around) -> bool {
    let Around { function, aliases, summaries, .. } = around;
    let (mut written, mut known) = (Roots::new(), true);
    let mut add = |roots: &Roots| {
        known &= !roots.is_empty();
        written.extend(roots);
    };
    stmts.visit(&mut |stmt| {
        stmt.writes().into_iter().for_each(|x| add(&aliases.roots_of(x)));
        stmt.hands_over(summaries).into_iter().for_each(|x| add(&aliases.reach(x)));
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
pub(super) fn shape_of(stmts: Vec<Stmt>, cold: bool, around: Around) -> (Shape, Place) {
    let Around { function, likely, .. } = around;
    let mut whole = Block { stmts, results: vec![] };
    order_by_use(&mut whole);
    let info = |x: &Local| &function.locals[x.0 as usize];
    let is_buffer = |x: Local| info(&x).ty.as_scalar().is_none();
    let mut numbers =
        Numbers { inner: IndexSet::default(), outer: vec![], buffers: FxHashMap::default(), is_buffer: &is_buffer };
    whole.rename_by(&mut numbers);
    let Numbers { inner, outer, .. } = numbers;
    let known = |x: &Local, is_likely: bool| Known { ty: info(x).ty, is_size: info(x).is_size, is_likely };
    let inner: Vec<Local> = inner.into_iter().collect();
    let shape = Shape {
        body: whole,
        inner: inner.iter().map(|x| known(x, false)).collect(),
        outer: outer.iter().map(|x| known(x, likely.contains(x))).collect(),
        cold,
    };
    (shape, Place { function: around.id, inner, outer })
}

/// Returns the parameters of a function for all places: for each one, the numbers of the locals from outside that are
/// one local in every place.
pub(super) fn parameters(places: &[&Place]) -> Vec<Vec<usize>> {
    let mut parameters: IndexMap<Vec<Local>, Vec<usize>> = IndexMap::new();
    for number in 0..places[0].outer.len() {
        let locals = places.iter().map(|place| place.outer[number]).collect();
        parameters.entry(locals).or_default().push(number);
    }
    parameters.into_values().collect()
}

/// Makes the function; the names for people are those of one place. Its results are what the statements set, by number.
pub(super) fn outlined(
    module: &Module,
    shape: &Shape,
    place: &Place,
    parameters: &[Vec<usize>],
    results: &[usize],
    number: usize,
) -> Function {
    let of = &module.functions[place.function.0];
    let info = |x: &Local| of.locals[x.0 as usize].clone();
    let mut locals: Vec<LocalInfo> = parameters.iter().map(|same| info(&place.outer[same[0]])).collect();
    let inner: Vec<LocalInfo> = place.inner.iter().map(info).collect();
    let params: Vec<Local> = (0..parameters.len() as u32).map(Local).collect();
    let mut given: FxHashMap<Local, Operand> = FxHashMap::default();
    let mut stmts = vec![];
    for (param, same) in params.iter().zip(parameters) {
        let mut known = *param;
        if shape.outer[same[0]].is_likely {
            known = Local(locals.len() as u32);
            locals.push(LocalInfo { name: None, ..locals[param.0 as usize].clone() });
            stmts.push(Stmt::Let(known, Op::Likely, vec![Operand::Local(*param)]));
        }
        given.extend(same.iter().map(|number| (Local(OUTER + *number as u32), Operand::Local(known))));
    }
    let results = results.iter().map(|number| Operand::Local(Local(*number as u32))).collect();
    let moved = Block { results, ..shape.body.clone() }.copy_from(&inner, &mut locals, given);
    stmts.extend(moved.stmts);
    let name = of.name.version(Version::Loops(number));
    let body = Block { stmts, results: moved.results };
    Function { cold: shape.cold, ..Function::new(name, params, locals, body, of.span) }
}

/// Moves each value that is computed from others alone to what uses it first, in the order in which that uses them. What
/// nothing uses goes.
fn order_by_use(block: &mut Block) {
    let (mut waiting, mut others): (FxHashMap<Local, Stmt>, Vec<Stmt>) = Default::default();
    for mut stmt in std::mem::take(&mut block.stmts) {
        stmt.blocks_mut().for_each(order_by_use);
        match value_of(&stmt) {
            Some(x) => _ = waiting.insert(x, stmt),
            None => others.push(stmt),
        }
    }
    for stmt in others {
        compute(used_by(&stmt), &mut waiting, &mut block.stmts);
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

/// Returns the locals that a statement uses, in its blocks, too.
pub(super) fn used_by(stmt: &Stmt) -> Vec<Local> {
    let mut used: Vec<Local> = stmt.operands().into_iter().filter_map(Operand::local).collect();
    stmt.blocks().for_each(|inner| inner.visit_operands(&mut |a| used.extend(a.local())));
    used
}

/// Returns what a statement sets that only computes a value from others.
pub(super) fn value_of(stmt: &Stmt) -> Option<Local> {
    match stmt {
        Stmt::Let(x, ..) | Stmt::Memory(Memory::View(x, ..)) => Some(*x),
        _ => None,
    }
}

/// Returns whether a statement makes a buffer on the stack. It stays in the function: others may need the buffer.
pub(super) fn is_stack(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Memory(Memory::Stack(..)))
}
