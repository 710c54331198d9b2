//! `lmc completions` and `lmc man`, both generated from the definition of the command line.

use super::failure::Failure;
use clap::Command;
use clap_complete::Shell;
use std::io::Write;

/// Options of `lmc completions`.
#[derive(clap::Args)]
pub struct CompletionOptions {
    /// The shell to print the script for.
    shell: Shell,
}

/// Options of `lmc man`.
#[derive(clap::Args)]
pub struct ManOptions {
    /// The command to describe. Default: lmc itself.
    command: Option<String>,
}

/// Prints a script that completes commands and options.
pub fn completions(options: &CompletionOptions, mut commands: Command, out: &mut dyn Write) -> Result<(), Failure> {
    // Made in memory: the generator takes a pipe that was closed for a bug.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut commands, "lmc", &mut script);
    Ok(out.write_all(&script)?)
}

/// Prints a manual page in roff, which `man -l -` shows.
pub fn man(options: &ManOptions, mut commands: Command, out: &mut dyn Write) -> Result<(), Failure> {
    // Subcommands get their full names, and the options of all commands.
    commands.build();
    let page = match &options.command {
        None => commands,
        Some(name) => commands.find_subcommand(name).cloned().ok_or_else(|| unknown(name, &commands))?,
    };
    // `lmc-compile` is a page's name, `lmc compile` is what is typed.
    let title = page.get_display_name().unwrap_or("lmc").to_string();
    let version = concat!("lmc ", env!("CARGO_PKG_VERSION"));
    Ok(clap_mangen::Man::new(page).title(title).source(version).render(&mut &mut *out)?)
}

fn unknown(name: &str, commands: &Command) -> Failure {
    let known: Vec<&str> = commands.get_subcommands().map(Command::get_name).collect();
    Failure::Usage(format!("there is no command `{name}`; the commands are {}", known.join(", ")))
}
