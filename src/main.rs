//! The command `lmc`: see `lmc --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    lmc::cli::main()
}
