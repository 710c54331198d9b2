//! Defines a pass: a row with a name, and work on one function or on all of them.
//!
//! A [`FunctionPass`] gets the functions one after the other in a [`FunctionCx`], which gives it analyses. Facts about
//! other functions are those from before the pass began. Passes that look into other functions, or make some, are
//! [`PassWork::Module`].

use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::cache::Analyses;
use crate::analyses::effects::Callees;
use crate::analyses::independence::FunctionEffects;
use crate::ir::{Block, Forward, FunId, Function, Module, Vectors};
use std::rc::Rc;

/// Decides where indices and sizes are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    /// Where the program has the checks.
    Full,
    /// Before loops where that is enough, and not at all where it is known that they hold. Errors are the same.
    #[default]
    Hoisted,
    /// Nowhere: unsafe. A program that would stop with such an error does anything at all.
    None,
}

/// A pass.
pub struct Pass {
    /// Its name on the command line.
    pub name: &'static str,
    /// The purpose of the pass, with a verb first.
    pub purpose: &'static str,
    /// Whether it may round in another way: add up a sum in another order, say.
    pub reorders: bool,
    /// Returns whether it runs.
    pub(super) when: fn(Checks) -> bool,
    pub(super) work: PassWork,
}

/// The work of a pass, on one function or on all.
pub(super) enum PassWork {
    /// On all functions at once.
    Module(fn(&mut ModuleCx)),
    /// On one function after the other.
    Function(FunctionPass),
}

/// Work on one function.
pub(super) struct FunctionPass {
    /// Returns whether it works on a function.
    pub(super) of: fn(&Function) -> bool,
    /// The facts of other functions that the pass asks for.
    pub(super) asks: Asks,
    pub(super) run: fn(&mut FunctionCx),
}

/// The facts that a pass asks for about callees of the current function.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Asks {
    /// No facts.
    Nothing,
    /// The parameters that callees write to, and whether they take memory. Aliases follow from that.
    Callees,
    /// The same, and what they add to, print or measure. Independence follows from that.
    Effects,
}

/// Every function.
pub(super) const ALL: fn(&Function) -> bool = |_| true;
/// The functions of the program, but not those that C calls: their buffers may be one twice.
pub(super) const OURS: fn(&Function) -> bool = |function| !function.c_wrapper;
/// Selects the functions that are likely to run.
pub(super) const LIKELY: fn(&Function) -> bool = |function| !function.c_wrapper && !function.cold;
/// Selects the functions that do not call themselves.
pub(super) const NOT_RECURSIVE: fn(&Function) -> bool = |function| !function.c_wrapper && !function.recursive;

/// Statements beyond which a loop runs in the lanes of one vector. The body of a wide loop is made twice, and each of
/// its vectors is several of the processor's: LLVM took four seconds for such a loop of 1,500 statements.
pub(super) const LONGEST_WIDE: usize = 500;

/// A module, with analyses of its functions.
pub(super) struct ModuleCx<'a> {
    pub(super) module: &'a mut Module,
    pub(super) analyses: &'a mut Analyses,
}

/// How the module of a function is compiled.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub(super) forward: Forward,
    pub(super) keeps_order: bool,
    pub(super) vectors: Vectors,
}

/// A function, with what is known of it and of the functions that it calls.
pub(super) struct FunctionCx<'a> {
    pub(super) id: FunId,
    pub(super) function: &'a mut Function,
    pub(super) settings: Settings,
    others: &'a Others,
    analyses: &'a mut Analyses,
}

/// Holds what is known of all functions, as they were before the pass.
struct Others {
    effects: FunctionEffects,
    takes: Vec<bool>,
    repeated: Vec<bool>,
}

impl<'a> FunctionCx<'a> {
    /// Returns which buffers of the function may share memory, as it is now.
    pub(super) fn aliases(&mut self) -> Rc<Aliases> {
        self.analyses.aliases(self.id, self.function, &self.others.effects.summaries)
    }

    /// Returns a summary of each function.
    pub(super) fn summaries(&self) -> &'a [Summary] {
        &self.others.effects.summaries
    }

    /// Returns a summary of each function, and whether it takes memory.
    pub(super) fn callees(&self) -> Callees<'a> {
        Callees { summaries: &self.others.effects.summaries, takes: &self.others.takes }
    }

    /// Returns what each function does, as far as others can tell.
    pub(super) fn effects(&self) -> &'a FunctionEffects {
        &self.others.effects
    }

    /// Returns whether the function may run more than once in a call of an entry: others call it in loops, or it calls
    /// itself.
    pub(super) fn is_repeated(&self) -> bool {
        self.others.repeated[self.id.0]
    }

    /// Changes the body, with the rest of the function at hand.
    pub(super) fn rewrite<T>(&mut self, change: impl FnOnce(&mut Block, &mut Function) -> T) -> T {
        let mut body = std::mem::take(&mut self.function.body);
        let result = change(&mut body, self.function);
        self.function.body = body;
        result
    }
}

impl FunctionPass {
    fn run(&self, module: &mut Module, analyses: &mut Analyses) {
        let others = Others::collect(module, self.asks, analyses);
        let settings = Settings { forward: module.forward, keeps_order: module.keeps_order, vectors: module.vectors };
        for (i, function) in module.functions.iter_mut().enumerate().filter(|(_, function)| (self.of)(function)) {
            (self.run)(&mut FunctionCx { id: FunId(i), function, settings, others: &others, analyses });
        }
    }
}

impl Others {
    fn collect(module: &Module, asks: Asks, analyses: &mut Analyses) -> Others {
        let effects = match asks {
            Asks::Nothing => FunctionEffects::default(),
            Asks::Callees => FunctionEffects::of_summaries(analyses.summaries(module)),
            Asks::Effects => FunctionEffects::of(module, analyses),
        };
        let takes = module.functions.iter().map(|function| function.allocates).collect();
        Others { effects, takes, repeated: module.repeated() }
    }
}

impl PassWork {
    /// Does the work.
    pub(super) fn run(&self, module: &mut Module, analyses: &mut Analyses) {
        match self {
            PassWork::Module(run) => run(&mut ModuleCx { module, analyses }),
            PassWork::Function(pass) => pass.run(module, analyses),
        }
    }
}
