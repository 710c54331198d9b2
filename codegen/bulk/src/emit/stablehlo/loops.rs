//! Loops: `while` with a counter, the state, a buffer for each value that is kept, and the status.
//!
//! ```text
//! loop n s (λ i s. (s', kept))  =  while (i, s, buffer) = (0, s, 0) cond i < n
//!                                  do (i + 1, s', dynamic_update_slice buffer kept i)
//! ```

use super::{Printer, Ty, Val};
use crate::ir::{Block, Id};
use rustc_hash::FxHashMap;

impl Printer<'_> {
    pub(super) fn repeat(&mut self, id: Id, args: &[Id], body: &Block) {
        let states = args.len() - 1;
        let kept: Vec<(usize, Id)> = self.plan.parts(id).into_iter().filter(|&(k, _)| k >= states).collect();
        let start: Vec<Val> = args[1..].iter().map(|&arg| self.value(arg)).collect();
        let buffers: Vec<Ty> = kept.iter().map(|&(_, part)| self.ty(part)).collect();
        // A buffer of no elements has no place for the values of a step.
        let has_no_steps = self.plan.integer(args[0]).is_some_and(|n| n <= 0);
        let mut parts: Vec<Option<Val>> = vec![None; body.results.len()];
        let mut carried = vec![self.integer(0)];
        carried.extend(start);
        carried.extend(buffers.iter().map(|ty| self.zeros(ty)).collect::<Vec<_>>());
        let last = match has_no_steps {
            true => carried,
            false => self.steps(args[0], body, states, &kept, carried),
        };
        for (k, value) in last.into_iter().skip(1).enumerate() {
            let place = if k < states { k } else { kept[k - states].0 };
            parts[place] = Some(value);
        }
        self.parts.insert(id, parts);
    }

    /// Writes the loop, and returns what it carries in the end, but for the status.
    fn steps(&mut self, n: Id, body: &Block, states: usize, kept: &[(usize, Id)], mut carried: Vec<Val>) -> Vec<Val> {
        let function = self.function;
        let has_status = self.plan.may_fail(function, body);
        if has_status {
            carried.push(self.status());
        }
        let (n, one) = (self.value(n), self.integer(1));
        let whole = self.names.fresh("loop");
        // The counter is the first.
        let other = |k: usize| if k == 0 { "i" } else { "s" };
        let name = |(k, &id): (usize, &Id)| function.node(id).name.as_deref().unwrap_or(other(k));
        let hints: Vec<&str> = body.parameters.iter().enumerate().map(name).collect();
        let mut inner: Vec<Val> = Vec::new();
        for (k, value) in carried.iter().enumerate() {
            let other = if has_status && k + 1 == carried.len() { "status" } else { "kept" };
            let hint = hints.get(k).copied().unwrap_or(other);
            inner.push(Val { name: self.names.fresh(hint), ty: value.ty.clone() });
        }
        let pairs: Vec<String> =
            inner.iter().zip(&carried).map(|(x, start)| format!("{} = {}", x.name, start.name)).collect();
        let types: Vec<String> = carried.iter().map(|value| value.ty.to_string()).collect();
        self.line(format!("{whole}:{} = stablehlo.while({}) : {}", carried.len(), pairs.join(", "), types.join(", ")));
        self.open("cond {");
        self.hint = "goes_on".into();
        let goes_on = self.compare("LT", &inner[0], &n);
        self.give(&[goes_on]);
        self.close("} do {");
        self.depth += 1;
        self.constants.push(FxHashMap::default());
        let outer = self.status.clone();
        self.status = inner.last().filter(|_| has_status).cloned();
        body.parameters.iter().zip(&inner).for_each(|(&id, value)| {
            self.values.insert(id, value.clone());
        });
        self.loops += 1;
        self.block(body);
        self.loops -= 1;
        self.hint = "next".into();
        let mut next = vec![self.alike("stablehlo.add", &[&inner[0], &one])];
        for &result in &body.results[..states] {
            next.push(self.value(result));
        }
        for (k, &(result, _)) in kept.iter().enumerate() {
            let value = self.value(body.results[result]);
            next.push(self.stored(&inner[1 + states + k], &value, &inner[0]));
        }
        if has_status {
            next.push(self.status());
        }
        self.status = outer;
        self.give(&next);
        self.close("}");
        let of = |(k, value): (usize, Val)| Val { name: format!("{whole}#{k}"), ty: value.ty };
        let mut last: Vec<Val> = carried.into_iter().enumerate().map(of).collect();
        if has_status {
            self.status = last.pop();
        }
        last
    }

    fn open(&mut self, text: &str) {
        self.line(text);
        self.depth += 1;
        self.constants.push(FxHashMap::default());
    }

    fn close(&mut self, text: &str) {
        self.depth -= 1;
        self.constants.pop();
        self.line(text);
    }

    /// Returns a buffer with a value at place i of its first axis.
    fn stored(&mut self, buffer: &Val, value: &Val, i: &Val) -> Val {
        let one = [vec![1], value.ty.dims.clone()].concat();
        let row = self.reshaped(value, one);
        let zero = self.integer(0);
        let mut starts = vec![i];
        starts.extend(value.ty.dims.iter().map(|_| &zero));
        self.updated(buffer, &row, &starts)
    }
}
