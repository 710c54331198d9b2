//! Generates code with LLVM: emits loops, optimises, and writes the output.
//!
//! A long module goes through LLVM in parts, on as many threads as there are cores (`partition`); the result does not
//! depend on how many. What people read, IR and assembly, is of one piece: there may be more inlined in it.

use crate::address_space::address_space;
use crate::elf;
use crate::emit::{self, Request, Telling};
use crate::error::Error;
use crate::llvm_passes::{FEW, pipeline};
use crate::options::Options;
use crate::partition::{Effort, ModulePart, TAKE_APART, divided};
use crate::target::Target;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::FileType;
use lm::timing::Timings;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A form that LLVM gives a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputForm {
    Object,
    Assembly,
    Ir,
}

/// Steps, as `--time-passes` names them.
const OPTIMISATION: &str = "LLVM optimisation";
const CODE: &str = "LLVM code";

/// Returns the optimised code of what was asked for.
pub(crate) fn generate(request: &Request, form: OutputForm, options: &Options) -> Result<Vec<u8>, Error> {
    let context = Context::create();
    let timings = &options.timings;
    let module = timings.time("LLVM emission", || emit::emit(&context, request));
    if let Err(violation) = module.verify() {
        panic!("emission broke a rule of LLVM: {violation}\n{}", request.module);
    }
    // Counters are one variable, which one part would have.
    let parts = if form == OutputForm::Object && request.telling == Telling::Nothing {
        timings.time("LLVM parts", || divided(&module))
    } else {
        vec![]
    };
    match &parts[..] {
        [] | [_] => whole(&module, form, options, timings),
        parts => {
            let bitcode = timings.time("LLVM parts", || module.write_bitcode_to_memory());
            let objects = objects(bitcode.as_slice(), parts, threads(), options)?;
            Ok(timings.time("LLVM parts", || elf::join_objects(&objects)))
        }
    }
}

fn whole(module: &Module, form: OutputForm, options: &Options, timings: &Timings) -> Result<Vec<u8>, Error> {
    let machine = timings.time(OPTIMISATION, || optimised(module, options))?;
    let file = |ty| {
        let written = timings.time(CODE, || machine.machine().write_to_memory_buffer(module, ty));
        written.map_err(|e| Error::Llvm(e.to_string()))
    };
    match form {
        OutputForm::Ir => Ok(module.print_to_string().to_bytes().to_vec()),
        OutputForm::Object => Ok(file(FileType::Object)?.as_slice().to_vec()),
        OutputForm::Assembly => Ok(file(FileType::Assembly)?.as_slice().to_vec()),
    }
}

/// Optimises a module; gives what generates its code.
fn optimised(module: &Module, options: &Options) -> Result<Target, Error> {
    let is_long = is_long(module);
    let cpu = options.target_cpu.as_deref();
    let level = if is_long { options.opt_level.min(1) } else { options.opt_level };
    let target = Target::new(cpu, options.opt_level)?;
    let done = module.run_passes(&pipeline(level), target.machine(), PassBuilderOptions::create());
    done.map_err(|e| Error::Llvm(e.to_string()))?;
    if is_long { Target::new(cpu, 0) } else { Ok(target) }
}

/// Works on a part as much as it is worth; gives what generates its code.
fn worked_on(module: &Module, effort: Effort, options: &Options) -> Result<Target, Error> {
    let cpu = options.target_cpu.as_deref();
    match effort {
        Effort::Least => Target::new(cpu, 0),
        Effort::Little | Effort::Between if options.opt_level > 1 && !is_long(module) => {
            let target = Target::new(cpu, if effort == Effort::Between { 0 } else { 1 })?;
            let done = module.run_passes(FEW, target.machine(), PassBuilderOptions::create());
            done.map_err(|e| Error::Llvm(e.to_string()))?;
            Ok(target)
        }
        Effort::Between | Effort::Little | Effort::Full => optimised(module, options),
    }
}

/// If a function has more instructions than this, or one block has, the module is compiled at level 1, and registers
/// are allocated at level 0. Higher levels take time with the square of the length of a block.
const LONG_FUNCTION: usize = 60_000;
const LONG_BLOCK: usize = 3_000;

fn is_long(module: &Module) -> bool {
    module.get_functions().any(|function| {
        let lengths: Vec<usize> =
            function.get_basic_block_iter().map(|block| block.get_instructions().count()).collect();
        lengths.iter().any(|length| *length > LONG_BLOCK) || lengths.iter().sum::<usize>() > LONG_FUNCTION
    })
}

/// The stack of a thread for LLVM, which recurses on long expressions, in bytes: address space, not memory.
const STACK: usize = 1 << 28;

/// Address space that a thread for LLVM takes, its stack and its heap, with room for as much again.
const ROOM: u64 = 1 << 30;

/// As many threads as there are cores, if there is address space for them; the one at hand is one of them.
fn threads() -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    address_space().map_or(cores, |bytes| cores.min((bytes / ROOM) as usize).max(1))
}

/// Returns the objects of the parts, in order. Each thread takes the next part that has not been taken.
pub(crate) fn objects(
    bitcode: &[u8],
    parts: &[ModulePart],
    threads: usize,
    options: &Options,
) -> Result<Vec<Vec<u8>>, Error> {
    let next = AtomicUsize::new(0);
    let objects: Mutex<Vec<Option<Result<PartObject, Error>>>> = Mutex::new(parts.iter().map(|_| None).collect());
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(i) else { break };
            let made = object(bitcode, part, options);
            objects.lock().expect("nothing panics while it holds them")[i] = Some(made);
        }
    };
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 1..threads.min(parts.len()) {
            // Where one is refused, the others do its parts.
            if thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let elapsed = start.elapsed();
    let objects = objects.into_inner().expect("nothing panics while it holds them");
    let objects: Vec<PartObject> =
        objects.into_iter().map(|object| object.expect("every part was taken")).collect::<Result<_, _>>()?;
    share_time(&objects, elapsed, &options.timings);
    Ok(objects.into_iter().map(|object| object.bytes).collect())
}

/// The object that LLVM made of a part, and the time that it took.
struct PartObject {
    bytes: Vec<u8>,
    optimisation: Duration,
    code: Duration,
}

fn object(bitcode: &[u8], part: &ModulePart, options: &Options) -> Result<PartObject, Error> {
    let start = Instant::now();
    let context = Context::create();
    let module = part.load(bitcode, &context);
    let target = Target::new(options.target_cpu.as_deref(), options.opt_level)?;
    let taken = module.run_passes(TAKE_APART, target.machine(), PassBuilderOptions::create());
    taken.map_err(|e| Error::Llvm(e.to_string()))?;
    let target = worked_on(&module, part.effort(), options)?;
    let optimisation = start.elapsed();
    let written = target.machine().write_to_memory_buffer(&module, FileType::Object);
    let bytes = written.map_err(|e| Error::Llvm(e.to_string()))?.as_slice().to_vec();
    Ok(PartObject { bytes, optimisation, code: start.elapsed() - optimisation })
}

/// Gives the wall time to the two steps as they shared the time of all threads: rows are to add up.
fn share_time(objects: &[PartObject], elapsed: Duration, timings: &Timings) {
    let seconds = |of: fn(&PartObject) -> Duration| objects.iter().map(of).sum::<Duration>().as_secs_f64();
    let [optimisation, code] = [seconds(|object| object.optimisation), seconds(|object| object.code)];
    let first = elapsed.mul_f64(optimisation / (optimisation + code).max(f64::MIN_POSITIVE));
    timings.add(OPTIMISATION, first);
    timings.add(CODE, elapsed.saturating_sub(first));
}
