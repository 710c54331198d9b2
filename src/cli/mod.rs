//! The command line. Data goes to stdout, everything else to stderr.
//!
//! Exit status: 0 success, 1 an error in the program or its data, or a check that found a fault, 2 a usage error, 3 a
//! check that could not look everywhere, 101 an internal error.

mod argument;
mod bench;
mod bulk;
mod check;
mod choices;
mod compile;
mod cost;
mod delta;
mod demo;
mod dump;
mod error_format;
mod explain;
mod failure;
mod fmt;
mod gradbench;
mod gradcheck;
mod input;
mod known_maps;
mod laws;
mod native;
pub mod progress;
mod run;
mod shell;
mod simplify;
mod stages;
mod table_format;
mod watch;

use crate::ks::render::json_without_code;
use clap::{CommandFactory, Parser, Subcommand};
use error_format::ErrorFormat;
use failure::Failure;
use std::io::Write;
use std::panic::catch_unwind;
use std::process::ExitCode;

/// Compile KS-Lisp functions and their derivatives to native code, and print how each derivative is derived.
#[derive(Parser)]
#[command(name = "lmc", version, arg_required_else_help = true)]
struct Arguments {
    /// The format of error messages. Errors in the command line itself always use `human`.
    #[arg(long, global = true, value_enum, default_value_t = ErrorFormat::Human)]
    error_format: ErrorFormat,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print every stage of a derivation. Without NAME, list the demos.
    Demo(demo::DemoOptions),
    /// Print the normal form of functions that compute with linear maps, by the laws.
    Simplify(simplify::SimplifyOptions),
    /// Read and type-check programs.
    Check(check::CheckOptions),
    /// Explain an error code, a derivative or a law. Without CODE, list the codes.
    Explain(explain::ExplainOptions),
    /// Format programs.
    Fmt(fmt::FmtOptions),
    /// Run a program: call its function `main`.
    Run(run::RunOptions),
    /// Compile functions and their derivatives to native code.
    Compile(compile::CompileOptions),
    /// Check derivatives: compare forward, reverse, finite differences, interpreter and native code.
    Gradcheck(gradcheck::GradcheckOptions),
    /// Measure a function and its derivatives: times, ratios, operations and bytes per second.
    Bench(Box<bench::BenchOptions>),
    /// Count the operations of functions and of their gradients, and compare the ratios with the bound.
    Cost(cost::CostOptions),
    /// Serve GradBench's protocol on standard input and output.
    Gradbench(gradbench::GradbenchOptions),
    /// List the laws of linear maps, or the schedules that apply them.
    Laws(laws::LawsOptions),
    /// Print a shell script that completes commands and options.
    Completions(shell::CompletionOptions),
    /// Print a manual page. View it with `lmc man | man -l -`.
    Man(shell::ManOptions),
}

/// Runs the command that the process was given.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(text) if text.use_stderr() => text.exit(),
        Err(text) => return shown(&text),
    };
    let format = arguments.error_format;
    std::panic::set_hook(Box::new(move |panic| report_bug(panic, format)));
    let outcome = catch_unwind(|| crate::with_large_stack(|| dispatch(&arguments)));
    match outcome {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => failure.report(format),
        Err(_) => ExitCode::from(101),
    }
}

/// Prints a text that the command line asks for, such as the version.
fn shown(text: &clap::Error) -> ExitCode {
    match text.print().and_then(|()| std::io::stdout().flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => Failure::from(error).report(ErrorFormat::Human),
    }
}

fn dispatch(arguments: &Arguments) -> Result<(), Failure> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let format = arguments.error_format;
    let done = match &arguments.command {
        Command::Demo(options) => demo::demo(options, format, &mut out),
        Command::Simplify(options) => simplify::simplify(options, format, &mut out),
        Command::Check(options) => check::check(options, format, &mut out),
        Command::Explain(options) => explain::explain(options, &mut out),
        Command::Fmt(options) => fmt::fmt(options, format, &mut out),
        Command::Run(options) => run::run(options, format, &mut out),
        Command::Compile(options) => compile::compile(options, format, &mut out),
        Command::Gradcheck(options) => gradcheck::gradcheck(options, format, &mut out),
        Command::Bench(options) => bench::bench(options, format, &mut out),
        Command::Cost(options) => cost::cost(options, format, &mut out),
        Command::Gradbench(options) => gradbench::gradbench(options, &mut out),
        Command::Laws(options) => laws::laws(options, &mut out),
        Command::Completions(options) => shell::completions(options, Arguments::command(), &mut out),
        Command::Man(options) => shell::man(options, Arguments::command(), &mut out),
    };
    // Prints the output from before an error, too.
    let flushed = out.flush();
    done?;
    flushed.map_err(Failure::from)
}

fn report_bug(panic: &std::panic::PanicHookInfo, format: ErrorFormat) {
    let mut message = panic.to_string();
    const SHOWN: usize = 4_000;
    if let Some((cut, _)) = message.char_indices().nth(SHOWN) {
        message.truncate(cut);
        message.push_str(" ...");
    }
    if format == ErrorFormat::Json {
        eprint!("{}", json_without_code("internal error", &message, None));
        return;
    }
    eprintln!("lmc: internal error: {message}");
    eprintln!("This is a bug of lmc. Please report it with the program and the command line.");
}
