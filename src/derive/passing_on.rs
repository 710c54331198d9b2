//! Finds functions that pass on arrays that they are given.
//!
//! ```text
//! def pick(u, v, c) = if c then u else v               def row(m, i) = m[i]               def swap(a, b) = (b, a)
//! ```
//!
//! Such a function costs the same for arrays of any size. Its transposed map takes a cotangent of the size of its
//! result, even where the caller reads one element: in a loop, that is a vector of zeros in each step. In place of the
//! call, the body lets the caller see the array itself, to which the cotangent of the element is added.

use lm::prim::Prim;
use lm::term::{Def, Expr, FunName, Kind, Op, Program};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the functions a result of which may be an array that is an argument, or a part of one.
pub fn passing_on(program: &Program) -> FxHashSet<FunName> {
    let mut search = Search { program, known: FxHashMap::default() };
    let mut found = FxHashSet::default();
    for name in program.defs.keys() {
        if search.function(name) {
            found.insert(name.clone());
        }
    }
    found
}

struct Search<'a> {
    program: &'a Program,
    /// The answers so far; no, for a function in question.
    known: FxHashMap<&'a FunName, bool>,
}

impl<'a> Search<'a> {
    fn function(&mut self, name: &FunName) -> bool {
        let Some((name, def)) = self.program.defs.get_key_value(name) else { return false };
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        self.known.insert(name, false);
        let is_written = name.derivations.is_empty();
        let answer = is_written && !def.fun.result.has_fixed_shape() && self.definition(def);
        self.known.insert(name, answer);
        answer
    }

    fn definition(&mut self, def: &'a Def) -> bool {
        let mut given: FxHashSet<u32> = def.params.iter().map(|x| x.id()).collect();
        self.term(&def.body, &mut given)
    }

    /// Returns whether an array in the value of a term is one of the given variables, or a part of one.
    fn term(&mut self, e: &Expr, given: &mut FxHashSet<u32>) -> bool {
        if e.ty().has_fixed_shape() {
            return false;
        }
        match e.kind() {
            Kind::Var(x) => given.contains(&x.id()),
            Kind::Const(_) | Kind::Lam(..) => false,
            Kind::App(op, args) => match op {
                Op::Get(..) | Op::Prim(Prim::Index) => args.iter().any(|a| self.term(a, given)),
                Op::Tuple => args.iter().any(|a| self.term(a, given)),
                Op::If | Op::Assert => args[1..].iter().any(|a| self.term(a, given)),
                Op::Call(f) => self.function(&f.name),
                Op::Prim(_)
                | Op::Dummy
                | Op::JacobianOf(_)
                | Op::JacobianOfFun(_)
                | Op::JacobianAt(_)
                | Op::LmGet(..)
                | Op::Pack(_)
                | Op::Unpack(_) => false,
            },
            Kind::Let(bindings, body) => {
                for b in bindings {
                    if self.term(&b.rhs, given) {
                        given.extend(b.pattern.vars().iter().map(|x| x.id()));
                    }
                }
                self.term(body, given)
            }
        }
    }
}
