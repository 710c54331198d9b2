//! Gives a nest the other elements of a state in variables, in tables over one index, or in a second buffer.
//!
//! ```text
//! for j in 0..m { if inside y(j) { store T[j] = load S[y(j)] } else { store T[j] = 0 } }; nest, with T[j] for S[y(j)]
//! zero T; nest, adding to T[j] for S[y(j)]; for j in 0..m { if inside y(j) { add S[y(j)] += load T[j] } }
//! ```

use super::others::Way;
use crate::analyses::nests::{Nest, Slice};
use crate::ir::{Block, Builder, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt, Ty};
use rustc_hash::FxHashMap;

/// Puts a nest that reads a state behind what it needs.
pub(super) fn read(
    locals: &mut Vec<LocalInfo>,
    nest: &Nest,
    ways: &[Way],
    [old, state]: [Local; 2],
    count: &Operand,
    mut stmt: Stmt,
    out: &mut Vec<Stmt>,
) {
    let mut tables = Tables::new(locals, nest, [old, state], count);
    let mut ways = ways.iter();
    let mut names = FxHashMap::default();
    change(&mut stmt, &mut |stmt| {
        let Stmt::Memory(Memory::Load(x, b, y)) = &stmt else { return Some(stmt) };
        if b.local() != Some(old) || nest.is_place(y) {
            return Some(stmt);
        }
        match tables.place(*ways.next().expect("each access has a way"), y, Tables::filled) {
            Place::State => Some(stmt),
            Place::Variable(value) => {
                names.insert(*x, value);
                None
            }
            Place::In(table, i) => Some(Stmt::Memory(Memory::Load(*x, table, i))),
        }
    });
    tables.put_around(with_names(stmt, &names), out);
}

/// Puts what a nest adds to a state behind the nest, where the nest may still read what it adds to.
pub(super) fn add(
    locals: &mut Vec<LocalInfo>,
    nest: &Nest,
    ways: &[Way],
    [buffer, state]: [Local; 2],
    count: &Operand,
    mut stmt: Stmt,
    out: &mut Vec<Stmt>,
) {
    let mut tables = Tables::new(locals, nest, [buffer, state], count);
    let mut ways = ways.iter();
    change(&mut stmt, &mut |stmt| {
        let Stmt::Memory(Memory::Add(b, y, a)) = &stmt else { return Some(stmt) };
        if b.local() != Some(buffer) || nest.is_place(y) {
            return Some(stmt);
        }
        match tables.place(*ways.next().expect("each access has a way"), y, Tables::emptied) {
            Place::In(table, i) => Some(Stmt::Memory(Memory::Add(table, i, a.clone()))),
            Place::State | Place::Variable(_) => Some(stmt),
        }
    });
    tables.put_around(stmt, out);
}

/// Changes or drops the statements in the blocks of one, in order.
fn change(stmt: &mut Stmt, f: &mut impl FnMut(Stmt) -> Option<Stmt>) {
    for block in stmt.blocks_mut() {
        let stmts = std::mem::take(&mut block.stmts);
        for stmt in stmts {
            let Some(mut stmt) = f(stmt) else { continue };
            change(&mut stmt, f);
            block.stmts.push(stmt);
        }
    }
}

fn with_names(stmt: Stmt, names: &FxHashMap<Local, Operand>) -> Stmt {
    let mut block = Block { stmts: vec![stmt], results: vec![] };
    block.change_operands(&mut |a| {
        if let Some(value) = a.local().and_then(|x| names.get(&x)) {
            *a = value.clone();
        }
    });
    block.stmts.remove(0)
}

/// Where an element is.
enum Place {
    /// In the state.
    State,
    /// In a variable, to be read.
    Variable(Operand),
    /// In another buffer.
    In(Operand, Operand),
}

struct Tables<'a> {
    locals: &'a mut Vec<LocalInfo>,
    nest: &'a Nest,
    /// The state by the name that the nest has for it, and by its own.
    state: [Local; 2],
    count: &'a Operand,
    /// The places that were asked for.
    known: Vec<(Way, Operand, Operand)>,
    before: Vec<Stmt>,
    after: Vec<Stmt>,
    /// The top of the arena without tables.
    mark: Option<Local>,
}

/// Makes statements that fill a table, or that empty it.
type Transfer<'a> = fn(&mut Tables<'a>, Way, &Operand) -> Operand;

impl<'a> Tables<'a> {
    /// Puts a nest between the statements that make its tables and those that use them, and frees the tables.
    fn put_around(self, nest: Stmt, out: &mut Vec<Stmt>) {
        out.extend(self.mark.map(|mark| Stmt::Memory(Memory::Mark(mark))));
        out.extend(self.before.into_iter().chain([nest]).chain(self.after));
        out.extend(self.mark.map(|mark| Stmt::Memory(Memory::Release(mark.into()))));
    }

    fn new(locals: &'a mut Vec<LocalInfo>, nest: &'a Nest, state: [Local; 2], count: &'a Operand) -> Tables<'a> {
        Tables { locals, nest, state, count, known: vec![], before: vec![], after: vec![], mark: None }
    }

    fn place(&mut self, way: Way, y: &Operand, transfer: Transfer<'a>) -> Place {
        if way == Way::InPlace {
            return Place::State;
        }
        let is_known = |(w, z, _): &&(Way, Operand, Operand)| *w == way && (z.same(y) || way == Way::Whole);
        let table = match self.known.iter().find(is_known) {
            Some((_, _, table)) => table.clone(),
            None => {
                let table = transfer(self, way, y);
                self.known.push((way, y.clone(), table.clone()));
                table
            }
        };
        match way {
            Way::Table(k) => Place::In(table, self.nest.indices[k].into()),
            Way::Whole => Place::In(table, y.clone()),
            Way::Fixed if self.is_buffer(&table) => Place::In(table, Operand::Integer(0)),
            Way::Fixed => Place::Variable(table),
            Way::InPlace => Place::State,
        }
    }

    /// Fills a table with elements of the state.
    fn filled(&mut self, way: Way, y: &Operand) -> Operand {
        match way {
            Way::Fixed => {
                let (value, stmts) = self.element(y, FxHashMap::default());
                self.before.extend(stmts);
                value
            }
            Way::Table(k) => {
                let table = self.alloc(self.nest.sizes[k].clone());
                let index = self.index();
                let (value, mut stmts) = self.element(y, FxHashMap::from_iter([(self.nest.indices[k], index.into())]));
                stmts.push(Stmt::Memory(Memory::Store(table.clone(), index.into(), value)));
                let looped = counted(index, self.nest.sizes[k].clone(), stmts);
                self.before.push(looped);
                table
            }
            Way::Whole => {
                let table = self.alloc(self.count.clone());
                let (to, from, count) = (table.clone(), self.state[1].into(), self.count.clone());
                self.before.push(Stmt::Memory(Memory::Move { to, from, count }));
                table
            }
            Way::InPlace => unreachable!("such an element needs no table"),
        }
    }

    /// Makes a table of zeros, which is added to the state in the end.
    fn emptied(&mut self, way: Way, y: &Operand) -> Operand {
        let size = match way {
            Way::Fixed | Way::InPlace => Operand::Integer(1),
            Way::Table(k) => self.nest.sizes[k].clone(),
            Way::Whole => self.count.clone(),
        };
        let table = self.alloc(size.clone());
        self.before.push(Stmt::Memory(Memory::Zero(table.clone(), size.clone())));
        let index = self.index();
        let ty = self.element_ty();
        let value = Builder { locals: self.locals }.local(ty);
        let state = Operand::Local(self.state[1]);
        let mut stmts = Vec::new();
        if way == Way::Whole {
            stmts.push(Stmt::Memory(Memory::Load(value, table.clone(), index.into())));
            stmts.push(Stmt::Memory(Memory::Add(state, index.into(), value.into())));
        } else {
            let given = match way {
                Way::Table(k) => FxHashMap::from_iter([(self.nest.indices[k], index.into())]),
                Way::Fixed | Way::Whole | Way::InPlace => FxHashMap::default(),
            };
            let (y, inside) = self.inside(y, given, &mut stmts);
            let load = Stmt::Memory(Memory::Load(value, table.clone(), index.into()));
            let add = Stmt::Memory(Memory::Add(state, y, value.into()));
            stmts.push(Stmt::If(vec![], inside, Block { stmts: vec![load, add], results: vec![] }, Block::default()));
        }
        self.after.push(counted(index, size, stmts));
        table
    }

    /// Loads an element, if there is one at that place.
    fn element(&mut self, y: &Operand, given: FxHashMap<Local, Operand>) -> (Operand, Vec<Stmt>) {
        let mut stmts = Vec::new();
        let (y, inside) = self.inside(y, given, &mut stmts);
        let value = element_within(&self.state[1].into(), y, inside, self.locals, &mut stmts);
        (value, stmts)
    }

    /// Computes a place, and whether there is an element.
    fn inside(&mut self, y: &Operand, given: FxHashMap<Local, Operand>, stmts: &mut Vec<Stmt>) -> (Operand, Operand) {
        let y = Slice::new(self.nest, given).value(y, self.locals, stmts).expect("it is made by operations");
        let inside = Builder { locals: self.locals }.op(Op::Below, [y.clone(), self.count.clone()], stmts);
        (y, inside)
    }

    fn alloc(&mut self, count: Operand) -> Operand {
        let ty = self.locals[self.state[1].0 as usize].ty;
        let mut build = Builder { locals: self.locals };
        let buffer = build.local(ty);
        if self.mark.is_none() {
            self.mark = Some(build.local(Scalar::Mark.ty()));
        }
        let span = lm::term::Span::default();
        self.before.push(Stmt::Memory(Memory::Alloc { buffer, count, span }));
        buffer.into()
    }

    fn index(&mut self) -> Local {
        Builder { locals: self.locals }.local(Scalar::Integer.ty())
    }

    fn element_ty(&self) -> Ty {
        self.locals[self.state[1].0 as usize].ty.element().expect("a state is a buffer")
    }

    fn is_buffer(&self, a: &Operand) -> bool {
        a.ty(self.locals).as_scalar().is_none()
    }
}

/// Loads an element of a buffer, if it is inside.
pub(super) fn element_within(
    buffer: &Operand,
    at: Operand,
    inside: Operand,
    locals: &mut Vec<LocalInfo>,
    out: &mut Vec<Stmt>,
) -> Operand {
    let ty = buffer.ty(locals).element().expect("a state is a buffer");
    let mut build = Builder { locals };
    let (loaded, value) = (build.local(ty), build.local(ty));
    let load = Stmt::Memory(Memory::Load(loaded, buffer.clone(), at));
    let then = Block { stmts: vec![load], results: vec![loaded.into()] };
    let other = Block { stmts: vec![], results: vec![nothing(ty)] };
    out.push(Stmt::If(vec![value], inside, then, other));
    value.into()
}

/// What stands for an element that is not there, and that nothing uses.
fn nothing(ty: Ty) -> Operand {
    match ty.as_scalar() {
        Some(Scalar::Integer) => Operand::Integer(0),
        Some(Scalar::Bool) => Operand::Bool(false),
        Some(Scalar::Text) => Operand::Text("".into()),
        Some(Scalar::Float | Scalar::Mark) | None => Operand::Float(0.0),
    }
}

fn counted(index: Local, to: Operand, stmts: Vec<Stmt>) -> Stmt {
    Stmt::loop_over(index, [Operand::Integer(0), to], stmts)
}
