//! Decides which values of a block are recorded, for a map that reads some of them.
//!
//! The cost of computing a value again decides:
//!
//! | weight | terms | |
//! | --- | --- | --- |
//! | `Nothing` | constants, other names, tuples, the values of a record with a name | remade from parts, recorded if needed |
//! | `Little` | components, elements, sizes, integer arithmetic, comparisons; conditionals and assertions of such | recomputed |
//! | `Work` | all else: arithmetic, calls, loops, conditionals | recorded |
//!
//! Remaking a tuple is as good as recording it, since it is no larger than its parts. A component or an
//! element is smaller than its whole. So it is recomputed only if the whole is available: bound outside, recorded for
//! another value, or recomputed itself.

use lm::prim::Prim;
use lm::scope::free_variables;
use lm::term::{Binding, Expr, Kind, Op, Pattern, Var};
use lm::types::Type;
use rustc_hash::FxHashSet;

/// The values of a block that a map reads, and where each one comes from.
pub struct Plan {
    /// Recorded, in the order in which they are computed.
    pub record: Vec<Var>,
    /// Recomputed, in that order.
    pub again: Vec<Binding>,
}

impl Plan {
    /// Returns the bindings that read available values, and then recompute others; each value once.
    pub fn reading(&self, at_hand: Vec<Binding>) -> Vec<Binding> {
        let is_made = |x: &Var| self.again.iter().any(|b| b.pattern.vars().contains(x));
        let read = at_hand.into_iter().filter(|b| !b.pattern.vars().iter().any(is_made));
        read.chain(self.again.iter().cloned()).collect()
    }
}

/// Plans for a reader inside the scope of a block. The variables `at_hand` can be read without being recorded,
/// although the block binds them.
pub fn plan(values: &[Binding], reader: &Expr, at_hand: &[Var]) -> Plan {
    plan_elsewhere(&[], values, reader, at_hand)
}

/// Plans for a reader outside the scope of a block with parameters.
pub fn plan_elsewhere(params: &[Var], values: &[Binding], reader: &Expr, at_hand: &[Var]) -> Plan {
    let inside = values.iter().flat_map(|b| b.pattern.vars());
    let bound: FxHashSet<u32> = inside.chain(params).map(Var::id).collect();
    let given: FxHashSet<u32> = at_hand.iter().map(Var::id).collect();
    let free = free_to_make(values, &bound, &given);
    let mut needed: FxHashSet<u32> = free_variables(reader).iter().map(Var::id).collect();
    let mut plan = Plan { record: Vec::new(), again: Vec::new() };
    for b in values.iter().rev() {
        let used: Vec<&Var> = b.pattern.vars().iter().filter(|x| needed.contains(&x.id())).collect();
        if used.iter().all(|x| given.contains(&x.id())) {
            continue;
        }
        let there = |x: &Var| !bound.contains(&x.id()) || free.contains(&x.id()) || needed.contains(&x.id());
        let is_made_again = match weight(b) {
            Weight::Nothing => true,
            Weight::Little => free_variables(&b.rhs).iter().all(there),
            Weight::Work => false,
        };
        if is_made_again {
            needed.extend(free_variables(&b.rhs).iter().map(Var::id));
            plan.again.push(b.clone());
        } else {
            plan.record.extend(used.into_iter().rev().filter(|x| !given.contains(&x.id())).cloned());
        }
    }
    plan.record.extend(params.iter().rev().filter(|x| needed.contains(&x.id())).cloned());
    plan.record.reverse();
    plan.again.reverse();
    plan
}

/// Returns the variables that need no record: the available ones, and values made of them and of outer variables.
fn free_to_make(values: &[Binding], bound: &FxHashSet<u32>, at_hand: &FxHashSet<u32>) -> FxHashSet<u32> {
    let mut free = at_hand.clone();
    for b in values.iter().filter(|b| weight(b) != Weight::Work) {
        if free_variables(&b.rhs).iter().all(|x| !bound.contains(&x.id()) || free.contains(&x.id())) {
            free.extend(b.pattern.vars().iter().map(Var::id));
        }
    }
    free
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    Nothing,
    Little,
    Work,
}

fn weight(b: &Binding) -> Weight {
    match b.rhs.kind() {
        Kind::Const(_) | Kind::App(Op::Dummy, _) => Weight::Nothing,
        Kind::Var(_) if b.pattern.vars().len() == 1 => Weight::Nothing,
        Kind::Var(_) | Kind::App(Op::Get(..), _) => Weight::Little,
        Kind::App(Op::Tuple | Op::Unpack(_), _) => Weight::Nothing,
        Kind::App(Op::Prim(p), args) if is_light(*p, args) => Weight::Little,
        Kind::App(Op::If | Op::Assert, args) if args[1..].iter().all(is_light_block) => Weight::Little,
        Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => Weight::Work,
    }
}

/// Returns whether no term of a branch costs more.
fn is_light_block(e: &Expr) -> bool {
    let (bindings, result) = e.as_block();
    let result = Binding { pattern: Pattern::Tuple(Vec::new()), rhs: result.clone() };
    bindings.iter().chain([&result]).all(|b| weight(b) != Weight::Work)
}

/// Returns whether the primitive takes a few instructions on such arguments, whatever their size.
fn is_light(p: Prim, args: &[Expr]) -> bool {
    let scalars = args.iter().all(|a| matches!(a.ty(), Type::Float | Type::Integer | Type::Bool));
    let integers = args.iter().all(|a| *a.ty() == Type::Integer);
    match p {
        Prim::Index | Prim::Size => true,
        Prim::Add | Prim::Sub | Prim::Mul | Prim::Neg => integers,
        Prim::Gt | Prim::Lt | Prim::Gte | Prim::Lte | Prim::Eq | Prim::Ne => scalars,
        Prim::And | Prim::Or | Prim::Not | Prim::ToFloat | Prim::BoolToFloat => true,
        _ => false,
    }
}

/// The work of the loop that records, and of the loop that computes the value.
pub struct Stages {
    /// The variables besides the record that the second loop reads.
    pub extra: Vec<Var>,
    /// The bindings of the first loop.
    pub first: Vec<Binding>,
    /// The bindings of the second loop.
    pub second: Vec<Binding>,
}

/// Cuts a block into two stages. The first computes the record; the second reads it and computes the
/// result. What shows when it is evaluated (`shows`) is in the first.
pub fn stages(values: &[Binding], result: &Expr, record: &[Var], shows: &dyn Fn(&Expr) -> bool) -> Stages {
    let mut early: FxHashSet<u32> = record.iter().map(Var::id).collect();
    let mut first = Vec::new();
    for b in values.iter().rev() {
        if shows(&b.rhs) || b.pattern.vars().iter().any(|x| early.contains(&x.id())) {
            early.extend(b.pattern.vars().iter().chain(&free_variables(&b.rhs)).map(Var::id));
            first.push(b.clone());
        }
    }
    first.reverse();
    let mut late: FxHashSet<u32> = free_variables(result).iter().map(Var::id).collect();
    let (mut extra, mut second) = (Vec::new(), Vec::new());
    for b in values.iter().rev() {
        let is_wanted = |x: &&Var| late.contains(&x.id()) && !record.contains(x);
        let wanted: Vec<Var> = b.pattern.vars().iter().filter(is_wanted).cloned().collect();
        if wanted.is_empty() {
            continue;
        }
        let is_early = b.pattern.vars().iter().any(|x| early.contains(&x.id()));
        if is_early && weight(b) == Weight::Work {
            extra.extend(wanted);
        } else {
            late.extend(free_variables(&b.rhs).iter().map(Var::id));
            second.push(b.clone());
        }
    }
    second.reverse();
    Stages { extra, first, second }
}
