//! Finds steps of folds that change a part of an array.
//!
//! ```text
//! s' = build (size s) (lam (i) (if c e (index i s)))       also by a helper function
//! s' = s + build n (lam (i) (if c e 0))                    as by deltaVec
//! ```
//!
//! Native code keeps only what such a step overwrites (`update_in_place` of the crate `loops`). So the states of such a
//! fold are not kept whole where memory allows to keep what its steps overwrite. This only chooses between two forms of
//! a derivative that mean the same: what is found, and what is not, changes no value. A step that is a fold itself is no
//! such step: no log is made of it.

use super::kept::{Changing, changed_dimensions, kept_dimensions};
use lm::prim::Prim;
use lm::term::{Constant, Def, Expr, FunName, Kind, Op, Pattern, Program, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// The functions that give one of their arguments with a part of it changed, and those that give arrays that are zero but
/// for a few elements.
#[derive(Clone, Debug, Default)]
pub struct Updates {
    /// The parameters that functions give changed, by their numbers from 0, and in how many dimensions.
    changing: Changing,
    sparse: FxHashSet<FunName>,
}

/// What a value is, beside the state of a fold.
#[derive(Clone, Copy, PartialEq)]
enum Is {
    /// Not known.
    Other,
    /// The state, or a part of it.
    State,
    /// An element of an array in the state.
    Element,
    /// The state with a part of it changed.
    Changed,
    /// Zero, but for some elements.
    Sparse,
}

impl Updates {
    /// Looks through a program, in which functions mostly come after those that they call.
    pub fn of(program: &Program) -> Updates {
        let mut updates = Updates::default();
        for _ in 0..2 {
            for def in program.defs.values() {
                updates.see(def);
            }
        }
        updates
    }

    fn see(&mut self, def: &Def) {
        let is = |x: Option<&Var>| {
            let mut seen = Seen { updates: self, names: FxHashMap::default() };
            x.into_iter().for_each(|x| seen.name(x, Is::State));
            seen.value(&def.body)
        };
        let name = || def.fun.name.as_written();
        if is(None) == Is::Sparse {
            self.sparse.insert(name());
            return;
        }
        let arrays = def.params.iter().enumerate().filter(|(_, x)| x.ty().mentions_array());
        let changed = arrays.filter(|(_, x)| is(Some(x)) == Is::Changed);
        let dimensions = |x| changed_dimensions(&def.body, x, &self.changing).unwrap_or(usize::MAX);
        let changing: Vec<(usize, usize)> = changed.map(|(i, x)| (i, dimensions(x))).collect();
        if !changing.is_empty() {
            self.changing.insert(name(), changing);
        }
    }

    /// Returns whether a step, a function of the state and an element, changes a part of the state.
    pub(super) fn change(&self, step: &Expr) -> bool {
        Seen { updates: self, names: FxHashMap::default() }.changes(step)
    }

    /// Returns in how many dimensions elements of each tensor in the state of such a step are kept, where that is known.
    pub(super) fn kept(&self, step: &Expr) -> Option<Vec<usize>> {
        kept_dimensions(step, &self.changing)
    }
}

/// The variables in scope.
struct Seen<'a> {
    updates: &'a Updates,
    names: FxHashMap<u32, Is>,
}

impl Seen<'_> {
    fn name(&mut self, x: &Var, is: Is) {
        self.names.insert(x.id(), is);
    }

    fn changes(&mut self, step: &Expr) -> bool {
        let Kind::Lam(p, body) = step.kind() else { return false };
        self.name(p, Is::State);
        self.value(body) == Is::Changed
    }

    fn value(&mut self, e: &Expr) -> Is {
        match e.kind() {
            Kind::Var(x) => self.names.get(&x.id()).copied().unwrap_or(Is::Other),
            Kind::Const(Constant::Float(x)) if *x == 0.0 => Is::Sparse,
            Kind::Const(_) | Kind::Lam(..) => Is::Other,
            Kind::Let(bindings, result) => {
                for b in bindings {
                    match (&b.pattern, b.rhs.args_of(&Op::Tuple)) {
                        (Pattern::Var(x), _) => {
                            let is = self.value(&b.rhs);
                            self.name(x, is);
                        }
                        (Pattern::Tuple(xs), Some(parts)) => {
                            let all: Vec<Is> = parts.iter().map(|part| self.value(part)).collect();
                            xs.iter().zip(all).for_each(|(x, is)| self.name(x, is));
                        }
                        (Pattern::Tuple(xs), None) => {
                            let is = self.value(&b.rhs);
                            xs.iter().for_each(|x| self.name(x, is));
                        }
                    }
                }
                self.value(result)
            }
            Kind::App(op, args) => match self.application(op, args) {
                // Of a change of tensors there is a log if they are rows of one size: they are a matrix (`flatten_rows`).
                Is::Changed if !is_flat(e.ty()) => Is::Other,
                is => is,
            },
        }
    }

    fn application(&mut self, op: &Op, args: &[Expr]) -> Is {
        match (op, args) {
            (Op::Get(..), [whole]) => self.value(whole),
            (Op::Tuple, parts) => {
                let all: Vec<Is> = parts.iter().map(|part| self.value(part)).collect();
                [Is::Changed, Is::State].into_iter().find(|is| all.contains(is)).unwrap_or(Is::Other)
            }
            // Elements are put behind those that there were: the size changes.
            (Op::If, [c, then, other]) if is_order(c) => match [then, other].map(|arm| self.value(arm)) {
                [a, b] if a == b => a,
                arms if arms.contains(&Is::Changed) => Is::Changed,
                _ => Is::Other,
            },
            (Op::If, [_, then, other]) => match [then, other].map(|arm| self.value(arm)) {
                [a, b] if a == b => a,
                arms if arms.contains(&Is::Changed) => Is::Changed,
                // An element that is sometimes another one, or sometimes zero.
                arms if arms.contains(&Is::Element) => Is::Changed,
                arms if arms.contains(&Is::Sparse) => Is::Sparse,
                _ => Is::Other,
            },
            (Op::Prim(Prim::Index), [_, tensor]) => match self.value(tensor) {
                Is::State | Is::Element | Is::Changed => Is::Element,
                Is::Sparse => Is::Sparse,
                Is::Other => Is::Other,
            },
            (Op::Prim(Prim::Build), [_, f]) => {
                let Kind::Lam(_, body) = f.kind() else { return Is::Other };
                match (self.value(body), body) {
                    (Is::Changed, _) => Is::Changed,
                    (Is::Sparse, body) if !matches!(body.kind(), Kind::Const(_)) => Is::Sparse,
                    _ => Is::Other,
                }
            }
            (Op::Prim(Prim::Add | Prim::Sub), [a, b]) => match [a, b].map(|a| self.value(a)) {
                [Is::Sparse, Is::Sparse] => Is::Sparse,
                [Is::Sparse, Is::Other] | [Is::Other, _] | [_, Is::Other] => Is::Other,
                arms if arms.contains(&Is::Sparse) => Is::Changed,
                _ => Is::Other,
            },
            (Op::Prim(Prim::Neg), [a]) => {
                if self.value(a) == Is::Sparse {
                    Is::Sparse
                } else {
                    Is::Other
                }
            }
            (Op::Prim(Prim::AddAt), [a, _]) => {
                if self.value(a) == Is::Other {
                    Is::Other
                } else {
                    Is::Changed
                }
            }
            (Op::Call(f), args) => {
                let name = f.name.as_written();
                let changing = self.updates.changing.get(&name).map_or(&[][..], |changing| changing);
                let mut given = changing.iter().filter_map(|(i, _)| args.get(*i));
                match () {
                    () if given.any(|arg| matches!(self.value(arg), Is::State | Is::Changed)) => Is::Changed,
                    () if self.updates.sparse.contains(&name) => Is::Sparse,
                    () => Is::Other,
                }
            }
            (Op::Prim(Prim::ZeroOf), _) => Is::Sparse,
            _ => Is::Other,
        }
    }
}

/// Returns whether all tensors in a type are of numbers, or vectors of such vectors.
fn is_flat(ty: &Type) -> bool {
    match ty {
        Type::Tuple(parts) => parts.iter().all(is_flat),
        Type::Tensor(1, element) if matches!(&**element, Type::Tensor(1, _)) => is_flat(element),
        Type::Tensor(_, element) => element.has_fixed_shape(),
        _ => true,
    }
}

/// Returns whether a condition compares by order.
fn is_order(c: &Expr) -> bool {
    matches!(c.kind(), Kind::App(Op::Prim(Prim::Lt | Prim::Lte | Prim::Gt | Prim::Gte), _))
}
