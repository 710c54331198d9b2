//! The command line. Data goes to stdout, everything else to stderr.
//!
//! Exit status: 0 done, 1 the program or its data is wrong, 2 usage, 101 internal error.

mod bench;
mod check;
mod compile;
mod demo;
mod dump;
mod error_format;
mod explain;
mod failure;
mod fmt;
mod gradbench;
mod gradcheck;
mod input;
mod laws;
mod native;
mod run;
mod shell;
mod watch;

use crate::ks::render::json_without_code;
use clap::{CommandFactory, Parser, Subcommand};
use error_format::ErrorFormat;
use failure::Failure;
use std::io::Write;
use std::panic::catch_unwind;
use std::process::ExitCode;

/// A compiler for derivatives: KS-Lisp in; derivations to read, and native code, out.
#[derive(Parser)]
#[command(name = "lmc", version, arg_required_else_help = true)]
struct Arguments {
    /// How errors are shown. (Errors that are found while the command line is read are always for people.)
    #[arg(long, global = true, value_enum, default_value_t = ErrorFormat::Human)]
    error_format: ErrorFormat,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print every stage of a derivation; without NAME, list the demos.
    Demo(demo::DemoOptions),
    /// Read and type-check programs.
    Check(check::CheckOptions),
    /// Explain an error code, a derivative or a law at length; without CODE, list the codes.
    Explain(explain::ExplainOptions),
    /// Bring programs into the canonical layout.
    Fmt(fmt::FmtOptions),
    /// Call `main`.
    Run(run::RunOptions),
    /// Compile functions and their derivatives to native code.
    Compile(compile::CompileOptions),
    /// Compare forward, reverse, finite differences, interpreter and native code with each other.
    Gradcheck(gradcheck::GradcheckOptions),
    /// Measure a function and its derivatives: times, ratios, operations and bytes in a second.
    Bench(Box<bench::BenchOptions>),
    /// Be a tool of GradBench: answer its messages, from standard input, on standard output.
    Gradbench(gradbench::GradbenchOptions),
    /// List the laws of linear maps, or the schedules that apply them.
    Laws(laws::LawsOptions),
    /// Print a script that completes commands and options in a shell.
    Completions(shell::CompletionOptions),
    /// Print a manual page, for `man -l -`.
    Man(shell::ManOptions),
}

/// Runs the command that the process was given.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(usage) => usage.exit(),
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

fn dispatch(arguments: &Arguments) -> Result<(), Failure> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let format = arguments.error_format;
    let done = match &arguments.command {
        Command::Demo(options) => demo::demo(options, format, &mut out),
        Command::Check(options) => check::check(options, format, &mut out),
        Command::Explain(options) => explain::explain(options, &mut out),
        Command::Fmt(options) => fmt::fmt(options, format, &mut out),
        Command::Run(options) => run::run(options, format, &mut out),
        Command::Compile(options) => compile::compile(options, format, &mut out),
        Command::Gradcheck(options) => gradcheck::gradcheck(options, format, &mut out),
        Command::Bench(options) => bench::bench(options, format, &mut out),
        Command::Gradbench(options) => gradbench::gradbench(options, &mut out),
        Command::Laws(options) => laws::laws(options, &mut out),
        Command::Completions(options) => shell::completions(options, Arguments::command(), &mut out),
        Command::Man(options) => shell::man(options, Arguments::command(), &mut out),
    };
    // What was computed before an error is data all the same.
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
