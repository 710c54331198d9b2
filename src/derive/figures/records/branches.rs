//! Differentiates conditionals, with a record of the branch that is taken.
//!
//! ```text
//! y = if c then e1 else e2        (y, r) = if c then (e1, r1) else (e2, r2)           ∇[y] = if c then M1(r) else M2(r)
//! ```

use super::plan::plan;
use super::{FLAT_RECORD, Recorded, Recorder, components, vars};
use crate::derive::figures::fig06_jacobian::is_zero;
use crate::derive::partial_eval::Slots;
use lm::prim::Prim;
use lm::scope::{renamed, substitute};
use lm::term::{Binding, Expr, FunName, Op, Pattern, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The reading of the record of a conditional.
pub(in crate::derive::figures) struct Readers {
    /// The bindings of each branch.
    reads: [Vec<Binding>; 2],
    /// The variables of the second branch that share a slot with one of the first.
    renaming: FxHashMap<u32, Expr>,
}

impl Readers {
    /// Returns the conditional of the maps of both branches.
    pub(in crate::derive::figures) fn of(&self, c: &Expr, maps: [Expr; 2]) -> Expr {
        let [yes, no] = maps;
        let (yes, no) = (Expr::block(self.reads[0].clone(), yes), Expr::block(self.reads[1].clone(), no));
        Expr::conditional(c.clone(), yes, substitute(&no, &self.renaming))
    }
}

impl Recorder<'_, '_> {
    /// Differentiates a conditional. The branches share the record, since only one is taken.
    pub(super) fn conditional(&mut self, y: &Var, b: &Binding, c: &Expr, yes: &Expr, no: &Expr) -> Result<(), String> {
        let (yes, no) = (self.parts(yes, false)?, self.parts(no, false)?);
        let maps = [yes.map.clone(), no.map.clone()];
        let readers = self.branches(y, b, c, yes, no);
        let map = readers.of(c, maps);
        let map = if y.ty().has_fixed_shape() { map } else { Expr::prim(Prim::LmTo, [Expr::var(y), map]) };
        self.cx.bind_map(y, map);
        Ok(())
    }

    /// Binds the value of a conditional, and a record of what the maps of the branches read.
    pub(in crate::derive::figures) fn branches(
        &mut self,
        y: &Var,
        b: &Binding,
        c: &Expr,
        yes: Recorded,
        no: Recorded,
    ) -> Readers {
        let value = Expr::var(y);
        let is_zero = is_zero(&yes.map) && is_zero(&no.map);
        let plans = [&yes, &no].map(|branch| {
            let at_hand = branch.where_it_is(&value);
            let plan = plan(&branch.values, &branch.map, &vars(&at_hand));
            (plan.record.clone(), plan.reading(at_hand))
        });
        let [(yes_record, yes_reads), (no_record, no_reads)] = plans;
        let slots = Slots::of(yes_record, no_record);
        if is_zero || slots.vars().is_empty() {
            self.plainly(b);
        } else {
            self.branches_with_records(y, b, c, [(yes, slots.of_first()), (no, slots.of_second())], slots.vars());
        }
        Readers { reads: [yes_reads, no_reads], renaming: slots.renaming() }
    }

    /// Binds the value of a conditional, and the record of the branch that is taken: the variables `slots`. A large
    /// record is one value with a name, so that records of conditionals that nest do not grow with the depth.
    fn branches_with_records(
        &mut self,
        y: &Var,
        b: &Binding,
        c: &Expr,
        branches: [(Recorded, Vec<Expr>); 2],
        slots: Vec<Var>,
    ) {
        let name = (components(&slots) > FLAT_RECORD).then(|| Arc::new(self.record_name(y)));
        let [yes, no] = branches.map(|(branch, record)| {
            let record = match &name {
                Some(name) => vec![Expr::app(Op::Pack(name.clone()), vec![Expr::tuple(record)])],
                None => record,
            };
            let result = Expr::tuple([vec![branch.value], record].concat());
            renamed(&Expr::block(branch.values, result), self.cx.supply)
        });
        let rhs = Expr::conditional(c.clone(), yes, no).at(b.rhs.span());
        let Some(name) = name else {
            self.cx.out.push(Binding { pattern: Pattern::Tuple([vec![y.clone()], slots].concat()), rhs });
            return;
        };
        let r = self.cx.supply.fresh("r", Type::Record(name));
        let unpacked = Type::tuple(slots.iter().map(|x| x.ty().clone()));
        let unpack = Expr::app(Op::Unpack(unpacked), vec![Expr::var(&r)]);
        self.cx.out.push(Binding { pattern: Pattern::Tuple(vec![y.clone(), r]), rhs });
        self.cx.out.push(Binding { pattern: Pattern::Tuple(slots), rhs: unpack });
    }

    /// Returns a name for the record of a conditional, which gives `y`.
    fn record_name(&self, y: &Var) -> FunName {
        FunName::base(&format!("{}$if{}", self.name.as_written(), y.id()))
    }
}
