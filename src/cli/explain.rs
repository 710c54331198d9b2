//! `lmc explain`.

use super::failure::Failure;
use crate::ks::explain;
use std::io::Write;

/// Options of `lmc explain`.
#[derive(clap::Args)]
pub struct ExplainOptions {
    /// An error code such as E202, a derivative such as rev, or the name of a law.
    code: Option<String>,
}

/// Prints an explanation, or the list of codes.
pub fn explain(options: &ExplainOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let Some(code) = &options.code else { return list(out) };
    let text = explain::code(code).map(|found| found.text());
    let text = text.or_else(|| explain::derivative(code)).or_else(|| explain::law(code));
    let unknown = || {
        format!(
            "there is no error code, derivative or law `{code}`; `lmc explain` lists the codes, `lmc laws` the laws"
        )
    };
    let text = text.ok_or_else(|| Failure::Wrong(unknown()))?;
    Ok(writeln!(out, "{}", text.trim_end())?)
}

fn list(out: &mut dyn Write) -> Result<(), Failure> {
    for explanation in explain::codes() {
        writeln!(out, "{}  {}", explanation.code, explanation.title)?;
    }
    Ok(())
}
