//! `lmc run`.

use super::choices::{CheckpointOption, StrategyOption};
use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::Input;
use super::native::{NativeOptions, threads};
use super::watch::{Watch, WatchOptions, watched};
use crate::ks::front::Choices;
use lm::interp::Interpreter;
use lm::term::FunName;
use native::Jit;
use std::io::Write;

/// Options of `lmc run`.
#[derive(clap::Args)]
pub struct RunOptions {
    /// The files of the program; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Use the reference interpreter instead of native code.
    #[arg(long)]
    interpret: bool,
    /// Stop at the first operation whose result is not finite, and say whether the value or a derivative is at fault.
    /// Uses the reference interpreter.
    #[arg(long)]
    check_finite: bool,
    /// The most threads that long loops may use, up to 1,024; 0 means one per processor. Results do not depend on the
    /// number of threads.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads, conflicts_with_all = ["interpret", "check_finite"])]
    threads: usize,
    #[command(flatten)]
    checkpoint: CheckpointOption,
    #[command(flatten)]
    strategy: StrategyOption,
    #[command(flatten)]
    native: NativeOptions,
    #[command(flatten)]
    watch: WatchOptions,
}

/// Calls `main`, of type Integer.
pub fn run(options: &RunOptions, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    watched(&options.watch, |watch| run_watched(options, format, watch, out))
}

fn run_watched(options: &RunOptions, format: ErrorFormat, watch: &Watch, out: &mut dyn Write) -> Result<(), Failure> {
    let strategies = options.strategy.strategies(format)?;
    let choices = Choices { checkpoint: options.checkpoint.of_runs(), strategies, ..Choices::default() };
    let mut input = Input::read_for(&options.files, choices, format, watch)?;
    let main = FunName::base("main");
    if !input.places.contains_key(&main) {
        let name = input.source.name();
        let remedy = "write `(def main Integer () ...)`, or use `lmc demo` and `lmc compile`";
        return Err(Failure::Wrong(format!("`{name}` has no `main`; {remedy}")));
    }
    let interprets = options.interpret || options.check_finite;
    if interprets {
        input.pipeline.keep_maps();
    }
    input.require(&main)?;
    let result = match interprets {
        true => watch.timings.time("running", || {
            let program = input.pipeline.program_as_written();
            let interpreter = Interpreter::with_output(&program, &mut *out);
            let mut interpreter = if options.check_finite { interpreter.checking_finite() } else { interpreter };
            interpreter.call(&main, &[])
        }),
        false => {
            let threads = options.threads;
            let options = options.native.options(watch);
            let mut jit = Jit::new(input.pipeline.program(), std::slice::from_ref(&main), &input.info(), &options)
                .map_err(|error| input.not_compiled(error))?;
            jit.set_stack(crate::native_stack_size());
            if threads != 1 {
                let refused = |error| Failure::Wrong(format!("{threads} threads cannot be had: {error}"));
                jit.set_threads(threads).map_err(refused)?;
            }
            watch.timings.time("running", || jit.call_with_output(&main, &[], out))
        }
    };
    result.map(|_| ()).map_err(|error| input.run_time_error(&error))
}
