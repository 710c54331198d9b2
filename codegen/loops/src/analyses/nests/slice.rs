//! Computes numbers of a nest at other indices.

use super::Nest;
use crate::ir::{Block, Builder, Local, LocalInfo, Memory, Operand, Stmt};
use rustc_hash::FxHashMap;

/// What loads give: the buffer, and the place in it.
pub type Loads = FxHashMap<Local, (Operand, Operand)>;

/// What the nest computes from its indices, at given ones.
pub struct Slice<'a> {
    nest: &'a Nest,
    known: FxHashMap<Local, Operand>,
    again: Option<Again<'a>>,
}

/// What may be done again at other indices.
#[derive(Clone, Copy)]
struct Again<'a> {
    loads: &'a Loads,
    /// What some conditionals are known to give there.
    chosen: &'a FxHashMap<Local, Operand>,
}

impl<'a> Slice<'a> {
    /// At these values of indices, and of other locals of the nest.
    pub fn new(nest: &'a Nest, known: FxHashMap<Local, Operand>) -> Slice<'a> {
        Slice { nest, known, again: None }
    }

    /// Does these loads again, too, and takes what conditionals give; of some it is known what that is.
    pub fn again(self, loads: &'a Loads, chosen: &'a FxHashMap<Local, Operand>) -> Slice<'a> {
        Slice { again: Some(Again { loads, chosen }), ..self }
    }

    /// Returns a number or a condition, if it is made by operations, such loads and choices alone.
    pub fn value(&mut self, a: &Operand, locals: &mut Vec<LocalInfo>, out: &mut Vec<Stmt>) -> Option<Operand> {
        let Some(x) = a.local().filter(|x| self.nest.set.contains(x)) else { return Some(a.clone()) };
        if let Some(known) = self.known.get(&x) {
            return Some(known.clone());
        }
        if let Some(arm) = self.again.and_then(|again| again.chosen.get(&x)) {
            return self.value(arm, locals, out);
        }
        let choice = self.nest.choices.get(&x).filter(|_| self.again.is_some());
        let load = self.again.and_then(|again| again.loads.get(&x));
        let value = match (choice, load) {
            (Some([condition, then, other]), _) => {
                let condition = self.value(condition, locals, out)?;
                let mut arm = |a| {
                    let mut inside = Slice { known: self.known.clone(), ..*self };
                    let mut stmts = Vec::new();
                    let results = vec![inside.value(a, locals, &mut stmts)?];
                    Some(Block { stmts, results })
                };
                let [then, other] = [arm(then)?, arm(other)?];
                let ty = locals[x.0 as usize].ty;
                let chosen = Builder { locals }.local(ty);
                out.push(Stmt::If(vec![chosen], condition, then, other));
                chosen.into()
            }
            (None, Some((b, place))) => {
                let place = self.value(place, locals, out)?;
                let ty = locals[x.0 as usize].ty;
                let again = Builder { locals }.local(ty);
                out.push(Stmt::Memory(Memory::Load(again, b.clone(), place)));
                again.into()
            }
            (None, None) => {
                let (op, args) = self.nest.made.get(&x)?;
                let args = args.iter().map(|arg| self.value(arg, locals, out)).collect::<Option<Vec<_>>>()?;
                Builder { locals }.op(*op, args, out)
            }
        };
        self.known.insert(x, value.clone());
        Some(value)
    }
}
