//! Makes statements, for passes.

use super::{Block, For, Local, LocalInfo, Op, Operand, Scalar, Stmt, Ty};
use rustc_hash::FxHashMap;

/// Makes locals of a function, and statements that set them.
pub struct Builder<'a> {
    /// The locals of the function.
    pub locals: &'a mut Vec<LocalInfo>,
}

impl Builder<'_> {
    /// A local that is not a size.
    pub fn local(&mut self, ty: Ty) -> Local {
        self.with(LocalInfo::unnamed(ty))
    }

    /// A local.
    pub fn with(&mut self, info: LocalInfo) -> Local {
        self.locals.push(info);
        Local(u32::try_from(self.locals.len() - 1).expect("a function has fewer locals"))
    }

    /// The result of an operation.
    pub fn op(&mut self, op: Op, args: impl Into<Vec<Operand>>, out: &mut Vec<Stmt>) -> Operand {
        let x = self.local(op.result().ty());
        out.push(Stmt::Let(x, op, args.into()));
        Operand::Local(x)
    }

    /// Emits a choice between two operands of a type.
    pub fn choice(&mut self, condition: Operand, arms: [Operand; 2], ty: Ty, out: &mut Vec<Stmt>) -> Operand {
        let chosen = self.local(ty);
        let [then, other] = arms.map(|a| Block { stmts: vec![], results: vec![a] });
        out.push(Stmt::If(vec![chosen], condition, then, other));
        Operand::Local(chosen)
    }

    /// How often a loop from 0 to n runs.
    pub fn times(&mut self, n: &Operand, out: &mut Vec<Stmt>) -> Operand {
        match n {
            Operand::Local(x) if !self.locals[x.0 as usize].is_size => {
                let some = self.op(Op::LtI, [Operand::Integer(0), n.clone()], out);
                self.choice(some, [n.clone(), Operand::Integer(0)], Scalar::Integer.ty(), out)
            }
            Operand::Integer(i) => Operand::Integer(*i.max(&0)),
            n => n.clone(),
        }
    }

    /// The product of numbers that are not negative.
    pub fn product(&mut self, counts: &[Operand], out: &mut Vec<Stmt>) -> Operand {
        let Some((first, rest)) = counts.split_first() else { return Operand::Integer(1) };
        rest.iter().fold(first.clone(), |all, n| self.op(Op::Count, [all, n.clone()], out))
    }

    /// The place of an element in a buffer with dimensions: the last index runs fastest.
    pub fn place<T>(&mut self, indices: &[T], counts: &[Operand], out: &mut Vec<Stmt>) -> Operand
    where
        T: Clone + Into<Operand>,
    {
        let Some((first, rest)) = indices.split_first() else { return Operand::Integer(0) };
        rest.iter().zip(&counts[1..]).fold(first.clone().into(), |place, (index, count)| {
            let row = self.op(Op::MulI, [place, count.clone()], out);
            self.op(Op::AddI, [row, index.clone().into()], out)
        })
    }
}

impl Stmt {
    /// Returns a loop that carries nothing, one iteration after the other.
    pub fn loop_over(index: Local, [from, to]: [Operand; 2], stmts: Vec<Stmt>) -> Stmt {
        let body = Block { stmts, results: vec![] };
        let (results, carried) = (vec![], vec![]);
        Stmt::For(Box::new(For { results, index, from, to, carried, body, lanes: 1, jam: 1, on_threads: false }))
    }
}

impl Block {
    /// Puts statements after those that set locals, also in blocks inside.
    pub fn put_after(&mut self, new: &mut FxHashMap<Local, Vec<Stmt>>) {
        for mut stmt in std::mem::take(&mut self.stmts) {
            stmt.blocks_mut().for_each(|block| block.put_after(new));
            let targets = stmt.targets();
            self.stmts.push(stmt);
            self.stmts.extend(targets.iter().filter_map(|x| new.remove(x)).flatten());
        }
    }

    /// Uses other locals in place of some.
    pub fn rename(&mut self, names: &FxHashMap<Local, Local>) {
        self.change_operands(&mut |a| {
            if let Some(y) = a.local().and_then(|x| names.get(&x)) {
                *a = Operand::Local(*y);
            }
        });
    }
}
