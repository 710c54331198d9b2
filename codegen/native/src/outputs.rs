//! Lists the kinds of output, and writes files of them.
//!
//! A file is written under a temporary name in the same directory, and then renamed. So no incomplete file is ever
//! visible. The same program and options give the same bytes.

use crate::archive::archive;
use crate::error::Error;
use crate::header::header;
use crate::interrupt::Deferred;
use crate::libmvec;
use crate::link::link;
use crate::llvm_codegen::OutputForm;
use crate::module::Module;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A kind of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A shared library.
    So,
    /// A static library.
    A,
    /// An object file.
    Obj,
    /// Assembly.
    Asm,
    /// Optimised LLVM IR.
    LlvmIr,
    /// The lowered program, for people.
    Loops,
    /// A C header.
    Header,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Kind] = &[Kind::So, Kind::A, Kind::Obj, Kind::Asm, Kind::LlvmIr, Kind::Loops, Kind::Header];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::So => "so",
            Kind::A => "a",
            Kind::Obj => "obj",
            Kind::Asm => "asm",
            Kind::LlvmIr => "llvm-ir",
            Kind::Loops => "loops",
            Kind::Header => "header",
        }
    }
}

impl Module {
    /// Returns the content of a file of that kind.
    ///
    /// Errors: LLVM's; for `so` those of linking.
    pub fn output(&self, kind: Kind) -> Result<Vec<u8>, Error> {
        match kind {
            Kind::So => self.shared_library(),
            Kind::A => Ok(archive(&self.code(OutputForm::Object, false)?, &self.symbols())),
            Kind::Obj => self.code(OutputForm::Object, false),
            Kind::Asm => self.code(OutputForm::Assembly, false),
            Kind::LlvmIr => self.code(OutputForm::Ir, false),
            Kind::Loops => Ok(self.loops().to_string().into_bytes()),
            Kind::Header => Ok(header(self)?.into_bytes()),
        }
    }

    /// Writes a file of that kind, all of it or nothing.
    ///
    /// Errors: those of [`Module::output`], and [`Error::Write`].
    pub fn write(&self, kind: Kind, path: &Path) -> Result<(), Error> {
        write_file(path, &self.output(kind)?)
    }

    fn symbols(&self) -> Vec<&str> {
        self.entries().iter().flat_map(|entry| entry.symbol.all()).collect()
    }

    fn shared_library(&self) -> Result<Vec<u8>, Error> {
        let object = self.code(OutputForm::Object, false)?;
        let libraries: &[&str] = if libmvec::is_needed(&object) { &["-lmvec", "-lm"] } else { &["-lm"] };
        let directory = Scratch::new()?;
        let [input, output] = ["lmc.o", "lmc.so"].map(|name| directory.path.join(name));
        fs::write(&input, object).map_err(|error| refused(&input, &error))?;
        let linking = || link(&input, &self.options().link, libraries, &output, &directory.deferred);
        let linked = self.options().timings.time("linking", linking);
        linked.map_err(|error| self.missing(error))?;
        fs::read(&output).map_err(|error| refused(&output, &error))
    }
}

impl Module {
    /// Returns the error of a linker; by its name, where an external function is defined nowhere.
    fn missing(&self, error: Error) -> Error {
        let Error::Link { stderr, .. } = &error else { return error };
        let externals = self.loops().externals();
        let is_named = |symbol: &Arc<str>| {
            let (gnu, llvm) = (format!("undefined reference to `{symbol}'"), format!("undefined symbol: {symbol}\n"));
            stderr.contains(&gnu) || stderr.contains(&llvm)
        };
        externals.into_iter().find(is_named).map_or(error.clone(), |symbol| Error::Missing(symbol.to_string()))
    }
}

/// Writes a file, all of it or nothing: under a temporary name, which is then changed. A device or a
/// pipe is written to; a change of name would put a file in its place.
///
/// Errors: [`Error::Write`].
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), Error> {
    if fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return fs::write(path, content).map_err(|error| refused(path, &error));
    }
    let _deferred = Deferred::new();
    let temporary = path.with_file_name(format!(".lmc-{}", unique()));
    let written = fs::write(&temporary, content).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // Nothing may be left behind; that it was never made is no second error.
        let _ = fs::remove_file(&temporary);
        refused(path, &error)
    })
}

/// A directory that goes away.
struct Scratch {
    path: PathBuf,
    // Dropped after the directory is gone.
    deferred: Deferred,
}

impl Scratch {
    fn new() -> Result<Scratch, Error> {
        let deferred = Deferred::new();
        let path = std::env::temp_dir().join(format!("lmc-{}", unique()));
        fs::create_dir(&path).map_err(|error| refused(&path, &error))?;
        Ok(Scratch { path, deferred })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory left in the system's place for temporary files harms nobody.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Returns a name that no other thread or process uses at the moment.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn refused(path: &Path, error: &std::io::Error) -> Error {
    Error::Write { path: path.to_path_buf(), reason: error.to_string() }
}
