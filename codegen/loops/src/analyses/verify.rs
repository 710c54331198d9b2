//! Checks all rules of loops: the rules of form, that loops in lanes can run in lanes, and that what a call changes is
//! one argument.

use super::alias::Aliases;
use super::cache::Analyses;
use super::divergence::Divergence;
use super::independence::{FunctionEffects, Independence, bests, carried};
use super::jam;
use crate::ir::{Check, For, Function, Local, Module, Stmt, is_well_formed, well_formed};

/// Checks that a module is well-formed, and that loops in lanes can run in lanes.
///
/// Errors: the first violation, as text for a bug report.
pub fn verify(module: &Module) -> Check {
    well_formed(module)?;
    at_once(module)
}

/// Checks that a call gets what it changes as one argument only.
///
/// Errors: the first violation, as text for a bug report.
pub fn changed_once(module: &Module) -> Check {
    let effects = FunctionEffects::of(module, &mut Analyses::default());
    for function in &module.functions {
        let mut checked = Ok(());
        function.body.visit(&mut |stmt| {
            let Stmt::Call(_, callee, args) = stmt else { return };
            let again = |x: &Local| args.iter().filter(|other| other.local() == Some(*x)).count() > 1;
            if let (Ok(()), Some(x)) = (&checked, stmt.hands_over(&effects.summaries).into_iter().find(again)) {
                let callee = &module.functions[callee.0].name;
                checked = Err(format!("{} gives {x:?} to {callee} twice, which changes it", function.name));
            }
        });
        checked?;
    }
    Ok(())
}

/// Loops in lanes, or whose iterations run side by side, are independent, and have a meaning there.
fn at_once(module: &Module) -> Check {
    let functions: Vec<&Function> = module.functions.iter().filter(|f| has(f, |x| x.lanes > 1 || x.jam > 1)).collect();
    if functions.is_empty() {
        return Ok(());
    }
    let effects = FunctionEffects::of(module, &mut Analyses::default());
    functions.into_iter().try_for_each(|function| at_once_in(module, function, &effects))
}

/// Checks the same of one function, given the effects of those that it calls.
///
/// Errors: as [`verify`].
pub fn at_once_in(module: &Module, function: &Function, effects: &FunctionEffects) -> Check {
    let aliases = Aliases::of(function, &effects.summaries);
    each_loop("at once", function, |looped| {
        let [lanes, jam] = [looped.lanes > 1, looped.jam > 1];
        let dependence = (lanes || jam).then(|| Independence::of(function, &aliases, effects, looped).err());
        let refusal = dependence.flatten().or_else(|| jam.then(|| jam::refusal(looped))?);
        refusal.map_or(Ok(()), |refusal| Err(refusal.to_string()))?;
        in_lanes(function, &aliases, looped)
    })?;
    match has(function, |looped| looped.jam > 1) {
        true => written_out(module, function, effects),
        false => Ok(()),
    }
}

/// Returns what is side by side is written out as late as for LLVM. That keeps the rules, too, and what was in lanes
/// may still be; that iterations are independent is known of those it was made of.
fn written_out(module: &Module, function: &Function, effects: &FunctionEffects) -> Check {
    let function = jam::expanded(function, module.vectors.floats);
    is_well_formed(module, &function)?;
    let aliases = Aliases::of(&function, &effects.summaries);
    each_loop("written out", &function, |looped| in_lanes(&function, &aliases, looped))
}

/// Returns a loop with lanes can run in them.
fn in_lanes(function: &Function, aliases: &Aliases, looped: &For) -> Check {
    if looped.lanes == 1 {
        return Ok(());
    }
    let locals = &function.locals;
    carried(locals, looped).map_err(|refusal| refusal.to_string())?;
    Divergence::of(function, aliases, looped).map_err(|refusal| refusal.to_string())?;
    match bests(locals, looped).iter().all(|best| best.is_ready(locals, looped)) {
        true => Ok(()),
        false => Err("a best element that is carried is not prepared".into()),
    }
}

fn has(function: &Function, is_one: impl Fn(&For) -> bool) -> bool {
    let mut found = false;
    function.body.visit(&mut |stmt| found |= matches!(stmt, Stmt::For(looped) if is_one(looped)));
    found
}

/// Errors: the first, with when it is one.
fn each_loop(when: &str, function: &Function, check: impl Fn(&For) -> Check) -> Check {
    let mut checked = Ok(());
    function.body.visit(&mut |stmt| {
        if let (Ok(()), Stmt::For(looped)) = (&checked, stmt) {
            checked = check(looped);
        }
    });
    checked.map_err(|violation| format!("{when} in {}: {violation}", function.name))
}
