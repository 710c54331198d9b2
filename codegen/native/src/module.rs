//! Holds a compiled program: its loops, and on demand the output of LLVM.

use crate::emit::{Request, Telling};
use crate::error::Error;
use crate::libmvec;
use crate::llvm_codegen::{OutputForm, generate};
use crate::options::{Math, Options};
use crate::source::SourceInfo;
use crate::target::Target;
use lm::sizes::Signature;
use lm::term::{Def, Fun, FunName, Program};
use loops::analyses::slices::{Slices, Wanted};
use loops::analyses::watch::Iterations;
use loops::interface::{Interface, Parameter, external_parameters};
use loops::ir;
use loops::ir::FunId;
use loops::lower::{Outside, lower};
use loops::passes;
use loops::passes::vectorize::Explained;
use loops::specialise::specialise;
use loops::symbol::{Symbol, check_c_names, symbols};
use std::sync::Arc;

/// A function that the outside can call.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The definition.
    pub def: Def,
    /// Its symbols.
    pub symbol: Symbol,
    /// What its types say of sizes.
    pub sizes: Option<Signature>,
}

/// A function that others define, with its inputs and outputs where C knows them.
pub(crate) type External = (Arc<Fun>, Option<[Vec<Parameter>; 2]>);

/// A program on its way to native code.
#[derive(Clone, Debug)]
pub struct Module {
    loops: ir::Module,
    entries: Vec<Entry>,
    outside: Vec<Outside>,
    externals: Vec<External>,
    source: SourceInfo,
    options: Options,
}

/// Lowers the entries and all that they call.
///
/// Only the entries get symbols. Errors: a function is not defined or has no native form; two entries
/// want one symbol; the processor, level or pass is unknown.
pub fn compile(
    program: &Program,
    entries: &[FunName],
    source: &SourceInfo,
    options: &Options,
) -> Result<Module, Error> {
    let target = Target::new(options.target_cpu.as_deref(), options.opt_level)?;
    let entries: indexmap::IndexSet<FunName> = entries.iter().cloned().collect();
    let entries: Vec<FunName> = entries.into_iter().collect();
    let keeps_order = options.math == Math::Exact;
    let (mut loops, mut outside) = options.timings.time("lowering", || lower(program, &entries, keeps_order))?;
    loops.vectors = options.lanes.vectors_for(target.doubles());
    loops.forward = options.forward;
    specialise(&mut loops, program, &entries, &options.specialise)?;
    passes::run(&mut loops, &options.passes, options.checks, &options.timings)?;
    // Passes may have numbered the functions anew.
    for (interface, function) in outside.iter_mut().flatten().zip(&loops.exported[entries.len()..]) {
        interface.function = *function;
    }
    let mut symbols = symbols(&entries, &loops.externals())?;
    for (symbol, outside) in symbols.iter_mut().zip(&outside) {
        if !outside.as_ref().is_ok_and(Interface::has_tensors) {
            symbol.workspace.clear();
        }
    }
    let entry = |(name, symbol)| {
        let def = program.defs[&name].clone();
        Entry { sizes: program.signature(&def.fun), def, symbol }
    };
    let entries = entries.into_iter().zip(symbols).map(entry).collect();
    let external = |fun: &Arc<Fun>| (fun.clone(), external_parameters(program, fun));
    let externals = program.externals.values().map(external).collect();
    Ok(Module { loops, entries, outside, externals, source: source.clone(), options: options.clone() })
}

impl Module {
    /// Returns the functions that have symbols.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the entry of a function, when it is one.
    pub fn entry(&self, name: &FunName) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.def.fun.name == *name)
    }

    /// Returns the functions that the program declares and others define.
    pub(crate) fn externals(&self) -> &[External] {
        &self.externals
    }

    /// Returns how it is compiled.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Describes, for users, how many iterations of each loop run at once, or why they run one after the other.
    pub fn lanes(&self) -> Vec<String> {
        passes::vectorize::notes(&self.loops)
    }

    /// Tells, for users, what was chosen for each loop and what it costs, where loops make so many iterations.
    pub fn explained(&self, iterations: &Iterations) -> Vec<Explained> {
        passes::vectorize::explain(&self.loops, iterations)
    }

    /// Describes, for users, how Floats are computed.
    ///
    /// Errors: those of [`compile`].
    pub fn math(&self) -> Result<String, Error> {
        let target = Target::new(self.options.target_cpu.as_deref(), self.options.opt_level)?;
        Ok(match self.options.math {
            Math::Exact => "exact: functions of libm".into(),
            Math::Fast => format!("fast: {}", libmvec::note(target.doubles())),
        })
    }

    /// Returns the lowered program, after the passes, to prepare it for code that tells something of itself.
    pub(crate) fn loops_mut(&mut self) -> &mut ir::Module {
        &mut self.loops
    }

    /// Returns the lowered program, after the passes.
    pub fn loops(&self) -> &ir::Module {
        &self.loops
    }

    /// Returns the entries as C calls them.
    ///
    /// Errors: [`Error::NoInterface`], and two functions of one name in C.
    pub(crate) fn interfaces(&self) -> Result<Vec<&Interface>, Error> {
        let interface = |(entry, outside): (&Entry, &'_ Outside)| match outside {
            Ok(_) => Ok(()),
            Err(ty) => Err(Error::NoInterface(entry.def.fun.name.clone(), ty.clone())),
        };
        self.entries.iter().zip(&self.outside).try_for_each(interface)?;
        let interfaces: Vec<&Interface> = self.outside.iter().flatten().collect();
        let names = self.entries.iter().map(|entry| &entry.def.fun.name);
        check_c_names(names.zip(interfaces.iter().map(|i| i.has_tensors())), &self.loops.externals())?;
        Ok(interfaces)
    }

    /// Returns where the program came from.
    pub fn source(&self) -> &SourceInfo {
        &self.source
    }

    /// Returns the optimised code; with `packed`, the form of the entries that the JIT calls as well.
    pub(crate) fn code(&self, form: OutputForm, packed: bool) -> Result<Vec<u8>, Error> {
        self.make(form, packed, Telling::Nothing, false)
    }

    /// An object with the packed form of the entries, which tells something of itself.
    pub(crate) fn telling_code(&self, telling: Telling) -> Result<Vec<u8>, Error> {
        self.make(OutputForm::Object, true, telling, false)
    }

    /// Returns an object with the packed form of the entries, and of the queries of their workspaces.
    pub(crate) fn asking_code(&self) -> Result<Vec<u8>, Error> {
        self.make(OutputForm::Object, true, Telling::Nothing, true)
    }

    /// Returns the slices that tell the workspaces of the entries, as the JIT calls them or as C does.
    fn slices(&self, packed: bool) -> Slices {
        let wanted = |(i, outside): (usize, &Outside)| match outside {
            _ if packed => Some(Wanted { function: FunId(i), absent: vec![] }),
            Ok(interface) if interface.has_tensors() => {
                Some(Wanted { function: interface.function, absent: interface.storage_flags() })
            }
            _ => None,
        };
        let wanted: Vec<Option<Wanted>> = self.outside.iter().enumerate().map(wanted).collect();
        Slices::of(&self.loops, &wanted)
    }

    fn make(&self, form: OutputForm, packed: bool, telling: Telling, queries: bool) -> Result<Vec<u8>, Error> {
        if !packed {
            self.interfaces()?;
        }
        let target = Target::new(self.options.target_cpu.as_deref(), self.options.opt_level)?;
        let symbols: Vec<Symbol> = self.entries.iter().map(|entry| entry.symbol.clone()).collect();
        let slices = (!packed || queries).then(|| self.options.timings.time("workspaces", || self.slices(packed)));
        let module = slices.as_ref().map_or(&self.loops, |slices| &slices.module);
        let (source, interfaces, slices, symbols) = (&self.source, &self.outside, slices.as_ref(), &symbols);
        let Options { math, grain, .. } = self.options;
        let target = &target;
        let request = Request { module, symbols, interfaces, source, target, math, grain, packed, telling, slices };
        generate(&request, form, &self.options)
    }
}
