//! Finds buffers that may be one, and what sizes the buffers in a table have: a table is a buffer of buffers.
//!
//! ```text
//! x = if c { .. yield a } else { .. yield b }        x, a and b are of one class; so are a state and the next one
//! store t[i] = a; b = load t[j]                      a and b are of the class of t's elements
//! a = alloc n                                        what is of a's class has n elements, or as many as another
//! ```
//!
//! A vector of vectors is a table of the sizes and a table of the rows. Where all sizes are known to be one, and there is
//! always the same number of rows, it is a matrix.

mod finder;
mod params;

use crate::ir::{Block, Function, Local, Op, Operand, Stmt};
use finder::Finder;
pub use params::{Rows, vectors_of_rows};
use rustc_hash::{FxHashMap, FxHashSet};

/// A size may be made of so many numbers and operations.
const MOST_OPERATIONS: usize = 16;

/// The operations that sizes are made with.
const MAKES_SIZES: [Op; 5] = [Op::AddI, Op::SubI, Op::MulI, Op::NegI, Op::Count];

/// A size that is known at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// A local that is set before.
    Known(Local),
    /// A number.
    Number(i64),
    /// The size of the rows of a parameter, which has these sizes: of all of them, if all are the same.
    OfRows(Local),
    /// The result of an operation.
    Made(Op, Vec<Size>),
}

/// What is known at the start of a block.
#[derive(Default)]
pub struct Start {
    /// The locals that are set.
    pub locals: FxHashSet<Local>,
    /// What each load of a buffer of sizes gives.
    pub loads: FxHashMap<Local, Size>,
    /// The parameters that are tables: how many rows they have, and of which size.
    pub tables: FxHashMap<Local, [Size; 2]>,
    /// How many elements other parameters have.
    pub lengths: FxHashMap<Local, Size>,
}

impl Start {
    /// Returns what is known where a function starts, but for its tables.
    pub fn of(function: &Function) -> Start {
        let size = |a: &Operand| match a {
            Operand::Integer(n) => Some(Size::Number(*n)),
            a => a.local().map(Size::Known),
        };
        let length = |sizes: &Vec<Operand>| {
            let sizes = sizes.iter().map(size).collect::<Option<Vec<Size>>>()?;
            sizes.into_iter().reduce(|a, b| Size::Made(Op::Count, vec![a, b]))
        };
        Start {
            locals: function.params.iter().copied().collect(),
            lengths: function.extents.iter().filter_map(|(x, sizes)| Some((*x, length(sizes)?))).collect(),
            ..Start::default()
        }
    }
}

/// Computes sizes, each of them once: it is known by one name.
#[derive(Default)]
pub struct Computed {
    made: Vec<(Size, Operand)>,
}

impl Computed {
    /// Notes what a size is known as.
    pub fn note(&mut self, size: Size, value: Operand) {
        self.made.push((size, value));
    }

    /// Returns what a size is known as, if it was computed.
    pub fn known(&self, size: &Size) -> Option<&Operand> {
        self.made.iter().find(|(other, _)| other == size).map(|(_, value)| value)
    }

    /// Returns what a size is, given what locals and sizes of rows are; emits the operations that it takes.
    pub fn operand(
        &mut self,
        size: &Size,
        given: &dyn Fn(&Size) -> Operand,
        emit: &mut dyn FnMut(Op, Vec<Operand>) -> Operand,
    ) -> Operand {
        match size {
            Size::Number(n) => Operand::Integer(*n),
            Size::Known(_) | Size::OfRows(_) => given(size),
            Size::Made(op, args) => {
                if let Some(done) = self.known(size) {
                    return done.clone();
                }
                let args = args.iter().map(|arg| self.operand(arg, given, emit)).collect();
                let value = emit(*op, args);
                self.note(size.clone(), value.clone());
                value
            }
        }
    }
}

/// The number of a class of buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(usize);

/// Buffers that may be one.
#[derive(Debug, Default)]
pub struct Class {
    /// The buffers.
    pub members: Vec<Local>,
    /// The class of their elements.
    pub elements: Option<ClassId>,
    /// How many elements they have where they are allocated.
    pub counts: Vec<Operand>,
    /// What is stored in them, if that is scalars.
    pub stored: Vec<Operand>,
    /// The parameters that are among them.
    pub params: Vec<Local>,
    /// Whether a loop carries them and makes others of them.
    pub is_made_anew: bool,
    /// Whether some of them are the caller's, who knows what is in them.
    pub is_foreign: bool,
    /// Whether more may happen to them than is known, or their sizes are not.
    pub is_opaque: bool,
}

/// The classes of the buffers in a block.
pub struct Tables<'a> {
    start: &'a Start,
    classes: FxHashMap<ClassId, Class>,
    of: FxHashMap<Local, ClassId>,
    /// What loops and conditionals make of other numbers.
    made: FxHashMap<Local, Vec<&'a Operand>>,
    /// What operations make of others.
    computed: FxHashMap<Local, (Op, &'a [Operand])>,
    /// The buffers that numbers are loaded from.
    loaded: FxHashMap<Local, Local>,
}

impl<'a> Tables<'a> {
    /// Returns the classes of a block of a function, which comes after these statements.
    pub fn of(function: &'a Function, before: &'a [Stmt], block: &'a Block, start: &'a Start) -> Tables<'a> {
        let mut finder = Finder::new(function, start);
        before.iter().filter(|stmt| matches!(stmt, Stmt::Let(..))).for_each(|stmt| finder.see_stmt(stmt));
        finder.see(block);
        finder.classes()
    }

    /// Returns the classes, in order.
    pub fn classes(&self) -> Vec<(ClassId, &Class)> {
        let mut classes: Vec<(ClassId, &Class)> = self.classes.iter().map(|(id, class)| (*id, class)).collect();
        classes.sort_by_key(|(id, _)| *id);
        classes
    }

    /// Returns the class of a buffer.
    pub fn class_of(&self, a: &Operand) -> Option<ClassId> {
        self.of.get(&a.local()?).copied()
    }

    /// Returns a class.
    pub fn class(&self, id: ClassId) -> &Class {
        &self.classes[&id]
    }

    /// Returns how many rows the tables of a class may have, and what sizes the rows may have; None where that is not
    /// known.
    pub fn matrix(&self, id: ClassId) -> Option<[Vec<Size>; 2]> {
        if self.class(id).is_foreign {
            return None;
        }
        let rows = self.counts(id)?;
        let sizes = self.counts(self.class(id).elements?)?;
        (!rows.is_empty() && !sizes.is_empty()).then_some([rows, sizes])
    }

    /// Returns how many elements the buffers of a class may have.
    fn counts(&self, id: ClassId) -> Option<Vec<Size>> {
        let class = self.class(id);
        if class.is_opaque {
            return None;
        }
        let mut found = self.all(&class.counts)?;
        for param in &class.params {
            let rows = self.start.tables.get(param).map(|[rows, _]| rows);
            add(&mut found, self.again(rows.or_else(|| self.start.lengths.get(param))?));
        }
        for (param, [_, size]) in &self.start.tables {
            if self.of.get(param).and_then(|table| self.class(*table).elements) == Some(id) {
                add(&mut found, self.again(size));
            }
        }
        Some(found)
    }

    /// Returns how many elements each buffer of a class has.
    pub fn length(&self, id: ClassId) -> Option<Size> {
        let found = self.counts(id)?;
        let [size] = &found[..] else { return None };
        Some(size.clone())
    }

    /// Returns the one number that is stored in the buffers of a class.
    pub fn number_in(&self, id: ClassId) -> Option<Size> {
        let class = self.class(id);
        if class.is_opaque || class.is_foreign {
            return None;
        }
        let mut found = self.all(&class.stored)?;
        for param in &class.params {
            add(&mut found, self.again(self.start.loads.get(param)?));
        }
        let [size] = &found[..] else { return None };
        Some(size.clone())
    }

    fn all(&self, operands: &[Operand]) -> Option<Vec<Size>> {
        let mut found = Vec::new();
        for a in operands {
            self.sizes(a)?.into_iter().for_each(|size| add(&mut found, size));
        }
        Some(found)
    }

    /// Returns what a number may be; None if it may be anything that is not known.
    pub fn sizes(&self, a: &Operand) -> Option<Vec<Size>> {
        let (mut found, mut seen, mut classes) = (Vec::new(), FxHashSet::default(), FxHashSet::default());
        let mut waiting = vec![a.clone()];
        while let Some(a) = waiting.pop() {
            if let Some(x) = a.local().filter(|x| !self.start.locals.contains(x)) {
                if !seen.insert(x) {
                    continue;
                }
                if let Some(sources) = self.made.get(&x) {
                    waiting.extend(sources.iter().map(|a| (*a).clone()));
                    continue;
                }
                if let Some(b) = self.loaded.get(&x)
                    && !self.start.loads.contains_key(b)
                {
                    let id = *self.of.get(b)?;
                    let class = self.class(id);
                    if class.is_opaque || class.is_foreign {
                        return None;
                    }
                    if classes.insert(id) {
                        waiting.extend(class.stored.iter().cloned());
                        for param in &class.params {
                            add(&mut found, self.again(self.start.loads.get(param)?));
                        }
                    }
                    continue;
                }
            }
            add(&mut found, self.size(&a, &mut MOST_OPERATIONS.clone())?);
        }
        Some(found)
    }

    /// Returns a size as it is made at the start: by one name.
    fn again(&self, size: &Size) -> Size {
        let made = if let Size::Known(x) = size { self.size(&(*x).into(), &mut MOST_OPERATIONS.clone()) } else { None };
        made.unwrap_or_else(|| size.clone())
    }

    /// Returns the size that a number is, if it is one that is computed of what is known at the start.
    pub fn computed(&self, x: Local) -> Option<Size> {
        let made = self.size(&x.into(), &mut MOST_OPERATIONS.clone());
        made.filter(|size| matches!(size, Size::Made(..)))
    }

    /// Returns what a number is made of, if that is known at the start.
    fn size(&self, a: &Operand, left: &mut usize) -> Option<Size> {
        *left = left.checked_sub(1)?;
        let x = match a {
            Operand::Integer(n) => return Some(Size::Number(*n)),
            a => a.local()?,
        };
        let made = self.computed.get(&x).filter(|(op, _)| MAKES_SIZES.contains(op));
        if self.start.locals.contains(&x) && made.is_none() {
            return Some(Size::Known(x));
        }
        if let Some(b) = self.loaded.get(&x) {
            return self.start.loads.get(b).map(|size| self.again(size));
        }
        let (op, args) = made?;
        let args = args.iter().map(|arg| self.size(arg, left)).collect::<Option<Vec<Size>>>()?;
        Some(Size::Made(*op, args))
    }
}

fn add(found: &mut Vec<Size>, size: Size) {
    if !found.contains(&size) {
        found.push(size);
    }
}
