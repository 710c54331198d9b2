//! Divergence analysis: tells, for a loop in lanes, what is the same in all lanes, and how its buffers lie in memory.
//!
//! ```text
//! i in a..b lanes W                 i varies, and so does what is carried
//! x = op a..                        x varies if an a does
//! x = load b[i]                     if b or i does, or b is `each`
//! x.. = if c s else t               if c does, or what s or t yields
//! x.. = for j in a..b (y = e) s     diverges if a or b varies; j varies if a does; y and x do if the loop diverges, or
//!                                   if e varies, or what s yields
//! x = alloc n                       is `each` if n varies; x varies if it is `rows`
//! store b[i] = a, add, zero, move   b's roots are `each` if b, i or a varies, or if some lanes get here that made b
//!                                   and some do not
//! ```
//!
//! The least solution is found by iterating over the body until nothing changes. A buffer that is allocated in the loop
//! starts as `shared`. It starts as `rows` if memory from outside the loop may hold it, since each iteration then needs
//! its own. All roots that one local may be must have one form. They are `rows` if one of them is, or comes from
//! outside, else `each` if one is. The same holds for the two sides of a `move`, which may overlap (`lower::keep`).

use crate::analyses::alias::Aliases;
use crate::analyses::roots::{Root, Roots};
use crate::analyses::why_serial::WhySerial;
use crate::ir::{Block, For, Function, Local, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// How a buffer that is made in the loop is taken from the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllocForm {
    /// Once for all lanes, which do the same to it.
    Shared,
    /// W times as large: element k of lane l at k W + l. Where n varies, for the largest n of the lanes that are on.
    Each,
    /// One buffer for each active lane, in order.
    Rows,
}

/// How the elements of a buffer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In order. All lanes share the buffer, and each does its own stores and additions.
    Plain,
    /// In order. The loop makes the buffer once for all lanes, and writes it once, since all lanes write the same.
    Shared,
    /// Element k of lane l at k W + l from the buffer's address, which may vary.
    Each,
}

/// Holds what varies between the lanes of a loop.
#[derive(Debug)]
pub struct Divergence {
    varying: BTreeSet<Local>,
    /// The form of each buffer that the loop allocates.
    forms: BTreeMap<Local, AllocForm>,
    layouts: FxHashMap<Local, Layout>,
    /// For each varying Integer with a known stride, the difference between neighbouring lanes.
    strides: FxHashMap<Local, i64>,
}

impl Divergence {
    /// Returns what is known, for a loop of the function.
    ///
    /// Errors: the body has a statement that cannot run in lanes.
    pub fn of(function: &Function, aliases: &Aliases, looped: &For) -> Result<Divergence, WhySerial> {
        let mut finder = DivergenceFinder::new(function, aliases, looped);
        while std::mem::take(&mut finder.changed) {
            finder.outer = vec![];
            finder.next = 0;
            finder.visit_block(&looped.body)?;
            finder.raise_mixed();
        }
        let layouts = finder.buffers.iter().map(|x| (*x, finder.layout(*x))).collect();
        let mut strides = FxHashMap::from_iter([(looped.index, 1)]);
        find_strides(&looped.body, &finder.varying, &mut strides);
        Ok(Divergence { varying: finder.varying, forms: finder.forms, layouts, strides })
    }

    /// Returns whether an operand is another value in each lane; for a buffer, another address.
    pub fn varies(&self, a: &Operand) -> bool {
        a.local().is_some_and(|x| self.varying.contains(&x))
    }

    /// Returns how a buffer's elements lie.
    pub fn layout(&self, buffer: &Operand) -> Layout {
        buffer.local().and_then(|b| self.layouts.get(&b).copied()).unwrap_or(Layout::Plain)
    }

    /// Returns how what the loop allocates is taken.
    pub fn form(&self, allocated: Local) -> AllocForm {
        self.forms[&allocated]
    }

    /// Returns the difference of an Integer between neighbouring lanes, if it is one known number; 0 for an Integer
    /// that does not vary. With stride 1, elements at this index are neighbours. The first is at the index of lane 0,
    /// which is computed even if the lane is off.
    pub fn stride(&self, index: &Operand) -> Option<i64> {
        stride(index, &self.varying, &self.strides)
    }
}

pub(super) fn stride(a: &Operand, varying: &BTreeSet<Local>, strides: &FxHashMap<Local, i64>) -> Option<i64> {
    match a.local() {
        Some(x) if varying.contains(&x) => strides.get(&x).copied(),
        _ => Some(0),
    }
}

/// Operations wrap, and so do addresses: what differs by a number differs by it after that, too.
pub(super) fn find_strides(block: &Block, varying: &BTreeSet<Local>, strides: &mut FxHashMap<Local, i64>) {
    block.visit(&mut |stmt| {
        let Stmt::Let(x, op, args) = stmt else { return };
        if !varying.contains(x) {
            return;
        }
        let of = |a: &Operand| stride(a, varying, strides);
        let found = match (op, &args[..]) {
            (Op::AddI, [a, b]) => of(a).zip(of(b)).and_then(|(a, b)| a.checked_add(b)),
            (Op::SubI, [a, b]) => of(a).zip(of(b)).and_then(|(a, b)| a.checked_sub(b)),
            (Op::NegI, [a]) => of(a).and_then(i64::checked_neg),
            (Op::MulI, [a, Operand::Integer(k)] | [Operand::Integer(k), a]) => of(a).and_then(|s| s.checked_mul(*k)),
            _ => None,
        };
        strides.extend(found.map(|stride| (*x, stride)));
    });
}

/// A construct around a statement, by its number in the order of the text, and whether lanes part there.
type Construct = (usize, bool);

struct DivergenceFinder<'a> {
    function: &'a Function,
    aliases: &'a Aliases,
    varying: BTreeSet<Local>,
    forms: BTreeMap<Local, AllocForm>,
    /// The buffers that are set in the loop.
    buffers: BTreeSet<Local>,
    /// The constructs around what is allocated, and around marks.
    around: FxHashMap<Local, Vec<Construct>>,
    /// The constructs around the statement at hand.
    outer: Vec<Construct>,
    next: usize,
    changed: bool,
}

impl<'a> DivergenceFinder<'a> {
    fn new(function: &'a Function, aliases: &'a Aliases, looped: &For) -> DivergenceFinder<'a> {
        let mut finder = DivergenceFinder {
            function,
            aliases,
            varying: BTreeSet::from([looped.index]),
            forms: BTreeMap::new(),
            buffers: BTreeSet::new(),
            around: FxHashMap::default(),
            outer: vec![],
            next: 0,
            changed: true,
        };
        for (i, (x, _)) in looped.carried.iter().enumerate() {
            let stays = looped.body.results[i].local() == Some(*x);
            finder.varying.extend((!stays).then_some(*x));
        }
        looped.body.visit(&mut |stmt| {
            let set = stmt.targets().into_iter().chain(stmt.bound());
            finder.buffers.extend(set.filter(|x| function.locals[x.0 as usize].ty.as_scalar().is_none()));
            if let Stmt::Memory(Memory::Alloc { buffer, .. } | Memory::Stack(buffer, _)) = stmt {
                finder.forms.insert(*buffer, AllocForm::Shared);
            }
        });
        let outside = aliases.all().filtered(|root| finder.form_of(root).is_none());
        let held: Vec<Local> = aliases.reached_from(&outside).iter().filter_map(made_local).collect();
        held.into_iter().for_each(|x| finder.raise(x, AllocForm::Rows));
        finder
    }

    /// Returns the form of a root, none where it comes from outside.
    fn form_of(&self, root: &Root) -> Option<AllocForm> {
        made_local(*root).and_then(|x| self.forms.get(&x).copied())
    }

    fn raise(&mut self, allocated: Local, form: AllocForm) {
        if let Some(old) = self.forms.get_mut(&allocated)
            && *old < form
        {
            *old = form;
            self.changed = true;
        }
    }

    fn raise_all(&mut self, roots: &Roots, form: AllocForm) {
        roots.iter().filter_map(made_local).for_each(|x| self.raise(x, form));
    }

    /// Returns the form that several roots must share if a local may be any of them.
    fn joined_form(&self, roots: &Roots) -> AllocForm {
        roots.iter().map(|root| self.form_of(&root).unwrap_or(AllocForm::Rows)).max().unwrap_or(AllocForm::Rows)
    }

    /// Gives all roots that one local may be the same form. A `shared` root counts as `rows`.
    fn raise_mixed(&mut self) {
        for x in self.buffers.clone() {
            let roots = self.aliases.roots_of(x);
            let form = self.joined_form(&roots);
            let is_mixed = roots.iter().any(|root| self.form_of(&root) == Some(AllocForm::Each));
            if is_mixed {
                self.raise_all(&roots, form);
            }
        }
    }

    fn layout(&self, x: Local) -> Layout {
        let roots = self.aliases.roots_of(x);
        let has = |form| roots.iter().any(|root| self.form_of(&root) == Some(form));
        match self.joined_form(&roots) {
            _ if has(AllocForm::Each) => Layout::Each,
            AllocForm::Shared => Layout::Shared,
            AllocForm::Each | AllocForm::Rows => Layout::Plain,
        }
    }

    fn varies(&self, a: &Operand) -> bool {
        a.local().is_some_and(|x| self.varying.contains(&x))
    }

    fn vary(&mut self, x: Local, varies: bool) -> Result<(), WhySerial> {
        if varies && self.varying.insert(x) {
            self.changed = true;
            if self.function.locals[x.0 as usize].ty == Scalar::Text.ty() {
                return Err(WhySerial::Text(x));
            }
        }
        Ok(())
    }

    fn visit_block(&mut self, block: &Block) -> Result<(), WhySerial> {
        block.stmts.iter().try_for_each(|stmt| self.visit_stmt(stmt))
    }

    /// A block of a construct, where lanes may part.
    fn visit_inner_block(&mut self, id: usize, parts: bool, block: &Block) -> Result<(), WhySerial> {
        self.outer.push((id, parts));
        self.visit_block(block)?;
        self.outer.pop();
        Ok(())
    }

    fn visit_stmt(&mut self, stmt: &Stmt) -> Result<(), WhySerial> {
        WhySerial::of(stmt).map_or(Ok(()), Err)?;
        self.next += 1;
        let id = self.next;
        match stmt {
            Stmt::Let(x, _, args) => self.vary(*x, args.iter().any(|a| self.varies(a))),
            Stmt::If(xs, condition, then, other) => {
                let parts = self.varies(condition);
                self.visit_inner_block(id, parts, then)?;
                self.visit_inner_block(id, parts, other)?;
                let results = then.results.iter().zip(&other.results);
                xs.iter().zip(results).try_for_each(|(x, (a, b))| {
                    let varies = parts && !a.same(b) || self.varies(a) || self.varies(b);
                    self.vary(*x, varies)
                })
            }
            Stmt::For(looped) => self.visit_loop(id, looped),
            Stmt::Memory(memory) => self.visit_memory(memory),
            Stmt::Check { .. } | Stmt::Call(..) | Stmt::Bench { .. } | Stmt::External { .. } | Stmt::Write(_) => Ok(()),
        }
    }

    fn visit_loop(&mut self, id: usize, looped: &For) -> Result<(), WhySerial> {
        let For { results, index, from, to, carried, body, lanes: _, jam: _, on_threads: _ } = looped;
        let parts = self.varies(from) || self.varies(to);
        self.vary(*index, self.varies(from))?;
        for (i, (y, init)) in carried.iter().enumerate() {
            self.vary(*y, parts || self.varies(init) || self.varies(&body.results[i]))?;
            self.vary(results[i], self.varies(&Operand::Local(*y)))?;
        }
        self.visit_inner_block(id, parts, body)
    }

    fn visit_memory(&mut self, memory: &Memory) -> Result<(), WhySerial> {
        match memory {
            Memory::Alloc { buffer, count, .. } | Memory::Stack(buffer, count) => {
                self.around.insert(*buffer, self.outer.clone());
                if self.varies(count) {
                    self.raise(*buffer, AllocForm::Each);
                }
                self.vary(*buffer, self.forms[buffer] == AllocForm::Rows)
            }
            Memory::Load(x, b, i) => {
                let is_each = b.local().is_some_and(|b| self.layout(b) == Layout::Each);
                self.vary(*x, is_each || self.varies(b) || self.varies(i))
            }
            Memory::View(x, b, i) => self.vary(*x, self.varies(b) || self.varies(i)),
            Memory::Cast(x, b) => self.vary(*x, self.varies(b)),
            Memory::Zero(b, n) => {
                self.visit_write(b, self.varies(n));
                Ok(())
            }
            Memory::Store(b, i, a) | Memory::Add(b, i, a) => {
                self.visit_write(b, self.varies(i) || self.varies(a));
                Ok(())
            }
            Memory::Move { to, from, count } => {
                let is_each = from.local().is_some_and(|b| self.layout(b) == Layout::Each);
                self.visit_write(to, is_each || self.varies(from) || self.varies(count));
                self.visit_move(to, from);
                Ok(())
            }
            Memory::Mark(m) => {
                self.around.insert(*m, self.outer.clone());
                Ok(())
            }
            Memory::Release(m) => match m.local() {
                Some(m) if self.some_lanes(m) => Err(WhySerial::Release(m)),
                _ => Ok(()),
            },
            Memory::Above(_, b, _) => match b.local() {
                Some(b) if self.varying.contains(&b) => Err(WhySerial::Address(b)),
                _ => Ok(()),
            },
            Memory::Before(..) | Memory::Slide(..) | Memory::Slid { .. } => Ok(()),
        }
    }

    /// Records a write to a buffer. `differs`: lanes may write different values, or at different places.
    fn visit_write(&mut self, b: &Operand, differs: bool) {
        let roots = b.local().map(|b| self.aliases.roots_of(b)).unwrap_or_default();
        if self.joined_form(&roots) == AllocForm::Rows {
            self.raise_all(&roots, AllocForm::Rows);
        }
        let differs = differs || self.varies(b);
        for x in roots.iter().filter_map(made_local) {
            if differs || self.some_lanes(x) {
                self.raise(x, AllocForm::Each);
            }
        }
    }

    /// Records a copy. Source and target may overlap if both lie in the arena, so they must have one form.
    fn visit_move(&mut self, to: &Operand, from: &Operand) {
        let own = |a: &Operand| a.local().map(|b| self.aliases.roots_of(b)).unwrap_or_default();
        let mut roots = own(to);
        roots.add(&own(from));
        let roots = roots.filtered(|root| self.form_of(root).is_some());
        let form = self.joined_form(&roots);
        self.raise_all(&roots, form);
    }

    /// Returns whether lanes parted between where something was made and here.
    fn some_lanes(&self, made: Local) -> bool {
        let Some(around) = self.around.get(&made) else { return !self.outer.is_empty() && self.parted(0) };
        let common = around.iter().zip(&self.outer).take_while(|((a, _), (b, _))| a == b).count();
        self.parted(common)
    }

    fn parted(&self, since: usize) -> bool {
        self.outer[since..].iter().any(|(_, parts)| *parts)
    }
}

fn made_local(root: Root) -> Option<Local> {
    match root {
        Root::Made(x) => Some(x),
        Root::Inside(_) => None,
    }
}
