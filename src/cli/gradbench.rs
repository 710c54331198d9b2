//! `lmc gradbench`.

use super::failure::Failure;
use crate::gradbench::{Settings, serve};
use std::io::{Write, stdin};

/// Options of `lmc gradbench`.
#[derive(clap::Args)]
pub struct GradbenchOptions {
    /// Run long loops on all processors.
    #[arg(long)]
    multithreaded: bool,
}

/// Answers messages until the input ends.
pub fn gradbench(options: &GradbenchOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let settings = Settings { multithreaded: options.multithreaded };
    Ok(serve(&mut stdin().lock(), out, &settings)?)
}
