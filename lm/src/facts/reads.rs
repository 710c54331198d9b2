//! Learns the sizes of tensors from loops that have read them.
//!
//! ```text
//! let t = build(n, λi. sumbuild(m, λk. v[i, k])) in ..        below: 0 <= i < n and 0 <= k < m make (i, k) an index of v
//! ```
//!
//! Where one of these loops has no step, no such index is there. What only some steps read tells nothing.

use crate::prim::Prim;
use crate::term::{Expr, Kind, Op, Var};

/// The indices at which a tensor has been read: all below some sizes.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) tensor: Var,
    pub(super) sizes: Vec<Expr>,
}

/// Returns the indices and the tensors of the elements that a term reads whenever it is computed, outside of loops.
pub(super) fn elements(e: &Expr) -> Vec<(&Expr, &Expr)> {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => Vec::new(),
        Kind::Let(bindings, body) => bindings.iter().map(|b| &b.rhs).chain([body]).flat_map(elements).collect(),
        Kind::App(Op::If, args) => elements(&args[0]),
        Kind::App(op, args) => {
            let mut found: Vec<(&Expr, &Expr)> = args.iter().flat_map(elements).collect();
            if *op == Op::Prim(Prim::Index) {
                found.push((&args[0], &args[1]));
            }
            found
        }
    }
}

/// Returns what a term reads in loops whenever it is computed.
pub(super) fn reads(e: &Expr) -> Vec<Read> {
    let mut found = Found { around: Vec::new(), out: Vec::new() };
    found.walk(e);
    found.out
}

struct Found {
    /// The loops around, with their sizes.
    around: Vec<(Var, Expr)>,
    out: Vec<Read>,
}

impl Found {
    fn walk(&mut self, e: &Expr) {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => {}
            Kind::Let(bindings, body) => {
                bindings.iter().for_each(|b| self.walk(&b.rhs));
                self.walk(body);
            }
            Kind::App(Op::If, args) => self.walk(&args[0]),
            Kind::App(Op::Prim(Prim::Index), args) => {
                args.iter().for_each(|a| self.walk(a));
                self.out.extend(self.read(&args[0], &args[1]));
            }
            Kind::App(Op::Prim(Prim::Build | Prim::SumBuild), args) => {
                let [.., n, f] = args.as_slice() else { return };
                let Kind::Lam(i, body) = f.kind() else { return };
                self.walk(n);
                self.around.push((i.clone(), n.clone()));
                self.walk(body);
                self.around.pop();
            }
            Kind::App(_, args) => args.iter().for_each(|a| self.walk(a)),
        }
    }

    /// Returns the reads of a tensor at the indices of all loops around, and of no other ones.
    fn read(&self, k: &Expr, v: &Expr) -> Option<Read> {
        let tensor = v.as_var()?.clone();
        let indices: Vec<&Var> = match k.args_of(&Op::Tuple) {
            Some(parts) => parts.iter().map(|part| part.as_var()).collect::<Option<_>>()?,
            None => vec![k.as_var()?],
        };
        let size_of = |i: &&Var| Some(self.around.iter().find(|(x, _)| x == *i)?.1.clone());
        let sizes: Vec<Expr> = indices.iter().map(size_of).collect::<Option<_>>()?;
        let is_all = self.around.len() == indices.len() && self.around.iter().all(|(x, _)| indices.contains(&x));
        is_all.then_some(Read { tensor, sizes })
    }
}
