//! `lmc compile`.

use super::bulk::{self, BulkOptions};
use super::choices::ChoiceOptions;
use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::Input;
use super::native::NativeOptions;
use super::progress::told;
use super::watch::{Watch, WatchOptions, watched};
use crate::derive::pipeline;
use crate::ks::diagnostic::Diagnostic;
use lm::notation::ks;
use lm::term::{Derivative, FunName, Program};
use lm::types::Type;
use loops::interface::{needed_shapes, parameters};
use native::Kind;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `lmc compile`.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("derivatives").args(["fwd", "rev", "jvp", "vjp"]).multiple(true))]
pub struct CompileOptions {
    /// The files of the program; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The output file. With several kinds, the file of the first kind; the others get its stem.
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    output: Option<PathBuf>,
    /// Also compile forward derivatives: fwd$f(s, ds).
    #[arg(long)]
    fwd: bool,
    /// Also compile reverse derivatives: rev$f(s, dr).
    #[arg(long)]
    rev: bool,
    /// Also compile values with forward derivatives: jvp$f(s, ds) gives both.
    #[arg(long)]
    jvp: bool,
    /// Also compile values with reverse derivatives: vjp$f(s, dr) gives both.
    #[arg(long)]
    vjp: bool,
    /// The function to compile; may be repeated. Default: every function of the file.
    #[arg(long = "fun", value_name = "NAME")]
    fun: Vec<String>,
    /// Differentiate only with respect to these parameters, or components of parameters (`t.1`).
    #[arg(long, value_name = "PARAMETER", value_delimiter = ',', requires = "derivatives")]
    wrt: Vec<String>,
    /// The kinds of output: so, a, obj, asm, llvm-ir, loops, ks, header, bulk, numpy, jax, stablehlo. `kind=PATH` names the file.
    #[arg(long, value_name = "KIND[=PATH]", value_delimiter = ',', default_value = "so")]
    emit: Vec<String>,
    #[command(flatten)]
    choices: ChoiceOptions,
    #[command(flatten)]
    native: NativeOptions,
    #[command(flatten)]
    bulk: BulkOptions,
    #[command(flatten)]
    watch: WatchOptions,
}

/// A kind of output: one of the code generator, or the program itself.
#[derive(Clone, Copy, PartialEq)]
enum Emit {
    Native(Kind),
    Ks,
    Bulk(::bulk::emit::Kind),
}

impl Emit {
    /// Returns the kind of a program on whole arrays.
    fn bulk(self) -> Option<::bulk::emit::Kind> {
        match self {
            Emit::Bulk(kind) => Some(kind),
            Emit::Native(_) | Emit::Ks => None,
        }
    }

    /// Returns whether C calls the functions of the output.
    fn is_for_c(self) -> bool {
        !matches!(self, Emit::Ks | Emit::Bulk(_) | Emit::Native(Kind::Loops))
    }
}

/// Writes the outputs that the options ask for.
pub fn compile(options: &CompileOptions, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    watched(&options.watch, |watch| compile_watched(options, format, watch, out))
}

fn compile_watched(
    options: &CompileOptions,
    format: ErrorFormat,
    watch: &Watch,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let outputs = outputs(options)?;
    options.bulk.check(outputs.iter().filter_map(|(kind, _)| kind.bulk()))?;
    // Programs on whole arrays keep all states: what they run on has ways of its own to save memory.
    let is_bulk = outputs.iter().all(|(kind, _)| matches!(kind, Emit::Bulk(_)));
    let choices = if is_bulk { options.choices.choices_to_show(format)? } else { options.choices.choices(format)? };
    let mut input = Input::read_for(&options.files, choices, format, watch)?;
    let is_for_c = outputs.iter().any(|(kind, _)| kind.is_for_c());
    let entries = entries(&mut input, options, is_for_c)?;
    let program = input.pipeline.program();
    let module = match outputs.iter().any(|(kind, _)| matches!(kind, Emit::Native(_))) {
        true => Some(module(&input, program, &entries, &options.native, watch)?),
        false => None,
    };
    // Makes all outputs before it writes the first, so that an error leaves no files behind.
    let content = |kind: &Emit| match kind {
        Emit::Native(kind) => {
            let module = module.as_ref().expect("there is a module if an output is of one");
            told("compiling", || module.output(*kind)).map_err(|error| input.not_compiled(error))
        }
        Emit::Ks => Ok(text(&input.pipeline.program_as_written(), &entries).into_bytes()),
        Emit::Bulk(kind) => bulk::text(&input, program, &entries, *kind, &options.bulk, options.native.known()),
    };
    let contents = outputs.iter().map(|(kind, _)| content(kind)).collect::<Result<Vec<_>, _>>()?;
    for ((_, path), content) in outputs.iter().zip(contents) {
        watch.say(|| format!("write {}: {} bytes", path.display(), content.len()));
        match path.as_os_str() == "-" {
            true => out.write_all(&content)?,
            false => native::write_file(path, &content).map_err(|error| input.not_compiled(error))?,
        }
    }
    Ok(())
}

fn module(
    input: &Input,
    program: &Program,
    entries: &[FunName],
    options: &NativeOptions,
    watch: &Watch,
) -> Result<native::Module, Failure> {
    let native = options.options(watch);
    let module = told("compiling", || native::compile(program, entries, &input.info(), &native));
    let module = module.map_err(|error| input.not_compiled(error))?;
    let math = module.math().map_err(|error| input.not_compiled(error))?;
    watch.say(|| format!("math {math}"));
    watch.say(|| format!("loops in lanes:\n{}", module.lanes().join("\n")));
    Ok(module)
}

/// Makes the derivatives, and returns the functions that get symbols. Leaves out functions without a form in C, where C
/// calls them and no option names them.
fn entries(input: &mut Input, options: &CompileOptions, is_for_c: bool) -> Result<Vec<FunName>, Failure> {
    let leaves_out = is_for_c && options.fun.is_empty();
    let mut functions = input.chosen(&options.fun)?;
    let mut left_out = if leaves_out { leave_out(input, &mut functions) } else { Vec::new() };
    let mut entries = Vec::new();
    for function in functions {
        entries.push(function.clone());
        let function = input.with_respect_to(function, &options.wrt)?;
        entries.extend(options.fwd.then(|| function.derived(Derivative::Fwd)));
        entries.extend(options.rev.then(|| function.derived(Derivative::Rev)));
        entries.extend(options.jvp.then(|| function.derived(Derivative::Jvp)));
        entries.extend(options.vjp.then(|| function.derived(Derivative::Vjp)));
    }
    let mut underivable = Vec::new();
    if options.fun.is_empty() {
        underivable = leave_out_underivable(input, &mut entries)?;
        let is_left_out = |name: &FunName| left_out.iter().any(|(of, _)| *of == name.as_written());
        let requested = input.requested.iter().filter(|name| !entries.contains(name) && !is_left_out(name));
        entries.extend(requested.cloned().collect::<Vec<_>>());
    }
    for name in &entries {
        input.require(name)?;
        if is_for_c {
            require_shapes(input, name)?;
        }
    }
    if leaves_out {
        left_out.extend(leave_out(input, &mut entries));
    }
    match left_out.first() {
        Some((name, ty)) if entries.is_empty() => {
            Err(input.not_compiled(native::Error::NoInterface(name.clone(), ty.clone())))
        }
        _ => {
            input.warn_of(left_out.into_iter().map(|(name, ty)| (name.clone(), without_c_form(&name, &ty))));
            input.warn_of(
                underivable.into_iter().map(|(name, error)| (name.clone(), without_derivative(&name, &error))),
            );
            Ok(entries)
        }
    }
}

/// Removes derivatives that do not exist. Returns each with the reason.
///
/// Errors: no derivative exists.
fn leave_out_underivable(
    input: &mut Input,
    names: &mut Vec<FunName>,
) -> Result<Vec<(FunName, pipeline::Error)>, Failure> {
    let mut left_out = Vec::new();
    names.retain(|name| match input.pipeline.require(name) {
        // Laws without an end are a mistake of lmc.
        Ok(()) | Err(pipeline::Error::OutOfFuel(_) | pipeline::Error::Unfinished(_)) => true,
        Err(_) if name.derivative().is_none() => true,
        Err(error) => {
            left_out.push((name.clone(), error));
            false
        }
    });
    let is_any_left = names.iter().any(|name| name.derivative().is_some());
    match left_out.first() {
        Some((_, error)) if !is_any_left => Err(input.underivable(error.clone())),
        _ => Ok(left_out),
    }
}

fn without_derivative(name: &FunName, error: &pipeline::Error) -> Diagnostic {
    Diagnostic::warning("W406", format!("`{name}` is left out ({}): {error}", error.code()))
        .remedy("name the functions to compile by `--fun`")
}

/// Makes the functions for the shapes of cotangents that C does not give.
fn require_shapes(input: &mut Input, name: &FunName) -> Result<(), Failure> {
    let program = input.pipeline.program();
    let needed = program.defs.get(name).map_or(Vec::new(), |def| needed_shapes(program, def));
    let defined: Vec<FunName> = needed.into_iter().filter(|name| program.defs.contains_key(name)).collect();
    defined.iter().try_for_each(|name| input.require(&name.derived(Derivative::Shape)))
}

/// Removes functions without a form in C. Returns each with a type that has none.
fn leave_out(input: &Input, names: &mut Vec<FunName>) -> Vec<(FunName, Type)> {
    let program = input.pipeline.program();
    let without = |name: &FunName| parameters(program, program.defs.get(name)?).err();
    let left_out = names.iter().filter_map(|name| Some((name.clone(), without(name)?))).collect();
    names.retain(|name| without(name).is_none());
    left_out
}

fn without_c_form(name: &FunName, ty: &Type) -> Diagnostic {
    let remedy = match ty.mentions_lm() {
        true => "apply the linear map in a function of values; that is compiled, and may call this one",
        false => "use vectors of vectors for tensors that hold tensors, or name the functions to compile by `--fun`",
    };
    Diagnostic::warning("W405", format!("`{name}` is left out: `{ty}` has no form in C")).remedy(remedy)
}

/// Returns the entries and the functions that they call, as a program.
fn text(program: &Program, entries: &[FunName]) -> String {
    let mut wanted: Vec<FunName> = entries.to_vec();
    let mut next = 0;
    while let Some(name) = wanted.get(next).cloned() {
        let mut called = Vec::new();
        if let Some(def) = program.defs.get(&name) {
            crate::derive::call_order::calls(&def.body, &mut called);
        }
        called.retain(|callee| !wanted.contains(callee));
        called.dedup();
        wanted.extend(called);
        next += 1;
    }
    let mut kept = program.clone();
    kept.defs.retain(|name, _| wanted.contains(name));
    kept.externals.retain(|name, _| wanted.contains(name));
    const WIDTH: usize = 100;
    ks::program(&kept, WIDTH)
}

fn outputs(options: &CompileOptions) -> Result<Vec<(Emit, PathBuf)>, Failure> {
    let mut outputs = Vec::new();
    for (i, given) in options.emit.iter().enumerate() {
        let (name, path) = match given.split_once('=') {
            Some((name, path)) => (name, Some(PathBuf::from(path))),
            None => (given.as_str(), None),
        };
        let kind = kind(name)?;
        let path = match (path, &options.output) {
            (Some(path), _) => path,
            (None, Some(output)) if i == 0 => output.clone(),
            (None, Some(output)) if output.as_os_str() != "-" => output.with_extension(extension(kind)),
            (None, _) => {
                let example = format!("out.{}", extension(kind));
                return Err(Failure::Usage(format!(
                    "`{name}` has no output: say `-o {example}` or `--emit {name}={example}`"
                )));
            }
        };
        outputs.push((kind, path));
    }
    distinct(&outputs)?;
    options.files.iter().try_for_each(|file| spare_the_program(file, &outputs))?;
    Ok(outputs)
}

fn spare_the_program(program: &str, outputs: &[(Emit, PathBuf)]) -> Result<(), Failure> {
    let Ok(program) = Path::new(program).canonicalize() else { return Ok(()) };
    match outputs.iter().find(|(_, path)| path.canonicalize().is_ok_and(|path| path == program)) {
        Some((_, path)) => Err(Failure::Usage(format!("the program `{}` would be overwritten", path.display()))),
        None => Ok(()),
    }
}

fn distinct(outputs: &[(Emit, PathBuf)]) -> Result<(), Failure> {
    for (i, (_, path)) in outputs.iter().enumerate() {
        if path != Path::new("-") && outputs[..i].iter().any(|(_, other)| other == path) {
            return Err(Failure::Usage(format!("two outputs would be written to `{}`", path.display())));
        }
    }
    Ok(())
}

fn kind(name: &str) -> Result<Emit, Failure> {
    if name == "ks" {
        return Ok(Emit::Ks);
    }
    let found = Kind::ALL.iter().find(|kind| kind.name() == name);
    if let Some(kind) = ::bulk::emit::Kind::ALL.iter().find(|kind| kind.name() == name) {
        return Ok(Emit::Bulk(*kind));
    }
    let bulk = ::bulk::emit::Kind::ALL.iter().map(|kind| kind.name());
    let all: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).chain(["ks"]).chain(bulk).collect();
    let unknown = || Failure::Usage(format!("there is no output kind `{name}`; the kinds are {}", all.join(", ")));
    found.map(|&kind| Emit::Native(kind)).ok_or_else(unknown)
}

fn extension(kind: Emit) -> &'static str {
    match kind {
        Emit::Ks => "ks",
        Emit::Bulk(kind) => kind.extension(),
        Emit::Native(Kind::So) => "so",
        Emit::Native(Kind::A) => "a",
        Emit::Native(Kind::Obj) => "o",
        Emit::Native(Kind::Asm) => "s",
        Emit::Native(Kind::LlvmIr) => "ll",
        Emit::Native(Kind::Loops) => "loops",
        Emit::Native(Kind::Header) => "h",
    }
}
