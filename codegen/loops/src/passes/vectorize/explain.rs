//! Explains, for users, what was chosen for each loop, and what it costs as it runs.

use super::cost;
use super::{LaneChoice, LaneChooser, PLAIN, Reason, chooser};
use crate::analyses::cache::Analyses;
use crate::analyses::independence::FunctionEffects;
use crate::analyses::watch::{Iterations, LoopId};
use crate::ir::{Block, For, FunId, Function, Local, Module, Stmt};
use crate::passes::pass::LIKELY;
use rustc_hash::FxHashMap;

/// A loop, and what was chosen for it.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The loop.
    pub id: LoopId,
    /// Its index, as the text of the loops has it: `i%12`.
    pub name: String,
    /// The loop around it in its function, by its place in the list.
    pub inside: Option<usize>,
    /// How many iterations run at once, in the lanes of vectors.
    pub lanes: u32,
    /// Why it has so many lanes.
    pub reason: Option<String>,
    /// What it costs each time that it runs, in units of a simple instruction, of which two begin in a cycle: none for
    /// loops in loops whose iterations run at once, and in functions that are not likely to run.
    pub cost: Option<f64>,
}

/// Returns the loops of a module, in the order of [`Module::all_loops`]. Costs are of loops that make so many iterations;
/// where that is not known, sixteen.
pub fn explain(module: &Module, iterations: &Iterations) -> Vec<Explained> {
    let mut in_order = module.clone();
    in_order.run_in_order();
    let choices = of_each(&in_order, |_, chooser| chooser.choose());
    let costs = of_each(module, |function, mut chooser| {
        let here = iterations.iter().filter(|(id, _)| id.function == function);
        chooser.trips.learn(here.map(|(id, n)| (id.index, *n)));
        let mut running = Running { chooser, costs: FxHashMap::default() };
        running.block_cost(&running.chooser.function.body);
        running.costs
    });
    let mut out = vec![];
    let functions = module.functions.iter().zip(choices).zip(costs).enumerate();
    for (i, ((function, choice), costs)) in functions {
        let reasons = choice.reasons.iter().map(|(index, reason)| (*index, reason)).collect();
        let mut listing = Listing { id: FunId(i), function, choice: &choice, reasons, costs, out: &mut out };
        listing.block(&function.body, None);
    }
    out
}

/// Returns messages for users: for each loop, its number of lanes, or why it has none.
pub fn notes(module: &Module) -> Vec<String> {
    let note = |one: &Explained| {
        let lanes = if one.lanes > 1 { format!(" in {} lanes:", one.lanes) } else { String::new() };
        let function = &module.functions[one.id.function.0].name;
        Some(format!("{function}: for {}:{lanes} {}", one.name, one.reason.as_ref()?))
    };
    explain(module, &Iterations::default()).iter().filter_map(note).collect()
}

/// Returns something of each function, and nothing of those that are not likely to run.
fn of_each<T: Default>(module: &Module, mut of: impl FnMut(FunId, LaneChooser) -> T) -> Vec<T> {
    let mut analyses = Analyses::default();
    let effects = FunctionEffects::of(module, &mut analyses);
    let repeated = module.repeated();
    let each = |(i, function): (usize, &Function)| match LIKELY(function) {
        true => {
            let aliases = analyses.aliases(FunId(i), function, &effects.summaries);
            of(FunId(i), chooser(function, aliases, &effects, module.vectors, module.keeps_order, repeated[i]))
        }
        false => T::default(),
    };
    module.functions.iter().enumerate().map(each).collect()
}

/// Prices loops as they run.
struct Running<'a> {
    chooser: LaneChooser<'a>,
    costs: FxHashMap<Local, f64>,
}

impl Running<'_> {
    fn block_cost(&mut self, block: &Block) -> f64 {
        block.stmts.iter().map(|stmt| self.stmt_cost(stmt)).sum()
    }

    fn stmt_cost(&mut self, stmt: &Stmt) -> f64 {
        let inside = match stmt {
            Stmt::For(looped) => self.loop_cost(looped),
            Stmt::If(_, condition, then, other) => {
                let [often, else_often] = cost::odds(condition, &self.chooser.likely);
                often * self.block_cost(then) + else_often * self.block_cost(other)
            }
            Stmt::Bench { body, .. } => self.block_cost(body),
            _ => 0.0,
        };
        cost::scalar(stmt) + inside
    }

    fn loop_cost(&mut self, looped: &For) -> f64 {
        let cost = if looped.lanes > 1 {
            self.chooser.settled(looped)
        } else {
            self.chooser.around += 1;
            let each = (self.block_cost(&looped.body) + 1.0).max(cost::wait(looped));
            self.chooser.around -= 1;
            let is_plain = super::is_plain(self.chooser.function, looped);
            self.chooser.trips.of(looped) * each * if is_plain { PLAIN } else { 1.0 }
        };
        self.costs.insert(looped.index, cost);
        cost
    }
}

/// Lists the loops of a function.
struct Listing<'a> {
    id: FunId,
    function: &'a Function,
    choice: &'a LaneChoice,
    reasons: FxHashMap<Local, &'a Reason>,
    costs: FxHashMap<Local, f64>,
    out: &'a mut Vec<Explained>,
}

impl Listing<'_> {
    fn block(&mut self, block: &Block, inside: Option<usize>) {
        for stmt in &block.stmts {
            let here = if let Stmt::For(looped) = stmt {
                self.out.push(self.explained(looped, inside));
                Some(self.out.len() - 1)
            } else {
                inside
            };
            stmt.blocks().for_each(|inner| self.block(inner, here));
        }
    }

    fn explained(&self, looped: &For, inside: Option<usize>) -> Explained {
        let index = looped.index;
        let name = self.function.locals[index.0 as usize].name.as_deref().unwrap_or("");
        let is_of_nest = looped.lanes > 1 && !self.choice.lanes.contains_key(&index);
        let reason = self.reasons.get(&index).map(|reason| match reason {
            _ if looped.on_threads => "chunks for threads".to_string(),
            _ if is_of_nest => "its nest is for them".to_string(),
            Reason::Refused(refusal) => refusal.to_string(),
            Reason::Plain => "left to LLVM".to_string(),
            Reason::Order => "sums keep their order".to_string(),
            Reason::Short => "it is short".to_string(),
            Reason::Cost(cost, otherwise) => format!("costs {cost:.0} in lanes, {otherwise:.0} otherwise"),
        });
        Explained {
            id: LoopId { function: self.id, index },
            name: format!("{name}%{}", index.0),
            inside,
            lanes: looped.lanes,
            reason,
            cost: self.costs.get(&index).copied(),
        }
    }
}
