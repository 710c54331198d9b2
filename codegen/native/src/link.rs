//! Links an object to a shared library, with the first linker found.

use crate::error::Error;
use crate::interrupt::Deferred;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The linkers in order of preference: the C compiler knows where libm is, the others have to guess. So only the C
/// compiler is told to refuse symbols that nothing defines.
const LINKERS: &[(&str, &[&str])] = &[("cc", &["-Wl,--no-undefined"]), ("ld", &[]), ("rust-lld", &["-flavor", "gnu"])];

/// Links `object`, and what it needs, with libraries of the system, to the shared library `output`.
///
/// Errors: [`Error::NoLinker`], [`Error::Link`].
pub(crate) fn link(
    object: &Path,
    needed: &[PathBuf],
    libraries: &[&str],
    output: &Path,
    deferred: &Deferred,
) -> Result<(), Error> {
    for (linker, flags) in LINKERS {
        let arguments = [OsStr::new("-shared"), OsStr::new("-o"), output.as_os_str(), object.as_os_str()];
        let mut command = Command::new(linker);
        let ran = deferred.output(command.env("LC_ALL", "C").args(*flags).args(arguments).args(needed).args(libraries));
        let failed = |stderr: String| Error::Link { linker: (*linker).to_string(), stderr };
        match ran {
            Ok(ran) if ran.status.success() => return Ok(()),
            Ok(ran) => return Err(failed(String::from_utf8_lossy(&ran.stderr).into_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error.to_string())),
        }
    }
    Err(Error::NoLinker)
}
