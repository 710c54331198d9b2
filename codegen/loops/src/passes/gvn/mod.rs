//! Global value numbering: computes and loads once what is known to be the same.
//!
//! ```text
//! x = op a..; y = op a..              y is x                       operations have no effect
//! x = load b[i]; y = load b[i]        y is x                       unless what b shares is written between the two
//! store b[i] = x; y = load b[i]       y is x                       likewise
//! check c; check c                    once
//! check x == 3; s                     check x == 3; s[x := 3]
//! if true s else t                    s                            and what `fold` knows of operations
//! if c s else t                       if c s[c := true] else t[c := false]
//! if k == i s else t                  if k == i s[k + 1 := i + 1] else t       (`beside`)
//! x = if c a else b; if c s else t    x = if c a else b; if c s[x := a] else t[x := b]
//! b = alloc n; store b[i] = x; ..     every load from b is x       where that is all that is ever stored in b
//! x = for .. carrying (y = a) { .. yield y }      x and y are a
//! x = for i in a..b carrying (y = -0.0) { .. }; if a < b x else 0.0         x, with another start (`starts`)
//! x = for i in a..b carrying (y = false) { .. yield true }         x is a < b
//! ```
//!
//! An expression is known in its block and in the inner blocks, after its statement. What a loop carries may turn out to be
//! unchanging only after its body is numbered: then all is numbered once more, with what equals it now.

mod beside;
mod fold;
mod settled;
mod sides;
mod signs;
mod starts;
mod uniform;

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::times::{Times, WriteTarget};
use crate::ir::{Block, For, Local, Memory, Op, Operand, Stmt};
use beside::{Order, look_beside};
use fold::folded;
use rustc_hash::{FxHashMap, FxHashSet};
use settled::is_settled;
use sides::Sides;
use signs::never_negative_zero;
use starts::Starts;
use uniform::uniform;

pub(super) fn run(cx: &mut FunctionCx) {
    if number(cx, Starts::new) {
        // A start that is chosen late is left to the next run: the passes before it know sums by their start.
        number(cx, |_| Starts::default());
    }
}

/// Numbers a function; returns whether a loop lost something that it carried after its body was numbered.
fn number(cx: &mut FunctionCx, starts: fn(&Block) -> Starts) -> bool {
    let (aliases, summaries) = (cx.aliases(), cx.summaries());
    let uniform = uniform(cx.function, &aliases, summaries);
    cx.rewrite(|body, function| {
        let mut sharer = Sharer::new(&aliases, summaries, uniform, body, starts(body));
        sharer.number_block(body);
        sharer.starts.put(body, &mut function.locals);
        sharer.drops_late
    })
}

/// An operand as a key of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Atom {
    Local(Local),
    Float(u64),
    Integer(i64),
    Bool(bool),
    Text(String),
}

impl Atom {
    fn of(a: &Operand) -> Atom {
        match a {
            Operand::Local(x) => Atom::Local(*x),
            Operand::Float(x) => Atom::Float(x.to_bits()),
            Operand::Integer(i) => Atom::Integer(*i),
            Operand::Bool(b) => Atom::Bool(*b),
            Operand::Text(s) => Atom::Text(s.to_string()),
        }
    }
}

/// A fact: an operation, an element of a buffer at some time, or a passed check.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Fact {
    Op(Op, Vec<Atom>),
    Element { time: usize, buffer: Atom, index: Atom },
    View { buffer: Atom, index: Atom },
    Checked(Atom),
}

struct Sharer<'a> {
    times: Times<'a>,
    /// The buffers that hold one value throughout.
    uniform: FxHashMap<Local, Operand>,
    /// Maps dropped locals to equal operands.
    replaced: FxHashMap<Local, Operand>,
    /// The locals known from checks, in this block and those around it.
    assumed: Vec<Local>,
    /// How operands were computed that are sums, say, of others; for `fold`.
    made: FxHashMap<Local, (Op, Vec<Operand>)>,
    order: Order,
    /// The facts known where a condition holds, and where it does not.
    sides: Sides,
    starts: Starts,
    never_negative_zero: FxHashSet<Local>,
    known: FxHashMap<Fact, Operand>,
    /// The facts that were added, in order, each with the one that it hides.
    learnt: Vec<(Fact, Option<Operand>)>,
    /// Whether a loop lost something that it carried after its body was numbered.
    drops_late: bool,
}

impl<'a> Sharer<'a> {
    fn new(
        aliases: &'a Aliases,
        summaries: &'a [Summary],
        uniform: FxHashMap<Local, Operand>,
        body: &Block,
        starts: Starts,
    ) -> Sharer<'a> {
        Sharer {
            order: Order::of(body),
            times: Times::new(aliases, summaries),
            uniform,
            replaced: FxHashMap::default(),
            assumed: vec![],
            made: FxHashMap::default(),
            sides: Sides::default(),
            starts,
            never_negative_zero: never_negative_zero(body),
            known: FxHashMap::default(),
            learnt: vec![],
            drops_late: false,
        }
    }

    fn number_block(&mut self, block: &mut Block) {
        let (start, assumed) = (self.learnt.len(), self.assumed.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.operands_mut().into_iter().for_each(|a| self.replace(a));
            self.number_stmt(stmt, &mut block.stmts);
        }
        block.results.iter_mut().for_each(|a| self.replace(a));
        for x in self.assumed.drain(assumed..) {
            self.replaced.remove(&x);
        }
        for (known, hidden) in self.learnt.drain(start..).rev() {
            match hidden {
                Some(hidden) => self.known.insert(known, hidden),
                None => self.known.remove(&known),
            };
        }
    }

    fn replace(&self, a: &mut Operand) {
        while let Some(other) = a.local().and_then(|x| self.replaced.get(&x)) {
            *a = other.clone();
        }
    }

    fn number_stmt(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) {
        match stmt {
            Stmt::Let(x, op, args) => self.number_operation(x, op, args, out),
            Stmt::Memory(Memory::Load(x, b, i)) => self.number_load(x, b, i, out),
            Stmt::Memory(Memory::View(x, b, i)) => {
                let known = Fact::View { buffer: Atom::of(&b), index: Atom::of(&i) };
                self.push_unless_known(x, known, Stmt::Memory(Memory::View(x, b, i)), out);
            }
            Stmt::If(xs, condition, then, other) => self.number_conditional(xs, condition, then, other, out),
            Stmt::For(looped) => self.number_loop(*looped, out),
            Stmt::Bench { .. } => self.number_bench(stmt, out),
            Stmt::Check { ref condition, .. } => {
                let known = Fact::Checked(Atom::of(condition));
                if !matches!(condition, Operand::Bool(true)) && !self.known.contains_key(&known) {
                    self.learn(known, Operand::Bool(true));
                    self.learn_condition(condition);
                    out.push(stmt);
                }
            }
            stmt => {
                self.times.pass_stmt(&stmt);
                if let Stmt::Memory(Memory::Store(b, i, a)) = &stmt {
                    let known = self.element_fact(b, i);
                    self.learn(known, a.clone());
                }
                out.push(stmt);
            }
        }
    }

    /// Records that a checked condition holds in the rest of this block. A local compared with a number becomes the
    /// number.
    fn learn_condition(&mut self, condition: &Operand) {
        let made = condition.local().and_then(|x| self.made.get(&x));
        if let Some((Op::EqI, args)) = made
            && let [Operand::Local(x), Operand::Integer(n)] | [Operand::Integer(n), Operand::Local(x)] = args[..]
        {
            self.replaced.insert(x, Operand::Integer(n));
            self.assumed.push(x);
        }
    }

    /// Numbers a measured block anew, since its work must be done in full.
    fn number_bench(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        let known = std::mem::take(&mut self.known);
        stmt.blocks_mut().for_each(|block| self.number_block(block));
        self.known = known;
        self.times.pass_stmt(&stmt);
        out.push(stmt);
    }

    fn number_operation(&mut self, x: Local, op: Op, args: Vec<Operand>, out: &mut Vec<Stmt>) {
        if let Some(a) = folded(op, &args, &|x| self.made.get(&x), &|x| self.never_negative_zero.contains(&x)) {
            self.replaced.insert(x, a);
            return;
        }
        let mut atoms: Vec<Atom> = args.iter().map(Atom::of).collect();
        if op.commutes() {
            atoms.sort();
        }
        self.made.insert(x, (op, args.clone()));
        self.push_unless_known(x, Fact::Op(op, atoms), Stmt::Let(x, op, args), out);
    }

    fn number_load(&mut self, x: Local, b: Operand, i: Operand, out: &mut Vec<Stmt>) {
        match b.local().and_then(|b| self.uniform.get(&b)).cloned() {
            Some(mut a) => {
                self.replace(&mut a);
                self.replaced.insert(x, a);
            }
            None => {
                let known = self.element_fact(&b, &i);
                self.push_unless_known(x, known, Stmt::Memory(Memory::Load(x, b, i)), out);
            }
        }
    }

    fn push_unless_known(&mut self, x: Local, known: Fact, stmt: Stmt, out: &mut Vec<Stmt>) {
        match self.known.get(&known) {
            Some(a) => {
                self.replaced.insert(x, a.clone());
            }
            None => {
                self.learn(known, Operand::Local(x));
                out.push(stmt);
            }
        }
    }

    fn learn(&mut self, known: Fact, a: Operand) {
        let hidden = self.known.insert(known.clone(), a);
        self.learnt.push((known, hidden));
    }

    fn element_fact(&mut self, b: &Operand, i: &Operand) -> Fact {
        let time = b.local().map_or(0, |b| self.times.last_change(b, WriteTarget::is_seen_by));
        Fact::Element { time, buffer: Atom::of(b), index: Atom::of(i) }
    }

    fn number_conditional(
        &mut self,
        xs: Vec<Local>,
        condition: Operand,
        then: Block,
        other: Block,
        out: &mut Vec<Stmt>,
    ) {
        if let Operand::Bool(known) = condition {
            let taken = if known { then } else { other };
            for mut stmt in taken.stmts {
                stmt.operands_mut().into_iter().for_each(|a| self.replace(a));
                self.number_stmt(stmt, out);
            }
            self.replaced.extend(xs.into_iter().zip(taken.results));
            return;
        }
        let same = self.given_by_both(&then, &other);
        let mut stmt = Stmt::If(xs, condition.clone(), then, other);
        for (holds, block) in [true, false].into_iter().zip(stmt.blocks_mut()) {
            let told = self.sides.tell(&condition, holds, &mut self.replaced);
            let known = condition.local().and_then(|x| self.made.get(&x));
            if let Some((Op::EqI, args)) = known
                && holds
                && let Some((index, place)) = self.order.index_among(args)
            {
                look_beside(block, index, &place);
            }
            self.number_block(block);
            told.into_iter().for_each(|x| drop(self.replaced.remove(&x)));
        }
        self.times.pass_stmt(&stmt);
        let Stmt::If(xs, condition, mut then, mut other) = stmt else { unreachable!("it was just made") };
        let asked = condition.local().and_then(|c| self.made.get(&c));
        let mut kept = Vec::new();
        let mut results = [Vec::new(), Vec::new()];
        for (((x, same), a), b) in xs.into_iter().zip(same).zip(then.results).zip(other.results) {
            let (a, b) = same.map_or((a, b), |same| (same.clone(), same));
            match (&a, &b) {
                (a, b) if a.same(b) => drop(self.replaced.insert(x, a.clone())),
                // A sum that is made in the arm is not known behind the conditional.
                (Operand::Local(sum), zero)
                    if zero.same(&Operand::Float(0.0))
                        && !sets(&then.stmts, *sum)
                        && self.starts.choose(*sum, asked) =>
                {
                    drop(self.replaced.insert(x, a.clone()));
                }
                (Operand::Bool(true), Operand::Bool(false)) => drop(self.replaced.insert(x, condition.clone())),
                _ => {
                    kept.push(x);
                    results[0].push(a);
                    results[1].push(b);
                }
            }
        }
        [then.results, other.results] = results;
        self.sides.learn(&condition, &kept, [&then, &other]);
        if kept.is_empty() && then.stmts.is_empty() && other.stmts.is_empty() {
            return;
        }
        out.push(Stmt::If(kept, condition, then, other));
    }

    /// Returns what two arms give that give the same: it has other names in them where they know which side of a
    /// condition they are.
    fn given_by_both(&self, then: &Block, other: &Block) -> Vec<Option<Operand>> {
        let results = |arm: &Block| {
            let mut results = arm.results.clone();
            results.iter_mut().for_each(|a| self.replace(a));
            results
        };
        results(then).into_iter().zip(results(other)).map(|(a, b)| a.same(&b).then_some(a)).collect()
    }

    fn number_loop(&mut self, mut looped: For, out: &mut Vec<Stmt>) {
        self.drop_unchanging(&mut looped, out);
        let stmt = Stmt::For(Box::new(looped));
        // An iteration sees what those before it wrote.
        self.times.pass_stmt(&stmt);
        let Stmt::For(mut looped) = stmt else { unreachable!("it was just made") };
        self.number_block(&mut looped.body);
        let carried = looped.carried.len();
        self.drop_unchanging(&mut looped, out);
        self.drops_late |= carried > looped.carried.len();
        looped.body.change_operands(&mut |a| self.replace(a));
        while carried > looped.carried.len() && self.drop_unchanging_inside(&mut looped.body) {
            looped.body.change_operands(&mut |a| self.replace(a));
        }
        for ((_, init), result) in looped.carried.iter().zip(&looped.results) {
            self.starts.learn_sum(*result, init, [&looped.from, &looped.to]);
        }
        let stmt = Stmt::For(looped);
        self.times.pass_stmt(&stmt);
        out.push(stmt);
    }

    /// Drops what loops in a block carry but do not change, now that more is known of it. Returns whether there is any.
    fn drop_unchanging_inside(&mut self, block: &mut Block) -> bool {
        let mut drops = false;
        for inner in block.stmts.iter_mut() {
            if let Stmt::For(looped) = inner {
                let carried = looped.carried.len();
                // A flag is left to the next run: it would be set by a statement behind the loop.
                let is_flag = looped.carried.iter().any(|(_, init)| matches!(init, Operand::Bool(_)));
                if !is_flag {
                    self.drop_unchanging(looped, &mut vec![]);
                }
                drops |= looped.carried.len() < carried;
            }
            inner.blocks_mut().for_each(|block| drops |= self.drop_unchanging_inside(block));
        }
        drops
    }

    /// Drops what is carried but does not change, or only to true.
    fn drop_unchanging(&mut self, looped: &mut For, out: &mut Vec<Stmt>) {
        for i in (0..looped.carried.len()).rev() {
            let (y, init) = looped.carried[i].clone();
            let next = &looped.body.results[i];
            let same = next.same(&init) || next.local() == Some(y) || is_settled(looped, i, &self.replaced);
            let set = matches!((&init, next), (Operand::Bool(false), Operand::Bool(true)));
            let result = looped.results[i];
            match (same, set) {
                (true, _) => {
                    self.replaced.insert(y, init.clone());
                    self.replaced.insert(result, init);
                }
                (false, true) if !uses(&looped.body, y) => {
                    out.push(Stmt::Let(result, Op::LtI, vec![looped.from.clone(), looped.to.clone()]));
                }
                _ => continue,
            }
            looped.carried.remove(i);
            looped.results.remove(i);
            looped.body.results.remove(i);
        }
    }
}

/// Returns whether one of the statements sets a local.
fn sets(stmts: &[Stmt], x: Local) -> bool {
    stmts.iter().any(|stmt| stmt.targets().contains(&x))
}

fn uses(block: &Block, x: Local) -> bool {
    let mut found = false;
    block.visit_operands(&mut |a| found |= a.local() == Some(x));
    found
}
