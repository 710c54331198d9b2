//! Goes through a block, and unites buffers that may be one.

use super::{Class, ClassId, Start, Tables};
use crate::ir::{Block, Function, Local, Memory, Op, Operand, Scalar, Stmt, Ty};
use rustc_hash::FxHashMap;

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

pub(super) struct Finder<'a> {
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
    pub(super) fn new(function: &'a Function, start: &'a Start) -> Finder<'a> {
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
        for x in &function.params {
            finder.see_param(*x);
        }
        finder
    }

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

    pub(super) fn see(&mut self, block: &'a Block) {
        for stmt in &block.stmts {
            self.see_stmt(stmt);
        }
    }

    pub(super) fn see_stmt(&mut self, stmt: &'a Stmt) {
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

    pub(super) fn classes(mut self) -> Tables<'a> {
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
