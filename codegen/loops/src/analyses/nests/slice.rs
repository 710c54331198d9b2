//! Computes numbers of a nest at other indices.

use super::Nest;
use crate::ir::{Builder, Local, LocalInfo, Memory, Operand, Stmt};
use rustc_hash::FxHashMap;

/// What loads give: the buffer, and the place in it.
pub type Loads = FxHashMap<Local, (Operand, Operand)>;

/// What the nest computes from its indices, at given ones.
pub struct Slice<'a> {
    nest: &'a Nest,
    known: FxHashMap<Local, Operand>,
    /// The loads that may be done at other indices.
    loads: Option<&'a Loads>,
}

impl<'a> Slice<'a> {
    /// At these values of indices, and of other locals of the nest.
    pub fn new(nest: &'a Nest, known: FxHashMap<Local, Operand>) -> Slice<'a> {
        Slice { nest, known, loads: None }
    }

    /// Does these loads again, too.
    pub fn with_loads(self, loads: &'a Loads) -> Slice<'a> {
        Slice { loads: Some(loads), ..self }
    }

    /// Returns a number or a condition, if it is made by operations and such loads alone.
    pub fn value(&mut self, a: &Operand, locals: &mut Vec<LocalInfo>, out: &mut Vec<Stmt>) -> Option<Operand> {
        let Some(x) = a.local().filter(|x| self.nest.set.contains(x)) else { return Some(a.clone()) };
        if let Some(known) = self.known.get(&x) {
            return Some(known.clone());
        }
        let value = match self.loads.and_then(|loads| loads.get(&x)) {
            Some((b, place)) => {
                let place = self.value(place, locals, out)?;
                let ty = locals[x.0 as usize].ty;
                let again = Builder { locals }.local(ty);
                out.push(Stmt::Memory(Memory::Load(again, b.clone(), place)));
                again.into()
            }
            None => {
                let (op, args) = self.nest.made.get(&x)?;
                let args = args.iter().map(|arg| self.value(arg, locals, out)).collect::<Option<Vec<_>>>()?;
                Builder { locals }.op(*op, args, out)
            }
        };
        self.known.insert(x, value.clone());
        Some(value)
    }
}
