//! Places in buffers, as polynomials in Integers of a function, so that they can be compared.
//!
//! ```text
//! z = add.i x y; w = mul.i z n        w  =  n x + n y
//! ```

use crate::ir::{Block, Builder, Local, Op, Operand, Stmt};
use lm::sizes::{Atom, Polynomial};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// An Integer with a longer polynomial, or one that is computed in more steps, is an atom.
const MOST_TERMS: usize = 16;
const MOST_FACTORS: usize = 6;
const MOST_STEPS: usize = 8;

/// How the Integers of a function are computed.
pub struct Places {
    operations: FxHashMap<Local, (Op, Vec<Operand>)>,
    /// Locals have no other names.
    name: Arc<str>,
}

impl Places {
    /// Looks through a function body.
    pub fn of(body: &Block) -> Places {
        let mut operations = FxHashMap::default();
        body.visit(&mut |stmt| {
            if let Stmt::Let(x, op @ (Op::AddI | Op::SubI | Op::MulI | Op::Count), args) = stmt {
                operations.insert(*x, (*op, args.clone()));
            }
        });
        Places { operations, name: "".into() }
    }

    /// Returns an Integer in terms of locals that are computed in other ways.
    pub fn polynomial(&self, a: &Operand) -> Polynomial {
        self.in_steps(a, MOST_STEPS)
    }

    /// Returns a local as it is.
    pub fn local(&self, x: Local) -> Polynomial {
        Polynomial::atom(self.atom(x))
    }

    /// Returns a polynomial with another one in the place of a local.
    pub fn with(&self, polynomial: &Polynomial, x: Local, by: &Polynomial) -> Polynomial {
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

/// Appends statements that compute a polynomial.
pub fn compute(polynomial: &Polynomial, builder: &mut Builder, out: &mut Vec<Stmt>) -> Operand {
    let mut sum: Option<Operand> = None;
    for (monomial, k) in polynomial.terms() {
        let factors = monomial.iter().filter_map(local_of).map(Operand::Local);
        let number = Some(Operand::Integer(k)).filter(|_| k != 1 || monomial.is_empty());
        let mut both = |op, a: Option<Operand>, b| match a {
            Some(a) => builder.op(op, [a, b], out),
            None => b,
        };
        let term = factors.chain(number).fold(None, |product, x| Some(both(Op::MulI, product, x)));
        sum = term.map(|term| both(Op::AddI, sum.take(), term));
    }
    sum.unwrap_or(Operand::Integer(0))
}

/// Returns the locals in a polynomial.
pub fn locals(polynomial: &Polynomial) -> impl Iterator<Item = Local> {
    polynomial.atoms().filter_map(local_of)
}

fn local_of(atom: &Atom) -> Option<Local> {
    match atom {
        Atom::Number(x, _) => Some(Local(*x)),
        Atom::Variable(_) => None,
    }
}
