//! Makes one nest of the arms of a conditional that makes the new state, or gives the old one.
//!
//! ```text
//! N = if c { a; M = alloc n; for x { store M[x] = e }; z; yield M } else { yield s }
//!   =  w = if c { a; yield v } else { yield 0 }
//!      N = alloc n; for x { store N[x] = if c { e } else { load s[x] } }; if c { z }             w in place of v in e and z
//!
//! N = if c { a; M = alloc n; zero M; for x { v = load s[x]; b }; z; yield M } else { yield s }
//!   =  w = ..; N = alloc n; zero N; for x { v = load s[x]; if c { b } else { add N[x] += v } }; if c { z }
//! ```
//!
//! Both arms may make new states, by nests of the same sizes; and arms may be such conditionals themselves. An arm that
//! gives the old state would copy it, so this is of use only where the state is then updated in place.

use super::delay::{filled_later, may_stop};
use crate::analyses::nests::Nest;
use crate::ir::{Block, Builder, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use lm::term::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns a block that makes a state, of the old one, by one nest; none if no conditional of it makes it, or it cannot be
/// brought to this form.
pub(super) fn in_one_nest(block: &Block, state: Local, old: Local, locals: &mut Vec<LocalInfo>) -> Option<Block> {
    let at = block.stmts.iter().position(|stmt| stmt.targets().contains(&state))?;
    let Stmt::If(xs, condition, then, other) = &block.stmts[at] else { return None };
    let given = xs.iter().position(|x| *x == state)?;
    let mut arms = [Arm::of(then, given, old, locals)?, Arm::of(other, given, old, locals)?];
    let made = arms.iter().find_map(|arm| arm.made.clone())?;
    let is_alike = |arm: &Arm| {
        arm.made.as_ref().is_none_or(|other| {
            other.count.same(&made.count) && other.is_zeroed == made.is_zeroed && !arm.sets(&other.count)
        })
    };
    if !arms.iter().all(is_alike) {
        return None;
    }
    let mut stmts = block.stmts[..at].to_vec();
    let mut choice = Choice { condition, old, made: &made, locals };
    choice.write_before(&mut arms, &mut stmts)?;
    let nest = choice.nest(&arms)?;
    for arm in &mut arms {
        let own = arm.made.as_ref().map(|other| (other.buffer, made.buffer));
        arm.after.rename(&own.into_iter().collect());
    }
    stmts.push(Stmt::Memory(Memory::Alloc { buffer: made.buffer, count: made.count.clone(), span: made.span }));
    if made.is_zeroed {
        stmts.push(Stmt::Memory(Memory::Zero(made.buffer.into(), made.count.clone())));
    }
    stmts.push(Stmt::For(Box::new(nest)));
    let xs: Vec<Local> = xs.iter().filter(|x| **x != state).copied().collect();
    let [then, other] = arms.map(|arm| arm.after);
    if !xs.is_empty() || [&then, &other].into_iter().any(|block| !block.stmts.is_empty()) {
        stmts.push(Stmt::If(xs, condition.clone(), then, other));
    }
    stmts.extend(block.stmts[at + 1..].iter().cloned());
    let mut joined = Block { stmts, results: block.results.clone() };
    joined.rename(&FxHashMap::from_iter([(state, made.buffer)]));
    Some(joined)
}

/// An arm of the conditional.
struct Arm {
    before: Vec<Stmt>,
    /// The new state; none if the arm gives the old one.
    made: Option<Made>,
    /// What follows, and the other results.
    after: Block,
}

/// A new state.
#[derive(Clone)]
struct Made {
    buffer: Local,
    count: Operand,
    span: Span,
    /// Whether it is zero first.
    is_zeroed: bool,
    nest: For,
}

impl Arm {
    fn of(block: &Block, given: usize, old: Local, locals: &mut Vec<LocalInfo>) -> Option<Arm> {
        let mut after = block.clone();
        let buffer = after.results.remove(given).local()?;
        if buffer == old {
            let mut arm = Arm { before: vec![], made: None, after };
            // What reads the old state comes before it changes, if it gives numbers.
            let mut given = arm.after.results.iter().filter(|a| sets(&block.stmts, a)).filter_map(Operand::local);
            if given.all(|x| zero_of(&locals[x.0 as usize]).is_some()) {
                arm.before = std::mem::take(&mut arm.after.stmts);
            }
            return Some(arm);
        }
        let is_alloc = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer: b, .. }) if *b == buffer);
        let Some(alloc) = block.stmts.iter().position(is_alloc) else {
            return Arm::of(&in_one_nest(block, buffer, old, locals)?, given, old, locals);
        };
        let Stmt::Memory(Memory::Alloc { count, span, .. }) = &block.stmts[alloc] else { return None };
        if let Some(later) = filled_later(block, [old, buffer], &[]) {
            return Arm::of(&later, given, old, locals);
        }
        let is_zero = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Zero(_, n)) if n.same(count));
        let uses: Vec<usize> = (alloc + 1..block.stmts.len()).filter(|at| block.stmts[*at].mentions(buffer)).collect();
        let is_zeroed = is_zero(&block.stmts[*uses.first()?]);
        let at = *uses.get(usize::from(is_zeroed))?;
        let Stmt::For(nest) = &block.stmts[at] else { return None };
        let is_of_before = |i: &usize| *i != alloc && !(is_zeroed && *i == uses[0]);
        let before = (0..at).filter(is_of_before).map(|i| block.stmts[i].clone()).collect();
        let made = Made { buffer, count: count.clone(), span: *span, is_zeroed, nest: (**nest).clone() };
        after.stmts.drain(..=at);
        let mut arm = Arm { before, made: Some(made), after };
        arm.fill_others_later(old);
        Some(arm)
    }

    /// Fills other new states behind the nest, so that they are made by the arm, each by a nest of its own.
    fn fill_others_later(&mut self, old: Local) {
        let others: Vec<Local> = self.after.results.iter().filter_map(Operand::local).collect();
        for other in others {
            let is_alloc = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer, .. }) if *buffer == other);
            if !self.before.iter().any(is_alloc) {
                continue;
            }
            let fills = |stmt: &Stmt| is_alloc(stmt) || stmt.mentions(other);
            let (mut moved, stays): (Vec<Stmt>, Vec<Stmt>) = self.before.iter().cloned().partition(fills);
            let nest = self.made.iter().map(|made| Stmt::For(Box::new(made.nest.clone())));
            let needed: FxHashSet<Local> = stays.iter().cloned().chain(nest).flat_map(|stmt| uses(&stmt)).collect();
            let is_fill = |stmt: &Stmt| {
                let fills = matches!(stmt, Stmt::For(_) | Stmt::Memory(Memory::Alloc { .. } | Memory::Zero(..)));
                fills && !may_stop(stmt) && !stmt.mentions(old) && !stmt.targets().iter().any(|x| needed.contains(x))
            };
            if moved.iter().all(is_fill) {
                self.before = stays;
                moved.append(&mut self.after.stmts);
                self.after.stmts = moved;
            }
        }
    }

    fn sets(&self, a: &Operand) -> bool {
        sets(&self.before, a)
    }

    /// What is set before the nest, and used in it or behind it.
    fn passed_on(&self) -> Vec<Local> {
        let mut used = self.after.uses();
        used.extend(self.made.iter().flat_map(|made| uses(&Stmt::For(Box::new(made.nest.clone())))));
        used.sort();
        used.dedup();
        used.retain(|x| self.sets(&(*x).into()));
        used
    }

    /// Takes memory before the conditional that is used later. Its size is one that needs no check.
    fn take_out_memory(&mut self, locals: &[LocalInfo], out: &mut Vec<Stmt>) {
        let passed = self.passed_on();
        let is_size = |n: &Operand| match n {
            Operand::Integer(n) => *n >= 0,
            n => n.local().is_some_and(|x| locals[x.0 as usize].is_size) && !self.sets(n),
        };
        let is_taken = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer, count, .. }) if passed.contains(buffer) && is_size(count));
        let (taken, stays): (Vec<Stmt>, Vec<Stmt>) = self.before.iter().cloned().partition(is_taken);
        out.extend(taken);
        self.before = stays;
    }

    fn rename(&mut self, names: &FxHashMap<Local, Local>) {
        self.after.rename(names);
        if let Some(made) = &mut self.made {
            let mut nest = Block { stmts: vec![Stmt::For(Box::new(made.nest.clone()))], results: vec![] };
            nest.rename(names);
            if let Some(Stmt::For(nest)) = nest.stmts.pop() {
                made.nest = *nest;
            }
        }
    }
}

struct Choice<'a> {
    condition: &'a Operand,
    old: Local,
    /// The new state: that of both arms.
    made: &'a Made,
    locals: &'a mut Vec<LocalInfo>,
}

impl Choice<'_> {
    /// Writes what arms do before their nests, and renames what is used later. An arm gives zeros for what the other one
    /// passes on.
    fn write_before(&mut self, arms: &mut [Arm; 2], out: &mut Vec<Stmt>) -> Option<()> {
        let mut xs = vec![];
        let mut results = [vec![], vec![]];
        for (i, arm) in arms.iter_mut().enumerate() {
            arm.take_out_memory(self.locals, out);
            let mut names = FxHashMap::default();
            for x in arm.passed_on() {
                let info = self.locals[x.0 as usize].clone();
                let zero = zero_of(&info)?;
                let passed = Builder { locals: self.locals }.with(info);
                names.insert(x, passed);
                xs.push(passed);
                results[i].push(Operand::Local(x));
                results[1 - i].push(zero);
            }
            arm.rename(&names);
        }
        if arms.iter().any(|arm| !arm.before.is_empty()) {
            let [one, two] = results;
            let blocks =
                [(0, one), (1, two)].map(|(i, results)| Block { stmts: std::mem::take(&mut arms[i].before), results });
            let [then, other] = blocks;
            out.push(Stmt::If(xs, self.condition.clone(), then, other));
        }
        Some(())
    }

    /// The nest that chooses between those of the arms, element by element.
    fn nest(&mut self, arms: &[Arm; 2]) -> Option<For> {
        let nests = arms.each_ref().map(|arm| self.nest_of(arm));
        let [then, other] = nests;
        let (then, other) = (then?, other?);
        let shapes = [&then, &other].map(|nest| self.shape(&Stmt::For(Box::new(nest.clone()))));
        let [first, second] = shapes;
        let (first, second) = (first?, second?);
        let is_alike = first.len() == second.len() && first.iter().zip(&second).all(|((_, n), (_, m))| n.same(m));
        if !is_alike {
            return None;
        }
        let names = second.iter().zip(&first).map(|((i, _), (j, _))| (*i, *j)).collect();
        let mut other = Block { stmts: vec![Stmt::For(Box::new(other))], results: vec![] };
        other.rename(&names);
        let Some(Stmt::For(other)) = other.stmts.pop() else { return None };
        self.merge(then, *other, first.len())
    }

    /// The nest of an arm that makes a new state; of one that gives the old one, the nest that copies it.
    fn nest_of(&mut self, arm: &Arm) -> Option<For> {
        let made = arm.made.as_ref().unwrap_or(self.made);
        let mut block = Block { stmts: vec![Stmt::For(Box::new(made.nest.clone()))], results: vec![] };
        block.rename(&FxHashMap::from_iter([(made.buffer, self.made.buffer)]));
        if arm.made.is_none() {
            let shape = self.shape(&block.stmts[0])?;
            self.only_copies(&mut block.stmts[0], shape.len())?;
            block = block.copy(self.locals, FxHashMap::default());
        }
        let Some(Stmt::For(nest)) = block.stmts.pop() else { return None };
        Some(*nest)
    }

    /// Returns the indices and ends of the loops of a nest.
    fn shape(&self, stmt: &Stmt) -> Option<Vec<(Local, Operand)>> {
        let is_leaf = |stmt: &Stmt| self.is_leaf(stmt);
        let nest = Nest::of(stmt, &is_leaf, &|stmt| stmt.mentions(self.made.buffer))?;
        let innermost = nest.innermost(stmt);
        let at = innermost.stmts.iter().position(is_leaf)?;
        let is_own = matches!(&innermost.stmts[at], Stmt::Memory(Memory::Load(_, _, i) | Memory::Store(_, i, _)) if nest.is_place(i));
        // A new state that has nothing of the old one is not made in its place.
        (is_own && stmt.mentions(self.old)).then(|| nest.indices.into_iter().zip(nest.sizes).collect())
    }

    /// The statement of the innermost loop at the iteration's own place: what loads the old element of a sum, and else
    /// what stores the new one.
    fn is_leaf(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Memory(Memory::Load(_, b, _)) => self.made.is_zeroed && b.local() == Some(self.old),
            Stmt::Memory(Memory::Store(b, ..)) => !self.made.is_zeroed && b.local() == Some(self.made.buffer),
            _ => false,
        }
    }

    /// Makes a nest copy each element, and do nothing else.
    fn only_copies(&mut self, stmt: &mut Stmt, depth: usize) -> Option<()> {
        let Stmt::For(looped) = stmt else { return None };
        looped.results.clear();
        looped.carried.clear();
        looped.body.results.clear();
        if depth > 1 {
            let at = looped.body.stmts.iter().position(|stmt| stmt.mentions(self.made.buffer))?;
            return self.only_copies(&mut looped.body.stmts[at], depth - 1);
        }
        let (mut stmts, own) = self.split(&looped.body)?;
        let ty = self.locals[self.old.0 as usize].ty.element()?;
        let x = Builder { locals: self.locals }.local(ty);
        stmts.push(Stmt::Memory(Memory::Load(x, self.old.into(), own.place.clone())));
        let (b, x) = (self.made.buffer.into(), x.into());
        stmts.push(Stmt::Memory(if self.made.is_zeroed {
            Memory::Add(b, own.place, x)
        } else {
            Memory::Store(b, own.place, x)
        }));
        looped.body.stmts = stmts;
        Some(())
    }

    /// One nest of two with the same indices and ends.
    fn merge(&mut self, mut then: For, mut other: For, depth: usize) -> Option<For> {
        let carried = |looped: &For| looped.carried.iter().map(|(x, _)| Operand::Local(*x)).collect::<Vec<_>>();
        let (mut stmts, results);
        if depth == 1 {
            let (first, mut one) = self.split(&then.body)?;
            let (second, mut two) = self.split(&other.body)?;
            stmts = [first, second].concat();
            one.block.results = [then.body.results.clone(), carried(&other)].concat();
            two.block.results = [carried(&then), other.body.results.clone()].concat();
            let types = one.block.results.iter().map(|a| a.ty(self.locals)).collect::<Vec<_>>();
            let mut build = Builder { locals: self.locals };
            let mut xs: Vec<Local> = types.into_iter().map(|ty| build.local(ty)).collect();
            results = xs.iter().map(|x| Operand::Local(*x)).collect();
            let place = one.place.clone();
            let mut store = None;
            if self.made.is_zeroed {
                let loaded = one.value.local()?;
                stmts.push(Stmt::Memory(Memory::Load(loaded, self.old.into(), place)));
                two.block.rename(&FxHashMap::from_iter([(two.value.local()?, loaded)]));
            } else {
                let value = build.local(build.locals[self.old.0 as usize].ty.element()?);
                xs.push(value);
                one.block.results.push(one.value);
                two.block.results.push(two.value);
                store = Some(Stmt::Memory(Memory::Store(self.made.buffer.into(), place, value.into())));
            }
            stmts.push(Stmt::If(xs, self.condition.clone(), one.block, two.block));
            stmts.extend(store);
        } else {
            results = [then.body.results.clone(), other.body.results.clone()].concat();
            let [(before, one), (second, two)] =
                [&mut then, &mut other].map(|nest| Self::inner(nest, self.made.buffer)).map(Option::unwrap_or_default);
            stmts = [before, second].concat();
            let inner = self.merge(*one?, *two?, depth - 1)?;
            stmts.push(Stmt::For(Box::new(inner)));
        }
        then.results.append(&mut other.results);
        then.carried.append(&mut other.carried);
        then.body = Block { stmts, results };
        Some(then)
    }

    /// Takes a loop of a nest apart: what it computes, and the loop inside.
    fn inner(nest: &mut For, buffer: Local) -> Option<(Vec<Stmt>, Option<Box<For>>)> {
        let mut stmts = std::mem::take(&mut nest.body.stmts);
        let last = stmts.pop().filter(|stmt| stmt.mentions(buffer))?;
        let Stmt::For(inner) = last else { return None };
        stmts.iter().all(is_computed).then_some((stmts, Some(inner)))
    }

    /// Takes the body of an innermost loop apart: what it computes of indices, and the rest.
    fn split(&self, body: &Block) -> Option<(Vec<Stmt>, Own)> {
        let mut own = Own { block: Block::default(), place: Operand::Integer(0), value: Operand::Integer(0) };
        let (mut first, mut found, mut set) = (vec![], 0, FxHashSet::default());
        for stmt in &body.stmts {
            match stmt {
                Stmt::Let(_, Op::AddI | Op::MulI, args)
                    if !args.iter().any(|a| a.local().is_some_and(|x| set.contains(&x))) =>
                {
                    first.push(stmt.clone());
                    continue;
                }
                Stmt::Memory(Memory::Load(x, _, place)) if self.is_leaf(stmt) => {
                    (own.place, own.value, found) = (place.clone(), (*x).into(), found + 1);
                }
                Stmt::Memory(Memory::Store(_, place, value)) if self.is_leaf(stmt) => {
                    (own.place, own.value, found) = (place.clone(), value.clone(), found + 1);
                }
                stmt => own.block.stmts.push(stmt.clone()),
            }
            set.extend(stmt.targets());
        }
        let is_known = own.place.local().is_none_or(|x| !set.contains(&x));
        (found == 1 && is_known).then_some((first, own))
    }
}

/// What an iteration does with its own element.
struct Own {
    block: Block,
    place: Operand,
    /// The old element of a sum; else the new one.
    value: Operand,
}

fn sets(stmts: &[Stmt], a: &Operand) -> bool {
    a.local().is_some_and(|x| stmts.iter().any(|stmt| stmt.targets().contains(&x)))
}

fn uses(stmt: &Stmt) -> Vec<Local> {
    Block { stmts: vec![stmt.clone()], results: vec![] }.uses()
}

/// Returns what stands for a number where it is not computed; none for sizes, which analyses rely on.
fn zero_of(info: &LocalInfo) -> Option<Operand> {
    let is_condition = info.ty == Scalar::Bool.ty();
    if is_condition { Some(Operand::Bool(false)) } else { info.ty.zero().filter(|_| !info.is_size) }
}

/// Returns whether a statement can run without being asked for.
fn is_computed(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Let(_, op, _) if *op != Op::DivI)
}
