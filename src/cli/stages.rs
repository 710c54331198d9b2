//! Prints the stages of a derivation, for several commands.

use super::failure::Failure;
use super::known_maps;
use crate::derive::figures::fig09_11_category as cl;
use crate::derive::figures::paper003_unary as unary;
use crate::derive::pipeline::{Pipeline, Stage};
use crate::trace;
use bulk::emit::Kind;
use clap::ValueEnum;
use lm::notation::infix::{self, definition};
use lm::notation::ks;
use lm::term::{Def, FunName, Program};
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
            let mut numbered = stages.iter().enumerate();
            return numbered.try_for_each(|(i, stage)| print_stage(stage, &stages[..i], pipeline.program(), self, out));
        }
        let stages = stages.iter().map(|stage| trace::data(stage)).collect();
        let derivation = pipeline.derivation_of(function).name();
        let all = trace::DerivationData { function: function.to_string(), derivation, stages };
        serde_json::to_writer_pretty(&mut *out, &all).map_err(std::io::Error::from)?;
        writeln!(out)?;
        Ok(())
    }
}

impl StageOptions {
    /// Prints what is no program under a heading, line by line.
    pub fn print_lines(&self, heading: &str, text: &str, out: &mut dyn Write) -> Result<(), Failure> {
        self.print_heading(heading, out)?;
        text.lines().try_for_each(|line| writeln!(out, "{}{line}", self.mark()))?;
        Ok(writeln!(out)?)
    }

    fn print_heading(&self, heading: &str, out: &mut dyn Write) -> Result<(), Failure> {
        let mark = self.mark();
        Ok(writeln!(out, "{mark}{RULE}\n{mark}{heading}\n{mark}{RULE}")?)
    }

    /// Returns the start of each line of text: in KS-Lisp it is a comment, so that the output is a program stage by
    /// stage.
    fn mark(&self) -> &'static str {
        if self.format == Notation::Ks { "; " } else { "" }
    }

    /// Prints a definition under a heading.
    pub fn print_definition(&self, heading: &str, def: &Def, out: &mut dyn Write) -> Result<(), Failure> {
        self.print_heading(heading, out)?;
        Ok(writeln!(out, "{}\n", self.definition(def).trim_end())?)
    }

    fn definition(&self, def: &Def) -> String {
        match self.format {
            Notation::Infix => definition(def, infix::Format::Plain, WIDTH),
            Notation::Unicode => definition(def, infix::Format::Signs, WIDTH),
            Notation::Ks => ks::def(def, WIDTH),
        }
    }
}

fn print_stage(
    stage: &Stage,
    earlier: &[&Stage],
    program: &Program,
    options: &StageOptions,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mark = options.mark();
    options.print_heading(&stage.heading, out)?;
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
    if let (Some(form), Notation::Infix | Notation::Unicode) = (&stage.bulk, options.format) {
        let text = Kind::Bulk.text(std::slice::from_ref(form), &|_| None, &Default::default());
        return Ok(writeln!(out, "{}\n", text.expect("each form has a text for people").trim_end())?);
    }
    let text = match (options.format, &stage.category) {
        (Notation::Infix | Notation::Unicode, Some(category)) => cl::print::definition(category, signs, WIDTH),
        (Notation::Ks, Some(category)) => cl::write::definition(category, WIDTH),
        (Notation::Infix | Notation::Unicode, None) => {
            let short = if options.trace { None } else { known_maps::by_name(stage, earlier, WIDTH) };
            options.definition(short.as_ref().unwrap_or(&stage.def))
        }
        (Notation::Ks, None) => options.definition(&stage.def),
    };
    writeln!(out, "{}\n", text.trim_end())?;
    Ok(())
}
