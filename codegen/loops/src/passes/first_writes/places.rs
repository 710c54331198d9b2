//! Places in buffers, as polynomials in Integers of a function, so that they can be compared.
//!
//! ```text
//! z = add.i x y; w = mul.i z n        w  =  n x + n y
//! ```

use crate::ir::{Block, Local, Op, Operand, Stmt};
use lm::sizes::{Atom, Polynomial};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// An Integer with a longer polynomial, or one that is computed in more steps, is an atom.
const MOST_TERMS: usize = 16;
const MOST_FACTORS: usize = 6;
const MOST_STEPS: usize = 8;

/// How the Integers of a function are computed.
pub(super) struct Places {
    operations: FxHashMap<Local, (Op, Vec<Operand>)>,
    /// Locals have no other names.
    name: Arc<str>,
}

impl Places {
    pub(super) fn of(body: &Block) -> Places {
        let mut operations = FxHashMap::default();
        body.visit(&mut |stmt| {
            if let Stmt::Let(x, op @ (Op::AddI | Op::SubI | Op::MulI | Op::Count), args) = stmt {
                operations.insert(*x, (*op, args.clone()));
            }
        });
        Places { operations, name: "".into() }
    }

    /// Returns an Integer in terms of locals that are computed in other ways.
    pub(super) fn polynomial(&self, a: &Operand) -> Polynomial {
        self.in_steps(a, MOST_STEPS)
    }

    pub(super) fn local(&self, x: Local) -> Polynomial {
        Polynomial::atom(self.atom(x))
    }

    /// Returns a polynomial with another one in the place of a local.
    pub(super) fn with(&self, polynomial: &Polynomial, x: Local, by: &Polynomial) -> Polynomial {
        let x = self.atom(x);
        let atom = |atom: &Atom| Some(if *atom == x { by.clone() } else { Polynomial::atom(atom.clone()) });
        polynomial.substituted(&atom).expect("each atom has a polynomial")
    }

    fn atom(&self, x: Local) -> Atom {
        Atom::Number(x.0, self.name.clone())
    }

    fn in_steps(&self, a: &Operand, steps: usize) -> Polynomial {
        let x = match a {
            Operand::Integer(k) => return Polynomial::constant(*k),
            Operand::Local(x) => *x,
            Operand::Float(_) | Operand::Bool(_) | Operand::Text(_) => panic!("no Integer: {a:?}"),
        };
        let Some((op, args)) = self.operations.get(&x).filter(|_| steps > 0) else { return self.local(x) };
        let [a, b] = [&args[0], &args[1]].map(|a| self.in_steps(a, steps - 1));
        let whole = match op {
            Op::AddI => a.plus(&b),
            Op::SubI => a.minus(&b),
            _ => a.times(&b),
        };
        let is_short = whole.terms().count() <= MOST_TERMS && whole.terms().all(|(m, _)| m.len() <= MOST_FACTORS);
        if is_short { whole } else { self.local(x) }
    }
}

/// Returns the locals in a polynomial.
pub(super) fn locals(polynomial: &Polynomial) -> impl Iterator<Item = Local> {
    polynomial.atoms().filter_map(|atom| match atom {
        Atom::Number(x, _) => Some(Local(*x)),
        Atom::Variable(_) => None,
    })
}
