//! `lmc cost`.

mod options;
mod subject;

pub use options::CostOptions;

use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::table_format::TableFormat;
use super::watch::{Watch, watched};
use crate::cost::WORK;
use crate::cost::report::{self, Row};
use lm::interp::Counts;
use std::io::Write;
use subject::{Found, Refusal, Subject};

/// Prints counts and ratios. With `--check`, fails where the bound is not met.
pub fn cost(options: &CostOptions, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    watched(&options.watch, |watch| cost_watched(options, format, watch, out))
}

fn cost_watched(options: &CostOptions, format: ErrorFormat, watch: &Watch, out: &mut dyn Write) -> Result<(), Failure> {
    if options.point.input.is_some() && options.fun.is_empty() {
        return Err(Failure::Usage("`--input` is the argument of one function: say which, `--fun NAME`".into()));
    }
    let mut subject = Subject::new(options, format, watch)?;
    let functions = subject.functions()?;
    let width = functions.iter().map(|name| subject.title(name).chars().count()).fold(LEAST_WIDTH, usize::max);
    let mut table = Table { options, width, is_started: false, out };
    let (mut dear, mut open, mut count, mut unmeasured) = (Vec::new(), Vec::new(), 0, Vec::new());
    for name in &functions {
        let Found { rows, refusals } = subject.measured(name);
        table.rows(&rows)?;
        count += rows.len();
        dear.extend(rows.iter().filter(|row| row.is_above()).map(violation));
        for refusal in refusals {
            if !options.fun.is_empty() {
                return Err(refusal.failure);
            }
            let Refusal { failure, derivation, is_open } = refusal;
            open.extend(is_open.then(|| format!("`{name}`")));
            let name = name.to_string();
            unmeasured.extend(failure.message().map(|why| NotMeasured { name, derivation, why }));
        }
    }
    table.finish(&unmeasured)?;
    // A function may be refused by several derivations.
    open.dedup();
    outcome(options, count, &dear, &open)
}

/// Returns the failure that the command ends in.
fn outcome(options: &CostOptions, count: usize, dear: &[String], open: &[String]) -> Result<(), Failure> {
    if options.check && !dear.is_empty() {
        return Err(Failure::Wrong(format!("the bound is not met: {}", dear.join("; "))));
    }
    if count == 0 {
        return Err(Failure::Wrong("no function was measured".into()));
    }
    if options.check && !open.is_empty() {
        let open = open.join(", ");
        return Err(Failure::Undecided(format!("{open} could not be measured, for the reasons above")));
    }
    Ok(())
}

/// Says where a row is above the bound.
fn violation(row: &Row) -> String {
    let Row { function, size, derivation, measured: m, .. } = row;
    let of = |entry: &str, counts: &Counts| {
        let text = format!("`[{entry} {function}]` does {:.2}", m.ratio(counts, &WORK));
        (!m.is_within(counts)).then_some(text)
    };
    let both: Vec<String> = [of("vjp", &m.vjp), of("rev", &m.rev)].into_iter().flatten().collect();
    let size = size.map_or(String::new(), |n| format!(" at n = {n}"));
    let (both, bound) = (both.join(" and "), m.bound());
    format!("{both} times the work of `{function}`{size} by {}, more than {bound}", derivation.name())
}

/// A function that was not measured, by a derivation or at all, with the reason.
struct NotMeasured {
    name: String,
    derivation: Option<&'static str>,
    why: String,
}

/// The least width of the column of names.
const LEAST_WIDTH: usize = "function".len();

/// The output.
struct Table<'a> {
    options: &'a CostOptions,
    width: usize,
    /// Whether the heading was written.
    is_started: bool,
    out: &'a mut dyn Write,
}

impl Table<'_> {
    /// Writes the rows of a function: a line for the function, where it is not that of the row before, then those of
    /// its derivatives.
    fn rows(&mut self, rows: &[Row]) -> Result<(), Failure> {
        let mut before: Option<String> = None;
        for row in rows {
            if self.options.format == TableFormat::Json {
                writeln!(self.out, "{}", report::json(row))?;
                continue;
            }
            if !self.is_started {
                writeln!(self.out, "{}", report::heading(self.width))?;
                self.is_started = true;
            }
            let primal = report::primal_line(self.width, row);
            if before.as_ref() != Some(&primal) {
                writeln!(self.out, "{primal}")?;
                before = Some(primal);
            }
            report::derivative_lines(self.width, row).iter().try_for_each(|line| writeln!(self.out, "{line}"))?;
        }
        Ok(self.out.flush()?)
    }

    /// Writes the functions that were not measured, and what the columns mean.
    fn finish(&mut self, unmeasured: &[NotMeasured]) -> Result<(), Failure> {
        for NotMeasured { name, derivation, why } in unmeasured {
            let by = derivation.map_or(String::new(), |derivation| format!(" by {derivation}"));
            match self.options.format {
                TableFormat::Table => writeln!(self.out, "`{name}` was not measured{by}: {why}")?,
                TableFormat::Json => writeln!(self.out, "{}", report::json_not_measured(name, *derivation, why))?,
            }
        }
        if self.is_started {
            writeln!(self.out, "{}", report::legend())?;
        }
        Ok(())
    }
}
