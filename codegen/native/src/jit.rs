//! Compiles into memory, and calls the code with values of the interpreter.

use crate::abi::{self, Kind};
use crate::emit::{COUNTERS, Telling, packed_name, query_name};
use crate::error::Error;
use crate::llvm::{Linked, is_loaded, load_library};
use crate::llvm_codegen::OutputForm;
use crate::marshal;
use crate::module::{Module, compile};
use crate::options::{Math, Options};
use crate::source::SourceInfo;
use indexmap::IndexMap;
use lm::interp::{ErrorKind, RuntimeError};
use lm::term::{Fun, FunName, Program, Span};
use lm::types::Type;
use lm::value::Value;
use lmc_pool::Pool;
use loops::analyses::counts::Counts;
use loops::analyses::watch::LoopId;
use loops::interp::Failed;
use std::ffi::{CStr, c_char, c_void};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

type PackedEntry = unsafe extern "C" fn(ctx: *mut abi::Context, input: *const u64, output: *mut u64) -> i32;

/// The words in which code tells of itself: where they are, and how many.
type Counters = (*mut u64, usize);

/// How a loop ran in a call.
#[derive(Clone, Copy, Debug)]
pub struct LoopRuns<T> {
    /// How often it ran.
    pub times: u64,
    /// Its iterations or seconds in all.
    pub total: T,
}

type Free = unsafe extern "C" fn(ctx: *mut abi::Context);

/// Compiled functions in the memory of this process.
#[derive(Debug)]
pub struct Jit {
    // Owns the code that the addresses in `functions` point into.
    linked: Linked,
    module: Module,
    functions: IndexMap<FunName, PackedEntry>,
    /// The functions that tell workspaces.
    queries: IndexMap<FunName, PackedEntry>,
    free: Free,
    counters: Option<Counters>,
    stack_bytes: u64,
    arena_bytes: u64,
    pool: Option<Pool>,
    peak: AtomicU64,
}

impl Jit {
    /// Compiles the entries for the processor at hand, and links them.
    ///
    /// Errors: those of [`compile`], and [`Error::Llvm`] when the code does not link.
    pub fn new(program: &Program, entries: &[FunName], source: &SourceInfo, options: &Options) -> Result<Jit, Error> {
        let module = compile(program, entries, source, options)?;
        let object = module.code(OutputForm::Object, true)?;
        Jit::link(module, &object, options)
    }

    /// As [`Jit::new`]; the code counts what it does, for [`Prepared::counts`], and is slower for that. Iterations run
    /// one after the other.
    pub fn counting(
        program: &Program,
        entries: &[FunName],
        source: &SourceInfo,
        options: &Options,
    ) -> Result<Jit, Error> {
        let mut module = compile(program, entries, source, options)?;
        module.loops_mut().run_in_order();
        Jit::telling(module, Telling::Work, options)
    }

    /// As [`Jit::new`]; the code tells the iterations of all loops, for [`Prepared::iterations`]. They run one after the
    /// other.
    pub fn iterating(
        program: &Program,
        entries: &[FunName],
        source: &SourceInfo,
        options: &Options,
    ) -> Result<Jit, Error> {
        let mut module = compile(program, entries, source, options)?;
        let loops = module.loops().all_loops();
        module.loops_mut().run_in_order();
        module.loops_mut().watch(&loops);
        Jit::telling(module, Telling::Iterations(loops.len()), options)
    }

    /// As [`Jit::new`]; the code tells how long these loops took, for [`Prepared::seconds`].
    pub fn timing(
        program: &Program,
        entries: &[FunName],
        source: &SourceInfo,
        options: &Options,
        loops: &[LoopId],
    ) -> Result<Jit, Error> {
        let mut module = compile(program, entries, source, options)?;
        module.loops_mut().watch(loops);
        Jit::telling(module, Telling::Seconds(loops.len()), options)
    }

    fn telling(module: Module, telling: Telling, options: &Options) -> Result<Jit, Error> {
        let object = module.telling_code(telling)?;
        let mut jit = Jit::link(module, &object, options)?;
        if telling.words() > 0 {
            let first = jit.linked.address(COUNTERS).map_err(Error::Llvm)? as *mut u64;
            jit.counters = Some((first, telling.words()));
        }
        Ok(jit)
    }

    /// As [`Jit::new`]; the code tells workspaces as well, for [`Jit::workspace`].
    pub fn asking(
        program: &Program,
        entries: &[FunName],
        source: &SourceInfo,
        options: &Options,
    ) -> Result<Jit, Error> {
        let module = compile(program, entries, source, options)?;
        let object = module.asking_code()?;
        let mut jit = Jit::link(module, &object, options)?;
        for entry in jit.module.entries() {
            if let Ok(address) = jit.linked.address(&query_name(&entry.symbol)) {
                // SAFETY: the emitter gave the function of that name this type.
                let query = unsafe { std::mem::transmute::<usize, PackedEntry>(address) };
                jit.queries.insert(entry.def.fun.name.clone(), query);
            }
        }
        Ok(jit)
    }

    fn link(module: Module, object: &[u8], options: &Options) -> Result<Jit, Error> {
        if let Some(bad) = options.link.iter().find(|library| !load_library(library)) {
            return Err(Error::Load(bad.clone()));
        }
        if let Some(missing) = module.loops().externals().into_iter().find(|symbol| !is_loaded(symbol)) {
            return Err(Error::Missing(missing.to_string()));
        }
        let linked = options.timings.time("linking", || Linked::new(object)).map_err(Error::Llvm)?;
        let mut functions = IndexMap::new();
        for entry in module.entries() {
            let symbol = packed_name(&entry.symbol);
            let address = options.timings.time("linking", || linked.address(&symbol)).map_err(Error::Llvm)?;
            // SAFETY: the emitter gave the function of that name this type.
            let function = unsafe { std::mem::transmute::<usize, PackedEntry>(address) };
            functions.insert(entry.def.fun.name.clone(), function);
        }
        let free = linked.address("lmc_context_free").map_err(Error::Llvm)?;
        // SAFETY: as above.
        let free = unsafe { std::mem::transmute::<usize, Free>(free) };
        let (counters, queries) = (None, IndexMap::new());
        let (stack_bytes, arena_bytes) = (0, 0);
        let peak = AtomicU64::new(0);
        Ok(Jit { linked, module, functions, queries, free, counters, stack_bytes, arena_bytes, pool: None, peak })
    }

    /// Returns how Floats are computed.
    pub fn math(&self) -> Math {
        self.module.options().math
    }

    /// Lets recursion use that many bytes of the caller's stack, in place of [`abi::DEFAULT_STACK`].
    ///
    /// The stack must be as large: beyond its end the process dies.
    pub fn set_stack(&mut self, bytes: u64) {
        self.stack_bytes = bytes;
    }

    /// Lets calls work on so many threads, the caller's included; 0 is one for each processor. Results are the same.
    ///
    /// Errors: the system refuses a thread.
    pub fn set_threads(&mut self, threads: usize) -> io::Result<()> {
        self.pool = Some(Pool::new(threads)?);
        Ok(())
    }

    fn threads(&self) -> abi::Threads {
        self.pool.as_ref().map_or(abi::Threads::NONE, Pool::threads)
    }

    /// Returns the module that was compiled.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Returns the address of a function's entry point of the C interface, valid as long as `self`.
    pub fn address(&self, name: &FunName) -> Option<usize> {
        let symbol = &self.module.entry(name)?.symbol;
        self.linked.address(&symbol.name).ok()
    }

    /// Calls an entry, one value per parameter; what it prints is dropped.
    ///
    /// Panics when the arguments do not have the types of the parameters. Errors: those of the program,
    /// and [`ErrorKind::Undefined`] for a function that is no entry.
    pub fn call(&self, name: &FunName, args: &[Value]) -> Result<Value, RuntimeError> {
        self.call_with_output(name, args, &mut std::io::sink())
    }

    /// As [`Jit::call`]; what it prints goes to `output`.
    pub fn call_with_output(
        &self,
        name: &FunName,
        args: &[Value],
        output: &mut dyn Write,
    ) -> Result<Value, RuntimeError> {
        let (Some(function), Some(entry)) = (self.functions.get(name), self.module.entry(name)) else {
            return Err(RuntimeError { kind: ErrorKind::Undefined(name.to_string()), span: Span::default() });
        };
        let fun = &entry.def.fun;
        assert_eq!(fun.params.len(), args.len(), "arguments of {name}");
        let mut input = marshal::Packed::default();
        fun.params.iter().zip(args).for_each(|(ty, value)| input.push(ty, value));
        let mut results = vec![0u64; marshal::count(&fun.result)];
        let mut output: &mut dyn Write = output;
        let user = (&raw mut output).cast();
        let (stack_bytes, threads) = (self.stack_bytes, self.threads());
        let mut ctx = abi::Context { user, write: Some(write), stack_bytes, threads, ..abi::Context::new() };
        ctx.arena.bytes = self.arena_bytes;
        // SAFETY: the arrays have a word per component; `input` and `output` outlive the call.
        let status = unsafe { function(&mut ctx, input.words.as_ptr(), results.as_mut_ptr()) };
        let result = match status {
            // SAFETY: the results are of that type, and in the arena, in `input` or constants.
            0 => Ok(unsafe { marshal::unpack(&fun.result, &mut results.into_iter()) }),
            _ => Err(runtime_error(&ctx.error)),
        };
        // SAFETY: nothing of the context's memory is used any more.
        unsafe { (self.free)(&mut ctx) };
        self.peak.store(ctx.arena.peak, Ordering::Relaxed);
        result
    }

    /// Returns a call that can be made again and again, for measurements.
    ///
    /// Panics when the function is no entry, and as [`Jit::call`].
    pub fn prepare(&self, name: &FunName, args: &[Value]) -> Prepared<'_> {
        let fun = self.prepared_fun(name);
        assert_eq!(fun.params.len(), args.len(), "arguments of {name}");
        let mut input = marshal::Packed::default();
        fun.params.iter().zip(args).for_each(|(ty, value)| input.push(ty, value));
        self.prepared(fun, input)
    }

    /// Prepares a call like [`Jit::prepare`], with the result of another call as its only argument. The result stays
    /// where it is.
    ///
    /// Panics if that call has not been made, or its result does not have the type of the argument.
    pub fn prepare_on<'a>(&'a self, name: &FunName, argument: &'a Prepared) -> Prepared<'a> {
        let fun = self.prepared_fun(name);
        let whole = Type::tuple(fun.params.iter().cloned());
        let fits = argument.fun.result == whole || fun.params == [argument.fun.result.clone()];
        assert!(fits && argument.has_result, "{name} on the result of {}", argument.fun.name);
        let mut input = marshal::Packed::default();
        input.words.clone_from(&argument.results);
        self.prepared(fun, input)
    }

    fn prepared_fun(&self, name: &FunName) -> &Fun {
        &self.module.entry(name).expect("an entry is prepared").def.fun
    }

    fn prepared<'a>(&'a self, fun: &'a Fun, input: marshal::Packed) -> Prepared<'a> {
        let results = vec![0u64; marshal::count(&fun.result)];
        let (stack_bytes, threads) = (self.stack_bytes, self.threads());
        let context = abi::Context { stack_bytes, threads, ..abi::Context::new() };
        let (function, free, counters) = (self.functions[&fun.name], self.free, self.counters);
        let query = self.queries.get(&fun.name).copied();
        Prepared { function, query, fun, free, counters, input, results, has_result: false, context }
    }

    /// Returns how many bytes of the arena a call would have in use at once, as its slice tells
    /// (`loops::analyses::slices`). Returns none if the function has no slice, or the code was not compiled to tell:
    /// see [`Jit::asking`].
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Returns how many bytes of the arena a call would have in use at once, as its slice tells
    /// (`loops::analyses::slices`): none where the function has no slice, or the code was not compiled to tell: see
    /// [`Jit::asking`].
    ///
    /// Panics as [`Jit::prepare`]. Errors: those of the program that depend on sizes; others may not be found.
    pub fn workspace(&self, name: &FunName, args: &[Value]) -> Option<Result<u64, RuntimeError>> {
        self.prepare(name, args).workspace()
    }

    /// Lets calls use an arena of that many bytes, in place of a quarter of the physical memory.
    pub fn set_arena(&mut self, bytes: u64) {
        self.arena_bytes = bytes;
    }
}

/// A function with its arguments, and a context that keeps its memory between calls.
pub struct Prepared<'a> {
    function: PackedEntry,
    query: Option<PackedEntry>,
    fun: &'a Fun,
    free: Free,
    counters: Option<Counters>,
    input: marshal::Packed,
    results: Vec<u64>,
    has_result: bool,
    context: abi::Context,
}

impl Prepared<'_> {
    /// Calls the function; its results stay where they are. Errors: those of the program.
    pub fn call(&mut self) -> Result<(), RuntimeError> {
        self.has_result = false;
        // SAFETY: the arrays have a word per component, and the code is there as long as the JIT.
        let status =
            unsafe { (self.function)(&mut self.context, self.input.words.as_ptr(), self.results.as_mut_ptr()) };
        self.has_result = status == 0;
        if self.has_result { Ok(()) } else { Err(runtime_error(&self.context.error)) }
    }

    /// Returns the result of [`Jit::workspace`] for the call.
    pub fn workspace(&mut self) -> Option<Result<u64, RuntimeError>> {
        let mut bytes = 0;
        // SAFETY: the array has a word per component; it and `bytes` outlive the call.
        let status = unsafe { self.query?(&mut self.context, self.input.words.as_ptr(), &mut bytes) };
        Some(if status == 0 { Ok(bytes) } else { Err(runtime_error(&self.context.error)) })
    }

    /// Returns what the last call gave. Panics when there was none, or it failed.
    pub fn result(&self) -> Value {
        assert!(self.has_result, "{} has been called", self.fun.name);
        // SAFETY: the words are of that type; what they point to stays until the next call, which needs `&mut self`.
        unsafe { marshal::unpack(&self.fun.result, &mut self.results.iter().copied()) }
    }

    /// Calls the function, and tells what its loops did. Errors: those of the program.
    ///
    /// Panics when the code does not count: see [`Jit::counting`].
    pub fn counts(&mut self) -> Result<Counts, RuntimeError> {
        let told = self.told()?;
        Ok(Counts::new(told.try_into().expect("the code was compiled to count")))
    }

    /// Calls the function, and tells the iterations of all loops, in the order of `all_loops` of the module. The code must
    /// be that of [`Jit::iterating`]. Errors: those of the program.
    pub fn iterations(&mut self) -> Result<Vec<LoopRuns<u64>>, RuntimeError> {
        let told = self.told()?;
        Ok(told.chunks(2).map(|words| LoopRuns { times: words[0], total: words[1] }).collect())
    }

    /// Calls the function, and tells how long loops took, in the order in which they were given to [`Jit::timing`].
    /// Errors: those of the program.
    pub fn seconds(&mut self) -> Result<Vec<LoopRuns<f64>>, RuntimeError> {
        let told = self.told()?;
        Ok(told.chunks(2).map(|words| LoopRuns { times: words[0], total: f64::from_bits(words[1]) }).collect())
    }

    /// Calls the function; gives what the code tells of the call.
    fn told(&mut self) -> Result<Vec<u64>, RuntimeError> {
        let Some((first, words)) = self.counters else {
            self.call()?;
            return Ok(vec![]);
        };
        // SAFETY: the counters are there as long as the code, and neither it nor its calls leave their thread.
        unsafe { std::slice::from_raw_parts_mut(first, words).fill(0) };
        self.call()?;
        // SAFETY: as above.
        Ok(unsafe { std::slice::from_raw_parts(first, words).to_vec() })
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        // SAFETY: nothing of the context's memory is used any more.
        unsafe { (self.free)(&mut self.context) }
    }
}

fn runtime_error(error: &abi::Error) -> RuntimeError {
    let failure = loops::ir::ALL_FAILURES.iter().find(|failure| **failure as i32 == error.code);
    let failure = *failure.expect("the code returns failures of the table");
    let numbers = error.number[..error.count as usize].to_vec();
    Failed { failure, numbers, span: Span { start: error.start, end: error.end } }.runtime_error()
}

/// Writes values as the interpreter does. A full output is no error of the program.
unsafe extern "C" fn write(user: *mut c_void, kind: i32, number: f64, integer: i64, text: *const c_char) {
    // SAFETY: `user` is the output of the call under way.
    let output = unsafe { &mut *user.cast::<&mut dyn Write>() };
    let value = match kind {
        kind if kind == Kind::Float as i32 => Value::Float(number),
        kind if kind == Kind::Integer as i32 => Value::Integer(integer),
        kind if kind == Kind::Bool as i32 => Value::Bool(integer != 0),
        // SAFETY: what is left is text, NUL-terminated.
        _ => Value::String(unsafe { CStr::from_ptr(text) }.to_string_lossy().into()),
    };
    let _ = write!(output, "{value}");
}
