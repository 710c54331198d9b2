//! Unroll and jam: runs R iterations of a loop side by side, statement by statement.
//!
//! ```text
//! for i in a..b jam R { x = load v[k]; y = load w[i]; for j { s }; t }
//!   =   for c in 0..(b - a) / R { i0 = a + c R; i1 = i0 + 1; ..
//!         x = load v[k]; y0 = load w[i0]; y1 = load w[i1]; ..; for j { s0; s1; .. }; t0; t1; .. }
//!       and the iterations that are left, in halves of R
//! ```
//!
//! Loops of a nest may do so, too: the inner ones are written out first, so R' iterations of one and R of the other are
//! R R' copies.
//!
//! What is the same in all iterations is done once: that is what it is for. A matrix product loads each element of a
//! row once for R rows, and its R sums do not wait for each other. In the IR, the factor is one number. The copies are
//! made just before LLVM gets the code (`expanded`), so passes see one iteration. `Independence` tells whether
//! iterations may run at once, as for lanes.

use crate::analyses::why_serial::WhySerial;
use crate::ir::{Block, Builder, For, Function, Local, LocalInfo, Memory, Op, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// Returns why the iterations of a loop cannot run side by side, even if they are independent.
pub fn refusal(looped: &For) -> Option<WhySerial> {
    if let Some((y, _)) = looped.carried.first() {
        return Some(WhySerial::Carried(*y));
    }
    let own = own(looped);
    let mut found = None;
    looped.body.visit(&mut |stmt| found = found.or_else(|| refused(stmt, &own)));
    found
}

fn refused(stmt: &Stmt, own: &FxHashSet<Local>) -> Option<WhySerial> {
    let name = match stmt {
        Stmt::For(inner) if inner.on_threads => "on threads",
        Stmt::For(inner) if is_own(own, &inner.from) || is_own(own, &inner.to) => "for",
        Stmt::Check { .. } => "check",
        Stmt::Memory(Memory::Alloc { .. }) => "alloc",
        Stmt::Memory(Memory::Stack(..)) => "stack",
        Stmt::Memory(Memory::Zero(..)) => "zero",
        Stmt::Memory(Memory::Move { .. }) => "move",
        Stmt::Memory(Memory::Mark(_) | Memory::Release(_) | Memory::Above(..)) => "mark",
        stmt => return WhySerial::of(stmt),
    };
    Some(WhySerial::Statement(name))
}

/// Returns the locals of a loop's body that may be others in each iteration: they depend on its index.
pub fn own(looped: &For) -> FxHashSet<Local> {
    let mut own = FxHashSet::from_iter([looped.index]);
    let mut before = 0;
    while own.len() > before {
        before = own.len();
        looped.body.visit(&mut |stmt| own_of(stmt, &mut own));
    }
    own
}

fn own_of(stmt: &Stmt, own: &mut FxHashSet<Local>) {
    match stmt {
        Stmt::If(xs, condition, then, other) => {
            let parts = is_own(own, condition);
            for (x, (a, b)) in xs.iter().zip(then.results.iter().zip(&other.results)) {
                if parts || is_own(own, a) || is_own(own, b) {
                    own.insert(*x);
                }
            }
        }
        Stmt::For(inner) => {
            let ends = is_own(own, &inner.from) || is_own(own, &inner.to);
            let each = inner.carried.iter().zip(&inner.body.results).zip(&inner.results);
            for (((y, init), next), x) in each {
                if ends || is_own(own, init) || is_own(own, next) {
                    own.extend([*y, *x]);
                }
            }
            own.extend(ends.then_some(inner.index));
        }
        stmt if stmt.operands().into_iter().any(|a| is_own(own, a)) => own.extend(stmt.targets()),
        _ => {}
    }
}

fn is_own(own: &FxHashSet<Local>, a: &Operand) -> bool {
    a.local().is_some_and(|x| own.contains(&x))
}

/// Returns whether a statement does the same in all iterations, and need be done only once.
pub fn is_common(stmt: &Stmt, own: &FxHashSet<Local>) -> bool {
    let writes = matches!(stmt, Stmt::Memory(Memory::Store(..) | Memory::Add(..)));
    let inside = |block: &Block| {
        block.stmts.iter().all(|stmt| is_common(stmt, own)) && !block.results.iter().any(|a| is_own(own, a))
    };
    !writes && !stmt.operands().into_iter().any(|a| is_own(own, a)) && stmt.blocks().all(inside)
}

/// Returns the function with all loops written out whose iterations run side by side. Inner loops with lanes of several
/// vectors do their remainder by one vector at a time. Under the mask of a wide one it would take as long as the whole.
pub fn expanded(function: &Function, vector: u32) -> Cow<'_, Function> {
    if !has_jam(&function.body) {
        return Cow::Borrowed(function);
    }
    let mut function = function.clone();
    let mut body = std::mem::take(&mut function.body);
    Expander { locals: &mut function.locals, vector }.expand_block(&mut body);
    function.body = body;
    Cow::Owned(function)
}

fn has_jam(block: &Block) -> bool {
    let mut any = false;
    block.visit(&mut |stmt| any |= matches!(stmt, Stmt::For(looped) if looped.jam > 1));
    any
}

/// Maps the locals of the body to their values in one of its copies.
type Names = FxHashMap<Local, Operand>;

struct Expander<'a> {
    locals: &'a mut Vec<LocalInfo>,
    /// How many Floats there are in a vector.
    vector: u32,
}

impl Expander<'_> {
    fn expand_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let Stmt::For(looped) = &mut stmt
                && looped.jam > 1
                && !has_jam(&looped.body)
            {
                self.narrow_rest(&mut looped.body);
            }
            stmt.blocks_mut().for_each(|inner| self.expand_block(inner));
            match stmt {
                Stmt::For(looped) if looped.jam > 1 => self.expand_loop(*looped, &mut block.stmts),
                stmt => block.stmts.push(stmt),
            }
        }
    }

    fn expand_loop(&mut self, mut looped: For, out: &mut Vec<Stmt>) {
        let own = own(&looped);
        let mut side_by_side = std::mem::replace(&mut looped.jam, 1);
        while side_by_side > 1 {
            looped.from = self.emit_groups(&looped, &own, side_by_side, out);
            side_by_side /= 2;
        }
        out.push(Stmt::For(Box::new(looped)));
    }

    /// for j in a..b lanes W { s }   =   m = a + (b - a) / W W; for j in a..m lanes W { s }; for j in m..b lanes V { s }
    fn narrow_rest(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            match stmt {
                Stmt::For(wide) if wide.lanes > self.vector && wide.carried.is_empty() => {
                    let width = Operand::Integer(wide.lanes.into());
                    let out = &mut block.stmts;
                    let count = self.op(Op::SubI, [wide.to.clone(), wide.from.clone()], out);
                    let chunks = self.op(Op::DivI, [count, width.clone()], out);
                    let whole = self.op(Op::MulI, [chunks, width], out);
                    let middle = self.op(Op::AddI, [wide.from.clone(), whole], out);
                    let first = Stmt::For(Box::new(For { to: middle.clone(), ..(*wide).clone() }));
                    let first = self.copy(&first, &Names::default());
                    let rest = For { from: middle, lanes: self.vector, ..*wide };
                    out.extend([first, Stmt::For(Box::new(rest))]);
                }
                _ => {
                    stmt.blocks_mut().for_each(|inner| self.narrow_rest(inner));
                    block.stmts.push(stmt);
                }
            }
        }
    }

    /// As many groups of so many iterations as there are; gives the index after them.
    fn emit_groups(&mut self, looped: &For, own: &FxHashSet<Local>, size: u32, out: &mut Vec<Stmt>) -> Operand {
        let lengths = 1..size;
        let size = Operand::Integer(size.into());
        let count = self.op(Op::SubI, [looped.to.clone(), looped.from.clone()], out);
        let groups = self.op(Op::DivI, [count, size.clone()], out);
        let group = self.like(looped.index);
        let mut body = vec![];
        let start = self.op(Op::MulI, [group.into(), size.clone()], &mut body);
        let mut index = self.op(Op::AddI, [looped.from.clone(), start], &mut body);
        let mut copies = vec![Names::from_iter([(looped.index, index.clone())])];
        for _ in lengths {
            index = self.op(Op::AddI, [index, Operand::Integer(1)], &mut body);
            copies.push(Names::from_iter([(looped.index, index.clone())]));
        }
        body.extend(self.jam_block(&looped.body, own, &mut copies));
        let body = Block { stmts: body, results: vec![] };
        let (from, to) = (Operand::Integer(0), groups.clone());
        out.push(Stmt::For(Box::new(For { index: group, from, to, body, ..looped.clone() })));
        let done = self.op(Op::MulI, [groups, size], out);
        self.op(Op::AddI, [looped.from.clone(), done], out)
    }

    /// The copies of a block's statements, one statement after the other.
    fn jam_block(&mut self, block: &Block, own: &FxHashSet<Local>, copies: &mut [Names]) -> Vec<Stmt> {
        let mut stmts = vec![];
        for stmt in &block.stmts {
            if let Stmt::For(inner) = stmt
                && !is_common(stmt, own)
            {
                let inner = self.jam_inner_loop(inner, own, copies);
                stmts.push(Stmt::For(Box::new(inner)));
                continue;
            }
            let first = self.copy(stmt, &copies[0]);
            copies.iter_mut().for_each(|names| name(names, stmt, &first));
            stmts.push(first);
            if !is_common(stmt, own) {
                let others = own_part(stmt, own);
                for names in &mut copies[1..] {
                    let copy = self.copy(&others, names);
                    name(names, &others, &copy);
                    stmts.push(copy);
                }
            }
        }
        stmts
    }

    /// Makes one loop of the inner loops of all copies. A carried value that is the same in all copies is carried once,
    /// and its next value is that of the first copy.
    fn jam_inner_loop(&mut self, looped: &For, own: &FxHashSet<Local>, copies: &mut [Names]) -> For {
        let index = self.like(looped.index);
        let [from, to] = [&looped.from, &looped.to].map(|a| named(&copies[0], a));
        copies.iter_mut().for_each(|names| _ = names.insert(looped.index, index.into()));
        let mut carried = vec![];
        for (y, init) in &looped.carried {
            let each = self.rename_each(*y, own, copies);
            carried.extend(each.into_iter().zip(copies.iter()).map(|(y, names)| (y, named(names, init))));
        }
        let stmts = self.jam_block(&looped.body, own, copies);
        let next = looped.carried.iter().zip(&looped.body.results).flat_map(|((y, _), next)| {
            let copies = if own.contains(y) { &copies[..] } else { &copies[..1] };
            copies.iter().map(|names| named(names, next))
        });
        let body = Block { stmts, results: next.collect() };
        let results = looped.results.iter().flat_map(|x| self.rename_each(*x, own, copies)).collect();
        For { results, index, from, to, carried, body, ..looped.clone() }
    }

    /// Returns the new locals for a local: one for each copy, or one for all copies if the value is the same in all.
    fn rename_each(&mut self, x: Local, own: &FxHashSet<Local>, copies: &mut [Names]) -> Vec<Local> {
        let count = if own.contains(&x) { copies.len() } else { 1 };
        let new: Vec<Local> = (0..count).map(|_| self.like(x)).collect();
        let chosen = new.iter().chain(std::iter::repeat(&new[0]));
        copies.iter_mut().zip(chosen).for_each(|(names, new)| _ = names.insert(x, (*new).into()));
        new
    }

    fn copy(&mut self, stmt: &Stmt, names: &Names) -> Stmt {
        let block = Block { stmts: vec![stmt.clone()], results: vec![] };
        block.copy(self.locals, names.clone()).stmts.remove(0)
    }

    fn op(&mut self, op: Op, args: [Operand; 2], out: &mut Vec<Stmt>) -> Operand {
        self.builder().op(op, args, out)
    }

    /// A local of the type of another.
    fn like(&mut self, Local(i): Local) -> Local {
        let info = self.locals[i as usize].clone();
        self.builder().with(info)
    }

    fn builder(&mut self) -> Builder<'_> {
        Builder { locals: self.locals }
    }
}

/// Returns what is left of a statement to do in an iteration after the first: a conditional need not give again what is
/// the same.
fn own_part(stmt: &Stmt, own: &FxHashSet<Local>) -> Stmt {
    let Stmt::If(xs, condition, then, other) = stmt else { return stmt.clone() };
    let [then, other] = [then, other].map(|arm| {
        let results = xs.iter().zip(&arm.results).filter(|(x, _)| own.contains(x));
        Block { stmts: arm.stmts.clone(), results: results.map(|(_, a)| a.clone()).collect() }
    });
    Stmt::If(xs.iter().copied().filter(|x| own.contains(x)).collect(), condition.clone(), then, other)
}

fn named(names: &Names, a: &Operand) -> Operand {
    a.local().and_then(|x| names.get(&x)).unwrap_or(a).clone()
}

fn name(names: &mut Names, stmt: &Stmt, copy: &Stmt) {
    names.extend(stmt.targets().into_iter().zip(copy.targets().into_iter().map(Operand::Local)));
}
