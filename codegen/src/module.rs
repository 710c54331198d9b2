//! A compiled program: loops, and on demand what LLVM makes of them.

use crate::emit::Request;
use crate::emit::target::Target;
use crate::error::Error;
use crate::generate::{Form, made};
use crate::interface::Interface;
use crate::libmvec;
use crate::loops::{self, Forward, FunId, Vectors};
use crate::lower::{Outside, lower};
use crate::passes::{self, Checks, Selection};
use crate::slices::{Slices, Wanted};
use crate::source::SourceInfo;
use crate::specialise::{Known, specialise};
use crate::symbol::{Symbol, symbols};
use lm::term::{Def, FunName, Program};
use lm::timing::Timings;
use std::path::PathBuf;

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    /// 0 to 3, as LLVM's: see `pipeline`.
    pub opt_level: u8,
    /// A processor as LLVM names it (`x86-64-v3`); none, or `native`, for the one at hand.
    pub target_cpu: Option<String>,
    /// Objects, archives and libraries that have the program's external functions; the JIT takes shared
    /// libraries only.
    pub link: Vec<PathBuf>,
    /// Where indices and sizes are checked.
    pub checks: Checks,
    /// Whether what a derivative needs of the value's computation is stored or computed again.
    pub forward: Forward,
    /// How Floats are computed.
    pub math: Math,
    /// How many iterations of a loop run at once.
    pub lanes: Lanes,
    /// The least work of a chunk of a loop on threads, in units of about a quarter of a nanosecond, 1 to 2^18: see
    /// `docs/threads.md`. How sums are divided depends on it. [`Options::GRAIN`] suits threads; with 1, short loops are
    /// divided, too, for tests.
    pub grain: u64,
    /// Which passes over loops run.
    pub passes: Selection,
    /// What is known of arguments: the entries that have them check it, and are compiled for it.
    pub specialise: Vec<Known>,
    /// Where the times of lowering, of passes, of LLVM and of linking are added.
    pub timings: Timings,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            opt_level: 2,
            target_cpu: None,
            link: Vec::new(),
            checks: Checks::default(),
            forward: Forward::default(),
            math: Math::default(),
            lanes: Lanes::default(),
            grain: Options::GRAIN,
            passes: Selection::default(),
            specialise: Vec::new(),
            timings: Timings::default(),
        }
    }
}

impl Options {
    /// What makes a chunk worth a thread: about 3 us.
    pub const GRAIN: u64 = 12_500;

    /// For code whose results are the interpreter's to the bit.
    pub fn exact() -> Options {
        Options { math: Math::Exact, lanes: Lanes::Off, ..Options::default() }
    }
}

/// How Floats are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Math {
    /// As the program says: sums in its order, each operation rounded, functions of libm.
    Exact,
    /// Sums in the order that vectors like; in lanes, exp in line, at most 1 ulp off libm's; on other vectors, and for
    /// other functions, libmvec, at most 4 ulp off. What is computed is the same in each run on one kind of machine.
    #[default]
    Fast,
}

/// How many iterations of a loop run at once, in the lanes of vectors. See `docs/lanes.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lanes {
    /// As many as suit the loop and the processor.
    #[default]
    Auto,
    /// One after the other.
    Off,
    /// So many, a power of two from 2 to [`Lanes::MOST`], in loops that can.
    Width(u32),
}

impl Lanes {
    /// The most that a loop may have.
    pub const MOST: u32 = 64;

    /// What loops run in, given how many Floats a vector holds.
    fn of(self, floats: u32) -> Vectors {
        match self {
            Lanes::Off => Vectors::default(),
            Lanes::Auto => Vectors { floats, lanes: None },
            Lanes::Width(lanes) => Vectors { floats, lanes: Some(lanes) },
        }
    }
}

/// A function that the outside can call.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The definition.
    pub def: Def,
    /// Its symbols.
    pub symbol: Symbol,
}

/// A program on its way to native code.
#[derive(Clone, Debug)]
pub struct Module {
    loops: loops::Module,
    entries: Vec<Entry>,
    outside: Vec<Outside>,
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
    let (mut loops, mut outside) = options.timings.time("lowering", || lower(program, &entries))?;
    loops.vectors = options.lanes.of(target.doubles());
    loops.forward = options.forward;
    loops.keeps_order = options.math == Math::Exact;
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
    let entry = |(name, symbol)| Entry { def: program.defs[&name].clone(), symbol };
    let entries = entries.into_iter().zip(symbols).map(entry).collect();
    Ok(Module { loops, entries, outside, source: source.clone(), options: options.clone() })
}

impl Module {
    /// The functions that have symbols.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of a function, when it is one.
    pub fn entry(&self, name: &FunName) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.def.fun.name == *name)
    }

    /// How it is compiled.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// For people: of each loop, how many iterations of it run at once, or why it runs one after the other.
    pub fn lanes(&self) -> Vec<String> {
        passes::lanes::notes(&self.loops)
    }

    /// For people: how Floats are computed.
    ///
    /// Errors: those of [`compile`].
    pub fn math(&self) -> Result<String, Error> {
        let target = Target::new(self.options.target_cpu.as_deref(), self.options.opt_level)?;
        Ok(match self.options.math {
            Math::Exact => "exact: functions of libm".into(),
            Math::Fast => format!("fast: {}", libmvec::note(target.doubles())),
        })
    }

    /// The lowered program, after the passes.
    pub fn loops(&self) -> &loops::Module {
        &self.loops
    }

    /// The entries as C calls them.
    ///
    /// Errors: [`Error::NoInterface`].
    pub(crate) fn interfaces(&self) -> Result<Vec<&Interface>, Error> {
        let interface = |(entry, outside): (&Entry, &'_ Outside)| match outside {
            Ok(_) => Ok(()),
            Err(ty) => Err(Error::NoInterface(entry.def.fun.name.to_string(), ty.to_string())),
        };
        self.entries.iter().zip(&self.outside).try_for_each(interface)?;
        Ok(self.outside.iter().flatten().collect())
    }

    /// Where the program came from.
    pub fn source(&self) -> &SourceInfo {
        &self.source
    }

    /// The optimised code; with `packed`, the form of the entries that the JIT calls as well.
    pub(crate) fn code(&self, form: Form, packed: bool) -> Result<Vec<u8>, Error> {
        self.make(form, packed, false, false)
    }

    /// An object with the packed form of the entries, which counts what it does.
    pub(crate) fn counting_code(&mut self) -> Result<Vec<u8>, Error> {
        self.loops.run_in_order();
        self.make(Form::Object, true, true, false)
    }

    /// An object with the packed form of the entries, and of the queries of their workspaces.
    pub(crate) fn asking_code(&self) -> Result<Vec<u8>, Error> {
        self.make(Form::Object, true, false, true)
    }

    /// The slices that tell the workspaces of the entries, as the JIT calls them or as C does.
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

    fn make(&self, form: Form, packed: bool, counted: bool, queries: bool) -> Result<Vec<u8>, Error> {
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
        let request = Request { module, symbols, interfaces, source, target, math, grain, packed, counted, slices };
        made(&request, form, &self.options)
    }
}
