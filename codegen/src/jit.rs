//! Native code in memory, called with values of the interpreter.

use crate::abi::{self, Kind};
use crate::emit::packed_name;
use crate::error::Error;
use crate::llvm::Linked;
use crate::loops::Failure;
use crate::module::{Form, Module, Options, compile};
use crate::source::SourceInfo;
use indexmap::IndexMap;
use lm::interp::{ErrorKind, RuntimeError};
use lm::term::{FunName, Program, Span};
use lm::types::Type;
use lm::value::Value;
use std::ffi::{CStr, CString, c_char, c_void};
use std::io::Write;

type Packed = unsafe extern "C" fn(ctx: *mut abi::Context, input: *const u64, output: *mut u64) -> i32;

/// Compiled functions in the memory of this process.
#[derive(Debug)]
pub struct Jit {
    // Owns the code that the addresses in `functions` point into.
    linked: Linked,
    module: Module,
    functions: IndexMap<FunName, Packed>,
    stack_bytes: u64,
}

impl Jit {
    /// Compiles the entries for the processor at hand, and links them.
    ///
    /// Errors: those of [`compile`], and [`Error::Llvm`] when the code does not link.
    pub fn new(program: &Program, entries: &[FunName], source: &SourceInfo, options: &Options) -> Result<Jit, Error> {
        let module = compile(program, entries, source, options)?;
        let object = module.code(Form::Object, true)?;
        let linked = options.timings.time("linking", || Linked::new(&object)).map_err(Error::Llvm)?;
        let mut functions = IndexMap::new();
        for entry in module.entries() {
            let symbol = packed_name(&entry.symbol);
            let address = options.timings.time("linking", || linked.address(&symbol)).map_err(Error::Llvm)?;
            // SAFETY: the emitter gave the function of that name this type.
            let function = unsafe { std::mem::transmute::<usize, Packed>(address) };
            functions.insert(entry.def.fun.name.clone(), function);
        }
        Ok(Jit { linked, module, functions, stack_bytes: 0 })
    }

    /// Lets recursion use that many bytes of the caller's stack, in place of [`abi::DEFAULT_STACK`].
    ///
    /// The stack must be as large: beyond its end the process dies.
    pub fn set_stack(&mut self, bytes: u64) {
        self.stack_bytes = bytes;
    }

    /// The module that was compiled.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The address of a function's entry point of the C interface, valid as long as `self`.
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
        let mut texts = Vec::new();
        let mut input = Vec::new();
        fun.params.iter().zip(args).for_each(|(ty, value)| pack(ty, value, &mut input, &mut texts));
        let mut results = vec![0u64; words(&fun.result)];
        let mut output: &mut dyn Write = output;
        let user = (&raw mut output).cast();
        let mut ctx = abi::Context { user, write: Some(write), stack_bytes: self.stack_bytes, ..abi::Context::new() };
        // SAFETY: the arrays have a word per component; `texts` and `output` outlive the call.
        let status = unsafe { function(&mut ctx, input.as_ptr(), results.as_mut_ptr()) };
        match status {
            0 => Ok(unpack(&fun.result, &mut results.into_iter())),
            _ => Err(runtime_error(&ctx.error)),
        }
    }
}

fn words(ty: &Type) -> usize {
    crate::layout::components(ty).expect("only types with a layout compile").len()
}

fn pack(ty: &Type, value: &Value, words: &mut Vec<u64>, texts: &mut Vec<CString>) {
    match (ty, value) {
        (Type::Float, Value::Float(x)) => words.push(x.to_bits()),
        (Type::Integer, Value::Integer(i)) => words.push(*i as u64),
        (Type::Bool, Value::Bool(b)) => words.push(u64::from(*b)),
        (Type::String, Value::String(s)) => {
            texts.push(text(s));
            words.push(texts[texts.len() - 1].as_ptr() as u64);
        }
        (Type::Tuple(types), Value::Tuple(parts)) if types.len() == parts.len() => {
            types.iter().zip(parts).for_each(|(ty, part)| pack(ty, part, words, texts));
        }
        (ty, value) => panic!("{value} is no {ty}"),
    }
}

/// Text ends at a NUL, for C.
fn text(s: &str) -> CString {
    let until_nul = s.split('\0').next().unwrap_or("");
    CString::new(until_nul).expect("there is no NUL before the first")
}

fn unpack(ty: &Type, words: &mut impl Iterator<Item = u64>) -> Value {
    let mut word = || words.next().expect("there is a word per component");
    match ty {
        Type::Float => Value::Float(f64::from_bits(word())),
        Type::Integer => Value::Integer(word() as i64),
        Type::Bool => Value::Bool(word() & 0xff != 0),
        Type::String => {
            // SAFETY: texts are NUL-terminated constants of the code, or arguments, which still live.
            let text = unsafe { CStr::from_ptr(word() as *const c_char) };
            Value::String(text.to_string_lossy().into())
        }
        Type::Tuple(parts) => Value::Tuple(parts.iter().map(|part| unpack(part, words)).collect()),
        Type::Tensor(..) | Type::Lam(..) | Type::LM(..) | Type::Record(_) => panic!("{ty} has no layout"),
    }
}

fn runtime_error(error: &abi::Error) -> RuntimeError {
    let failure = crate::loops::ALL_FAILURES.iter().find(|failure| **failure as i32 == error.code);
    let kind = match failure.expect("the code returns failures of the table") {
        Failure::AssertFailed => ErrorKind::AssertFailed,
        Failure::DivisionByZero => ErrorKind::DivisionByZero(error.number[0]),
        Failure::RecursionTooDeep => ErrorKind::RecursionTooDeep(error.number[0] as usize),
    };
    RuntimeError { kind, span: Span { start: error.start, end: error.end } }
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
