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
    common.names.values().for_each(|x| debug_assert!(!common.names.contains_key(x)));
    let [(looped, mut then_body), (_, mut other_body)] = inside;
    [&mut then_body, &mut other_body].into_iter().for_each(|body| body.rename(&common.names));
    let same_store = match (then_body.stmts.last(), other_body.stmts.last()) {
        (Some(Stmt::Memory(Memory::Store(b, i, x))), Some(Stmt::Memory(Memory::Store(c, j, y)))) => {
            (b.same(c) && i.same(j)).then(|| (b.clone(), i.clone(), [x.clone(), y.clone()]))
        }
        _ => None,
    };
    if let Some((b, i, [x, y])) = same_store {
        let ty = b.ty(builder.locals).element().expect("it stores in a buffer");
        let chosen = builder.local(ty);
        for (body, value) in [(&mut then_body, x), (&mut other_body, y)] {
            body.stmts.pop();
            body.results.push(value);
        }
        stmts.push(Stmt::If(vec![chosen], condition.clone(), then_body, other_body));
        stmts.push(Stmt::Memory(Memory::Store(b, i, chosen.into())));
    } else {
        stmts.push(Stmt::If(vec![], condition.clone(), then_body, other_body));
    }
    out.push(Stmt::loop_over(index, [looped.from.clone(), looped.to.clone()], stmts));
    if !xs.is_empty() {
        let arms = [then, other].map(|arm| {
            let mut arm = Block { stmts: vec![], results: arm.results.clone() };
            arm.rename(&common.names);
            arm
        });
        let [then, other] = arms;
        out.push(Stmt::If(xs.clone(), condition.clone(), then, other));
    }
    Some(out)
}

/// An arm that ends with a loop.
struct Arm<'a> {
    lets: Vec<Stmt>,
    /// The rows that are loaded.
    loads: Vec<Stmt>,
    looped: &'a For,
}

impl Arm<'_> {
    fn of(block: &Block) -> Option<Arm<'_>> {
        let (Stmt::For(looped), before) = block.stmts.split_last()? else { return None };
        if !looped.carried.is_empty() || looped.lanes != 1 || looped.on_threads {
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
        let uses = |a: &&Operand| a.local().is_some_and(|x| loaded.contains(&x));
        let is_apart = !lets.iter().flat_map(Stmt::operands).any(|a| uses(&a)) && !block.results.iter().any(|a| uses(&a));
        is_apart.then_some(Arm { lets, loads, looped })
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
