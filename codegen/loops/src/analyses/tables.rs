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

use crate::ir::{Block, Function, Local, Memory, Op, Operand, Scalar, Stmt, Ty};
use rustc_hash::{FxHashMap, FxHashSet};

/// A size may be made of so many numbers and operations.
const MOST_OPERATIONS: usize = 16;

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

/// The number of a class of buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(usize);

/// A parameter that is a vector of vectors: how many there are, their sizes, and the rows.
pub struct Rows {
    /// The parameter that is the number of rows.
    pub count: Local,
    /// The parameter that has their sizes.
    pub sizes: Local,
    /// The parameters that have rows of these sizes.
    pub rows: Vec<Local>,
}

/// Returns the parameters that have the form of vectors with the sizes of rows in them: one size, then buffers.
pub fn vectors_of_rows(function: &Function) -> Vec<Rows> {
    let info = |x: &Local| &function.locals[x.0 as usize];
    let runs = function.params.chunk_by(|x, y| info(x).ty.as_scalar().is_some() || info(y).ty.as_scalar().is_none());
    let mut found = Vec::new();
    for run in runs {
        let (scalars, buffers) = run.split_at(run.partition_point(|x| info(x).ty.as_scalar().is_some()));
        let sizes: Vec<Local> = scalars.iter().rev().take_while(|x| info(x).is_size).copied().collect();
        // Two sizes may be those of a matrix.
        let [count] = sizes[..] else { continue };
        for (i, b) in buffers.iter().enumerate().filter(|(_, b)| info(b).ty == Scalar::Integer.ty().buffer()) {
            let is_row = |x: &&Local| info(x).ty.element().is_some_and(|ty| ty.as_scalar().is_none());
            // Behind several sizes are rows of several dimensions: one size does not tell how long they are.
            let is_only_size = i == 0 || info(&buffers[i - 1]).ty != info(b).ty;
            let rows = buffers[i + 1..].iter().take_while(is_row).filter(|_| is_only_size).copied().collect();
            found.push(Rows { sizes: *b, count, rows });
        }
    }
    found
}

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
        let mut finder = Finder {
            function,
            start,
            nodes: (0..function.locals.len()).map(Node::new).collect(),
            allocs: vec![],
            stored: vec![],
            given: vec![],
            loops: vec![],
            made: FxHashMap::default(),
            computed: FxHashMap::default(),
            loaded: FxHashMap::default(),
        };
        function
            .params
            .iter()
            .filter(|x| finder.is_buffer(**x))
            .copied()
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|x| finder.see_param(x));
        for stmt in before {
            if let Stmt::Let(x, op, args) = stmt {
                finder.computed.insert(*x, (*op, args));
            }
        }
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

/// A set of a forest of sets.
struct Node {
    parent: usize,
    elements: Option<usize>,
    is_foreign: bool,
    is_opaque: bool,
}

impl Node {
    fn new(parent: usize) -> Node {
        Node { parent, elements: None, is_foreign: false, is_opaque: false }
    }
}

/// A loop around a statement: what it carries.
type Carried = Vec<Local>;

struct Finder<'a> {
    function: &'a Function,
    start: &'a Start,
    /// The locals, and then the elements of tables.
    nodes: Vec<Node>,
    /// What is allocated, how many elements, and the loops around.
    allocs: Vec<(Local, Operand, Vec<Carried>)>,
    stored: Vec<(Local, Operand)>,
    /// The parameters that are a first state, or are stored, with the buffers that they may be there.
    given: Vec<(usize, Local)>,
    loops: Vec<Carried>,
    made: FxHashMap<Local, Vec<&'a Operand>>,
    computed: FxHashMap<Local, (Op, &'a [Operand])>,
    loaded: FxHashMap<Local, Local>,
}

impl<'a> Finder<'a> {
    fn ty(&self, x: Local) -> Ty {
        self.function.locals[x.0 as usize].ty
    }

    fn is_buffer(&self, x: Local) -> bool {
        self.ty(x).as_scalar().is_none()
    }

    /// Returns whether a buffer is one of scalars.
    fn is_scalars(&self, x: Local) -> bool {
        self.ty(x).element().is_some_and(|ty| ty.as_scalar().is_some())
    }

    fn root(&mut self, mut i: usize) -> usize {
        while self.nodes[i].parent != i {
            let up = self.nodes[self.nodes[i].parent].parent;
            self.nodes[i].parent = up;
            i = up;
        }
        i
    }

    fn elements(&mut self, i: usize) -> usize {
        let i = self.root(i);
        match self.nodes[i].elements {
            Some(elements) => elements,
            None => {
                let elements = self.nodes.len();
                self.nodes.push(Node::new(elements));
                self.nodes[i].elements = Some(elements);
                elements
            }
        }
    }

    fn unite(&mut self, i: usize, j: usize) {
        let mut waiting = vec![(i, j)];
        while let Some((i, j)) = waiting.pop() {
            let (i, j) = (self.root(i), self.root(j));
            if i == j {
                continue;
            }
            self.nodes[j].parent = i;
            self.nodes[i].is_opaque |= self.nodes[j].is_opaque;
            self.nodes[i].is_foreign |= self.nodes[j].is_foreign;
            match (self.nodes[i].elements, self.nodes[j].elements) {
                (Some(a), Some(b)) => waiting.push((a, b)),
                (None, elements) => self.nodes[i].elements = elements,
                (Some(_), None) => {}
            }
        }
    }

    /// The buffer may be one of the set. A parameter stays apart: it would be copied.
    fn is_of(&mut self, a: &Operand, set: usize) {
        let Some(x) = a.local().filter(|x| self.is_buffer(*x)) else { return };
        if self.function.params.contains(&x) {
            self.given.push((set, x));
            if !self.is_scalars(x) {
                let [own, theirs] = [self.elements(x.0 as usize), self.elements(set)];
                self.unite(own, theirs);
            }
        } else {
            self.unite(set, x.0 as usize);
        }
    }

    /// Nothing is known of what becomes of the buffers.
    fn hide<'b>(&mut self, operands: impl IntoIterator<Item = &'b Operand>) {
        for x in operands.into_iter().filter_map(Operand::local) {
            self.hide_local(x);
        }
    }

    /// What is in a parameter is the caller's. How large it is may be known of rows, but not of what is in them.
    fn see_param(&mut self, x: Local) {
        let (mut ty, mut node, mut depth) = (self.ty(x), x.0 as usize, 0);
        while let Some(element) = ty.element() {
            let root = self.root(node);
            self.nodes[root].is_foreign = true;
            self.nodes[root].is_opaque |= depth > usize::from(self.start.tables.contains_key(&x));
            if element.as_scalar().is_none() {
                node = self.elements(root);
            }
            (ty, depth) = (element, depth + 1);
        }
    }

    fn hide_local(&mut self, x: Local) {
        let mut ty = self.ty(x);
        let mut node = x.0 as usize;
        while let Some(element) = ty.element() {
            let root = self.root(node);
            self.nodes[root].is_opaque = true;
            if element.as_scalar().is_none() {
                node = self.elements(root);
            }
            ty = element;
        }
    }

    fn see(&mut self, block: &'a Block) {
        for stmt in &block.stmts {
            self.see_stmt(stmt);
        }
    }

    fn see_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Let(x, op, args) => drop(self.computed.insert(*x, (*op, args))),
            Stmt::For(looped) => {
                for (i, (x, init)) in looped.carried.iter().enumerate() {
                    let next = &looped.body.results[i];
                    if self.is_buffer(*x) {
                        self.unite(x.0 as usize, looped.results[i].0 as usize);
                        self.is_of(init, x.0 as usize);
                        self.is_of(next, x.0 as usize);
                    } else {
                        self.made.insert(looped.results[i], vec![init, next]);
                        self.made.insert(*x, vec![init, next]);
                    }
                }
                self.loops.push(looped.carried.iter().map(|(x, _)| *x).filter(|x| self.is_buffer(*x)).collect());
                self.see(&looped.body);
                self.loops.pop();
                return;
            }
            Stmt::If(xs, _, then, other) => {
                for (i, x) in xs.iter().enumerate() {
                    let results = [&then.results[i], &other.results[i]];
                    if self.is_buffer(*x) {
                        results.iter().for_each(|a| self.is_of(a, x.0 as usize));
                    } else {
                        self.made.insert(*x, results.to_vec());
                    }
                }
            }
            Stmt::Call(xs, _, args) => {
                self.hide(args);
                xs.iter().for_each(|x| self.hide_local(*x));
            }
            Stmt::External { .. } | Stmt::Bench { .. } => {
                self.hide(stmt.operands());
                stmt.targets().into_iter().chain(stmt.bound()).for_each(|x| self.hide_local(x));
            }
            Stmt::Memory(memory) => self.see_memory(memory),
            Stmt::Check { .. } | Stmt::Write(_) => {}
        }
        stmt.blocks().for_each(|block| self.see(block));
    }

    fn see_memory(&mut self, memory: &'a Memory) {
        match memory {
            Memory::Alloc { buffer, count, .. } => self.allocs.push((*buffer, count.clone(), self.loops.clone())),
            Memory::Load(x, b, _) => {
                let Some(b) = b.local() else { return };
                if self.is_buffer(*x) {
                    let elements = self.elements(b.0 as usize);
                    self.unite(elements, x.0 as usize);
                } else {
                    self.loaded.insert(*x, b);
                }
            }
            Memory::Store(b, _, a) => {
                let Some(b) = b.local() else { return };
                if a.local().is_some_and(|x| self.is_buffer(x)) {
                    let elements = self.elements(b.0 as usize);
                    self.is_of(a, elements);
                } else {
                    self.stored.push((b, a.clone()));
                }
            }
            Memory::Move { to, from, .. } => {
                let to = to.local().expect("a buffer is a local");
                if self.ty(to) != Scalar::Float.ty().buffer() {
                    self.is_of(from, to.0 as usize);
                }
            }
            Memory::Slid { target, buffer, .. } => self.is_of(buffer, target.0 as usize),
            Memory::Zero(b, _) => {
                let x = b.local().expect("a buffer is a local");
                match self.ty(x).element().and_then(Ty::zero) {
                    Some(zero) => self.stored.push((x, zero)),
                    None => self.hide_local(x),
                }
            }
            Memory::Add(b, ..) => {
                let x = b.local().expect("a buffer is a local");
                if self.ty(x) != Scalar::Float.ty().buffer() {
                    self.hide_local(x);
                }
            }
            Memory::View(x, b, _) => {
                self.hide_local(*x);
                // A part of a vector of numbers is nothing to the whole.
                let is_table = b.local().is_some_and(|b| self.ty(b) != Scalar::Float.ty().buffer());
                self.hide(is_table.then_some(b));
            }
            Memory::Stack(x, _) => self.hide_local(*x),
            Memory::Cast(x, b) => {
                self.hide_local(*x);
                self.hide([b]);
            }
            Memory::Mark(_) | Memory::Release(_) | Memory::Above(..) | Memory::Before(..) | Memory::Slide(..) => {}
        }
    }

    fn classes(mut self) -> Tables<'a> {
        let mut classes: FxHashMap<ClassId, Class> = FxHashMap::default();
        let mut of = FxHashMap::default();
        for i in 0..self.nodes.len() {
            let root = self.root(i);
            let elements = self.nodes[root].elements.map(|elements| ClassId(self.root(elements)));
            let class = classes.entry(ClassId(root)).or_default();
            (class.elements, class.is_opaque, class.is_foreign) =
                (elements, self.nodes[root].is_opaque, self.nodes[root].is_foreign);
            if i < self.function.locals.len() && self.is_buffer(Local(i as u32)) {
                class.members.push(Local(i as u32));
                of.insert(Local(i as u32), ClassId(root));
            }
        }
        let id = |x: &Local| of[x];
        for (x, count, loops) in &self.allocs {
            let class = classes.get_mut(&id(x)).expect("each buffer has a class");
            class.counts.push(count.clone());
            class.is_made_anew |= loops.iter().flatten().any(|carried| id(carried) == id(x));
        }
        for (x, a) in &self.stored {
            classes.get_mut(&id(x)).expect("each buffer has a class").stored.push(a.clone());
        }
        for (set, x) in std::mem::take(&mut self.given) {
            let root = ClassId(self.root(set));
            let class = classes.get_mut(&root).expect("each set is a class");
            if !class.params.contains(&x) {
                class.params.push(x);
            }
        }
        Tables { start: self.start, classes, of, made: self.made, computed: self.computed, loaded: self.loaded }
    }
}
