//! Finds the parameters on whose numbers the numbers of a function's result depend.
//!
//! ```text
//! def mean_weight(v, w) = w / toFloat(size(v))               on w alone: of v, only the size counts
//! def deep(n, u, v) = if n == 0 then 1 else deep(n - 1, v, u)      on none
//! ```
//!
//! The least solution: a call depends on the arguments at the parameters on which its callee does. Conditions, indices and
//! sizes are no numbers to be differentiated. What has a derivative by hand, or is external, depends on everything.

use super::call_order::calls;
use lm::prim::JacobianRule;
use lm::term::{Def, Expr, FunName, Kind, Op, Program};
use rustc_hash::{FxHashMap, FxHashSet};

/// A set of parameters, by their bits. All, for functions of more parameters than there are bits.
type Params = u64;

/// The parameters on which results depend, of the written functions that do not depend on all.
#[derive(Clone, Debug, Default)]
pub struct Dependence {
    known: FxHashMap<FunName, Params>,
}

impl Dependence {
    /// Finds it for the functions of a program. `has_own` tells whether a function has a derivative by hand.
    pub fn of(program: &Program, has_own: &dyn Fn(&FunName) -> bool) -> Dependence {
        let is_written = |def: &&Def| def.fun.name.derivations.is_empty() && !has_own(&def.fun.name);
        let fits = |def: &&Def| def.params.len() < Params::BITS as usize;
        let defs: Vec<&Def> = program.defs.values().filter(is_written).filter(fits).collect();
        let mut found = Dependence { known: defs.iter().map(|def| (def.fun.name.clone(), 0)).collect() };
        let mut waiting: Vec<&Def> = defs;
        let callers = callers(&waiting);
        // Callees come first in a program: most are done in one round.
        while !waiting.is_empty() {
            let mut changed = FxHashSet::default();
            for def in &waiting {
                let params = found.definition(def);
                let name = &def.fun.name;
                if found.known.insert(name.clone(), params) != Some(params) {
                    changed.extend(callers.get(name).into_iter().flatten().map(|caller| &caller.fun.name));
                }
            }
            waiting = program.defs.values().filter(|def| changed.contains(&def.fun.name)).collect();
        }
        found
    }

    /// Returns whether the result of a function depends on no number of an argument, counted from 0.
    pub fn is_independent(&self, f: &FunName, argument: usize) -> bool {
        self.known.get(f).is_some_and(|params| params & (1 << argument) == 0)
    }

    fn definition(&self, def: &Def) -> Params {
        let given = def.params.iter().enumerate().map(|(i, x)| (x.id(), 1 << i));
        self.term(&def.body, &mut given.collect())
    }

    /// The parameters on which a term depends, where variables do on some; those that it does not know, on none: they
    /// belong to functions whose operator takes what they stand for.
    fn term(&self, e: &Expr, given: &mut FxHashMap<u32, Params>) -> Params {
        match e.kind() {
            Kind::Var(x) if x.ty().is_differentiable() => given.get(&x.id()).copied().unwrap_or(0),
            Kind::Var(_) | Kind::Const(_) => 0,
            Kind::Lam(_, body) => self.term(body, given),
            Kind::Let(bindings, body) => {
                for b in bindings {
                    let params = self.term(&b.rhs, given);
                    given.extend(b.pattern.vars().iter().map(|x| (x.id(), params)));
                }
                self.term(body, given)
            }
            Kind::App(op, args) => {
                let counts = |i: usize| match op {
                    Op::If | Op::Assert => i > 0,
                    Op::Call(f) => !self.is_independent(&f.name, i),
                    Op::Prim(p) => !matches!(p.jacobian(), JacobianRule::Zero),
                    _ => true,
                };
                let counted = args.iter().enumerate().filter(|(i, _)| counts(*i));
                counted.fold(0, |params, (_, a)| params | self.term(a, given))
            }
        }
    }
}

/// The definitions that call a function, by its name.
fn callers<'a>(defs: &[&'a Def]) -> FxHashMap<FunName, Vec<&'a Def>> {
    let mut callers: FxHashMap<FunName, Vec<&Def>> = FxHashMap::default();
    for def in defs {
        let mut called = Vec::new();
        calls(&def.body, &mut called);
        called.into_iter().for_each(|f| callers.entry(f).or_default().push(def));
    }
    callers
}
