//! Finds the elements that a sweep reads of each state, as lines: elements by one index, or one element.

use super::reader::Reader;
use crate::ir::{Block, Builder, For, Local, LocalInfo, Memory, Op, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// The most operations that the place of an element may be made of.
const MOST_OPERATIONS: usize = 64;

/// Where an element is, by a number of the step and an index of a loop in the sweep.
#[derive(Clone)]
pub(super) enum Place {
    /// A number that is known before a step.
    Known(Operand),
    /// The index of a loop in the sweep.
    Index(Local),
    Made(Op, Vec<Place>),
}

/// Elements of each state that the sweep reads.
pub(super) struct Line {
    pub(super) place: Place,
    /// The number of them; `None` for one element.
    pub(super) length: Option<Operand>,
    /// The loads of them, and their index.
    pub(super) loads: FxHashMap<Local, Option<Local>>,
}

/// What is known of locals of a loop and of the sweep through its states.
#[derive(Default)]
pub(super) struct Known {
    /// The locals that are not known before the loop.
    pub(super) later: FxHashSet<Local>,
    /// How numbers are made by operations.
    pub(super) made: FxHashMap<Local, (Op, Vec<Operand>)>,
    /// What is known of others, by the index of the loop.
    pub(super) given: FxHashMap<Local, Place>,
    /// What both loops load in each iteration, of buffers that stay as they are.
    pub(super) loads: FxHashMap<Local, (Local, Operand)>,
    /// What such buffers are filled with, by an index.
    pub(super) fills: FxHashMap<Local, (Local, Place)>,
    /// What the loop loads itself: buffer, place and result.
    pub(super) loaded: Vec<(Local, Place, Local)>,
}

/// Returns the elements that a sweep reads of each state; none if it uses states otherwise, or reads other elements.
pub(super) fn lines(sweep: &For, reader: &Reader, known: Known) -> Option<Vec<Line>> {
    let mut reads = Reads { state: reader.state, at: reader.load, known, ends: FxHashMap::default(), lines: vec![] };
    reads.visit(&sweep.body, true)?;
    Some(reads.lines)
}

struct Reads {
    state: Local,
    /// The statement of the sweep that loads the state.
    at: usize,
    known: Known,
    /// The ends of the loops in scope, by their indices.
    ends: FxHashMap<Local, Operand>,
    lines: Vec<Line>,
}

impl Reads {
    fn visit(&mut self, block: &Block, is_outermost: bool) -> Option<()> {
        let is_state = |a: &Operand| a.local() == Some(self.state);
        if block.results.iter().any(is_state) {
            return None;
        }
        for (at, stmt) in block.stmts.iter().enumerate() {
            match stmt {
                _ if is_outermost && at == self.at => continue,
                Stmt::Memory(Memory::Load(x, b, y)) if b.local() == Some(self.state) => self.read(*x, y)?,
                stmt if stmt.operands().into_iter().any(|a| a.local() == Some(self.state)) => return None,
                Stmt::For(looped) => {
                    if let Some(Place::Known(end)) = self.place(&looped.to).filter(|_| is_plain(looped)) {
                        self.ends.insert(looped.index, end);
                    }
                    self.visit(&looped.body, false)?;
                }
                Stmt::If(_, condition, then, other) => {
                    let before = self.known.given.clone();
                    self.learn(condition);
                    self.visit(then, false)?;
                    self.known.given = before;
                    self.visit(other, false)?;
                }
                stmt => stmt.blocks().try_for_each(|block| self.visit(block, false))?,
            }
        }
        Some(())
    }

    /// Learns which index of a loop is a number of the step where a condition holds.
    fn learn(&mut self, condition: &Operand) {
        let Some((op, args)) = condition.local().and_then(|x| self.known.made.get(&x).cloned()) else { return };
        match op {
            Op::And => args.iter().for_each(|arg| self.learn(arg)),
            Op::EqI => {
                for [index, number] in [[&args[0], &args[1]], [&args[1], &args[0]]] {
                    let index = index.local().filter(|x| self.ends.contains_key(x));
                    if let (Some(index), Some(number)) =
                        (index, self.place(number).filter(|at| at.index() == Some(None)))
                    {
                        self.known.given.insert(index, number);
                        return;
                    }
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, x: Local, y: &Operand) -> Option<()> {
        let place = self.place(y)?;
        let index = place.index()?;
        let length = index.map(|index| self.ends[&index].clone());
        let is_same = |line: &&mut Line| {
            let is_as_long = match (&line.length, &length) {
                (Some(a), Some(b)) => a.same(b),
                (None, None) => true,
                _ => false,
            };
            is_as_long && line.place.same(&place)
        };
        match self.lines.iter_mut().find(is_same) {
            Some(line) => {
                line.loads.insert(x, index);
            }
            None => self.lines.push(Line { place, length, loads: FxHashMap::from_iter([(x, index)]) }),
        }
        Some(())
    }

    fn place(&self, a: &Operand) -> Option<Place> {
        self.known.place(a, &self.ends)
    }
}

impl Known {
    /// Returns how an operand is made of numbers of the step and of indices of loops with such ends.
    pub(super) fn place(&self, a: &Operand, ends: &FxHashMap<Local, Operand>) -> Option<Place> {
        self.made_of(a, ends, &mut MOST_OPERATIONS.clone())
    }

    fn made_of(&self, a: &Operand, ends: &FxHashMap<Local, Operand>, left: &mut usize) -> Option<Place> {
        *left = left.checked_sub(1)?;
        let Some(x) = a.local() else { return Some(Place::Known(a.clone())) };
        if let Some(given) = self.given.get(&x) {
            return Some(given.clone());
        }
        if ends.contains_key(&x) {
            return Some(Place::Index(x));
        }
        if let Some((b, at)) = self.loads.get(&x) {
            let at = self.made_of(at, ends, left)?;
            return match self.fills.get(b) {
                Some((index, value)) => value.with(*index, &at, left),
                None => {
                    let is_it = |(c, to, _): &&(Local, Place, Local)| c == b && to.same(&at);
                    self.loaded.iter().find(is_it).map(|(_, _, y)| Place::Known((*y).into()))
                }
            };
        }
        match self.made.get(&x) {
            Some((op @ (Op::AddI | Op::SubI | Op::MulI | Op::NegI), args)) => {
                let args = args.iter().map(|arg| self.made_of(arg, ends, left)).collect::<Option<Vec<_>>>()?;
                Some(Place::Made(*op, args))
            }
            _ => (!self.later.contains(&x)).then(|| Place::Known(a.clone())),
        }
    }
}

impl Place {
    /// Returns the index that the place depends on, if it is at most one.
    fn index(&self) -> Option<Option<Local>> {
        match self {
            Place::Known(_) => Some(None),
            Place::Index(x) => Some(Some(*x)),
            Place::Made(_, args) => {
                args.iter().try_fold(None, |found: Option<Local>, arg| match (found, arg.index()?) {
                    (Some(x), Some(y)) => (x == y).then_some(found),
                    (found, other) => Some(found.or(other)),
                })
            }
        }
    }

    /// Returns whether two places are the same, for the same index.
    fn same(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Known(a), Place::Known(b)) => a.same(b),
            (Place::Index(_), Place::Index(_)) => true,
            (Place::Made(op, args), Place::Made(other, others)) => {
                let [there, back] = [others.iter().collect(), others.iter().rev().collect()];
                let are = |others: Vec<&Place>| args.iter().zip(others).all(|(a, b)| a.same(b));
                op == other && args.len() == others.len() && (are(there) || op.commutes() && are(back))
            }
            _ => false,
        }
    }

    /// Returns the place with another in place of an index, if it is made of no more operations than are left.
    fn with(&self, index: Local, at: &Place, left: &mut usize) -> Option<Place> {
        *left = left.checked_sub(1)?;
        match self {
            Place::Index(x) if *x == index => {
                *left = left.checked_sub(at.operations())?;
                Some(at.clone())
            }
            Place::Known(_) | Place::Index(_) => Some(self.clone()),
            Place::Made(op, args) => {
                let args = args.iter().map(|arg| arg.with(index, at, left)).collect::<Option<Vec<_>>>()?;
                Some(Place::Made(*op, args))
            }
        }
    }

    fn operations(&self) -> usize {
        match self {
            Place::Known(_) | Place::Index(_) => 0,
            Place::Made(_, args) => 1 + args.iter().map(Place::operations).sum::<usize>(),
        }
    }

    /// Returns whether the place needs a local.
    pub(super) fn needs(&self, x: Local) -> bool {
        match self {
            Place::Known(a) => a.local() == Some(x),
            Place::Index(_) => false,
            Place::Made(_, args) => args.iter().any(|arg| arg.needs(x)),
        }
    }

    /// Computes the place for an index.
    pub(super) fn compute(&self, index: &Operand, locals: &mut Vec<LocalInfo>, out: &mut Vec<Stmt>) -> Operand {
        match self {
            Place::Known(a) => a.clone(),
            Place::Index(_) => index.clone(),
            Place::Made(op, args) => {
                let args: Vec<Operand> = args.iter().map(|arg| arg.compute(index, locals, out)).collect();
                Builder { locals }.op(*op, args, out)
            }
        }
    }
}

/// Returns whether a loop goes from 0 on, one iteration after the other.
fn is_plain(looped: &For) -> bool {
    looped.lanes == 1 && looped.jam == 1 && !looped.on_threads && looped.from.same(&Operand::Integer(0))
}
