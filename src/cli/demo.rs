//! `lmc demo`.

use super::choices::ChoiceOptions;
use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::Input;
use super::watch::{Watch, WatchOptions, watched};
use crate::demos::{DEMOS, Demo};
use crate::derive::figures::fig09_11_category as cl;
use crate::derive::pipeline::Stage;
use crate::ks::source::Source;
use crate::trace;
use clap::ValueEnum;
use lm::notation::infix::{self, definition};
use lm::notation::ks;
use lm::term::{FunName, Program};
use loops::interface::names_of_result;
use std::io::Write;

/// Options of `lmc demo`.
#[derive(clap::Args)]
pub struct DemoOptions {
    /// The name of a demo, or the files of a program; `-` is standard input.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The function to derive. Default: the function that the demo is about, or every function of the file.
    #[arg(long = "fun", value_name = "NAME")]
    fun: Vec<String>,
    /// The notation of terms.
    #[arg(long, value_enum, default_value_t = Notation::Infix)]
    format: Notation,
    /// Show each rewrite: its law, its place, and the term before and after.
    #[arg(long)]
    trace: bool,
    /// What `--trace` prints: text, or a JSON document for each function, in which each rewrite is an edit of the
    /// definition's text in KS-Lisp.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = TraceFormat::Text, requires = "trace")]
    trace_format: TraceFormat,
    /// Show only the stages with this heading, such as "Transposed Jacobian".
    #[arg(long, value_name = "NAME")]
    stage: Option<String>,
    /// Differentiate only with respect to these parameters, or components of parameters (`t.1`).
    #[arg(long, value_name = "PARAMETER", value_delimiter = ',')]
    wrt: Vec<String>,
    #[command(flatten)]
    choices: ChoiceOptions,
    #[command(flatten)]
    watch: WatchOptions,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Notation {
    /// Infix operators; linear maps as lmCompose(m, n).
    Infix,
    /// Infix operators; linear maps with the signs of the papers.
    Unicode,
    /// KS-Lisp, which `lmc check --stage` reads back.
    Ks,
}

/// The form of a trace.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum TraceFormat {
    /// Lines, with the definition after them.
    Text,
    /// JSON.
    Json,
}

const WIDTH: usize = 100;
const RULE: &str = "-----";

/// Prints the stages of derivations, or the list of demos.
pub fn demo(options: &DemoOptions, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    match options.names.as_slice() {
        [] => list(out),
        _ => watched(&options.watch, |watch| derive(options, format, watch, out)),
    }
}

fn derive(options: &DemoOptions, format: ErrorFormat, watch: &Watch, out: &mut dyn Write) -> Result<(), Failure> {
    let demo = match options.names.as_slice() {
        [name] => DEMOS.iter().find(|demo| demo.name == *name),
        _ => None,
    };
    let (mut input, functions) = match demo {
        Some(demo) => of_demo(demo, options, format, watch)?,
        None => of_files(options, format, watch)?,
    };
    for function in functions {
        let function = input.with_respect_to(function, &options.wrt)?;
        let stages = input.pipeline.stages(&function, options.trace).map_err(|error| input.underivable(error))?;
        if options.trace_format == TraceFormat::Json {
            let stages = chosen(&stages, options)?.into_iter().map(trace::data).collect();
            let derivation = input.pipeline.derivation_of(&function).name();
            let all = trace::DerivationData { function: function.to_string(), derivation, stages };
            serde_json::to_writer_pretty(&mut *out, &all).map_err(std::io::Error::from)?;
            writeln!(out)?;
            continue;
        }
        let program = input.pipeline.program();
        chosen(&stages, options)?.into_iter().try_for_each(|stage| print(stage, program, options, out))?;
    }
    Ok(())
}

/// Returns the stages with the heading that was asked for, or all stages.
fn chosen<'a>(stages: &'a [Stage], options: &DemoOptions) -> Result<Vec<&'a Stage>, Failure> {
    let Some(name) = &options.stage else { return Ok(stages.iter().collect()) };
    let chosen: Vec<&Stage> = stages.iter().filter(|stage| stage.heading.eq_ignore_ascii_case(name)).collect();
    if chosen.is_empty() {
        let known: Vec<String> = stages.iter().map(|stage| format!("`{}`", stage.heading)).collect();
        return Err(Failure::Usage(format!("there is no stage `{name}`; there are {}", known.join(", "))));
    }
    Ok(chosen)
}

fn list(out: &mut dyn Write) -> Result<(), Failure> {
    for demo in DEMOS {
        writeln!(out, "{:<13}  {}", demo.name, demo.shows)?;
    }
    Ok(())
}

fn of_demo(
    demo: &Demo,
    options: &DemoOptions,
    format: ErrorFormat,
    watch: &Watch,
) -> Result<(Input, Vec<FunName>), Failure> {
    let input = Input::check(
        Source::new(&format!("demos/{}.ks", demo.name), demo.text),
        options.choices.choices_to_show(),
        format,
        watch,
    )?;
    let own = [demo.fun.to_string()];
    let functions = input.chosen(if options.fun.is_empty() { &own } else { &options.fun })?;
    Ok((input, functions))
}

fn of_files(options: &DemoOptions, format: ErrorFormat, watch: &Watch) -> Result<(Input, Vec<FunName>), Failure> {
    let is_name = |name: &&String| !name.contains(['.', '/', '-']) && !std::path::Path::new(name).exists();
    if let Some(name) = options.names.iter().find(is_name) {
        return Err(Failure::Usage(format!("there is no demo or file `{name}`; `lmc demo` lists the demos")));
    }
    let input = Input::read_for(&options.names, options.choices.choices_to_show(), format, watch)?;
    let functions = input.chosen(&options.fun)?;
    Ok((input, functions))
}

fn print(stage: &Stage, program: &Program, options: &DemoOptions, out: &mut dyn Write) -> Result<(), Failure> {
    // In KS-Lisp the headings are comments, so that the output is a program stage by stage.
    let mark = if options.format == Notation::Ks { "; " } else { "" };
    writeln!(out, "{mark}{RULE}\n{mark}{}\n{mark}{RULE}", stage.heading)?;
    if let Some(record) = &stage.record {
        writeln!(out, "{mark}it records {record}")?;
    }
    if let Some(names) = names_of_result(program, &stage.def) {
        writeln!(out, "{mark}it gives {names}")?;
    }
    let signs = if options.format == Notation::Unicode { infix::Format::Signs } else { infix::Format::Plain };
    if options.trace {
        let notation = if options.format == Notation::Ks { trace::Notation::Ks } else { trace::Notation::Infix(signs) };
        trace::text(stage, notation).lines().try_for_each(|line| writeln!(out, "{mark}{line}"))?;
    }
    let text = match (options.format, &stage.category) {
        (Notation::Infix | Notation::Unicode, Some(category)) => cl::print::definition(category, signs, WIDTH),
        (Notation::Ks, Some(category)) => cl::write::definition(category, WIDTH),
        (Notation::Infix | Notation::Unicode, None) => definition(&stage.def, signs, WIDTH),
        (Notation::Ks, None) => ks::def(&stage.def, WIDTH),
    };
    writeln!(out, "{}\n", text.trim_end())?;
    Ok(())
}
