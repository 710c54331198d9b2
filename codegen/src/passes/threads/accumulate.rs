//! Sums that loops carry: `y' = y + e`, where e does not use y, through any number of additions, loops and branches.

use crate::loops::{Block, For, Local, Op, Operand, Scalar, Stmt};

/// How a carried value is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sum {
    Float,
    Integer,
}

impl Sum {
    /// What is added to nothing.
    pub(super) fn neutral(self) -> Operand {
        match self {
            // -0 + x is x, for all x.
            Sum::Float => Operand::Float(-0.0),
            Sum::Integer => Operand::Integer(0),
        }
    }

    /// Its addition.
    pub(super) fn op(self) -> Op {
        match self {
            Sum::Float => Op::AddF,
            Sum::Integer => Op::AddI,
        }
    }
}

/// The sums that a loop carries, if it carries nothing else.
pub(super) fn sums(looped: &For, scalar: impl Fn(Local) -> Option<Scalar>) -> Option<Vec<Sum>> {
    let sum = |(i, (y, _)): (usize, &(Local, Operand))| {
        let sum = match scalar(*y)? {
            Scalar::Float => Sum::Float,
            Scalar::Integer => Sum::Integer,
            Scalar::Bool | Scalar::Text | Scalar::Mark => return None,
        };
        is_sum(&looped.body, *y, i).then_some(sum)
    };
    looped.carried.iter().enumerate().map(sum).collect()
}

/// Whether the i-th result of a block is y, which it uses for nothing else, with something added.
fn is_sum(block: &Block, y: Local, i: usize) -> bool {
    let elsewhere = block.results.iter().enumerate().any(|(j, a)| j != i && a.local() == Some(y));
    let mut users = block.stmts.iter().filter(|stmt| mentions(stmt, y));
    match (users.next(), users.next()) {
        _ if elsewhere => false,
        (None, _) => block.results[i].local() == Some(y),
        (Some(user), None) => block.results[i].local() != Some(y) && passes_on(block, user, y, i),
        (Some(_), Some(_)) => false,
    }
}

/// Whether what a statement makes of y goes on to be the i-th result.
fn passes_on(block: &Block, user: &Stmt, y: Local, i: usize) -> bool {
    let is_y = |a: &Operand| a.local() == Some(y);
    let next = match user {
        Stmt::Let(z, Op::AddF | Op::AddI, args) if is_y(&args[0]) != is_y(&args[1]) => Some(*z),
        Stmt::Let(z, Op::SubF | Op::SubI, args) if is_y(&args[0]) && !is_y(&args[1]) => Some(*z),
        Stmt::For(looped) if !looped.body.uses().contains(&y) && !is_y(&looped.from) && !is_y(&looped.to) => {
            let mut given = looped.carried.iter().enumerate().filter(|(_, (_, init))| is_y(init));
            match (given.next(), given.next()) {
                (Some((k, (x, _))), None) if is_sum(&looped.body, *x, k) => Some(looped.results[k]),
                _ => None,
            }
        }
        Stmt::If(xs, condition, then, other) if !is_y(condition) => {
            (0..xs.len()).find(|k| [then, other].into_iter().all(|arm| is_sum(arm, y, *k))).map(|k| xs[k])
        }
        _ => None,
    };
    next.is_some_and(|next| is_sum(block, next, i))
}

fn mentions(stmt: &Stmt, y: Local) -> bool {
    stmt.operands().into_iter().any(|a| a.local() == Some(y))
        || stmt.blocks().into_iter().any(|block| block.uses().contains(&y))
}
