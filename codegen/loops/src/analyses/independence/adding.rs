//! Finds the parameters that a function adds to, and uses for nothing else.

use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::cache::Analyses;
use crate::analyses::roots::Roots;
use crate::ir::{Function, Memory, Module, Operand, Stmt};
use std::collections::BTreeSet;

/// Returns, for each function, the parameters that it only adds to. Memory inside a parameter counts, too. The function
/// neither reads these parameters nor returns them.
pub(super) fn added(module: &Module, summaries: &[Summary], analyses: &mut Analyses) -> Vec<BTreeSet<usize>> {
    let mut added = vec![BTreeSet::new(); module.functions.len()];
    for id in module.callees_first() {
        let function = &module.functions[id.0];
        // Of a recursive one nothing is known yet.
        let aliases = analyses.aliases(id, function, summaries);
        let is_added = |i: &usize| {
            let place = aliases.reach(function.params[*i]);
            only_adds(function, &aliases, &place, &added)
        };
        let found = summaries[id.0].written.iter().copied().filter(is_added).collect();
        added[id.0] = found;
    }
    added
}

fn only_adds(function: &Function, aliases: &Aliases, place: &Roots, added: &[BTreeSet<usize>]) -> bool {
    let shows = |a: &Operand| a.local().is_some_and(|x| aliases.shows(x, place));
    let holds = |a: &Operand| is_buffer(function, a) && a.local().is_some_and(|x| !aliases.reach(x).is_disjoint(place));
    let mut only = !function.body.results.iter().any(holds);
    function.body.visit(&mut |stmt| {
        only &= match stmt {
            Stmt::Memory(Memory::Add(..)) => true,
            Stmt::Memory(Memory::Load(x, b, _)) => is_buffer(function, &Operand::Local(*x)) || !shows(b),
            Stmt::Memory(Memory::Store(b, ..) | Memory::Zero(b, _)) => !shows(b),
            Stmt::Memory(Memory::Move { to, from, .. }) => !shows(to) && !shows(from),
            Stmt::Call(_, callee, args) => {
                let is_fine = |(i, a): (usize, &Operand)| !holds(a) || added[callee.0].contains(&i);
                args.iter().enumerate().all(is_fine)
            }
            Stmt::External { .. } => !stmt.operands().into_iter().any(holds),
            Stmt::Let(..)
            | Stmt::If(..)
            | Stmt::For(_)
            | Stmt::Bench { .. }
            | Stmt::Check { .. }
            | Stmt::Write(_)
            | Stmt::Memory(_) => true,
        };
    });
    only
}

fn is_buffer(function: &Function, a: &Operand) -> bool {
    function.ty(a).as_scalar().is_none()
}
