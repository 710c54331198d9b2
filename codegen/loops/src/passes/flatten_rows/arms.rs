//! Makes one loop over a row of the loops in the arms of a conditional.
//!
//! ```text
//! if c { for e in 0..m { s; store t[p + e] = a } } else { for e in 0..m { s'; store t[p + e] = b } }
//!   =  for e in 0..m { x = if c { s; yield a } else { s'; yield b }; store t[p + e] = x }
//! ```
//!
//! So a nest goes through all elements of a matrix, as a step does that is written for a matrix.

use crate::ir::{Block, Builder, For, Local, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the loop, after what is computed before it; None where the arms are others.
pub(super) fn in_one_loop(stmt: &Stmt, builder: &mut Builder) -> Option<Vec<Stmt>> {
    let Stmt::If(xs, condition, then, other) = stmt else { return None };
    let [then_arm, other_arm] = [Arm::of(then)?, Arm::of(other)?];
    if !then_arm.looped.from.same(&other_arm.looped.from) || !then_arm.looped.to.same(&other_arm.looped.to) {
        return None;
    }
    let mut out = vec![];
    let mut common = Common::default();
    let [after_then, after_other] = [then_arm.after.to_vec(), other_arm.after.to_vec()];
    let mut inside = [then_arm, other_arm].map(|arm| {
        common.hoist(&arm.lets, &mut out);
        let mut body = Block { stmts: arm.loads, results: vec![] };
        body.stmts.extend(arm.looped.body.stmts.iter().cloned());
        (arm.looped, body)
    });
    let index = inside[0].0.index;
    common.names.insert(inside[1].0.index, index);
    let mut stmts = vec![];
    for (_, body) in &mut inside {
        common.hoist_indices(body, &mut stmts);
    }
    let [(first, mut then_body), (second, mut other_body)] = inside;
    // What one arm carries, the other one passes on.
    let mut chosen = vec![];
    let mut carried = vec![];
    for (looped, takes_then) in [(first, true), (second, false)] {
        for (i, (x, init)) in looped.carried.iter().enumerate() {
            let info = builder.locals[x.0 as usize].clone();
            chosen.push(builder.with(info));
            carried.push((*x, common.renamed(std::slice::from_ref(init)).remove(0)));
            let [next, stays] = [looped.body.results[i].clone(), (*x).into()];
            then_body.results.push(if takes_then { next.clone() } else { stays.clone() });
            other_body.results.push(if takes_then { stays } else { next });
        }
    }
    [&mut then_body, &mut other_body].into_iter().for_each(|body| body.rename(&common.names));
    let nexts: Vec<Operand> = chosen.iter().map(|x| (*x).into()).collect();
    let same_store = match (then_body.stmts.last(), other_body.stmts.last()) {
        (Some(Stmt::Memory(Memory::Store(b, i, x))), Some(Stmt::Memory(Memory::Store(c, j, y)))) => {
            (b.same(c) && i.same(j)).then(|| (b.clone(), i.clone(), [x.clone(), y.clone()]))
        }
        _ => None,
    };
    let store = same_store.map(|(b, i, [x, y])| {
        let ty = b.ty(builder.locals).element().expect("it stores in a buffer");
        chosen.push(builder.local(ty));
        for (body, value) in [(&mut then_body, x), (&mut other_body, y)] {
            body.stmts.pop();
            body.results.push(value);
        }
        Stmt::Memory(Memory::Store(b, i, chosen[chosen.len() - 1].into()))
    });
    stmts.push(Stmt::If(chosen, condition.clone(), then_body, other_body));
    stmts.extend(store);
    let results = first.results.iter().chain(&second.results).copied().collect();
    let body = Block { stmts, results: nexts };
    let looped = For { results, index, carried, body, ..first.clone() };
    out.push(Stmt::For(Box::new(looped)));
    let after = [(then, after_then), (other, after_other)].map(|(arm, stmts)| {
        let mut after = Block { stmts, results: arm.results.clone() };
        after.rename(&common.names);
        after
    });
    if !xs.is_empty() || after.iter().any(|block| !block.stmts.is_empty()) {
        let [then, other] = after;
        out.push(Stmt::If(xs.clone(), condition.clone(), then, other));
    }
    Some(out)
}

/// An arm with a loop.
struct Arm<'a> {
    lets: Vec<Stmt>,
    /// The rows that are loaded.
    loads: Vec<Stmt>,
    looped: &'a For,
    after: &'a [Stmt],
}

impl Arm<'_> {
    fn of(block: &Block) -> Option<Arm<'_>> {
        let at = block.stmts.iter().position(|stmt| matches!(stmt, Stmt::For(_)))?;
        let (before, [Stmt::For(looped), after @ ..]) = block.stmts.split_at(at) else { return None };
        if looped.lanes != 1 || looped.jam != 1 || looped.on_threads {
            return None;
        }
        let (mut lets, mut loads) = (vec![], vec![]);
        for stmt in before {
            match stmt {
                Stmt::Let(..) => lets.push(stmt.clone()),
                Stmt::Memory(Memory::Load(..) | Memory::View(..)) => loads.push(stmt.clone()),
                _ => return None,
            }
        }
        let loaded: FxHashSet<Local> = loads.iter().flat_map(Stmt::targets).collect();
        let is_loaded = |a: &Operand| a.local().is_some_and(|x| loaded.contains(&x));
        let mut uses = lets.iter().flat_map(Stmt::operands).any(is_loaded)
            || block.results.iter().any(is_loaded)
            || looped.carried.iter().any(|(_, init)| is_loaded(init))
            || after.iter().any(|stmt| loaded.iter().any(|x| stmt.mentions(*x)));
        // Others do not know what it carries.
        uses |= after.iter().any(|stmt| matches!(stmt, Stmt::For(_)) || stmt.uses_arena());
        (!uses).then_some(Arm { lets, loads, looped, after })
    }
}

/// What both arms compute, once.
#[derive(Default)]
struct Common {
    done: Vec<(Op, Vec<Operand>, Local)>,
    /// The names of what is computed already.
    names: FxHashMap<Local, Local>,
}

impl Common {
    fn renamed(&self, args: &[Operand]) -> Vec<Operand> {
        let name = |a: &Operand| a.local().and_then(|x| self.names.get(&x)).map_or_else(|| a.clone(), |y| (*y).into());
        args.iter().map(name).collect()
    }

    fn compute(&mut self, x: Local, op: Op, args: &[Operand], out: &mut Vec<Stmt>) {
        let args = self.renamed(args);
        match self.done.iter().find(|(o, a, _)| *o == op && *a == args) {
            Some((_, _, y)) => drop(self.names.insert(x, *y)),
            None => {
                self.done.push((op, args.clone(), x));
                out.push(Stmt::Let(x, op, args));
            }
        }
    }

    fn hoist(&mut self, lets: &[Stmt], out: &mut Vec<Stmt>) {
        for stmt in lets {
            let Stmt::Let(x, op, args) = stmt else { panic!("it computes") };
            self.compute(*x, *op, args, out);
        }
    }

    /// Computes indices before the conditional.
    fn hoist_indices(&mut self, body: &mut Block, out: &mut Vec<Stmt>) {
        let mut own: FxHashSet<Local> = FxHashSet::default();
        for stmt in std::mem::take(&mut body.stmts) {
            match &stmt {
                Stmt::Let(x, op @ (Op::AddI | Op::MulI), args)
                    if op.result() == Scalar::Integer
                        && !args.iter().any(|a| a.local().is_some_and(|y| own.contains(&y))) =>
                {
                    self.compute(*x, *op, args, out);
                }
                _ => {
                    own.extend(stmt.targets());
                    body.stmts.push(stmt);
                }
            }
        }
    }
}
