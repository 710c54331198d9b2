//! Takes the names of locals out of nests, so that equal ones are equal.

use super::Round;
use super::nests::Nest;
use crate::ir::{Block, For, FunId, Function, Local, Operand, Renaming, Scalar, Stmt, Ty};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap};

/// A nest of loops without the names of its locals, and what is known of them.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// The locals that it sets are numbered from 0, in order; each use of a number from outside, and each buffer, has
    /// a number of its own, from [`OUTER`]. The loop is the last statement.
    pub(super) stmts: Vec<Stmt>,
    inner: Vec<Known>,
    pub(super) outer: Vec<Known>,
    /// Whether it hardly ever runs.
    pub(super) cold: bool,
}

/// What is known of a local.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Known {
    pub(super) ty: Ty,
    pub(super) is_size: bool,
}

pub(super) const OUTER: u32 = 1 << 31;

/// A nest in a function.
pub(super) struct Place {
    pub(super) function: FunId,
    /// The index of its outermost loop.
    pub(super) index: Local,
    /// The first local of each statement that divides it into chunks.
    pub(super) division: Vec<Local>,
    pub(super) results: Vec<Local>,
    /// The locals that it sets, by number.
    pub(super) inner: Vec<Local>,
    /// What comes from outside, by number without [`OUTER`].
    pub(super) outer: Vec<Operand>,
}

/// Stands for where the loop starts and ends, and what it starts with: [`Round::Inside`] takes these apart.
const START: u32 = 1 << 30;

/// Takes the names away.
pub(super) fn shape_of(nest: &Nest, function: &Function, round: Round) -> (Shape, Place) {
    let looped = nest.looped;
    let mut named = looped.clone();
    let starts = if round == Round::Inside { take_starts(&mut named, function) } else { vec![] };
    let mut stmts: Vec<Stmt> = nest.division.iter().map(|stmt| (*stmt).clone()).collect();
    stmts.push(Stmt::For(Box::new(named)));
    let mut whole = Block { stmts, results: vec![] };
    let start = |x: Local| starts.get(x.0.wrapping_sub(START) as usize);
    let is_buffer = |x: Local| start(x).is_none() && function.locals[x.0 as usize].ty.as_scalar().is_none();
    let mut numbers =
        Numbers { inner: IndexSet::default(), outer: vec![], buffers: FxHashMap::default(), is_buffer: &is_buffer };
    whole.rename_by(&mut numbers);
    let Numbers { inner, outer, .. } = numbers;
    let known = |x: &Local| match start(*x) {
        Some(a) => Known { ty: function.ty(a), is_size: false },
        None => Known { ty: function.locals[x.0 as usize].ty, is_size: function.locals[x.0 as usize].is_size },
    };
    let inner: Vec<Local> = inner.into_iter().collect();
    let shape = Shape {
        stmts: whole.stmts,
        inner: inner.iter().map(known).collect(),
        outer: outer.iter().map(known).collect(),
        cold: nest.cold,
    };
    let division = nest.division.iter().filter_map(|stmt| stmt.targets().first().copied()).collect();
    let outer = outer.into_iter().map(|x| start(x).cloned().unwrap_or_else(|| x.into())).collect();
    let results = looped.results.clone();
    (shape, Place { function: FunId(nest.function), index: looped.index, division, results, inner, outer })
}

/// Puts a local in the place of each number that a loop starts or ends with; returns the numbers.
fn take_starts(looped: &mut For, function: &Function) -> Vec<Operand> {
    let mut starts = vec![];
    let ends = [&mut looped.from, &mut looped.to];
    for a in ends.into_iter().chain(looped.carried.iter_mut().map(|(_, init)| init)) {
        if function.ty(a).as_scalar().is_some_and(|ty| ty != Scalar::Mark) {
            starts.push(std::mem::replace(a, Operand::Local(Local(START + starts.len() as u32))));
        }
    }
    starts
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

/// Returns the parameters of a function for all places: for each one, the numbers of what comes from outside that are
/// one operand in every place.
pub(super) fn parameters(places: &[Place]) -> Vec<Vec<usize>> {
    let mut parameters: IndexMap<Vec<Operand>, Vec<usize>> = IndexMap::new();
    for number in 0..places[0].outer.len() {
        let operands = places.iter().map(|place| place.outer[number].clone()).collect();
        parameters.entry(operands).or_default().push(number);
    }
    parameters.into_values().collect()
}
