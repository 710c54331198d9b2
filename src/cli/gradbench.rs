//! `lmc gradbench`.

use super::failure::Failure;
use crate::gradbench::{Settings, serve};
use std::io::{Write, stdin};

/// Options of `lmc gradbench`.
#[derive(clap::Args)]
pub struct GradbenchOptions {
    /// Use all processors, where there are loops that can.
    #[arg(long)]
    multithreaded: bool,
}

/// Answers messages until there are no more.
pub fn gradbench(options: &GradbenchOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let settings = Settings { multithreaded: options.multithreaded };
    Ok(serve(&mut stdin().lock(), out, &settings)?)
}
