//! Says whether a step that fails, fails with the same error for one element after the other as for one step after the
//! other.
//!
//! If whether it fails depends on the element of data alone, the first element of the state goes through all steps, and
//! comes to the first error. If one operation alone may fail, the error is of that operation in either order. If all that
//! may fail is that an array is too short at a place that no state says, the error is of such an array, but perhaps of
//! another one.

use super::common::mentions;
use super::element::Callee;
use lm::facts::Facts;
use lm::prim::{Effect, Prim};
use lm::term::{Expr, Kind, Op};
use lm::types::Type;
use rustc_hash::FxHashSet;

/// How deep calls are looked into.
const DEEPEST: usize = 3;

/// The operations of a step that may fail.
pub(super) struct Failures<'a> {
    pub(super) facts: &'a Facts,
    pub(super) callee: &'a Callee<'a>,
    /// The names that differ from element to element.
    pub(super) own: &'a FxHashSet<u32>,
    /// Those of them that depend on states.
    pub(super) of_state: &'a FxHashSet<u32>,
    /// How many may fail alike for all elements; where that is not so; and of the latter, places in arrays.
    pub(super) common: usize,
    pub(super) of_elements: usize,
    pub(super) places: usize,
    /// Places that are alike for all elements.
    pub(super) common_places: usize,
}

impl Failures<'_> {
    pub(super) fn come_in_one_order(&self) -> bool {
        let all = self.common + self.of_elements + self.places + self.common_places;
        self.of_elements == 0 && (self.places == 0 || self.common == 0) || all == 1
    }

    /// Counts the operations of a term, which is evaluated for some elements only if `is_own`, and if `by_state` as their
    /// states say.
    pub(super) fn count(&mut self, e: &Expr, is_own: bool, by_state: bool) {
        if matches!(e.kind(), Kind::App(op, args) if self.may_fail(e, op, args, DEEPEST)) {
            let is_own = is_own || mentions(e, self.own);
            let is_place = e.args_of_prim(Prim::Index).is_some() && !by_state && !mentions(e, self.of_state);
            let counter = match (is_own, is_place) {
                (true, true) => &mut self.places,
                (true, false) => &mut self.of_elements,
                (false, true) => &mut self.common_places,
                (false, false) => &mut self.common,
            };
            *counter += 1;
        }
        match e.args_of(&Op::If) {
            Some([c, arms @ ..]) => {
                self.count(c, is_own, by_state);
                let (is_own, by_state) = (is_own || mentions(c, self.own), by_state || mentions(c, self.of_state));
                arms.iter().for_each(|arm| self.count(arm, is_own, by_state));
            }
            _ => e.children().for_each(|child| self.count(child, is_own, by_state)),
        }
    }

    fn may_fail(&self, e: &Expr, op: &Op, args: &[Expr], depth: usize) -> bool {
        let size = |v: &Expr| Expr::prim(Prim::Size, [v.clone()]);
        match op {
            Op::Prim(Prim::Index) => !self.facts.is_below(&args[0], &size(&args[1])),
            Op::Prim(Prim::Build | Prim::SumBuild) => !self.facts.is_natural(&args[args.len() - 2]),
            Op::Prim(Prim::AsSize) => !self.facts.is_natural(&args[0]),
            Op::Prim(Prim::CommonSize) => !self.facts.are_equal(&size(&args[0]), &size(&args[1])),
            Op::Prim(Prim::Div) => *e.ty() == Type::Integer,
            Op::Prim(Prim::Add | Prim::Sub) => e.ty().mentions_array(),
            Op::Prim(p) => p.effect() != Effect::Pure,
            Op::Assert => true,
            Op::Call(f) => (self.callee)(&f.name).is_none_or(|def| {
                let fails = |e: &Expr| {
                    let Kind::App(op, args) = e.kind() else { return false };
                    depth == 0 || self.may_fail(e, op, args, depth - 1)
                };
                def.body.any(fails)
            }),
            _ => false,
        }
    }
}
