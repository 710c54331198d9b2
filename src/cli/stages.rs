//! Prints the stages of a derivation, for several commands.

use super::failure::Failure;
use crate::derive::figures::fig09_11_category as cl;
use crate::derive::figures::paper003_unary as unary;
use crate::derive::pipeline::{Pipeline, Stage};
use crate::trace;
use clap::ValueEnum;
use lm::notation::infix::{self, definition};
use lm::notation::ks;
use lm::term::{FunName, Program};
use loops::interface::names_of_result;
use std::io::Write;

/// The form in which stages are printed.
#[derive(clap::Args)]
pub struct StageOptions {
    /// The notation of terms.
    #[arg(long, value_enum, default_value_t = Notation::Infix)]
    format: Notation,
    /// Show each rewrite: its law, its place, and the term before and after.
    #[arg(long)]
    pub trace: bool,
    /// What `--trace` prints: text, or a JSON document for each function, in which each rewrite is an edit of the
    /// definition's text in KS-Lisp.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = TraceFormat::Text, requires = "trace")]
    trace_format: TraceFormat,
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

impl StageOptions {
    /// Prints stages of the derivation of a function.
    pub fn print(
        &self,
        function: &FunName,
        stages: &[&Stage],
        pipeline: &Pipeline,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        if self.trace_format == TraceFormat::Text {
            return stages.iter().try_for_each(|stage| print_stage(stage, pipeline.program(), self, out));
        }
        let stages = stages.iter().map(|stage| trace::data(stage)).collect();
        let derivation = pipeline.derivation_of(function).name();
        let all = trace::DerivationData { function: function.to_string(), derivation, stages };
        serde_json::to_writer_pretty(&mut *out, &all).map_err(std::io::Error::from)?;
        writeln!(out)?;
        Ok(())
    }
}

fn print_stage(stage: &Stage, program: &Program, options: &StageOptions, out: &mut dyn Write) -> Result<(), Failure> {
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
    if let Some(cost) = &stage.cost {
        cost.to_string().lines().try_for_each(|line| writeln!(out, "{mark}{line}"))?;
        return Ok(writeln!(out)?);
    }
    if let (Some((form, language)), Notation::Infix | Notation::Unicode) = (&stage.unary, options.format) {
        return Ok(writeln!(out, "{}\n", unary::print::definition(form, *language, WIDTH))?);
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
