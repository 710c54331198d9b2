//! `lmc fmt`.

use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::shown;
use crate::ks::fmt;
use crate::ks::source::Source;
use std::io::Write;
use std::path::Path;

/// Options of `lmc fmt`.
#[derive(clap::Args)]
pub struct FmtOptions {
    /// The programs to rewrite in place; `-` formats standard input to standard output.
    #[arg(required = true)]
    files: Vec<String>,
    /// Change nothing; list the files whose layout differs, and fail if there are any.
    #[arg(long)]
    check: bool,
}

/// Formats each file. Leaves a file that cannot be read as it is, and goes on with the others.
pub fn fmt(options: &FmtOptions, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    let outcomes: Vec<_> = options.files.iter().map(|file| one(file, options.check, format, out)).collect();
    outcomes.into_iter().collect()
}

fn one(path: &str, check: bool, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::read(path).map_err(|bad| shown(&bad.source, &[bad.diagnostic], format))?;
    let text = fmt::format(source.text()).map_err(|errors| shown(&source, &errors, format))?;
    match (check, path) {
        _ if text == source.text() && (check || path != "-") => Ok(()),
        (true, _) => {
            writeln!(out, "{}", source.name())?;
            Err(Failure::Shown)
        }
        (false, "-") => Ok(out.write_all(text.as_bytes())?),
        (false, _) => write(path, &text),
    }
}

/// Replaces a file; keeps its permissions, and the symbolic link that leads to it.
fn write(path: &str, text: &str) -> Result<(), Failure> {
    let target = Path::new(path).canonicalize().unwrap_or_else(|_| path.into());
    let permissions = std::fs::metadata(&target).map(|metadata| metadata.permissions());
    native::write_file(&target, text.as_bytes()).map_err(|error| Failure::Wrong(format!("{error}")))?;
    let kept = permissions.and_then(|permissions| std::fs::set_permissions(&target, permissions));
    kept.map_err(|error| Failure::Wrong(format!("the permissions of `{path}` are lost: {error}")))
}
